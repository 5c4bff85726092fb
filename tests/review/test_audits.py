"""Audits: the formulas, unbiasedness, coverage, rounds, don't knows, known rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nnpu.calibration import posterior
from nnpu.parameters import InputError
from nnpu.review import audit, curves, draw
from nnpu.review.audits import FIGURES, Audit, AuditedEstimate
from nnpu.review.totals import collect


@pytest.fixture(scope="module")
def population():
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 1.2, size=800)
    return p, (rng.random(800) < p).astype(float)


def truth(p, y, threshold=0.5):
    flagged = p > threshold
    found = y[flagged].sum()
    return {
        "prior": y.mean(),
        "precision": found / flagged.sum(),
        "recall": found / y.sum(),
        "accuracy": np.mean(flagged == y),
    }


def test_the_values_are_the_formulas(population):
    p, y = population
    drawn = draw(p, 120, random_state=3)
    found = audit(p, drawn, y[drawn.rows], threshold=0.4)
    flagged, rows = p > 0.4, drawn.rows
    error = (y[rows] - p[rows]) / drawn.chance
    tp = p[flagged].sum() + error[flagged[rows]].sum()
    fn = p[~flagged].sum() + error[~flagged[rows]].sum()
    assert found.prior.value == pytest.approx((tp + fn) / 800)
    assert found.precision.value == pytest.approx(tp / flagged.sum())
    assert found.recall.value == pytest.approx(tp / (tp + fn))
    assert found.accuracy.value == pytest.approx((tp + (~flagged).sum() - fn) / 800)


def test_estimates_are_unbiased_over_draws(population):
    """The mean of 500 draws is within four standard errors of the truth, even for a bad model."""
    _, y = population
    p = np.random.default_rng(1).random(800) ** 3
    values = []
    for seed in range(500):
        drawn = draw(p, 60, random_state=seed)
        found = audit(p, drawn, y[drawn.rows])
        values.append([found.prior.value, found.precision.value, found.accuracy.value])
    exact = [truth(p, y)[name] for name in ("prior", "precision", "accuracy")]
    error = np.std(values, axis=0) / np.sqrt(500)
    assert (np.abs(np.mean(values, axis=0) - exact) < 4 * error).all()


def test_a_simple_random_sample_has_the_textbook_variance():
    """Equal chances, p = 1/2: the variance of the total is N²(1 − n/N)s²/n."""
    y = np.tile([0.0, 1.0], 100)
    p = np.full(200, 0.5)
    drawn = draw(p, 40, random_state=0)
    answers = np.tile([0.0, 1.0], 20)  # s² = 10/39: above p(1 − p), so that nothing is raised
    total = collect(p, drawn, answers, None, "audit").total(np.ones(200), y > 2)
    s2 = answers.var(ddof=1)
    assert total.variance == pytest.approx(200**2 * (1 - 40 / 200) * s2 / 40)


@pytest.fixture(scope="module")
def tables():
    """Real tables, with out-of-fold PU probabilities under a prior that is off by 0.05."""
    found = {}
    x, y = load_breast_cancer(return_X_y=True)
    d, digit = load_digits(return_X_y=True)
    for name, (features, truth_, n_p) in {
        "malignant": (x, y == 0, 60),
        "even": (d, digit % 2 == 0, 200),
        "eight": (d, digit == 8, 60),
    }.items():
        rng = np.random.default_rng(0)
        labelled = rng.choice(np.flatnonzero(truth_), n_p, replace=False)
        s = np.zeros(truth_.size, dtype=int)
        s[labelled] = 1
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.05, max_iter=500))
        sigma = cross_val_predict(model, features, s, cv=3, method="predict_proba")[:, 1]
        left = s == 0
        truth_u = truth_[left].astype(float)
        p = posterior(sigma[left], prior=truth_u.mean() + 0.05, labelled_share=s.mean())
        found[name] = p, truth_u
    return found


def test_intervals_cover_on_real_tables(tables):
    """100 answers, 150 draws a cell: 90 % intervals cover .87 on the mean, .82 in every cell."""
    cells = []
    for p, y in tables.values():
        exact, covered = truth(p, y), {name: [] for name in FIGURES}
        for seed in range(150):
            drawn = draw(p, 100, random_state=seed)
            found = audit(p, drawn, y[drawn.rows])
            for name in FIGURES:
                figure = getattr(found, name)
                assert 0 <= figure.low <= figure.value <= figure.high <= 1
                covered[name].append(figure.low <= exact[name] <= figure.high)
        cells += [np.mean(values) for values in covered.values()]
    assert np.mean(cells) >= 0.87
    assert min(cells) >= 0.82


def test_a_second_round_estimates_what_is_left(population):
    """T = w₁T₁ + w₂T₂ by size, where T₂ counts the first answers as known."""
    p, y = population
    one = draw(p, 60, random_state=0)
    two = draw(p, 30, exclude=one.rows, random_state=1)
    assert not set(one.rows) & set(two.rows)
    found = audit(p, [one, two], [y[one.rows], y[two.rows]])
    first = p.sum() + ((y - p)[one.rows] / one.chance).sum()
    known = p.copy()
    known[one.rows] = y[one.rows]
    second = known.sum() + ((y - p)[two.rows] / two.chance).sum()
    assert found.prior.value == pytest.approx((60 * first + 30 * second) / 90 / 800)
    assert found.answered == 90


def test_two_rounds_cover_too(population):
    p, y = population
    exact, covered = truth(p, y), []
    for seed in range(300):
        one = draw(p, 50, random_state=seed)
        two = draw(p, 50, exclude=one.rows, random_state=seed + 1000)
        found = audit(p, [one, two], [y[one.rows], y[two.rows]])
        covered.append(
            [getattr(found, n).low <= exact[n] <= getattr(found, n).high for n in FIGURES]
        )
    assert (np.mean(covered, axis=0) >= 0.85).all()


def test_a_dont_know_takes_the_prediction_and_the_bounds_the_worst(population):
    p, y = population
    drawn = draw(p, 100, random_state=0)
    answers = y[drawn.rows].copy()
    missing = np.arange(100) < 12
    answers[missing] = np.nan
    found = audit(p, drawn, answers)
    rest = (y - p)[drawn.rows][~missing] / drawn.chance[~missing]
    assert found.prior.value == pytest.approx((p.sum() + rest.sum()) / 800)
    assert found.dont_know == 12
    assert any("12 rows have no clear answer" in note for note in found.notes)
    flagged = p[drawn.rows] > 0.5
    for fill in (np.zeros(100), np.ones(100), flagged * 1.0, ~flagged * 1.0):
        filled = audit(p, drawn, np.where(missing, fill, answers))
        for name in FIGURES:
            inner, outer = getattr(filled, name), getattr(found, name)
            assert outer.low <= inner.value <= outer.high, name


def test_rows_found_are_known_in_later_rounds_and_alone_are_refused(population):
    p, y = population
    top = draw(p, 50, purpose="finding")
    with pytest.raises(InputError, match="Add a draw with purpose='estimate'"):
        audit(p, top, y[top.rows])
    drawn = draw(p, 60, exclude=top.rows, random_state=0)
    found = audit(p, [top, drawn], [y[top.rows], y[drawn.rows]])
    known = p.copy()
    known[top.rows] = y[top.rows]
    total = known.sum() + ((y - p)[drawn.rows] / drawn.chance).sum()
    assert found.prior.value == pytest.approx(total / 800)


def test_labelled_rows_are_known_in_one_sample_data(population):
    """Prior and precision count labelled rows as yes; another precision leaves them out."""
    p, y = population
    s = (y == 1) & (np.random.default_rng(0).random(800) < 0.4)
    drawn = draw(p, 80, exclude=s, random_state=0)
    found = audit(p, drawn, y[drawn.rows], known=np.where(s, 1.0, np.nan))
    error = (y - p)[drawn.rows] / drawn.chance
    assert found.prior.value == pytest.approx((s.sum() + p[~s].sum() + error.sum()) / 800)
    flagged = (p > 0.5) & ~s
    among = p[flagged].sum() + error[flagged[drawn.rows]].sum()
    assert found.precision_unlabelled.value == pytest.approx(among / flagged.sum())
    assert found.precision_unlabelled.value < found.precision.value
    blind = audit(p, drawn, y[drawn.rows])
    assert blind.dont_know == s.sum()  # excluded for a reason that nobody gave
    assert blind.prior.low < found.prior.low
    assert blind.precision_unlabelled is None


def test_the_probabilities_of_another_model_are_refused(population):
    p, y = population
    drawn = draw(p, 50, random_state=0)
    with pytest.raises(InputError, match="not the probabilities that the rows were drawn with"):
        audit(np.clip(p + 0.1, 0, 1), drawn, y[drawn.rows])
    with pytest.raises(InputError, match="from 800 rows, and probability has 799"):
        audit(p[:-1], drawn, y[drawn.rows])


@pytest.mark.parametrize("n", [1, 3, 30, 200])
def test_no_interval_has_zero_width(n):
    y = (np.arange(200) % 4 == 0) * 1.0
    drawn = draw(y, n, random_state=0)  # a model that is right and sure, all answers as predicted
    found = audit(y, drawn, y[drawn.rows])
    for name in FIGURES:
        assert getattr(found, name).width > 0
        assert getattr(found, name).low <= getattr(found, name).value <= getattr(found, name).high
    if n == 200:  # every row answered
        assert found.prior.value == 0.25
        assert found.prior.width <= 1 / 200 + 1e-12


def test_few_rows_make_an_interval_conservative_and_say_so():
    rng = np.random.default_rng(0)
    p = np.where(np.arange(2000) < 6, 0.9, 0.05)
    y = (rng.random(2000) < p) * 1.0
    drawn = draw(p, 60, random_state=1)
    found = audit(p, drawn, y[drawn.rows])
    assert found.precision.rows < 5
    assert found.precision.conservative
    assert found.precision.width > 0.5
    assert any("answered flagged rows: its range is conservative" in n for n in found.notes)
    assert not found.prior.conservative


def test_nothing_flagged_has_no_precision_and_a_recall_of_zero():
    p = np.linspace(0, 0.4, 300)
    drawn = draw(p, 60, random_state=0)
    found = audit(p, drawn, (drawn.rows > 200) * 1.0)
    assert np.isnan(found.precision.value)
    assert found.recall.value == 0
    assert "No row is flagged" in found.notes[0]


def test_spread_draws_forgive_a_bad_model_and_reward_a_good_one():
    """Mean width against a simple random sample: .5 for a good model, no worse for noise."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=3000)
    good = 1 / (1 + np.exp(2 - 6 * z))
    y = (rng.random(3000) < good) * 1.0
    widths = {}
    for name, p in (("good", good), ("noise", rng.permutation(good)), ("none", np.full(3000, 0.5))):
        drawn = [draw(p, 100, random_state=seed) for seed in range(60)]
        widths[name] = np.mean([audit(p, d, y[d.rows]).prior.width for d in drawn])
    assert widths["good"] < 0.6 * widths["none"]
    assert widths["noise"] < 1.15 * widths["none"]


def test_curves_are_audits_at_each_threshold(population):
    p, y = population
    drawn = draw(p, 100, random_state=0)
    found = curves(p, drawn, y[drawn.rows])
    assert [round(a.threshold, 2) for a in found] == [round(0.05 * i, 2) for i in range(1, 20)]
    assert found[9] == audit(p, drawn, y[drawn.rows], threshold=0.5)
    recalls = [a.recall.value for a in found]
    assert recalls[0] > recalls[9] > recalls[18]


def test_more_answers_are_expected_to_narrow_as_they_do(population):
    p, y = population
    drawn = draw(p, 100, random_state=0)
    found = audit(p, drawn, y[drawn.rows])
    later = draw(p, 400, random_state=0)
    real = audit(p, later, y[later.rows]).prior.width
    assert 0.6 * real < found.expected(300)["prior"] < 1.9 * real  # a census of half is better
    assert found.rows_for(found.prior.width) == 0
    assert found.rows_for(found.prior.width / 2) == 300


def test_an_audit_is_said_in_the_words_of_the_guide():
    figures = [AuditedEstimate(v, v - 0.1, v + 0.05, 60) for v in (0.25, 0.5, 0.75, 0.8)]
    found = Audit(*figures, None, 0.5, 60, 0, ("A note.",))
    assert str(found).splitlines() == [
        "share of positives 0.250 (0.150 to 0.300)",
        "precision          0.500 (0.400 to 0.550)",
        "recall             0.750 (0.650 to 0.800)",
        "accuracy           0.800 (0.700 to 0.850)",
        "A note.",
    ]


def test_few_answers_of_all_are_a_note_about_the_share_of_positives():
    p = np.linspace(0.1, 0.9, 9)
    found = audit(p, draw(p, 3, random_state=0), [1, 0, 0])
    words = "The share of positives rests on only 3 answered rows: its range is conservative."
    assert words in found.notes
    assert not any("prior" in note for note in found.notes)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([1.0, 2.0, 0.0], r"must be 1 \(yes\), 0 \(no\) or NaN"),
        ([1.0, 0.0], "a draw of 3 rows needs 3 answers"),
        (["yes", "no", "no"], "answers must be a list of numbers"),
    ],
)
def test_bad_answers_are_refused(answers, message):
    p = np.linspace(0.1, 0.9, 9)
    with pytest.raises(InputError, match=message):
        audit(p, draw(p, 3), answers)
    with pytest.raises(InputError, match="1 draws need as many lists of answers"):
        audit(p, [draw(p, 3)], [[1, 0, 0], [1]])
    with pytest.raises(InputError, match="known must hold 9 values"):
        audit(p, draw(p, 3), [1, 0, 0], known=[1.0])
