"""What may be believed of an estimate, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import mannwhitneyu

from nnpu.prior.curve import Z90, auc, find_plateau, ratio_at

if TYPE_CHECKING:
    from nnpu.parameters import Sampling
    from nnpu.prior.curve import FloatArray

__all__ = ["MOST", "WIDEST", "Evidence", "doubt", "message"]

#: An interval wider than this says too little to call the prior identified.
WIDEST = 0.25

#: So does one whose ends, as shares of the unlabelled rows, differ by more than this factor.
MOST = 3.0

#: A greater AUC of P against U, or fewer positives in U, is a leak or no answer.
APART, FEWEST = 0.99, 10

_KNOW = (
    "A prior that you know, or a review of some unlabelled rows, is worth more than this estimate."
)


@dataclass(frozen=True)
class Evidence:
    """Scores and an estimate made from them, as shares of positives in U."""

    scores_p: FloatArray
    scores_u: FloatArray
    method: str
    share: float
    low: float
    high: float
    bound: tuple[float, float]  # the interval of the upper bound


def doubt(found: Evidence) -> str:
    """Return why the estimate may be wrong by more than its interval says, or nothing."""
    p_value = mannwhitneyu(found.scores_p, found.scores_u, alternative="greater").pvalue
    if not p_value < 0.001:  # NaN if all scores are equal
        return "The scores do not tell P from U: the prior may be anything up to 1."
    if auc(found.scores_p, found.scores_u) > APART or found.share * found.scores_u.size < FEWEST:
        return (
            "Hardly any unlabelled row looks like a labelled one: U has next to no positives, or a "
            "column gives the label away (an id, a date, a note written when the label was given). "
            "Remove such a column and estimate again."
        )
    contradicted = found.method == "auto" and not found.low <= found.share <= found.high
    if contradicted or _thins_out(found.scores_p, found.scores_u, found.low):
        return (
            "Among the rows that look most like labelled ones, fewer are unlabelled than this "
            "share allows: a column may give the label away, or labels were not given at random "
            "among the positives."
        )
    if found.method == "auto":
        return ""
    if not find_plateau(found.scores_p, found.scores_u).flat:
        return (
            "The share of U relative to P still falls at the top scores: there is no plateau of "
            "pure positives, and the prior may be much lower."
        )
    if not found.bound[0] <= found.share <= found.bound[1]:
        return "It contradicts the ratio q_u / q_p at the top scores: see method='bbe'."
    return ""


def _thins_out(scores_p: FloatArray, scores_u: FloatArray, low: float) -> bool:
    """Whether the ratio q_u / q_p at the top of P is below the whole interval beyond chance.

    It is at least π at any threshold if labels are given at random.
    """
    for top in (0.05, 0.1, 0.2, 0.4):
        ratio = ratio_at(float(np.quantile(scores_p, 1 - top)), scores_p, scores_u)
        if ratio.limits(2 * Z90)[1] < low:
            return True
    return False


def message(
    method: str,
    sampling: Sampling,
    *,
    value: float,
    low: float,
    high: float,
    upper_bound: float,
    apart: bool,
    doubts: str,
) -> str:
    """Return the estimate, what was assumed and what would change the answer."""
    where = "U" if sampling == "two-sample" else "P and U together"
    found = f"Share of positives in {where}: {value:.3f} (90 % interval {low:.3f} to {high:.3f})."
    if doubts:
        found += f" Not identified. {doubts}"
    if method != "auto":
        return (
            f"{found} It is an upper bound: the share if no negative looked like a positive, which "
            f"such data cannot show. {_KNOW}"
        )
    few = "" if sampling == "two-sample" else ", rather to few of them than to most"
    return (
        f"{found} Assumed: labels were given at random among the positives{few}, and the scores of "
        "the negatives are spread like a bell next to those of the positives, which they "
        f"{'hardly overlap, as in text and images' if apart else 'may overlap'}. "
        f"If no negative looked like a positive, the share would be {upper_bound:.3f}, which is an "
        "upper bound. If clear cases were labelled more often than others, the true share is "
        f"larger than estimated. {_KNOW}"
    )
