"""The paper is the library's first user: it imports public names only.

A public name is in an ``__all__`` of a module that docs/reference.md lists and whose dotted path
has no underscore.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(importlib.util.find_spec("nnpu_paper").origin).parent
MODULES = sorted(SOURCE.rglob("*.py"))
REFERENCE = Path(__file__).parents[2] / "docs" / "reference.md"
DOCUMENTED = set(re.findall(r"^   (nnpu(?:\.\w+)*)$", REFERENCE.read_text("utf-8"), re.MULTILINE))


def is_public(module: str, name: str) -> bool:
    """Return whether ``from module import name`` takes a public name."""
    if f"{module}.{name}" in DOCUMENTED:  # a module: from nnpu import theory
        return True
    return module in DOCUMENTED and name in importlib.import_module(module).__all__


def library_names(source: str) -> list[tuple[str, str]]:
    """Return what a module takes from the library: by imports, and by dots after them."""
    tree, found, modules = ast.parse(source), [], {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "nnpu":
            for alias in node.names:
                found.append((node.module, alias.name))
                full = f"{node.module}.{alias.name}"
                if full in DOCUMENTED:
                    modules[alias.asname or alias.name] = full
        elif isinstance(node, ast.Import):
            inside = [alias.name for alias in node.names if alias.name.split(".")[0] == "nnpu"]
            found += [
                tuple(name.rpartition(".")[::2]) if "." in name else ("nnpu", name)
                for name in inside
                if name != "nnpu"
            ]
            modules |= {name: name for name in inside}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in modules:
            found.append((modules[ast.unparse(node.value)], node.attr))
    return found


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("from nnpu.data import load", [("nnpu.data", "load")]),
        ("from nnpu import theory\ntheory.plan", [("nnpu", "theory"), ("nnpu.theory", "plan")]),
        ("def f():\n    from nnpu.cli._paths import Source", [("nnpu.cli._paths", "Source")]),
        ("import nnpu.data.rows", [("nnpu.data", "rows")]),
        ("import nnpu\nnnpu.PULoss", [("nnpu", "PULoss")]),
        ("from nnpu_paper import load\nimport numpy", []),
    ],
)
def test_a_name_is_seen_however_it_is_taken(line, names):
    assert library_names(line) == names


def test_private_names_are_told_from_public_ones():
    assert is_public("nnpu.training", "train")
    assert is_public("nnpu", "theory")
    assert not is_public("nnpu.data", "rows")
    assert not is_public("nnpu.data.rows", "as_rows")
    assert not is_public("nnpu.cli._paths", "Source")


def test_no_documented_module_has_an_underscore():
    assert [name for name in DOCUMENTED if "_" in name] == []
    for name in DOCUMENTED:
        assert isinstance(importlib.import_module(name), ModuleType)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_takes_public_names_only(path):
    names = library_names(path.read_text("utf-8"))
    allowed = {("nnpu", "__version__")}
    assert [pair for pair in names if not is_public(*pair) and pair not in allowed] == []


def test_a_module_says_what_it_is_and_what_it_offers():
    for path in MODULES:
        tree = ast.parse(path.read_text("utf-8"))
        assert ast.get_docstring(tree), path.name
        if path.name != "__main__.py":
            assigned = [
                ast.unparse(node.targets[0]) for node in tree.body if isinstance(node, ast.Assign)
            ]
            assert assigned.count("__all__") == 1, path.name


def test_both_projects_have_one_version():
    import nnpu
    import nnpu_paper

    assert nnpu_paper.__version__ == nnpu.__version__
