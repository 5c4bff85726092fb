"""Tables that left what the training rows held are named; tables that did not are not."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import nnpu
from nnpu import TablePU
from nnpu.cli import main
from nnpu.parameters import InputError
from nnpu.table.columns.column_plan import plan_from_json

pytestmark = pytest.mark.filterwarnings("ignore:These rows differ")
WORDS = ["red", "green", "blue", "cold", "warm", "new", "old", "house", "river", "garden"]


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "amount": rng.lognormal(3 + fraud, 0.7),
            "country": rng.choice(["A", "B", "C"], n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "note": [" ".join(rng.choice(WORDS, 6)) for _ in range(n)],
            "member": rng.choice(["yes", "no"], n),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "known": np.where(fraud & (rng.random(n) < 0.5), 1.0, np.nan),
        }
    )


@pytest.fixture(scope="module")
def model():
    return TablePU(0.4, model="linear").fit(rows(), "known")


@pytest.mark.parametrize("n", [1, 5, 40, 400])
@pytest.mark.parametrize("seed", range(1, 6))
def test_rows_of_the_same_kind_are_not_remarked_on(model, n, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(rows(n, seed))


CHANGES = [
    (lambda t: t.assign(amount=t["amount"] * 60), "amount: .*outside .*, the range in training"),
    (lambda t: t.assign(amount=t["amount"] / 60), r"amount: .*median 0\.\d+, was"),
    (lambda t: t.assign(country="Z"), "country: all of the values are new or rare"),
    (lambda t: t.assign(country=np.nan), r"country: empty \(none missing in training\)"),
    (
        lambda t: t.assign(amount=t["amount"].where(t.index % 3 > 0)),
        "amount: 3. % of the cells are",
    ),
    (lambda t: t.assign(gaps=np.nan), r"gaps: empty \(\d+ % missing in training\)"),
    (lambda t: t.assign(day=pd.Timestamp("1970-01-01")), "day: 100 % of the dates are far outside"),
    (lambda t: t.assign(note="qqq www eee rrr"), "note: all of the texts share no word"),
    (lambda t: t.assign(member=None), "member: empty"),
]


@pytest.mark.parametrize(("change", "line"), CHANGES)
def test_a_column_that_left_the_training_is_named_in_one_line(model, tmp_path, change, line):
    table = change(rows(200, seed=7))
    with pytest.warns(UserWarning, match=f"differ from the training rows: {line}") as w:
        model.predict(table)
    assert "\n" not in str(w[0].message)
    found = model.evaluate(table, "known")
    columns = [line for line in found.drift if not line.startswith("score: ")]
    assert len(columns) == 1
    assert all(line in str(found) for line in found.drift)
    assert found.to_json()["drift"] == list(found.drift)
    assert "What has changed since the fit" in model.report(found).save(tmp_path / "r").read_text()
    same = nnpu.load(model.save(tmp_path / "m"))
    assert same.evaluate(table, "known").drift == found.drift


def test_one_row_far_outside_is_named(model):
    with pytest.warns(UserWarning, match="amount: 100 % of the values are outside"):
        model.predict(rows(1, seed=3).assign(amount=1e6))


def test_the_commands_say_it(model, tmp_path, capsys):
    model.save(tmp_path / "m")
    rows(200, 7).assign(country="Z").to_csv(tmp_path / "t.csv", index=False)
    out = ["--out", str(tmp_path / "p.csv")]
    main(["predict", str(tmp_path / "m"), str(tmp_path / "t.csv"), *out, "--json"])
    said = capsys.readouterr()
    assert "Note: These rows differ" in said.err
    assert json.loads(said.out)["drift"] == ["country: all of the values are new or rare"]
    main(["evaluate", str(tmp_path / "m"), str(tmp_path / "t.csv"), "--label", "known"])
    assert "country: all of the values are new or rare" in capsys.readouterr().out


@pytest.mark.parametrize(
    "seen",
    [
        7,
        {},
        {"rows": 0},
        {"rows": 5, "low": "a"},
        {"rows": 5, "edges": [1.0]},
        {"rows": 5, "edges": [2.0, 1.0], "shares": [0.1, 0.2, 0.7]},
        {"rows": 5, "edges": [1.0, 2.0], "shares": [1.0]},
        {"rows": float("inf")},
        {"rows": 5, "other": 1},
    ],
)
def test_a_summary_from_a_stranger_is_checked(seen):
    column = {"kind": "boolean", "name": "a", "missing": False, "seen": seen}
    with pytest.raises(InputError, match="cannot be understood"):
        plan_from_json([column])


def numbers(n, seed, columns=6):
    """Return Gaussian rows with a share of .3, and which are positive."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    frame = pd.DataFrame(rng.normal(size=(n, columns))).add_prefix("x")
    return frame + 1.4 * positive[:, None], positive


@pytest.fixture(scope="module")
def gaussian():
    frame, positive = numbers(1_500, 0)
    known = np.where(positive & (np.random.default_rng(1).random(1_500) < 0.5), 1, 0)
    return TablePU(0.3, model="linear").fit(frame, known)


@pytest.mark.parametrize(
    ("change", "flagged"),
    [(lambda frame: frame + 0.8, "[4-9]. %"), (lambda frame: -frame, "[0-4] %")],
    ids=["location", "sign"],
)
def test_scores_tell_what_no_column_does(gaussian, tmp_path, change, flagged):
    frame, positive = numbers(1_000, 2)
    right = (gaussian.predict(frame) == positive).mean()
    assert right > 0.85
    line = f"score: {flagged} of the rows are flagged, .* % in training; mean .*, was"
    with pytest.warns(UserWarning, match=line):
        wrong = (gaussian.predict(change(frame)) == positive).mean()
    assert wrong < right - 0.15
    same = nnpu.load(gaussian.save(tmp_path / "m"))
    with pytest.warns(UserWarning, match=line):
        same.predict_proba(change(frame))


@pytest.mark.parametrize("seed", range(10, 30))
def test_scores_of_the_same_kind_are_not_remarked_on(gaussian, seed):
    frame, positive = numbers((30, 100, 1_000)[seed % 3], seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gaussian.predict(frame)
        gaussian.predict(frame[~positive | (np.arange(len(frame)) % 2 == 0)])  # unlabelled rows


def timed(cells):
    return pa.table({"when": cells, "x": np.arange(400.0) % 7, "s": np.arange(400) % 4 == 0})


def test_times_without_their_zone_and_dates_without_their_times_are_named():
    """Both moved probabilities by .3 without a word."""
    hours = np.random.default_rng(0).integers(0, 24 * 500, 400)
    times = np.datetime64("2020-01-01") + hours.astype("timedelta64[h]")
    zoned = pa.array(times.astype("datetime64[s]"), pa.timestamp("s", "Europe/Berlin"))
    model = TablePU(0.4, model="linear").fit(timed(zoned), "s")
    spelt = pa.array([f"{cell}+01:00" for cell in np.datetime_as_string(times + 1, unit="m")])

    def said(cells, model=model):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            model.predict(timed(cells))
        return " ".join(str(each.message) for each in found)

    assert said(zoned) == said(spelt) == ""
    without = r"when: times are written without one, which counts as UTC; in training with a zone"
    assert without in said(pa.array(times.astype("datetime64[s]")))
    assert without in said(pa.array(np.datetime_as_string(times, unit="m")))
    assert "when: no cell has a time of day, 9" in said(pa.array(times.astype("datetime64[D]")))
    plain = TablePU(0.4, model="linear").fit(timed(pa.array(times.astype("datetime64[s]"))), "s")
    assert "when: times are written with a zone; in training without" in said(zoned, plain)


def test_letters_with_accents_are_the_same_however_they_are_written():
    towns = np.where(np.arange(400) % 3, "K\u00f6ln", "Bonn")
    table = pa.table({"town": towns, "x": np.arange(400.0) % 7, "s": np.arange(400) % 4 == 0})
    model = TablePU(0.4, model="linear").fit(table, "s")
    other = table.set_column(0, "town", pa.array(np.char.replace(towns, "\u00f6", "o\u0308")))
    assert np.array_equal(model.predict_proba(other), model.predict_proba(table))
    renamed = table.rename_columns(["\u00f6", "x", "s"])
    model = TablePU(0.4, model="linear").fit(renamed, "s")
    with pytest.raises(InputError, match="which looks the same in other characters: rename it"):
        model.predict(table.rename_columns(["o\u0308", "x", "s"]))
