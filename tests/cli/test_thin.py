"""Commands parse, call and print: they compute no number."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from nnpu.cli import _COMMANDS, cli

SOURCE = Path(importlib.util.find_spec("nnpu").origin).parent
THIN = ("fit", "predict", "evaluate", "prior", "review", "columns", "export")
COMPUTING = {"abs", "float", "int", "len", "max", "min", "round", "sorted", "sum"}


def computations(source: str) -> list[str]:
    """Return the expressions that compute a number: arithmetic, and calls such as ``sum``."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitOr):  # int | None
            path = isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant)
            if not (path and isinstance(node.right.value, str)):  # folder / "file"
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in COMPUTING:
            found.append(ast.unparse(node))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
            found += [name for name in names if name.split(".")[0] in ("numpy", "scipy", "sklearn")]
    return found


def test_a_computation_is_seen():
    assert computations("a = b + 1") == ["b + 1"]
    assert computations("print(sum(x))") == ["sum(x)"]
    assert computations("from numpy import mean") == ["numpy"]
    assert computations("def f(a: int | None, out): return out / 'run.toml'") == []


@pytest.mark.parametrize("name", THIN)
def test_a_command_computes_nothing(name):
    source = (SOURCE / "cli" / f"{name}.py").read_text(encoding="utf-8")
    assert computations(source) == []


@pytest.mark.parametrize("name", _COMMANDS)
def test_the_docs_show_the_help_of_every_command(name):
    """The page is made of the help itself, so that every option is on it."""
    page = SOURCE.parents[1] / "docs" / "commands.md"
    text = page.read_text(encoding="utf-8")
    assert f"\n## {name}\n\n```{{command-help}} {name}\n```\n" in text


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_option_says_what_it_does(name):
    command = cli.get_command(None, name)
    options = [each for each in command.params if each.param_type_name == "option"]
    assert [option.opts[-1] for option in options if not option.help] == []
