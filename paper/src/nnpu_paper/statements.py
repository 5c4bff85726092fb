"""Claims from rows: each statement of Section 4 beside the simulation, held or not held.

A figure contradicts a bound only beyond what chance explains.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu_paper.claims import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Rows = Sequence[Mapping[str, Any]]

__all__ = ["fitted_slope", "frequency_contradicts", "judge", "mean_contradicts"]


def fitted_slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of the least-squares line through the points.

    >>> round(fitted_slope([0.0, 1.0, 2.0], [1.0, 3.0, 5.0]), 6)
    2.0
    """
    return float(np.polyfit(np.asarray(x), np.asarray(y), 1)[0])


#: The chance that a whole claim is rejected by accident; shared out among its comparisons.
LEVEL = 1e-3

_DEPARTURE = "docs/departures.md"


def judge(tables: Mapping[str, Rows]) -> list[Claim]:
    """Return one claim per statement, from the tables of `nnpu_paper.simulations.run`."""
    return [
        *_lemma_1(tables["lemma1"]),
        *_bias(tables["theorem2_bias"]),
        _decay(tables["theorem2_decay"]),
        *_deviation(tables["theorem2_deviation"]),
        _rate(tables["theorem2_rate"]),
        *_mse(tables["theorem3"]),
        *_mse_cases(tables["theorem3_beta"], tables["theorem3_non_symmetric"]),
        *_function_class(tables["theorem4"]),
        _criterion(tables["section2"]),
    ]


def _frequencies(rows: Rows, count: str, bound: str) -> tuple[bool, str]:
    """Judge counts against bounds of their probabilities, row by row."""
    level = LEVEL / len(rows)
    wrong = [
        row for row in rows if frequency_contradicts(row[count], row["draws"], row[bound], level)
    ]
    return _verdict(
        rows,
        wrong,
        lambda row: (row[count] / row["draws"], row[bound]),
        lambda row: f"frequency {row[count] / row['draws']:.4g} against {row[bound]:.4g}",
    )


def _means(rows: Rows, mean: str, error: str, bound: str) -> tuple[bool, str]:
    """Judge means against upper bounds of their expectations, row by row."""
    level = LEVEL / len(rows)
    wrong = [row for row in rows if mean_contradicts(row[mean], row[error], row[bound], level)]
    return _verdict(
        rows,
        wrong,
        lambda row: (row[mean], row[bound]),
        lambda row: f"{row[mean]:.4g} against {row[bound]:.4g}",
    )


def _verdict(
    rows: Rows,
    wrong: Rows,
    pair: Callable[[Mapping[str, Any]], tuple[float, float]],
    say: Callable[[Mapping[str, Any]], str],
) -> tuple[bool, str]:
    """Say how many rows are wrong, and which is the worst, or else the nearest to being so."""

    def excess(row: Mapping[str, Any]) -> float:
        return pair(row)[0] - pair(row)[1]

    def ratio(row: Mapping[str, Any]) -> float:
        simulated, bound = pair(row)
        return simulated / bound if bound > 0 else math.copysign(0.0, simulated)

    closest = max(wrong, key=excess) if wrong else max(rows, key=ratio)
    draws = min(row["draws"] for row in rows)
    where = ", ".join(
        f"{name} {closest[name]}"
        for name in ("population", "loss", "prior", "n_p", "n_u")
        if name in closest
    )
    return not wrong, (
        f"{len(wrong)} of {len(rows)} points contradict it ({draws} draws each); "
        f"{'worst' if wrong else 'closest'}: {say(closest)} at {where}"
    )


def _lemma_1(rows: Rows) -> list[Claim]:
    held, figures = _frequencies(rows, "count", "bound")
    printed, printed_figures = _frequencies(rows, "count", "printed")
    return [
        Claim("Pr{r < 0} is at most Delta_g, with pi_n alpha.", "Lemma 1", held, figures),
        Claim(
            "Pr{r < 0} is at most Delta_g as printed, with alpha alone.",
            f"Eq. (7); {_DEPARTURE}",
            printed,
            printed_figures,
        ),
    ]


def _bias(rows: Rows) -> list[Claim]:
    signs = [row for row in rows if (row["bias"] > 0) != (row["count"] > 0) or row["bias"] < 0]
    level = LEVEL / len(rows) / 2
    shifted = [
        row
        for row in rows
        if mean_contradicts(abs(row["upu_error"]), row["upu_error_error"], 0.0, level)
    ]
    held, figures = _means(rows, "bias", "bias_error", "bound")
    moment, moment_figures = _means(rows, "bias", "bias_error", "moment")
    printed, printed_figures = _means(rows, "bias", "bias_error", "printed")
    largest = max(rows, key=lambda row: abs(row["upu_error"]) / (row["upu_error_error"] or 1))
    return [
        Claim(
            "The unbiased risk estimator is unbiased.",
            "Section 2",
            not shifted,
            f"{len(shifted)} of {len(rows)} points contradict it; largest deviation "
            f"{abs(largest['upu_error']) / (largest['upu_error_error'] or 1):.2f} standard errors",
        ),
        Claim(
            "The bias of R~_pu is positive exactly where r < 0 occurs, and never negative.",
            "Lemma 1 (A)-(C)",
            not signs,
            f"{len(signs)} of {len(rows)} points contradict it",
        ),
        Claim("The bias is at most C_l pi Delta_g, with pi_n alpha.", "Theorem 2", held, figures),
        Claim(
            "The bias is at most Scarf's moment bound, which needs no alpha.",
            _DEPARTURE,
            moment,
            moment_figures,
        ),
        Claim(
            "The bias is at most C_l pi Delta_g as printed, with alpha alone.",
            f"Eq. (8); {_DEPARTURE}",
            printed,
            printed_figures,
        ),
    ]


def _decay(rows: Rows) -> Claim:
    figures, held = [], True
    for prior in sorted({row["prior"] for row in rows}):
        part = [row for row in rows if row["prior"] == prior]
        slope = fitted_slope([row["size"] for row in part], [math.log(row["bias"]) for row in part])
        promised = -2 * ((1 - prior) * part[0]["risk_n_minus"]) ** 2
        held = held and slope <= promised and all(row["bias"] <= row["bound"] for row in part)
        figures.append(f"prior {prior}: slope {slope:.4f}, promised {promised:.4f}")
    return Claim(
        "The bias decays exponentially in 1/(pi^2/n_p + 1/n_u), no slower than the bound.",
        "Theorem 2",
        held,
        "exact, by enumeration; ln(bias) has " + "; ".join(figures),
    )


def _deviation(rows: Rows) -> list[Claim]:
    statements = (
        ("|R~_pu - R| <= C_delta chi + C_l pi Delta_g with probability 1 - delta.", "9", "delta"),
        ("|R~_pu - R| <= C_delta chi with probability 1 - delta - Delta_g.", "10", "level_10"),
    )
    claims = []
    for statement, number, level in statements:
        held, figures = _frequencies(rows, f"count_{number}", level)
        claims.append(Claim(statement, f"Theorem 2, Eq. ({number})", held, figures))
    held, figures = _frequencies(rows, "count_10", "level_free")
    sharp, sharp_figures = _frequencies(rows, "count_sharp", "level_free")
    claims += [
        Claim(
            "|R~_pu - R| <= C_delta chi with probability 1 - delta - (delta/2)^4, without alpha.",
            _DEPARTURE,
            held,
            figures,
        ),
        Claim(
            "The same with sqrt(4 pi^2/n_p + 1/n_u) in place of chi.",
            _DEPARTURE,
            sharp,
            sharp_figures,
        ),
    ]
    return claims


def _rate(rows: Rows) -> Claim:
    slopes = {}
    for prior in sorted({row["prior"] for row in rows}):
        part = [row for row in rows if row["prior"] == prior and row["n_p"] >= 1000]
        slopes[prior] = fitted_slope(
            [math.log(row["n_p"]) for row in part], [math.log(row["rmse"]) for row in part]
        )
    return Claim(
        "R~_pu approaches R at the rate O_p(pi/sqrt(n_p) + 1/sqrt(n_u)).",
        "Theorem 2",
        all(abs(slope + 0.5) < 0.03 for slope in slopes.values()),
        "slope of ln RMSE in ln n_p from n_p = 1000 on, n_u = 10 n_p (-1/2 is claimed): "
        + ", ".join(f"prior {prior}: {slope:.3f}" for prior, slope in slopes.items()),
    )


def _mse(rows: Rows) -> list[Claim]:
    symmetric = [dict(row) | {"shortfall": -row["surplus"], "none": 0.0} for row in rows]
    symmetric = [row for row in symmetric if row["symmetric"]]
    conditioned = [row for row in symmetric if row["condition"]]
    held, figures = _surplus(conditioned, "none")
    free, free_figures = _surplus(symmetric, "remainder")
    return [
        Claim(
            "MSE(R^_pu) - MSE(R~_pu) >= 3 beta^2 Pr{R~_pu - R^_pu > beta} for symmetric losses "
            "where R_u^- - inf l <= 2 pi_n alpha.",
            "Theorem 3",
            held,
            figures,
        ),
        Claim(
            "The same less a remainder exponentially small in n_u, without condition (d).",
            _DEPARTURE,
            free,
            free_figures,
        ),
    ]


def _surplus(rows: Rows, allowed: str) -> tuple[bool, str]:
    held, figures = _means(rows, "shortfall", "surplus_error", allowed)
    ratios = [row["reduction"] / row["bound"] for row in rows if row["bound"] > 0]
    if not ratios:
        return False, f"{figures}; r < -beta never occurred, so nothing was tested"
    return held, (
        f"{figures.split(';')[0]}; where the bound is positive ({len(ratios)} points) the "
        f"reduction is at least {min(ratios):.1f} times as large"
    )


def _mse_cases(beta_rows: Rows, non_symmetric: Rows) -> list[Claim]:
    printed = [row for row in beta_rows if row["condition_printed"]]
    corrected = [row for row in beta_rows if row["condition"]]
    worst = max(printed, key=lambda row: row["bound"] - row["reduction"])
    case = next(row for row in non_symmetric if row["loss"] == "squared")
    return [
        Claim(
            "The same reduction with condition (d) as printed, R_u^- - R^_u^- <= 2 alpha.",
            f"Theorem 3 (d); {_DEPARTURE}",
            all(row["bound"] <= row["reduction"] for row in printed),
            f"exact, by enumeration: bound {worst['bound']:.4f} against a reduction of "
            f"{worst['reduction']:.4f} at prior {worst['prior']}, R_p^- {worst['risk_p_minus']}, "
            f"R_n^- {worst['risk_n_minus']}, n_p {worst['n_p']}, n_u {worst['n_u']}, beta "
            f"{worst['beta']:.3f}; with the corrected (d) no violation at "
            f"{sum(row['bound'] <= row['reduction'] for row in corrected)} of {len(corrected)} "
            "values of beta",
        ),
        Claim(
            "Without symmetry the correction can raise the mean squared error.",
            "Theorem 3 (b)",
            case["mse_nnpu"] > case["mse_upu"],
            f"squared loss, scores of P 0 or 10, n_p {case['n_p']}: MSE {case['mse_upu']:.2f} for "
            f"uPU, {case['mse_nnpu']:.2f} for nnPU",
        ),
    ]


def _function_class(rows: Rows) -> list[Claim]:
    level_free = [dict(row) | {"level": row["delta"] + (row["delta"] / 2) ** 4} for row in rows]
    claims = []
    for statement, source, table, count, level in (
        ("sup |R~_pu - R| is at most the bound of Lemma 5.", "Lemma 5", rows, "deviation", "delta"),
        (
            "sup |R~_pu - R| is at most half the complexity terms of Lemma 5 + C_delta chi, "
            "without alpha and without closure under negation.",
            _DEPARTURE,
            level_free,
            "deviation_free",
            "level",
        ),
        (
            "R(g~_pu) - R(g*) is at most the bound of Theorem 4.",
            "Theorem 4",
            rows,
            "error",
            "delta",
        ),
        (
            "R(g~_pu) - R(g*) is at most uPU's bound, Eq. (14), without alpha.",
            _DEPARTURE,
            level_free,
            "error_free",
            "level",
        ),
        ("R(g^_pu) - R(g*) is at most Eq. (14).", "Eq. (14)", rows, "error_upu", "delta"),
    ):
        held, figures = _frequencies(table, f"{count}_count", level)
        ratio = _looseness(rows, count)
        claims.append(Claim(statement, source, held, f"{figures}; {ratio}"))
    return claims


def _looseness(rows: Rows, count: str) -> str:
    kind, _, variant = count.partition("_")
    quantile = "error_upu_quantile" if variant == "upu" else f"{kind}_quantile"
    bound = f"{kind}_bound" if not variant else f"{kind}_free"
    ratios = [row[bound] / row[quantile] for row in rows if row[quantile] > 0]
    return f"the bound is {min(ratios):.0f} to {max(ratios):.0f} times the simulated quantile"


def _criterion(rows: Rows) -> Claim:
    clear = [row for row in rows if not 0.25 < row["n_n"] / row["break_even"] < 4]
    right = [row for row in clear if row["pu_beats_pn"] == (row["error_pu"] < row["error_pn"])]
    near = [row for row in rows if row not in clear]
    agree = sum(row["pu_beats_pn"] == (row["error_pu"] < row["error_pn"]) for row in near)
    return Claim(
        "PU beats PN where pi/sqrt(n_p) + 1/sqrt(n_u) < pi_n/sqrt(n_n), by a factor of 4 in n_n.",
        "Section 2",
        len(right) == len(clear),
        f"right winner at {len(right)} of {len(clear)} points a factor of 4 or more from "
        f"break-even, at {agree} of {len(near)} points nearer",
    )


def frequency_contradicts(count: int, draws: int, bound: float, level: float) -> bool:
    """Whether `count` events in `draws` are too many for a probability of at most `bound`.

    The exact binomial test: the chance of so many events, were the probability equal to the
    bound, is below `level`.

    Examples
    --------
    >>> frequency_contradicts(360, 1000, 0.35, level=1e-3)
    False
    >>> frequency_contradicts(360, 1000, 0.0041, level=1e-3)
    True
    """
    from scipy.stats import binom

    if bound >= 1:
        return False
    return bool(binom.sf(count - 1, draws, max(0.0, bound)) < level)


def mean_contradicts(mean: float, standard_error: float, bound: float, level: float) -> bool:
    """Whether a mean of many draws is too large for an expectation of at most `bound`.

    Examples
    --------
    >>> mean_contradicts(0.11, 0.01, 0.1, level=1e-3)
    False
    >>> mean_contradicts(0.15, 0.01, 0.1, level=1e-3)
    True
    """
    from scipy.stats import norm

    slack = 1e-12 * max(1.0, abs(bound))  # rounding of the sums
    return mean - bound > float(norm.isf(level)) * standard_error + slack and not math.isnan(mean)
