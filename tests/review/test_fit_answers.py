"""Answers in a fit: the risk of the members, the audited prior, the calibration."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from nnpu import EnsemblePU, TablePU, load
from nnpu.estimators.ensemble.member_scorers import View
from nnpu.estimators.ensemble.members import MEMBERS
from nnpu.estimators.ensemble.task import Task
from nnpu.estimators.ensemble.weights import audited_prior, signed_weights
from nnpu.review import Estimate, KnownRows, Review, draw, known_rows
from nnpu.table.table_review import table_review


def task(**options):
    s = np.array([1, 1, 0, 0, 0, 0], dtype=np.int8)
    view = View(np.arange(6.0, dtype=np.float32)[:, None], None)
    answers = np.array([0.0, 0.0, 3.0, -1.0, -2.0, 0.0])
    return Task(view, s, (), "two-sample", 0, 1, 2, answers=answers, **options)


def test_answers_that_count_for_nothing_leave_the_task_as_it_is():
    rows, s, weights = task().weighted()
    assert rows == slice(None)
    assert s.tolist() == [1, 1, 0, 0, 0, 0]
    assert weights.tolist() == [1, 1, 0.5, 0.5, 0.5, 0.5]


def test_an_answered_row_stays_unlabelled_and_comes_again_with_its_class():
    """P and U weigh 2 each, times 1 − η = 0.75; so do yes and no, times η = 0.25."""
    rows, s, weights = task(eta=0.25).weighted()
    assert rows.tolist() == [0, 1, 2, 3, 4, 5, 2, 3, 4]
    assert s.tolist() == [1, 1, 0, 0, 0, 0, 1, 0, 0]
    np.testing.assert_allclose(weights[:6], [0.75] * 2 + [0.375] * 4)
    np.testing.assert_allclose(weights[6:], [0.5, 0.5 / 3, 1.0 / 3])
    assert weights.sum() == pytest.approx(4)


def test_answers_of_one_class_alone_are_not_told_apart():
    only = task(eta=0.5).take(np.array([0, 1, 3, 4]), 0)
    assert only.weighted()[0] == slice(None)


def test_few_of_many_rows_keep_the_answers():
    small = task(eta=0.5).at_most(3)
    assert np.count_nonzero(small.answers) == 3


@pytest.mark.parametrize("sampling", ["two-sample", "one-sample"])
def test_the_gradient_of_the_kl_member_is_that_of_both_risks(sampling):
    """Central differences of (1 − η) R_KL + η R_PN, in which a row of P has the weight 1."""
    one = task(prior=0.4, eta=0.3)
    one = Task(**{**vars(one), "sampling": sampling})
    g = np.array([0.3, -0.2, 0.8, -0.5, 0.1, 0.6])

    def risk(scores):
        phi = 1 / (1 + np.exp(-scores))
        population = phi if sampling == "one-sample" else phi[2:]
        pu = 0.4 * -np.log(phi[:2]).mean() + population.mean()
        pn = (3 * -np.log(phi[2]) - np.log(1 - phi[3]) - 2 * np.log(1 - phi[4])) / 6
        return 0.7 * pu + 0.3 * pn

    step = 1e-6 * np.eye(6)
    numbers = [(risk(g + d) - risk(g - d)) / 2e-6 for d in step]
    gradient, hessian = MEMBERS["boosted-kl"]._objective(one)(g, None)
    np.testing.assert_allclose(gradient, np.array(numbers) * 2 / 0.4, rtol=1e-6)
    assert (hessian > 0).all()


def overlapping(seed=0, n=1500):
    """Classes that overlap so much that P and U alone do not give the prior of 0.25."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.25
    x_u = rng.normal(0.7 * y[:, None], 1, (n, 3))
    x_p = rng.normal(0.7, 1, (250, 3))
    return np.vstack([x_p, x_u]), np.repeat([1, 0], [250, n]), y


@pytest.fixture(scope="module")
def reviewed():
    X, s, y = overlapping()
    clf = EnsemblePU(prior=0.6, members=["products", "boosted-kl"], n_folds=2, random_state=0)
    p = clf.fit(X, s).predict_proba(X[s == 0])[:, 1]
    drawn = draw(p, 150, random_state=0)
    found = known_rows(p, drawn, y[drawn.rows])
    found = found._replace(rows=np.flatnonzero(s == 0)[found.rows])
    return X, s, y, clf, found


def test_a_fit_takes_the_audited_prior_and_moves_the_probabilities(reviewed, tmp_path):
    X, s, _, wrong, found = reviewed
    clf = EnsemblePU(members=["products", "boosted-kl"], n_folds=2, random_state=0)
    clf.fit(X, s, answers=found)
    assert clf.prior_ == found.prior.value
    assert clf.prior_estimate_.method == "review"
    new_x, _, new_y = overlapping(1)
    new_x = new_x[250:]
    p, before = clf.predict_proba(new_x)[:, 1], wrong.predict_proba(new_x)[:, 1]
    assert abs(p.mean() - new_y.mean()) < abs(before.mean() - new_y.mean()) / 3
    right, were = (np.mean((c.predict(new_x) == 1) == new_y) for c in (clf, wrong))
    assert right > were + 0.1
    assert all(value is not found for value in vars(clf).values())  # the answers are not kept
    same = load(clf.save(tmp_path / "model"))
    assert same.prior_estimate_ == clf.prior_estimate_
    np.testing.assert_array_equal(same.decision_function(new_x), clf.decision_function(new_x))


def test_answers_of_other_rows_are_refused(reviewed):
    X, s, _, _, found = reviewed
    moved = found._replace(rows=found.rows - 250)  # counted in U, not in X
    with pytest.raises(ValueError, match="a row that was answered no is labelled positive"):
        EnsemblePU(members=["products"], n_folds=2).fit(X, s, answers=moved)
    with pytest.raises(ValueError, match="row numbers in the range"):
        EnsemblePU(members=["products"], n_folds=2).fit(X, s, answers=moved._replace(y=[1]))
    with pytest.raises(ValueError, match="must be 1 or 0"):
        signed_weights(found._replace(y=found.y + 1), s)


def test_an_audited_prior_is_above_the_labelled_share_of_one_sample():
    codes = np.array([1] * 30 + [0] * 70, dtype=np.int8)
    known = KnownRows(np.zeros(0, int), np.zeros(0), np.zeros(0), Estimate(0.3, 0.3, 0.34, 40))
    found = audited_prior(known, codes, "one-sample")
    assert 0.3 < found.value < 0.34
    assert found.low == 0.3


def test_the_labelled_rows_of_one_sample_are_among_what_is_known():
    """100 rows of which 20 are labelled; 40 of the other 80 are asked: each stands for two."""
    p = np.full(100, 0.5)
    known = np.where(np.arange(100) < 20, 1.0, np.nan)
    drawn = draw(p, 40, exclude=np.arange(20), random_state=0)
    found = known_rows(p, drawn, np.zeros(40), known=known)
    assert len(found.rows) == 60
    assert found.y.sum() == 20
    np.testing.assert_allclose(found.weight[:40], 1.0)
    np.testing.assert_allclose(found.weight[40:], 0.5)
    assert found.prior.value == pytest.approx(0.2)


def written(tmp_path, review, y, name="1.csv", answered=None):
    """Write the last draw as a sheet that is answered by the truth, from the top to some row."""
    path = review.write(tmp_path / name)
    lines = path.read_text().splitlines()
    words = np.where(y[review.draws[-1].rows], "yes", "no").tolist()
    kept = len(words) if answered is None else answered
    words[kept:] = [""] * (len(words) - kept)
    body = [word + line for word, line in zip(words, lines[1:], strict=True)]
    path.write_text("\n".join([lines[0], *body]))
    return path


@pytest.mark.parametrize("labelled", [0, 100])
@pytest.mark.parametrize("answered", [None, 37])
def test_sheets_alone_give_the_prior_of_the_audit(tmp_path, labelled, answered):
    """Two rounds, with and without labelled rows, the second answered in full or in part."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.6, 1.5, 800)
    y = rng.random(800) < p**1.4
    y[:labelled] = True
    known = np.where(np.arange(800) < labelled, 1.0, np.nan)
    ids = [f"r{i}" for i in range(800)]
    review = Review(p, ids=ids, known=known, model="m")
    review.draw(60, random_state=0)
    one = written(tmp_path, review, y)
    review.read(one)
    review.draw(50, random_state=1)
    two = written(tmp_path, review, y, "2.csv", answered)
    review.read(two)
    found = Review.from_sheets(two, one, ids=ids, known=known)
    mine, audited = found.known_rows(), review.audit().prior
    assert mine.prior.value == pytest.approx(audited.value, abs=1e-6)
    assert mine.prior.width == pytest.approx(audited.width, rel=0.1)
    for part, same in zip(mine[:3], review.known_rows()[:3], strict=True):
        np.testing.assert_array_equal(part, same)
    with pytest.raises(ValueError, match="an audit needs the model"):
        found.audit()


def test_sheets_of_other_rows_are_refused(tmp_path):
    p = np.linspace(0.1, 0.9, 100)
    review = Review(p)
    review.draw(10, random_state=0)
    path = written(tmp_path, review, p > 0.5)
    with pytest.raises(ValueError, match="the data changed since the draw"):
        Review.from_sheets(path, ids=range(120))
    with pytest.raises(ValueError, match="not in the data"):
        Review.from_sheets(path, ids=range(500, 600))


def table(sampling):
    X, s, y = overlapping(n=900)
    truth = np.concatenate([np.ones(250, dtype=bool), y])
    order = np.random.default_rng(1).permutation(len(s))
    X, s, truth = X[order], s[order], truth[order]
    columns = {f"x{j}": X[:, j] for j in range(3)}
    ids = [f"c{7 * i}" for i in range(len(s))]  # neither two ranges nor one list without gaps
    frame = pa.table({"id": ids, "s": s, **columns})
    prior = float(truth[s == 0].mean() if sampling == "two-sample" else truth.mean())
    return frame, truth, prior


@pytest.mark.parametrize("sampling", ["one-sample", "two-sample"])
@pytest.mark.parametrize("model", ["linear", "ensemble"])
def test_a_table_learns_from_answered_sheets(tmp_path, sampling, model):
    frame, truth, prior = table(sampling)
    if model == "ensemble":
        model = EnsemblePU(members=["splines"], n_folds=2, random_state=0)
    job = TablePU(model=model, sampling=sampling).set_params(prior=0.6)
    case = table_review(job.fit(frame, "s"), frame)
    drawn = case.review.draw(120, random_state=0)
    names = np.array(case.review.ids)
    by_id = dict(zip(frame["id"].to_pylist(), truth.tolist(), strict=True))
    answers = np.array([by_id[name] for name in names])
    path = written(tmp_path, case.review, answers)
    labelled = frame.filter(frame["s"].to_numpy() == 1)["id"].to_pylist()
    assert not set(names[drawn.rows]) & set(labelled)
    case.review.read(path)
    wrong, audited = job.prior_, case.review.audit().prior
    again = job.set_params(prior="auto").fit(frame, "s", answers=path)
    assert again.prior_ == pytest.approx(audited.value, abs=1e-6)
    assert again.prior_estimate_.method == "review"
    assert abs(again.prior_ - prior) < abs(wrong - prior)
    assert again.holdout_ is not None
    assert again.holdout_.prior.low < again.prior_ < again.holdout_.prior.high
    same = TablePU(model=model, sampling=sampling).fit(frame, "s", answers=case)
    np.testing.assert_allclose(same.predict_proba(frame), again.predict_proba(frame), atol=1e-6)
    with pytest.raises(ValueError, match="must be the path of an answered sheet"):
        job.fit(frame, "s", answers=3)
    with pytest.raises(ValueError, match="goes with answered sheets"):
        job.fit(frame, "s", answers=case, known=path)
    loaded = load(again.save(tmp_path / "model"))
    assert loaded.prior_estimate_ == again.prior_estimate_
    refitted = table_review(again, frame)
    with pytest.raises(ValueError, match="drawn with other probabilities"):
        refitted.review.read(path)
