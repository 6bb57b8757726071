"""Cutting what a model says again and again."""

from goose_lsp.text.rules.around import Around

# Two equal lines in a row are ordinary code (`}` and `}`, two calls); three are a loop.
_MIN_COPIES = 3
_MAX_LOOP_LINES = 12
_MAX_UNIT_CHARS = 80
# Six times the same words are a loop. Numbers, and one or two letters, come so in tables and in
# `#ffffff`, so they must come far more often; rulers of dashes and blanks may be of any length.
_N_WORDS, _N_OTHERS, _MIN_WORD_CHARS = 6, 24, 3


def without_repeated_lines(text: str, _around: Around) -> str:
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


def without_looping_line(text: str, _around: Around) -> str:
    """A line that runs into a loop is not shown, nor what comes after it."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if _ends_in_loop(" " + line.strip()):  # the blank makes all words of a row alike
            return "\n".join(lines[:i])
    return text


def _ends_in_loop(line: str) -> bool:
    for n in range(1, min(_MAX_UNIT_CHARS, len(line) // _N_WORDS) + 1):
        unit = line[-n:]
        if not unit.isspace() and any(c.isalnum() for c in unit):
            is_wordy = n >= _MIN_WORD_CHARS and any(c.isalpha() for c in unit)
            if line.endswith(unit * (_N_WORDS if is_wordy else _N_OTHERS)):
                return True
    return False
