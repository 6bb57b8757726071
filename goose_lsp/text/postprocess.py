"""What of the model's text is shown. Pure text rules."""

from goose_lsp.text.endings import EndRule


def shown_text(text: str, held_back: str, rule: EndRule, *, is_whole: bool) -> str:
    """What may be shown of the model's text; empty when nothing fits at the cursor.

    `held_back` are the blanks before the cursor that the prompt left out: the text must begin with
    them. `is_whole` says that the model ended by itself; otherwise a last line that was cut short is
    dropped when whole lines precede it.
    """
    if not text.startswith(held_back):
        return ""
    text = text[len(held_back) :]
    end = rule.end(text)
    if end is not None:
        text = text[:end]
    elif not is_whole and "\n" in text.strip():
        text = text[: text.rfind("\n")]
    return text.rstrip()
