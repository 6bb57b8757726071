import numpy as np
import pytest

from goose_lsp.draft.bigrams import NO_TOKEN, AdjacencyTable
from goose_lsp.errors import GooseError


def harvest(table: AdjacencyTable, *rows: tuple[int, int, list[int]]) -> None:
    """Rows of (previous, current, successors); probabilities fall by rank."""
    width = max(len(successors) for _, _, successors in rows)
    probabilities = np.array([[0.5 / (i + 1) for i in range(width)]] * len(rows), np.float32)
    table.harvest(
        [previous for previous, _, _ in rows],
        [current for _, current, _ in rows],
        np.array([successors for _, _, successors in rows]),
        probabilities,
    )


def successors(table: AdjacencyTable, previous: int, current: int) -> list[int] | None:
    found = table.successors(previous, current)
    return found.token_ids if found else None


def test_the_pair_wins_over_the_single_token() -> None:
    table = AdjacencyTable(k=2)
    harvest(table, (1, 2, [3, 4]), (5, 2, [6, 7]))
    assert successors(table, 1, 2) == [3, 4]
    assert successors(table, 9, 2) == [6, 7]
    assert successors(table, 9, 9) is None


def test_the_last_position_wins_within_one_pass() -> None:
    table = AdjacencyTable(k=1)
    harvest(table, (1, 2, [3]), (1, 2, [4]))
    assert successors(table, 1, 2) == [4]


def test_an_unknown_previous_token_fills_only_the_fallback() -> None:
    table = AdjacencyTable(k=1)
    harvest(table, (NO_TOKEN, 2, [3]))
    found = table.successors(1, 2)
    assert found is not None
    assert not found.is_pair
    assert len(table) == 0


def test_fewer_successors_than_k_leave_no_ghosts_of_the_old_row() -> None:
    table = AdjacencyTable(k=3)
    harvest(table, (1, 2, [3, 4, 5]))
    harvest(table, (1, 2, [6]))
    assert successors(table, 1, 2) == [6]


def test_more_successors_than_k_are_cut() -> None:
    table = AdjacencyTable(k=1)
    harvest(table, (1, 2, [3, 4, 5]))
    assert successors(table, 1, 2) == [3]


def test_the_oldest_pair_makes_room() -> None:
    table = AdjacencyTable(k=1, max_pairs=2, max_tokens=1)
    harvest(table, (1, 1, [10]), (2, 2, [20]))
    harvest(table, (3, 3, [30]))
    assert successors(table, 1, 1) is None
    assert successors(table, 2, 2) == [20]
    assert successors(table, 3, 3) == [30]
    assert len(table) == 2


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(GooseError, match="differ in length"):
        AdjacencyTable().harvest([1], [1, 2], np.zeros((2, 1), int), np.zeros((2, 1), np.float32))


def test_a_table_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="must be ≥ 1"):
        AdjacencyTable(k=0)
