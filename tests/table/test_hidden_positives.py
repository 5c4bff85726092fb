"""Hidden positives of a table, end to end: judgement, probabilities, lists, cuts, answers."""

from __future__ import annotations

import csv
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import expit

import nnpu
from nnpu import EnsemblePU, TablePU
from nnpu.cli import main
from nnpu.data import formats
from nnpu.data import text_files as csvfile
from nnpu.hidden import unlabelled_probability
from nnpu.parameters import InputError, ParameterError
from nnpu.report.verdict import verdict
from nnpu.table import fit_rows, predictions
from nnpu.table.table_review import list_findings, table_review

N = 800
QUICK = EnsemblePU(members=["products", "boosted-kl"])
FIGURES = ("share", "precision", "recall", "auc")


def customers(n=N, seed=0, chance=0.5):
    """A table of which 35 % are positive and half of these labelled, and the true classes."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.35
    table = pd.DataFrame(
        {
            "id": [f"c{number}" for number in range(n)],
            "amount": rng.normal(40 + 25 * y, 15).round(3),
            "country": rng.choice(["A", "B", "C"], n),
            "visits": rng.normal(y, 1).round(3),
            "known": (y & (rng.random(n) < chance)).astype(int),
        }
    )
    return table, y


def biased(n=1200, seed=0):
    """Clear cases are labelled far more often than others; the prior is 30 %."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    x = rng.normal(1.5 * y[:, None], 1, (n, 2))
    s = y & (rng.random(n) < expit(2 * (x[:, 0] - 1.5)))
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "known": s.astype(int)}), y


@pytest.fixture(scope="module")
def table():
    return customers()[0]


@pytest.fixture(scope="module")
def truth():
    return customers()[1]


@pytest.fixture(scope="module")
def model(table):
    return TablePU(0.35, model="linear").fit(table, "known")


@pytest.fixture(scope="module")
def auto(table):
    """The default: the ensemble, and a prior that is estimated."""
    return TablePU().fit(table, "known")


@pytest.fixture(scope="module")
def files(table, model, tmp_path_factory):
    """The table and the model as files."""
    folder = tmp_path_factory.mktemp("hidden")
    table.to_csv(folder / "t.csv", index=False)
    model.save(folder / "m")
    return folder


def run(*arguments):
    """Run a command and return its exit status."""
    try:
        return main([str(each) for each in arguments]) or 0
    except SystemExit as error:
        return error.code


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def same(one, other):
    """Compare everything that is said about the unlabelled rows."""
    for a, b in ((one, other), (one.at_random, other.at_random)):
        for name in FIGURES:
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        for n in (20, 100):
            assert a.top(n) == b.top(n)
            assert a.found(n) == b.found(n)
    assert one.identified == other.identified
    assert one.contradicted == other.contradicted
    assert one.flagged == other.flagged


# --- how it is judged ------------------------------------------------------------------------


def test_a_table_is_judged_by_all_of_its_rows(model, auto, table):
    for each in (model, auto):
        assert each.holdout_.rows == N
        assert np.unique(each.holdout_.fold).size == 5
        np.testing.assert_array_equal(each.holdout_.s, table["known"])
        assert each.holdout_.hidden.rows == np.sum(table["known"] == 0)


def test_a_large_table_is_judged_by_rows_set_aside(table, monkeypatch):
    monkeypatch.setattr(fit_rows, "MOST_ROWS", N - 1)
    found = TablePU(0.35, model="linear").fit(table, "known").holdout_
    assert found.fold is None
    assert found.rows == N / 5


def test_a_table_in_order_of_time_is_judged_by_its_latest_rows(table):
    timed = table.assign(day=np.arange(N))
    found = TablePU(0.35, model="linear", time="day").fit(timed, "known").holdout_
    assert found.fold is None
    assert found.rows == N / 5


def test_a_network_is_judged_by_rows_set_aside(table):
    quick = nnpu.PUClassifier(epochs=1)
    found = TablePU(0.35, model=quick).fit(table, "known").holdout_
    assert found.fold is None
    assert found.rows == N / 5


def test_no_holdout_judges_nothing(table):
    model = TablePU(0.35, model="linear", holdout=0).fit(table, "known")
    assert model.holdout_ is None
    assert model.predict(table).shape == (N,)


def test_groups_that_cannot_be_split_leave_a_model_that_predicts(table):
    one = table.assign(site="only")
    model = TablePU(0.35, model="linear", groups="site").fit(one, "known")
    assert model.holdout_ is None
    assert 0 < model.predict(one).mean() < 1


def test_a_seed_gives_the_same_judgement(table):
    one, other = (TablePU(model=QUICK).fit(table, "known").holdout_ for _ in range(2))
    same(one.hidden, other.hidden)


def test_ranges_hold_where_labels_were_given_at_random(auto, truth, table):
    hidden = truth & (table["known"] == 0).to_numpy()
    u = (table["known"] == 0).to_numpy()
    share = hidden.sum() / u.sum()
    found = auto.holdout_.hidden
    first = np.flatnonzero(u)[np.argsort(-auto.holdout_.scores[u], kind="stable")[:50]]
    for each in (found, found.at_random):
        assert each.share.low <= share <= each.share.high
    assert found.at_random.top(50).low <= truth[first].mean() <= found.at_random.top(50).high
    assert found.top(50).value < found.at_random.top(50).value
    assert auto.holdout_.top(50) == found.top(50)


# --- probabilities ---------------------------------------------------------------------------


def test_an_unlabelled_row_is_less_likely_positive_than_its_cells_say(model, table):
    """f (1 − c) / (1 − c f) with c = labelled share / prior; labelled rows have 1."""
    s = table["known"].to_numpy()
    c = s.mean() / 0.35
    assert model.labelled_share_ == pytest.approx(c)
    f = np.asarray(model.classifier_.calibration_(model.decision_function(table)))
    expected = np.where(s == 1, 1.0, f * (1 - c) / (1 - c * f))
    found = model.predict_proba(table, "known")
    np.testing.assert_allclose(found[:, 1], expected)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found[s == 0, 1].mean() < f[s == 0].mean()


def test_the_label_column_and_labels_beside_the_table_are_the_same(model, table):
    expected = model.predict_proba(table)
    np.testing.assert_array_equal(model.predict_proba(table, "known"), expected)
    np.testing.assert_array_equal(model.predict_proba(table, table["known"]), expected)
    bare = table.drop(columns="known")
    np.testing.assert_array_equal(model.predict_proba(bare, table["known"]), expected)
    np.testing.assert_array_equal(
        model.predict(bare, table["known"]), model.predict(table, "known")
    )


def test_new_rows_without_the_column_keep_what_their_cells_say(model, table):
    bare = customers(seed=1)[0].drop(columns="known")
    f = np.asarray(model.classifier_.calibration_(model.decision_function(bare)))
    np.testing.assert_array_equal(model.predict_proba(bare)[:, 1], f)
    known = np.zeros(N)
    np.testing.assert_allclose(
        model.predict_proba(bare, known)[:, 1], unlabelled_probability(f, model.labelled_share_)
    )


def test_the_mean_probability_is_the_share_of_positives_among_unlabelled_rows(table, truth):
    model = TablePU(truth.mean(), model=QUICK).fit(table, "known")
    u = (table["known"] == 0).to_numpy()
    mean = model.predict_proba(table)[u, 1].mean()
    assert mean == pytest.approx(truth[u].mean(), abs=0.04)


def test_labelled_rows_are_positive_and_known_negatives_are_not(model, table):
    s = table["known"].to_numpy().copy()
    s[:5] = -1
    assert (model.predict(table, s)[s == 1] == 1).all()
    assert (model.predict(table, s)[:5] == 0).all()
    assert (model.predict_proba(table, s)[:5, 1] == 0).all()


def test_what_is_predicted_is_what_is_judged(model, auto, table):
    """The hidden recall is of the very rows that `predict` flags, here and in other tables."""
    u = (table["known"] == 0).to_numpy()
    other = customers(seed=2, chance=0.2)[0]
    for each in (model, auto):
        assert each.predict(table)[u].sum() == each.holdout_.hidden.flagged
        found = each.evaluate(other, "known")
        free = (other["known"] == 0).to_numpy()
        assert each.predict(other)[free].sum() == found.hidden.flagged


def test_a_cut_flags_where_the_shown_probability_passes_that_of_the_threshold(model, table):
    at = float(model.classifier_.calibration_([model.classifier_.threshold_])[0])
    u = (table["known"] == 0).to_numpy()
    p = model.predict_proba(table)[u, 1]
    np.testing.assert_array_equal(model.predict(table)[u] == 1, p > at)


def test_rows_of_the_fit_have_the_scores_that_judged_them(model, auto, table):
    bare = table.drop(columns="known")
    for each in (model, auto):
        np.testing.assert_array_equal(each.decision_function(table), each.holdout_.scores)
        assert (each.decision_function(bare) != each.holdout_.scores).any()


def test_an_array_with_its_labels_has_the_scores_that_judged_it(table):
    x, s = table[["amount", "visits"]].to_numpy(), table["known"].to_numpy()
    model = TablePU(0.35, model="linear").fit(x, s)
    f = model.classifier_.calibration_(model.holdout_.scores)
    expected = unlabelled_probability(f, model.labelled_share_)
    np.testing.assert_allclose(model.predict_proba(x, s)[s == 0, 1], expected[s == 0])
    with pytest.raises(InputError, match=r"labels for .* rows"):
        model.predict_proba(x, s[:-1])


@pytest.mark.filterwarnings("ignore:The ids .* come from one list")  # in two samples
def test_two_samples_keep_the_probability_of_the_cells(table):
    model = TablePU(0.2, model="linear", sampling="two-sample").fit(table, "known")
    assert model.labelled_share_ == 0
    f = np.asarray(model.classifier_.calibration_(model.decision_function(table)))
    np.testing.assert_array_equal(model.predict_proba(table)[:, 1], f)
    above = model.decision_function(table).astype(float) > model.classifier_.threshold_
    np.testing.assert_array_equal(model.predict(table) == 1, above)
    assert model.holdout_.hidden.share == (0.2, 0.2, 0.2)


# --- what the user knows ---------------------------------------------------------------------


def test_a_range_of_the_prior_limits_the_share(table):
    s = table["known"].mean()
    model = TablePU((0.3, 0.4), model="linear").fit(table, "known")
    assert 0.3 <= model.prior_ <= 0.4
    found = model.holdout_.hidden
    for each in (found, found.at_random):
        assert (0.3 - s) / (1 - s) <= each.share.low <= each.share.high <= (0.4 - s) / (1 - s)
    free = TablePU(model="linear").fit(table, "known").holdout_.hidden
    assert found.share.high - found.share.low < free.share.high - free.share.low


def test_the_labelled_share_of_the_positives_gives_the_prior(table):
    s = table["known"].mean()
    number = TablePU(labelled=0.5, model="linear").fit(table, "known")
    assert number.prior_ == pytest.approx(s / 0.5)
    assert number.labelled_share_ == pytest.approx(0.5)
    assert number.holdout_.hidden.share.value == pytest.approx((2 * s - s) / (1 - s))
    limits = TablePU(labelled=(0.4, 0.6), model="linear").fit(table, "known")
    assert s / 0.6 <= limits.prior_ <= s / 0.4
    found = limits.holdout_.hidden.share
    assert (s / 0.6 - s) / (1 - s) - 1e-9 <= found.low
    assert found.high <= (s / 0.4 - s) / (1 - s) + 1e-9


def test_labels_by_a_column_are_fitted_by_the_model_for_them():
    table, _ = customers(n=250)
    model = TablePU(labelled_by="country").fit(table, "known")
    assert type(model.classifier_).__name__ == "BiasedLabelPU"
    names = [name for c in model.columns_.columns for name in [c.name] * c.width]
    assert {names[i] for i in model.classifier_.propensity} == {"country"}
    assert len(model.classifier_.propensity) == names.count("country")
    assert model.holdout_.fold is not None
    both = TablePU(labelled_by=["amount", "visits"], model="biased").fit(table, "known")
    assert {names[i] for i in both.classifier_.propensity} == {"amount", "visits"}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"prior": (0.4, 0.3)}, "'prior' .* lower limit first"),
        ({"prior": (0.3,)}, "'prior' .* pair"),
        ({"prior": (0.01, 0.3)}, "'prior' .* greater than the share of labelled rows"),
        ({"labelled": 0.0}, "'labelled' .* in the range"),
        ({"labelled": 1.5}, "'labelled' .* in the range"),
        ({"labelled": (0.6, 0.4)}, "'labelled' .* lower limit first"),
        ({"labelled": (0.0, 0.4)}, r"'labelled' .* in the range \(0, 1\]"),
        ({"labelled": 0.1}, "'labelled' .* greater than the labelled share of all rows"),
        ({"labelled": (0.05, 0.1)}, "'labelled' .* greater than the labelled share of all rows"),
        ({"labelled": 0.5, "prior": 0.3}, "must not both be given"),
        ({"labelled": 0.5, "sampling": "two-sample"}, "for one sample"),
        ({"labelled_by": "age", "model": None}, "'labelled_by' .* Got 'age' .* 'amount'"),
        ({"labelled_by": "amount"}, "'labelled_by' .* needs model='biased'"),
        ({"labelled_by": "amount", "model": None, "sampling": "two-sample"}, "two samples"),
        ({"label_bias": 0.5}, "'label_bias' .* at least 1"),
        ({"label_bias": "none"}, "'label_bias' .* at least 1"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_in_words(table, how, words):
    with pytest.raises(ParameterError, match=words):
        TablePU(**{"model": "linear"} | how).fit(table, "known")


def test_a_label_bias_of_one_says_what_holds_at_random(table):
    model = TablePU(0.35, model="linear", label_bias=1).fit(table, "known")
    found = model.holdout_.hidden
    assert found.top(50) == found.at_random.top(50)
    assert found.recall == found.at_random.recall
    said = verdict(model.holdout_).quality + str(model.holdout_)
    assert "not given at random" not in said


# --- model folders ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The ids .* come from one list")  # in two samples
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"prior": 0.35},
        {"prior": (0.3, 0.4)},
        {"labelled": (0.4, 0.7)},
        {"labelled_by": "amount", "model": None},
        {"prior": 0.35, "label_bias": 1},
        {"prior": 0.35, "label_bias": 2.5},
        {"prior": 0.2, "sampling": "two-sample"},
        {"prior": 0.35, "model": "trees"},
    ],
    ids=str,
)
def test_a_folder_keeps_the_judgement(table, how, tmp_path):
    table = table[:300]
    model = TablePU(**{"model": "linear"} | how).fit(table, "known")
    again = nnpu.load(model.save(tmp_path / "m"))
    assert again.label_bias == model.label_bias
    assert again.labelled_share_ == model.labelled_share_
    same(again.holdout_.hidden, model.holdout_.hidden)
    np.testing.assert_array_equal(again.holdout_.fold, model.holdout_.fold)
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert str(again.holdout_) == str(model.holdout_)
    assert again.holdout_.to_json() == model.holdout_.to_json()


def test_a_folder_of_the_default_model_keeps_the_judgement(auto, table, tmp_path):
    again = nnpu.load(auto.save(tmp_path / "m"))
    same(again.holdout_.hidden, auto.holdout_.hidden)
    np.testing.assert_array_equal(again.decision_function(table), auto.holdout_.scores)


# --- labels that were not given at random ----------------------------------------------------


@pytest.fixture(scope="module")
def doubted():
    table, _ = biased()
    return table, TablePU(0.3, model="linear").fit(table, "known")


def test_a_prior_can_reveal_labels_that_were_not_given_at_random(doubted, tmp_path):
    table, model = doubted
    found = model.holdout_
    assert model.classifier_.scar_test_.pvalue < 1e-3
    assert found.hidden.contradicted.startswith("Labels were not given at random (p = ")
    assert not found.hidden.identified
    assert found.hidden.at_random.recall.value > 0  # still there
    said = str(found)
    assert "Labels were not given at random" in said
    assert "If they were" not in said
    words = verdict(found)
    assert "not given at random" in words.warning
    assert found.to_json()["hidden"]["contradicted"] == found.hidden.contradicted
    again = nnpu.load(model.save(tmp_path / "m"))
    same(again.holdout_.hidden, found.hidden)
    assert again.evaluate(table, "known").hidden.contradicted == found.hidden.contradicted


def test_figures_that_assume_random_labels_are_not_printed_against_the_evidence(
    doubted, tmp_path, capsys
):
    table, _ = doubted
    table.to_csv(tmp_path / "t.csv", index=False)
    how = ["--label", "known", "--prior", "0.3", "--model", "linear"]
    assert run("fit", tmp_path / "t.csv", *how, "--out", tmp_path / "m") == 0
    said = capsys.readouterr().out
    assert "Labels were not given at random" in said
    assert "If they were" not in said
    assert run("evaluate", tmp_path / "m", tmp_path / "t.csv", "--label", "known") == 0
    said = capsys.readouterr().out
    assert "Labels were not given at random" in said
    assert "If they were" not in said
    assert "precision" not in said


def test_a_table_with_more_labels_than_the_prior_allows_can_be_evaluated(model):
    more, y = customers(seed=3, chance=1.0)
    more = more[y | (np.arange(N) % 3 == 0)]
    assert more["known"].mean() > model.prior_
    found = model.evaluate(more, "known")
    assert found.prior_note.startswith("The share of positives is not what it was in the fit, 0.35")
    assert found.prior.value > more["known"].mean()
    assert found.hidden.share.high > 0
    assert str(found).startswith(found.prior_note)
    assert json.dumps(found.to_json())
    assert str(found)


@pytest.fixture(scope="module")
def richer():
    """Rows like those of `customers`, of which .7 are positive and a third of these labelled."""
    table, y = customers(3 * N, seed=4, chance=1 / 3)
    rng = np.random.default_rng(40)
    kept = y | (rng.random(3 * N) < y.mean() / (1 - y.mean()) * 3 / 7)
    return table[kept].reset_index(drop=True), y[kept]


def test_a_share_that_the_rows_contradict_is_estimated_anew(model, richer):
    """The training has .35 positives, these rows .7: precision was printed as if they had .35."""
    table, y = richer
    assert 0.65 < y.mean() < 0.75
    found = model.evaluate(table, "known")
    assert "estimated as" in found.prior_note
    assert abs(found.prior.value - y.mean()) < 0.15
    with pytest.warns(UserWarning, match="of the rows are flagged"):
        scores = model.decision_function(table.drop(columns="known"))
    truth = y[scores > model.classifier_.threshold_].mean()
    assert found.precision.low - 0.03 < truth < found.precision.high + 0.03
    assert found.to_json()["prior_note"] == found.prior_note
    assert model.prior_ == 0.35  # evaluate changes nothing


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_rows_of_the_same_population_keep_the_share_of_the_training(model, seed):
    found = model.evaluate(customers(seed=seed)[0], "known")
    assert found.prior_note == ""
    assert found.prior == (0.35, 0.35, 0.35)


def test_evaluate_takes_a_share_of_its_own(model, richer):
    table = richer[0]
    found = model.evaluate(table, "known", prior=0.7)
    assert found.prior == (0.7, 0.7, 0.7)
    assert found.prior_note == ""
    limits = model.evaluate(table, "known", prior=(0.6, 0.8)).prior
    assert 0.6 <= limits.low <= limits.value <= limits.high <= 0.8
    estimated = model.evaluate(table, "known", prior="auto").prior
    assert estimated.low < estimated.value < estimated.high
    with pytest.raises(ParameterError, match=r"TablePU\.evaluate must be greater than the share"):
        model.evaluate(table, "known", prior=0.05)
    with pytest.raises(ParameterError, match=r"TablePU\.evaluate must be 'auto'"):
        model.evaluate(table, "known", prior="half")


def test_the_command_evaluates_with_a_share_of_its_own(model, richer, tmp_path, capsys):
    richer[0].to_csv(tmp_path / "t.csv", index=False)
    model.save(tmp_path / "m")
    command = ["evaluate", str(tmp_path / "m"), str(tmp_path / "t.csv"), "--label", "known"]
    for text, given in (("70%", 0.7), ("60%-80%", (0.6, 0.8)), ("auto", "auto")):
        main([*command, "--prior", text, "--json"])
        said = json.loads(capsys.readouterr().out)
        found = model.evaluate(richer[0], "known", prior=given)
        assert said["prior"]["value"] == pytest.approx(found.prior.value, abs=1e-6)
    main(command)
    assert "The share of positives is not what it was in the fit" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*command, "--prior", "much"])
    assert "'--prior' parameter of nnpu evaluate must be auto" in capsys.readouterr().err


# --- the list --------------------------------------------------------------------------------


def top_list(files, n, *options, data="t.csv", out="top.csv"):
    assert (
        run("predict", files / "m", files / data, "--top", n, "--out", files / out, *options) == 0
    )
    return rows_of(files / out)


def test_the_list_is_ranked_by_the_scores_that_were_judged(files, model, table):
    rows = top_list(files, 30)
    u = (table["known"] == 0).to_numpy()
    order = np.flatnonzero(u)[np.argsort(-model.holdout_.scores[u], kind="stable")[:30]]
    assert [row["id"] for row in rows] == table["id"].iloc[order].tolist()
    assert [int(row["rank"]) for row in rows] == list(range(1, 31))
    p = [float(row["probability"]) for row in rows]
    np.testing.assert_allclose(p, model.predict_proba(table)[order, 1])
    assert p == sorted(p, reverse=True)


def test_the_list_has_the_cells_and_no_labelled_row(files, table):
    rows = top_list(files, 30)
    assert list(rows[0]) == [
        *("rank", "id", "probability", "why"),
        *("amount", "country", "visits", "known"),
    ]
    by_id = table.set_index("id")
    for row in rows:
        assert row["known"] == "0"
        assert float(row["amount"]) == by_id.loc[row["id"], "amount"]
        assert row["country"] == by_id.loc[row["id"], "country"]
        assert "amount = " in row["why"] or "visits = " in row["why"]


def test_a_list_of_new_rows_has_every_row(files):
    new = customers(seed=5)[0].drop(columns="known")
    new.to_csv(files / "new.csv", index=False)
    rows = top_list(files, 5000, data="new.csv", out="new-top.csv")
    assert len(rows) == N
    assert {row["id"] for row in rows} == set(new["id"])


def test_a_row_without_an_id_is_named_by_its_number(table, tmp_path):
    plain = table.drop(columns="id").assign(row=1.5, rank="x", probability=7, why="because")
    plain.to_csv(tmp_path / "t.csv", index=False)
    model = TablePU(0.35, model="linear").fit(tmp_path / "t.csv", "known")
    model.save(tmp_path / "m")
    rows = top_list(tmp_path, 10)
    u = (table["known"] == 0).to_numpy()
    order = np.flatnonzero(u)[np.argsort(-model.holdout_.scores[u], kind="stable")[:10]]
    assert [int(row["row"]) for row in rows] == (order + 1).tolist()
    assert {row["row (table)"] for row in rows} == {"1.5"}
    assert {row["rank (table)"] for row in rows} == {"x"}
    assert {row["why (table)"] for row in rows} == {"because"}
    assert {row["probability (table)"] for row in rows} == {"7"}


@pytest.mark.parametrize(("name", "in_all"), [("rank", True), ("why", False)])
def test_an_id_that_is_called_like_one_of_our_columns_is_refused(
    table, tmp_path, capsys, name, in_all
):
    named = table.rename(columns={"id": name})
    named.to_csv(tmp_path / "t.csv", index=False)
    TablePU(0.35, model="linear", id=name).fit(named, "known").save(tmp_path / "m")
    where = (tmp_path / "m", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert run("predict", *where, "--top", 5) == 2
    error = capsys.readouterr().err
    assert f"must not be called {name!r}: a column of the predictions" in error
    assert error.count("\n") == 1
    assert run("predict", *where) == (2 if in_all else 0)


def test_a_file_in_many_batches_gives_the_same_list(files, monkeypatch):
    whole = top_list(files, 40)
    ranks = predicted(files)
    monkeypatch.setattr(csvfile, "_BLOCK", 3000)
    assert top_list(files, 40, out="parts.csv") == whole
    parts = predicted(files, out="parts.csv")
    assert [row["rank"] for row in parts] == [row["rank"] for row in ranks]


def test_parquet_in_many_batches_gives_the_same_list(files, table, monkeypatch):
    frame = table.assign(country=table["country"].astype("category"))
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), "D")
    frame["parts"] = [[i] for i in range(N)]  # of no use to a model
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), files / "t.parquet")
    whole = top_list(files, 40, data="t.parquet")
    monkeypatch.setattr(formats, "ROWS", 70)
    assert top_list(files, 40, data="t.parquet", out="parts.csv") == whole
    assert [row["id"] for row in whole] == [row["id"] for row in top_list(files, 40)]
    out = files / "top.parquet"
    assert run("predict", files / "m", files / "t.parquet", "--top", 40, "--out", out) == 0
    assert pq.read_table(out)["id"].to_pylist() == [row["id"] for row in whole]


def test_formulas_in_the_cells_of_a_list_can_be_escaped(table, tmp_path):
    bad = table.assign(country="=1+1")
    bad.to_csv(tmp_path / "t.csv", index=False)
    TablePU(0.35, model="linear").fit(bad, "known").save(tmp_path / "m")
    assert {row["country"] for row in top_list(tmp_path, 5)} == {"=1+1"}
    escaped = top_list(tmp_path, 5, "--escape-formulas")
    assert {row["country"] for row in escaped} == {"'=1+1"}


# --- ranks and cuts --------------------------------------------------------------------------


def predicted(files, *options, data="t.csv", out="p.csv"):
    assert run("predict", files / "m", files / data, "--out", files / out, *options) == 0
    return rows_of(files / out)


def test_every_unlabelled_row_has_its_rank(files, table):
    rows = predicted(files)
    names = ["id", "score", "probability", "prediction", "rank"]
    assert list(rows[0]) == names
    scores = np.array([float(row["score"]) for row in rows])
    u = (table["known"] == 0).to_numpy()
    rank = np.empty(u.sum(), dtype=int)
    rank[np.argsort(-scores[u], kind="stable")] = np.arange(1, u.sum() + 1)
    found = [row["rank"] for row in rows]
    assert [int(found[i]) for i in np.flatnonzero(u)] == rank.tolist()
    assert {found[i] for i in np.flatnonzero(~u)} == {""}
    assert [row["id"] for row in rows] == table["id"].tolist()
    first = {row["id"] for row in rows if row["rank"] and int(row["rank"]) <= 30}
    assert first == {row["id"] for row in top_list(files, 30)}


def test_predictions_are_those_of_python(files, model, table):
    rows = predicted(files)
    np.testing.assert_allclose(
        [float(row["probability"]) for row in rows], model.predict_proba(table)[:, 1]
    )
    assert [int(row["prediction"]) for row in rows] == model.predict(table).astype(int).tolist()


def test_a_file_of_too_many_rows_has_no_rank(files, monkeypatch):
    monkeypatch.setattr(predictions, "MOST_RANKED", 100)
    monkeypatch.setattr(csvfile, "_BLOCK", 3000)
    rows = predicted(files)
    assert list(rows[0]) == ["id", "score", "probability", "prediction"]
    assert len(rows) == N


def flagged(files, table, *options):
    """Return which unlabelled rows are predicted positive; labelled ones always are."""
    rows = predicted(files, *options)
    found = np.array([row["prediction"] == "1" for row in rows])
    u = (table["known"] == 0).to_numpy()
    assert found[~u].all()
    return found[u]


def test_a_cut_at_the_prior_flags_as_many_as_there_are(files, model, table):
    found = flagged(files, table, "--at", "prior")
    expected = 0.35 * N - table["known"].sum()
    assert found.sum() == pytest.approx(expected, abs=5)  # five folds may tie
    assert (flagged(files, table, "--at", "accuracy") == flagged(files, table)).all()


def test_a_cut_of_new_rows_at_the_prior_flags_the_prior(files):
    new, _ = customers(n=4000, seed=6)
    new.drop(columns="known").to_csv(files / "more.csv", index=False)
    rows = predicted(files, "--at", "prior", data="more.csv")
    assert np.mean([row["prediction"] == "1" for row in rows]) == pytest.approx(0.35, abs=0.05)


def test_a_cut_at_a_precision_or_a_recall_is_the_best_list_of_that_kind(files, model, table):
    hidden, u = model.holdout_.hidden, (table["known"] == 0).sum()
    n = int(flagged(files, table, "--at", "precision=0.5").sum())
    assert max(hidden.top(m).value for m in range(n - 5, n + 6)) >= 0.5  # five folds may tie
    assert all(hidden.top(m).value < 0.5 for m in range(round(1.1 * n) + 1, u, 20))
    n = int(flagged(files, table, "--at", "recall=80%").sum())
    assert hidden.found(n + 5).value >= 0.8
    assert hidden.found(round(0.9 * n)).value < 0.8
    assert flagged(files, table, "--at", "recall=1").all()
    assert not flagged(files, table, "--at", "precision=1").any()


def test_a_threshold_and_a_cost_cut_at_the_probability_that_is_shown(files, model, table):
    u = (table["known"] == 0).to_numpy()
    p = model.predict_proba(table)[u, 1]
    np.testing.assert_array_equal(flagged(files, table, "--threshold", "0.3"), p > 0.3)
    np.testing.assert_array_equal(flagged(files, table, "--at", "cost=4"), p > 0.2)
    new = customers(seed=5)[0].drop(columns="known")
    new.to_csv(files / "new.csv", index=False)
    rows = predicted(files, "--threshold", "0.3", data="new.csv")
    f = model.predict_proba(new)[:, 1]
    assert [row["prediction"] == "1" for row in rows] == (f > 0.3).tolist()


def test_a_cut_that_flags_nothing_says_so_and_what_to_do(files, model, capsys):
    rows = predicted(files, "--at", "precision=99%")
    said = " ".join(capsys.readouterr().err.split())
    assert sum(row["prediction"] == "1" for row in rows if row["rank"]) == 0
    best = max((model.holdout_.top(n).value, n) for n in range(10, 200))
    assert "No list is expected to be 99 % positive. The best one, the first" in said
    assert f"is {100 * best[0]:.0f} % (" in said
    assert "go by the list (--top 100), or choose a lower cut" in said
    predicted(files, "--threshold", "0.9999")
    said = " ".join(capsys.readouterr().err.split())
    assert "No unlabelled row is above the cut. Nothing is predicted positive" in said
    predicted(files, "--at", "recall=50%")
    assert "Nothing is predicted positive" not in capsys.readouterr().err


def test_columns_of_the_table_can_be_kept(files, table):
    rows = predicted(files, "--keep", "country", "--keep", "amount")
    assert list(rows[0])[:3] == ["id", "country", "amount"]
    assert [row["country"] for row in rows] == table["country"].tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--at", "half"], "accuracy, prior, precision=0.5"),
        (["--at", "prior=0.3"], "accuracy, prior, precision=0.5"),
        (["--at", "precision"], "accuracy, prior, precision=0.5"),
        (["--at", "precision=2"], "a share above 0 and at most 1"),
        (["--at", "recall=x"], "a share above 0 and at most 1"),
        (["--at", "recall=nan"], "a share above 0 and at most 1"),
        (["--at", "recall=0"], "a share above 0 and at most 1"),
        (["--at", "cost=-1"], "a number above 0"),
        (["--at", "cost=inf"], "a number above 0"),
        (["--at", "cost="], "a number above 0"),
        (["--threshold", "1.5"], "above 0 and below 1"),
        (["--threshold", "0"], "above 0 and below 1"),
        (["--threshold", "nan"], "above 0 and below 1"),
        (["--threshold", "0.5", "--at", "prior"], "one of --top, --threshold and --at"),
        (["--top", "5", "--at", "prior"], "one of --top, --threshold and --at"),
        (["--top", "5", "--keep", "amount"], "--top writes all cells"),
        (["--top", "0"], "--top"),
        (["--keep", "nothing"], "nothing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_cut_that_is_not_understood_is_refused_in_one_line(files, options, words, capsys):
    out = files / "none.csv"
    assert run("predict", files / "m", files / "t.csv", "--out", out, *options) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_a_model_that_was_not_judged_has_no_cut_by_its_judgement(table, tmp_path, capsys):
    table.to_csv(tmp_path / "t.csv", index=False)
    TablePU(0.35, model="linear", holdout=0).fit(table, "known").save(tmp_path / "m")
    assert run("predict", tmp_path / "m", tmp_path / "t.csv", "--at", "prior") == 2
    assert "needs a model that was judged" in capsys.readouterr().err
    assert len(top_list(tmp_path, 7)) == 7


@pytest.mark.filterwarnings("ignore:The ids .* come from one list")  # in two samples
def test_two_samples_rank_and_cut_their_unlabelled_rows_by_the_score(table, tmp_path, capsys):
    table.to_csv(tmp_path / "t.csv", index=False)
    model = TablePU(0.2, model="linear", sampling="two-sample").fit(table, "known")
    model.save(tmp_path / "m")
    rows = predicted(tmp_path, "--at", "prior")
    assert "labelled ones included" not in capsys.readouterr().out
    u = (table["known"] == 0).to_numpy()
    found = np.array([row["prediction"] == "1" for row in rows])
    assert found[u].sum() == pytest.approx(0.2 * u.sum(), abs=5)  # five folds may tie
    assert all(row["known"] == "0" for row in top_list(tmp_path, 20))


# --- answers ---------------------------------------------------------------------------------


def fill(path, truth_of, most=None):
    rows = rows_of(path)
    for i, row in enumerate(rows):
        row["answer"] = ("yes" if truth_of[row["id"]] else "no") if most is None or i < most else ""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return [row["id"] for row in rows]


@pytest.fixture(scope="module")
def truth_of(table, truth):
    return dict(zip(table["id"], truth, strict=True))


def test_a_review_of_the_list_counts_exactly(files, truth_of, tmp_path, capsys):
    sheet, where = tmp_path / "s.csv", (files / "m", files / "t.csv")
    assert run("review", *where, "--top", 200, "--rows", 30, "--out", sheet) == 0
    ids = fill(sheet, truth_of)
    listed = [row["id"] for row in top_list(files, 200)]
    assert len(ids) == 30
    assert set(ids) <= set(listed)
    np.testing.assert_allclose([float(row["chance"]) for row in rows_of(sheet)], 30 / 200)
    capsys.readouterr()
    assert run("review", *where, "--top", 200, "--answers", sheet, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    yes = sum(truth_of[each] for each in ids)
    assert (found["top"], found["answered"], found["yes"]) == (200, 30, yes)
    true = np.mean([truth_of[each] for each in listed])
    for name in ("share", "share_anytime"):
        assert found[name]["value"] == pytest.approx(yes / 30)
        assert found[name]["low"] <= true <= found[name]["high"]
    assert found["share"]["high"] - found["share"]["low"] <= 0.3
    assert found["believed"] is not None
    assert run("review", *where, "--top", 200, "--answers", sheet) == 0
    said = capsys.readouterr().out
    low, high = (round(200 * found["share"][end]) for end in ("low", "high"))
    assert f"Of the first 200 rows 30 were answered: {yes} yes." in said
    assert f"({low} to {high}, exact 90 % range)" in said


def test_every_row_of_the_list_has_the_same_chance(model, table):
    found = table_review(model, table, top=100)
    drawn = found.review.draw(20, random_state=0)
    np.testing.assert_allclose(drawn.chance, 0.2)
    counts = np.zeros(100)
    for seed in range(200):
        counts[table_review(model, table, top=100).review.draw(50, random_state=seed).rows] += 1
        if seed == 20:
            break
    assert np.corrcoef(np.arange(100), counts)[0, 1] < 0.3  # none is drawn for its rank


def test_a_list_that_is_answered_half_counts_what_is_there(model, table, truth):
    found = table_review(model, table, top=40)
    drawn = found.review.draw(10, random_state=0)
    answers = truth[found.rows[drawn.rows]].astype(float)
    answers[3] = np.nan
    found.review.answer(answers)
    listed = list_findings(model, found)
    assert listed.answered == 9
    assert any("no clear answer" in note for note in listed.notes)
    whole = table_review(model, table, top=40)
    drawn = whole.review.draw(40, random_state=0)
    whole.review.answer(truth[whole.rows[drawn.rows]].astype(float))
    listed = list_findings(model, whole)
    assert listed.share == (truth[whole.rows].mean(),) * 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--top", 199, "--answers"], "the data changed since the draw"),
        (["--top", 300, "--answers"], "the data changed since the draw"),
        (["--answers"], "the data changed since the draw"),
    ],
    ids=["shorter", "longer", "all rows"],
)
def test_answers_to_a_list_speak_of_that_list_alone(
    files, truth_of, tmp_path, capsys, options, words
):
    sheet, where = tmp_path / "s.csv", (files / "m", files / "t.csv")
    run("review", *where, "--top", 200, "--rows", 30, "--out", sheet)
    fill(sheet, truth_of)
    capsys.readouterr()
    assert run("review", *where, *options, sheet) == 2
    error = capsys.readouterr().err
    assert words in error or "ids that are not in the data" in error


def test_answers_to_a_list_are_no_audit_of_the_table(files, truth_of, table, tmp_path):
    """They were drawn from the best rows alone: the share of all rows does not follow."""
    sheet = tmp_path / "s.csv"
    run("review", files / "m", files / "t.csv", "--top", 200, "--rows", 30, "--out", sheet)
    fill(sheet, truth_of)
    with pytest.raises(InputError, match=r"list|data changed"):
        TablePU(model="linear").fit(table, "known", answers=sheet)


@pytest.mark.parametrize(
    "options",
    [["--top", 5000], ["--top", 200, "--for", "finding"], ["--top", 1]],
    ids=lambda options: " ".join(map(str, options)),
)
def test_a_list_that_cannot_be_reviewed_is_refused(files, tmp_path, options, capsys):
    out = tmp_path / "s.csv"
    assert run("review", files / "m", files / "t.csv", *options, "--out", out) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not out.exists()


@pytest.mark.filterwarnings("ignore:The ids .* come from one list")  # in two samples
def test_answered_rows_are_no_part_of_a_list_in_two_samples(table, truth, tmp_path):
    """With --known, a list holds rows that nobody looked at."""
    model = TablePU(0.2, model="linear", sampling="two-sample").fit(table, "known")
    first = table_review(model, table, name="one")
    drawn = first.review.draw(50, random_state=0)
    first.review.write(tmp_path / "known.csv")
    ids = table["id"].to_numpy()
    fill(tmp_path / "known.csv", dict(zip(ids, truth, strict=True)))
    found = table_review(model, table, name="two", top=200, known=[tmp_path / "known.csv"])
    assert not set(found.rows) & set(first.rows[drawn.rows])
    assert len(found.rows) == 200


@pytest.fixture(scope="module")
def answered(table, truth_of, files, tmp_path_factory):
    """The sheet of a review of the whole table, answered, and the fit with it."""
    sheet = tmp_path_factory.mktemp("answers") / "s.csv"
    run("review", files / "m", files / "t.csv", "--rows", 150, "--out", sheet)
    fill(sheet, truth_of)
    return sheet, TablePU(model=QUICK).fit(table, "known", answers=sheet)


def test_answers_give_every_figure_of_a_fit(answered, table, truth):
    sheet, model = answered
    found, u = model.holdout_, (table["known"] == 0).to_numpy()
    assert found.audited
    prior, s = model.prior_estimate_, table["known"].mean()
    assert prior.method == "review"
    np.testing.assert_allclose(
        found.hidden.share, [(end - s) / (1 - s) for end in (prior.value, prior.low, prior.high)]
    )
    assert found.hidden.share.low <= truth[u].mean() <= found.hidden.share.high
    assert found.hidden.answers.y.size == 150
    assert (found.s[found.hidden.answers.rows] == 0).all()
    given = {row["id"] for row in rows_of(sheet)}
    assert set(table["id"].iloc[found.hidden.answers.rows]) == given
    first = np.flatnonzero(u)[np.argsort(-found.scores[u], kind="stable")[:200]]
    assert found.top(200).low <= truth[first].mean() <= found.top(200).high
    said = str(found)
    assert "answers of a review" in said
    assert "If they were" not in said


def test_answers_survive_a_folder(answered, table, tmp_path):
    _, model = answered
    again = nnpu.load(model.save(tmp_path / "m"))
    assert again.holdout_.audited
    same(again.holdout_.hidden, model.holdout_.hidden)
    for one, other in zip(
        again.holdout_.hidden.answers, model.holdout_.hidden.answers, strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert again.holdout_.to_json() == model.holdout_.to_json()


def test_the_command_gives_the_audited_figures(answered, files, table, tmp_path, capsys):
    sheet, _ = answered
    model = TablePU(model="linear").fit(table, "known", answers=sheet)
    how = ["--label", "known", "--model", "linear", "--answers", sheet, "--out", tmp_path / "m"]
    assert run("fit", files / "t.csv", *how, "--json") == 0
    found = json.loads(capsys.readouterr().out)["held_out"]
    assert found["audited"]
    assert found == model.holdout_.to_json()
    same(nnpu.load(tmp_path / "m").holdout_.hidden, model.holdout_.hidden)


def test_answers_to_biased_labels_close_the_gap(tmp_path):
    """Labels of clear cases alone: at random, far too many are found; the answers say so."""
    table, y = biased()
    before = TablePU(model="linear").fit(table, "known")
    review = table_review(before, table)
    drawn = review.review.draw(200, random_state=0)
    review.review.answer(y[review.rows[drawn.rows]].astype(float))
    model = TablePU(model="linear").fit(table, "known", answers=review)
    u = (table["known"] == 0).to_numpy()
    found = model.holdout_
    flagged = model.predict(table)[u] == 1
    true = np.mean(flagged[y[u]])
    assert found.hidden.recall.low <= true <= found.hidden.recall.high
    assert found.hidden.share.low <= y[u].mean() <= found.hidden.share.high
    assert found.hidden.at_random.recall.low > true
    assert found.hidden.contradicted
    again = nnpu.load(model.save(tmp_path / "m"))
    same(again.holdout_.hidden, found.hidden)


def test_damaged_answers_in_a_folder_are_refused(answered, tmp_path):
    from nnpu.estimators.loading import sums_of
    from nnpu.storage import CONFIG, SUMS, WEIGHTS

    folder = answered[1].save(tmp_path / "m")
    config = json.loads((folder / CONFIG).read_text())
    config["table"]["answers"]["rows"][0] = 10**6
    (folder / CONFIG).write_text(json.dumps(config))
    sums = sums_of(
        **{CONFIG: (folder / CONFIG).read_bytes(), WEIGHTS: (folder / WEIGHTS).read_bytes()}
    )
    (folder / SUMS).write_text(sums)
    with pytest.raises(InputError, match="stored answers cannot be understood"):
        nnpu.load(folder)


def test_the_judgement_is_about_the_rows_and_not_the_words(auto):
    """What is printed says how many, of the first n, and in which share of cases."""
    lines = auto.holdout_.lines()
    assert lines[0].startswith(f"Unlabelled rows: {auto.holdout_.hidden.rows:,}.")
    for n in (20, 50, 100):
        top = auto.holdout_.top(n)
        words = f"{round(top.value * n)} ({round(top.low * n)} to {round(top.high * n)})"
        assert any(words in line for line in lines if line.split()[:1] == [str(n)])
    advice = verdict(auto.holdout_).advice
    assert "nnpu predict --top 100" in advice
    assert "nnpu review --top 200 --rows 30" in advice
    none = replace(auto.holdout_, hidden=replace(auto.holdout_.hidden, flagged=3))
    assert verdict(none).advice.startswith("Next to nothing is predicted positive: look at")


def test_no_warning_is_left_over(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TablePU(0.35, model="linear").fit(table, "known")
        model.predict_proba(table)
        model.evaluate(table, "known")


def test_a_single_row_is_no_list_of_a_precision():
    """The best guess for one row is 0 or 1; it passed for a list that is all positive."""
    rng = np.random.default_rng(2)
    y = rng.random(800) < 0.3
    table = pd.DataFrame({f"x{i}": rng.normal(1.2 * y, 1) for i in range(3)})
    model = TablePU(0.3, model="linear").fit(table, (y & (rng.random(800) < 0.4)).astype(int))
    assert model.holdout_.top(1).value == 1
    cut = predictions.cut_at(model, "precision=0.99")
    assert "No list is expected to be 99 % positive" in cut.why_none
