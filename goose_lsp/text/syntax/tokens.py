"""A parse as a flat list of tokens with the roles that blocks are made of.

Tokens outlive broken syntax: a grammar still finds brackets and keywords where it finds no
statements, which is the usual state of a text being written.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from tree_sitter import Node

from goose_lsp.text.syntax.parsing import Parse

TAG = "</"  # the closer of every element, whatever its name


class Role(Enum):
    OTHER = "other"
    OPEN = "open"
    CLOSE = "close"
    STRING = "string"  # whole strings, whatever they hold
    COMMENT = "comment"


class Token(NamedTuple):
    type: str  # the grammar's name of it; of brackets and keywords their spelling
    start: int
    end: int
    role: Role
    closer: str = ""  # of an opener: what closes it; of a closer: itself


class _Leaf(NamedTuple):
    type: str
    start: int
    end: int
    role: Role  # STRING and COMMENT, else OTHER
    parent: str


def tokens(parse: Parse, start: int = 0) -> list[Token]:
    """The tokens that end after `start`, in order. A string or comment left open reaches the end."""
    leaves = _merge_quotes(list(_leaves(parse, start)), parse)
    return [_token(leaves, i, parse) for i in range(len(leaves))]


def _leaves(parse: Parse, start: int) -> Iterator[_Leaf]:
    cursor = parse.tree.walk()
    while True:
        node = cursor.node
        assert node is not None
        if node.end_byte > start:
            role = _role_of_node(node)
            if role is Role.OTHER and cursor.goto_first_child():
                continue
            if node.end_byte > node.start_byte:  # parsers put in what they miss, of no width
                parent = node.parent.type if node.parent else ""
                yield _Leaf(node.type, node.start_byte, node.end_byte, role, parent)
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _role_of_node(node: Node) -> Role:
    kind = node.type
    if "comment" in kind:
        return Role.COMMENT
    # A word "string" alone is a type's name; a string without its end may go on to the text's.
    is_string = "string" in kind and node.child_count > 0 and not node.children[-1].is_missing
    if is_string or kind.startswith("heredoc_") or kind == "raw_text":
        return Role.STRING
    return Role.OTHER


def _merge_quotes(leaves: list[_Leaf], parse: Parse) -> list[_Leaf]:
    """Quotes that stand by themselves belong to strings and comments that the parser saw no end of."""
    merged: list[_Leaf] = []
    i = 0
    while i < len(leaves):
        role, end = _left_open(leaves, i, parse)
        if role is Role.OTHER:
            merged.append(leaves[i])
            i += 1
            continue
        merged.append(leaves[i]._replace(end=end, role=role))
        while i < len(leaves) and leaves[i].start < end:
            i += 1
    return merged


def _left_open(leaves: list[_Leaf], i: int, parse: Parse) -> tuple[Role, int]:
    """The role and the end of the string or comment that leaf i begins; OTHER where it begins none."""
    leaf, data, grammar = leaves[i], parse.data, parse.grammar
    if leaf.role is not Role.OTHER:
        return leaf.role, leaf.end
    if leaf.type in ("/", "/*", "<!") and data.startswith((b"/*", b"<!--"), leaf.start):
        return Role.COMMENT, _end_after(leaves, i, "*/", data)
    if leaf.type == "string_start":
        is_long = data[leaf.start : leaf.end].endswith((b'"""', b"'''"))
        return Role.STRING, len(data) if is_long else _line_end(data, leaf.end)
    if leaf.type in grammar.long_quotes:
        closer = "]]" if leaf.type == "[[" else leaf.type
        is_comment = leaf.type == "[[" and data.endswith(b"--", 0, leaf.start)
        return Role.COMMENT if is_comment else Role.STRING, _end_after(leaves, i, closer, data)
    if leaf.type == '"' or (leaf.type == "'" and grammar.name != "rust"):  # there a lifetime's
        line_end = _line_end(data, leaf.end)
        return Role.STRING, min(_end_after(leaves, i, leaf.type, data), line_end)
    return Role.OTHER, leaf.end


def _end_after(leaves: list[_Leaf], i: int, closer: str, data: bytes) -> int:
    ends = (leaf.end for leaf in leaves[i + 1 :] if leaf.type == closer)
    return next(ends, len(data))


def _line_end(data: bytes, offset: int) -> int:
    end = data.find(b"\n", offset)
    return len(data) if end < 0 else end


def _token(leaves: list[_Leaf], i: int, parse: Parse) -> Token:
    leaf, grammar = leaves[i], parse.grammar
    if leaf.role is not Role.OTHER:
        return Token(leaf.type, leaf.start, leaf.end, leaf.role)
    role, closer = Role.OTHER, ""
    if grammar.has_tags and leaf.type in ("<", "</", "/>"):
        role, closer = _tag_role(leaves, i, parse), TAG
    elif leaf.type in grammar.openers:
        if _opens(leaves, i, parse):
            role, closer = Role.OPEN, grammar.openers[leaf.type]
    elif leaf.type in grammar.openers.values():
        role, closer = Role.CLOSE, leaf.type
    return Token(leaf.type, leaf.start, leaf.end, role, closer)


_VOID = frozenset(
    b"area base br col embed hr img input link meta param source track wbr".split()
)  # elements that have no end tag
_BEFORE_JSX = frozenset("( return ? : && || => = { } , [ > /> jsx_text".split())  # noqa: SIM905 - a column of strings reads worse


def _tag_role(leaves: list[_Leaf], i: int, parse: Parse) -> Role:
    """A start tag opens at its "<", and closes at its "/>" if it has one."""
    leaf = leaves[i]
    if parse.grammar.name == "html" and leaf.type != "</" and _tag_name(leaves, i, parse) in _VOID:
        return Role.OTHER
    if leaf.type != "<":
        return Role.CLOSE
    is_element = parse.grammar.name == "html" or leaf.parent.startswith("jsx_")
    if leaf.parent == "ERROR":  # elsewhere it may as well compare
        is_element = is_element or (i > 0 and leaves[i - 1].type in _BEFORE_JSX)
    return Role.OPEN if is_element else Role.OTHER


def _tag_name(leaves: list[_Leaf], i: int, parse: Parse) -> bytes:
    """The name of the tag that begins or ends at leaf i."""
    for j in range(i, -1, -1):
        if leaves[j].type == "<":
            name = leaves[j + 1] if j + 1 < len(leaves) else leaves[j]
            return parse.data[name.start : name.end].lower()
    return b""


_RUBY_MODIFIERS = frozenset(("if", "unless", "until", "while"))
_RUBY_LOOPS = frozenset(("for", "until", "while"))
_BEFORE_RUBY_VALUE = frozenset(
    "= ||= &&= += << ( [ { , => -> | ; && || ! return then do else and or not begin ensure".split()  # noqa: SIM905 - as above
)


def _opens(leaves: list[_Leaf], i: int, parse: Parse) -> bool:
    """Ruby's words open only in some places: `x if y` has no end, `while x do` has one."""
    leaf = leaves[i]
    if parse.grammar.name != "ruby" or not leaf.type.isalpha():
        return True
    line = parse.data.rfind(b"\n", 0, leaf.start) + 1
    if leaf.type in _RUBY_MODIFIERS:
        is_first = not parse.data[line : leaf.start].strip()
        return is_first or (i > 0 and leaves[i - 1].type in _BEFORE_RUBY_VALUE)
    if leaf.type == "do":
        earlier = (leaf for leaf in leaves[:i] if leaf.start >= line)
        return not any(leaf.type in _RUBY_LOOPS for leaf in earlier)
    return True


def line_indent(data: bytes, offset: int) -> int:
    """The width of the blanks that begin the line of `offset`; a tab is four."""
    start = data.rfind(b"\n", 0, offset) + 1
    line = data[start : _line_end(data, start)]
    return len(line[: len(line) - len(line.lstrip(b" \t"))].expandtabs(4))


def is_first_on_line(data: bytes, offset: int) -> bool:
    start = data.rfind(b"\n", 0, offset) + 1
    return not data[start:offset].strip()
