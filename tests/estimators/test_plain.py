"""The comparison with a plain classifier of labelled against unlabelled rows."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import nnpu
from nnpu import TablePU
from nnpu.cli import main
from nnpu.estimators.plain import PlainList, compare_lists, plain_scores


def test_the_counts_are_those_by_hand():
    """U has the rows 2 to 7; the first 3 are {2, 3, 4} by one score and {4, 5, 6} by the other."""
    s = np.repeat([1, 0], [2, 6]).astype(np.int8)
    one = np.array([9.0, 6.5, 8, 7, 6, 3, 2, 1])
    other = np.array([9.0, 0.0, 1, 2, 8, 7, 6, 3])
    found = compare_lists(one, other, other > 6.5, s)
    assert (found.first, found.shared, found.flagged) == (3, 1, 2)
    assert (found.reached, found.plain_reached) == (1.0, 0.5)
    assert found.error == pytest.approx(0.5)  # one labelled row differs: √1 / 2
    assert not found.differs
    assert found.auc == pytest.approx((6 + 4) / 12)


def test_equal_lists_share_everything_and_a_list_of_chance_is_worse():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [300, 1000]).astype(np.int8)
    scores = rng.normal(np.r_[np.full(600, 2.0), np.zeros(700)])
    same = compare_lists(scores, scores, scores > 0, s)
    assert (same.shared, same.error, same.differs) == (100, 0.0, False)
    found = compare_lists(scores, rng.normal(size=1300), scores > 9, s)
    assert found.differs
    assert found.reached > found.plain_reached
    assert "better here, beyond chance" in found.lines(5)[1]


def test_scores_are_those_of_models_that_did_not_see_the_fold():
    """By an oracle: scikit-learn's logistic regression, fold by fold; ranks within a fold stay."""
    rng = np.random.default_rng(0)
    s = (rng.random(300) < 0.3).astype(np.int8)
    x = sparse.csr_array(rng.poisson(0.5 + s[:, None], (300, 6)).astype(float))
    fold = np.arange(300) % 3
    scores, flagged = plain_scores(x, s, fold)
    for number in range(3):
        rest = fold == number
        model = LogisticRegression(max_iter=200).fit(x[~rest], s[~rest])
        own = model.decision_function(x[rest])
        order = np.argsort(own, kind="stable")
        assert (np.diff(scores[rest][order]) >= -1e-9).all()
        assert (flagged[rest] == (own > 0)).all()


@pytest.fixture(scope="module")
def customers():
    rng = np.random.default_rng(0)
    y = rng.random(800) < 0.4
    s = (y & (rng.random(800) < 0.4)).astype(int)
    cells = {"size": rng.normal(2.0 * y, 1), "noise": rng.normal(size=800), "known": s}
    return pa.table(cells)


@pytest.fixture(scope="module")
def model(customers):
    return TablePU(0.4, model="linear").fit(customers, "known")


def test_a_fit_and_an_evaluation_have_it_and_a_folder_keeps_it(model, customers, tmp_path):
    found = model.holdout_.plain
    assert found.fitted_to == "in the same folds"
    assert model.holdout_.plain_lines()[0] not in str(model.holdout_)
    model.save(tmp_path / "m")
    assert nnpu.load(tmp_path / "m").holdout_.plain == found
    again = model.evaluate(customers, "known").plain
    assert again.fitted_to == "fitted to these rows, in folds"
    assert again.first == found.first == 100
    assert PlainList.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_it_says_on_which_kind_of_rows_the_lists_differ(customers):
    """The plain classifier also learns a column that only labelled rows have in plenty."""
    rng = np.random.default_rng(1)
    s = np.asarray(customers["known"])
    seen = pa.array(rng.normal(1.5 * s, 1))
    wide = customers.append_column("seen", seen)
    model = TablePU(0.4, model="linear").fit(wide, "known")
    assert model.holdout_.plain.shared < 100


def test_rows_that_are_set_aside_are_compared_too(customers):
    timed = customers.append_column("day", pa.array(np.arange(800)))
    model = TablePU(0.4, model="linear", time="day").fit(timed, "known")
    assert model.holdout_.plain.fitted_to == "on the same rows set aside"
    assert model.holdout_.plain.first <= 80


def test_another_cut_changes_what_this_model_calls_positive_and_nothing_else(model):
    before = model.holdout_.plain
    old = model.threshold_
    model.threshold_ = old + 1
    assert model.holdout_.plain == before
    assert f"this model {model.holdout_.hidden.flagged:,}." in model.holdout_.plain_lines()[1]
    model.threshold_ = old


def test_the_commands_print_it(customers, tmp_path, capsys):
    import pyarrow.csv

    pyarrow.csv.write_csv(customers, tmp_path / "t.csv")
    data, folder = str(tmp_path / "t.csv"), str(tmp_path / "m")
    main(["fit", data, "--label", "known", "--model", "linear", "--out", folder, "--verbose"])
    assert "Compared with a plain classifier" in capsys.readouterr().out
    main(["evaluate", folder, data, "--label", "known"])
    assert "Compared with a plain classifier" in capsys.readouterr().out
    main(["evaluate", folder, data, "--label", "known", "--json"])
    plain = json.loads(capsys.readouterr().out)["plain"]
    assert plain["shared"] <= plain["first"] == 100
