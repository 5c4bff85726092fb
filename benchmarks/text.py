"""20 Newsgroups from raw text, the paper's split, 1,000 labelled messages: docs/lab/text.md.

    python benchmarks/text.py [--samplings 5] [--models tfidf network table linear]

P are 1,000 training messages of alt, comp, misc and rec, U all 11,314 training messages (P is
inside U, as in the paper), tested on the 7,532 test messages. tfidf: a `TfidfVectorizer` and
`EnsemblePU`. network and linear: the same vectoriser with `PUClassifier` and `LinearPU`. table:
`TablePU` on a table whose only column is the text. Each with the true prior and with prior="auto".
oracle, only if asked for: a logistic regression that sees the true classes of U.
Every model has its defaults; nothing is chosen by a true label. A sampling that is in the table is
not run again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from nnpu import EnsemblePU, LinearPU, PUClassifier, TablePU, data
from nnpu_paper.newsgroups import load_messages
from nnpu_paper.results import read_results, write_results

MODELS = ("tfidf", "network", "table", "linear")
PRIORS = ("known", "auto")


def model(name, prior, seed):
    if name == "table":
        return TablePU(prior, sampling="two-sample", random_state=seed)
    vectoriser = TfidfVectorizer(sublinear_tf=True, min_df=2)
    if name == "oracle":
        return make_pipeline(vectoriser, LogisticRegression(C=10))
    if name == "linear":
        return make_pipeline(vectoriser, LinearPU(prior))
    kind = PUClassifier if name == "network" else EnsemblePU
    return make_pipeline(vectoriser, kind(prior, random_state=seed))


def run(name, how, seed, messages):
    texts, y, test, y_test = messages
    sample = data.sample_pu((np.arange(len(y))[:, None], y), 1_000, random_state=seed)
    rows = sample.x[sample.index, 0].astype(int)
    prior = sample.prior if how == "known" else "auto"
    clf = model(name, prior, seed)
    if name == "oracle":
        right = clf.fit(texts, y == 1).predict(test) == (y_test == 1)
        return {"model": name, "prior": how, "seed": seed, "error": 1 - float(right.mean())}
    train, other = [texts[row] for row in rows], test
    if name == "table":
        train, other = pa.table({"text": train}), pa.table({"text": other})
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        clf.fit(train, sample.s)
    seconds = time.process_time() - begin
    wrong = (np.asarray(clf.predict(other)) == 1) != (y_test == 1)
    found = clf if name == "table" else clf[-1]
    return {
        "model": name,
        "prior": how,
        "seed": seed,
        "error": float(wrong.mean()),
        "estimate": float(found.prior_),
        "true_prior": sample.prior,
        "cpu_seconds": round(seconds, 1),
    }


def read_messages():
    messages = load_messages()
    part = np.array([part == "train" for part, _, _ in messages])
    y = np.where([group in ("alt", "comp", "misc", "rec") for _, group, _ in messages], 1, -1)
    texts = np.array([text for _, _, text in messages], dtype=object)
    return list(texts[part]), y[part], list(texts[~part]), y[~part]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=(*MODELS, "oracle"))
    parser.add_argument("--priors", nargs="+", default=list(PRIORS), choices=PRIORS)
    parser.add_argument("--samplings", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/text.csv"))
    options = parser.parse_args()
    rows = read_results(options.out) if options.out.exists() else []
    messages = read_messages()
    for seed in range(options.first, options.first + options.samplings):
        for name in options.models:
            for how in options.priors:
                if any(
                    (row["model"], row["prior"], int(row["seed"])) == (name, how, seed)
                    for row in rows
                ):
                    continue
                rows.append(run(name, how, seed, messages))
                write_results(options.out, rows)
                print(rows[-1], flush=True)
    for name in options.models:
        for how in options.priors:
            errors = [
                float(row["error"]) for row in rows if (row["model"], row["prior"]) == (name, how)
            ]
            print(f"{name}, prior {how}: error {np.mean(errors):.4f} of {len(errors)} samplings")


if __name__ == "__main__":
    main()
