"""Section 4 of the paper as functions of plain numbers, and what follows from it for planning.

Every function broadcasts over arrays and returns a float for plain numbers. ``form="printed"``
gives a statement as the paper prints it where that differs from what can be proved;
docs/theory.md explains each statement and docs/departures.md each difference.
"""

from nnpu.theory.bounds import (
    bias_bound,
    convergence_rate,
    deviation_bound,
    deviation_confidence,
    mse_condition,
    mse_reduction_bound,
    mse_reduction_integrand,
    mse_remainder,
    negative_part_probability_bound,
)
from nnpu.theory.estimation import (
    LossConstants,
    RademacherEstimate,
    estimation_error_bound,
    loss_constants,
    rademacher_empirical,
    rademacher_finite,
    rademacher_linear,
    uniform_deviation_bound,
    upu_estimation_error_bound,
)
from nnpu.theory.planning import (
    Comparison,
    Plan,
    Purchase,
    break_even_n_n,
    guaranteed_half_width,
    plan,
    plan_tables,
    pu_beats_pn,
    section_5_n_n,
    simulated_half_width,
)

__all__ = [
    "Comparison",
    "LossConstants",
    "Plan",
    "Purchase",
    "RademacherEstimate",
    "bias_bound",
    "break_even_n_n",
    "convergence_rate",
    "deviation_bound",
    "deviation_confidence",
    "estimation_error_bound",
    "guaranteed_half_width",
    "loss_constants",
    "mse_condition",
    "mse_reduction_bound",
    "mse_reduction_integrand",
    "mse_remainder",
    "negative_part_probability_bound",
    "plan",
    "plan_tables",
    "pu_beats_pn",
    "rademacher_empirical",
    "rademacher_finite",
    "rademacher_linear",
    "section_5_n_n",
    "simulated_half_width",
    "uniform_deviation_bound",
    "upu_estimation_error_bound",
]
