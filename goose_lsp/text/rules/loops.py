"""Cutting what a model says again and again."""

# Two equal lines in a row are ordinary code (`}` and `}`, two calls); three are a loop.
_MIN_COPIES = 3
_MAX_LOOP_LINES = 12
_MAX_UNIT_CHARS = 80
# How often a unit must come to be a loop. Words may be a list; numbers, and one or two letters, come
# so in tables and in `#ffffff`; rulers of dashes and blanks may be of any length.
_N_CODE, _N_WORDS, _N_OTHERS, _MIN_WORD_CHARS = 6, 10, 24, 3


def is_looping(text: str) -> bool:
    """Whether one of the rules below cuts the text, whatever it goes on with: nothing more is worth decoding."""
    whole_lines = text[: text.rfind("\n") + 1].rstrip("\n")
    return _ends_in_loop(" " + text[len(whole_lines) :].strip()) or any(
        rule(whole_lines) != whole_lines for rule in (without_repeated_lines, without_looping_line)
    )


def without_repeated_lines(text: str) -> str:
    """Where one line or group of lines comes three times in a row, the text ends after the first."""
    lines = text.split("\n")
    for start in range(len(lines)):
        for n in range(1, min(_MAX_LOOP_LINES, (len(lines) - start) // _MIN_COPIES) + 1):
            if _comes_again(lines, start, n):
                return "\n".join(lines[: start + n])
    return text


def _comes_again(lines: list[str], start: int, n: int) -> bool:
    group = lines[start : start + n]
    if group[0] != lines[start + n] or not any(line.strip() for line in group):
        return False
    return lines[start : start + n * _MIN_COPIES] == group * _MIN_COPIES


def without_looping_line(text: str) -> str:
    """A line that runs into a loop is not shown, nor what comes after it."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if _ends_in_loop(" " + line.strip()):  # the blank makes all words of a row alike
            return "\n".join(lines[:i])
    return text


def _ends_in_loop(line: str) -> bool:
    for n in range(1, min(_MAX_UNIT_CHARS, len(line) // _N_CODE) + 1):
        n_copies = _n_copies(line[-n:])
        if n_copies and line.endswith(line[-n:] * n_copies):
            return True
    return False


def _n_copies(unit: str) -> int | None:
    """How many copies of it are a loop; None if no number is."""
    if not any(c.isalnum() for c in unit):
        return None
    if len(unit) < _MIN_WORD_CHARS or not any(c.isalpha() for c in unit):
        return _N_OTHERS
    return _N_WORDS if all(c.isalnum() or c.isspace() for c in unit) else _N_CODE
