"""Rows of figures from draws: what was simulated beside what Section 4 says of it.

R_n⁻(g) itself serves as α, the greatest there is; `bound` is C_ℓ on the population's scores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nnpu import theory
from nnpu.losses import LOSSES

if TYPE_CHECKING:
    from nnpu.paper.montecarlo import Draws
    from nnpu.paper.results import Row

__all__ = ["DELTAS", "bias_row", "deviation_rows", "lemma_1_row", "mse_row"]

#: The levels at which deviations are counted.
DELTAS = (0.05, 0.5)


def lemma_1_row(draws: Draws, bound: float) -> Row:
    """Count r < 0 and put Lemma 1 beside it."""
    setting = (draws.risks.n_minus, draws.prior, draws.n_p, draws.n_u, bound)
    count = int((draws.r < 0).sum())
    return _key(draws) | {
        "count": count,
        "frequency": count / len(draws.r),
        "bound": float(theory.negative_part_probability_bound(*setting)),
        "printed": float(theory.negative_part_probability_bound(*setting, form="printed")),
    }


def bias_row(draws: Draws, bound: float) -> Row:
    """Average max{0, −r}, the bias without the noise of R̂_pu, beside Theorem 2."""
    setting = (draws.risks.n_minus, draws.prior, draws.n_p, draws.n_u, bound)
    error = draws.upu - draws.risk
    return _key(draws) | {
        "count": int((draws.r < 0).sum()),
        "bias": float(draws.gap.mean()),
        "bias_error": _standard_error(draws.gap),
        "bound": float(theory.bias_bound(*setting)),
        "moment": float(theory.bias_bound(*setting, form="moment")),
        "printed": float(theory.bias_bound(*setting, form="printed")),
        "upu_error": float(error.mean()),
        "upu_error_error": _standard_error(error),
        "rmse": float(np.sqrt(((draws.nnpu - draws.risk) ** 2).mean())),
    }


def deviation_rows(draws: Draws, bound: float) -> list[Row]:
    """Count |R̃_pu − R| beyond each width of Theorem 2, and bound each count's probability."""
    prior, n_p, n_u, alpha = draws.prior, draws.n_p, draws.n_u, draws.risks.n_minus
    setting = (prior, n_p, n_u, bound)
    error = np.abs(draws.nnpu - draws.risk)
    differs = theory.negative_part_probability_bound(alpha, *setting)
    rows = []
    for delta in DELTAS:
        narrow = float(theory.deviation_bound(delta, *setting))
        wide = float(theory.deviation_bound(delta, *setting, alpha=alpha))
        sharp = float(theory.deviation_bound(delta, *setting, sharp=True))
        row: Row = {
            "delta": delta,
            "quantile": float(np.quantile(error, 1 - delta)),
            "width_9": wide,
            "width_10": narrow,
            "width_sharp": sharp,
            "count_9": int((error > wide).sum()),
            "count_10": int((error > narrow).sum()),
            "count_sharp": int((error > sharp).sum()),
            "level_10": 1 - float(theory.deviation_confidence(delta, differs)),
            "level_free": 1 - float(theory.deviation_confidence(delta)),
        }
        rows.append(_key(draws) | row)
    return rows


def mse_row(draws: Draws, bound: float, infimum: float) -> Row:
    """Compare the mean squared errors of R̂_pu and R̃_pu with each other and with Theorem 3."""
    prior, risks = draws.prior, draws.risks
    # A threshold at which many gaps lie: about the standard deviation of r.
    beta = bound * min(prior, math.sqrt(prior**2 / draws.n_p + 1 / draws.n_u) / 4)
    integrand = np.asarray(theory.mse_reduction_integrand(draws.upu, draws.r, draws.risk))
    above = draws.gap > beta
    surplus = integrand - 3 * beta**2 * above  # its mean is not negative if Theorem 3 holds
    condition = (risks.p_minus, risks.n_minus, prior)
    return _key(draws) | {
        "symmetric": LOSSES[draws.loss].symmetric,
        "mse_upu": float(((draws.upu - draws.risk) ** 2).mean()),
        "mse_nnpu": float(((draws.nnpu - draws.risk) ** 2).mean()),
        "reduction": float(integrand.mean()),
        "reduction_error": _standard_error(integrand),
        "beta": beta,
        "bound": float(theory.mse_reduction_bound(beta, float(above.mean()), prior, bound)),
        "remainder": float(theory.mse_remainder(risks.n_minus, prior, draws.n_u, bound)),
        "surplus": float(surplus.mean()),
        "surplus_error": _standard_error(surplus),
        "condition": bool(theory.mse_condition(*condition, infimum=infimum)),
        "condition_printed": bool(
            theory.mse_condition(*condition, infimum=infimum, form="printed")
        ),
    }


def _key(draws: Draws) -> Row:
    return {
        "population": draws.population,
        "loss": draws.loss,
        "prior": draws.prior,
        "n_p": draws.n_p,
        "n_u": draws.n_u,
        "draws": len(draws.r),
        "risk_n_minus": draws.risks.n_minus,
    }


def _standard_error(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))
