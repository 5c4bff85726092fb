"""φ(x): features brought to one scale, then as they are, or as Gaussian or random Fourier features.

Everything works on blocks of rows, so neither a copy of the data nor all of φ is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler

from nnpu.convex.problem import column_sums
from nnpu.data.vectors import row_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BASES", "Features", "fit_features"]

#: What `basis` can be, besides None.
BASES = ("rff", "gaussian")


@dataclass(frozen=True)
class Features:
    """φ as it was fitted: `transform` maps rows of X to rows of features.

    Parameters
    ----------
    mean : ndarray of shape (d,) or None
        Taken off every row; None for sparse data, whose zeros must stay zeros.
    scale : ndarray of shape (d,)
        What every feature is divided by.
    basis : {"rff", "gaussian"} or None
        None: the features themselves.
    points : ndarray of shape (n_components, d)
        The centres c of exp(−γ ‖x − c‖²), or the frequencies ω of √(2/n) cos(ω·x + phase).
    phase : ndarray of shape (n_components,)
        Of the random Fourier features.
    gamma : float
        γ.
    """

    mean: NDArray[np.float64] | None
    scale: NDArray[np.float64]
    basis: str | None = None
    points: NDArray[np.float32] | None = None
    phase: NDArray[np.float32] | None = None
    gamma: float = 0.0

    @property
    def size(self) -> int:
        """The number of features φ has."""
        return len(self.scale) if self.points is None else len(self.points)

    def transform(self, X: Any, dtype: type[np.floating[Any]] = np.float64) -> Any:
        """Return φ of some rows: sparse if X is and there is no basis, else dense.

        A basis in float32 takes less than half the time of one in float64.

        Examples
        --------
        >>> import numpy as np
        >>> Features(np.array([1.0]), np.array([2.0])).transform(np.float32([[1], [3]]))
        array([[0.],
               [1.]])
        """
        X = self._standardise(X, dtype)
        if self.basis is None:
            return X
        assert self.points is not None
        if self.basis == "gaussian":
            return _bumps(X, self.points.astype(dtype), self.gamma)
        return self._sampler(dtype).transform(X)

    def _standardise(self, X: Any, dtype: type[np.floating[Any]]) -> Any:
        """Bring rows to one scale."""
        slope = (1 / self.scale).astype(dtype)
        if sparse.issparse(X):
            return sparse.csr_array((X.data * slope[X.indices], X.indices, X.indptr), X.shape)
        x = np.asarray(X, dtype)
        if self.mean is None:
            return x * slope
        centred = x - self.mean.astype(dtype)
        centred *= slope
        return centred

    def _sampler(self, dtype: type[np.floating[Any]]) -> RBFSampler:
        """Return scikit-learn's random Fourier features with our frequencies and phases."""
        assert self.points is not None
        assert self.phase is not None
        sampler = RBFSampler(gamma=self.gamma, n_components=self.size)
        sampler.n_features_in_ = len(self.scale)
        sampler.random_weights_ = self.points.T.astype(dtype)  # (d, n_components)
        sampler.random_offset_ = self.phase.astype(dtype)
        return sampler


def fit_features(
    X: Any,
    *,
    centre: bool = True,
    basis: str | None = None,
    candidates: NDArray[Any] | None = None,
    n_components: int = 100,
    gamma: float | None = None,
    rng: np.random.Generator,
) -> Features:
    """Return φ for some data.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The data that set the scale: mean 0 and variance 1 of every feature that is not constant.
        Sparse data are not centred.
    centre : bool
        Whether dense data are centred.
    basis : {"rff", "gaussian"} or None
        None: the features themselves. "gaussian": bumps around rows of X. "rff": random Fourier
        features of the same kernel (Rahimi and Recht, 2007).
    candidates : ndarray, optional
        Indices of the rows that can be centres; all by default.
    n_components : int
        The number of basis functions (fewer if there are fewer candidates).
    gamma : float or None
        γ of exp(−γ‖x − x′‖²) between rows at one scale; None means 1/d.
    rng : Generator
        Draws centres or frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(5, 3, (50, 2))
    >>> features = fit_features(X, basis="gaussian", n_components=4, rng=np.random.default_rng(0))
    >>> features.transform(X).shape
    (50, 4)
    """
    mean, scale = _mean_and_scale(X)
    plain = Features(mean if centre and not sparse.issparse(X) else None, scale)
    if basis is None:
        return plain
    d = X.shape[1]
    gamma = 1 / d if gamma is None else gamma
    phase = None
    if basis == "gaussian":
        among = np.arange(X.shape[0]) if candidates is None else candidates
        drawn = rng.choice(among, min(n_components, len(among)), replace=False)
        rows = plain.transform(X[drawn])
        points = rows.toarray() if sparse.issparse(rows) else rows
    else:
        points = rng.normal(0, np.sqrt(2 * gamma), (n_components, d))
        phase = rng.uniform(0, 2 * np.pi, n_components).astype(np.float32)
    return Features(plain.mean, scale, basis, points.astype(np.float32), phase, float(gamma))


def _bumps(x: Any, centres: NDArray[Any], gamma: float) -> NDArray[Any]:
    """Return exp(2γ x·c − γ‖x‖² − γ‖c‖²): one product of longer rows, the rest in place."""
    if sparse.issparse(x):
        squares = x.multiply(x).sum(axis=1)[:, None]
        rows = sparse.hstack([x, squares, np.ones_like(squares)], format="csr")
    else:
        squares = np.einsum("ij,ij->i", x, x)
        rows = np.column_stack([x, squares, np.ones_like(squares)])
    of_centres = -gamma * np.einsum("ij,ij->i", centres, centres)
    columns = np.column_stack([2 * gamma * centres, np.full_like(of_centres, -gamma), of_centres])
    out = np.asarray(rows @ columns.T)
    np.minimum(out, 0, out=out)  # rounding
    np.exp(out, out=out)
    return out


def _mean_and_scale(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of every feature, in float64; constants have the scale 1."""
    n, d = X.shape
    if sparse.issparse(X):
        total, squares = np.zeros(d), np.zeros(d)
        for _, block in row_blocks(X, 1):
            total += np.bincount(block.indices, block.data, minlength=d)
            squares += np.bincount(block.indices, block.data.astype(np.float64) ** 2, minlength=d)
        mean = total / n
        variance = np.maximum(squares / n - mean**2, 0)
    else:
        shift = X[:1_000].mean(axis=0, dtype=np.float64)  # near the mean: no cancellation
        total, squares = np.zeros(d), np.zeros(d)
        for _, block in row_blocks(X, 4 * d):  # small: four passes over each
            shifted = block - shift  # in float64
            total += column_sums(shifted)
            squares += column_sums(np.square(shifted, out=shifted))
        mean = shift + total / n
        variance = np.maximum(squares / n - (total / n) ** 2, 0)
    scale = np.sqrt(variance)
    constant = scale <= 1e-6 * np.abs(mean)  # float32 holds seven digits
    return mean, np.where(constant, 1.0, scale)
