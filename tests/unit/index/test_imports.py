import pytest

from goose_lsp.index.imports import find_imports


@pytest.mark.parametrize(
    ("line", "path", "imported"),
    [
        ("from .models import User", "app/views.py", "app/models.py"),
        ("from . import models, urls", "app/views.py", "app/urls.py"),
        ("from ..core import x", "app/in/views.py", "app/core.py"),
        ("from app.models import User", "main.py", "src/app/models.py"),
        ("import app.models", "main.py", "app/models.py"),
        ("from app import models", "main.py", "app/models/__init__.py"),
        ('import x from "./util"', "src/a.ts", "src/util.ts"),
        ('const x = require("../lib/util.js")', "src/a.js", "lib/util.js"),
        ('import "host/team/pkg"', "main.go", "host/team/pkg/index.go"),
        ('#include "util.h"', "src/a.c", "src/util.h"),
        ("mod parser;", "src/lib.rs", "src/parser.rs"),
        ("use crate::parser::Tree;", "src/lib.rs", "src/parser.rs"),
        ("use super::tree;", "src/in/a.rs", "src/tree.rs"),
        ("import com.acme.Tool;", "A.java", "src/com/acme/Tool.java"),
    ],
)
def test_an_import_names_a_file(line: str, path: str, imported: str) -> None:
    assert find_imports([line], path).covers(imported)
    assert not find_imports([line], path).covers("other/unrelated.py")


def test_lines_that_import_nothing_or_lead_outside_do_no_harm() -> None:
    found = find_imports(["x = 1", "from .... import x", "import " + "a" * 1000, "from"], "a.py")
    assert not found.covers("x.py")
