"""Tables 1 and 2: each entry computed, beside what the paper prints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from nnpu.losses import LOSSES
from nnpu.parameters import InputError
from nnpu_paper.claims import Claim
from nnpu_paper.datasets import load

if TYPE_CHECKING:
    from nnpu.losses import Loss
    from nnpu_paper.results import Row

__all__ = ["PRINTED_2", "table_1", "table_2"]

_TOLERANCE = 1e-9

# Table 1 as printed: Eq. (3), Eq. (5), bounded, Lipschitz, and where the slope is not zero.
_PRINTED_1 = {
    "zero_one": (True, False, True, False, (0.0, 0.0)),
    "ramp": (True, False, True, True, (-1.0, 1.0)),
    "squared": (False, True, False, False, (-math.inf, math.inf)),
    "logistic": (False, True, False, True, (-math.inf, math.inf)),
    "hinge": (False, False, False, True, (-math.inf, 1.0)),
    "double_hinge": (False, True, False, True, (-math.inf, 1.0)),
    "sigmoid": (True, False, True, True, (-math.inf, math.inf)),
}

#: Table 2 as printed: training data, test data, features, prior.
PRINTED_2 = {
    "mnist": (60_000, 10_000, 784, 0.49),
    "epsilon": (400_000, 100_000, 2_000, 0.50),
    "20news": (11_314, 7_532, 61_188, 0.44),
    "cifar10": (50_000, 10_000, 3_072, 0.40),
}


def table_1() -> tuple[list[Row], list[Claim]]:
    """Check each property of each loss on a grid of margins, in float64."""
    rows: list[Row] = []
    claims = []
    for name, printed in _PRINTED_1.items():
        found = _properties(LOSSES[name])
        rows.append({"loss": name, "definition": LOSSES[name].formula, **found})
        slope = (found["slope_from"], found["slope_to"])
        columns = ("symmetric", "linear_odd", "bounded", "lipschitz")
        held = tuple(found[column] for column in columns) == printed[:4] and slope == printed[4]
        claims.append(
            Claim(
                f"{name}: the row of Table 1.",
                "Table 1",
                held,
                ", ".join(f"{key} {value}" for key, value in found.items()),
            )
        )
    return rows, claims


def _properties(loss: Loss) -> Row:
    """Measure the columns of Table 1; what grows without end on a growing range is unbounded."""
    margin = torch.arange(-4_000, 4_001, dtype=torch.float64) / 64
    plus, minus = loss(margin), loss(-margin)
    far = torch.tensor([-1e3, -1e6], dtype=torch.float64)
    steep = [_steepest(loss, reach, step) for reach, step in ((4.0, 1e-2), (4e3, 1e-4))]
    slope = _slope_range(loss)
    return {
        "symmetric": bool((plus + minus - 1).abs().max() < _TOLERANCE),
        "linear_odd": bool((plus - minus + margin).abs().max() < _TOLERANCE),
        "bounded": bool(loss(far)[1] < 1.5 * loss(far)[0]),
        "lipschitz": bool(steep[1] < 1.5 * steep[0]),
        "slope_from": slope[0],
        "slope_to": slope[1],
    }


def _steepest(loss: Loss, reach: float, step: float) -> float:
    """The largest difference quotient over steps of that length within ±reach, 0 included."""
    centres = torch.cat([torch.linspace(-reach, reach, 2_001, dtype=torch.float64)])
    return float(((loss(centres + step) - loss(centres - step)) / (2 * step)).abs().max())


def _slope_range(loss: Loss) -> tuple[float, float]:
    """Where difference quotients around a point are not all zero, on a grid within ±20."""
    step = 1e-2  # less than the grid's spacing, more than rounding hides
    margin = torch.arange(-1_280, 1_281, dtype=torch.float64) / 64
    left, here, right = (loss(margin + shift) for shift in (-step, 0.0, step))
    moving = margin[(left != here) | (here != right)]
    low, high = float(moving.min()), float(moving.max())
    return (-math.inf if low <= -20 else low), (math.inf if high >= 20 else high)


def table_2(names: tuple[str, ...] = tuple(PRINTED_2)) -> tuple[list[Row], list[Claim]]:
    """Count rows, features and positives of each data set that is at hand."""
    rows: list[Row] = []
    claims = []
    for name in names:
        printed = PRINTED_2[name]
        try:
            data = load(name)
        except InputError as error:
            claims.append(Claim(f"{name}: not checked.", "Table 2", False, str(error)))
            continue
        n_features = math.prod(data.x_train.shape[1:])
        counts = (data.x_train.shape[0], data.x_test.shape[0], n_features, round(data.prior, 2))
        rows.append(
            {
                "data": name,
                "n_train": counts[0],
                "n_test": counts[1],
                "n_features": n_features,
                "prior": data.prior,
            }
        )
        claims.append(
            Claim(
                f"{name}: {printed[0]:,} training and {printed[1]:,} test data, {printed[2]:,} "
                f"features, prior {printed[3]}.",
                "Table 2",
                counts == printed,
                f"{counts[0]:,}, {counts[1]:,}, {counts[2]:,}, {data.prior:.4f}",
            )
        )
    return rows, claims
