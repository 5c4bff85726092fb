"""HTML that cannot be broken out of: text is escaped unless this module made it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Html", "join", "table", "tag"]

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
