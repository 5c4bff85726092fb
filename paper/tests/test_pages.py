"""The paper's pages: links lead somewhere, commands have their options, all are on the site."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path

import click
import pytest

import nnpu.cli
from nnpu_paper.cli import cli

PAPER = Path(__file__).parents[1]
ROOT = PAPER.parent
PAGES = [PAPER / "README.md", *sorted((PAPER / "docs").glob("*.md"))]
EVERY_PAGE = [*PAGES, ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EVERY_PAGE += sorted((ROOT / "docs/lab").glob("*.md"))
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_pictures_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text("utf-8"))):
        path, _, anchor = target.partition("#")
        if "://" not in target:
            other = page.parent / path if path else page
            assert other.exists(), f"{page.name} points to {target}"
            assert not anchor or anchor in anchors(other), f"{page.name} points to {target}"


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.stem)
def test_every_page_is_on_the_site_under_its_own_name(page):
    """So that a link from one of them to another is right in both places."""
    shown = (ROOT / "docs" / page.name).read_text("utf-8")
    assert shown.startswith(f"```{{include}} ../paper/docs/{page.name}\n")


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_the_commands_of_a_page_have_options_that_exist(page):
    text = page.read_text("utf-8")
    fenced = "\n".join(code for language, code in FENCE.findall(text) if language in ("", "text"))
    for group, name in ((cli, "nnpu-paper"), (nnpu.cli.cli, "nnpu")):
        shown = re.findall(rf"^(?:\$ )?{name} ([a-z].*?)(?:  +#.*)?$", fenced, re.MULTILINE)
        shown += re.findall(rf"`{name} ([a-z][^`…]*)`", text)
        for line in shown:
            word, *arguments = shlex.split(line)
            command = group.get_command(click.Context(group), word)
            assert command is not None, line
            with contextlib.suppress(click.BadOptionUsage):  # a value may be left to the reader
                command.make_parser(click.Context(command)).parse_args(arguments)


def test_the_command_page_shows_the_help_of_every_command():
    text = (PAPER / "docs/paper_commands.md").read_text("utf-8")
    headings = " ".join(re.findall(r"^## (.*)$", text, re.MULTILINE))
    listed = headings.replace("figure1 to figure4", "figure1 figure2 figure3 figure4")
    assert re.findall(r"\w+", listed) == list(cli.commands)


def test_the_example_of_the_readme_runs():
    (code,) = [
        code for name, code in FENCE.findall(PAGES[0].read_text("utf-8")) if name == "python"
    ]
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["digits"].name == "digits"
