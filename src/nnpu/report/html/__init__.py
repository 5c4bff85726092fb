"""A report that one can open: a single HTML file, without network, with a threshold explorer."""

from nnpu.report.html.document import Page, Section, chart_section, render, table_section

__all__ = ["Page", "Section", "chart_section", "render", "table_section"]
