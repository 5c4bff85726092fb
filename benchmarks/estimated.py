"""What `prior="auto"` costs: accuracy with everything estimated, and what `evaluate` claims.

python benchmarks/estimated.py run [--role choose|verdict|last] [--settings 0 1 …] [--out FILE]
python benchmarks/estimated.py summary [--out FILE]

The tables and draws of `benchmarks/prior.py suite`. A fifth of the rows is set aside, as `TablePU`
does, and `evaluate` judges `EnsemblePU(prior="auto")` by it. The truth comes from test rows. The
same classifier with the true prior stands beside it; both share the members that need no prior.
`run` appends to FILE and goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import tables

from nnpu import EnsemblePU
from nnpu.estimators.evaluation import evaluate
from prior import SUITE, append

RESULTS = Path(__file__).parent / "results" / "prior_estimated.csv"
TEST = 8000
COLUMNS = (
    *("table", "role", "sampling", "prior", "value", "low", "high", "identified"),
    *("accuracy", "accuracy_half", "accuracy_true_prior", "majority"),
    *("claimed", "claimed_low", "claimed_high"),
    *("precision", "precision_claimed", "precision_low", "precision_high", "flagged", "seconds"),
)


class Sharing(EnsemblePU):
    """An ensemble that takes over what another one found out without the prior."""

    found: Any = None

    def _prepare(self, data: Any) -> Any:
        if self.found is None:
            work = super()._prepare(data)
            names = ("categories_", "columns_", "design_")
            self.found = work, {name: getattr(self, name) for name in names}
            return work
        work, fitted = self.found
        for name, value in fitted.items():
            setattr(self, name, value)
        return work


def run(role: str, settings: list[int], out: Path) -> None:
    done = set()
    if out.exists():
        with out.open(newline="") as file:
            done = {tuple(row[:4]) for row in csv.reader(file)}
    for number in settings:
        sampling, prior, n_p, n_u = SUITE[number]
        for name in (name for name, source in tables.SOURCES.items() if source.role == role):
            if (name, role, sampling, str(prior)) in done:
                continue
            drawn = tables.draw(
                tables.load(name), n_p, n_u, prior, sampling, seed=1000 + number, n_test=TEST
            )
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = cell(drawn, number)
            row = [name, role, sampling, prior, *(f"{x:.4f}" for x in found)]
            append(out, [*row, f"{time.perf_counter() - start:.1f}"], COLUMNS)


def cell(drawn: tables.Draw, seed: int) -> list[float]:
    X = np.concatenate([drawn.x_p, drawn.x_u])
    s = np.repeat([1, 0], [drawn.p.size, drawn.u.size])
    aside = np.random.default_rng(seed).permutation(s.size) % 5 == 0
    kind: dict[str, Any] = {
        "sampling": drawn.sampling,
        "categories": list(drawn.table.categorical),
        "random_state": seed,
        "n_jobs": 1,
    }
    auto = Sharing("auto", **kind).fit(X[~aside], s[~aside])
    told = Sharing(drawn.prior, **kind)
    told.found = auto.found
    told.fit(X[~aside], s[~aside])
    claims = evaluate(auto, s[aside], auto.decision_function(X[aside]))
    scores, y = auto.decision_function(drawn.x_test).astype(np.float64), drawn.y_test
    flags = scores > auto.threshold_
    half = scores > -auto.calibration_.intercept / auto.calibration_.slope
    given = told.predict(drawn.x_test) == 1
    estimate = auto.prior_estimate_
    return [
        *(estimate.value, estimate.low, estimate.high, float(estimate.identified)),
        *(float(np.mean(flagged == y)) for flagged in (flags, half, given)),
        max(float(y.mean()), 1 - float(y.mean())),
        *claims.accuracy,
        float(y[flags].mean()) if flags.any() else float("nan"),
        *(claims.precision if claims.flagged else (float("nan"),) * 3),
        float(flags.mean()),
    ]


def summary(out: Path) -> None:
    """Print by role and by table what the estimate of the prior costs."""
    import pandas as pd

    rows = pd.read_csv(out)
    rows["loss"] = rows.accuracy_true_prior - rows.accuracy
    rows["loss_half"] = rows.accuracy_true_prior - rows.accuracy_half
    sure = (rows.high < 0.5) | (rows.low > 0.5)
    rows["below_majority"] = (rows.majority - rows.accuracy).where(sure)
    rows["claim_error"] = (rows.claimed - rows.accuracy).abs()
    rows["claim_held"] = (rows.claimed_low <= rows.accuracy) & (rows.accuracy <= rows.claimed_high)
    held = (rows.precision_low <= rows.precision) & (rows.precision <= rows.precision_high)
    rows["precision_held"] = held.where(rows.precision_low.notna() & rows.precision.notna())
    rows["sure"] = sure
    means = ["accuracy", "accuracy_true_prior", "majority", "loss", "loss_half", "claim_error"]
    means += ["claim_held", "precision_held", "sure", "identified"]
    for by in (["role"], ["role", "sampling"], ["role", "table"]):
        groups = rows.groupby(by)
        shown = groups[means].agg(lambda x: x.astype(float).mean()).round(3)
        shown["worst_below_majority"] = groups.below_majority.max().round(3)
        print(shown.assign(cells=groups.size()).to_string(), "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "summary"])
    parser.add_argument("--role", default="choose", choices=["choose", "verdict", "last"])
    parser.add_argument("--settings", type=int, nargs="*", default=list(range(len(SUITE))))
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.what == "run":
        run(arguments.role, arguments.settings, arguments.out)
    else:
        summary(arguments.out)


if __name__ == "__main__":
    main()
