"""HTML by templates: what all pages share.

Values are escaped, a template that lacks a value is an error, and data for a script go through
``tojson``.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment

__all__ = ["environment", "source_hash"]


def environment(package: str, finalize: Callable[[Any], Any] | None = None) -> Environment:
    """Return Jinja2 for the folder `templates` of a package.

    Parameters
    ----------
    package : str
        The package, such as ``"nnpu.report"``.
    finalize : callable, optional
        What is made of each value before it is written.

    Examples
    --------
    >>> environment("nnpu.report").from_string("<p>{{ words }}</p>").render(words="1 < 2")
    '<p>1 &lt; 2</p>'
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The script must be able to parse the data: JSON knows no NaN. No character outside of ASCII
    # means anything to a parser of HTML or of JavaScript.
    made.policies["json.dumps_kwargs"] = {
        "allow_nan": False,
        "ensure_ascii": True,
        "separators": (",", ":"),
    }
    return made


def source_hash(text: str) -> str:
    """Return what a browser compares an inline style sheet or script with before it uses it.

    >>> source_hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
