"""Labels given at random, or with odds that rise with a score or a column, on real tables.

`sample` draws rows of one of the tables of `benchmarks/tables.py` with a given share of positives
and labels some of the positives: each with the chance 1 / (1 + exp(−a − b z)), where z is 0
("random"), the log-odds of the class by trees that were fitted to the true labels, out of fold
("score"), or one or two columns drawn at random, up or down ("column", "columns"), brought to mean
0 and standard deviation 1 over the rows; a makes the expected number of labels the one asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import tables
from scipy.optimize import brentq
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Sample", "oracle_scores", "sample"]

MOST_ROWS = 40_000  # of a table
VALUES = 5  # a column that drives labels has at least so many
STRENGTH = 2.0  # b: odds rise by e² over one standard deviation


@dataclass(frozen=True)
class Sample:
    """Rows to learn from with their true classes, PU labels and chances of a label; test rows."""

    x: NDArray[np.float64]
    y: NDArray[np.bool_]
    s: NDArray[np.bool_]
    chance: NDArray[np.float64]  # P(labelled | y = +1, x)
    columns: list[int]  # what drives the labels; empty for "random" and "score"
    x_test: NDArray[np.float64]
    y_test: NDArray[np.bool_]

    @property
    def prior(self) -> float:
        return float(self.y.mean())


@cache
def _rows(name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """At most `MOST_ROWS` rows of a table, the same at each call."""
    table = tables.load(name)
    rows = np.random.default_rng(0).permutation(table.y.size)[:MOST_ROWS]
    return table.x[rows], table.y[rows]


@cache
def oracle_scores(name: str) -> NDArray[np.float64]:
    """Log-odds of the class, out of fold, from true labels, standardised."""
    from lightgbm import LGBMClassifier
    from sklearn.model_selection import cross_val_predict

    x, y = _rows(name)
    model = LGBMClassifier(n_estimators=100, num_leaves=15, verbose=-1, n_jobs=1)
    p = cross_val_predict(model, x, y, cv=3, method="predict_proba")[:, 1].clip(1e-4, 1 - 1e-4)
    z = np.log(p / (1 - p))
    return (z - z.mean()) / z.std()


def _direction(
    name: str, labelling: str, rng: np.random.Generator
) -> tuple[NDArray[np.float64], list[int]]:
    """z of every row, and the columns that it is made of."""
    x, _ = _rows(name)
    if labelling == "random":
        return np.zeros(len(x)), []
    if labelling == "score":
        return oracle_scores(name), []
    rich = [i for i, column in enumerate(x.T) if np.unique(column).size >= VALUES]
    size = 1 if labelling == "column" else 2
    columns = [int(i) for i in rng.choice(rich, size, replace=False)]
    part = x[:, columns]
    part = np.where(np.isnan(part), np.nanmedian(part, axis=0), part)
    signs = rng.choice([-1.0, 1.0], size)
    z = ((part - part.mean(axis=0)) / part.std(axis=0)) @ signs
    return z / z.std(), columns


def sample(
    name: str,
    labelling: str,
    *,
    n: int,
    prior: float | None,
    n_labelled: int,
    seed: int,
    strength: float = STRENGTH,
    n_test: int = 5_000,
) -> Sample:
    """Draw rows, with positives in the share `prior` (None: the table's), and label some."""
    x, y = _rows(name)
    rng = np.random.default_rng(seed)
    z, columns = _direction(name, labelling, np.random.default_rng([seed, 1]))
    share = float(y.mean()) if prior is None else prior
    positives, negatives = (rng.permutation(np.flatnonzero(of)) for of in (y, ~y))
    wanted = n + n_test
    scale = min(1.0, positives.size / (share * wanted), negatives.size / ((1 - share) * wanted))
    n, n_test = int(n * scale), int(n_test * scale)
    k, k_test = round(share * n), round(share * n_test)
    rows = np.concatenate([positives[:k], negatives[: n - k]])
    test = np.concatenate([positives[k : k + k_test], negatives[n - k : n - k + n_test - k_test]])

    def expected(a: float) -> float:
        return float(expit(a + strength * z[rows[:k]]).sum()) - n_labelled

    a = brentq(expected, -50, 50)
    chance = expit(a + strength * z[rows])
    s = y[rows] & (rng.random(n) < chance)
    order = rng.permutation(n)
    rows, s, chance = rows[order], s[order], chance[order]
    return Sample(x[rows], y[rows], s, chance, columns, x[test], y[test])
