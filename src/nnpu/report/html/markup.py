"""HTML that cannot be broken out of, and how numbers are written in it.

Text is escaped unless this module made it.
"""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "Html",
    "floor_percent",
    "interval_words",
    "join",
    "number",
    "percent",
    "table",
    "tag",
]

_VOID = {"img", "input", "meta", "link"}  # the elements of SVG have an end, even if they are empty


class Html(str):
    """Text that is HTML already; any other text is escaped where it is put into a page."""

    __slots__ = ()


def join(children: Iterable[str]) -> Html:
    """Put parts after each other.

    >>> join(["a < b", Html("<hr>")])
    'a &lt; b<hr>'
    """
    return Html("".join(_safe(child) for child in children))


def tag(name: str, /, *children: str, **attributes: str | float | bool | None) -> Html:
    """Return an element.

    Parameters
    ----------
    name : str
        Of the element.
    children : str
        Its contents; text is escaped, `Html` is not.
    attributes
        Their names with ``_`` for ``-``, a trailing one dropped (``class_``, ``for_``). True is
        an attribute without a value; False and None are left out.

    Examples
    --------
    >>> tag("p", "1 < 2 ", tag("b", "&"), class_='"a"', hidden=True, id=None)
    '<p class="&quot;a&quot;" hidden>1 &lt; 2 <b>&amp;</b></p>'
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        words.append(attribute if value is True else f'{attribute}="{_attribute(value)}"')
    start = f"<{' '.join(words)}>"
    return Html(start if name in _VOID else f"{start}{join(children)}</{name}>")


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, class_: str | None = None
) -> Html:
    """Return a table whose first column names the rows.

    >>> print(table("Sizes", ["Sample", "Rows"], [["P", "3"]]))
    <div class="wide" role="region" aria-label="Sizes"
    tabindex="0"><table><caption>Sizes</caption><thead><tr><th scope="col">Sample</th><th
    scope="col">Rows</th></tr></thead><tbody><tr><th
    scope="row">P</th><td>3</td></tr></tbody></table></div>
    """
    header = tag("tr", *(tag("th", name, scope="col") for name in head))
    body = (
        tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest))
        for first, *rest in rows
    )
    inner = [tag("caption", caption), tag("thead", header), tag("tbody", *body)]
    # A narrow screen scrolls the table, so that keys must reach it.
    reach = {"role": "region", "aria_label": caption, "tabindex": "0"}
    return tag("div", tag("table", *inner, class_=class_), class_="wide", **reach)


def _safe(text: str) -> str:
    return text if isinstance(text, Html) else html.escape(text, quote=False)


def _attribute(value: str | float) -> str:
    return html.escape(value if isinstance(value, str) else f"{value:g}")


def number(value: float, digits: int = 3) -> str:
    """Write a number of an axis or a sentence, short.

    >>> number(0.25), number(-3.0), number(12000.0), number(1e-05), number(float("nan"))
    ('0.25', '−3', '12,000', '1e−5', '–')
    >>> number(-0.12344, digits=4)
    '−0.1234'
    """
    if not math.isfinite(value):
        return "–"
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        text = f"{value:.2g}".replace("e-0", "e-").replace("e+0", "e")
    else:
        text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
    return text.replace("-", "−")


def percent(value: float) -> str:
    """Write a share inside of [0, 1]: what lies beyond means nothing.

    >>> percent(0.7491), percent(-0.02), percent(1.3), percent(float("inf"))
    ('74.9 %', '0.0 %', '100.0 %', '–')
    """
    return f"{_hundredths(value)} %" if math.isfinite(value) else "–"


def floor_percent(value: float) -> str:
    """Write what a probability is above, never as much as 100 %.

    >>> floor_percent(0.99996), floor_percent(0.7499), floor_percent(0.0)
    ('99.9 %', '74.9 %', '0.0 %')
    """
    return f"{min(math.floor(1000 * value + 1e-9), 999) / 10:.1f} %"


def interval_words(low: float, high: float) -> str:
    """Write an interval of a share, as far as it lies inside of [0, 1].

    >>> interval_words(0.66, 0.835), interval_words(-0.1, 1.07)
    ('66.0 to 83.5 %', '0.0 to 100.0 %')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    return f"{_hundredths(low)} to {_hundredths(high)} %"


def _hundredths(value: float) -> str:
    return f"{100 * min(max(value, 0.0), 1.0):.1f}"
