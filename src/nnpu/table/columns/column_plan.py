"""`ColumnPlan`: what is done with every column of a table, the same way for every file.

A plan is stored in model folders; what is read from one is checked first.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import importlib
import math
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias
from unicodedata import normalize

import numpy as np
from scipy import sparse

from nnpu.data.cells import is_plain
from nnpu.data.streams import Faults
from nnpu.estimators.ensemble.sparse_members import joined
from nnpu.parameters import InputError
from nnpu.table.columns.column import Column, Dropped
from nnpu.table.columns.column_kinds import (
    CellSummary,
    TrainingCells,
    Treatment,
    is_named_like_an_id,
    is_unique,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.table.columns.column import Block, Reading
    from nnpu.table.columns.drift import DriftWatch, TrainingRows

    Watch: TypeAlias = TrainingRows | DriftWatch

__all__ = [
    "ColumnPlan",
    "TableSummary",
    "TrainingSummary",
    "find_column",
    "finished_plan",
    "fit_columns",
    "kind_named",
    "plan_from_json",
]

_LISTED = 5  # columns that are described in a line each; verbose and the report have them all


@dataclasses.dataclass(frozen=True)
class ColumnPlan:
    """Columns in, features out.

    Parameters
    ----------
    columns : tuple of Column
        What is done with each; the features stand in this order, whatever a file's order is.
    """

    columns: tuple[Column, ...]

    @property
    def width(self) -> int:
        """Number of features."""
        return sum(column.width for column in self.columns)

    @property
    def id_name(self) -> str | None:
        """Name of the id column, if there is one; images are named by their files."""
        for kind in ("id", "image"):
            for column in self.columns:
                if column.kind == kind:
                    return column.name
        return None

    @property
    def has_images(self) -> bool:
        """Whether the rows are images."""
        return any(column.kind == "image" for column in self.columns)

    @property
    def raw_names(self) -> list[str]:
        """Names of the features in the raw view: "age", "signup (weekday)"."""
        return [name for column in self.columns for name in column.raw_names]

    @property
    def dense_names(self) -> list[str]:
        """Names of the features in the dense view: "age (missing)", "town=Ulm"."""
        return [name for column in self.columns for name in column.dense_names]

    @property
    def n_dense(self) -> int:
        """How many features of the raw view come before words; 0 if there are none of either."""
        if not any(column.makes_words for column in self.columns):
            return 0
        return sum(len(column.raw_names) for column in self.columns if not column.makes_words)

    @property
    def raw_categories(self) -> list[int]:
        """Indices of the features in the raw view that are codes of categories."""
        flags = [column.is_category for column in self.columns for _ in column.raw_names]
        return [index for index, flag in enumerate(flags) if flag]

    def lines(self, most: int | None = _LISTED) -> list[str]:
        """Say what is done with each column, a line each; of many columns, with the first ones.

        Parameters
        ----------
        most : int, optional
            How many get a line of their own, 5 by default; None means all.
        """
        most = len(self.columns) if most is None else most
        first, rest = self.columns[:most], self.columns[most:]
        longest = max(len(column.name) for column in first)
        lines = [f"{column.name:<{longest}}  {column.description()}" for column in first]
        if rest:
            kinds = Counter(column.kind for column in rest).most_common()
            counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds)
            lines.append(f"... and {len(rest):,} more: {counts}")
        return lines

    def transform(self, batch: Batch, watch: Watch | None = None) -> Block:
        """Return the dense view of some rows, for networks and linear models.

        Numbers are standardised, gaps are filled in, categories have a feature each. With text or
        sparse columns the features are CSR.

        Parameters
        ----------
        batch : Batch
            The rows.
        watch : TrainingRows or DriftWatch, optional
            Is shown every column with its cells, read.

        Raises
        ------
        InputError
            If a column is missing, or a cell cannot be what its column is.
        """
        if batch.n_rows == 0:
            return self._nothing(batch, self.dense_names).astype(np.float32)
        blocks = [column.dense(reading.values) for column, reading in self.read(batch, watch)]
        if any(sparse.issparse(block) for block in blocks):
            return sparse.csr_array(sparse.hstack(blocks, format="csr", dtype=np.float32))
        return np.concatenate(blocks, axis=1)

    def raw(self, batch: Batch, watch: Watch | None = None) -> Any:
        """Return the raw view of some rows, for trees: float64, NaN where a cell is missing.

        Numbers are as they are, categories are codes (see `raw_categories`), dates are their
        parts, text is reduced to a few directions. With sparse matrices, or text
        alone, the features are CSR.

        Parameters
        ----------
        batch, watch
            As in `transform`.

        Raises
        ------
        InputError
            If a column is missing, or a cell cannot be what its column is.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from nnpu.data.streams import Batch
        >>> cells = {"age": pa.array(["31", ""] * 2), "town": pa.array(["Ulm", "Bonn"] * 2)}
        >>> batch = Batch(cells, {}, 4, 0, "table.csv")
        >>> plan = fit_columns(batch, np.arange(4))
        >>> plan.raw(batch)[:2], plan.raw_names, plan.raw_categories
        (array([[31.,  1.],
               [nan,  0.]]), ['age', 'town'], [1])
        """
        if batch.n_rows == 0:
            return self._nothing(batch, self.raw_names)
        read = list(self.read(batch, watch))
        together = [pair for pair in read if pair[0].in_document]
        blocks = [column.raw(reading.values) for column, reading in read if not column.in_document]
        if together:
            first: Any = together[0][0]
            blocks.append(first.document([reading.values for _, reading in together]))
        if any(sparse.issparse(block) for block in blocks):
            return sparse.csr_array(sparse.hstack(blocks, format="csr", dtype=np.float64))
        return np.concatenate(blocks, axis=1)

    def as_one_matrix(self, raw: Any) -> tuple[Any, NDArray[np.intp] | None]:
        """Return rows of the raw view without gaps and codes if they are numbers beside words.

        Parameters
        ----------
        raw : array or CSR matrix
            What `raw` returned, or another view.

        Returns
        -------
        rows : array or CSR matrix
            As they were, if they are not numbers beside words.
        origin : ndarray of int or None
            The raw feature behind each column; None if the rows are as they were.
        """
        if not (self.n_dense and sparse.issparse(raw) and raw.shape[1] == len(self.raw_names)):
            return raw, None
        return joined(raw, self.n_dense, self.raw_categories)

    def _nothing(self, batch: Batch, names: list[str]) -> NDArray[np.float64]:
        """Return the features of no rows, whose columns must be there all the same."""
        list(self.read(batch))
        return np.zeros((0, len(names)))

    def files(self, batch: Batch) -> NDArray[np.object_]:
        """Return the image files of some rows."""
        (found,) = self.read(batch)
        column, reading = found
        files: NDArray[np.object_] = column.files(  # type: ignore[attr-defined]
            reading.values, batch.source
        )
        return files

    def read(self, batch: Batch, watch: Watch | None = None) -> Iterator[tuple[Column, Reading]]:
        """Yield the columns that are features with their cells, read."""
        used = [column for column in self.columns if column.width]
        for column in used:
            if column.name not in batch.columns and column.name not in batch.matrices:
                find_column(column.name, batch.names, batch.source)
        for column in used:
            try:
                reading = column.read(
                    _cells(batch, column), batch.first, batch.decimal, batch.parsed
                )
            except InputError as error:
                raise InputError(f"{batch.source}: {error}") from error
            faults = batch.faults or Faults()
            complaint = f"{batch.source}: {reading.complaint}"
            faults.add(column.name, reading.wrong, reading.cells, complaint)
            if batch.faults is None:  # these are all rows
                faults.check()
            if watch is not None:
                watch.add(column, reading)
            yield column, reading

    def with_seen(self, seen: Mapping[str, Mapping[str, Any]]) -> ColumnPlan:
        """Return the plan with a note of what the training rows held, by column."""
        columns = (column.with_seen(seen.get(column.name)) for column in self.columns)
        return ColumnPlan(tuple(columns))

    def ids(self, batch: Batch) -> Any:
        """Return the cells of the id column, or None if the plan or the rows have none."""
        return batch.columns.get(self.id_name) if self.id_name is not None else None

    def to_json(self) -> list[dict[str, Any]]:
        """Return the plan as plain values, but for `arrays`."""
        return [_plain(column) for column in self.columns]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is too large for JSON: the vocabularies and directions of text columns."""
        return {
            f"columns.{number}.{key}": array
            for number, column in enumerate(self.columns)
            for key, array in column.arrays().items()
        }


def _plain(column: Column) -> dict[str, Any]:
    """Return a column as plain values; defaults are omitted."""
    values = {field.name: getattr(column, field.name) for field in dataclasses.fields(column)}
    optional = {
        field.name
        for field in dataclasses.fields(column)
        if field.default is not dataclasses.MISSING and values[field.name] == field.default
    }
    kept = {key: value for key, value in values.items() if key not in {*optional, "directions"}}
    return {"kind": column.kind, **kept}


def fit_columns(
    batch: Batch,
    rows: NDArray[np.intp],
    *,
    label: str | None = None,
    id_name: str | None = None,
    drop: Sequence[str] = (),
    used: Mapping[str, str] | None = None,
    images: str | None = None,
    words: bool = False,
) -> ColumnPlan:
    """Infer what every column is and fit its treatment to the training rows.

    Parameters
    ----------
    batch : Batch
        All rows.
    rows : ndarray of int
        The training rows.
    label : str, optional
        The label column, which is not a feature.
    id_name : str, optional
        The id column; by default one that is called ``id``, ``index``, ``…_id`` or the like and
        in which no value repeats.
    drop : sequence of str
        Columns to exclude.
    used : mapping of str to str, optional
        More columns to exclude, each with its reason.
    images : str, optional
        A column of image files, which is then all that is learned from.
    words : bool, default=False
        Whether the raw view has the words of texts beside other columns too; by default it has a
        few directions of them. Words come last.

    Returns
    -------
    ColumnPlan

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nnpu.data.streams import Batch
    >>> cells = {"id": pa.array(["a", "b"]), "age": pa.array(["31", ""]), "s": pa.array(["1", ""])}
    >>> plan = fit_columns(Batch(cells, {}, 2, 0, "table.csv"), np.arange(2), label="s")
    >>> [(column.name, column.kind) for column in plan.columns]
    [('id', 'id'), ('age', 'number')]
    """
    excluded = dict(used or {}) | dict.fromkeys(drop, "as requested")
    for name in (*excluded, id_name, images):
        if name is not None:
            find_column(name, batch.names, batch.source)
    if id_name is not None and not _is_id_column(batch, id_name):
        raise _no_id(batch.source, id_name)
    summary = TableSummary(skip=(label, *excluded), id_name=id_name, only_ids=images is not None)
    summary.add(batch)
    try:
        if images is None:
            treatments = summary.treatments(excluded, batch.decimal)
        else:
            treatments = summary.image_treatments(excluded, images)
        training = TrainingSummary(treatments)
        training.add(batch, rows)
        columns = list(training.columns())
    except InputError as error:
        raise InputError(f"{batch.source}: {error}") from error
    return finished_plan(columns, batch, rows, excluded, words=words)


def finished_plan(
    columns: Sequence[Column],
    batch: Batch,
    rows: NDArray[np.intp],
    excluded: Mapping[str, str],
    *,
    words: bool = False,
) -> ColumnPlan:
    """Return the plan of columns that are fitted, with matrices and the words of texts.

    Parameters
    ----------
    columns : sequence of Column
        Of `TrainingSummary.columns`.
    batch, rows, words
        As in `fit_columns`; of a larger table, some rows are enough.
    excluded : mapping of str to str
        Columns that are not features, with the reasons.
    """
    columns = list(columns)
    for name, matrix in batch.matrices.items():
        from nnpu.table.columns.matrices import Matrix

        reason = excluded.get(name)
        columns.append(Dropped(name, reason) if reason else Matrix.fit(name, matrix))
    texts = [column.kind == "text" for column in columns if column.width]
    if any(texts) and (all(texts) or (words and not batch.matrices)):
        columns = _as_words(_with_names(columns, batch, rows) if words else columns, batch, rows)
    plan = ColumnPlan(tuple(columns))
    if plan.width == 0:
        kinds = "; ".join(f"{column.name}: {column.description()}" for column in columns[:5])
        raise InputError(
            f"{batch.source} has no column to learn from{f' ({kinds})' if kinds else ''}."
        )
    return plan


def _with_names(columns: list[Any], batch: Batch, rows: NDArray[np.intp]) -> list[Column]:
    """Return the columns, those with short texts that repeat as categories beside a text."""
    from nnpu.table.columns.categories import Category
    from nnpu.table.columns.text import are_names

    cells = {c.name: batch.columns[c.name].take(rows) for c in columns if c.kind == "text"}
    names = [name for name, part in cells.items() if are_names(part)]
    if len(names) == len(cells):
        return columns
    found = {name: Category.fit(name, cells[name]) for name in names}
    found = {name: column for name, column in found.items() if column.width}
    return [found.get(column.name, column) for column in columns]


def _as_words(columns: list[Any], batch: Batch, rows: NDArray[np.intp]) -> list[Column]:
    """Return the columns of a table of nothing but text with single words in the raw view."""
    from nnpu.table.columns.text import read_together

    texts = [column for column in columns if column.kind == "text"]
    cells = [batch.columns[column.name].take(rows) for column in texts]
    if len(texts) > 1 and all(column.analyzer == "word" for column in texts):
        found = read_together(texts, cells)
    else:
        found = [column.as_words(part) for column, part in zip(texts, cells, strict=True)]
    by_name = {column.name: column for column in found}
    others = [column for column in columns if column.kind != "text"]
    return [*others, *(by_name[column.name] for column in texts)]


def find_column(name: str, names: Iterable[str], source: str) -> str:
    """Return the name if the file has such a column, else say which one may be meant.

    Examples
    --------
    >>> find_column("lable", ["age", "label"], "table.csv")
    Traceback (most recent call last):
    nnpu.parameters.InputError: table.csv has no column 'lable'. Did you mean 'label'? It has:
    age, label.
    """
    listed = list(names)
    if name in listed:
        return name
    lower = {other.lower(): other for other in listed}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    hint = f" Did you mean {lower[near[0]]!r}?" if near else ""
    same = [other for other in listed if normalize("NFC", other) == normalize("NFC", name)]
    if same:
        hint = f" It has {same[0]!r}, which looks the same in other characters: rename it."
    shown = ", ".join(listed[:10]) + (", ..." if len(listed) > 10 else "")
    raise InputError(f"{source} has no column {name!r}.{hint} It has: {shown}.")


def _is_id_column(batch: Batch, name: str) -> bool:
    return name in batch.columns and is_unique(batch.columns[name])


def _no_id(source: str, name: str) -> InputError:
    return InputError(
        f"{source}: column {name!r} cannot be the id: its values are missing or repeat; name "
        "another one, or exclude it with --drop."
    )


class TableSummary:
    """What decides the kinds of a table's columns: the first of two walks over its rows.

    Batches and the summaries of others may come in any order.

    Parameters
    ----------
    skip : collection of str, default=()
        Columns that are no features, the label among them.
    id_name : str, optional
        The id column, if it is known.
    only_ids : bool, default=False
        Whether nothing but ids is looked for.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nnpu.data.streams import Batch
    >>> halves = [Batch({"age": pa.array(c)}, {}, 2, first, "t") for first, c in
    ...           ((0, ["31", "45"]), (2, ["", "52"]))]
    >>> one, other = TableSummary(), TableSummary()
    >>> one.add(halves[1])
    >>> other.add(halves[0])
    >>> one.merge(other)
    >>> training = TrainingSummary(one.treatments())
    >>> for batch in halves:
    ...     training.add(batch, np.arange(2))
    >>> training.plan().lines()
    ['age  number; missing cells get the median 45 and a flag']
    """

    def __init__(
        self,
        skip: Collection[str | None] = (),
        id_name: str | None = None,
        *,
        only_ids: bool = False,
    ) -> None:
        self._skip, self._id_name, self._only_ids = frozenset(skip), id_name, only_ids
        self._names: list[str] | None = None
        self._columns: dict[str, CellSummary] = {}

    def add(self, batch: Batch) -> None:
        """Take the rows of a batch, whose `first` says how many stood before them."""
        self._check_names(list(batch.columns), batch.source)
        for name, cells in batch.columns.items():
            is_id = name == self._id_name
            if name in self._skip or (self._only_ids and not (is_id or is_named_like_an_id(name))):
                continue
            if self._only_ids and not is_plain(cells.type):
                continue
            found = self._columns.setdefault(name, CellSummary(name, is_id))
            try:
                found.add(cells, batch.first, batch.parsed)
            except InputError as error:
                raise InputError(f"{batch.source}: {error}") from error

    def merge(self, other: TableSummary) -> None:
        """Take what another summary knows of other rows."""
        if other._names is not None:
            self._check_names(other._names, "a part of the table")
        for name, cells in other._columns.items():
            if name in self._columns:
                self._columns[name].merge(cells)
            else:
                self._columns[name] = copy.deepcopy(cells)

    def _check_names(self, names: list[str], source: str) -> None:
        if self._names is None:
            self._names = names
        elif set(names) != set(self._names):
            differ = sorted(set(names) ^ set(self._names))
            raise InputError(
                f"{source}: its columns are not those of the rows before: "
                f"{', '.join(map(repr, differ[:5]))} {'is' if len(differ) == 1 else 'are'} on one "
                "side only."
            )

    @property
    def columns(self) -> Mapping[str, CellSummary]:
        """What is known of the cells of each column that was not skipped."""
        return self._columns

    def id(self) -> str | None:
        """Return the name of the id column, if there is one."""
        if self._id_name is not None:
            if self._id_name in self._skip:
                return None
            if not self._columns[self._id_name].texts.unique:
                raise _no_id("the table", self._id_name)
            return self._id_name
        ids = (name for name in self._names or () if name in self._columns)
        return next((name for name in ids if self._columns[name].is_id), None)

    def treatments(
        self, excluded: Mapping[str, str] | None = None, decimal: str | None = None
    ) -> list[Treatment]:
        """Return what is to be done with every column but the label, in the table's order.

        Parameters
        ----------
        excluded : mapping of str to str, optional
            Columns of `skip` that the plan names all the same, each with the reason.
        decimal : {".", ","}, optional
            The decimal mark, if it is known.
        """
        found, reasons, own = [], excluded or {}, self.id()
        for name in self._names or ():
            if name in reasons:
                found.append(Treatment(name, "dropped", reason=reasons[name]))
            elif name == own:
                found.append(Treatment(name, "id"))
            elif name in self._columns:
                cells = self._columns[name]
                found.append(
                    Treatment(name, "dropped", reason="unique to each row, like an id")
                    if cells.is_id
                    else cells.treatment(decimal)
                )
        return found

    def image_treatments(self, excluded: Mapping[str, str], images: str) -> list[Treatment]:
        """Return what is to be done with every column of a table of image files."""
        found, own = [], self.id()
        for name in self._names or ():
            if name in excluded:
                found.append(Treatment(name, "dropped", reason=excluded[name]))
            elif name == own:
                found.append(Treatment(name, "id"))
            elif name == images:
                found.append(Treatment(name, "image"))
            elif name not in self._skip:
                found.append(Treatment(name, "dropped", reason="only the images are used"))
        return found


class TrainingSummary:
    """What a plan needs to know of the training rows: the second of two walks over the rows.

    Parameters
    ----------
    treatments : sequence of Treatment
        What `TableSummary.treatments` returned for all rows.
    """

    def __init__(self, treatments: Sequence[Treatment]) -> None:
        self._columns = [TrainingCells(treatment) for treatment in treatments]

    def add(self, batch: Batch, rows: NDArray[np.intp]) -> None:
        """Take the rows of a batch; `rows` are those of them that are for training."""
        for found in self._columns:
            cells = batch.columns[found.treatment.name]
            found.add(cells, rows, batch.first, batch.parsed)

    def merge(self, other: TrainingSummary) -> None:
        """Take what another summary knows of other rows."""
        for found, more in zip(self._columns, other._columns, strict=True):
            found.merge(more)

    def columns(self) -> Iterator[Column]:
        """Yield the columns, fitted."""
        for found in self._columns:
            yield found.column()

    def plan(self) -> ColumnPlan:
        """Return the plan of the table."""
        return ColumnPlan(tuple(self.columns()))


def _cells(batch: Batch, column: Column) -> Any:
    kind = batch.matrices if column.kind == "matrix" else batch.columns
    if column.name not in kind:
        raise InputError(f"{column.name!r} is of another kind than in fit")
    cells = kind[column.name]
    if kind is batch.columns and not is_plain(cells.type):
        raise InputError(
            f"Column {column.name!r} holds {cells.type} cells, another kind than in fit; turn it "
            "into numbers or strings."
        )
    return cells


_HOMES = {  # imported only if a column is of that kind
    "boolean": ("categories", "Boolean"),
    "category": ("categories", "Category"),
    "date": ("dates", "Date"),
    "dropped": ("column", "Dropped"),
    "id": ("column", "Id"),
    "image": ("matrices", "Picture"),
    "matrix": ("matrices", "Matrix"),
    "number": ("numbers", "Number"),
    "text": ("text", "Text"),
}
_NUMBERS = ("rows", "missing", "low", "high", "median", "unseen", "unreadable", "midnight")
_LISTS = ("edges", "shares")


def plan_from_json(plain: Any, arrays: Mapping[str, NDArray[Any]] | None = None) -> ColumnPlan:
    """Return the plan that `ColumnPlan.to_json` and `arrays` described; else `InputError`.

    Without the arrays a plan with text has no raw view.
    """
    try:
        columns = []
        for number, entry in enumerate(plain):
            fields = dict(entry)
            kind = kind_named(fields.pop("kind"))
            if kind.kind == "text" and arrays and f"columns.{number}.terms" in arrays:
                from nnpu.table.columns.text import Directions

                keys = ("terms", "weights", "components")
                own = {key: np.asarray(arrays[f"columns.{number}.{key}"]) for key in keys}
                fields["directions"] = Directions.from_arrays(own)
            _check_seen(fields.get("seen"))
            columns.append(kind(**fields))
        if not columns or not all(isinstance(column.name, str) for column in columns):
            raise TypeError("columns without names")
    except (TypeError, ValueError, LookupError) as error:
        raise InputError(f"The stored columns cannot be understood: {error}") from error
    return ColumnPlan(tuple(columns))


def kind_named(name: str) -> type[Column]:
    """Return the class of a kind of column; LookupError if there is no such kind.

    Examples
    --------
    >>> kind_named("number").__name__
    'Number'
    """
    module, kind = _HOMES[name]
    found: type[Column] = getattr(importlib.import_module(f"nnpu.table.columns.{module}"), kind)
    return found


def _check_seen(seen: Any) -> None:
    """Raise ValueError unless `seen` is what `TrainingRows` notes, or None."""
    if seen is None:
        return
    if not isinstance(seen, dict) or not set(seen) <= {*_NUMBERS, *_LISTS, "zoned"}:
        raise ValueError("the summary of a column cannot be understood")
    lists = [seen.get(name, []) for name in _LISTS]
    if not all(isinstance(each, list) for each in lists):
        raise ValueError("the summary of a column must hold lists of numbers")
    numbers = [seen[name] for name in _NUMBERS if name in seen] + lists[0] + lists[1]
    if not all(isinstance(n, int | float) and math.isfinite(n) for n in numbers):
        raise ValueError("the summary of a column must hold finite numbers")
    if lists[0] != sorted(lists[0]) or (lists[1] and len(lists[1]) != len(lists[0]) + 1):
        raise ValueError("the summary of a column does not fit together")
    if "rows" not in seen or ("edges" in seen) != ("shares" in seen) or seen["rows"] < 1:
        raise ValueError("the summary of a column is incomplete")
