"""Which columns of a table matter, and which of them put a row where it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from nnpu.estimators.evaluation import rank_rows, unlabelled_cut
from nnpu.estimators.explain import Contributions, contributions, importance
from nnpu.parameters import InputError
from nnpu.prior.curve import auc
from nnpu.table.fitting import features_for, takes_raw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.table.table_pu import TablePU

__all__ = [
    "Examples",
    "Explained",
    "column_features",
    "columns_that_differ",
    "compared_rows",
    "explain_aside",
    "explain_rows",
    "reasons_of",
    "row_reasons",
    "with_examples",
]

_WIDEST = 300  # features beyond which reasons would take longer than the fit
_COMPARED = 100  # unlabelled rows of the fit that scores are compared with
_LEAST = 0.02  # a column that moves the log-odds by less is not shown
_WORDS = 200  # of a text, the heaviest, that are looked at
_LONGEST = 40  # letters of a cell
_FRACTION = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE)


def row_reasons(
    model: TablePU,
    batch: Batch,
    rows: NDArray[np.intp],
    *,
    most: int = 3,
) -> list[str]:
    """Return which columns move the scores of some rows most, and what their cells hold.

    The number in brackets is what the column adds to the score beyond that of a typical row: some
    unlabelled rows of the fit, the same for every table. In a table of nothing but text it is what
    the score loses without the word. Rows of images, other sparse rows and very wide ones have no
    reasons.

    Parameters
    ----------
    model : TablePU
        Fitted.
    batch : Batch
        The table.
    rows : array of int
        Which rows.
    most : int, default=3
        Columns named for a row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from nnpu import TablePU
    >>> from nnpu.table.reading import as_batch
    >>> rng = np.random.default_rng(0)
    >>> fraud = rng.random(400) < 0.4
    >>> amount = rng.normal(np.where(fraud, 90, 40), 20).round()
    >>> known = (fraud & (rng.random(400) < 0.5)).astype(int)
    >>> table = pa.table({"amount": amount, "noise": rng.random(400), "known": known})
    >>> model = TablePU(prior=0.4, model="linear").fit(table, "known")
    >>> row_reasons(model, as_batch(table), np.array([0]), most=1)[0][:9]
    'amount = '
    """
    plan, classifier = model.columns_, model.classifier_
    if len(rows) == 0 or plan.has_images:
        return [""] * len(rows)
    features = features_for(classifier, plan, batch.take(rows))
    used = [column for column in plan.columns if column.width]
    if takes_raw(classifier) and all(column.kind == "text" for column in used):
        terms = [name for column in used for name in column.raw_names]
        alone = used[0].name if len(used) == 1 else ""
        return [_word_reasons(classifier, row, terms, alone, most) for row in features]
    if not _is_narrow(model, features):
        return [""] * len(rows)
    found = explain_rows(model, features)
    kinds = {column.name: column.kind for column in used}
    cells = {name: _cells(batch, name, rows, kinds[name]) for name in found.columns}
    lines = []
    for i, moved in enumerate(found.values):
        first = np.argsort(-np.abs(moved), kind="stable")[:most]
        lines.append(
            "; ".join(
                f"{found.columns[j]}{cells[found.columns[j]][i]} ({moved[j]:+.2f})"
                for j in first
                if abs(moved[j]) >= _LEAST
            )
        )
    return lines


def compared_rows(model: TablePU, features: Any, rows: NDArray[np.intp]) -> Any:
    """Return the features of a few rows of the fit, which scores are compared with.

    Parameters
    ----------
    model : TablePU
        Fitted.
    features : array or CSR matrix
        As the classifier takes them.
    rows : ndarray of int
        Which of them to draw from: the unlabelled rows of the fit.

    Returns
    -------
    array, CSR matrix or None
        None where rows have no reasons.
    """
    if model.columns_.has_images or not _is_narrow(model, features):
        return None
    drawn = np.random.default_rng(0).permutation(rows)[:_COMPARED]
    return features[np.sort(drawn)]


def _is_narrow(model: TablePU, features: Any) -> bool:
    """Return whether the score can be divided among so many columns, and no sparse ones."""
    if sparse.issparse(features):  # what a text beside numbers adds is one number
        return model.columns_.n_dense > 0 and len(column_features(model)) <= _WIDEST
    return bool(features.ndim == 2 and 0 < features.shape[1] <= _WIDEST)


def _word_reasons(classifier: Any, row: Any, terms: list[str], column: str, most: int) -> str:
    """Return the words without which the score of a sparse row would change most."""
    row = sparse.csr_array(row.reshape(1, -1))
    heaviest = np.argsort(-np.abs(row.data), kind="stable")[:_WORDS]
    without = sparse.csr_array(sparse.vstack([row] * (len(heaviest) + 1)))
    without.data[np.arange(len(heaviest)) * row.nnz + heaviest] = 0.0
    scores = classifier.decision_function(without).astype(np.float64)
    moved = scores[-1] - scores[:-1]
    first = np.argsort(-np.abs(moved), kind="stable")[:most]
    words = [terms[row.indices[heaviest[j]]] for j in first]
    if column:  # "note (parcel)": all words are of one column
        words = [word[len(column) + 2 : -1] for word in words]
    return "; ".join(
        f"{word} ({moved[j]:+.2f})"
        for word, j in zip(words, first, strict=True)
        if abs(moved[j]) >= _LEAST
    )


def _cells(batch: Batch, name: str, rows: NDArray[np.intp], kind: str) -> list[str]:
    """Return ' = cell' for each row; nothing for a matrix."""
    if name not in batch.columns:
        return [""] * len(rows)
    return [f" = {_short(value, kind)}" for value in batch.columns[name].take(rows).to_pylist()]


def _short(value: Any, kind: str) -> str:
    """Return a cell in a few letters, a number alike from a text file and from a frame."""
    if value is None or value != value or value == "":
        return "(empty)"
    if kind == "number" and isinstance(value, str) and _FRACTION.fullmatch(value.strip()):
        value = float(value)
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_ROWS = 500  # that importance is estimated from
_MOST_FEATURES = 200  # beyond which the cost is not worth it
_LIKELY = 50  # unlabelled rows that labelled ones are compared with, at least
_VISIBLE = 0.2  # of a rank statistic between −1 and 1: less is not worth a word
_NAMED = 3  # columns that are suspected


class Explained(NamedTuple):
    """What the rows that were set aside say about the columns.

    Attributes
    ----------
    importance : tuple of (name, value, low, high)
        What the estimated AUC loses if a column is shuffled, with a 90 % range.
    why : dict of str to str
        For the rows to look at first, by name, the columns that moved their scores most.
    suspects : tuple of str
        The columns in which labelled rows differ most from the likeliest unlabelled ones, the
        most different first, with the direction: what may have decided who got a label.
    """

    importance: tuple[tuple[str, float, float, float], ...] = ()
    why: dict[str, str] = {}  # noqa: RUF012 - never changed
    suspects: tuple[str, ...] = ()


def explain_rows(
    model: TablePU, features: Any, background: Any = None, **how: Any
) -> Contributions:
    """Divide the scores of rows among the columns of their table.

    Parameters
    ----------
    model : TablePU
        Fitted.
    features, background
        The rows, and those that they are compared with, as the classifier takes them; by default
        those that the model keeps of its fit, or the rows themselves if it keeps none.
    **how
        As in `nnpu.estimators.explain.contributions`.
    """
    if model.columns_.has_images:
        raise InputError("Only the columns of a table can be explained, and images have none.")
    groups = column_features(model)
    background = model.compared_ if background is None else background
    if sparse.issparse(features) and model.columns_.n_dense:
        how["groups"] = groups
    found = contributions(model.classifier_, features, background=background, **how)
    if "groups" in how:
        return found
    values = np.stack([found.values[:, columns].sum(axis=1) for columns in groups.values()], axis=1)
    return Contributions(found.base, values, list(groups))


def explain_aside(
    model: TablePU,
    features: Any,
    codes: NDArray[np.int8],
    names: NDArray[Any],
    batch: Batch,
    rows: NDArray[np.intp],
    judge: BasePUClassifier | None = None,
    unseen: NDArray[np.bool_] | None = None,
) -> Explained:
    """Explain the model by rows that it was not fitted to; nothing if it cannot be.

    Parameters
    ----------
    model : TablePU
        Fitted and judged.
    features, codes, names
        The rows that judged it, their PU labels, and what they are called.
    batch, rows
        The table, and the numbers of these rows in it.
    judge, unseen
        A model that was not fitted to some of these rows, and which they are: what importance is
        estimated from. By default the model itself, and all rows.
    """
    if model.holdout_ is None or model.columns_.has_images:
        return Explained()
    beside = sparse.issparse(features) and model.columns_.n_dense > 0
    wide = len(column_features(model)) if beside else features.shape[1]
    if (sparse.issparse(features) and not beside) or wide > _MOST_FEATURES:
        return Explained((), _why(model, batch, rows, names))
    rows_unseen = np.arange(len(codes)) if unseen is None else np.flatnonzero(unseen)
    some = rows_unseen[_some(codes[rows_unseen])]
    found = importance(
        model.classifier_ if judge is None else judge,
        features[some],
        codes[some],
        n_repeats=1,
        groups=column_features(model),
    )
    columns = tuple((one.column, one.value, one.low, one.high) for one in found)
    return Explained(columns, _why(model, batch, rows, names), _suspects(model, features, codes))


class Examples(NamedTuple):
    """Some rows of a table with their cells: those worth a look."""

    batch: Batch
    names: list[str]


def with_examples(
    kept: Examples | None, model: TablePU, batch: Batch, s: Any, scores: Any, names: Any
) -> Examples:
    """Keep the rows of each part of a table that may be worth a look.

    Parameters
    ----------
    kept : Examples or None
        Of the parts before.
    model, batch, s, scores, names
        The model, and the rows of this part: PU labels, scores and what people call them.
    """
    cut = unlabelled_cut(model.classifier_, model.labelled_share_)
    wanted = {row.name for part in rank_rows(s, scores, cut, names) for row in part}
    chosen = np.array([i for i, name in enumerate(names) if str(name) in wanted], dtype=np.intp)
    listed = [str(names[i]) for i in chosen]
    rows = batch.take(chosen)
    if kept is None:
        return Examples(rows, listed)
    return Examples(kept.batch.joined(rows), [*kept.names, *listed])


def reasons_of(model: TablePU, found: Evaluation) -> dict[str, str]:
    """Return the cells that put the rows of a judgement's ranking where they are, by name."""
    kept = found.examples
    if not isinstance(kept, Examples) or found.ranking is None:
        return {}
    wanted = {row.name for part in found.ranking for row in part}
    index = [i for i, name in enumerate(kept.names) if name in wanted]
    reasons = row_reasons(model, kept.batch, np.array(index, dtype=np.intp))
    return {kept.names[i]: why for i, why in zip(index, reasons, strict=True) if why}


def _suspects(model: TablePU, features: Any, codes: NDArray[np.int8]) -> tuple[str, ...]:
    """Return the columns in which labelled rows differ from the unlabelled ones ranked first."""
    found = model.holdout_
    if found is None or len(found.s) != len(codes):
        return ()
    p, u = np.flatnonzero(codes == 1), np.flatnonzero(codes == 0)
    n = min(max(round(found.hidden.share.value * len(u)), _LIKELY), len(u))
    u = u[np.argsort(-found.scores[u], kind="stable")[:n]]
    return columns_that_differ(model, features, p, u)


def columns_that_differ(
    model: TablePU, features: Any, some: NDArray[np.intp], others: NDArray[np.intp]
) -> tuple[str, ...]:
    """Return the columns in which some rows differ most from others, with the direction.

    Parameters
    ----------
    model : TablePU
        Fitted.
    features : array or CSR matrix
        As the classifier takes them; words are not compared.
    some, others : ndarray of int
        The rows.
    """
    groups = column_features(model)
    if sparse.issparse(features):  # numbers and codes, not the words beside them
        n_dense = model.columns_.n_dense
        features = features[:, :n_dense].toarray()
        groups = {name: group for name, group in groups.items() if group[0] < n_dense}
    words = set(model.columns_.raw_categories) if takes_raw(model.classifier_) else set()
    differ = {}
    for name, group in groups.items():
        each = [_difference(features[some, j], features[others, j], j in words) for j in group]
        differ[name] = max(each, key=lambda one: abs(one[0]))
    # Twice the standard error of a rank statistic of samples of these sizes, and something to see.
    least = max(_VISIBLE, 2 * np.sqrt((1 / len(some) + 1 / len(others)) / 3))
    names = [name for name in differ if abs(differ[name][0]) > least]
    names.sort(key=lambda name: -abs(differ[name][0]))
    return tuple(f"{name} ({differ[name][1]})" for name in names[:_NAMED])


def _difference(a: NDArray[Any], b: NDArray[Any], is_category: bool) -> tuple[float, str]:
    """Return 2 AUC − 1 of numbers, or the total variation between categories, and a word."""
    a, b = (np.asarray(each, dtype=np.float64) for each in (a, b))
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    if not a.size or not b.size:
        return 0.0, ""
    if is_category:
        values, index = np.unique(np.concatenate([a, b]), return_inverse=True)
        parts = index[: len(a)], index[len(a) :]
        shares = [np.bincount(part, minlength=len(values)) / len(part) for part in parts]
        return float(np.abs(shares[0] - shares[1]).sum() / 2), "other values"
    found = 2 * auc(a, b) - 1
    return found, "higher" if found > 0 else "lower"


def _why(
    model: TablePU, batch: Batch, rows: NDArray[np.intp], names: NDArray[Any]
) -> dict[str, str]:
    """Return the cells that put each row to look at first where it is."""
    ranking = None if model.holdout_ is None else model.holdout_.ranking
    if ranking is None:
        return {}
    wanted = {row.name for part in ranking for row in part}
    index = np.array([i for i, name in enumerate(names) if str(name) in wanted], dtype=np.intp)
    reasons = row_reasons(model, batch, rows[index])
    return {str(names[i]): why for i, why in zip(index, reasons, strict=True)}


def _some(codes: NDArray[np.int8]) -> NDArray[np.intp]:
    """Return at most 500 rows, labelled and others in the shares that they have, two at least."""
    step = max(1, -(-len(codes) // _ROWS))
    parts = [np.flatnonzero(of)[::step] for of in (codes == 1, codes != 1)]
    return np.sort(np.concatenate(parts))


def column_features(model: TablePU) -> dict[str, list[int]]:
    """Return the features of each column of the table."""
    raw = takes_raw(model.classifier_)
    groups: dict[str, list[int]] = {}
    first = 0
    for column in model.columns_.columns:
        width = len(column.raw_names) if raw else column.width
        if width:
            groups[column.name] = list(range(first, first + width))
        first += width
    return groups
