"""What the site does with pages: the repository's own documents, the commands' help, toctrees."""

import contextlib
import io
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.directives.other import TocTree

import nnpu.cli
import nnpu_paper.cli

IMAGES = Path(__file__).parents[1] / "images"


class CommandHelp(Directive):
    """The output of ``nnpu COMMAND --help``."""

    optional_arguments = 1
    program, main = "nnpu", staticmethod(nnpu.cli.main)

    def run(self):
        """Ask the command line itself."""
        with contextlib.redirect_stdout(io.StringIO()) as output:
            self.main([*self.arguments, "--help"])
        command = " ".join(["$", self.program, *self.arguments, "--help"])
        text = f"{command}\n{output.getvalue()}"
        return [nodes.literal_block(text, text, language="text")]


class PaperHelp(CommandHelp):
    """The output of ``nnpu-paper COMMAND --help``."""

    program, main = "nnpu-paper", staticmethod(nnpu_paper.cli.main)


class Pages(TocTree):
    """A toctree that leaves out the pages that are not there."""

    def run(self):
        """Look for each of them."""
        there = [page for page in self.content if page in self.env.found_docs]
        self.content = StringList(there, source="")
        return super().run() if there else []


def point_to_pages(app, docname, source):
    """Make links that are right on a code host, such as ``../SECURITY.md``, links to pages.

    The README is the front page.
    """
    text = source[0].replace("](../examples)", "](gallery/index.rst)")
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", text)
    up = "../" if docname.startswith("lab/") else ""
    name = re.compile(rf"\]\({re.escape(up)}\.\./([A-Z]+)\.md")
    page = {"README": "index"}
    source[0] = name.sub(lambda m: f"]({up}{page.get(m[1], m[1].lower())}.md", text)


PICTURE = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)?(?:docs/)?images/[\w-]+)-light\.png\)")


def with_dark(text):
    """Show the dark twin of a picture where the page is dark."""

    def both(match):
        name = match[2].rpartition("/")[2]
        if not (IMAGES / f"{name}-dark.png").exists():
            return match[0]
        alt = " ".join(match[1].split())
        kinds = ("light", "dark")
        return "".join(f"![{alt}]({match[2]}-{kind}.png){{.only-{kind}}}" for kind in kinds)

    return PICTURE.sub(both, text)


def show_dark_pictures(app, docname, source):
    """In a page."""
    source[0] = with_dark(source[0])


def show_dark_pictures_included(app, path, docname, content):
    """In a file that a page includes."""
    content[0] = with_dark(content[0])


def name_toggles(app, pagename, templatename, context, doctree):
    """Name the buttons that open a part of the side bar, for those who hear the page."""
    generate = context.get("generate_toctree_html")

    def named(kind, *places, **options):
        found = generate(kind, *places, **options)
        if kind == "raw":
            return found
        return str(found).replace("<summary>", '<summary aria-label="Pages below">')

    if generate is not None:
        context["generate_toctree_html"] = named


def setup(app):
    """Register the directives."""
    app.add_directive("command-help", CommandHelp)
    app.add_directive("paper-help", PaperHelp)
    app.add_directive("pages", Pages)
    app.connect("source-read", point_to_pages)
    app.connect("source-read", show_dark_pictures)
    app.connect("include-read", show_dark_pictures_included)
    app.connect("html-page-context", name_toggles, priority=900)  # after the theme
    return {"parallel_read_safe": True}
