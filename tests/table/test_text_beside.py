"""Texts beside other columns: words and numbers are learned apart, and their evidence adds up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

import nnpu
from nnpu import EnsemblePU, TablePU
from nnpu.cli import main
from nnpu.estimators.ensemble.sparse_members import joined
from nnpu.estimators.explain import contributions
from nnpu.table.reading import as_batch
from nnpu.table.table_explain import row_reasons

COMMON = [f"word{i}" for i in range(900)]
OURS, THEIRS = ([f"{kind}{i}" for i in range(60)] for kind in ("yes", "no"))


def posts(n=500, seed=0, *, told=0.2, by_numbers=1.5):
    """Posts of two kinds; words and an hour tell them apart, a town says nothing."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    text = []
    for positive in y:
        own = OURS if positive else THEIRS
        text.append(" ".join(rng.choice(own if rng.random() < told else COMMON) for _ in range(10)))
    hour = rng.normal(np.where(y, by_numbers, 0), 1)
    hour[rng.random(n) < 0.1] = np.nan
    s = (y & (rng.random(n) < 0.5)).astype(int)
    cells = {"text": text, "hour": hour, "town": rng.choice(["Ulm", "Bonn"], n), "known": s}
    return pa.table(cells), y


@pytest.fixture(scope="module")
def table():
    return posts()


@pytest.fixture(scope="module")
def model(table):
    return TablePU(0.4).fit(table[0], "known")


def test_words_and_numbers_together_rank_better_than_each_alone(model):
    """By 900 further posts, on which the AUC has a standard error of about .01."""
    new, y = posts(900, seed=1)
    found = {"both": roc_auc_score(y, model.decision_function(new.drop_columns("known")))}
    for name, dropped in (("text", ["hour", "town"]), ("numbers", ["text"])):
        alone = TablePU(0.4).fit(posts()[0].drop_columns(dropped), "known")
        rows = new.drop_columns([*dropped, "known"])
        found[name] = roc_auc_score(y, alone.decision_function(rows))
    assert found["both"] > max(found["text"], found["numbers"]) + 0.02


def test_members_of_words_take_the_words_and_the_others_the_numbers(model):
    clf = model.classifier_
    assert clf.n_dense == 2
    used = {row["name"] for row in clf.members_ if not row["reason"]}
    assert {"linear", "topics", "taught", "forest", "kernel"} <= used
    names = model.get_feature_names_out()
    assert names[:2].tolist() == ["hour", "town"]
    assert names[2].startswith("text (")
    scorers = dict(zip(clf._mixture.names, clf.scorers_, strict=True))
    assert len(scorers["taught"].weights) == len(names) - 2
    assert clf.design_.numeric.tolist() == [0]


def test_log_odds_of_words_and_numbers_add_up(model, table):
    """The score moves by the same amount whatever the words are, if only the numbers change."""
    rows = table[0].slice(0, 20).drop_columns("known")
    other = rows.set_column(1, "hour", pa.array(np.full(20, 2.5)))
    text = rows.set_column(0, "text", pa.array(["yes1 yes2 yes3 word4"] * 20))
    both = other.set_column(0, "text", pa.array(["yes1 yes2 yes3 word4"] * 20))
    a, b, c, d = (model.decision_function(each).astype(float) for each in (rows, other, text, both))
    assert np.ptp(b - a) > 0.1
    assert np.allclose(b - a, d - c, atol=1e-4)


def test_a_folder_gives_the_same_bits(model, table, tmp_path):
    model.save(tmp_path / "m")
    loaded = nnpu.load(tmp_path / "m")
    rows = table[0].drop_columns("known")
    assert (loaded.decision_function(rows) == model.decision_function(rows)).all()
    assert loaded.classifier_.n_dense == 2


def test_importance_and_reasons_take_a_text_as_one_column(model, table):
    importance = {name: value for name, value, _, _ in model.explained_.importance}
    assert importance.keys() == {"hour", "town", "text"}
    assert min(importance["hour"], importance["text"]) > 0.05 > importance["town"]
    why = model.explain(table[0].slice(0, 30).drop_columns("known"))
    assert why.columns == ["hour", "town", "text"]
    scores = model.decision_function(table[0].slice(0, 30).drop_columns("known"))
    assert np.allclose(why.base + why.values.sum(axis=1), scores, atol=1e-4)
    reasons = row_reasons(model, as_batch(table[0]), np.arange(5), most=3)
    assert all("text = " in line for line in reasons)
    assert sum("hour = " in line for line in reasons) >= 4  # the hour of one is a typical one


def test_contributions_of_groups_are_those_of_the_same_rows_dense(table):
    """Sparse rows with gaps are exchanged as dense ones are: the same orders, the same numbers."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    x[rng.random(x.shape) < 0.3] = 0
    x[rng.random(300) < 0.2, 0] = np.nan
    s = (x[:, 1] + rng.normal(size=300) > 1).astype(int)
    clf = EnsemblePU(0.5, n_dense=2, members=["products", "linear"], random_state=0).fit(x, s)
    groups = {"a": [0], "b": [1], "words": [2, 3, 4, 5]}
    found = contributions(clf, sparse.csr_array(x[:20]), groups=groups)
    scores = clf.decision_function(x[:20])
    assert np.allclose(found.base + found.values.sum(axis=1), scores, atol=1e-5)
    assert found.columns == ["a", "b", "words"]


def test_an_array_is_as_good_as_a_sparse_matrix():
    rng = np.random.default_rng(0)
    x = rng.poisson(1.0, (200, 5)).astype(float)
    x[:40, 0] = np.nan
    s = (rng.random(200) < 0.1 + 0.3 * (x[:, 2] > 1)).astype(int)
    how = {"n_dense": 2, "members": ["products", "linear"], "random_state": 0}
    a = EnsemblePU(0.5, **how).fit(x, s).decision_function(x)
    b = EnsemblePU(0.5, **how).fit(sparse.csr_array(x), s).decision_function(sparse.csr_array(x))
    assert (a == b).all()


@pytest.mark.parametrize(
    ("n_dense", "place", "words"),
    [(9, None, "at most the number of columns, 3. Got 9"), (1, 2, "NaN beyond the first 1 column")],
)
def test_columns_that_cannot_be_are_refused(n_dense, place, words):
    x = np.random.default_rng(0).normal(size=(50, 3))
    if place is not None:
        x[0, place] = np.nan
    with pytest.raises(ValueError, match=words):
        EnsemblePU(0.5, n_dense=n_dense).fit(x, np.repeat([1, 0], 25))


def test_one_matrix_keeps_gaps_and_levels_apart():
    """By hand: two rows, one with a gap; each row's words have the length 1."""
    X = sparse.csr_array(np.array([[1.0, 3, 4], [np.nan, 0, 5], [3.0, 3, 4], [5.0, 0, 5]]))
    matrix, origin = joined(X, 1, [])
    assert origin.tolist() == [0, 0, 1, 2]
    dense = matrix.toarray()
    assert np.allclose(np.linalg.norm(dense[:, 2:], axis=1), 1)
    assert (dense[:, 1] > 0).tolist() == [False, True, False, False]
    assert dense[1, 0] == 0


def test_several_texts_are_one_document(table):
    rows, _ = table
    title = pa.array([" ".join(text.as_py().split()[:3]) for text in rows["text"]])
    two = rows.append_column("title", title)
    model = TablePU(0.4).fit(two, "known")
    kinds = {column.name: column.kind for column in model.columns_.columns}
    assert kinds["title"] == kinds["text"] == "text"
    assert model.transform(two).shape[1] == len(model.get_feature_names_out())
    assert np.isfinite(model.decision_function(two)).all()


def test_names_beside_a_text_are_a_category(table):
    """Few words that repeat are no part of the document; alone, or if all repeat, they are text."""
    rows, _ = table
    rng = np.random.default_rng(0)
    sender = pa.array([f"the school of town {i}" for i in rng.integers(0, 80, len(rows))])
    model = TablePU(0.4).fit(rows.append_column("sender", sender), "known")
    kinds = {column.name: column.kind for column in model.columns_.columns}
    assert kinds == {"text": "text", "hour": "number", "town": "category", "sender": "category"}
    assert model.columns_.columns[-1].name == "text"
    alone = TablePU().plan_columns(
        rows.drop_columns("text").append_column("sender", sender), "known"
    )
    assert {column.name: column.kind for column in alone.columns}["sender"] == "text"


@pytest.mark.parametrize("name", ["trees", "linear"])
def test_other_models_keep_directions_or_buckets(name, table):
    model = TablePU(0.4, model=name).fit(table[0], "known")
    assert model.columns_.n_dense == 0
    assert np.isfinite(model.decision_function(table[0])).all()


def test_the_prior_and_the_labels_are_tested_on_words_and_numbers(table):
    job = TablePU()
    found = job.estimate_prior(table[0], "known")
    assert 0.1 < found.value < 0.9
    assert TablePU(0.4).fit(table[0], "known").classifier_.scar_test_ is not None


def test_a_number_that_gives_the_label_away_is_found_beside_words(table):
    rows, _ = table
    s = np.asarray(rows["known"])
    leak = pa.array(np.where(s == 1, 7.0, np.random.default_rng(0).normal(size=len(s))))
    with pytest.warns(UserWarning, match="'case'.*almost separates labelled"):
        model = TablePU(0.4).fit(rows.append_column("case", leak), "known")
    assert model.leaks_ == ["case"]


def test_a_review_works_down_a_table_with_texts(model, table):
    review = model.review(table[0])
    rows = review.next(10)
    review.answer(rows, np.ones(len(rows)))
    assert len(review.next(10)) == 10


def test_the_command_says_what_becomes_of_the_words(table, tmp_path, capsys):
    import pyarrow.csv

    pyarrow.csv.write_csv(table[0], tmp_path / "posts.csv")
    main(["columns", str(tmp_path / "posts.csv"), "--label", "known"])
    assert "text: words" in capsys.readouterr().out
