"""Scorers by name in scikit-learn's model selection, and no search over the prior."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nnpu import LinearPU, TablePU
from nnpu.metrics import METRICS, SCORERS, make_pu_scorer


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.4
    return rng.normal(3.0 * y, 1)[:, None], (y & (rng.random(400) < 0.5)).astype(int)


@pytest.mark.parametrize("name", METRICS)
def test_a_name_gives_what_the_scorer_gives(name, rows):
    X, s = rows
    how = {"cv": 2, "error_score": "raise"}
    clf = LinearPU(0.4, sampling="one-sample")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # of chance: small folds
        by_name = cross_val_score(clf, X, s, scoring=name, **how)
        assert (by_name == cross_val_score(clf, X, s, scoring=SCORERS[name], **how)).all()


@pytest.mark.parametrize("first", ["nnpu", "sklearn.model_selection"])
def test_the_order_of_imports_does_not_matter(first):
    imports = ["from nnpu import LinearPU", "from sklearn.model_selection import GridSearchCV"]
    code = [
        *(imports if first == "nnpu" else imports[::-1]),
        "import numpy as np",
        "X, s = np.arange(40.0)[:, None] % 7, (np.arange(40) % 4 == 0).astype(int)",
        "clf = GridSearchCV(LinearPU(0.5), {'alpha': [1.0]}, scoring='pu_recall', cv=2)",
        "print(clf.fit(X, s).scorer_)",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], capture_output=True, text=True, check=True
    )
    assert "metric='pu_recall'" in done.stdout


def test_a_value_that_cannot_be_says_what_it_contradicts(rows):
    X, s = rows
    clf = LinearPU(0.6, sampling="one-sample").fit(X, s)
    with pytest.warns(UserWarning, match="scoring='pu_roc_auc': An AUC of .* the prior is too lar"):
        assert SCORERS["pu_roc_auc"](clf, X, s) > 1


@pytest.mark.parametrize("scoring", [None, "pu_f1", ["pu_f1", "pu_accuracy"]])
@pytest.mark.parametrize("kind", ["classifier", "pipeline", "table"])
def test_a_search_over_the_prior_is_refused_with_the_reason(kind, scoring, rows):
    X, s = rows
    clf, name = LinearPU(sampling="one-sample"), "prior"
    if kind == "pipeline":
        clf, name = make_pipeline(StandardScaler(), clf), "linearpu__prior"
    if kind == "table":
        clf, X = TablePU(model="linear"), pd.DataFrame({"x": X[:, 0]})
    refit = "pu_f1" if isinstance(scoring, list) else True
    search = GridSearchCV(clf, {name: [0.3, 0.5]}, scoring=scoring, cv=2, refit=refit)
    with pytest.raises(ValueError, match="cannot be searched over: each candidate"):
        search.fit(X, s)


@pytest.mark.parametrize("scoring", ["roc_auc", make_pu_scorer("pu_recall", prior=0.4)])
def test_candidates_judged_by_one_rule_may_differ_in_the_prior(scoring, rows):
    X, s = rows
    grid = {"prior": [0.3, 0.5]}
    search = GridSearchCV(LinearPU(sampling="one-sample"), grid, scoring=scoring, cv=2)
    assert search.fit(X, s).best_params_["prior"] in (0.3, 0.5)
