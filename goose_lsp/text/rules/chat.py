"""What a model says besides code: control tokens spelled out, Markdown fences, prompt formats, prose.

Nothing here is cut that the user's own text holds as well: a file about such things may go on so.
"""

import re
from collections.abc import Iterable
from itertools import takewhile

from goose_lsp.text.rules.around import Around

_PROSE_LANGUAGES = frozenset(
    {
        "asciidoc",
        "git-commit",
        "gitcommit",
        "html",
        "latex",
        "markdown",
        "mdx",
        "plaintext",
        "quarto",
    }
    | {"restructuredtext", "rmd", "tex", "text"}
)
_LIST_LANGUAGES = _PROSE_LANGUAGES | {"yaml", "diff"}
# Control tokens of the known families, as they come out when a model writes them letter by letter.
_CONTROL = re.compile(
    r"<\|[\w\u2581-]{1,40}\|>|<\uff5c[\w\u2581-]{1,40}\uff5c>"
    r"|</s>|<EOT>|<(?:file_sep|repo_name|endoftext|fim[_-]\w{1,12})>"
)
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[\w+#.-]*[ \t]*")
_CODE_BEGINS = re.compile(r"\s*(?:\[(?:CODE|PYTHON|ANSWER)\]|<(?:CODE\w*|COMPLETION)>)[ \t]*\n?")
_CODE_ENDS = re.compile(r"\[/(?:CODE|PYTHON|ANSWER)\]|</(?:CODE\w*|COMPLETION)>")
# A line of a prompt's format: a speaker, another file's path, the file's end.
_PROMPT_LINE = re.compile(
    r"^[ \t]*(?:(?:Human|Assistant|User|System):(?: [A-Z][\w']* [\w']+ [\w']+|$)"
    r"|(?://|#|--|;|/\*|<!--) ?(?:Path: \S|File(?:name)?: [^\s./]*[./]\S|End of (?:the )?file\b))",
    re.MULTILINE,
)
_LEAD_IN = re.compile(
    r"(?:Sure|Certainly|Of course|Absolutely|Okay|Great|Yes)[,!.] .*"
    r"|(?:Here is|Here's|Here are|Below is|The following|This is) .*:"
    r"|(?:I'm sorry|I am sorry|I apologi[sz]e|As an AI)\b.*",
    re.IGNORECASE,
)
_AFTERWORD = re.compile(
    r"(?:Explanation|Note): .*|Explanation:"
    r"|(?:Here is|Here's how|The above|This (?:code|function|method|class|program)) [a-z].*[\w.:!]",
)
_STRAY_MARK = re.compile(
    r"[ \t]*(?:[\u2022\u2026\u00b7\u25aa\u25cf\u2795\u2796\u200b-\u200d\u2060\ufeff]+[ \t]*|[-.+] {2,})"
)


def cut_at_control_token(text: str, around: Around, spellings: Iterable[str]) -> str:
    """A control token ends the text, also where it comes as plain letters."""
    found = [text.find(s) for s in spellings if s.strip() and not around.mentions(s)]
    found += [match.start() for match in _CONTROL.finditer(text) if not _is_own(match, around)]
    return text[: min((place for place in found if place >= 0), default=None)]


def _is_own(match: re.Match[str], around: Around) -> bool:
    opening = match[0].replace("</", "<")  # `</s>` may close an HTML `<s>`
    is_open = "</" in match[0] and opening in around.before + match.string[: match.start()]
    return is_open or around.mentions(match[0])


def without_fence(text: str, around: Around) -> str:
    """Of an answer with a Markdown fence only what stands inside is code."""
    lines = text.split("\n")
    fences = [i for i, line in enumerate(lines) if _FENCE.fullmatch(line)]
    if not fences or around.language in _PROSE_LANGUAGES or around.mentions("```"):
        return text
    if any(line.strip() and not _is_prose(line) for line in lines[: fences[0]]):
        return "\n".join(lines[: fences[0]])  # the code came first
    return "\n".join(lines[fences[0] + 1 : fences[1] if len(fences) > 1 else None])


def cut_at_prompt_format(text: str, around: Around) -> str:
    """A line that only prompts have ends the text; tags around code enclose it."""
    begin = _CODE_BEGINS.match(text)
    if begin and not around.mentions(begin[0].strip()):
        text = text[begin.end() :]
    ends = [*_CODE_ENDS.finditer(text), *_PROMPT_LINE.finditer(text)]
    places = [end.start() for end in ends if not around.mentions(end[0].strip())]
    return text[: min(places, default=None)]


def without_prose(text: str, around: Around) -> str:
    """Sentences that lead in to code or explain it are dropped; a text of nothing else is emptied."""
    if around.is_in_prose or around.language in _LIST_LANGUAGES:
        return text
    lines = text.split("\n")
    contents = [i for i, line in enumerate(lines) if line.strip()]
    leads = list(
        takewhile(lambda i: _is_prose(lines[i]), contents if around.is_blank_before else ())
    )
    start = leads[-1] + 1 if leads else 0
    end = next((i for i in contents if i > start and _AFTERWORD.fullmatch(lines[i])), None)
    return "\n".join(lines[start:end])


def without_stray_mark(text: str, around: Around) -> str:
    """A bullet or an invisible character before the first word is none of the code."""
    if around.is_in_prose or not around.is_blank_before or around.language in _LIST_LANGUAGES:
        return text
    mark = _STRAY_MARK.match(text)
    return text[mark.end() :] if mark else text


def _is_prose(line: str) -> bool:
    return _LEAD_IN.fullmatch(line.strip()) is not None
