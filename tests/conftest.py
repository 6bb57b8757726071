"""Fixtures every ring may use, and the order of the rings."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent.parent))

# A busy machine is no failure.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fast rings first: a real process is only worth starting once the parts work."""
    items.sort(key=lambda item: item.get_closest_marker("e2e") is not None)
