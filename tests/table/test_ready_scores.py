"""`ScorePU`: what follows from scores that another program made."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

import nnpu
from nnpu import ScorePU, estimate_prior
from nnpu.cli import main
from nnpu.parameters import InputError, ParameterError


def scored(n=3000, prior=0.3, labelled=0.5, seed=0):
    """Scores with unit variance, two apart; labels at random. Log-odds: 2 score - 2 + logit π."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prior
    return rng.normal(2.0 * y, 1), (y & (rng.random(n) < labelled)).astype(int), y


def test_the_probabilities_are_those_that_the_densities_give():
    """Two normal densities with unit variance, d apart, have the log-odds d x - d²/2 + logit π."""
    scores, s, _ = scored(60_000)
    model = ScorePU(0.3).fit(scores, s)
    at = np.array([0.0, 1.0, 2.0])
    exact = expit(2 * at - 2 + logit(0.3))
    np.testing.assert_allclose(model.predict_proba(at)[:, 1], exact, atol=0.02)
    assert abs(model.cut_ - (2 - logit(0.3)) / 2) < 0.1  # where the probability is one half


def test_the_prior_is_what_estimate_prior_says_of_the_same_scores():
    scores, s, _ = scored()
    model = ScorePU(random_state=None).fit(scores, s)
    with_same = estimate_prior(scores[s == 1], scores[s == 0], sampling="one-sample")
    assert abs(model.prior_ - with_same.value) < 0.02
    assert ScorePU().fit(scores, s).prior_ == ScorePU().fit(scores, s).prior_
    assert model.sampling == "one-sample"


def test_probabilities_and_their_log_odds_give_the_same():
    scores, s, _ = scored()
    one, other = ScorePU().fit(scores, s), ScorePU().fit(expit(scores), s)
    assert other.probabilities_in_
    assert not one.probabilities_in_
    assert abs(expit(one.cut_) - other.cut_) < 1e-5
    np.testing.assert_allclose(
        one.predict_proba(scores), other.predict_proba(expit(scores)), atol=1e-5
    )
    assert 0 < other.cut_ < 1
    said = f"this page shows their log-odds: {other.unlabelled_cut_:.3g} is"
    assert said in str(other.report())
    assert "log-odds" not in str(one.report())


def test_a_column_is_as_good_as_a_vector():
    scores, s, _ = scored(500)
    one, other = ScorePU(0.3).fit(scores, s), ScorePU(0.3).fit(scores[:, None], s)
    assert np.array_equal(one.predict_proba(scores), other.predict_proba(scores[:, None]))


def test_known_labels_change_the_answer_as_in_a_table():
    """f (1 - c) / (1 - c f) for unlabelled rows, 1 for labelled ones."""
    scores, s, _ = scored()
    model = ScorePU(0.3).fit(scores, s)
    f, c = model.predict_proba(scores)[:, 1], s.mean() / 0.3
    known = model.predict_proba(scores, s)[:, 1]
    assert (known[s == 1] == 1).all()
    np.testing.assert_allclose(known[s == 0], (f * (1 - c) / (1 - c * f))[s == 0], atol=1e-9)
    flags = model.predict(scores, s)
    assert (flags[s == 1] == 1).all()
    assert flags[s == 0].sum() == model.holdout_.hidden.flagged
    assert (flags[s == 0] == (scores[s == 0] > model.unlabelled_cut_)).all()
    assert model.unlabelled_cut_ > model.cut_
    assert (model.predict(scores) == (scores.astype(np.float32) > model.threshold_)).all()


def test_a_folder_keeps_everything(tmp_path):
    scores, s, _ = scored()
    model = ScorePU(label_bias=1, random_state=3).fit(expit(scores), s)
    same = nnpu.load(model.save(tmp_path / "model"))
    assert isinstance(same, ScorePU)
    assert same.get_params() == model.get_params()
    assert same.cut_ == model.cut_
    assert same.holdout_.to_json() == model.holdout_.to_json()
    assert np.array_equal(same.predict_proba(expit(scores)), model.predict_proba(expit(scores)))


def test_the_share_of_a_forests_scores_out_of_fold_holds_the_truth():
    """Breast tumours, half of the malignant ones labelled at random; the truth is not used."""
    data = load_breast_cancer()
    y, rng = data.target == 0, np.random.default_rng(0)
    s = (y & (rng.random(len(y)) < 0.5)).astype(int)
    forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
    scores = cross_val_predict(forest, data.data, s, cv=5, method="predict_proba")[:, 1]
    model = ScorePU(label_bias=1).fit(scores, s, names=[f"t{i}" for i in range(len(y))])
    hidden = model.holdout_.hidden
    assert hidden.share.low <= y[s == 0].mean() <= hidden.share.high
    unlabelled = np.flatnonzero(s == 0)
    first = unlabelled[np.argsort(-model.holdout_.scores[unlabelled], kind="stable")[:50]]
    assert model.holdout_.ranking.top[0].name == f"t{first[0]}"
    page = str(model.report(title="Tumours"))
    assert "another model" in page


def test_the_cut_and_the_prior_can_be_moved():
    scores, s, _ = scored()
    model = ScorePU(0.3).fit(scores, s)
    chosen = model.choose_threshold(scores, s, recall=0.9)
    assert (scores[s == 1] > model.cut_).mean() >= 0.9
    assert chosen.estimate >= 0.9
    moved = model.shift_prior(0.1)
    odds = logit(model.predict_proba([1.0])[:, 1]) - logit(moved.predict_proba([1.0])[:, 1])
    np.testing.assert_allclose(odds, logit(0.3) - logit(0.1))


def test_known_negatives_and_two_samples_are_taken():
    scores, s, y = scored()
    s[np.flatnonzero(~y)[:50]] = -1
    model = ScorePU(0.3).fit(scores, s)
    assert (model.predict(scores, s)[s == -1] == -1).all()
    assert ScorePU(0.3, sampling="two-sample").fit(scores, np.maximum(s, 0)).labelled_share_ == 0


@pytest.mark.parametrize(
    ("scores", "s", "kind", "words"),
    [
        (np.zeros((6, 2)), [1, 1, 0, 0, 0, 0], InputError, r"scores .*shape is \(6, 2\)"),
        ([1.0, np.nan, 0, 0], [1, 1, 0, 0], InputError, "NaN or infinite"),
        ([1.0, 1e40, 0, 0], [1, 1, 0, 0], InputError, "beyond 1e30"),
        (["a", "b", "c", "d"], [1, 1, 0, 0], InputError, "list of numbers"),
        ([1.0, 2, 0], [1, 1, 0, 0], ValueError, "inconsistent numbers"),
        ([1.0, 1, 1, 1], [1, 1, 0, 0], InputError, "equal"),
        ([3.0, 2, 1, 0], [0, 0, 0, 0], InputError, "Only one class"),
    ],
)
def test_bad_scores_are_refused(scores, s, kind, words):
    with pytest.raises(kind, match=words):
        ScorePU().fit(scores, s)


def test_bad_parameters_are_refused():
    scores, s, _ = scored(200)
    for wrong in ({"prior": 1.2}, {"sampling": "x"}, {"label_bias": 0.5}):
        with pytest.raises(ParameterError, match=f"'{next(iter(wrong))}' parameter of ScorePU"):
            ScorePU(**wrong).fit(scores, s)
    with pytest.raises(ParameterError, match="greater than the share of labelled rows"):
        ScorePU(0.05).fit(scores, s)
    model = ScorePU(0.3).fit(expit(scores), s)
    with pytest.raises(InputError, match="between 0 and 1"):
        model.predict([3.0])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.evaluate(expit(scores), s, names=["a"])


@pytest.fixture
def table(tmp_path):
    """Write scores to a file, as another program would."""
    scores, s, _ = scored(800)
    lines = [f"r{i},{float(scores[i])!r},{s[i] or ''}" for i in range(len(s))]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["name,score,known", *lines]))
    return path


def test_the_command_says_what_the_class_says(table, capsys, tmp_path):
    scores, s, _ = scored(800)
    page = tmp_path / "page.html"
    command = ["evaluate", "--scores", "score", str(table), "--label", "known"]
    main([*command, "--json", "--id", "name", "--report", str(page), "--prior", "30%"])
    printed = json.loads(capsys.readouterr().out)
    model = ScorePU(0.3).fit(scores, s)
    assert printed["hidden"] == model.holdout_.to_json()["hidden"]
    assert printed["cut"] == model.unlabelled_cut_
    assert "another model" in page.read_text("utf-8")
    main(command)
    words = " ".join(capsys.readouterr().out.split())
    assert words.startswith("Sampling: one-sample.")
    assert "unlabelled rows (score > " in words
    assert "nnpu predict" not in words  # there is no model folder


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scores", "score", "--label", "known"], "Missing argument 'DATA'"),
        (["DATA", "--label", "known"], "Missing argument 'DATA'"),
        (["--label", "known"], "Missing argument 'MODEL_DIR'"),
        (["m", "DATA", "--scores", "score", "--label", "known"], "give DATA alone"),
        (["m", "DATA", "--label", "known", "--sampling", "two-sample"], "is for --scores"),
        (["DATA", "--scores", "none", "--label", "known"], "has no column 'none'"),
        (["DATA", "--scores", "name", "--label", "known"], "row 1: a score must be a number"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(table, capsys, arguments, words):
    given = [str(table) if word == "DATA" else word for word in arguments]
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", *given])
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err


def test_the_labels_themselves_are_no_scores(tmp_path, capsys):
    _, s, _ = scored(600)
    with pytest.raises(InputError, match="the scores are the labels"):
        ScorePU().fit(s.astype(float), s)
    path = tmp_path / "t.csv"
    path.write_text("s\n" + "\n".join(map(str, s)), encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", "--scores", "s", "--label", "s", str(path)])
    assert stopped.value.code == 2
    assert "column 's' cannot be the label and the scores" in capsys.readouterr().err


def test_scores_that_run_the_other_way_are_noticed():
    scores, s, _ = scored(600)
    with pytest.warns(UserWarning, match="Labelled rows score lower than unlabelled ones"):
        ScorePU(0.3).fit(-scores, s)


def test_scores_of_a_model_that_was_fitted_to_the_labels_are_noticed():
    scores, s, _ = scored(600)
    X = np.c_[scores, np.random.default_rng(1).normal(size=(600, 3))]
    seen = RandomForestClassifier(100, random_state=0).fit(X, s)
    with pytest.warns(UserWarning, match="almost separate labelled from unlabelled rows"):
        ScorePU(0.3).fit(seen.predict_proba(X)[:, 1], s)
    unseen = cross_val_predict(seen, X, s, method="predict_proba")[:, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ScorePU(0.3).fit(unseen, s)


def test_other_rows_are_checked_against_the_share_of_the_fit():
    """As `TablePU.evaluate` does: rows of another share were judged by that of the fit."""
    model = ScorePU(0.3).fit(*drawn(0.3, seed=0))
    scores, s = drawn(0.7, seed=1)
    found = model.evaluate(scores, s)
    assert "is not what it was in the fit, 0.30" in found.prior_note
    assert found.prior.low < 0.7 < found.prior.high
    assert model.prior_ == 0.3
    assert model.evaluate(scores, s, prior=0.7).prior.value == 0.7
    assert not model.evaluate(*drawn(0.3, seed=2)).prior_note
    with pytest.raises(ParameterError, match=r"'prior' parameter of ScorePU.evaluate must be gre"):
        model.evaluate(scores, s, prior=0.1)
    with pytest.warns(UserWarning, match="Labelled rows score lower than unlabelled ones"):
        model.evaluate(-scores, s)


def drawn(share, seed, n=3000):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    return rng.normal(3.0 * y, 1), (y & (rng.random(n) < 0.5)).astype(int)


def test_labels_in_another_order_are_refused():
    scores, s = drawn(0.3, seed=0)
    model = ScorePU(0.3).fit(pd.Series(scores), pd.Series(s))
    mixed = pd.Series(s).sample(frac=1, random_state=0)
    for method in (model.fit, model.evaluate, model.predict, model.predict_proba):
        with pytest.raises(InputError, match="index of the table in another order"):
            method(pd.Series(scores), mixed)


def test_one_labelled_row_and_scores_that_32_bits_make_equal_are_refused():
    """The first gave probabilities that are all the same, the second lost its order in part."""
    scores, s = drawn(0.3, seed=0)
    with pytest.raises(InputError, match="1 labelled and 2999 unlabelled rows; at least two"):
        ScorePU(0.3).fit(scores, np.arange(3000) == 7)
    for offset in (1e7, 1e12):
        with pytest.raises(InputError, match="would be equal in 32 bits; subtract their mean"):
            ScorePU(0.3).fit(scores + offset, s)
    ScorePU(0.3).fit(scores + 10, s)
