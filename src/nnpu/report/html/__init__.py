"""A report that one can open: a single HTML file, without network, with a threshold explorer."""

from nnpu.report.html.document import Page, Section, render

__all__ = ["Page", "Section", "render"]
