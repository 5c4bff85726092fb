"""Calibrated probabilities, chosen cuts, and the move to another population."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import nnpu
from nnpu import PUClassifier, PUWrapper, metrics, models
from nnpu.calibration import ScoreCalibration, shift_prior
from nnpu.estimators import LinearPU
from nnpu.parameters import InputError, ParameterError
from nnpu.prior import PriorEstimate
from nnpu.training import Training


@pytest.fixture
def fitted(make_sample, quick):
    sample = make_sample(300, 1000, d=2, gap=0.7)
    return quick(epochs=5).fit(sample.x, sample.s)


@pytest.fixture
def held_out(make_sample):
    return make_sample(2_000, 6_000, d=2, gap=0.7, seed=1)


def test_after_a_plain_fit_scores_probabilities_and_predictions_agree(fitted, held_out):
    scores = fitted.decision_function(held_out.x)
    probabilities = fitted.predict_proba(held_out.x)
    assert fitted.threshold_ == 0.0
    assert fitted.calibration_ == ScoreCalibration(1.0, 0.0)
    assert np.array_equal(fitted.predict(held_out.x), (scores > 0).astype(int))
    assert np.array_equal(fitted.predict(held_out.x), probabilities.argmax(axis=1))
    assert np.allclose(probabilities[:, 1], expit(scores.astype(float)))


def test_calibration_without_negatives_is_near_platts_with_true_labels(fitted, held_out):
    """Oracle: scikit-learn's unpenalised logistic regression of y on the score, over U."""
    fitted.calibrate(held_out.x, held_out.s)
    u = held_out.s == 0
    scores = fitted.decision_function(held_out.x)[u, None]
    platt = LogisticRegression(C=np.inf).fit(scores, held_out.y[u])
    expected = platt.predict_proba(scores)[:, 1]
    assert np.abs(fitted.predict_proba(held_out.x)[u, 1] - expected).max() < 0.04


@pytest.mark.parametrize(
    "classifier",
    [LinearPU(0.4), PUWrapper(LogisticRegression(), 0.4), PUClassifier(0.4, epochs=5)],
    ids=lambda classifier: type(classifier).__name__,
)
def test_every_kind_of_classifier_is_calibrated_cut_and_moved(classifier, make_sample, held_out):
    sample = make_sample(300, 1000, d=2, gap=0.7)
    clf = classifier.fit(sample.x, sample.s).calibrate(held_out.x, held_out.s)
    u = held_out.s == 0
    assert clf.predict_proba(held_out.x)[u, 1].mean() == pytest.approx(0.4, abs=1e-3)
    clf.choose_threshold(held_out.x, held_out.s, at="prior")
    assert clf.predict(held_out.x)[u].mean() == pytest.approx(0.4, abs=1e-3)
    assert clf.shift_prior(0.2).predict(held_out.x)[u].mean() < 0.35


def test_calibration_does_not_change_the_predictions(fitted, held_out):
    before = fitted.predict(held_out.x)
    assert np.array_equal(fitted.calibrate(held_out.x, held_out.s).predict(held_out.x), before)


def test_supervised_calibration_is_platts_at_the_prior_of_the_classifier(quick, make_sample):
    """Under risk="pn" with half the rows positive and prior 0.2: log-odds move by logit 0.2,
    which alone would change some probabilities by 0.3; the ridge by about 0.01.
    """
    sample = make_sample(0, 4_000, d=2, prior=0.5, gap=0.7)
    labels = (sample.y == 1).astype(int)
    clf = quick(risk="pn", prior=0.2, epochs=2).fit(sample.x, labels).calibrate(sample.x, labels)
    scores = clf.decision_function(sample.x)[:, None]
    platt = LogisticRegression(C=np.inf).fit(scores, labels)
    log_odds = platt.decision_function(scores) + logit(0.2)
    assert np.abs(clf.predict_proba(sample.x)[:, 1] - expit(log_odds)).max() < 0.02


def test_one_sample_calibration_gives_the_share_of_the_whole_sample(quick, make_sample):
    sample = make_sample(0, 6_000, d=2, prior=0.4, gap=0.7)
    s = ((sample.y == 1) & (np.random.default_rng(0).random(6_000) < 0.5)).astype(int)
    clf = quick(sampling="one-sample", epochs=10).fit(sample.x[::2], s[::2])
    clf.calibrate(sample.x[1::2], s[1::2])
    assert clf.predict_proba(sample.x[1::2])[:, 1].mean() == pytest.approx(0.4, abs=1e-3)


def test_rows_set_aside_for_validation_calibrate(make_sample, quick):
    sample = make_sample(500, 3_000, d=2, gap=0.7)
    clf = quick(training=Training(validation_fraction=0.3)).fit(sample.x, sample.s)
    assert clf.calibration_ != ScoreCalibration(1.0, 0.0)
    fresh = make_sample(1, 4_000, d=2, gap=0.7, seed=2)
    assert clf.predict_proba(fresh.x)[:, 1].mean() == pytest.approx(0.4, abs=0.05)
    assert clf.threshold_ == 0.0


def test_a_fit_without_validation_forgets_an_earlier_calibration(fitted, held_out):
    fitted.calibrate(held_out.x, held_out.s).choose_threshold(held_out.x, held_out.s, recall=0.5)
    fitted.fit(held_out.x[:400], held_out.s[:400])
    assert (fitted.calibration_, fitted.threshold_) == (ScoreCalibration(1.0, 0.0), 0.0)


def test_held_out_rows_that_cannot_calibrate_leave_the_scores_as_they_are(make_sample, quick):
    """Of 5 P and 7 U rows a fraction 0.35 is 2 and 2: half are labelled, more than 0.42 are
    positive, which one sample cannot be.
    """
    sample = make_sample(5, 7, d=2)
    options = Training(validation_fraction=0.35)
    clf = quick(sampling="one-sample", prior=0.42, training=options)
    with pytest.warns(UserWarning, match="could not calibrate"):
        clf.fit(sample.x, sample.s)
    assert clf.calibration_ == ScoreCalibration(1.0, 0.0)


def test_the_cut_at_the_prior_flags_that_share_of_the_unlabelled(fitted, held_out):
    cut = fitted.choose_threshold(held_out.x, held_out.s, at="prior")
    assert fitted.threshold_ == cut.value
    flagged = fitted.predict(held_out.x[held_out.s == 0])
    assert flagged.mean() == pytest.approx(0.4, abs=1 / 6_000)
    assert cut.low < cut.estimate < cut.high


def test_the_cut_at_one_half_is_where_the_probability_is(fitted, held_out):
    fitted.calibrate(held_out.x, held_out.s).choose_threshold(held_out.x, held_out.s, at="half")
    likely = fitted.predict_proba(held_out.x)[:, 1] > 0.5
    assert np.array_equal(fitted.predict(held_out.x), likely.astype(int))


@pytest.mark.parametrize("wanted", [{"precision": 0.9}, {"recall": 0.9}], ids=str)
def test_a_cut_reaches_what_was_asked_for_by_estimate_and_in_truth(fitted, held_out, wanted):
    [(name, value)] = wanted.items()
    cut = fitted.choose_threshold(held_out.x, held_out.s, **wanted)
    s, flagged = held_out.s, fitted.predict(held_out.x)
    assert cut.estimate == metrics.METRICS[f"pu_{name}"](s, flagged, prior=0.4)
    assert cut.estimate >= value - 1e-9
    positive, u = held_out.y == 1, s == 0
    truth = {
        "precision": positive[u & (flagged == 1)].mean(),
        "recall": flagged[u & positive].mean(),
    }
    assert cut.low - 0.01 < truth[name] < cut.high + 0.01


def test_a_deployment_population_has_the_shifted_probabilities(fitted, held_out):
    fitted.calibrate(held_out.x, held_out.s)
    before = fitted.predict_proba(held_out.x)[:, 1]
    moved = fitted.shift_prior(0.1)
    assert moved.prior_ == 0.1
    assert np.allclose(moved.predict_proba(held_out.x)[:, 1], shift_prior(before, 0.4, 0.1))
    assert fitted.prior_ == 0.4  # the original stays
    assert np.array_equal(fitted.predict_proba(held_out.x)[:, 1], before)


def test_a_moved_cut_stays_at_its_probability(fitted, held_out):
    fitted.calibrate(held_out.x, held_out.s).choose_threshold(held_out.x, held_out.s, at="half")
    moved = fitted.shift_prior(0.1)
    likely = moved.predict_proba(held_out.x)[:, 1] > 0.5
    assert np.array_equal(moved.predict(held_out.x), likely.astype(int))
    assert moved.predict(held_out.x).mean() < fitted.predict(held_out.x).mean()


def test_moving_there_and_back_changes_nothing(fitted, held_out):
    fitted.calibrate(held_out.x, held_out.s)
    back = fitted.shift_prior(0.1).shift_prior(0.4)
    assert np.allclose(back.predict_proba(held_out.x), fitted.predict_proba(held_out.x))
    assert back.threshold_ == pytest.approx(fitted.threshold_)


def test_shifted_probabilities_are_right_where_only_the_share_differs(fitted, make_sample):
    """Calibrated at 0.4, moved to 0.1: in bins, the mean probability is the share of positives."""
    many = make_sample(20_000, 40_000, d=2, gap=0.7, seed=3)
    there = make_sample(0, 40_000, d=2, prior=0.1, gap=0.7, seed=4)
    moved = fitted.calibrate(many.x, many.s).shift_prior(0.1)
    p = moved.predict_proba(there.x)[:, 1]
    for part in np.array_split(np.argsort(p), 8):
        assert p[part].mean() == pytest.approx((there.y[part] == 1).mean(), abs=0.03)


ESTIMATE = PriorEstimate(0.3, 0.2, 0.4, "bbe", True, "About 30 %.").stored()


def test_the_estimate_of_the_prior_comes_back_from_a_folder(held_out, tmp_path):
    clf = LinearPU(loss="logistic", random_state=0).fit(held_out.x, held_out.s)
    loaded = nnpu.load(clf.save(tmp_path / "model"))
    assert loaded.prior_estimate_ == clf.prior_estimate_ is not None
    assert loaded.prior_estimate_.curve is None  # only a picture needs it


def test_calibration_and_threshold_come_back_from_a_folder(fitted, held_out, tmp_path):
    fitted.calibrate(held_out.x, held_out.s).choose_threshold(held_out.x, held_out.s, recall=0.7)
    loaded = nnpu.load(fitted.save(tmp_path / "model"), module=models.linear)
    assert (loaded.calibration_, loaded.threshold_) == (fitted.calibration_, fitted.threshold_)
    for method in ("predict", "predict_proba"):
        mine, theirs = (getattr(clf, method)(held_out.x) for clf in (fitted, loaded))
        assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": float("nan")},
        {"threshold": "0"},
        {"calibration": {"slope": -1.0, "intercept": 0.0}},
        {"calibration": {"slope": 1.0, "intercept": float("inf")}},
        {"calibration": {"slope": 1.0}},
        {"calibration": [1.0, 0.0]},
        {"prior_estimate": []},
        {"prior_estimate": {**ESTIMATE, "low": 0.5}},
        {"prior_estimate": {**ESTIMATE, "value": float("nan")}},
        {"prior_estimate": {**ESTIMATE, "high": "1"}},
        {"prior_estimate": {**ESTIMATE, "low": 0.0, "value": 0.0}},
        {"prior_estimate": {**ESTIMATE, "method": "guess"}},
        {"prior_estimate": {**ESTIMATE, "identified": 1}},
        {"prior_estimate": {**ESTIMATE, "message": None}},
        {"prior_estimate": {"value": 0.3}},
    ],
    ids=str,
)
def test_a_forged_calibration_threshold_or_estimate_is_refused(fitted, tmp_path, change):
    import hashlib

    folder = fitted.save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["fitted"] |= change
    (folder / "config.json").write_text(json.dumps(config))
    names = ("config.json", "model.safetensors")
    sums = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (folder / "SHA256SUMS").write_text("".join(sums))
    with pytest.raises(InputError, match=r"does not describe a model|is not finite"):
        nnpu.load(folder, module=models.linear)


def test_held_out_rows_must_hold_both_labels(fitted, held_out):
    only_p = held_out.s == 1
    for method in (fitted.calibrate, fitted.choose_threshold):
        with pytest.raises(InputError, match="needs labelled and unlabelled rows"):
            method(held_out.x[only_p], held_out.s[only_p])


@pytest.mark.parametrize("asked", [{}, {"at": "prior", "recall": 0.5}], ids=str)
def test_exactly_one_cut_is_asked_for(fitted, held_out, asked):
    with pytest.raises(ParameterError, match="Pass exactly one"):
        fitted.choose_threshold(held_out.x, held_out.s, **asked)


def test_an_unknown_cut_is_named(fitted, held_out):
    with pytest.raises(ParameterError, match="Did you mean 'prior'"):
        fitted.choose_threshold(held_out.x, held_out.s, at="pior")


def test_a_supervised_classifier_has_no_unlabelled_rows_to_cut_by(quick, sample):
    clf = quick(risk="pn").fit(sample.x, sample.s)
    with pytest.raises(InputError, match="precision_recall_curve"):
        clf.choose_threshold(sample.x, sample.s, at="prior")


@pytest.mark.parametrize("new_prior", [0.0, 1.0, "auto"])
def test_a_deployment_prior_outside_0_and_1_is_refused(fitted, new_prior):
    with pytest.raises(ParameterError, match="new_prior"):
        fitted.shift_prior(new_prior)


def test_nothing_is_moved_before_fit(sample):
    clf = PUClassifier(0.4)
    for call in (
        lambda: clf.calibrate(sample.x, sample.s),
        lambda: clf.choose_threshold(sample.x, sample.s, at="prior"),
        lambda: clf.shift_prior(0.2),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_scores_that_mislead_cannot_follow_another_prior(fitted, held_out):
    """Labels turned round: the slope would be negative and becomes 0, every row the prior."""
    turned = -held_out.x
    fitted.calibrate(turned, held_out.s)
    assert np.allclose(fitted.predict_proba(turned)[:, 1], 0.4)
    for call in (
        lambda: fitted.shift_prior(0.2),
        lambda: fitted.choose_threshold(turned, held_out.s, at="half"),
    ):
        with pytest.raises(InputError, match="does not depend on the score"):
            call()
