"""A page: one self-contained HTML file, made of sections, filled in from templates.

Python holds the data of a section, the files in `templates/` hold the markup. Whatever is put into
a template is escaped there, and data for the script are JSON in which no character ends an element.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from nnpu.files import write_text
from nnpu.report.charts import drawing, number
from nnpu.templating import environment, source_hash
from nnpu.terminal import visible

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from jinja2 import Environment
    from markupsafe import Markup

    from nnpu.report.panels import Panel

__all__ = [
    "Page",
    "Section",
    "chart_section",
    "fill",
    "floor_percent",
    "interval_words",
    "percent",
    "render",
    "table_section",
]


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Parameters
    ----------
    name : str
        Its id, for links.
    title : str
        Its heading.
    body : str
        What it says and shows: HTML if it is a `markupsafe.Markup`; any other text is escaped.
    data : mapping
        Plain values for the script.
    """

    name: str
    title: str
    body: str
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
        return fill("notebook.html", title=self.title, page=render(self))


def render(page: Page) -> str:
    """Return a page as HTML.

    The style sheet and the script stand in it, and its security policy lets in nothing but these
    two: no request leaves the page, and no text of a table becomes a part of it.

    Examples
    --------
    >>> text = render(Page("</script>", "A table.", [Section("data", "Data", "3 < 4")]))
    >>> "<h1>&lt;/script&gt;</h1>" in text, "3 &lt; 4" in text, "://" in text
    (True, True, False)
    """
    from markupsafe import Markup

    style, script = _files()
    data = {key: value for section in page.sections for key, value in section.data.items()}
    return str(
        fill(
            "page.html",
            page=page,
            data=data,
            style=Markup(style),
            script=Markup(script),
            hashes={"style": source_hash(style), "script": source_hash(script)},
        )
    )


def fill(template: str, **values: Any) -> Markup:
    """Return a template of `templates/` with these values in it.

    Examples
    --------
    >>> print(fill("paragraphs.html", words=["1 < 2", "{{ 7 * 7 }}"]))
    <p>1 &lt; 2</p>
    <p>{{ 7 * 7 }}</p>
    """
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(**values))


@cache
def _environment() -> Environment:
    made = environment("nnpu.report", finalize=_readable)
    made.filters |= {"number": number, "breakable": _breakable}
    made.filters |= {"sentence": _sentence, "unbroken": _unbroken}
    return made


# Text after such a character is shown in another order, up to the end of the line.
_REORDERS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def _readable(value: Any) -> Any:
    """Write characters that nobody could see, or no file could hold, as escapes."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    text = _REORDERS.sub(lambda found: f"\\u{ord(found[0]):04x}", visible(value))
    return text.encode("utf-8", "backslashreplace").decode()  # half of a surrogate pair


_OPTION = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")


def _sentence(text: str) -> Markup:
    """Keep each option of the command line on one line."""
    from markupsafe import Markup, escape

    shown = str(escape(_readable(text)))
    return Markup(_OPTION.sub(lambda found: f"<code>{found[0]}</code>", shown))


def _unbroken(text: str) -> str:
    """Keep a number and its per cent sign on one line."""
    return text.replace(" %", "\u00a0%")


def _breakable(name: str) -> Markup:
    """Let a long name break where its words do, not anywhere."""
    from markupsafe import Markup, escape

    return escape(_readable(name)).replace("_", Markup("_<wbr>"))


@cache
def _files() -> tuple[str, str]:
    """Return the style sheet and the script."""
    folder = files("nnpu.report") / "templates"
    style, script = (folder / f"page.{kind}" for kind in ("css", "js"))
    return style.read_text(encoding="utf-8"), script.read_text(encoding="utf-8")


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
    drawings = [drawing(panel, f"{name}-{i}") for i, panel in enumerate(plain, start=1)]
    return Section(name, title, fill("charts.html", words=words, drawings=drawings))


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
    found = {"caption": caption or title, "head": head, "rows": rows}
    return Section(name, title, fill("table.html", words=words, **found))


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
    r"""Write the mathematical text of a picture without its markup, for a page.

    >>> _plain_math(r"at $|\widetilde{R}_{pu} - R|$ and $\propto 2\pi/\sqrt{n_p}$")
    'at |R̃_pu - R| and ∝ 2π/√n_p'
    """
    parts = text.split("$")
    for odd in range(1, len(parts), 2):
        for mark, symbol in _SYMBOLS.items():
            parts[odd] = parts[odd].replace(mark, symbol)
        parts[odd] = parts[odd].translate({ord("{"): None, ord("}"): None})
    return "".join(parts)


def percent(value: float) -> str:
    r"""Write a share inside of [0, 1]: what lies beyond means nothing.

    >>> percent(0.7491), percent(-0.02), percent(1.3), percent(float("inf"))
    ('74.9\xa0%', '0.0\xa0%', '100.0\xa0%', '–')
    """
    return f"{_hundredths(value)}\u00a0%" if math.isfinite(value) else "–"


def floor_percent(value: float) -> str:
    r"""Write what a probability is above, never as much as 100 %.

    >>> floor_percent(0.99996), floor_percent(0.7499), floor_percent(0.0)
    ('99.9\xa0%', '74.9\xa0%', '0.0\xa0%')
    """
    return f"{min(math.floor(1000 * value + 1e-9), 999) / 10:.1f}\u00a0%"


def interval_words(low: float, high: float) -> str:
    r"""Write the range of a share, as far as it lies inside of [0, 1].

    >>> interval_words(0.66, 0.835), interval_words(-0.1, 1.07)
    ('66.0 to 83.5\xa0%', '0.0 to 100.0\xa0%')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    return f"{_hundredths(low)} to {_hundredths(high)}\u00a0%"


def _hundredths(value: float) -> str:
    return f"{100 * min(max(value, 0.0), 1.0):.1f}"
