"""The documentation: its links lead somewhere, its code runs, its commands are ours."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from nnpu.cli import cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TREE = re.compile(r"^```\{(?:toctree|pages)\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Pages whose code takes a second or two; that of the others trains networks.
QUICK = "README", "start", "loop", "linear", "text", "theory", "from_pulearn", "faq", "report"


def blocks(page, language):
    return [code for name, code in FENCE.findall(page.read_text("utf-8")) if name == language]


def anchors(page):
    """The names that a code host and the site give to a page's headings."""
    text = page.read_text("utf-8")
    if text.startswith("```{include}"):  # a page of the site that shows another file
        return anchors(page.parent / text.split()[1])
    text = FENCE.sub("", text)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_pictures_lead_somewhere(page):
    text = FENCE.sub("", page.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        other = page.parent / path if path else page
        assert other.exists(), f"{page.name} points to {target}"
        if anchor:
            assert anchor in anchors(other), f"{page.name} points to {target}"


def test_every_page_has_a_place_on_the_site():
    listed = set()
    for page in (ROOT / "docs").glob("*.md"):
        trees = TREE.findall(page.read_text("utf-8"))
        lines = "\n".join(trees).splitlines()
        listed |= {re.sub(r".*<(.*)>", r"\1", line) for line in lines}
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert pages - listed == {"index"}


def test_the_reference_has_every_public_module():
    listed = set(re.findall(r"^   (nnpu[\w.]*)$", (ROOT / "docs/reference.md").read_text(), re.M))
    import nnpu

    modules = {name for name in nnpu.__all__ if isinstance(getattr(nnpu, name), type(nnpu))}
    assert {"nnpu", *(f"nnpu.{name}" for name in modules)} - listed == set()
    for module in listed:
        assert importlib.import_module(module).__all__


def cases():
    for page in PAGES:
        if blocks(page, "python"):
            marks = () if page.stem in QUICK else pytest.mark.slow
            yield pytest.param(page, id=page.stem, marks=marks)


@pytest.mark.parametrize("page", list(cases()))
def test_the_code_of_a_page_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    """As a page: nothing is defined before its first line."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for code, promised in RUN.findall(page.read_text("utf-8")):
        if code.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), 0)
            assert doctest.DocTestRunner().run(test).failed == 0
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, str(page), "exec"), names)
        if promised:  # figures may differ on another machine; the words may not
            assert without_numbers(printed.getvalue()) == without_numbers(promised)


def without_numbers(text):
    return " ".join(re.sub(r"-?\d[\d,.]*", "#", text).split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_have_options_that_exist(page):
    fenced = "\n".join(blocks(page, "") + blocks(page, "text"))
    shown = re.findall(r"^(?:\$ )?nnpu ([a-z].*?)(?:  +#.*)?$", fenced, re.MULTILINE)
    shown += re.findall(r"`nnpu ([a-z][^`…]*)`", page.read_text("utf-8"))
    for line in shown:
        name, *arguments = shlex.split(line)
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, line
        with contextlib.suppress(click.BadOptionUsage):  # a value may be left to the reader
            command.make_parser(click.Context(command)).parse_args(arguments)


@pytest.mark.slow
def test_the_start_page_shows_what_its_commands_print(tmp_path):
    """As above; "..." stands for any words."""
    page = ROOT / "docs/start.md"
    [script] = blocks(page, "python")
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
    (tmp_path / "nnpu").write_text(f"#!/bin/sh\nexec '{sys.executable}' -m nnpu \"$@\"\n")
    (tmp_path / "nnpu").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT / "src")}
    for text in blocks(page, "text"):
        for shown in text.removeprefix("$ ").split("\n$ "):
            command, _, promised = shown.partition("\n")
            run = subprocess.run(
                command,
                shell=True,
                check=True,
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
            )
            printed = without_numbers(run.stdout)
            words = re.escape(without_numbers(promised)).replace(re.escape(" ..."), ".*")
            assert re.fullmatch(words, printed), printed


def test_docstrings_become_links_and_keep_absolute_values():
    spec = importlib.util.spec_from_file_location(
        "docstrings", ROOT / "docs/_extensions/docstrings.py"
    )
    docstrings = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docstrings)
    lines = [
        "|r| of `PULoss`, `margin` and ``a | b``; see docs/theory.md.",
        ">>> {1} | {2}",
        "{1, 2} | 3",
        "",
        "|η|",
    ]
    docstrings.prepare(None, "function", "f", None, None, lines)
    assert lines == [
        r"\|r\| of :py:obj:`PULoss <nnpu.PULoss>`, ``margin`` and ``a | b``; see :doc:`/theory`.",
        ">>> {1} | {2}",
        "{1, 2} | 3",
        "",
        r"\|η\|",
    ]
