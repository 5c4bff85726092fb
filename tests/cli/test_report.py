"""Reports of the commands: where they are written, and that they hold what the commands found."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import nnpu
from nnpu.cli import main
from nnpu.report.sections import sound_history

QUICK = ["--prior", "0.5", "--epochs", "2"]


def embedded(path):
    """Return the data of a page."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text)[1])


def headings(path):
    return re.findall(r"<h2[^>]*>([^<]*)</h2>", path.read_text(encoding="utf-8"))


SECTIONS = [
    "In short",
    "The unlabelled rows",
    "Rows to look at first",
    "Which columns matter",
    "Is PU learning worth it here?",
    "All rows, if labels were given at random",
    "Choose a threshold",
    "What errors cost",
    "The scores",
    "The share of positives",
    "The probabilities",
    "Who was labelled",
    "The columns",
    "The training",
]
OF_A_FIT = ("Which columns matter",)  # an evaluation does not have it


def test_a_fit_leaves_its_report_in_the_model_folder_which_still_loads(model):
    assert headings(model / "report.html") == SECTIONS
    text = (model / "report.html").read_text()
    assert "The prior, 0.5, was given." in text
    assert "2 categories, missing is a category of its own" in text
    assert nnpu.load(model).prior_ == 0.5


def test_the_report_of_a_fit_goes_where_it_is_told(tmp_path, people, capsys):
    data, page = people(tmp_path / "people.csv"), tmp_path / "new" / "page.html"
    arguments = ["fit", str(data), "--label", "label", "--out", str(tmp_path / "m"), *QUICK]
    main([*arguments, "--report", str(page)])
    said = capsys.readouterr().out.splitlines()
    assert f"Report: {page} (opens in a browser)" in said
    assert f'report = "{page}"' in (tmp_path / "m" / "run.toml").read_text()
    assert headings(page) == SECTIONS
    assert not (tmp_path / "m" / "report.html").exists()
    main([*arguments, "--json"])
    assert json.loads(capsys.readouterr().out)["report"] == str(tmp_path / "m" / "report.html")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("{{7*7}}{% raw %}<script>x.csv", "{{7*7}}{% raw %}&lt;script&gt;x.csv"),
        ("a\u202ecsv.b\x1b.csv", r"a\u202ecsv.b\x1b.csv"),
        ("\udcff.csv", r"\udcff.csv"),  # a byte that is not UTF-8
    ],
    ids=["a template", "control characters", "not UTF-8"],
)
def test_a_report_shows_a_strange_file_name_as_text(tmp_path, people, name, shown):
    try:
        data = people(tmp_path / name)
    except OSError:
        pytest.skip("the file system has no such names")
    page = tmp_path / "page.html"
    options = ["--out", str(tmp_path / "m"), "--model", "linear", "--report", str(page)]
    main(["fit", str(data), "--label", "label", *options])
    text = page.read_text(encoding="utf-8")
    assert f"<title>Report: {shown}</title>" in text
    assert f"<h1>Report: {shown}</h1>" in text


def test_the_history_of_a_fit_has_the_risk_of_the_held_out_rows(model, tmp_path, people):
    """By hand: the one-sample risk of the zero-one loss, π + Q − 2 π TPR, of the last epoch."""
    from nnpu.data.folds import PUStratifiedKFold
    from nnpu.data.streams import read_rows
    from nnpu.table.columns import read_label_cells

    batch = read_rows(people(tmp_path / "people.csv"))
    s = read_label_cells(batch.columns["label"], "label", "people.csv").codes
    held_out = PUStratifiedKFold(5, random_state=0).assign(s) == 0
    x = nnpu.load(model).columns_.transform(batch)
    classifier = nnpu.load(model).classifier_
    flagged = classifier.decision_function(x[held_out]) > 0
    tpr, q = flagged[s[held_out] == 1].mean(), flagged.mean()
    last = classifier.history_[-1]
    # r = Q − π TPR is clipped at 0 in the reported risk, Eq. (6)
    expected = 0.5 * (1 - tpr) + max(q - 0.5 * tpr, 0)
    assert last["valid_zero_one"] == pytest.approx(expected, abs=1e-6)
    assert last["valid_risk"] == pytest.approx(
        last["valid_positive"] + max(last["valid_negative"], 0), abs=1e-6
    )


def test_evaluate_writes_a_report_if_it_is_asked_to(tmp_path, model, people, capsys):
    data, page = people(tmp_path / "new.csv", seed=1), tmp_path / "page.html"
    main(["evaluate", str(model), str(data), "--label", "label", "--report", str(page), "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["report"] == str(page)
    assert headings(page) == [name for name in SECTIONS if name not in OF_A_FIT]
    explorer = embedded(page)["explorer"]
    start = explorer["start"]
    assert explorer["thresholds"][start] == "0"
    precision = result["metrics"]["pu_precision"]
    shown, interval = explorer["tiles"][start]["precision"]
    value, low, high = (min(max(precision[name], 0), 1) for name in ("value", "low", "high"))
    assert shown == f"{100 * value:.1f}\u00a0%"
    assert interval == f"{100 * low:.1f} to {100 * high:.1f}\u00a0%"
    main(["evaluate", str(model), str(data), "--label", "label"])
    assert "Report:" not in capsys.readouterr().out


def test_an_estimated_prior_brings_its_curve_and_both_ends_of_its_interval(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.normal(4 * (number % 2)):.3f},{rng.normal():.3f},{int(number % 10 in (1, 3))}"
        for number in range(500)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,s", *rows]))
    out = tmp_path / "m"
    arguments = ["fit", str(tmp_path / "t.csv"), "--label", "s", "--out", str(out)]
    main([*arguments, "--epochs", "2", "--json"])
    prior = json.loads(capsys.readouterr().out)["prior"]
    text = (out / "report.html").read_text()
    for words in (
        f"as chosen: {prior['value']:.3f}",
        f"20 % lower: {0.8 * prior['value']:.3f}",
        f"20 % higher: {1.2 * prior['value']:.3f}",
        f"low end of its range: {prior['low']:.3f}",
        f"high end of its range: {prior['high']:.3f}",
    ):
        assert words in text
    assert prior["message"] in text
    assert "q_u / q_p" in text
    page = tmp_path / "page.html"
    data = str(tmp_path / "t.csv")
    main(["evaluate", str(out), data, "--label", "s", "--report", str(page)])
    text = page.read_text()  # the model folder has kept the interval
    assert prior["message"] in text
    assert f"low end of its range: {prior['low']:.3f}" in text


def test_a_prior_that_would_be_impossible_is_said_to_be_moved(tmp_path, capsys):
    """Half of the rows are labelled: 0.8 times a prior of 0.6 is less than that."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal(2 * (number % 2)):.3f},{number % 2}" for number in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["a,s", *rows]))
    out = tmp_path / "m"
    options = ["--prior", "0.6", "--epochs", "2"]
    main(["fit", str(tmp_path / "t.csv"), "--label", "s", "--out", str(out), *options])
    text = (out / "report.html").read_text()
    assert "20 % lower, as far as these rows allow: 0.525" in text  # 21 of 40 rows
    assert "20 % higher: 0.720" in text


def test_rows_set_aside_that_contradict_the_prior_have_no_figures_that_rest_on_it(tmp_path, capsys):
    """11 of 61 rows are labelled, but 3 of the 13 set aside: more than the prior of 0.2."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal(number % 2):.3f},{int(number < 11)}" for number in range(61)]
    (tmp_path / "t.csv").write_text("\n".join(["a,s", *rows]))
    out = tmp_path / "m"
    options = ["--prior", "0.2", "--epochs", "2"]
    main(["fit", str(tmp_path / "t.csv"), "--label", "s", "--out", str(out), *options])
    said = "The share of positives cannot be 0.2 in these rows: 0.231 of them are labelled."
    assert said in " ".join(capsys.readouterr().out.split())
    of_all_rows = (
        "All rows, if labels were given at random",
        "Choose a threshold",
        "What errors cost",
        "The probabilities",
    )
    wanted = [name for name in SECTIONS if name not in of_all_rows]
    assert headings(out / "report.html") == wanted
    assert f"{said} Figures for all rows are not shown." in (out / "report.html").read_text()
    main(["evaluate", str(out), str(tmp_path / "t.csv"), "--label", "s", "--json"])
    assert json.loads(capsys.readouterr().out)["hidden"]["contradicted"] is None  # 11 of 61 can be


def test_a_contradiction_found_in_the_fit_is_kept_in_the_folder(tmp_path, capsys):
    """Labels are given by size: under the given prior that is not chance."""
    rng = np.random.default_rng(0)
    a = np.sort(rng.normal(size=1000))
    rows = [f"{value:.4f},{rng.normal():.3f},{int(value > 1.0)}" for value in a]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,s", *rows]))
    out = tmp_path / "m"
    options = ["--prior", "0.5", "--model", "linear", "--json"]
    main(["fit", str(tmp_path / "t.csv"), "--label", "s", "--out", str(out), *options])
    found = json.loads(capsys.readouterr().out)
    assert found["labels"]["pvalue"] < 1e-3
    said = found["held_out"]["hidden"]["contradicted"]
    assert said.startswith("Labels were not given at random (p = ")
    assert nnpu.load(out).holdout_.hidden.contradicted == said
    assert "All rows, if labels were given at random" not in headings(out / "report.html")
    main(["evaluate", str(out), str(tmp_path / "t.csv"), "--label", "s"])
    shown = " ".join(capsys.readouterr().out.split())
    assert said in shown
    assert "If they were" not in shown


@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    tmp_path, people, model, capsys, command
):
    (tmp_path / "file").write_text("")
    data = people(tmp_path / "people.csv")
    arguments = {
        "fit": [str(data), "--label", "label", "--out", str(tmp_path / "m")],
        "evaluate": [str(model), str(data), "--label", "label"],
    }[command]
    with pytest.raises(SystemExit) as status:
        main([command, *arguments, "--report", str(tmp_path / "file" / "page.html")])
    error = capsys.readouterr().err
    assert status.value.code == 2
    assert error.count("\n") == 1
    assert "is not a folder; choose another --report." in error
    assert not (tmp_path / "m").exists()


def test_a_strangers_history_is_drawn_only_if_it_can_be(model):
    classifier = nnpu.load(model).classifier_
    assert len(sound_history(classifier.history_)) == 2
    good = classifier.history_[0]
    for bad in (
        [{"train_risk": "</script>"}],
        [good | {"train_risk": float("inf")}],
        [good, {**good, "corrected": None}],
        [good, {key: value for key, value in good.items() if key != "corrected"}],
        [{}],
    ):
        assert sound_history(bad) == []
