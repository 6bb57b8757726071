"""Indentation of the suggestion's lines, put into the steps of the file or of the editor."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from goose_lsp.text.rules.around import Around, indent_of
from goose_lsp.text.rules.brackets import unmatched

_TAB = "\t"
# Steps that people use; a single column is a slip or alignment.
_STYLES = (_TAB, "  ", "    ", "        ")
_STEPS_OF_FILES = {*_STYLES, "   "}
_OPENING = ("{", "(", "[", ":")


def indent_unit(around: Around) -> str | None:
    """One step of indentation: the editor's, else the commonest step near the cursor."""
    if around.indent_unit:
        return around.indent_unit
    steps: Counter[str] = Counter()
    for lines in (around.lines_before, around.lines_after):
        indents = [indent_of(line) for line in lines if line.strip()]
        for shallow, deep in pairwise(indents):
            step = deep[len(shallow) :]
            if deep.startswith(shallow) and step in _STEPS_OF_FILES:
                steps[step] += 1
    return steps.most_common(1)[0][0] if steps else None


def expected_indent(around: Around) -> str | None:
    """The indentation of a line at the cursor as the line above wants it; None if that is unknown."""
    above = next((line for line in reversed(around.lines_before) if line.strip()), None)
    if above is None:
        return None
    if not above.rstrip().endswith(_OPENING):
        return indent_of(above)
    unit = indent_unit(around)
    return None if unit is None else indent_of(above) + unit


def in_unit(text: str, around: Around) -> str:
    """Lines indented in other steps than the file's are indented in the file's.

    The steps are other ones if the lines make no sense in the file's (a line lies deeper though
    nothing opens a block, or not deeper though something does) and do in those: counted from
    column 0, or from the cursor's line. Where they make no sense in any, they stay.
    """
    lines = text.split("\n")
    start = 1 if around.before else 0  # in column 0 the first line brings its own indentation
    if around.is_in_prose or not any(indent_of(line) for line in lines[start:]):
        return text
    unit = indent_unit(around)
    base = None if unit is None else _level(indent_of(around.before), unit)
    if unit is None or base is None:
        return text
    context = [around.before + lines[0], *lines[1:]]
    for style, n_skipped, n_added in _readings(indent_of(around.before), unit, base):
        levels = _levels(context[start:], style, n_skipped, n_added)
        if levels is not None and _make_sense([base][:start] + levels, context, around.language):
            if style == unit and not n_skipped:
                return text
            return "\n".join(lines[:start] + _indented(lines[start:], levels, unit))
    return text


def _readings(indent: str, unit: str, base: int) -> list[tuple[str, int, int]]:
    """Ways to read the lines: step, columns that do not count, levels that these stand for."""
    others = [style for style in _STYLES if style != unit]
    from_cursor = [(style, len(indent), base) for style in others if indent]
    return [(unit, 0, 0), *((style, 0, 0) for style in others), *from_cursor]


def _level(indent: str, unit: str) -> int | None:
    level = len(indent) // len(unit)
    return level if indent == unit * level else None


def _levels(
    lines: Sequence[str], style: str, n_skipped: int, n_added: int
) -> list[int | None] | None:
    """The level of every line, None for blank ones; None in all if one does not fit the style."""
    levels: list[int | None] = []
    for line in lines:
        indent, is_blank = indent_of(line), not line.strip()
        level = _level(indent[n_skipped:], style) if len(indent) >= n_skipped else None
        if level is None and not is_blank:
            return None
        levels.append(None if is_blank or level is None else level + n_added)
    return levels


def _make_sense(levels: Sequence[int | None], lines: Sequence[str], language: str) -> bool:
    above, above_level = "", -1
    for line, level in zip(lines, levels, strict=True):
        if not line.strip() or level is None:
            continue
        if above:
            is_closing = line.lstrip().startswith((")", "]", "}", "</"))
            if level > above_level + _may_open(above, language):
                return False
            if _must_open(above, language) and level <= above_level and not is_closing:
                return False
        above, above_level = line.rstrip(), level
    return True


def _may_open(line: str, language: str) -> bool:
    if language == "python":
        return line.endswith((*_OPENING, ",", "\\"))
    return not line.endswith((";", "}"))


def _must_open(line: str, language: str) -> bool:
    return line.endswith(("{", ":") if language == "python" else "{")


def _indented(lines: Sequence[str], levels: Sequence[int | None], unit: str) -> list[str]:
    return [
        line if level is None else unit * level + line.lstrip(" \t")
        for line, level in zip(lines, levels, strict=True)
    ]


def without_slips(text: str, around: Around) -> str:
    """A line one column beside the first one is put under it, and what lies deeper moves along."""
    base = len(around.before)
    if not base or around.before.strip(" "):
        return text
    first, *rest = text.split("\n")
    lines, shift = [first], 0
    for line in rest:
        column = len(indent_of(line))
        if line.strip() and column <= base + 1:
            shift = base - column if _is_slip(column, base, lines, line) else 0
        lines.append(" " * (column + shift) + line.lstrip(" ") if shift and line.strip() else line)
    return "\n".join(lines)


def _is_slip(column: int, base: int, lines: Sequence[str], line: str) -> bool:
    if abs(column - base) != 1 or (base == 1 and column == 0) or "\t" in indent_of(line):
        return False
    is_comment = line.lstrip().startswith("*")
    return not is_comment and not unmatched("\n".join(lines)).openers
