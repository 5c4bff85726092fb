"""Scores and probabilities in bins, as tables: what P and U say about each bin."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnpu.metrics.estimates import pu_precision
from nnpu.metrics.intervals import interval
from nnpu.metrics.sample import pu_sample

__all__ = ["reliability_table", "score_table"]

_TAIL = 0.005  # of the rows at each end: the outermost bins hold what lies beyond, too


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
        ``share`` with its 90 % interval, ``share_low`` and ``share_high``.

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
