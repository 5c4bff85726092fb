"""Tables of scored rows for pictures and pages: at many thresholds, and in bins of the score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.metrics.estimates import FORMULAS, of_shares, pu_precision, pu_sample, with_errors
from nnpu.metrics.intervals import interval
from nnpu.parameters import check_prior, check_sampling
from nnpu.ranges import Z90

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from nnpu.metrics.estimates import ScoredSample

__all__ = [
    "possible_prior",
    "reliability_table",
    "score_table",
    "threshold_grid",
    "threshold_table",
]

_COLUMNS = {"precision": "pu_precision", "recall": "pu_recall", "f1": "pu_f1"}
_TAIL = 0.005  # of the rows at each end: the outermost bins hold what lies beyond, too


def threshold_table(
    s: Any, scores: Any, thresholds: ArrayLike, *, prior: float, sampling: str = "two-sample"
) -> list[dict[str, float]]:
    """Return precision, recall, F1 and the number of flagged rows at each threshold.

    The values are those of `pu_precision`, `pu_recall`, `pu_f1` and `interval` for the
    predictions ``scores > threshold``; the scores are sorted once instead of compared each time.

    Parameters
    ----------
    s : array-like of shape (n,)
        PU labels.
    scores : array-like of shape (n,)
        Scores of rows that the model was not fitted to.
    thresholds : array-like of shape (m,)
        A row is flagged if its score is greater.
    prior, sampling
        As in the metrics.

    Returns
    -------
    list of dict
        A row per threshold: ``threshold``; ``flagged``, the number of rows of the population
        (U, or all rows of the one sample) that are flagged; ``precision``, ``recall``, ``f1``; and
        for the last four a 90 % range, ``…_low`` and ``…_high``. That of ``flagged`` is for
        the number to be expected in a sample of this size.

    Examples
    --------
    >>> s, scores = [1, 1, 0, 0, 0, 0], [3.0, 1.0, 2.0, 0.0, -1.0, -2.0]
    >>> for row in threshold_table(s, scores, [0.5, 1.5], prior=0.25):
    ...     print(row["threshold"], row["flagged"], row["precision"], row["recall"])
    0.5 1 1.0 1.0
    1.5 1 0.5 0.5
    """
    sample = pu_sample(s, scores, prior, sampling, None, "threshold_table", binary=False)
    cuts = np.asarray(thresholds, dtype=np.float64)
    above_p, above_q = _above(sample.values_p, cuts), _above(sample.values_q, cuts)
    return [_row(*found, sample) for found in zip(cuts, above_p, above_q, strict=True)]


def _above(scores: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.int64]:
    return scores.size - np.searchsorted(np.sort(scores), cuts, side="right")


def _row(cut: float, above_p: int, above_q: int, sample: ScoredSample) -> dict[str, float]:
    n_p, n_q = sample.values_p.size, sample.values_q.size
    found = with_errors(above_p / n_p, above_q / n_q, sample)
    margin = Z90 * math.sqrt(found.variance_q) * n_q
    row = {
        "threshold": float(cut),
        "flagged": int(above_q),
        "flagged_low": max(above_q - margin, 0.0),
        "flagged_high": min(above_q + margin, float(n_q)),
    }
    for column, name in _COLUMNS.items():
        value, variance = of_shares(found, sample.prior, FORMULAS[name])
        margin = Z90 * math.sqrt(variance)
        row |= {column: value, f"{column}_low": value - margin, f"{column}_high": value + margin}
    return row


def threshold_grid(s: Any, scores: Any, *, also: float, steps: int = 100) -> NDArray[np.float64]:
    """Return thresholds that move in even steps through P, and in even steps through all rows.

    Quantiles of both, so there is a choice where the positives are, however few they are;
    rounded to four digits, so a person can write down the one that was chosen.

    Parameters
    ----------
    s : array-like of shape (n,)
        PU labels.
    scores : array-like of shape (n,)
        Their scores.
    also : float
        A threshold that must be among them: the model's own.
    steps : int
        How many others there are at the most.

    Returns
    -------
    ndarray of shape (m,)
        In increasing order, without repetition.

    Examples
    --------
    >>> threshold_grid([1, 1, 0, 0], [3.0, 1.0, 2.0, 0.0], also=0.5, steps=4).tolist()
    [0.0, 0.5, 1.0]
    """
    values = np.asarray(scores, dtype=np.float64)
    levels = np.arange(steps // 2) / (steps // 2)
    parts = [
        np.quantile(part, levels, method="lower") for part in (values, values[np.asarray(s) == 1])
    ]
    rounded = [float(f"{value:.4g}") for value in np.concatenate(parts)]
    return np.unique([*rounded, float(also)])


def possible_prior(prior: float, s: Any, *, sampling: str = "two-sample") -> float:
    """Return the prior, moved to the nearest one that these rows can have.

    At least one row of the population is negative, and in the one-sample setting at least one
    positive is hidden among the rows without a label.

    Parameters
    ----------
    prior : float
        Any positive number: a prior times 1.2, say.
    s : array-like of shape (n,)
        PU labels.
    sampling : {"two-sample", "one-sample"}
        How the data came about.

    Examples
    --------
    >>> s = [1] * 3 + [0] * 7
    >>> possible_prior(0.2, s, sampling="one-sample"), possible_prior(1.1, s, sampling="one-sample")
    (0.4, 0.9)
    >>> possible_prior(0.2, s)
    0.2
    """
    labels = np.asarray(s)
    one_sample = check_sampling(sampling, "possible_prior") == "one-sample"
    n = labels.size if one_sample else int(np.sum(labels == 0))
    least = (int(np.sum(labels == 1)) + 1) / n if one_sample else 0.0
    return check_prior(min(max(float(prior), least), (n - 1) / n), "possible_prior")


def score_table(
    s: Any, scores: Any, *, prior: float, sampling: str = "two-sample", bins: int | None = None
) -> list[dict[str, float]]:
    """Count the scores of P and U in bins, and split U into positives and negatives.

    The positives of U are spread as those of P: with π_U the share of positives in U, a bin that
    holds a share p of P holds about π_U n_u p of them, and what is left of U is negative. π_U is
    the prior in the two-sample setting and (π n − n_p) / n_u in the one-sample setting.

    Parameters
    ----------
    s, scores : array-like of shape (n,)
        PU labels and scores of rows that the model was not fitted to.
    prior, sampling
        As in the metrics.
    bins : int, optional
        Of equal width, between the outermost halves of a per cent. Default: √n_p, but 10 to 40.

    Returns
    -------
    list of dict
        A row per bin: ``low`` and ``high``; ``labelled`` and ``unlabelled``, the rows in it;
        ``positives`` and ``negatives``, the estimated parts of ``unlabelled``. By chance, or
        because of a wrong prior, the last can be negative.

    Examples
    --------
    >>> s, scores = [1, 1, 0, 0, 0, 0], [3.0, 1.5, 3.0, 1.5, 1.5, 0.0]
    >>> for row in score_table(s, scores, prior=0.5, bins=3):
    ...     print(row["labelled"], row["unlabelled"], row["positives"], row["negatives"])
    0 1 0.0 1.0
    1 2 1.0 1.0
    1 1 1.0 0.0
    """
    sample = pu_sample(s, scores, prior, sampling, None, "score_table", binary=False)
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(s)
    of_p, of_u = values[labels == 1], values[labels == 0]
    bins = bins or int(np.clip(np.sqrt(of_p.size), 10, 40))
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    share = sample.prior
    if sample.sampling == "one-sample":
        share = (sample.prior * labels.size - of_p.size) / of_u.size
    in_p, in_u = (
        np.histogram(np.clip(part, edges[0], edges[-1]), edges)[0] for part in (of_p, of_u)
    )
    positives = share * of_u.size * in_p / of_p.size
    return [
        {
            "low": float(edges[bin]),
            "high": float(edges[bin + 1]),
            "labelled": int(in_p[bin]),
            "unlabelled": int(in_u[bin]),
            "positives": float(positives[bin]),
            "negatives": float(in_u[bin] - positives[bin]),
        }
        for bin in range(bins)
    ]


def reliability_table(
    s: Any, probabilities: Any, *, prior: float, sampling: str = "two-sample", bins: int = 10
) -> list[dict[str, float]]:
    """Compare predicted probabilities with the share of positives that P and U show.

    The share of positives in a bin is the precision of the prediction "in this bin":
    `pu_precision`, with its `interval`.

    Parameters
    ----------
    s, probabilities : array-like of shape (n,)
        PU labels, and P(y = +1 | x) of rows that the model was not fitted to.
    prior, sampling
        As in the metrics.
    bins : int
        Each holds about as many rows of the population as any other.

    Returns
    -------
    list of dict
        A row per bin: ``rows`` of the population in it, ``probability``, their mean, and
        ``share`` with its 90 % range, ``share_low`` and ``share_high``.

    Examples
    --------
    >>> s = [1, 1, 1, 1] + [0] * 8
    >>> probabilities = [0.1, 0.9, 0.9, 0.9] + [0.1] * 5 + [0.9] * 3
    >>> for row in reliability_table(s, probabilities, prior=0.5, bins=2):
    ...     print(row["rows"], round(row["probability"], 2), round(row["share"], 2))
    5 0.1 0.2
    3 0.9 1.0
    """
    sample = pu_sample(s, probabilities, prior, sampling, None, "reliability_table", binary=False)
    values = np.asarray(probabilities, dtype=np.float64)
    inner = np.unique(np.quantile(sample.values_q, np.arange(1, bins) / bins))
    bin_of, bin_of_q = (np.searchsorted(inner, part) for part in (values, sample.values_q))
    rows = []
    for number in np.unique(bin_of_q):
        inside = (bin_of == number).astype(int)
        low, high = interval("pu_precision", s, inside, prior=prior, sampling=sampling)
        rows.append(
            {
                "rows": int(np.sum(bin_of_q == number)),
                "probability": float(sample.values_q[bin_of_q == number].mean()),
                "share": pu_precision(s, inside, prior=prior, sampling=sampling),
                "share_low": low,
                "share_high": high,
            }
        )
    return rows
