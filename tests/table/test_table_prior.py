"""`TablePU.estimate_prior` and ``nnpu prior``: what a fit finds, without the rest of it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from nnpu import TablePU
from nnpu.cli import main


def table(n=500, seed=0, copies=0):
    """Two classes that overlap, 40 % of the positives labelled; some rows of words and gaps."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    rows = pd.DataFrame(
        {
            "size": rng.normal(1.5 * y, 1).round(4),
            "weight": np.where(rng.random(n) < 0.1, np.nan, rng.normal(y, 1).round(4)),
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], n),
            "known": (y & (rng.random(n) < 0.4)).astype(int),
        }
    )
    return pd.concat([rows, rows.iloc[:copies]], ignore_index=True)


def said_by(found):
    return found.value, found.low, found.high, found.upper_bound


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (table(), {}),
        (table(700, 1, copies=30), {"random_state": 3}),
        (table(400, 2), {"sampling": "two-sample"}),
        (table(400, 4), {"model": "trees", "holdout": 0.3}),
        (table(400, 5), {"model": "linear"}),
    ],
    ids=["a table", "with copies", "two samples", "trees", "linear"],
)
def test_the_prior_is_that_of_a_fit(rows, options):
    found = TablePU(**options).estimate_prior(rows, "known")
    fitted = TablePU(**options).fit(rows, "known").classifier_
    assert found.value == fitted.prior_
    assert said_by(found.estimate) == said_by(fitted.prior_estimate_)


def test_the_prior_is_that_of_a_fit_that_sets_rows_aside():
    """By time: the last rows judge the model, and neither estimates from them."""
    rows = table(500, 6).assign(day=lambda t: pd.date_range("2024-01-01", periods=len(t)))
    found = TablePU(time="day").estimate_prior(rows, "known")
    fitted = TablePU(time="day").fit(rows, "known")
    assert fitted.n_labelled_ + fitted.n_unlabelled_ == 400
    assert found.rows == 500
    assert found.value == fitted.classifier_.prior_


def test_a_prior_that_was_given_does_not_become_the_estimate():
    rows = table(400, 7)
    found = TablePU(0.9).estimate_prior(rows, "known")
    assert found.value == TablePU().estimate_prior(rows, "known").value != 0.9


@pytest.mark.parametrize("seed", [0, 1])
def test_both_commands_print_the_same_ranges(seed, tmp_path, capsys):
    data = tmp_path / "t.csv"
    table(600, seed).to_csv(data, index=False)
    main(["prior", str(data), "--label", "known"])
    prior = " ".join(capsys.readouterr().out.split())
    main(["fit", str(data), "--label", "known", "--out", str(tmp_path / "m")])
    fit = " ".join(capsys.readouterr().out.split())
    in_the_world = re.search(r"between (\S+) and (\S+) of the unlabelled rows", prior).groups()
    assert (
        in_the_world
        == re.search(r"Positive among them: about \S+ \((\S+) to (\S+)\)", fit).groups()
    )
    at_random = int(re.search(r"and about (\d+) others", prior)[1])
    assert at_random == pytest.approx(int(re.search(r"With random labels: (\d+)", fit)[1]), abs=1)
