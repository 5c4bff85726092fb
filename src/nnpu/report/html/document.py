"""The page: one self-contained file, made of sections."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from nnpu.files import write_text
from nnpu.report.html.chart import charts
from nnpu.report.html.markup import Html, join, table, tag

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from nnpu.report.panels import Panel

__all__ = ["Page", "Section", "chart_section", "render", "table_section"]


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Parameters
    ----------
    name : str
        Its id, for links.
    title : str
        Its heading.
    body : Html
        What it says and shows.
    data : mapping
        Plain values for the script.
    """

    name: str
    title: str
    body: Html
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """A report.

    Parameters
    ----------
    title : str
        What it is about.
    lead : str
        A sentence below it.
    sections : sequence of Section
        Its parts.
    footer : str
        How it came about: the command, say.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    footer: str = ""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as one HTML file that opens from the disk, complete or not at all."""
        return write_text(path, render(self))

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own."""
        return tag(
            "iframe",
            srcdoc=render(self),
            title=self.title,
            width="100%",
            height="640",
            style="border: 0",
        )


def chart_section(
    name: str, title: str, panels: Sequence[Panel], words: Sequence[str] = ()
) -> Section:
    r"""Return a section of charts with sentences above them.

    Parameters
    ----------
    name, title : str
        Its id, for links, and its heading.
    panels : sequence of Panel
        The charts. Matplotlib's mathematical text (``$n_p$``) becomes plain characters.
    words : sequence of str
        The sentences.

    Examples
    --------
    >>> from nnpu.report import Curve, Panel
    >>> panel = Panel("Risk", "$n_p$", "risk", [Curve("nnPU", [1, 2, 3], [0.5, 0.3, 0.2])])
    >>> section = chart_section("risk", "The risk", [panel], ["It falls."])
    >>> "<p>It falls.</p>" in section.body, "$" in section.body
    (True, False)
    """
    plain = [
        replace(
            panel,
            title=_plain_math(panel.title),
            x_label=_plain_math(panel.x_label),
            y_label=_plain_math(panel.y_label),
            curves=[replace(curve, label=_plain_math(curve.label)) for curve in panel.curves],
        )
        for panel in panels
    ]
    return Section(name, title, join([*_paragraphs(words), charts(plain, name)]))


def table_section(
    name: str,
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str | None = None,
    words: Sequence[str] = (),
) -> Section:
    """Return a section with a table and sentences above it.

    Parameters
    ----------
    name, title : str
        Its id, for links, and its heading.
    head : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        The cells; the first of each row names the row.
    caption : str, optional
        Of the table; by default the section's title.
    words : sequence of str
        The sentences.

    Examples
    --------
    >>> section = table_section("sizes", "Sizes", ["Sample", "Rows"], [["P", "3"]])
    >>> "<td>3</td>" in section.body
    True
    """
    body = join([*_paragraphs(words), table(caption or title, head, rows)])
    return Section(name, title, body)


def _paragraphs(words: Sequence[str]) -> list[Html]:
    return [tag("p", sentence) for sentence in words]


# What the panels of this package use of matplotlib's mathematical text.
_SYMBOLS = {
    r"\widetilde{R}": "R̃",
    r"\widehat{R}": "R̂",
    r"\widetilde{g}": "g̃",
    r"\alpha": "\u03b1",
    r"\beta": "β",
    r"\pi": "π",
    r"\propto": "∝",
    r"\sqrt": "√",
    r"\,": " ",
    r"\{": "(",
    r"\}": ")",
    "^2": "²",
    "^*": "*",
}


def _plain_math(text: str) -> str:
    r"""Write the mathematical text of a picture without marks, for a page that has no such thing.

    >>> _plain_math(r"at $|\widetilde{R}_{pu} - R|$ and $\propto 2\pi/\sqrt{n_p}$")
    'at |R̃_pu - R| and ∝ 2π/√n_p'
    """
    parts = text.split("$")
    for odd in range(1, len(parts), 2):
        for mark, symbol in _SYMBOLS.items():
            parts[odd] = parts[odd].replace(mark, symbol)
        parts[odd] = parts[odd].translate({ord("{"): None, ord("}"): None})
    return "".join(parts)


def render(page: Page) -> str:
    """Return a page as HTML.

    The style sheet and the script stand in it, and its security policy lets in nothing but these
    two: no request leaves the page, and no text of a table becomes a part of it.

    Examples
    --------
    >>> section = Section("data", "Data", tag("p", "3 rows"))
    >>> text = render(Page("</script>", "A table.", [section]))
    >>> "<h1>&lt;/script&gt;</h1>" in text, "://" in text
    (True, False)
    """
    style, script = (
        files("nnpu.report.html").joinpath(name).read_text(encoding="utf-8")
        for name in ("page.css", "page.js")
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", page.title),
        tag("style", Html(style)),
    )
    data = {key: value for section in page.sections for key, value in section.data.items()}
    body = tag(
        "body",
        tag("a", "Skip to the contents", class_="skip", href="#main"),
        _header(page),
        tag("main", *(_section(section) for section in page.sections), id="main"),
        tag("footer", tag("p", page.footer)),
        tag("script", _embedded(data), type="application/json", id="page-data"),
        tag("script", Html(script)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    """What the browser compares an inline style sheet or script with before it uses it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(data: Mapping[str, Any]) -> Html:
    """JSON in which no character can end the element that holds it."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)


def _header(page: Page) -> Html:
    links = (tag("li", tag("a", part.title, href=f"#{part.name}")) for part in page.sections)
    return tag(
        "header",
        tag("button", "Dark mode", type="button", id="theme", hidden=True),
        tag("h1", page.title),
        tag("p", page.lead, class_="lead"),
        tag("nav", tag("ul", *links), aria_label="Contents"),
    )


def _section(section: Section) -> Html:
    heading = tag("h2", section.title, id=f"{section.name}-title")
    return tag(
        "section",
        join([heading, section.body]),
        id=section.name,
        aria_labelledby=f"{section.name}-title",
    )
