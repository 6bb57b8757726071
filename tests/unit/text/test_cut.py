import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.text.cut import cut_after, cut_before, cut_up

texts = st.text("a1.é \t\n", max_size=400)


def cuts_of(text: str) -> list[int]:
    """Every cut of a text, by definition."""
    return [
        c
        for c in range(1, len(text))
        if text[c - 1].isascii() and text[c - 1].isalnum() and text[c] in " \t\n"
    ]


@given(texts, st.data())
def test_the_nearest_cuts_leave_out_what_may_change(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    assert cut_before(text, offset) == max((c for c in cuts_of(text) if c < offset), default=0)
    assert cut_after(text, offset) == min(
        (c for c in cuts_of(text) if c > offset), default=len(text)
    )


@given(texts, st.integers(1, 20))
def test_parts_make_up_the_text_and_meet_at_cuts(text: str, min_chars: int) -> None:
    parts = list(cut_up(text, min_chars))
    assert "".join(parts) == text
    assert all(len(part) >= min_chars for part in parts[:-1])
    ends = {sum(map(len, parts[: i + 1])) for i in range(len(parts))}
    assert ends <= {*cuts_of(text), len(text)}


@pytest.mark.parametrize("n_chars", [100, 10_000])
def test_a_cut_is_found_however_far_away(n_chars: int) -> None:
    text = "a b" + "." * n_chars + "c d"
    assert cut_before(text, n_chars) == 1
    assert cut_after(text, 3) == n_chars + 4
