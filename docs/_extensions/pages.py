"""What the site does with pages: the repository's own documents, the commands' help, toctrees."""

import contextlib
import io
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.directives.other import TocTree

import nnpu.cli
import nnpu_paper.cli


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
    """Make links that are right on a code host, such as ``../SECURITY.md``, links to pages."""
    text = source[0].replace("](../examples)", "](gallery/index.rst)")
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", text)
    source[0] = re.sub(r"\]\(\.\./([A-Z]+)\.md", lambda m: f"]({m[1].lower()}.md", text)


def setup(app):
    """Register the directives."""
    app.add_directive("command-help", CommandHelp)
    app.add_directive("paper-help", PaperHelp)
    app.add_directive("pages", Pages)
    app.connect("source-read", point_to_pages)
    return {"parallel_read_safe": True}
