"""`TablePU` on Dask: the workers see all rows, the client a sample of them.

Three walks over the partitions, each by tasks that read a partition and forget it. The first counts
labels, gaps and values, from which follows what each column is. The second measures the columns and
draws the sample. The third prepares the columns of all other rows, from which LightGBM's workers
grow the boosted trees; only these numbers stay in the memory of the workers.

A hash of the row, or of its group, decides what the row is for: to judge the model, to weigh its
members, to train them on the client, or only to grow the trees. It depends neither on the
partitions nor on their order, and equal rows have the same.
"""

from __future__ import annotations

import glob
import logging
import shutil
import warnings
from collections import Counter
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from nnpu.data.cells import as_text, distinct, is_plain, is_string, is_temporal
from nnpu.data.folds import key_sample, key_shares, mixed, row_keys
from nnpu.data.streams import Batch, Faults, is_text, stream_rows
from nnpu.estimators.base import BasePUClassifier
from nnpu.estimators.ensemble import EnsemblePU
from nnpu.estimators.ensemble.task import LargerTable
from nnpu.estimators.forest import Forest
from nnpu.estimators.on_dask import KLObjective, find_client, gathered, train
from nnpu.extras import need, need_lightgbm
from nnpu.files import temporary_beside
from nnpu.parameters import InputError, ParameterError, shown
from nnpu.table._messages import SAMPLING_LINES, start_clock
from nnpu.table.columns import TableSummary, TrainingSummary, find_column, finished_plan
from nnpu.table.columns.dates import stored_dates
from nnpu.table.columns.label_column import label_codes
from nnpu.table.columns.repeated_ids import RepeatedId, repeats_like_an_id, without_copies
from nnpu.table.columns.summaries import text_hashes
from nnpu.table.fit_rows import LEAST_LABELLED, FitRows, group_numbers
from nnpu.table.leaks import is_filled, one_sided
from nnpu.table.predictions import PartWritten, write_part
from nnpu.table.reading import as_batch, check_labels, check_parameters
from nnpu.terminal import how_many, status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nnpu.table.columns import ColumnPlan
    from nnpu.table.columns.column_kinds import Treatment
    from nnpu.table.predictions import Written
    from nnpu.table.table_pu import TablePU

__all__ = [
    "Partitions",
    "SampleOfTable",
    "cluster",
    "fit_to_partitions",
    "partitions_of_files",
    "write_to_folder",
]

_SAMPLE = 200_000  # rows that come to the client,
_LABELLED = 5_000  # or as many as it takes for so many labelled ones,
_MOST = 1_000_000  # but no more than these
_JUDGE, _WEIGH = 0.3, 0.25  # shares of them, at most; the others train
_PART = 100_000  # rows of a Parquet file that a task reads
_TOGETHER = 8  # summaries that a task merges
_PATIENCE = 60.0  # seconds without a worker


@dataclass(frozen=True)
class Partitions:
    """A table in partitions, each of which is read by the tasks that need it.

    Parameters
    ----------
    parts : list
        Delayed frames, or what says which rows of which file.
    names : list of str
        The columns, which every partition must have.
    how : dict
        How a file is to be read.
    """

    parts: list[Any]
    names: list[str]
    how: dict[str, Any] = field(default_factory=dict)

    def to_delayed(self) -> list[Any]:
        """Return the partitions, as a table of Dask does."""
        return self.parts


class FilePart(NamedTuple):
    """Some row groups of a Parquet file, or another file whole, whose rows are not counted yet."""

    path: str
    groups: tuple[int, ...] | None = None
    rows: int = 0

    def read(self, **how: Any) -> Batch | None:
        """Return its rows; None for a text of nothing but a header."""
        if self.groups is None:
            batches = list(stream_rows(self.path, **how))
            return replace(reduce(Batch.joined, batches), faults=None) if batches else None
        from nnpu.data.disk_rows import open_parquet

        with open_parquet(Path(self.path)) as file:
            rows = file.read_row_groups(list(self.groups))
            rows.validate(full=True)  # the reader trusts the file: text may be no UTF-8
        return replace(as_batch(rows, decimal=how.get("decimal")), source=self.path)

    def names(self, **how: Any) -> list[str] | None:
        """Return its columns; None if only rows would tell."""
        if self.groups is None:
            with closing(stream_rows(self.path, **how)) as batches:  # type: ignore[type-var]
                first = next(batches, None)
            return None if first is None else first.names
        from nnpu.data.disk_rows import open_parquet

        with open_parquet(Path(self.path)) as file:
            return list(file.schema_arrow.names)


def partitions_of_files(data: Path, **how: Any) -> Partitions:
    """Return the partitions of a folder of Parquet files, of a file, or of those of a pattern.

    Parameters
    ----------
    data : Path
        The folder, the file, or a pattern such as ``folder/*.csv``. A text is read whole by one
        task, a Parquet file a hundred thousand rows at a time.
    **how
        As in `nnpu.data.streams.stream_rows`.
    """
    if data.exists():
        files = sorted(data.glob("*.parquet")) if data.is_dir() else [data]
    else:
        files = [Path(name) for name in sorted(glob.glob(str(data)))]
    if not files:
        raise InputError(
            f"{data} has no files to read; name a folder of Parquet files, or a pattern."
        )
    parts = [part for file in files for part in _file_parts(file)]
    names = next((found for part in parts if (found := part.names(**how)) is not None), None)
    if names is None:
        raise InputError(f"{data} has no rows.")
    return Partitions(parts, names, how)


def _file_parts(file: Path) -> Iterator[FilePart]:
    path = str(file.absolute())
    if is_text(file) or file.suffix.lower() != ".parquet":
        yield FilePart(path)
        return
    from nnpu.data.disk_rows import open_parquet

    with open_parquet(file) as opened:
        sizes = [opened.metadata.row_group(i).num_rows for i in range(opened.num_row_groups)]
    groups: list[int] = []
    rows = 0
    for number, size in enumerate(sizes):
        if groups and rows + size > _PART:
            yield FilePart(path, tuple(groups), rows)
            groups, rows = [], 0
        groups.append(number)
        rows += size
    yield FilePart(path, tuple(groups), rows)


def _partitions(job: TablePU, table: Any) -> Partitions:
    if isinstance(table, Partitions):
        return table
    if not hasattr(table, "to_delayed") or not hasattr(table, "columns"):
        raise InputError(
            f"On Dask a table is a Dask DataFrame. Got {type(table).__name__} instead; "
            "dask.dataframe.from_dask_array makes one of an array."
        )
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        raise InputError("The table has two columns of the same name; rename one of them.")
    return Partitions(list(table.to_delayed()), names, {"decimal": job.decimal})


@contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at an address, or of a cluster that is made here.

    Parameters
    ----------
    address : str
        Such as ``tcp://scheduler:8786``; ``local`` starts a worker for each processor.
    """
    distributed = need("distributed", extra="dask", owner="nnpu --dask")
    made = None
    try:
        if address == "local":
            how: dict[str, Any] = {"dashboard_address": None, "silence_logs": logging.ERROR}
            made = distributed.LocalCluster(threads_per_worker=1, **how)
        client = distributed.Client(made or address, timeout=30)
    except (OSError, ValueError) as error:
        if made is not None:
            made.close()
        raise InputError(f"There is no scheduler at {address!r} ({error}).") from error
    try:
        _quiet()
        if made is not None:
            client.run(_quiet)
        yield client
    finally:
        with suppress(Exception):  # whose scheduler may have gone away
            client.close()
        if made is not None:
            made.close()


def _quiet() -> None:
    """Keep lines about ports and connections out of what a command prints."""
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    logger = logging.getLogger("nnpu.lightgbm")
    logger.setLevel(logging.ERROR)
    with suppress(ImportError):  # which scoring does without
        need_lightgbm("nnpu --dask").register_logger(logger)


# What is done with a partition, by the worker that reads it.


@dataclass(frozen=True)
class _Reader:
    """Reads partitions, each as a batch with the columns of the table."""

    names: list[str]
    how: dict[str, Any]
    label: str | None = None

    def __call__(self, part: Any, number: int) -> Batch:
        if isinstance(part, FilePart):
            found = part.read(**self.how)
            batch = self._nothing(part.path) if found is None else found
        else:
            batch = replace(as_batch(part, **self.how), source=f"partition {number + 1}")
        if batch.matrices:
            raise InputError(f"{batch.source}: on Dask a table has plain columns, and no matrix.")
        differ = sorted(set(batch.names) ^ set(self.names))
        if differ:
            raise InputError(
                f"{batch.source}: every partition must have the columns of the table; "
                f"{', '.join(map(repr, differ[:5]))} {'is' if len(differ) == 1 else 'are'} on one "
                "side only."
            )
        return replace(batch, columns={name: batch.columns[name] for name in self.names})

    def _nothing(self, source: str) -> Batch:
        import pyarrow as pa

        return Batch({name: pa.nulls(0) for name in self.names}, {}, 0, 0, source)

    def labels(self, batch: Batch) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct labels of a batch, and each row's place among them; −1 for none."""
        import pyarrow as pa

        assert self.label is not None
        cells = batch.columns[self.label]
        if not is_plain(cells.type):
            raise InputError(f"{batch.source}: the label column {self.label!r} holds {cells.type}.")
        if pa.types.is_boolean(cells.type):
            cells = cells.cast(pa.uint8())
        return distinct(cells, none_is_missing=True)


class _Seen:
    """What the first walk finds out: rows, labels, gaps and the cells of each column."""

    def __init__(self, skip: Sequence[str], id_name: str | None) -> None:
        self.rows: dict[int, int] = {}  # by partition
        self.labels: Counter[str] = Counter()  # "" where there is none
        self.first: dict[str, tuple[int, int]] = {}  # partition and row where a label first stands
        self.filled: Counter[tuple[str, str]] = Counter()  # by label and column
        self.table = TableSummary(skip, id_name)

    def add(self, batch: Batch, number: int, reader: _Reader) -> None:
        """Take a partition."""
        import pyarrow as pa

        self.rows[number] = batch.n_rows
        if not batch.n_rows:  # the types of no cells say nothing
            nothing = {name: pa.nulls(0) for name in batch.columns}
            self.table.add(replace(batch, columns=nothing))
            return
        self.table.add(replace(batch, first=number << 32))
        values, places = reader.labels(batch)
        for place in range(-1, len(values)):
            rows = np.flatnonzero(places == place)
            if len(rows):
                value = values[place] if place >= 0 else ""
                self.labels[value] = len(rows)
                self.first[value] = number, int(rows[0])
        if len(values) > _MANY_LABELS:
            return  # which is refused
        for name, cells in batch.columns.items():
            if is_plain(cells.type):
                counts = np.bincount(places[is_filled(cells)] + 1, minlength=len(values) + 1)
                for value, count in zip(["", *values], counts.tolist(), strict=True):
                    self.filled[value, name] += count

    def merge(self, other: _Seen) -> None:
        """Take what was found in other partitions."""
        self.rows |= other.rows
        self.labels += other.labels
        self.filled += other.filled
        for value, first in other.first.items():
            self.first[value] = min(first, self.first.get(value, first))
        self.table.merge(other.table)


_MANY_LABELS = 100  # distinct labels that are not worth counting by


def _see(part: Any, number: int, reader: _Reader, skip: Sequence[str], id_name: Any) -> _Seen:
    found = _Seen(skip, id_name)
    found.add(reader(part, number), number, reader)
    return found


@dataclass(frozen=True)
class _Uses:
    """What a row is for, by its share of the hashes: judge, weigh, train, or only grow trees."""

    judge: float
    weigh: float
    train: float
    seed: int
    groups: str | None
    hashed: tuple[str, ...]  # the columns of the hash

    def shares(self, batch: Batch) -> NDArray[np.float64]:
        """Return a number in [0, 1) for each row of a batch."""
        keys = cell_keys(batch, self.hashed)
        if self.groups is not None:
            cells = as_text(batch.columns[self.groups])
            there = np.asarray(cells.is_valid(), dtype=bool)
            keys = np.where(there, cell_keys(batch, (self.groups,)), keys)
        return key_shares(keys, self.seed)


def cell_keys(batch: Batch, names: Sequence[str]) -> NDArray[np.uint64]:
    """Return 64 bits for each row of some columns: the same in every partition and process.

    Parameters
    ----------
    batch : Batch
        The rows.
    names : sequence of str
        Columns, whose cells are numbers, strings, dates or truth.

    Examples
    --------
    >>> import pyarrow as pa
    >>> one = Batch({"a": pa.array([1, 2]), "b": pa.array(["x", None])}, {}, 2, 0, "t")
    >>> two = Batch({"a": pa.array([2.0, 1.0]), "b": pa.array([None, "x"])}, {}, 2, 0, "t")
    >>> bool((cell_keys(one, ["a", "b"]) == cell_keys(two, ["b", "a"])[::-1]).all())
    True
    """
    keys = np.zeros(batch.n_rows, dtype=np.uint64)
    for number, name in enumerate(sorted(names)):
        own = _keys_of(batch.columns[name]) + np.uint64(number << 40)
        keys = keys + mixed(own)
    return keys


def _keys_of(cells: Any) -> NDArray[np.uint64]:
    import pyarrow as pa

    if is_string(cells.type):
        text = as_text(cells)
        there = np.asarray(text.is_valid(), dtype=bool)
        keys = np.zeros(len(text), dtype=np.uint64)
        keys[there] = text_hashes(text.drop_null())
        return keys
    if pa.types.is_null(cells.type):
        return np.zeros(len(cells), dtype=np.uint64)
    if is_temporal(cells.type):
        values = stored_dates(cells)
    else:
        kind = pa.uint8() if pa.types.is_boolean(cells.type) else cells.type
        values = cells.cast(kind).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    found = row_keys(values[:, None])
    return np.where(np.isnan(values), np.uint64(0), found)  # a gap is one of strings too


class _Drawn(NamedTuple):
    """The rows of a partition that come to the client, and how many rows it has of each kind."""

    batch: Batch
    codes: NDArray[np.int8]
    shares: NDArray[np.float64]
    counts: NDArray[np.int64]  # (3, 3): to judge, to weigh, others; labels −1, 0, 1


def _draw(
    part: Any,
    number: int,
    first: int,
    reader: _Reader,
    code: Mapping[str, int],
    uses: _Uses,
    treatments: list[Treatment],
) -> tuple[TrainingSummary, _Drawn]:
    batch = replace(reader(part, number), first=first)
    summary = TrainingSummary(treatments)
    if not batch.n_rows:
        shares = np.zeros(0)
        return summary, _Drawn(batch, np.zeros(0, np.int8), shares, np.zeros((3, 3), np.int64))
    codes, shares = _codes(batch, reader, code), uses.shares(batch)
    summary.add(batch, np.flatnonzero(shares >= uses.judge))
    ends = np.cumsum([uses.judge, uses.weigh, uses.train])
    counts = np.zeros((3, 3), dtype=np.int64)
    np.add.at(counts, (np.searchsorted(ends[:2], shares, side="right"), codes + 1), 1)
    rows = np.flatnonzero(shares < ends[2])
    kept = replace(batch.take(rows), first=0, numbers=first + rows, parsed={})
    return summary, _Drawn(kept, codes[rows], shares[rows], counts)


def _codes(batch: Batch, reader: _Reader, code: Mapping[str, int]) -> NDArray[np.int8]:
    values, places = reader.labels(batch)
    return np.array([*(code[value] for value in values), 0], dtype=np.int8)[places]


def _grown_from(
    part: Any,
    number: int,
    reader: _Reader,
    code: Mapping[str, int],
    uses: _Uses,
    plan: ColumnPlan,
    columns: Any,
    two_samples: bool,
) -> tuple[NDArray[np.float32], NDArray[np.float32], tuple[NDArray[np.uint64], Faults]]:
    """Return what trees are grown from: numbers and codes, labels; keys of the rows, bad cells."""
    batch = reader(part, number)
    codes, shares = _codes(batch, reader, code), uses.shares(batch)
    used = shares >= uses.judge + uses.weigh
    if two_samples:
        used &= codes >= 0
    rows = np.flatnonzero(used)
    faults = Faults()
    raw = plan.raw(replace(batch.take(rows), faults=faults))
    dense = columns.parts(raw, plan.n_dense if sparse.issparse(raw) else raw.shape[1])[0]
    return dense, (codes[rows] == 1).astype(np.float32), (key_sample(row_keys(raw)), faults)


def _merged(parts: list[Any]) -> Any:
    first = parts[0]
    for other in parts[1:]:
        first.merge(other)
    return first


# What is done on the client.


@dataclass(frozen=True)
class SampleOfTable:
    """The sample as the rows of a fit, and what is known of the whole table.

    Attributes
    ----------
    rows : FitRows
        The sample.
    plan : ColumnPlan
        By all rows.
    counts : int, int, int
        How many of all rows are labelled, unlabelled, and known to be negative.
    n_fitted : int, int
        How many of those that do not judge the model are labelled, and unlabelled.
    walk : _Walk
        The partitions.
    keys : list of ndarray
        After `fit`, of the rows of the workers.
    """

    rows: FitRows
    plan: ColumnPlan
    counts: tuple[int, int, int]
    n_fitted: tuple[int, int]
    walk: _Walk
    keys: list[NDArray[np.uint64]] = field(default_factory=list)

    @property
    def labelled(self) -> float:
        """The share of the rows that is labelled."""
        return self.counts[0] / sum(self.counts)

    def fit(self, classifier: EnsemblePU, features: Any, say: Callable[[str], None]) -> None:
        """Fit `EnsemblePU` to the sample, its boosted trees to all rows that do not judge it."""
        walk, aside = self.walk, self.rows.aside
        say(f"Training: EnsemblePU on {sum(self.n_fitted):,} rows, trees on the workers ...")
        table = LargerTable(
            walk.weigh[~aside],
            walk.n_p,
            walk.n,
            partial(walk.grow, self.plan, classifier.sampling, self.keys),
        )
        classifier.fit_sample(features[~aside], self.rows.codes[~aside], table)


@dataclass
class _Walk:
    """The partitions, and what the walks found out about them."""

    client: Any
    table: Partitions
    reader: _Reader
    verbose: int
    code: dict[str, int] = field(default_factory=dict)
    uses: _Uses | None = None
    others: list[NDArray[np.int64]] = field(default_factory=list)  # of each partition, by label
    weigh: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    n_p: int = 0
    n: int = 0

    def gathered(self, what: str, lazy: list[Any]) -> list[Any]:
        """Return what tasks give, with their progress on a line that changes."""
        n = len(self.table.parts)

        def tell(done: int) -> None:
            if self.verbose:
                status(f"{what}: {min(done, n):,} of {how_many(n, 'partition')} ...")

        tell(0)
        try:
            return gathered(self.client, _PATIENCE, lazy, tell)
        finally:
            if self.verbose:
                status("")

    def lazy(self, function: Any, *more: Any, nout: int | None = None) -> list[Any]:
        """Return a task for each partition: of `function` with it, its number, and what follows."""
        dask = need("dask", extra="dask", owner="TablePU on Dask")
        task = dask.delayed(function, pure=False, nout=nout)
        shared = [dask.delayed(one, pure=False) for one in more]
        return [task(part, number, *shared) for number, part in enumerate(self.table.parts)]

    def merged(self, lazy: list[Any]) -> Any:
        """Return a task that merges what tasks give, a few at a time, on the workers."""
        dask = need("dask", extra="dask", owner="TablePU on Dask")
        task = dask.delayed(_merged, pure=False)
        while len(lazy) > 1:
            lazy = [task(lazy[i : i + _TOGETHER]) for i in range(0, len(lazy), _TOGETHER)]
        return lazy[0]

    def grow(
        self,
        plan: ColumnPlan,
        sampling: str,
        keys: list[NDArray[np.uint64]],
        prior: float,
        columns: Any,
        options: dict[str, Any],
        start: float,
    ) -> Forest:
        """Grow boosted trees from the rows that neither judge nor weigh."""
        da = need("dask.array", extra="dask", owner="TablePU on Dask")
        dask = need("dask", extra="dask", owner="TablePU on Dask")
        two = sampling == "two-sample"
        more = self.reader, self.code, self.uses, plan, columns, two
        sizes = [int(one[1:].sum() if two else one.sum()) for one in self.others]
        full = [number for number, size in enumerate(sizes) if size]
        tasks = self.lazy(_grown_from, *more)
        made = self.client.compute([tasks[number] for number in full])
        rows, labels, notes = (
            [self.client.submit(itemgetter(place), one, pure=False) for one in made]
            for place in range(3)
        )
        del made
        faults = Faults()
        for found, wrong in self.gathered("Preparing", notes):
            keys.append(found)
            faults.merge(wrong)
        faults.check()
        width = len(columns.centre[: plan.n_dense or None])

        def stacked(futures: list[Any], *more: int) -> Any:
            parts = [
                da.from_delayed(dask.delayed(one), (sizes[number], *more), np.float32)
                for number, one in zip(full, futures, strict=True)
            ]
            return da.concatenate(parts)

        scale = self.n_p / (prior * self.n)  # a row of P has the weight 1
        objective = KLObjective(prior, sampling, self.n_p, self.n, scale, start)
        how = self.client, stacked(rows, width), stacked(labels), objective, options, _PATIENCE
        return Forest.from_text(train(*how).model_to_string(num_iteration=-1))


def fit_to_partitions(job: TablePU, table: Any, s: Any) -> SampleOfTable:
    """Look at all partitions of a table; return its plan, and the sample that a fit takes.

    Parameters
    ----------
    job : TablePU
        Its parameters.
    table : dask DataFrame or Partitions
        The rows.
    s : str
        The label column.
    """
    start_clock()
    check_parameters(job)
    _check_job(job, s)
    client = find_client()
    table = _partitions(job, table)
    for name in (s, job.id, job.groups, *job.drop, *job.keep):
        if name is not None:
            find_column(name, table.names, "the table")
    job._say(SAMPLING_LINES[job.sampling])
    workers = client.nthreads()
    job._say(
        f"Cluster: {how_many(len(workers), 'worker')}, "
        f"{how_many(sum(workers.values()), 'thread')}; {how_many(len(table.parts), 'partition')}."
    )
    walk = _Walk(client, table, _Reader(table.names, table.how, s), job.verbose)
    seen = _seen(job, walk, s)
    excluded, groups = _excluded(job, seen, walk.code)
    treatments = seen.table.treatments(excluded, job.decimal)
    counts = _by_code(seen.labels, walk.code)
    unhashed = {s, job.id, job.groups, seen.table.id(), *job.drop}
    hashed = tuple(name for name in table.names if name not in unhashed)
    walk.uses = _uses(job, counts, groups, hashed)
    return _sample(job, walk, seen, treatments, excluded, groups)


def write_to_folder(
    model: TablePU, table: Partitions, out: Path, *, verbose: int = 0, **how: Any
) -> Written:
    """Score a table by partitions and write a folder of Parquet files, one for each.

    The workers write them, so they must see the folder under the same name. It appears when all are
    written.

    Parameters
    ----------
    model : TablePU
        Fitted.
    table : Partitions
        The rows.
    out : Path
        The folder: new, or empty.
    verbose : int, default=0
        1 shows the progress.
    **how
        As in `nnpu.table.predictions.write_part`.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is there already; with --dask, --out is a new or empty folder.")
    walk = _Walk(find_client(), table, _Reader(table.names, table.how), verbose)
    rows = [part.rows if isinstance(part, FilePart) else 0 for part in table.parts]
    if model.columns_.id_name not in table.names and not all(rows):
        rows = walk.gathered("Counting", walk.lazy(_count, walk.reader))
    firsts = [0, *np.cumsum(rows).tolist()]
    partial = temporary_beside(out)
    partial.mkdir(parents=True)
    try:
        lazy = walk.lazy(_write, walk.reader, model, firsts, str(partial.absolute()), how)
        written: PartWritten = walk.gathered("Scoring", [walk.merged(lazy)])[0]
        if written.rows == 0:
            raise InputError("The table has no rows.")
        written.faults.check()
        if out.exists():
            out.rmdir()
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return written.concluded(how.get("cut"))


def _count(part: Any, number: int, reader: _Reader) -> int:
    return reader(part, number).n_rows


def _write(
    part: Any,
    number: int,
    reader: _Reader,
    model: TablePU,
    firsts: list[int],
    folder: str,
    how: dict[str, Any],
) -> PartWritten:
    batch = replace(reader(part, number), first=firsts[number])
    if not batch.n_rows:
        return PartWritten(0, 0, 0, 0, False, 0, model.drift_watch())
    return write_part(model, batch, Path(folder) / f"part-{number:05}.parquet", **how)


def _check_job(job: TablePU, s: Any) -> None:
    """Refuse what is not done on Dask."""
    if not isinstance(s, str):
        raise InputError(
            "On Dask the labels are a column of the table: pass its name. "
            f"Got {type(s).__name__} instead."
        )
    for name, neutral in (("images", None), ("time", None), ("labelled_by", ())):
        if getattr(job, name) != neutral:
            raise ParameterError(
                f"The {name!r} parameter of TablePU is not for a table on Dask. "
                f"Got {shown(getattr(job, name))} instead."
            )
    model = job.model
    if model not in (None, "ensemble") and not isinstance(model, EnsemblePU):
        name = type(model).__name__ if isinstance(model, BasePUClassifier) else shown(model)
        raise ParameterError(
            "The 'model' parameter of TablePU must be 'ensemble' for a table on Dask. "
            f"Got {name} instead."
        )


def _seen(job: TablePU, walk: _Walk, label: str) -> _Seen:
    """Walk over the table for the first time, and read its labels."""
    skip = [label, *job.drop, *(name for name in (job.groups,) if name is not None)]
    lazy = walk.lazy(_see, walk.reader, skip, job.id)
    seen: _Seen = walk.gathered("Reading", [walk.merged(lazy)])[0]
    n = sum(seen.rows.values())
    if n == 0:
        raise InputError("The table has no rows.")
    if job.verbose > 1:
        job._say(f"Read: {n:,} rows.")
    values = sorted((value for value in seen.labels if value), key=seen.first.__getitem__)
    firsts = _firsts(seen.rows)

    def first(place: int) -> int:
        number, row = seen.first[values[place]]
        return firsts[number] + row

    counts = np.array([seen.labels[value] for value in values], dtype=np.intp)
    job.label_ = label
    job.pos_label_, codes = label_codes(values, counts, first, label, "the table", job.pos_label)
    walk.code |= dict(zip(values, codes, strict=True)) | {"": 0}
    found = _by_code(seen.labels, walk.code)
    few = np.repeat([-1, 0, 1], [min(found[code], 2) for code in (-1, 0, 1)]).astype(np.int8)
    check_labels(few, label, "the table")
    return seen


def _firsts(rows: Mapping[int, int]) -> list[int]:
    """Return how many rows stand before each partition."""
    return [0, *np.cumsum([rows[number] for number in sorted(rows)]).tolist()][:-1]


def _by_code(labels: Mapping[str, int], code: Mapping[str, int]) -> Counter[int]:
    """Return how many rows are labelled (1), unlabelled (0) and known to be negative (−1)."""
    found: Counter[int] = Counter()
    for value, count in labels.items():
        found[code[value]] += count
    return found


def _excluded(
    job: TablePU, seen: _Seen, code: Mapping[str, int]
) -> tuple[dict[str, str], str | None]:
    """Return the columns that are not features, with the reasons, and the one that groups rows."""
    counts = _by_code(seen.labels, code)
    names = seen.table.columns
    exempt = {job.label_, job.id, job.groups, *job.drop, *job.keep}

    def count(name: str, side: int) -> int:
        return sum(seen.filled[value, name] for value in code if code[value] == side)

    filled = {name: (count(name, 1), count(name, 0)) for name in names if name not in exempt}
    unused: dict[str, str] = {}
    for name, how in one_sided(filled, counts[1], counts[0]).items():
        unused[name] = f"{how}; --keep {name} uses it"
        job._say(f"Excluded: {name} gives the label away ({how}). To use it: --keep {name}.")
    groups = job.groups
    ids = [
        RepeatedId(name, cells.texts.distinct, cells.texts.count, 0.0, np.zeros(0, dtype=np.intp))
        for name, cells in names.items()
        if name not in {*exempt, *unused}
        and cells.type != "temporal"
        and (cells.texts.counts > 1).any()
        and repeats_like_an_id(name, cells.texts.distinct, cells.texts.count)
    ]
    for found in sorted(ids, key=lambda one: one.values):
        decides = groups is None
        groups = found.name if decides else groups
        unused[found.name] = f"an id that repeats; --keep {found.name} uses it"
        job._say(found.line(decides))
    used = {} if job.groups is None else {job.groups: "it says which rows belong together"}
    return used | unused | dict.fromkeys(job.drop, "as requested"), groups


def _uses(job: TablePU, counts: Counter[int], groups: str | None, hashed: tuple[str, ...]) -> _Uses:
    """Return which share of the rows is for what."""
    n = sum(counts.values())
    rows = min(max(_SAMPLE, _LABELLED * n / counts[1]), _MOST)
    judge = min(job.holdout, _JUDGE * rows / n)
    if min(counts[0], counts[1]) < LEAST_LABELLED:
        judge = 0.0
    weigh = min((1 - judge) / 3, _WEIGH * rows / n)
    train = min(1 - judge - weigh, (1 - _JUDGE - _WEIGH) * rows / n)
    if train + judge + weigh > 1 - 1e-9:
        train = 1.0
    return _Uses(judge, weigh, train, int(job.random_state or 0), groups, hashed)


def _sample(
    job: TablePU,
    walk: _Walk,
    seen: _Seen,
    treatments: list[Treatment],
    excluded: dict[str, str],
    groups: str | None,
) -> SampleOfTable:
    """Walk over the table for the second time; return its plan and the sample."""
    dask = need("dask", extra="dask", owner="TablePU on Dask")
    uses = walk.uses
    assert uses is not None
    task = dask.delayed(_draw, pure=False, nout=2)
    shared = [dask.delayed(one, pure=False) for one in (walk.reader, walk.code, uses, treatments)]
    firsts = _firsts(seen.rows)
    lazy = [
        task(part, number, firsts[number], *shared) for number, part in enumerate(walk.table.parts)
    ]
    summaries, drawn = [one[0] for one in lazy], [one[1] for one in lazy]
    summary, *found = walk.gathered("Columns", [walk.merged(summaries), *drawn])
    batch = _joined([one.batch for one in found if one.batch.n_rows], job.decimal)
    codes = np.concatenate([one.codes for one in found])
    shares = np.concatenate([one.shares for one in found])
    counts = sum(one.counts for one in found)
    aside, walk.weigh = shares < uses.judge, _between(shares, uses.judge, uses.weigh)
    walk.others = [one.counts[2] for one in found]
    total = np.sum(walk.others, axis=0)
    walk.n_p = int(total[2])
    walk.n = int(total[1:].sum() if job.sampling == "two-sample" else total.sum())
    _check_uses(codes, aside, walk.weigh, uses)
    _warn_of_copies(job, batch, codes)
    plan = finished_plan(
        list(summary.columns()), batch, np.flatnonzero(~aside), excluded, words=True
    )
    rows = FitRows(batch, codes, group_numbers(batch, groups), groups, excluded, False, aside)
    negatives, n_u, n_p = counts.sum(axis=0).tolist()
    _, u, p = counts[1:].sum(axis=0).tolist()
    return SampleOfTable(rows, plan, (n_p, n_u, negatives), (p, u), walk)


def _between(shares: NDArray[np.float64], low: float, width: float) -> NDArray[np.bool_]:
    return (shares >= low) & (shares < low + width)


def _joined(batches: list[Batch], decimal: str | None) -> Batch:
    """Return the rows of batches whose columns may be of types that go into each other."""
    import pyarrow as pa

    columns = {}
    for name in batches[0].columns:
        parts = [batch.columns[name] for batch in batches]
        parts = [
            one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for one in parts
        ]
        tables = [pa.table({name: one}) for one in parts]
        try:
            whole = pa.concat_tables(tables, promote_options="permissive")
        except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
            raise InputError(
                f"Column {name!r} is of two types in the partitions: {error}"
            ) from error
        columns[name] = whole.column(0).combine_chunks()
    numbers = np.concatenate([batch.numbers for batch in batches])
    return Batch(columns, {}, len(numbers), 0, "the table", decimal, numbers=numbers)


def _check_uses(
    codes: NDArray[np.int8], aside: NDArray[np.bool_], weigh: NDArray[np.bool_], uses: _Uses
) -> None:
    """Refuse a table of which one part has no labelled or no unlabelled row."""
    for kept in (codes[aside] if uses.judge else None, codes[weigh], codes[~aside & ~weigh]):
        if kept is not None and min((kept == 1).sum(), (kept == 0).sum()) < 2:
            how = f"groups of {uses.groups!r}" if uses.groups else "rows that differ"
            raise InputError(
                f"The table has too few labelled rows, or too few {how}, to set some aside on "
                "Dask; fit it in memory."
            )


def _warn_of_copies(job: TablePU, batch: Batch, codes: NDArray[np.int8]) -> None:
    """Say how many rows repeat others: equal rows are in the sample together."""
    kept = len(without_copies(batch, codes, {job.label_, job.id, *job.drop}))
    share = 1 - kept / batch.n_rows
    if share >= _COPIES:
        warnings.warn(
            f"About {share:.0%} of the rows repeat another row. On Dask they stay, on the same "
            "side of every split; drop_duplicates() before the fit takes them out.",
            UserWarning,
            stacklevel=5,
        )


_COPIES = 0.01  # of the rows that repeat others are worth a line
