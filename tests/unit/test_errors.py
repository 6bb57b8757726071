import inspect

from goose_lsp import errors
from goose_lsp.errors import GooseError


def test_whoever_catches_the_base_class_catches_every_error() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    assert len(kinds) > 1
    assert all(issubclass(kind, GooseError) for kind in kinds)
