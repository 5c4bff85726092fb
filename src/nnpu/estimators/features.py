"""Features that may be on disk: checked a block at a time, and never copied whole into memory.

Features are computed with as float32, which holds seven digits: 100,000,000.5 and 100,000,001 are
the same number there. Columns whose values are large and close together, such as time stamps, are
centred in float64 first; the others stay as they are. Features of a kind that cannot be numbers
are refused in one line that says what to do.
"""

from __future__ import annotations

import datetime
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, validate_data

from nnpu.data.rows import Rows, SparseBatch, is_mapped
from nnpu.data.vectors import as_array, check_finite
from nnpu.parameters import InputError
from nnpu.prior.curve import MOST_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.labels import Labels

    Floats = NDArray[np.float64]

__all__ = [
    "as_numbers",
    "centred",
    "check_dense",
    "find_offset",
    "offset_from_json",
    "offset_to_json",
    "prior_rows",
    "rows_of",
    "validate",
    "warn_of_lost_digits",
]

_ENOUGH = 1 << 28  # bytes of P, and of U, that are held in memory to estimate the prior


def validate(estimator: Any, X: Any, s: Any = "no_validation") -> Any:
    """Check features, and labels if there are any, as scikit-learn's `validate_data` does.

    What is in memory becomes float32, columns that float32 cannot hold minus an offset that `fit`
    finds; what is on disk stays there.

    Parameters
    ----------
    estimator : BasePUClassifier
        It gets ``n_features_in_``, ``feature_names_in_`` if the columns have names, and in `fit`
        the offset of the columns, ``_offset``.
    X : array-like, sparse matrix, tensor, memory map or Rows
        The features.
    s : array-like, optional
        The labels; without them X must be as in `fit`.
    """
    X, s = as_array(X), as_array(s)
    fitting = not isinstance(s, str)
    if fitting:
        estimator._offset = None
    missing, owner = estimator._allows_missing(), type(estimator).__name__
    if isinstance(X, Rows):
        check_dense(X, estimator._offset, owner)
        return _fit_rows(estimator, X, s) if fitting else _known_rows(estimator, X)
    mapped = is_mapped(X)
    X = as_numbers(X, missing=missing, owner=owner)
    # A file is not copied into memory. What has more digits than float32 keeps them at first.
    wide = not sparse.issparse(X) and (fitting or estimator._offset is not None) and not _narrow(X)
    dtype = None if mapped else [np.float64, np.float32] if wide else np.float32
    with np.errstate(over="ignore", invalid="ignore"):  # too large is an error, no warning
        checked = validate_data(
            estimator,
            X,
            s,
            reset=fitting,
            accept_sparse="csr",
            dtype=dtype,
            order=None if mapped else "C",  # sums add up in the same order then
            ensure_all_finite="allow-nan" if missing else False,  # `check_finite` says where
            allow_nd=estimator._allows_any_shape(),
            **({"y_numeric": False} if fitting else {}),
        )
    features = checked[0] if fitting else checked
    if features.dtype.kind not in "biuf":
        raise InputError(
            f"A memory map of numbers is needed. Got one of dtype {features.dtype} instead; open "
            "it with the type it was written with."
        )
    features = _rounded(estimator, features, mapped=mapped, fitting=fitting)
    if not missing:
        check_finite(features)
    elif not sparse.issparse(features) and np.isinf(features).any():
        raise InputError("Input X contains infinity or a value too large for dtype('float32').")
    return (features, checked[1]) if fitting else features


def _narrow(X: Any) -> bool:
    """Return whether float32 holds every number of X as it is."""
    dtype = getattr(X, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 4


def _rounded(estimator: Any, features: Any, *, mapped: bool, fitting: bool) -> Any:
    """Return features as float32, centred where that takes; what is on disk stays as it is."""
    owner = type(estimator).__name__
    if fitting and (mapped or not estimator._may_centre()):
        reason = "a memory map" if mapped else f"this {owner}"
        warn_of_lost_digits(features, f"{reason} is not centred")
    elif fitting and not sparse.issparse(features):
        estimator._offset = find_offset(features)
    offset = estimator._offset
    check_dense(features, offset, owner)
    if sparse.issparse(features) or (mapped and offset is None):
        return features
    with np.errstate(over="ignore", invalid="ignore"):
        return centred(features, offset)


def _fit_rows(estimator: Any, rows: Rows, s: Any) -> tuple[Rows, Any]:
    _check_taken(estimator, rows)
    s = validate_data(estimator, y=s)
    check_consistent_length(rows, s)
    check_finite(rows)
    estimator.n_features_in_ = rows.shape[1]
    names = getattr(rows, "columns", None)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return rows, s


def _known_rows(estimator: Any, rows: Rows) -> Rows:
    _check_taken(estimator, rows)
    if rows.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {rows.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    names = getattr(rows, "columns", None)
    fitted = getattr(estimator, "feature_names_in_", None)
    if names is not None and fitted is not None and list(names) != list(fitted):
        other = next(a for a, b in zip(fitted, names, strict=True) if a != b)
        raise InputError(
            f"The columns must be those of fit, in their order, and {other!r} is not in its place: "
            "open the rows with columns=list(classifier.feature_names_in_)."
        )
    check_finite(rows)
    return rows


def _check_taken(estimator: Any, rows: Rows) -> None:
    if not estimator._takes_rows():
        raise InputError(
            f"{type(estimator).__name__} takes arrays and sparse matrices. Got "
            f"{type(rows).__name__} instead, which PUClassifier takes."
        )


def prior_rows(X: Any, codes: Labels, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of P and of U from which the prior is estimated, in order.

    At most 20,000 of each, drawn at random, or fewer if they are so wide that these would take
    more than 256 MiB. Few labelled rows are all kept, however many unlabelled ones there are.

    Examples
    --------
    >>> prior_rows(np.zeros((4, 2)), np.array([0, 1, -1, 0]), 0)
    (array([1]), array([0, 3]))
    """
    most = min(MOST_ROWS, max(2, _ENOUGH * len(codes) // max(_size(X), 1)))
    generator = np.random.default_rng(seed)
    p, u = (_drawn(np.flatnonzero(codes == code), most, generator) for code in (1, 0))
    return p, u


def _drawn(rows: NDArray[np.intp], most: int, generator: np.random.Generator) -> NDArray[np.intp]:
    if len(rows) <= most:
        return rows
    return np.sort(generator.choice(rows, most, replace=False))


def _size(X: Any) -> int:
    """Return the bytes that all rows take as float32, wherever they are kept."""
    if isinstance(X, Rows):
        return X.nbytes
    return 12 * int(X.nnz) + 8 * X.shape[0] if sparse.issparse(X) else 4 * int(X.size)


def rows_of(X: Any, index: NDArray[np.intp]) -> Any:
    """Return some rows in memory, wherever they are kept."""
    if not isinstance(X, Rows):
        table = sparse.csr_array(X) if sparse.issparse(X) else X
        return table[index]
    import torch

    batch = X.take(torch.from_numpy(index))
    if not isinstance(batch, SparseBatch):
        return batch.numpy()
    indptr = np.append(batch.offsets.numpy(), len(batch.indices))
    shape = (len(index), batch.n_features)
    return sparse.csr_array((batch.values.numpy(), batch.indices.numpy(), indptr), shape=shape)


def as_numbers(X: Any, *, missing: bool, owner: str, dates: bool = False) -> Any:
    """Return features as they are, or with NaN in place of what is masked.

    Parameters
    ----------
    X : array-like
        What a user passed as features.
    missing : bool
        Whether the classifier takes missing values.
    owner : str
        Its name, for messages.
    dates : bool
        Whether it takes frames with columns of dates.

    Raises
    ------
    InputError
        For masked cells that the classifier does not take, lazy frames, structured arrays, dates.

    Examples
    --------
    >>> as_numbers(np.ma.masked_equal([[1, 2]], 2), missing=True, owner="BoostedPU")
    array([[ 1., nan]])
    >>> as_numbers(np.array([["2024-01-03"]], dtype="M8[D]"), missing=True, owner="BoostedPU")
    Traceback (most recent call last):
    nnpu.parameters.InputError: X holds dates or times, which BoostedPU does not take. Turn them
    into numbers, or use nnpu.TablePU, which does.
    """
    if hasattr(X, "collect"):  # a frame that is yet to be computed
        kind = type(X).__name__
        raise InputError(f"{owner} takes frames in memory. Got a {kind}; pass X.collect().")
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "names", None):
        raise InputError(
            f"{owner} takes a matrix of numbers. Got a structured array; pass "
            "numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
    name = _date_column(X)
    if name is not None and not (dates and hasattr(X, "columns")):
        raise InputError(
            f"{name} holds dates or times, which {owner} does not take. Turn them into numbers, or "
            "use nnpu.TablePU, which does."
        )
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    if not missing:
        row = np.argwhere(np.ma.getmaskarray(X))[0].tolist()
        raise InputError(
            f"X is a masked array, and {owner} takes no missing values: the cell {tuple(row)} is "
            "masked. Fill it, for example with X.filled(0), or remove the row."
        )
    return np.where(np.ma.getmaskarray(X), np.nan, X.data.astype(np.float64))


def _date_column(X: Any) -> str | None:
    """Return what holds dates: X, or one of its columns."""
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        return "X"
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and len(X):
        for number, value in enumerate(X[0]):
            if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
                return f"Column {number}"
    columns = getattr(X, "columns", None)
    dtypes = getattr(X, "dtypes", None)
    if columns is None or dtypes is None or callable(dtypes):
        return None
    for column, kind in zip(columns, dtypes, strict=False):
        temporal = getattr(kind, "is_temporal", None)  # polars
        if temporal() if callable(temporal) else getattr(kind, "kind", "") in ("M", "m"):
            return f"Column {column!r}"
    return None


_SAMPLE = 10_000  # rows that show whether float32 can hold a column
_LOST = 1e-4  # of a column's spread that the rounding to float32 may take


def find_offset(X: Any) -> Floats | None:
    """Return what to subtract from each column, mostly 0; None if no column needs it.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Numbers, NaN among them where they are missing.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 101)
    >>> find_offset(np.c_[x, 1e8 + x])
    array([0.e+00, 1.e+08])
    >>> find_offset(np.c_[x, x])
    """
    if X.ndim != 2 or X.dtype.itemsize < 8 or not X.size:
        return None  # float32 holds what has at most four bytes, or loses it before it comes here
    some = X[:: max(1, len(X) // _SAMPLE)].astype(np.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without any value
        error = np.nanmedian(np.abs(some - some.astype(np.float32)), axis=0)
        low, middle, high = np.nanquantile(some, [0.25, 0.5, 0.75], axis=0)
        spread = np.where(high > low, high - low, np.nanstd(some, axis=0))
        constant = np.nanmin(some, axis=0) == np.nanmax(some, axis=0)
        lost = ~constant & (error > _LOST * spread) & np.isfinite(middle)
    return np.where(lost, middle, 0.0) if lost.any() else None


def centred(X: Any, offset: Floats | None) -> NDArray[np.float32]:
    """Return X minus the offset, as float32 in the order of rows."""
    if offset is not None:
        X = X - offset
    return np.asarray(X, dtype=np.float32, order="C")


def check_dense(X: Any, offset: Floats | None, owner: str) -> None:
    """Raise `InputError` for features that cannot be centred as those of fit were."""
    if offset is not None and (sparse.issparse(X) or not isinstance(X, np.ndarray)):
        raise InputError(
            f"This {owner} was fitted to columns that float32 cannot hold (column "
            f"{np.flatnonzero(offset)[0]} has values around {offset[offset != 0][0]:.10g}) and "
            "centres them, which takes a dense array. Pass X.toarray() or an array in memory."
        )


def warn_of_lost_digits(X: Any, reason: str) -> None:
    """Warn if float32 loses what tells rows apart, where columns are not centred for a reason."""
    offset = None if sparse.issparse(X) else find_offset(X)
    if offset is not None:
        column = int(np.flatnonzero(offset)[0])
        warnings.warn(
            f"Column {column} has values around {offset[column]:.10g}, too close together for "
            f"float32, and {reason}. Subtract a number near them first.",
            UserWarning,
            stacklevel=6,
        )


def offset_to_json(offset: Floats | None) -> dict[str, list[Any]] | None:
    """Return an offset as plain values: the columns that have one, and their numbers.

    >>> offset_to_json(np.array([0.0, 1e8]))
    {'columns': [1], 'values': [100000000.0]}
    """
    if offset is None:
        return None
    columns = np.flatnonzero(offset)
    return {"columns": columns.tolist(), "values": offset[columns].tolist()}


def offset_from_json(stored: Any, n_features: int) -> Floats | None:
    """Return the offset that `offset_to_json` gave; raise a ValueError for anything else."""
    if stored is None:
        return None
    columns, values = stored["columns"], stored["values"]
    fits = (
        isinstance(columns, list)
        and isinstance(values, list)
        and 0 < len(columns) == len(values)
        and all(type(column) is int and 0 <= column < n_features for column in columns)
        and all(type(value) is float and np.isfinite(value) for value in values)
    )
    if not fits:
        raise ValueError("the offsets of the columns are not one number for each column")
    offset = np.zeros(n_features)
    offset[columns] = values
    return offset
