"""Features as they are: arrays of an NPZ file, rows of an SVMlight file, image files by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse

from nnpu.data.cells import as_text
from nnpu.parameters import InputError
from nnpu.table.columns.column import Block, Column, Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Matrix",
    "Picture",
]


@dataclass(frozen=True)
class Matrix(Column):
    """An array of an NPZ file, or the rows of an SVMlight file: features as they are.

    Parameters
    ----------
    features : int
        Number of features, all dimensions but the first multiplied.
    is_sparse : bool
        Whether most of them are zero and not stored.
    """

    features: int
    is_sparse: bool
    kind: ClassVar[str] = "matrix"

    @classmethod
    def fit(cls, name: str, cells: Any) -> Self:
        """Take the shape."""
        width = math.prod(cells.shape[1:])
        return cls(name, int(width), sparse.issparse(cells))

    @property
    def width(self) -> int:
        """The number of features."""
        return self.features

    @property
    def raw_names(self) -> list[str]:
        """The features by number."""
        return [f"{self.name} ({number})" for number in range(self.features)]

    @property
    def dense_names(self) -> list[str]:
        """The features by number."""
        return self.raw_names

    def words(self) -> str:
        """Say how many."""
        return f"{self.features:,} {'sparse ' if self.is_sparse else ''}features, as they are"

    def read(
        self,
        cells: Any,
        first: int = 0,
        decimal: str | None = None,
        memory: dict[str, Any] | None = None,
    ) -> Reading:
        """Check the shape and the type."""
        width = math.prod(cells.shape[1:])
        if sparse.issparse(cells) and self.is_sparse and width <= self.features:
            # The text does not say how many features there are: the last ones may be all zero.
            block: Block = sparse.csr_array(cells)
            block.resize((cells.shape[0], self.features))
            return Reading(block)
        if width == self.features and not sparse.issparse(cells) and not self.is_sparse:
            if np.asarray(cells).dtype.kind not in "biuf":
                raise InputError(f"{self.name!r} holds {cells.dtype} values; save numbers.")
            return Reading(np.asarray(cells).reshape(len(cells), -1))
        raise InputError(
            f"{self.name!r} has {width:,} features instead of {self.features:,}, the number in fit."
        )

    def dense(self, values: Any) -> Block:
        """Return the features, CSR if they are; gaps are refused.

        Dense ones of eight bytes stay float64: classifiers centre what float32 would round away.
        """
        wide = not self.is_sparse and values.dtype.itemsize > 4
        with np.errstate(over="ignore"):  # refused below
            block = values.astype(np.float64 if wide else np.float32, copy=False)
            self._check(np.isfinite((block.data if self.is_sparse else block).astype(np.float32)))
        return block

    def raw(self, values: Any) -> Any:
        """Return float64 features, CSR if they are; NaN is a gap, infinity is refused."""
        block = values.astype(np.float64)
        self._check(~np.isinf(block.data if self.is_sparse else block))
        return block

    def _check(self, right: Any) -> None:
        if not right.all():
            raise InputError(
                f"{self.name!r} holds missing, infinite or too large values; fill them in first, "
                "or save the table as CSV, where missing cells are filled in."
            )


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

    def read(
        self,
        cells: Any,
        first: int = 0,
        decimal: str | None = None,
        memory: dict[str, Any] | None = None,
    ) -> Reading:
        """Return the paths as they are written; every row needs one."""
        paths = as_text(cells).to_pylist()
        for row, path in enumerate(paths, first + 1):
            if not path:
                raise InputError(f"Column {self.name!r}, row {row}: this cell holds no file name.")
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
