"""How the member `taught` was chosen, on training messages of 20 Newsgroups: docs/lab/text.md.

    python benchmarks/text_choice.py [--samplings 2] [--bodies]

P (700) and U are drawn from the first 70 % of each group's training messages by number, the last
30 % judge: the error where as many are called positive as are. Three sets of groups are positive in
turn. --bodies leaves out headers and quoted lines. The test messages are not read.
"""

from __future__ import annotations

import argparse
import re

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from nnpu import data
from nnpu.calibration import soft_labels
from nnpu.estimators.ensemble import sparse_members as sparse_fits
from nnpu.estimators.ensemble.inputs import fit_columns
from nnpu.estimators.ensemble.member_scorers import View
from nnpu.estimators.ensemble.sparse_members import nearest
from nnpu.estimators.ensemble.task import Task
from nnpu_paper.archives import tar_members
from nnpu_paper.manifest import BUNDLES
from nnpu_paper.sources import locate

POSITIVE = (("alt", "comp", "misc", "rec"), ("rec", "soc", "sci"), ("sci", "talk"))
NAME = re.compile(r"20news-bydate-train/([a-z]+)(\.[a-z.-]+)/(\d+)")
QUOTED = re.compile(r"\s*[>|:]|.*(writes|wrote)[:.]?\s*$")


def read_training(*, bodies):
    """Return texts, first parts of the groups' names, and which messages judge."""

    def limit(name):
        return 10**6 if NAME.fullmatch(name) else 0

    _, paths = locate("20news", BUNDLES["20news"])
    found = []
    for name, content in tar_members(paths[0], limit, total=2 * 10**8):
        top, rest, number = NAME.fullmatch(name).groups()
        text = content.decode("latin-1")
        if bodies:
            lines = text.split("\n\n", 1)[-1].split("\n")
            text = "\n".join(line for line in lines if not QUOTED.match(line))
        found.append((top, rest, int(number), text))
    found.sort()
    group = np.array([top + rest for top, rest, _, _ in found])
    judges = np.zeros(len(found), dtype=bool)
    for one in np.unique(group):
        rows = np.flatnonzero(group == one)
        judges[rows[int(0.7 * len(rows)) :]] = True
    texts = np.array([text for *_, text in found], dtype=object)
    return texts, np.array([top for top, *_ in found]), judges


def topics(directions, strength):
    def scores(task):
        weights, intercept = sparse_fits.on_directions(task, directions, (strength,))[0]
        return task.view.x @ weights + intercept[0]

    return scores


def naive_bayes(task, smoothing=0.01, rounds=10):
    """Two multinomials; the labels of U are soft, with the prior as their mean."""
    x, u = task.view.x / np.median(task.view.x.data), task.s == 0
    y = np.where(u, 0.0, 1.0)
    for number in range(rounds + 1):
        one, other = x.T @ y + smoothing, x.T @ (u * 1.0 if number == 0 else 1 - y) + smoothing
        scores = x @ (np.log(one / one.sum()) - np.log(other / other.sum()))
        y = np.ones(len(u))
        y[u] = soft_labels(scores[u], task.prior)
    return scores


def alone(x):
    return sp.csr_array((x.shape[0], x.shape[0]))


def by_directions(x, size=300, k=10):
    left, length, _ = randomized_svd(x, size, n_iter=2, random_state=0)
    unit = normalize(left * length).astype(np.float32)
    links = sp.lil_array((len(unit), len(unit)))
    for row in range(len(unit)):
        cosines = unit @ unit[row]
        cosines[row] = 0
        top = np.sort(np.argpartition(cosines, -k)[-k:])
        weights = np.maximum(cosines[top], 0) ** 2
        links.rows[row], links.data[row] = (
            top.tolist(),
            (weights / max(weights.sum(), 1e-30)).tolist(),
        )
    return links.tocsr()


def by_more_words(x):
    return nearest(x, products=2e8)


VARIANTS = {
    "300 directions, .06, no neighbours (the former one)": (topics(300, 0.06), alone),
    "300 directions, .02, no neighbours": (topics(300, 0.02), alone),
    "150 directions, .02, no neighbours": (topics(150, 0.02), alone),
    "naive Bayes with EM, no neighbours": (naive_bayes, alone),
    "150 directions, .02, neighbours in 300 directions": (topics(150, 0.02), by_directions),
    "150 directions, .02, neighbours by ten times the products": (topics(150, 0.02), by_more_words),
    "150 directions, .02, neighbours by rare words (taken)": (topics(150, 0.02), nearest),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samplings", type=int, default=2)
    parser.add_argument("--bodies", action="store_true")
    options = parser.parse_args()
    texts, top, judges = read_training(bodies=options.bodies)
    vectoriser = TfidfVectorizer(sublinear_tf=True, min_df=2)
    x, others = vectoriser.fit_transform(texts[~judges]), vectoriser.transform(texts[judges])
    found = {name: [] for name in VARIANTS}
    for positive in POSITIVE:
        y = np.where(np.isin(top, positive), 1, -1)
        y_train, y_judge = y[~judges], y[judges] == 1
        for seed in range(1, options.samplings + 1):
            rows = np.arange(len(y_train))[:, None]
            sample = data.sample_pu((rows, y_train), 700, random_state=seed)
            drawn = x[sample.x[sample.index, 0].astype(int)]
            columns = fit_columns(drawn, (), "EnsemblePU")
            view, judged = View(columns.transform(drawn), None), columns.transform(others)
            s = np.asarray(sample.s).astype(np.int8)
            task = Task(view, s, (), "two-sample", 0, 1, 700, prior=sample.prior)
            for name, (teacher, neighbours) in VARIANTS.items():
                sparse_fits.nearest = neighbours
                weights, _ = sparse_fits.self_taught(task, teacher(task), (0.03,), 4)[0]
                scores = judged @ weights
                called = scores > np.quantile(scores, 1 - y_judge.mean())
                row = np.mean(called != y_judge), roc_auc_score(y_judge, scores)
                found[name].append(row)
                print(positive, seed, name, *np.round(row, 4), flush=True)
    print("mean of all, mean of the paper's groups: error, AUC")
    for name, rows in found.items():
        of_all, of_paper = np.mean(rows, 0).round(4), np.mean(rows[: options.samplings], 0).round(4)
        print(f"{name:60}", of_all, of_paper)


if __name__ == "__main__":
    main()
