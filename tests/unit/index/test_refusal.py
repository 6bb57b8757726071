from goose_lsp.index.refusal import Refusal


def test_a_reason_reads_as_people_write_it() -> None:
    assert f"{Refusal.TOO_LARGE}" == "too-large"
    assert len({str(reason) for reason in Refusal}) == len(Refusal)
