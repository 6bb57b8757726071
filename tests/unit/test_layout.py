"""Where tests lie: whoever opens a module finds its tests by its name."""

from pathlib import Path

import goose_lsp

PACKAGE = Path(goose_lsp.__file__).parent
TESTS = Path(__file__).parent.parent
# completer.py holds a dataclass and a Protocol: nothing that could go wrong by itself.
_EXEMPT = {"__init__.py", "__main__.py", "completer.py"}


def has_tests(module: Path) -> bool:
    """Whether a test file of its name mirrors the module, or lies in another ring."""
    name = f"test_{module.name}"
    mirrored = TESTS / "unit" / module.relative_to(PACKAGE).parent / name
    elsewhere = (path for path in TESTS.rglob(name) if TESTS / "unit" not in path.parents)
    return mirrored.is_file() or any(elsewhere)


def test_every_module_has_a_test_file_of_its_name() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.name not in _EXEMPT]
    assert modules
    missing = sorted(str(path.relative_to(PACKAGE)) for path in modules if not has_tests(path))
    assert not missing, f"no test_<name>.py for goose_lsp modules: {', '.join(missing)}"


def test_no_mirrored_test_file_outlives_its_module() -> None:
    """Only folders named as packages mirror; files beside them may test the project itself."""
    orphans = [
        str(test.relative_to(TESTS))
        for package in (path for path in PACKAGE.iterdir() if path.is_dir())
        for test in (TESTS / "unit" / package.name).glob("test_*.py")
        if not (package / test.name.removeprefix("test_")).is_file()
    ]
    assert not orphans, f"tests of modules that do not exist: {', '.join(sorted(orphans))}"
