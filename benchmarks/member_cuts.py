r"""The ensemble against its members, all cut by one rule, with the prior estimated.

    python benchmarks/member_cuts.py [--seeds 3] [--tables heart vocab] [--samplings two-sample]

The leaderboard cuts members where their probability is one half and the ensemble where least is
lost over the prior's interval, so that it compares rules as much as rankings. Here every member is
cut both ways ("cut" and "half"), and so is the ensemble. Draws are those of
``benchmarks/leaderboard.py``. Results are appended to a CSV; what is in it is not run again.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import tables
from leaderboard import append, draw, judged

from nnpu import EnsemblePU
from nnpu.calibration.score_calibration import ScoreCalibration, cut_priors, least_regret_cut
from nnpu.estimators.ensemble.weights import calibrated

OUT = Path("benchmarks/results/member_cuts.csv")
FIELDS = ["table", "sampling", "seed", "system", "accuracy", "auc", "f1"]


class Watched(EnsemblePU):
    """An ensemble that keeps what its members said out of fold."""

    def _combine(self, used, s):
        mixed = super()._combine(used, s)
        self.out_of_fold = self._calibrated(np.array([trial.scores for trial in used])), s
        return mixed

    def cuts(self):
        """Return where each member would be cut if it were the ensemble."""
        members, s = self.out_of_fold
        one = self.sampling == "one-sample"
        priors = cut_priors(self.prior_, self.prior_estimate_, float(s.mean()) if one else 0.0)
        for scores in members:
            under = (ScoreCalibration(*calibrated(scores, s, p, self.sampling)) for p in priors)
            yield least_regret_cut(scores if one else scores[s == 0], *under)


def run(name, sampling, seed):
    """Yield each system with its scores of the test rows and which it calls positive."""
    data = draw(name, sampling, seed)
    model = Watched(
        "auto", sampling=sampling, random_state=seed, categories=data["categories"], n_jobs=1
    ).fit(data["x"], data["s"])
    scores = model.decision_function(data["test"])
    answers = {
        "ensemble": (scores, model.predict(data["test"]) == 1),
        "ensemble half": (scores, model.predict_proba(data["test"])[:, 1] > 0.5),
    }
    members = model.member_scores(data["test"])
    for (member, found), cut in zip(members.items(), model.cuts(), strict=True):
        answers |= {f"cut {member}": (found, found > cut), f"half {member}": (found, found > 0)}
    for system, answer in answers.items():
        yield system, *list(judged(data, answer, 0.0).values())[:3]


def summary(rows):
    """Print how far the ensemble is behind the best member, chosen by the mean over the seeds."""
    for (table, sampling), part in rows.groupby(["table", "sampling"]):
        wide = part.pivot_table(index="seed", columns="system", values="accuracy")
        line = f"{table:10} {sampling}, {len(wide)} seeds: {wide['ensemble'].mean():.3f}"
        for how in ("cut", "half"):
            means = wide[[c for c in wide if c.startswith(f"{how} ")]].mean()
            gap = wide["ensemble"] - wide[means.idxmax()]
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            line += f"; {means.idxmax()} {means.max():.3f} ({gap.mean():+.3f} ± {error:.3f})"
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", nargs="+", default=list(tables.VERDICT))
    parser.add_argument("--samplings", nargs="+", default=["two-sample", "one-sample"])
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    if not options.out.exists():
        append(options.out, FIELDS)
    with options.out.open(newline="") as file:
        done = {tuple(row[:3]) for row in csv.reader(file)}
    for seed in range(options.seeds):
        for name in options.tables:
            for sampling in options.samplings:
                if (name, sampling, str(seed)) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = list(run(name, sampling, seed))
                for figures in found:
                    append(options.out, [name, sampling, seed, *figures])
    summary(pd.read_csv(options.out))


if __name__ == "__main__":
    main()
