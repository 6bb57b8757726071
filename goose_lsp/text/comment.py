"""How languages spell a comment that fills a line of its own. Keys are LSP language identifiers."""

_HASH = ("# ", "")
_SLASHES = ("// ", "")
_DASHES = ("-- ", "")
_SEMICOLONS = (";; ", "")
_PERCENT = ("% ", "")
_MARKUP = ("<!-- ", " -->")
_STARS = ("/* ", " */")

_SPELLINGS = {
    **dict.fromkeys(["ada", "elm", "haskell", "lua", "sql", "vhdl"], _DASHES),
    **dict.fromkeys(["clojure", "lisp", "racket", "scheme"], _SEMICOLONS),
    **dict.fromkeys(["erlang", "latex", "matlab", "prolog", "tex"], _PERCENT),
    **dict.fromkeys(["astro", "html", "markdown", "svelte", "vue", "xml", "xsl"], _MARKUP),
    **dict.fromkeys(["css"], _STARS),
    **dict.fromkeys(["bat"], ("REM ", "")),
    **dict.fromkeys(["vb"], ("' ", "")),
    **dict.fromkeys(["vim", "viml"], ('" ', "")),
    **dict.fromkeys(
        [
            *("c", "cpp", "csharp", "cuda-cpp", "dart", "fsharp", "go", "groovy", "java"),
            *("javascript", "javascriptreact", "json", "jsonc", "kotlin", "less"),
            *("objective-c", "objective-cpp", "pascal", "php", "proto3", "rust", "scala", "scss"),
            *("swift", "typescript", "typescriptreact", "v", "zig"),
        ],
        _SLASHES,
    ),
}


def comment_line(text: str, language: str) -> str:
    """`text`, one line, as a comment with its line end; `#` in languages that are not known."""
    opening, closing = _SPELLINGS.get(language, _HASH)
    if closing:  # nothing may end the comment early
        text = text.replace(closing.strip(), "")
    return f"{opening}{text}".rstrip() + f"{closing}\n"


def comment_block(text: str, language: str) -> str:
    """Every line of `text` as a comment line."""
    return "".join(comment_line(line, language) for line in text.splitlines())
