"""Why the model scored some rows of a table as it did, a line for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.parameters import InputError
from nnpu.table.named_models import features_for, takes_raw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.table.table_pu import TablePU

__all__ = ["row_reasons"]

_WIDEST = 300  # features beyond which reasons would take longer than the fit
_BACKGROUND = 500  # rows that scores are compared with
_LEAST = 0.02  # a column that moves the log-odds by less is no reason
_WORDS = 200  # of a text, the heaviest, that are looked at
_LONGEST = 40  # letters of a cell


def row_reasons(
    model: TablePU,
    batch: Batch,
    rows: NDArray[np.intp],
    *,
    most: int = 3,
    typical: NDArray[np.intp] | None = None,
) -> list[str]:
    """Return which columns move the scores of some rows most, and what their cells hold.

    The number in brackets is what the column adds to the score beyond that of a typical row. In a
    table of nothing but text it is what the score loses without the word. Rows of images, other
    sparse rows and very wide ones have no reasons.

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
    typical : array of int, optional
        The rows that these are compared with; by default all.

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
    from nnpu.estimators.explain import contributions
    from nnpu.table.table_explain import column_features

    plan, classifier = model.columns_, model.classifier_
    raw = takes_raw(classifier)
    owners = np.array(
        [
            column.name
            for column in plan.columns
            for _ in (column.raw_names if raw else range(column.width))
        ]
    )
    used = [column for column in plan.columns if column.width]
    if raw and len(rows) and all(column.kind == "text" for column in used):
        terms = [name for column in used for name in column.raw_names]
        found = features_for(classifier, plan, batch)[rows]
        alone = used[0].name if len(used) == 1 else ""
        return [_word_reasons(classifier, row, terms, alone, most) for row in found]
    beside = raw and plan.n_dense > 0  # numbers and words: what a text adds is one number
    wide = len(used) if beside else len(owners)
    if plan.has_images or not 0 < wide <= _WIDEST or len(rows) == 0:
        return [""] * len(rows)
    features = features_for(classifier, plan, batch)
    rng = np.random.default_rng(0)
    others = np.arange(batch.n_rows) if typical is None else typical
    background = features[np.sort(rng.permutation(others)[:_BACKGROUND])]
    groups = column_features(model) if beside else None
    try:
        found = contributions(classifier, features[rows], background=background, groups=groups)
    except InputError:  # sparse
        return [""] * len(rows)
    names = found.columns if beside else list(dict.fromkeys(owners.tolist()))
    each = [i if beside else owners == name for i, name in enumerate(names)]
    moved = np.array([found.values[:, part].reshape(len(rows), -1).sum(axis=1) for part in each])
    cells = {name: _cells(batch, name, rows) for name in names}
    lines = []
    for i in range(len(rows)):
        first = np.argsort(-np.abs(moved[:, i]), kind="stable")[:most]
        lines.append(
            "; ".join(
                f"{names[j]}{cells[names[j]][i]} ({moved[j, i]:+.2f})"
                for j in first
                if abs(moved[j, i]) >= _LEAST
            )
        )
    return lines


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


def _cells(batch: Batch, name: str, rows: NDArray[np.intp]) -> list[str]:
    """Return ' = cell' for each row; nothing for a matrix."""
    if name not in batch.columns:
        return [""] * len(rows)
    return [f" = {_short(value)}" for value in batch.columns[name].take(rows).to_pylist()]


def _short(value: Any) -> str:
    if value is None or value != value or value == "":
        return "(empty)"
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
