import pytest

from goose_lsp.text.rules.whole import is_whole_so_far, whole_lines


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x = 1\ny = 2\nz =", "x = 1\ny = 2"),
        ("if (a) {\n    b;\n}\nif (c) {\n    d;\n", "if (a) {\n    b;\n}"),
        ("if (a) {\n    b;\n    c", "if (a) {\n    b;"),  # nothing of it is whole
        ("f(a,\n  b)\ng(", "f(a,\n  b)"),
        ('x = 1\ny = "a\nb', "x = 1"),
        ("x = 1\n\n  \ny =", "x = 1"),
        ("x = 1\nif y:\n    z", "x = 1"),
        ("x = f(", "x = f("),
        ("x = [a] + [b] + [", "x = [a] + [b]"),
        ("x = f(a) + b + c", "x = f(a) + b + c"),
        ("\n", "\n"),
        ("", ""),
    ],
)
def test_a_text_cut_short_ends_with_its_last_whole_line(text: str, kept: str) -> None:
    assert whole_lines(text) == kept


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("x = 1\n", True),
        ("x = 1\ny = (", True),
        ("x = (\n", False),
        ("x = 1", False),
        ("\n", False),
    ],
)
def test_a_line_end_with_all_closed_is_one_to_stop_at(text: str, is_so: bool) -> None:
    assert is_whole_so_far(text) is is_so
