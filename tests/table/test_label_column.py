"""Labels that are words: the wrong class is never taken without a word."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import nnpu
from nnpu import TablePU
from nnpu.cli import main
from nnpu.parameters import InputError, ParameterError
from nnpu.table.columns import read_label_cells


def read(cells, pos_label=None):
    return read_label_cells(pa.array(cells), "s", "t.csv", pos_label)


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        (["fraud", "unknown", "unknown"], "fraud"),
        (["zebra", "Unlabelled", None], "zebra"),
        (["no", "fraud", "no"], "fraud"),
        (["negative", "case"], "case"),
        (["u", "p", "u"], "p"),
        (["fraud", None, None], "fraud"),
        (["legit", "fraud", "legit"], "fraud"),  # neither tells: the rarer one
        (["aaa", "positive", "positive"], "positive"),
        (["other", "mine", "unknown", "none"], "mine"),
    ],
)
def test_of_words_the_one_that_was_taken_is_named(cells, word):
    with pytest.warns(UserWarning, match=f"'{word}' .*is taken as the positive"):
        found = read(cells)
    assert found.word == word
    assert found.codes.tolist() == [int(cell == word) for cell in cells]


@pytest.mark.parametrize(
    "cells", [[1, 0, None], ["yes", "no"], ["TRUE", "false"], [True, False], ["1", "unknown"]]
)
def test_numbers_and_truth_need_no_warning(cells, recwarn):
    assert read(cells).codes[0] == 1
    assert read(cells).word is None
    assert not recwarn.list


@pytest.mark.parametrize("cells", [["unknown", "none"], ["no", "unknown", None]])
def test_words_that_mean_unknown_are_never_the_positive(cells):
    assert not read(cells).codes.any()


@pytest.mark.parametrize(
    "cells", [["a", "b", "c"], ["yes", "fraud"], ["1", "2"], ["3", "7"], ["fraud", "legit", "no"]]
)
def test_what_does_not_say_which_is_positive_is_refused(cells):
    with pytest.raises(InputError, match="--positive"):
        read(cells)


@pytest.mark.parametrize(
    ("cells", "pos_label", "codes"),
    [
        (["fraud", "legit"], "legit", [0, 1]),
        (["fraud", "legit"], "Fraud", [1, 0]),
        ([1, 2], 2, [0, 1]),
        ([1.0, 2.0, np.nan], 1.0, [1, 0, 0]),
        ([1, 0, -1], 1, [1, 0, -1]),
        ([True, False], True, [1, 0]),
        (["no", "yes"], "no", [1, 0]),
        (["fraud", "0", "-1"], "fraud", [1, 0, -1]),
    ],
)
def test_a_named_positive_is_taken_without_a_warning(cells, pos_label, codes, recwarn):
    assert read(cells, pos_label).codes.tolist() == codes
    assert not recwarn.list


def test_several_other_words_are_named():
    with pytest.warns(UserWarning, match="'legit', 'odd' are all taken as unlabelled"):
        assert read(["fraud", "legit", "odd"], "fraud").codes.tolist() == [1, 0, 0]
    with pytest.warns(UserWarning, match="'no', 'unknown' are all taken as unlabelled"):
        assert read(["yes", "no", "unknown"]).codes.tolist() == [1, 0, 0]


def test_a_positive_that_does_not_occur_is_refused():
    with pytest.raises(InputError, match=r"no cell of the label column 's' is 'froud'.*'fraud'"):
        read(["fraud", "legit"], "froud")
    with pytest.raises(ParameterError, match="'pos_label' parameter of TablePU"):
        TablePU(0.4, pos_label=[1]).fit(pd.DataFrame({"a": [1, 2]}), [1, 0])


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    fraud = rng.random(300) < 0.4
    word = np.where(fraud & (rng.random(300) < 0.5), "fraud", "unknown")
    return pd.DataFrame({"amount": rng.normal(40 + 40 * fraud, 15), "s": word})


def test_the_model_remembers_the_word(table, tmp_path):
    model = TablePU(0.4, model="linear", pos_label="fraud").fit(table, "s")
    same = nnpu.load(model.save(tmp_path / "m"))
    assert (same.pos_label, same.pos_label_) == ("fraud", "fraud")
    numbers = table.assign(s=(table["s"] == "fraud").astype(float).replace(0, np.nan))
    as_numbers = TablePU(0.4, model="linear").fit(numbers, "s")
    np.testing.assert_array_equal(same.predict(table), as_numbers.predict(numbers))
    assert same.evaluate(table, "s").metrics == as_numbers.evaluate(numbers, "s").metrics


def test_the_command_names_its_choice(table, tmp_path, capsys):
    table.to_csv(tmp_path / "t.csv", index=False)
    fit = ["fit", str(tmp_path / "t.csv"), "--label", "s", "--model", "linear", "--prior", "0.4"]
    main([*fit, "--out", str(tmp_path / "guessed")])
    said = capsys.readouterr()
    assert "'fraud' (" in said.err
    assert "are labelled 'fraud'" in " ".join(said.out.split())
    main([*fit, "--out", str(tmp_path / "named"), "--positive", "fraud"])
    assert "fraud" not in capsys.readouterr().err
    one, other = (nnpu.load(tmp_path / name) for name in ("guessed", "named"))
    np.testing.assert_array_equal(one.decision_function(table), other.decision_function(table))
