"""A page to answer in: one HTML file without a network, which exports the sheet as CSV."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from nnpu.review.sheets import COLUMNS
from nnpu.templating import environment, source_hash

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = ["images_of", "page_text"]

_HIDDEN = ("probability", "reasons")  # what would sway a reviewer is shown on demand
_IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_LARGEST_IMAGE = 5_000_000  # bytes; a larger one stays a name


def page_text(
    sheet: str,
    *,
    file: str = "review.csv",
    question: str = "Is this row a positive?",
    folder: str | os.PathLike[str] | None = None,
) -> str:
    """Return the page for a sheet: a row at a time, keys y, n and ?, export of the same sheet.

    Its security policy lets in nothing but its own style sheet and script: no request leaves the
    page, and no cell of a table becomes a part of it.

    Parameters
    ----------
    sheet : str
        The CSV text of a sheet.
    file : str
        The name of the exported file.
    question : str
        What is asked of every row.
    folder : path-like, optional
        Where names of images in cells are looked up; those found are shown. Long text is shown
        with its line breaks.

    Examples
    --------
    >>> sheet = ["answer,id,probability,reasons,chance,review,note", ",7,0.5,,0.1,1,<b>", ""]
    >>> text = page_text(chr(10).join(sheet))
    >>> "<b>" in text, "default-src 'none'" in text
    (False, True)
    """
    header, *rows = csv.reader(io.StringIO(sheet, newline=""))
    shown = [i for i, name in enumerate(header) if name == "id" or name not in COLUMNS]
    hidden = [i for i, name in enumerate(header) if name in _HIDDEN and any(row[i] for row in rows)]
    data = {
        "key": f"nnpu-review-{hashlib.sha256(sheet.encode()).hexdigest()[:24]}",
        "file": file,
        "header": header,
        "rows": rows,
        "shown": shown,
        "hidden": hidden,
        "images": [images_of(row, shown, folder) for row in rows],
    }
    from markupsafe import Markup

    pages = environment("nnpu.review")
    style, script = (
        files("nnpu.review").joinpath("templates", f"page.{kind}").read_text(encoding="utf-8")
        for kind in ("css", "js")
    )
    return pages.get_template("page.html").render(
        question=question,
        data=data,
        style=Markup(style),
        script=Markup(script),
        hashes={"style": source_hash(style), "script": source_hash(script)},
    )


def images_of(
    row: Sequence[str], shown: Sequence[int], folder: str | os.PathLike[str] | None
) -> dict[int, str]:
    """Return the images that cells of a row name, as data.

    Parameters
    ----------
    row : sequence of str
        The cells.
    shown : sequence of int
        Which of them are looked at.
    folder : path-like or None
        Where the names are looked up: a cell must not fetch any other file of the machine.

    Examples
    --------
    >>> images_of(["scan.png", "../secret.png"], [0, 1], "/no/such/folder")
    {}
    """
    if folder is None:
        return {}
    root, found = Path(folder).resolve(), {}
    for i in shown:
        kind = _IMAGES.get(Path(row[i]).suffix.lower()) if len(row[i]) < 1000 else None
        if kind is None or "\0" in row[i]:
            continue
        path = (root / row[i]).resolve()
        inside = path.is_relative_to(root)  # a cell must not fetch any file of the machine
        if inside and path.is_file() and path.stat().st_size <= _LARGEST_IMAGE:
            found[i] = f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
    return found
