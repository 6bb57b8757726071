"""Lines that already follow the cursor are not written again."""

from collections.abc import Sequence

from goose_lsp.text.rules.around import Around, indent_of
from goose_lsp.text.rules.brackets import is_only_closing, unmatched


def without_following_lines(text: str, around: Around) -> str:
    """Cut where the suggestion begins to write what follows the cursor, line by line to its end.

    Blank lines do not count. Lines are compared without their indentation; lines that only close
    something are compared with it, since the same bracket may close another block. Such a line ends
    the suggestion by itself, if what it closes was opened before the cursor.
    """
    following = [line for line in around.lines_after if line.strip()]
    if not following:
        return text
    lines = text.split("\n")
    context = [_first_line(lines[0], around), *lines[1:]]
    for start in range(0 if around.is_blank_before else 1, len(lines)):
        if context[start].strip() and _repeats(context, start, following):
            return "\n".join(lines[:start])
    return text


def _first_line(line: str, around: Around) -> str:
    """With its indentation. That of a lone bracket is where its opener's line has it: an editor puts it there."""
    if is_only_closing(line) and not indent_of(line):
        openers = unmatched(around.text_before).openers
        if openers:
            above = around.text_before[: openers[-1][1]]
            return indent_of(above[above.rfind("\n") + 1 :]) + line
    return around.before + line


def _repeats(lines: Sequence[str], start: int, following: Sequence[str]) -> bool:
    if not _is_same(lines[start], following[0], is_last=start == len(lines) - 1):
        return False
    if is_only_closing(lines[start]) and _closes_more(lines, start):
        return True
    rest = [line for line in lines[start:] if line.strip()]
    if len(rest) > len(following) and all(is_only_closing(line) for line in following):
        return False  # the file ends in brackets, as many a piece of the text may
    return all(
        _is_same(line, other, is_last=i == len(rest) - 1, has_same_above=i > 0)
        for i, (line, other) in enumerate(zip(rest, following, strict=False))
    )


def _closes_more(lines: Sequence[str], place: int) -> bool:
    """Whether line `place` closes something that the lines before it did not open."""
    n_before = len(unmatched("\n".join(lines[:place])).closers)
    return len(unmatched("\n".join(lines[: place + 1])).closers) > n_before


def _is_same(line: str, other: str, *, is_last: bool, has_same_above: bool = False) -> bool:
    """The last line may be the beginning of the other one if it only closes or the line above is the same."""
    if not is_only_closing(line):
        line, other = line.strip(), other.strip()
        return line == other or (is_last and has_same_above and other.startswith(line))
    if indent_of(line) != indent_of(other):
        return False
    line, other = line.strip().rstrip(";,"), other.strip()
    return other.rstrip(";,") == line or (is_last and other.startswith(line))
