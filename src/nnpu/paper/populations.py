"""Populations of scores g(x) in which every risk is known: two Gaussians, or a discrete one.

For a fixed g only the distribution of g(x) in each class matters, so a population is given by its
scores. Both kinds draw many samples at once and return the means that the estimators are made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import torch

from nnpu.losses import get_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "DiscretePopulation",
    "GaussianPopulation",
    "Means",
    "Population",
    "Risks",
    "discretised_gaussian",
    "loss_values",
]

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

# Scores that are drawn at a time: a few tens of megabytes.
_CHUNK = 1 << 21


class Risks(NamedTuple):
    """Exact partial risks: R_p⁺, R_p⁻ and R_n⁻."""

    p_plus: float
    p_minus: float
    n_minus: float

    def total(self, prior: float) -> float:
        """R = π R_p⁺ + π_n R_n⁻.

        >>> Risks(0.2, 0.8, 0.4).total(0.5)
        0.30000000000000004
        """
        return prior * self.p_plus + (1 - prior) * self.n_minus


class Means(NamedTuple):
    """Mean losses of many samples, taken as positive and as negative: arrays of shape (draws,)."""

    plus: Array
    minus: Array


class Population(Protocol):
    """What a simulation needs of a population."""

    @property
    def name(self) -> str:
        """How tables call it."""

    def risks(self, loss: str) -> Risks:
        """Return the exact partial risks."""

    def sample(
        self, losses: Sequence[str], share: float, n: int, draws: int, rng: np.random.Generator
    ) -> dict[str, Means]:
        """Draw samples of size n with that share of positives; return their mean losses."""


def loss_values(loss: str, margins: NDArray[np.floating]) -> Array:
    """Evaluate a loss of Table 1 on an array of margins.

    >>> loss_values("ramp", np.array([0.0, 2.0]))
    array([0.5, 0. ])
    """
    values = get_loss(loss)(torch.from_numpy(margins))
    return values.numpy()


@dataclass(frozen=True)
class DiscretePopulation:
    """A finite set of scores with a probability each in either class.

    A sample is drawn as the multinomial counts of its scores, so that the cost of a draw does not
    grow with the size of the sample.

    Parameters
    ----------
    name : str
        How tables call it.
    scores, p, q : tuple of float
        The values of g(x), their probabilities given y = +1, and given y = −1.

    Examples
    --------
    >>> coin = DiscretePopulation("coin", (-1.0, 1.0), (0.5, 0.5), (0.5, 0.5))
    >>> coin.risks("zero_one")
    Risks(p_plus=0.5, p_minus=0.5, n_minus=0.5)
    """

    name: str
    scores: tuple[float, ...]
    p: tuple[float, ...]
    q: tuple[float, ...]

    def risks(self, loss: str) -> Risks:
        """Sum over the scores."""
        plus, minus = self._losses(loss)
        p, q = np.array(self.p), np.array(self.q)
        return Risks(float(p @ plus), float(p @ minus), float(q @ minus))

    def sample(
        self, losses: Sequence[str], share: float, n: int, draws: int, rng: np.random.Generator
    ) -> dict[str, Means]:
        """Draw counts and average the losses over them."""
        mixture = share * np.array(self.p) + (1 - share) * np.array(self.q)
        counts = rng.multinomial(n, mixture / mixture.sum(), size=draws)  # (draws, scores)
        return {loss: Means(*(counts @ np.stack(self._losses(loss)).T / n).T) for loss in losses}

    def _losses(self, loss: str) -> tuple[Array, Array]:
        scores = np.array(self.scores)
        return loss_values(loss, scores), loss_values(loss, -scores)


@dataclass(frozen=True)
class GaussianPopulation:
    """Scores that are normal in each class, as for a linear g and normal class-conditionals.

    Risks come from Gauss-Legendre quadrature between the kinks of the losses; samples are drawn
    row by row.

    Parameters
    ----------
    name : str
        How tables call it.
    mean_p, mean_n : float
        Means of g(x) given y = +1 and y = −1.
    scale : float
        Standard deviation of g(x) in either class.

    Examples
    --------
    >>> g = GaussianPopulation("gaussian", 1.0, -1.0, 1.0)
    >>> round(g.risks("zero_one").n_minus, 6)  # Φ(−1)
    0.158655
    """

    name: str
    mean_p: float
    mean_n: float
    scale: float

    def risks(self, loss: str) -> Risks:
        """Integrate over the scores."""
        return Risks(
            self._expect(loss, self.mean_p, 1),
            self._expect(loss, self.mean_p, -1),
            self._expect(loss, self.mean_n, -1),
        )

    def sample(
        self, losses: Sequence[str], share: float, n: int, draws: int, rng: np.random.Generator
    ) -> dict[str, Means]:
        """Draw rows, a chunk of samples at a time."""
        result = {loss: Means(np.empty(draws), np.empty(draws)) for loss in losses}
        step = max(1, _CHUNK // n)
        for start in range(0, draws, step):
            part = slice(start, min(start + step, draws))
            scores = self._scores(share, n, part.stop - part.start, rng)
            for loss, means in result.items():
                means.plus[part] = loss_values(loss, scores).mean(axis=1, dtype=np.float64)
                means.minus[part] = loss_values(loss, -scores).mean(axis=1, dtype=np.float64)
        return result

    def _scores(
        self, share: float, n: int, draws: int, rng: np.random.Generator
    ) -> NDArray[np.float32]:
        scores = rng.standard_normal((draws, n), dtype=np.float32)
        scores *= np.float32(self.scale)
        # The order within a sample does not matter, so the positives come first.
        positives = rng.binomial(n, share, size=draws)
        scores += np.where(
            np.arange(n) < positives[:, None], np.float32(self.mean_p), np.float32(self.mean_n)
        )
        return scores

    def _expect(self, loss: str, mean: float, y: int) -> float:
        low, high = mean - 12 * self.scale, mean + 12 * self.scale
        kinks = [kink for kink in (-1.0, 0.0, 1.0) if low < kink < high]
        edges = np.array([low, *kinks, high])
        nodes, weights = np.polynomial.legendre.leggauss(200)
        half = np.diff(edges)[:, None] / 2
        t = edges[:-1, None] + half * (nodes + 1)  # (pieces, nodes)
        density = np.exp(-(((t - mean) / self.scale) ** 2) / 2) / (self.scale * np.sqrt(2 * np.pi))
        return float((half * weights * density * loss_values(loss, y * t)).sum())


def discretised_gaussian(
    name: str, mean_p: float, mean_n: float, scale: float, *, clip: float, atoms: int = 41
) -> DiscretePopulation:
    """Round Gaussian scores to a grid on [−clip, clip]: a discrete population in its own right.

    Its risks are sums, not approximations, and a sample of any size costs the same to draw.

    Parameters
    ----------
    name, mean_p, mean_n, scale
        As in `GaussianPopulation`.
    clip : float
        Scores beyond are moved there, so that |g| ≤ clip.
    atoms : int, default=41
        Points of the grid.

    Examples
    --------
    >>> population = discretised_gaussian("rounded", 1.0, -1.0, 1.0, clip=4.0)
    >>> round(population.risks("zero_one").n_minus, 2)  # Φ(−1) is 0.1587
    0.16
    """
    from scipy.special import ndtr

    scores = np.linspace(-clip, clip, atoms)
    cuts = np.concatenate([[-np.inf], (scores[:-1] + scores[1:]) / 2, [np.inf]])
    p, q = (np.diff(ndtr((cuts - mean) / scale)) for mean in (mean_p, mean_n))
    return DiscretePopulation(name, tuple(scores.tolist()), tuple(p.tolist()), tuple(q.tolist()))
