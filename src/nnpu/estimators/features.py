"""Features that may be on disk: checked a block at a time, and never copied whole into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, validate_data

from nnpu.data.finite import check_finite
from nnpu.data.rows import Rows, SparseBatch, is_mapped
from nnpu.data.vectors import as_array
from nnpu.estimators._kinds import as_numbers
from nnpu.estimators._offset import centred, check_dense, find_offset, warn_of_lost_digits
from nnpu.parameters import InputError
from nnpu.prior.subsample import MOST_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.labels import Labels

__all__ = ["prior_rows", "rows_of", "validate"]

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
