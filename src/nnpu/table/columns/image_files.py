"""A column that names image files, relative to the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nnpu.parameters import InputError
from nnpu.table.columns.cells import as_text
from nnpu.table.columns.column import Column, Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Picture"]


@dataclass(frozen=True)
class Picture(Column):
    """A column of paths of image files: the only feature of its table."""

    kind: ClassVar[str] = "image"

    @property
    def width(self) -> int:
        """One image a row."""
        return 1

    def words(self) -> str:
        """Say what the cells are."""
        return "image files: what the model learns from"

    def read(self, cells: Any, first: int = 0, decimal: str | None = None) -> Reading:
        """Return the paths as they are written; every row needs one."""
        paths = as_text(cells).to_pylist()
        for row, path in enumerate(paths, first + 1):
            if not path:
                raise InputError(f"Column {self.name!r}, row {row}: no image file is named.")
        return Reading(paths)

    def files(self, paths: list[str], source: str) -> NDArray[np.object_]:
        """Return the files as paths that can be opened.

        Parameters
        ----------
        paths : list of str
            What `read` returned.
        source : str
            The table's own path; other paths are relative to its folder.

        Examples
        --------
        >>> Picture("photo").files(["a.png", "/b.png"], "scans/labels.csv").tolist()
        ['scans/a.png', '/b.png']
        """
        folder = Path(source).parent
        return np.array([str(folder / path) for path in paths], dtype=object)
