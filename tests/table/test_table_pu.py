"""TablePU: the whole job from Python, and the same bits as the commands."""

from __future__ import annotations

import errno
import json
import os
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.base import clone

import nnpu
from nnpu import TablePU
from nnpu.cli import main
from nnpu.parameters import InputError, ParameterError
from nnpu.report.html import render
from nnpu.table.fit_rows import set_aside


def customers(n=400, seed=0):
    """Two classes that overlap a little; half of the positives are labelled."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "id": [f"c{number}" for number in range(n)],
            "amount": np.where(rng.random(n) < 0.05, np.nan, rng.normal(40 + 40 * fraud, 15)),
            "country": rng.choice(["A", "B", "C"], n),
            "branch": rng.integers(0, 20, n).astype(str),
            "day": np.arange(n),
            "known": np.where(fraud & (rng.random(n) < 0.5), 1.0, np.nan),
        }
    )


@pytest.fixture(scope="module")
def table():
    return customers()


@pytest.fixture(scope="module")
def model(table):
    return TablePU(0.4, model="linear").fit(table, "known")


def test_every_kind_of_table_gives_the_same_bits(table, model, tmp_path):
    expected = model.decision_function(table)
    table.to_csv(tmp_path / "t.csv", index=False)
    arrow = pa.csv.read_csv(tmp_path / "t.csv")
    for same in (pl.from_pandas(table), arrow, tmp_path / "t.csv", str(tmp_path / "t.csv")):
        np.testing.assert_array_equal(model.decision_function(same), expected)


SAME_BITS = [
    ([], {}),
    (["--prior", "0.4"], {"prior": 0.4}),
    (["--prior", "30%-50%"], {"prior": (0.3, 0.5)}),
    (["--labelled", "0.5", "--label-bias", "3"], {"labelled": 0.5, "label_bias": 3}),
    (["--prior", "0.4", "--sampling", "two-sample"], {"prior": 0.4, "sampling": "two-sample"}),
    (["--seed", "3", "--drop", "country"], {"random_state": 3, "drop": ("country",)}),
    (["--keep", "branch"], {"keep": ("branch",)}),
    (["--groups", "branch"], {"groups": "branch"}),
    (["--time", "day", "--id", "id"], {"time": "day", "id": "id"}),
    (["--positive", "1"], {"pos_label": "1"}),
    (["--sep", ",", "--decimal", ".", "--encoding", "utf-8"], {"sep": ",", "decimal": "."}),
]
#: Options that other tests compare with Python, and those that no number depends on.
ELSEWHERE = {"--label", "--model", "--epochs", "--parallel", "--images", "--image-size"} | {
    *("--answers", "--config", "--dask", "--known", "--labelled-by", "--sheet"),
    *("--out", "--report", "--verbose", "--json"),
}


TWO_TABLES = {"--positives", "--unlabelled"}  # fit_two, which has tests of its own


def test_every_option_of_a_fit_is_compared_with_python():
    from nnpu.cli.fit import fit

    options = {name for each in fit.params for name in each.opts if name.startswith("--")}
    compared = {word for words, _ in SAME_BITS for word in words if word.startswith("--")}
    assert compared | ELSEWHERE | TWO_TABLES == options
    assert not compared & ELSEWHERE


@pytest.mark.filterwarnings("ignore:About .* of these rows are rows of the fit")  # with --time
@pytest.mark.filterwarnings("ignore:The ids .* come from one list")  # in two samples
@pytest.mark.parametrize(("options", "parameters"), SAME_BITS, ids=str)
def test_the_command_and_python_give_the_same_bits(table, tmp_path, capsys, options, parameters):
    table.to_csv(tmp_path / "t.csv", index=False)
    command = ["fit", str(tmp_path / "t.csv"), "--label", "known", "--model", "linear"]
    main([*command, "--out", str(tmp_path / "m"), *options])
    here = TablePU(model="linear", **parameters).fit(tmp_path / "t.csv", "known")
    there = nnpu.load(tmp_path / "m")
    assert there.prior_ == here.prior_
    np.testing.assert_array_equal(there.decision_function(table), here.decision_function(table))
    np.testing.assert_array_equal(there.predict_proba(table), here.predict_proba(table))
    assert there.holdout_.metrics == here.holdout_.metrics
    assert there.holdout_.to_json() == here.holdout_.to_json()
    capsys.readouterr()
    main(["evaluate", str(tmp_path / "m"), str(tmp_path / "t.csv"), "--label", "known", "--json"])
    said = json.loads(capsys.readouterr().out)
    found = here.evaluate(table, "known").to_json()
    assert {name: said[name] for name in found} == found


def test_columns_that_decided_who_was_labelled_give_the_same_bits(table, tmp_path, capsys):
    table.to_csv(tmp_path / "t.csv", index=False)
    command = ["fit", str(tmp_path / "t.csv"), "--label", "known", "--labelled-by", "country"]
    main([*command, "--prior", "0.4", "--out", str(tmp_path / "m")])
    here = TablePU(0.4, labelled_by="country").fit(tmp_path / "t.csv", "known")
    there = nnpu.load(tmp_path / "m")
    assert type(there.classifier_).__name__ == "BiasedLabelPU"
    np.testing.assert_array_equal(there.decision_function(table), here.decision_function(table))
    assert there.holdout_.to_json() == here.holdout_.to_json()


def test_the_default_is_the_ensemble_with_gaps_and_categories_as_they_are(table, tmp_path, capsys):
    table.to_csv(tmp_path / "t.csv", index=False)
    main(["fit", str(tmp_path / "t.csv"), "--label", "known", "--out", str(tmp_path / "m")])
    here, there = TablePU().fit(tmp_path / "t.csv", "known"), nnpu.load(tmp_path / "m")
    assert type(there.classifier_).__name__ == "EnsemblePU"
    assert there.classifier_.n_features_in_ == len(there.columns_.raw_names)
    np.testing.assert_array_equal(there.predict_proba(table), here.predict_proba(table))
    assert there.holdout_.metrics == here.holdout_.metrics


def test_a_saved_model_knows_its_columns_and_what_was_set_aside(table, model, tmp_path):
    same = nnpu.load(model.save(tmp_path / "m"))
    assert isinstance(same, TablePU)
    np.testing.assert_array_equal(same.predict(table), model.predict(table))
    assert same.holdout_.metrics == model.holdout_.metrics
    assert same.report().title == "Report"


def test_the_figures_of_all_rows_are_those_of_the_metrics(table, model):
    """They rest on the score alone: every labelled row is predicted positive, which judges none."""
    s = np.where(table["known"] == 1, 1, 0)
    how = {"prior": 0.4, "sampling": "one-sample"}
    flagged = model.decision_function(table) > model.classifier_.threshold_
    assert model.holdout_.accuracy.value == nnpu.metrics.pu_accuracy(s, flagged, **how)
    assert model.holdout_.recall[1:] == nnpu.metrics.interval("pu_recall", s, flagged, **how)
    assert (model.holdout_.rows, model.holdout_.labelled) == (len(table), s.sum())
    assert model.predict(table)[s == 1].all()
    assert not flagged[s == 1].all()


def test_rows_set_aside_are_judged_by_the_model_itself(table):
    model = TablePU(0.4, model="linear", time="day").fit(table, "known")
    rows = table[set_aside(np.where(table["known"] == 1, 1, 0), 0.2, 0, time=table["day"])]
    s = np.where(rows["known"] == 1, 1, 0)
    flagged = model.decision_function(rows) > model.classifier_.threshold_
    how = {"prior": 0.4, "sampling": "one-sample"}
    assert model.holdout_.fold is None
    assert model.holdout_.accuracy.value == nnpu.metrics.pu_accuracy(s, flagged, **how)
    assert (model.holdout_.rows, model.holdout_.labelled) == (len(rows), s.sum())


def test_rows_of_the_fit_have_the_scores_that_judged_them_where_their_labels_are_known(
    table, model
):
    features = table.drop(columns="known")
    np.testing.assert_array_equal(model.decision_function(table), model.holdout_.scores)
    assert not np.array_equal(model.decision_function(features), model.holdout_.scores)
    np.testing.assert_array_equal(
        model.predict_proba(features, table["known"]), model.predict_proba(table)
    )
    found = model.evaluate(features, table["known"])
    np.testing.assert_array_equal(found.scores, model.holdout_.scores)


def test_labels_may_be_given_as_an_array(table, model):
    features = table.drop(columns="known")
    same = TablePU(0.4, model="linear").fit(features, table["known"])
    np.testing.assert_array_equal(
        same.decision_function(features), model.decision_function(features)
    )
    np.testing.assert_array_equal(
        same.predict_proba(features, table["known"]), model.predict_proba(table)
    )
    assert same.evaluate(features, table["known"]).metrics == model.evaluate(table, "known").metrics


def test_an_unknown_prior_is_said_first_and_widens_the_figures(table):
    model = TablePU(model="linear").fit(table, "known")
    found, given = model.holdout_, model.evaluate(table, "known")
    estimate = model.prior_estimate_
    assert (found.prior.low, found.prior.high) == (estimate.low, estimate.high)
    assert not found.prior_known
    assert "NOT KNOWN" in found.figures()[0]
    s = np.where(table["known"] == 1, 1, 0)
    flagged = model.decision_function(table) > model.classifier_.threshold_
    narrow = nnpu.metrics.interval(
        "pu_precision", s, flagged, prior=model.prior_, sampling="one-sample"
    )
    assert given.precision.low < narrow[0]
    assert given.precision.high > narrow[1]


@pytest.mark.parametrize(
    ("rows", "latest"),
    [((30, 30, 40), 40), ((50, 35, 15), 15), ((60, 18, 22), 22), ((95, 5), 5), ((10, 90), 90)],
)
def test_rows_of_one_time_stay_on_one_side(rows, latest):
    year = np.repeat(2020.0 + np.arange(len(rows)), rows)
    s = np.tile([1, 0], 50)
    chosen = set_aside(s, 0.2, 0, time=year)
    assert chosen.sum() == latest
    assert year[chosen].min() > year[~chosen].max()


def test_one_time_cannot_split_the_rows():
    with pytest.raises(InputError, match="all of them have the same time"):
        set_aside(np.tile([1, 0], 50), 0.2, 0, time=np.full(100, 2024.0))


def test_groups_stay_together_and_time_takes_the_latest(table):
    s = np.where(table["known"] == 1, 1, 0)
    by_group = set_aside(s, 0.2, 0, groups=table["branch"])
    assert 0 < by_group.sum() < len(s)
    assert set(table["branch"][by_group]).isdisjoint(table["branch"][~by_group])
    by_time = set_aside(s, 0.2, 0, time=table["day"].to_numpy(float))
    assert table["day"][by_time].min() > table["day"][~by_time].max()


def test_few_labelled_rows_are_all_used_and_nothing_is_claimed(capsys):
    table = customers(60)
    table["known"] = np.where(np.arange(60) % 15 == 7, 1.0, np.nan)
    model = TablePU(0.4, model="linear", verbose=1).fit(table, "known")
    assert model.holdout_ is None
    assert "none is set aside" in capsys.readouterr().out
    assert "no rows could be used to judge it" in model.report()._repr_html_()


def test_a_report_shows_itself_and_is_written(table, model, tmp_path):
    html = model.report()._repr_html_()
    assert html.startswith("<iframe")
    for title in ("The unlabelled rows", "All rows, if labels were given at random"):
        assert title in html
    path = model.report(model.evaluate(table, "known"), title="New rows").save(tmp_path / "r.html")
    assert "<h1>New rows</h1>" in path.read_text()
    assert "Unlabelled rows: 323. Positive among them: 83" in model.holdout_._repr_html_()
    assert model.holdout_.table.column_names == ["metric", "value", "low", "high"]


def test_a_page_that_cannot_be_drawn_does_not_cost_the_model(table, tmp_path, monkeypatch, capsys):
    def fail(*arguments, **options):
        raise ValueError("no such colour")

    monkeypatch.setattr("nnpu.table.run.fit_page", fail)
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--model", "linear", "--prior", "0.4", "--out", str(tmp_path / "m")]
    main(["fit", str(tmp_path / "t.csv"), "--label", "known", *options])
    assert "could not be drawn: no such colour" in capsys.readouterr().err
    assert nnpu.load(tmp_path / "m").prior_ == 0.4


def test_no_room_for_the_report_leaves_the_model_and_says_so(table, tmp_path, monkeypatch, capsys):
    def fail(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("nnpu.table.run.fit_page", fail)
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--model", "linear", "--prior", "0.4", "--out", str(tmp_path / "m")]
    with pytest.raises(SystemExit, match="2"):
        main(["fit", str(tmp_path / "t.csv"), "--label", "known", *options])
    said = " ".join(capsys.readouterr().err.split())
    assert "The model is saved, but not its report (No space left on device); make room" in said
    assert nnpu.load(tmp_path / "m").prior_ == 0.4


def test_a_calibration_that_fails_leaves_the_figures(table, monkeypatch):
    def fail(*arguments):
        raise InputError("too few")

    monkeypatch.setattr("nnpu.table.holdout.calibration", fail)
    assert TablePU(0.4, model="linear").fit(table, "known").holdout_ is not None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"model": "forest"}, "'model' parameter of TablePU must be"),
        ({"model": object()}, "'model' parameter of TablePU must be"),
        ({"sampling": "three"}, "'sampling' parameter of TablePU"),
        ({"holdout": 0.9}, "'holdout' parameter of TablePU"),
        ({"groups": "branch", "time": "day"}, "must not both be given"),
    ],
)
def test_a_bad_parameter_is_named(table, parameters, message):
    with pytest.raises(ParameterError, match=message):
        TablePU(0.4, **parameters).fit(table, "known")


@pytest.mark.parametrize(
    ("rows", "s", "message"),
    [
        (lambda t: t, "fraud", "no column 'fraud'"),
        (lambda t: t, [1, 0], "2 labels for 400 rows"),
        (lambda t: object(), "known", "is needed. Got object"),
        (lambda t: np.zeros(3), [1, 0, 0], "two dimensions"),
        (lambda t: t.assign(known=1), "known", "no row is unlabelled"),
        (lambda t: t.assign(known=np.nan), "known", "no row is labelled"),
    ],
)
def test_a_bad_table_is_named(table, rows, s, message):
    with pytest.raises(InputError, match=message):
        TablePU(0.4, model="linear").fit(rows(table), s)


def test_it_is_a_scikit_learn_estimator(table, model):
    assert clone(model).get_params()["prior"] == 0.4
    assert isinstance(model.score(table, "known"), float)
    with pytest.raises(Exception, match="not fitted"):
        TablePU().predict(table)


def test_arrays_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.5
    X, s = rng.normal(2.0 * y[:, None], 1, (200, 3)), (y & (rng.random(200) < 0.5)).astype(int)
    model = TablePU(0.5, model="linear").fit(X, s)
    assert np.mean(model.predict(X) == y) > 0.9


def test_the_pages_count_missing_and_new_cells_of_each_column():
    """Fit: 20 of 200 ages are missing. Judged: 7 of 50 are, and 5 towns are new."""
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.5
    age = np.where(np.arange(200) % 10 == 0, None, rng.normal(3.0 * y, 1).round(2))
    town = np.where(rng.random(200) < 0.5, "Ulm", "Bonn")
    s = (y & (rng.random(200) < 0.5)).astype(int)
    model = TablePU(0.5, model="linear", holdout=0.0)
    model.fit(pa.table({"age": age.tolist(), "town": town, "s": s}), "s")
    text = render(model.report())
    assert "fitted to." in text
    assert _cells_of(text, "age") == ["20", "\u2013"]
    assert _cells_of(text, "town") == ["0", "0"]
    age[:50][:7] = None
    age[7:50] = 1.0
    town = np.where(np.arange(50) < 5, "Rome", "Ulm")
    found = model.evaluate(pa.table({"age": age[:50].tolist(), "town": town, "s": s[:50]}), "s")
    text = render(model.report(found))
    assert "in these 50 rows" in text
    assert _cells_of(text, "age") == ["7", "\u2013"]
    assert _cells_of(text, "town") == ["0", "5"]


def _cells_of(text, column):
    """The two counts of a column in the table of columns."""
    row = text.split('id="columns"')[1].split(f'<th scope="row">{column}</th>')[1].split("</tr>")[0]
    return re.findall(r"<td>(.*?)</td>", row)[1:]


def two_tables(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(300) < 0.4
    u = pd.DataFrame({"size": rng.normal(3.0 * y, 1), "town": np.where(y, "a", "b")})
    p = pd.DataFrame({"town": ["a"] * 80, "size": rng.normal(3, 1, 80)})  # in another order
    return p, u


def test_two_tables_are_one_with_labels_and_two_samples():
    p, u = two_tables()
    one = TablePU(0.4, model="linear").fit_two(p, u)
    s = np.repeat([0, 1], [300, 80])
    how = {"model": "linear", "sampling": "two-sample"}
    other = TablePU(0.4, **how).fit(pd.concat([u, p]).reset_index(drop=True), s)
    assert one.sampling == one.sampling_ == "two-sample"
    new = two_tables(seed=1)[1]  # rows of the fit have the scores that judged them
    assert np.array_equal(one.decision_function(new), other.decision_function(new))


def test_two_tables_from_files(tmp_path):
    p, u = two_tables()
    paths = tmp_path / "p.csv", tmp_path / "u.csv"
    p.to_csv(paths[0], index=False)
    u.to_csv(paths[1], index=False)
    model = TablePU(0.4, model="linear").fit_two(*paths)
    assert (model.n_labelled_, model.n_unlabelled_) == (80, 300)


def test_what_two_tables_do_not_share_is_named():
    p, u = two_tables()
    with pytest.warns(UserWarning, match="only the positives' table has it: 'source'"):
        model = TablePU(0.4, model="linear").fit_two(p.assign(source="register"), u)
    assert [column.name for column in model.columns_.columns] == ["size", "town"]
    with pytest.raises(InputError, match="no column in common"):
        TablePU(0.4).fit_two(p.rename(columns={"town": "x", "size": "y"}), u)
    with pytest.raises(InputError, match="'size' is of two types"):
        TablePU(0.4).fit_two(p.assign(size="large"), u)
    excluded = TablePU(0.4, model="linear", drop=["size"]).fit_two(p.assign(size="large"), u)
    assert [(c.name, c.kind) for c in excluded.columns_.columns] == [
        ("size", "dropped"),
        ("town", "category"),
    ]
    excluded.predict(u)
    with pytest.raises(InputError, match="positives has fewer than two rows"):
        TablePU(0.4).fit_two(p[:1], u)


def test_a_category_that_the_two_tables_spell_otherwise_is_noticed():
    p, u = two_tables()
    towns = np.random.default_rng(1).choice(["a", "b", "c"], 380)
    p, u = p.assign(town=np.char.upper(towns[300:])), u.assign(town=towns[:300])
    with pytest.warns(UserWarning, match="'town': such a column alone almost separates"):
        TablePU(0.4, model="linear").fit_two(p, u)
    TablePU(0.4, model="linear").fit_two(p.assign(town=towns[300:]), u)  # warnings are errors


def test_many_rare_categories_in_capitals_are_noticed_too():
    p, u = two_tables()
    towns = np.random.default_rng(1).choice([f"t{i}" for i in range(30)], 380)
    p, u = p.assign(town=np.char.upper(towns[300:])), u.assign(town=towns[:300])
    with pytest.warns(UserWarning, match="'town': such a column alone almost separates"):
        TablePU(0.4, model="linear", keep=["town"]).fit_two(p, u)
    left_out = TablePU(0.4, model="linear").fit_two(p, u)  # as an id that repeats
    assert [column.kind for column in left_out.columns_.columns] == ["number", "dropped"]
    names = [f"unique {i}" for i in range(380)]
    TablePU(0.4, model="linear").fit_two(p.assign(town=names[300:]), u.assign(town=names[:300]))


def test_a_number_that_stands_for_a_gap_in_one_table_alone_is_noticed():
    p, u = two_tables()
    rng = np.random.default_rng(2)
    age = rng.normal(50, 10, 380).round(1)
    p, u = p.assign(age=age[300:]), u.assign(age=age[:300])
    TablePU(0.4, model="linear").fit_two(p, u)  # warnings are errors here
    p.loc[:29, "age"], u.loc[:99, "age"] = -1, np.nan
    with pytest.warns(UserWarning, match="'age': such a column alone almost separates"):
        TablePU(0.4, model="linear").fit_two(p, u)


def test_tables_with_other_decimal_marks_give_the_same_model(tmp_path):
    p, u = two_tables()
    paths = [tmp_path / name for name in ("p.csv", "u.csv", "german.csv")]
    p.to_csv(paths[0], index=False)
    u.to_csv(paths[1], index=False)
    u.to_csv(paths[2], index=False, sep=";", decimal=",")
    alike = TablePU(0.4, model="linear").fit_two(*paths[:2])
    other = TablePU(0.4, model="linear").fit_two(paths[0], paths[2])
    assert [column.kind for column in other.columns_.columns] == ["number", "category"]
    assert np.array_equal(alike.decision_function(u), other.decision_function(u))


def test_dates_in_another_order_in_the_other_table_are_refused():
    p, u = two_tables()
    days = pd.date_range("2024-01-01", periods=380).to_series().sample(frac=1, random_state=0)
    p = p.assign(day=days[300:].dt.strftime("%m/%d/%Y").to_numpy())
    first = u.assign(day=days[:300].dt.strftime("%d/%m/%Y").to_numpy())
    with pytest.raises(InputError, match="'day': dates begin with the day in the unlabelled table"):
        TablePU(0.4, model="linear").fit_two(p, first)
    alike = u.assign(day=days[:300].dt.strftime("%m/%d/%Y").to_numpy())
    assert TablePU(0.4, model="linear").fit_two(p, alike).columns_.columns[2].kind == "date"


TAKEN_OUT = "40 of the 300 unlabelled rows are labelled positives too and are no longer counted"


def test_positives_in_the_unlabelled_table_are_taken_out_of_it():
    """Of 300 rows 120 were positive: without 40 of them 80 of 260 are."""
    _, u = two_tables()
    p = u[u.town == "a"][:40]
    with pytest.warns(UserWarning, match=TAKEN_OUT):
        model = TablePU(0.4, model="linear").fit_two(p, u)
    assert (model.n_labelled_, model.n_unlabelled_) == (40, 260)
    assert model.prior_ == pytest.approx(80 / 260)
    rest = TablePU(80 / 260, model="linear").fit_two(p, u.drop(index=p.index))
    assert np.array_equal(model.decision_function(u), rest.decision_function(u))


def test_positives_among_the_unlabelled_rows_of_two_samples_in_one_table_are_taken_out():
    _, u = two_tables()
    p = u[u.town == "a"][:40]
    s = np.repeat([1, 0], [len(p), len(u)])
    with pytest.warns(UserWarning, match=TAKEN_OUT):
        model = TablePU((0.3, 0.5), model="linear", sampling="two-sample").fit(pd.concat([p, u]), s)
    assert model.n_unlabelled_ == 260
    assert 50 / 260 <= model.prior_ <= 110 / 260


def test_an_equal_id_makes_a_positive_one_of_the_unlabelled_rows_where_most_cells_agree():
    _, u = two_tables()
    u = u.assign(key=[f"r{i}" for i in range(len(u))])
    p = u[u.town == "a"][:40].copy()
    p.iloc[:5, p.columns.get_loc("size")] += 1.0  # measured again
    with pytest.warns(UserWarning, match=TAKEN_OUT):
        model = TablePU(0.4, model="linear", id="key").fit_two(p, u)
    assert model.n_unlabelled_ == 260


def test_two_tables_that_number_their_rows_share_no_row():
    p, u = two_tables()
    p, u = (rows.assign(id=np.arange(len(rows))) for rows in (p, u))
    model = TablePU(0.4, model="linear").fit_two(p, u)  # warnings are errors here
    assert (model.n_unlabelled_, model.prior_) == (len(u), 0.4)


def test_a_prior_below_the_known_positives_among_the_unlabelled_rows_is_refused():
    _, u = two_tables()
    p = u[u.town == "a"][:40]
    with (
        pytest.warns(UserWarning, match=TAKEN_OUT),
        pytest.raises(InputError, match=r"more than the prior allows \(0\.1\)"),
    ):
        TablePU(0.1, model="linear").fit_two(p, u)


def test_unlabelled_rows_that_are_all_labelled_too_are_refused():
    p, _ = two_tables()
    with pytest.raises(InputError, match="Every unlabelled row is a labelled one too"):
        TablePU(0.4, model="linear").fit_two(p, p[:60])


def test_equal_rows_of_a_table_of_few_categories_are_chance():
    rng = np.random.default_rng(0)
    u = pd.DataFrame({"a": rng.choice(["x", "y"], 200), "b": rng.choice(["x", "y"], 200)})
    p = pd.DataFrame({"a": rng.choice(["x", "y"], 60, p=[0.8, 0.2]), "b": ["x"] * 60})
    TablePU(0.4, model="linear").fit_two(p, u)  # warnings are errors here
