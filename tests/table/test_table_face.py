"""What the classifiers have, `TablePU` has: cuts, another prior, reasons, features, names."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.metrics import RocCurveDisplay

import nnpu
from nnpu import LinearPU, TablePU
from nnpu.parameters import InputError, ParameterError
from nnpu.report import ThresholdDisplay
from nnpu.report.html import floor_percent, render
from nnpu.table import as_batch
from nnpu.table.table_explain import reasons_of


def customers(n=400, seed=0):
    """Two classes that overlap a little; half of the positives are labelled."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "id": [f"c{number}" for number in range(n)],
            "amount": np.where(rng.random(n) < 0.05, np.nan, rng.normal(40 + 40 * fraud, 15)),
            "country": np.where(rng.random(n) < 0.3 + 0.3 * fraud, "A", "B"),
            "known": (fraud & (rng.random(n) < 0.5)).astype(int),
        }
    )


def every_kind():
    """A table with a column of each kind, in which both classes are."""
    table = customers()
    rng = np.random.default_rng(1)
    words = ["late", "refund", "parcel", "door", "thanks", "window", "paint", "brush", "lamp"]
    return table.assign(
        joined=pd.Timestamp("2024-01-01 06:00") + pd.to_timedelta(rng.integers(0, 9999, 400), "h"),
        active=rng.choice(["yes", "no", ""], 400),
        note=[" ".join(rng.choice(words, 6)) for _ in range(400)],
    )


@pytest.fixture(scope="module")
def table():
    return customers()


@pytest.fixture
def model(table):
    """Fresh for each test, since a cut changes it."""
    return TablePU(0.4, model="linear").fit(table, "known")


def test_a_cut_on_new_rows_is_that_of_the_classifier(model):
    new = customers(seed=1).dropna()  # rows without an amount equal rows of the fit
    scores = model.decision_function(new.drop(columns="known"))
    features = model.transform(new)
    wanted = deepcopy(model.classifier_).choose_threshold(features, new["known"], recall=0.9)
    found = model.choose_threshold(new, "known", recall=0.9)
    assert found == wanted
    assert model.threshold_ == found.value
    flagged = model.predict(new.drop(columns="known"))
    assert flagged.sum() == (scores > found.value).sum()
    labelled = new["known"].to_numpy() == 1
    assert flagged[labelled].mean() == pytest.approx(found.estimate)


def test_without_rows_the_cut_is_that_of_the_rows_that_judged_the_fit(model, table, tmp_path):
    before = model.holdout_
    found = model.choose_threshold(precision=0.9)
    assert model.holdout_.precision.value == pytest.approx(found.estimate)
    assert model.holdout_.flagged == (before.scores > found.value).sum()
    assert [row.name for row in model.holdout_.ranking.top] == [
        row.name for row in before.ranking.top
    ]
    again = nnpu.load(model.save(tmp_path / "m"))
    assert again.threshold_ == found.value
    assert again.holdout_.to_json() == model.holdout_.to_json()
    again.choose_threshold(at="prior")
    model.choose_threshold(at="prior")
    assert again.holdout_.to_json() == model.holdout_.to_json()
    assert again.holdout_.ranking.near == ()  # a folder keeps no names of other rows


def test_a_threshold_may_be_set_and_is_judged(model):
    model.threshold_ = 1.5
    assert model.holdout_.flagged == (model.holdout_.scores > 1.5).sum()
    with pytest.raises(ValueError, match="'threshold_' parameter of TablePU"):
        model.threshold_ = "high"


def test_a_cut_needs_both_rows_and_labels(model, table):
    with pytest.raises(InputError, match="or neither"):
        model.choose_threshold(table, recall=0.9)
    unjudged = TablePU(0.4, model="linear", holdout=0).fit(table, "known")
    with pytest.raises(InputError, match="fit kept no rows"):
        unjudged.choose_threshold(recall=0.9)
    biased = TablePU(0.4, labelled_by="country").fit(table, "known")
    with pytest.raises(InputError, match="assumes that labels were given at random"):
        biased.choose_threshold(recall=0.9)


def test_another_prior_moves_the_log_odds_by_the_difference_of_the_logits(model, table):
    rows = table.drop(columns="known")
    moved = model.shift_prior(0.1)
    before, after = (each.predict_proba(rows)[:, 1] for each in (model, moved))
    sure = (before < 1e-6) | (before > 1 - 1e-6)  # where 1 - p has no digits left
    step = logit(after[~sure]) - logit(before[~sure])
    np.testing.assert_allclose(step, logit(0.1) - logit(0.4), atol=1e-8)
    cut = model.classifier_.calibration_([model.threshold_])[0]  # the same probability
    np.testing.assert_array_equal(moved.predict(rows) == 1, after > cut)
    assert moved.predict(rows).sum() < model.predict(rows).sum()
    assert (moved.prior_, model.prior_) == (0.1, 0.4)
    assert moved.holdout_ is None
    assert model.holdout_ is not None


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_what_the_columns_add_is_the_score(table, kind):
    model = TablePU(0.4, model=kind, drop=["id"]).fit(table, "known")
    rows = table.drop(columns="known")
    why = model.explain(rows[:30], background=rows)
    assert why.columns == ["amount", "country"]
    scores = model.decision_function(rows[:30])
    np.testing.assert_allclose(why.base + why.values.sum(axis=1), scores, atol=1e-4)


def test_a_classifier_explains_as_a_table_does(table):
    x = table[["amount"]].fillna(0.0).assign(noise=0.0)
    clf = LinearPU(0.4, sampling="one-sample").fit(x, table["known"])
    why = clf.explain(x[:9])
    assert why.columns == ["amount", "noise"]
    np.testing.assert_allclose(why.base + why.values.sum(axis=1), clf.decision_function(x[:9]))
    assert not why.values[:, 1].any()


@pytest.mark.parametrize("kind", ["linear", "ensemble"])
def test_every_feature_has_a_name_of_its_own(kind):
    table = every_kind()
    model = TablePU(0.4, model=kind, holdout=0).fit(table, "known")
    names = model.get_feature_names_out().tolist()
    assert model.transform(table).shape == (len(table), len(names))
    assert len(set(names)) == len(names)
    kinds = {column.kind for column in model.columns_.columns}
    assert kinds == {"id", "number", "category", "date", "boolean", "text"}


def test_features_are_what_their_names_say(model, table):
    features = dict(zip(model.get_feature_names_out(), model.transform(table).T, strict=True))
    assert sorted(features) == ["amount", "amount (missing)", "country=A", "country=B"]
    np.testing.assert_array_equal(features["country=A"] == 1, table["country"] == "A")
    np.testing.assert_array_equal(features["amount (missing)"] == 1, table["amount"].isna())
    assert model.feature_names_in_.tolist() == ["id", "amount", "country"]
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("kind", ["linear", "ensemble"])
def test_an_array_of_mixed_cells_is_a_table(table, kind):
    frame = table.drop(columns=["known", "id"])
    cells = frame.to_numpy(dtype=object)
    named = frame.rename(columns={"amount": "x0", "country": "x1"})
    from_array = TablePU(0.4, model=kind).fit(cells, table["known"])
    from_frame = TablePU(0.4, model=kind).fit(named, table["known"])
    assert from_array.feature_names_in_.tolist() == ["x0", "x1"]
    expected = from_frame.decision_function(named)
    np.testing.assert_array_equal(from_array.decision_function(cells), expected)
    np.testing.assert_array_equal(from_array.predict(cells), from_frame.predict(named))
    judged = from_array.evaluate(cells, table["known"]).to_json()
    assert judged == from_frame.evaluate(named, table["known"]).to_json()
    one = np.array([[None, "A"]], dtype=object)  # no number at all
    assert np.isfinite(from_array.decision_function(one)).all()


def test_numbers_in_an_object_array_are_numbers_to_a_model_of_numbers():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.5
    x, s = rng.normal(2.0 * y[:, None], 1, (200, 3)), (y & (rng.random(200) < 0.5)).astype(int)
    model = TablePU(0.5, model="linear").fit(x, s)
    assert not hasattr(model, "feature_names_in_")
    assert model.get_feature_names_out().tolist() == ["x (0)", "x (1)", "x (2)"]
    np.testing.assert_array_equal(model.predict(x.astype(object)), model.predict(x))
    with pytest.raises(InputError, match="fitted to an array of numbers"):
        model.predict(np.array([["a", 1, 2]], dtype=object))


@pytest.mark.parametrize("kind", ["linear", "ensemble"])
def test_no_rows_give_an_empty_answer(kind):
    table = every_kind()
    model = TablePU(0.4, model=kind, holdout=0).fit(table, "known")
    for empty in (table[:0], table.drop(columns="known")[:0], pd.DataFrame(columns=table.columns)):
        assert model.predict(empty).shape == (0,)
        assert model.predict_proba(empty).shape == (0, 2)
        assert model.decision_function(empty).shape == (0,)
        width = len(model.get_feature_names_out())
        assert model.transform(empty).shape == (0, width)
    with pytest.raises(InputError, match="no column"):
        model.predict(table[:0].drop(columns=model.columns_.columns[1].name))
    with pytest.raises(InputError, match="The table has no rows"):
        TablePU(0.4).fit(table[:0], "known")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prior": 2}, "'prior' parameter of TablePU must be a float"),
        ({"prior": "half"}, "'prior' parameter of TablePU must be 'auto'"),
        ({"prior": (0.5,)}, "'prior' parameter of TablePU must be a number"),
        ({"prior": 0.05}, "'prior' parameter of TablePU must be greater than the share"),
        ({"random_state": "a"}, "'random_state' parameter of TablePU must be an int"),
        ({"verbose": -1}, "'verbose' parameter of TablePU must be an int"),
        ({"drop": "amount"}, r"'drop' parameter of TablePU must be a sequence of columns, such as"),
        ({"drop": 3}, "'drop' parameter of TablePU must be a sequence"),
    ],
)
@pytest.mark.parametrize("kind", ["linear", "ensemble", "trees", "biased"])
def test_an_error_names_the_class_that_was_called(table, parameters, message, kind):
    with pytest.raises(ParameterError, match=message):
        TablePU(model=kind, **parameters).fit(table, "known")


def test_an_inner_class_is_named_if_it_was_called(table):
    with pytest.raises(ParameterError, match="'prior' parameter of LinearPU"):
        LinearPU(2).fit(table[["amount"]].fillna(0), table["known"])


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ({"time": "day"}, "excluded (it orders the rows)"),
        ({"groups": "day"}, "excluded (it says which rows belong together)"),
        ({"drop": ["day"]}, "excluded (as requested)"),
        ({"time": "day", "drop": ["day"]}, "excluded (as requested)"),
    ],
)
def test_a_column_says_why_it_is_excluded(table, parameter, words, capsys):
    rows = table.assign(day=np.arange(len(table)) // 2)
    model = TablePU(0.4, model="linear", verbose=1, **parameter).fit(rows, "known")
    (day,) = [column for column in model.columns_.columns if column.name == "day"]
    assert day.description() == words
    assert words in capsys.readouterr().out


def test_one_cell_is_no_cells(table):
    model = TablePU(0.4, model="linear").fit(table, "known")
    new = customers(seed=1).drop(columns="known").astype({"amount": object})
    new.loc[5, "amount"] = "much"
    with pytest.warns(UserWarning, match=r"1 cell cannot be read \(row 6 is 'much'\)"):
        model.predict(new)
    new.loc[6, "amount"] = "much"
    with pytest.warns(UserWarning, match="2 cells cannot be read"):
        model.predict(new)


def test_no_rows_have_no_reasons(model, table):
    why = model.explain(table[:0])
    assert why.values.shape == (0, 2)
    assert why.columns == ["amount", "country"]


@pytest.mark.parametrize("parts", [1, 4])
def test_the_page_of_an_evaluation_shows_the_cells_that_matter(table, tmp_path, parts, monkeypatch):
    """Each listed row has its own cells, also of a file that is read in parts."""
    model = TablePU(0.4, model="linear").fit(table, "known")
    new = customers(seed=1)
    whole = as_batch(new)
    size = len(new) // parts
    batches = [
        replace(whole.take(np.arange(first, first + size)), first=first)
        for first in range(0, len(new), size)
    ]
    monkeypatch.setattr("nnpu.table.table_pu.stream_rows", lambda path, **how: iter(batches))
    found = model.evaluate("new.csv", "known")
    why = reasons_of(model, found)
    listed = {row.name for part in found.ranking for row in part}
    assert set(why) == listed
    cells = new.set_index("id")
    for name, words in why.items():
        amount = cells["amount"][name]
        shown = "(empty)" if np.isnan(amount) else f"{amount:.6g}"
        assert f"amount = {shown} (" in words
    text = render(model.report(found))
    assert all(f'<th scope="row">{name}</th>' in text for name in listed)
    assert text.count("amount\u00a0=\u00a0") == sum(len(part) for part in found.ranking)


def test_a_page_shows_the_probability_that_predictions_have(table):
    """Also where fewer rows are labelled than in the fit: the share of the fit is meant."""
    model = TablePU(0.4, model="linear").fit(table, "known")
    new = customers(seed=1).dropna()
    new.loc[new.index[::2], "known"] = 0
    found = model.evaluate(new, "known")
    shown = dict(zip(new["id"], model.predict_proba(new)[:, 1], strict=True))
    text = render(model.report(found))
    for row in found.ranking.top:
        line = text[text.index(f'<th scope="row">{row.name}</th>') :].split("</tr>")[0]
        assert f"<td>{floor_percent(shown[row.name])}</td>" in line


def test_displays_take_a_table_s_model(model):
    new = customers(seed=1)
    shown = ThresholdDisplay.from_estimator(model, new, "known", plot=False)
    assert shown.threshold == model.threshold_
    pytest.importorskip("matplotlib").use("Agg")
    display = RocCurveDisplay.from_estimator(model, new.drop(columns="known"), new["known"])
    assert display.roc_auc > 0.6


@pytest.mark.filterwarnings("ignore:scoring=")
def test_tables_are_cross_validated_by_pu_scorers():
    """The model inside is given its prior within a fit; that is no search over the prior."""
    from sklearn.model_selection import cross_val_score

    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.4
    X = pd.DataFrame({"size": rng.normal(3.0 * y, 1)})
    s = (y & (rng.random(200) < 0.5)).astype(int)
    model = TablePU(0.4, model="linear", verbose=0)
    found = cross_val_score(model, X, s, cv=2, scoring="pu_f1", error_score="raise")
    assert (found > 0.5).all()
