"""The share of positives where classes overlap: U as a mixture of P and of a bell-shaped rest.

P's own quantiles cut the scores into cells with equal shares of P. What U holds in each cell says
how its negatives lie relative to the positives, if their law has one of two shapes, each with a
few parameters:

- binormal, the assumption of ROC analysis: on the scale on which P is standard normal, negatives
  are normal with mean −distance and a spread near 1;
- beta: P(y = +1 | score) follows a beta law in U, with mean π; positives then follow the beta law
  with one success more.

No part of the negatives needs to be separate from the positives. The posterior over π averages
both shapes and all their parameters. Its constants were measured on real data (docs/lab/prior.md).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, ndtr, ndtri

if TYPE_CHECKING:
    from nnpu.prior.curve import FloatArray

__all__ = ["CLOSE", "FAR", "Posterior", "Separation", "mixture_posterior"]

#: Real scores follow neither shape exactly: no sample says more than this many rows would.
MODEL_ROWS = 200

#: Rows of P in a cell, and the least and the greatest number of cells.
ROWS_PER_CELL, FEWEST_CELLS, MOST_CELLS = 10, 10, 30

#: The spread of the negatives: median, and standard deviation on the logarithmic scale.
SPREAD = (1.0, 0.15)

_SHARES = np.sin(np.pi / 2 * (np.arange(120) + 0.5) / 120) ** 2  # finer towards 0 and 1


class Separation(NamedTuple):
    """How far classes lie apart before the rows are seen, in the same terms as the spread."""

    distance: tuple[float, float]
    concentration: tuple[float, float]


#: Of tables, and of text and images, whose classes seldom overlap.
CLOSE, FAR = Separation((0.5, 1.5), (2.0, 1.1)), Separation((2.5, 0.7), (0.7, 0.7))


class Posterior(NamedTuple):
    """What the counts say about the share of positives in U: weights of a grid of shares."""

    shares: FloatArray
    weights: FloatArray

    @property
    def mean(self) -> float:
        """The mean share."""
        return float(self.shares @ self.weights)

    def quantile(self, level: float) -> float:
        """Return the share that has `level` of the weight below it."""
        cumulated = np.cumsum(self.weights) - self.weights / 2
        return float(np.interp(level, cumulated, self.shares))


def mixture_posterior(
    scores_p: FloatArray,
    scores_u: FloatArray,
    labelled: float | None = None,
    separation: Separation = CLOSE,
) -> Posterior:
    """Return the posterior over the share of positives in U.

    What is assumed before the rows are seen: if P and U are one sample, the share of the positives
    that got a label follows the beta law with parameters 1 and 1.6: that few of them got one is
    likelier than that most did. If P was collected separately, the share of positives follows the
    one with 0.5 and 0.7.

    Parameters
    ----------
    scores_p, scores_u : ndarray of shape (n_p,), (n_u,)
        Scores of rows that the model was not fitted to.
    labelled : float, optional
        The labelled share of the rows, if P and U are one sample.
    separation : Separation, optional
        How far the classes are expected to lie apart.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores_u = np.concatenate([rng.normal(1.5, 1, 1200), rng.normal(0, 1, 2800)])
    >>> posterior = mixture_posterior(rng.normal(1.5, 1, 1000), scores_u)
    >>> bool(posterior.quantile(0.05) < 0.3 < posterior.quantile(0.95))
    True
    """
    share_p, share_u = _cells(scores_p, scores_u)
    rows = 1 / (1 / scores_p.size + 1 / scores_u.size + 1 / MODEL_ROWS)
    edges = np.cumsum(share_p)[:-1]
    binormal, beta = (
        np.logaddexp.reduce(rows * (np.log(np.maximum(cells, 1e-12)) @ share_u) + log_prior, axis=1)
        for cells, log_prior in (_binormal(share_p, edges, separation), _beta(edges, separation))
    )
    log_weights = np.logaddexp(binormal, beta) + _log_before(labelled)
    weights = np.exp(log_weights - log_weights.max())
    return Posterior(_SHARES, weights / weights.sum())


def _log_before(labelled: float | None) -> FloatArray:
    """Return the log prior of the grid, whose points have the beta law with ½ and ½."""
    if labelled is None:
        apart: FloatArray = 0.2 * np.log(1 - _SHARES)
        return apart
    population = labelled + (1 - labelled) * _SHARES
    # The density of labelled / population, times its slope, over the density of the grid.
    log: FloatArray = (
        0.6 * np.log(1 - labelled / population)
        - 2 * np.log(population)
        + np.log(_SHARES * (1 - _SHARES)) / 2
    )
    return log


def _cells(scores_p: FloatArray, scores_u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the shares of P and U between quantiles of P; half a row is spread over the cells."""
    n = int(np.clip(scores_p.size // ROWS_PER_CELL, FEWEST_CELLS, MOST_CELLS))
    inner = np.unique(np.quantile(scores_p, np.arange(1, n) / n))
    counts_p, counts_u = (
        np.bincount(np.searchsorted(inner, x, side="right"), minlength=inner.size + 1).astype(float)
        for x in (scores_p, scores_u)
    )
    share_p = (counts_p + 0.5 / counts_p.size) / (scores_p.size + 0.5)
    return share_p, (counts_u + 0.5 * share_p) / (scores_u.size + 0.5)


def _binormal(
    share_p: FloatArray, edges: FloatArray, separation: Separation
) -> tuple[FloatArray, FloatArray]:
    """Return U's cell shares, of shape (shares, parameters, cells), and the parameters' log prior.

    A mixture with weight π of P's own cells and 1 − π of those of a normal law.
    """
    distance, spread, log_prior = _normal_grid(separation)
    below = ndtr((ndtri(edges) + distance[:, None]) / spread[:, None])
    negative = np.diff(below, axis=1, prepend=0, append=1)
    share = _SHARES[:, None, None]
    return share * share_p + (1 - share) * negative, log_prior


@cache
def _normal_grid(separation: Separation) -> tuple[FloatArray, FloatArray, FloatArray]:
    distances, spreads = np.geomspace(0.1, 6, 29), np.geomspace(0.5, 2, 13)
    distance, spread = (grid.ravel() for grid in np.meshgrid(distances, spreads, indexing="ij"))
    log_prior = _log_law(distance, *separation.distance) + _log_law(spread, *SPREAD)
    return distance, spread, log_prior - np.logaddexp.reduce(log_prior)


def _beta(edges: FloatArray, separation: Separation) -> tuple[FloatArray, FloatArray]:
    """Return the same for posteriors that follow a beta law in U."""
    concentration = np.geomspace(0.15, 40, 20)
    a = (_SHARES[:, None] * concentration)[:, :, None]
    b = ((1 - _SHARES)[:, None] * concentration)[:, :, None]
    below = betainc(a, b, betaincinv(a + 1, b, edges))
    log_prior = _log_law(concentration, *separation.concentration)
    return np.diff(below, axis=2, prepend=0, append=1), log_prior - np.logaddexp.reduce(log_prior)


def _log_law(values: FloatArray, median: float, spread: float) -> FloatArray:
    """Return a log-normal law on a geometric grid: its logarithm, up to a constant."""
    law: FloatArray = -0.5 * (np.log(values / median) / spread) ** 2
    return law
