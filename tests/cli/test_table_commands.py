"""fit, predict, evaluate and prior on users' tables, from the command line to the files."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shlex
import signal
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file

import nnpu
from nnpu.cli import main
from nnpu.data.folds import PUStratifiedKFold
from nnpu.data.streams import read_rows
from nnpu.table.columns import read_label_cells

QUICK = ["--prior", "0.5", "--epochs", "2"]


def predictions(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def column(path, name):
    return np.array([float(row[name]) for row in predictions(path)])


def predict(model, data, out):
    main(["predict", str(model), str(data), "--out", str(out)])
    return out


def test_fit_and_predict_equal_the_classifier_on_the_same_features(tmp_path, model, people):
    """The oracle is the Python class, fitted to the same four fifths of the rows."""
    data = people(tmp_path / "people.csv")
    batch = read_rows(data)
    s = read_label_cells(batch.columns["label"], "label", str(data)).codes
    x = nnpu.load(model).columns_.transform(batch)
    held_out = PUStratifiedKFold(5, random_state=0).assign(s) == 0
    classifier = nnpu.PUClassifier(0.5, sampling="one-sample", epochs=2, random_state=0)
    classifier.fit(x[~held_out], s[~held_out]).calibrate(x[held_out], s[held_out])
    out = predict(model, data, tmp_path / "p.csv")
    np.testing.assert_allclose(column(out, "score"), classifier.decision_function(x), rtol=1e-6)
    # P(y = 1 | x, unlabelled); 16 of the 96 rows are labelled, so 1/3 of the positives.
    f = classifier.predict_proba(x)[:, 1]
    expected = np.where(s == 1, 1.0, f * (1 - 1 / 3) / (1 - f / 3))
    np.testing.assert_allclose(column(out, "probability"), expected)
    least = classifier.calibration_([classifier.threshold_])[0]
    assert column(out, "prediction").tolist() == (expected > least).tolist()
    names = ["id", "age", "town", "member"]
    out = predict(model, people(tmp_path / "new.csv", names=names), tmp_path / "q.csv")
    np.testing.assert_allclose(column(out, "probability"), f)
    assert column(out, "prediction").tolist() == classifier.predict(x).tolist()


def test_predictions_have_one_row_per_row_in_its_order_under_its_id(tmp_path, model, people):
    data = people(tmp_path / "new.csv", seed=1)
    rows = predictions(predict(model, data, tmp_path / "p.csv"))
    assert list(rows[0]) == ["id", "score", "probability", "prediction", "rank"]
    assert [row["id"] for row in rows] == [f"p{number:03d}" for number in range(120)]
    listed = sorted((int(row["rank"]), -float(row["score"])) for row in rows if row["rank"])
    assert [rank for rank, _ in listed] == list(range(1, 101))  # 20 of the rows are labelled
    assert [score for _, score in listed] == sorted(score for _, score in listed)
    assert all(row["prediction"] == "1" for row in rows if not row["rank"])


def test_the_order_of_columns_and_further_columns_do_not_matter(tmp_path, model, people):
    names = ["member", "label", "town", "id", "age"]
    one = predict(model, people(tmp_path / "one.csv"), tmp_path / "1.csv")
    other = predict(model, people(tmp_path / "other.csv", names=names), tmp_path / "2.csv")
    assert one.read_bytes() == other.read_bytes()


def test_every_format_of_the_same_table_gives_the_same_predictions(tmp_path, model, people):
    data = people(tmp_path / "people.csv")
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(data.read_bytes()))
    table = pa.csv.read_csv(data, convert_options=pa.csv.ConvertOptions(null_values=["", "?"]))
    pq.write_table(table, tmp_path / "people.parquet")
    expected = predict(model, data, tmp_path / "p.csv").read_bytes()
    for name in ("packed.csv.gz", "people.parquet"):
        assert predict(model, tmp_path / name, tmp_path / "q.csv").read_bytes() == expected


def test_a_folder_of_parquet_files_is_fitted_and_scored_like_the_table_it_was(
    tmp_path, model, people
):
    data = people(tmp_path / "people.csv")
    table = pa.csv.read_csv(data, convert_options=pa.csv.ConvertOptions(null_values=["", "?"]))
    (tmp_path / "parts").mkdir()
    for number, start in enumerate((0, 50)):
        part = table.slice(start, 50 if start == 0 else None)
        pq.write_table(part, tmp_path / "parts" / f"{number}.parquet")
    whole = predict(model, data, tmp_path / "whole.csv")
    parts = predict(model, tmp_path / "parts", tmp_path / "parts.csv")
    assert [row["id"] for row in predictions(parts)] == [row["id"] for row in predictions(whole)]
    # Sums of batches of other sizes differ in their last bits.
    assert column(parts, "score") == pytest.approx(column(whole, "score"), rel=1e-5)
    out = tmp_path / "from-parts"
    main(["fit", str(tmp_path / "parts"), "--label", "label", "--out", str(out), *QUICK])
    again = predict(out, tmp_path / "parts", tmp_path / "again.csv")
    assert column(again, "score") == pytest.approx(column(whole, "score"), rel=1e-5)


def test_predictions_as_parquet_hold_the_same_numbers(tmp_path, model, people):
    data = people(tmp_path / "people.csv")
    text = predict(model, data, tmp_path / "p.csv")
    table = pq.read_table(predict(model, data, tmp_path / "p.parquet"))
    assert table.column_names == ["id", "score", "probability", "prediction", "rank"]
    ranks = [str(rank or "") for rank in table["rank"].to_pylist()]
    assert ranks == [row["rank"] for row in predictions(text)]
    np.testing.assert_allclose(table["score"].to_numpy(), column(text, "score"), rtol=1e-6)


def test_unseen_categories_and_missing_cells_are_scored(tmp_path, model):
    new = tmp_path / "new.csv"
    new.write_text("age,town,member\n40,Atlantis,yes\n,,\n40,Ulm,unknown\n")
    assert np.isfinite(column(predict(model, new, tmp_path / "p.csv"), "score")).all()


def test_rows_are_scored_alike_whatever_block_they_are_in(tmp_path, model, people):
    """Some 20,000 rows make several blocks; each repeats the 120 rows of the small file."""
    small = people(tmp_path / "small.csv")
    head, body = small.read_text().split("\n", 1)
    (tmp_path / "large.csv").write_text(head + "\n" + body * 170)
    once = column(predict(model, small, tmp_path / "s.csv"), "score")
    many = column(predict(model, tmp_path / "large.csv", tmp_path / "l.csv"), "score")
    np.testing.assert_allclose(many, np.tile(once, 170), rtol=1e-5, atol=1e-6)


def test_predictions_do_not_exist_until_they_are_complete(tmp_path, model, people, monkeypatch):
    real, out = nnpu.TablePU.scored, tmp_path / "out" / "p.csv"

    def interrupted(*arguments, **options):
        for batch in real(*arguments, **options):
            assert not out.exists()
            yield batch
            yield batch
            raise KeyboardInterrupt

    monkeypatch.setattr(nnpu.TablePU, "scored", interrupted)
    data = people(tmp_path / "people.csv")
    with pytest.raises(SystemExit) as status:
        predict(model, data, out)
    assert status.value.code == 130
    assert not out.parent.exists() or not list(out.parent.iterdir())


def test_evaluate_prints_what_the_metrics_say_of_the_predictions(tmp_path, model, people, capsys):
    data = people(tmp_path / "new.csv", seed=1)
    found = column(predict(model, data, tmp_path / "p.csv"), "score") > 0  # not by the label
    s = [int(row["label"] or 0) for row in predictions(data)]
    capsys.readouterr()
    main(["evaluate", str(model), str(data), "--label", "label", "--json"])
    result = json.loads(capsys.readouterr().out)
    how = {"prior": 0.5, "sampling": "one-sample"}
    precision = result["metrics"]["pu_precision"]
    assert precision["value"] == pytest.approx(nnpu.metrics.pu_precision(s, found, **how))
    limits = nnpu.metrics.interval("pu_precision", s, found, **how, clip=True)
    assert (precision["low"], precision["high"]) == pytest.approx(limits)
    assert set(result["metrics"]) == set(nnpu.metrics.METRICS)
    assert (result["rows"], result["labelled"]) == (120, 20)
    hidden = result["hidden"]
    assert hidden["rows"] == 100
    main(["evaluate", str(model), str(data), "--label", "label"])
    text = capsys.readouterr().out
    assert text.startswith("Unlabelled rows: 100. Positive among them: 40, from the share given.\n")
    top = [round(20 * hidden["top"]["20"][name]) for name in ("value", "low", "high")]
    assert re.search(rf"^ +20 +{top[0]} \({top[1]} to {top[2]}\) ", text, re.MULTILINE)
    assert "accuracy" not in text  # a figure for all rows is in the report and in --json
    assert "not fitted to" in " ".join(text.split())


def test_fit_says_what_it_does_before_it_does_it(tmp_path, people, capsys):
    data = people(tmp_path / "people.csv")
    main(["fit", str(data), "--label", "label", "--out", str(tmp_path / "m"), *QUICK])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Sampling: one-sample")
    assert "--sampling two-sample" in lines[0]
    assert "120, of which 20 are labelled; 24 are set aside" in lines[1]
    told = {line.split()[0]: line for line in lines[3:7]}
    assert "copied to the predictions" in told["id"]
    assert "median" in told["age"]
    assert "2 categories, missing is a category of its own" in told["town"]
    assert "yes or no" in told["member"]
    assert "Judged on 24 rows that were set aside." in lines
    assert any(line.startswith("Unlabelled rows: 20. Positive among them: 8") for line in lines)
    assert lines[-3].startswith(f"Model: {tmp_path / 'm'}")


@pytest.mark.parametrize("prior", ["0.5", "auto", "30%-70%"])
def test_a_fit_says_it_in_25_lines_of_80_columns_however_wide_the_table(tmp_path, capsys, prior):
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    x = rng.normal(size=(2000, 30)) + y[:, None]
    names = [f"a_long_name_of_a_column_{number}" for number in range(30)]
    lines = [",".join([*names, "s"])]
    lines += [",".join([*map(str, row.round(2)), str(int(i % 4 == 1))]) for i, row in enumerate(x)]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    out = tmp_path / "m"
    options = ["--label", "s", "--out", str(out), "--prior", prior, "--model", "linear"]
    main(["fit", str(tmp_path / "wide.csv"), *options])
    said = capsys.readouterr().out.splitlines()
    assert len(said) <= 25
    assert "and 25 more: 25 number" in "\n".join(said)
    copied = ("Model: ", "Report: ", "Again: ")  # a path stays on its line
    assert max(len(line) for line in said if not line.startswith(copied)) <= 80
    assert any(line.startswith("Next: ") for line in said)
    weights = (out / "model.safetensors").read_bytes()
    [again] = [line.removeprefix("Again: nnpu ") for line in said if line.startswith("Again: ")]
    main(shlex.split(again))
    assert (out / "model.safetensors").read_bytes() == weights


def test_the_run_folder_repeats_the_run(tmp_path, model, people, monkeypatch, capsys):
    """By its command and by its configuration: the same weights, bit for bit."""
    weights = (model / "model.safetensors").read_bytes()
    run = (model / "run.toml").read_text()
    words = shlex.split(run.splitlines()[0].removeprefix("# "))
    assert words[:2] == ["nnpu", "fit"]
    main([*words[1:], "--out", str(tmp_path / "by command")])
    assert (tmp_path / "by command" / "model.safetensors").read_bytes() == weights
    main(["fit", "--config", str(model / "run.toml"), "--out", str(tmp_path / "by config")])
    assert (tmp_path / "by config" / "model.safetensors").read_bytes() == weights
    assert tomllib.loads(run)["epochs"] == 2
    events = [json.loads(line) for line in (model / "log.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["columns", "prior", *["epoch"] * 2, "held_out"]
    assert not (tmp_path / "by config.partial").exists()


def test_the_command_line_goes_before_the_configuration(tmp_path, people, capsys):
    data = people(tmp_path / "people.csv")
    (tmp_path / "run.toml").write_text(
        f'data = "{data}"\nlabel = "label"\nprior = 0.4\nepochs = 1\ndrop = ["town", "age"]\n'
    )
    arguments = ["--config", str(tmp_path / "run.toml"), "--prior", "0.6", "--json"]
    main(["fit", *arguments, "--out", str(tmp_path / "m")])
    result = json.loads(capsys.readouterr().out)
    assert result["prior"] == {"value": 0.6}
    kinds = {entry["name"]: entry["kind"] for entry in result["columns"]}
    assert kinds == {"id": "id", "age": "dropped", "town": "dropped", "member": "boolean"}


def test_ctrl_c_keeps_the_training_and_the_same_command_goes_on(
    tmp_path, people, model, monkeypatch, capsys
):
    from nnpu.training import loop

    real, steps = loop.train_step, []

    def with_ctrl_c_in_the_fourth(*arguments):
        steps.append(1)
        if len(steps) == 4:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    data, out = people(tmp_path / "people.csv"), tmp_path / "model"
    arguments = ["fit", str(data), "--label", "label", "--out", str(out), *QUICK]
    with monkeypatch.context() as patched:
        patched.setattr(loop, "train_step", with_ctrl_c_in_the_fourth)
        with pytest.raises(SystemExit) as status:
            main(arguments)
    assert status.value.code == 130
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("nnpu: Interrupted. The training so far is in ")
    assert "the same command resumes it" in said
    assert not out.exists()
    main(arguments)
    weights = "model.safetensors"
    assert (out / weights).read_bytes() == (model / weights).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "people.csv"]


def test_the_prior_is_estimated_and_drawn(tmp_path, capsys):
    """Classes far apart, half of them positive, 40 % of those labelled."""
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.normal(8 * (number % 2)):.3f},{rng.normal():.3f},{int(number % 10 in (1, 3))}"
        for number in range(400)
    ]
    data = tmp_path / "t.csv"
    data.write_text("\n".join(["a,b,s", *rows]))
    arguments = ["prior", str(data), "--label", "s", "--out", str(tmp_path / "picture.png")]
    main([*arguments, "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["value"] == pytest.approx(0.5, abs=0.08)
    assert result["low"] < 0.5 < result["high"]
    assert sorted(path.name for path in tmp_path.glob("picture*")) == ["picture.png", "picture.svg"]
    main(["fit", str(data), "--label", "s", "--out", str(tmp_path / "m"), "--epochs", "2"])
    assert "share of positives" in capsys.readouterr().out.lower()


def test_arrays_and_sparse_rows_are_fitted_as_they_are(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    x = rng.normal(size=(80, 3)) + 2 * y[:, None]
    s = np.where(y & (np.arange(80) % 4 == 1), 1, 0)
    np.savez(tmp_path / "t.npz", x=x, s=s)
    dump_svmlight_file(x, s, str(tmp_path / "t.svm"), zero_based=False)
    for name, label in (("t.npz", "s"), ("t.svm", "y")):
        data, out = tmp_path / name, tmp_path / f"{name}-model"
        main(["fit", str(data), "--label", label, "--out", str(out), *QUICK])
        scores = column(predict(out, data, tmp_path / "p.csv"), "score")
        given = x if name == "t.npz" else read_rows(data).matrices["x"]
        expected = nnpu.load(out).classifier_.decision_function(given)
        np.testing.assert_allclose(scores, expected, rtol=1e-5)


def test_known_negatives_and_two_samples_are_taken_as_told(tmp_path, people, capsys):
    data = people(tmp_path / "people.csv")
    text = data.read_text().split("\n")
    text[2], text[4] = f"{text[2]}-1", f"{text[4]}-1"  # two unlabelled rows
    data.write_text("\n".join(text))
    arguments = ["--sampling", "two-sample", "--out", str(tmp_path / "m"), *QUICK]
    main(["fit", str(data), "--label", "label", *arguments])
    said = capsys.readouterr().out
    assert said.startswith("Sampling: two-sample.")
    assert "2 known to be negative" in said
    model = nnpu.load(tmp_path / "m").classifier_
    assert (model.sampling, model.risk) == ("two-sample", "nnpnu")


def test_the_interval_of_the_prior_counts_known_negatives_as_its_value_does(tmp_path, capsys):
    """Half of the rows are positive, and half of the negatives are known: 2 of 3 without them."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal(8 * (n % 2)):.3f},{[-1, 1, 0, 0][n % 4]}" for n in range(400)]
    data = tmp_path / "t.csv"
    data.write_text("\n".join(["a,s", *rows]))
    options = ["--out", str(tmp_path / "m"), "--epochs", "2", "--json"]
    main(["fit", str(data), "--label", "s", *options])
    prior = json.loads(capsys.readouterr().out)["prior"]
    assert prior["low"] < prior["value"] < prior["high"] < 2 / 3
    assert prior["value"] == pytest.approx(0.5, abs=0.08)


def test_a_long_prediction_says_how_far_it_is(tmp_path, model, people, monkeypatch, capsys):
    monkeypatch.setattr("nnpu.table.predictions._EVERY", 0.0)
    predict(model, people(tmp_path / "people.csv"), tmp_path / "p.csv")
    assert capsys.readouterr().err == "people.csv: 120 rows so far\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    predict(model, tmp_path / "people.csv", tmp_path / "p.csv")
    assert "rows/s" in capsys.readouterr().err


def test_a_precision_without_bound_is_null_in_json(tmp_path, capsys):
    """No unlabelled row is predicted positive, labelled ones are: JSON has no infinity."""
    rows = [f"{5 + n / 100},1" for n in range(30)] + [f"{-5 - n / 100}," for n in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,s", *rows]) + "\n")
    data, model = str(tmp_path / "t.csv"), str(tmp_path / "model")
    options = ["--sampling", "two-sample", "--prior", "0.3", "--epochs", "30", "--json"]
    main(["fit", data, "--label", "s", "--out", model, *options])
    told = [
        capsys.readouterr().out,
        (tmp_path / "model" / "log.jsonl").read_text().splitlines()[-1],
    ]
    main(["evaluate", model, data, "--label", "s", "--json"])
    told.append(capsys.readouterr().out)

    def refuse(text):
        raise AssertionError(f"{text} is not JSON")

    for text in told:
        json.loads(text, parse_constant=refuse)
    assert json.loads(told[-1])["metrics"]["pu_precision"]["value"] is None


def test_verbose_says_when_each_phase_ended(tmp_path, people, capsys):
    data = people(tmp_path / "people.csv")
    out = ["--out", str(tmp_path / "m"), "--model", "linear", "--prior", "0.5"]
    main(["fit", str(data), "--label", "label", *out, "--verbose"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[")]
    seconds = [float(line[1:].split(" s] ")[0]) for line in lines]
    assert seconds == sorted(seconds)
    phases = [line.split("] ")[1].split(":")[0].split()[0] for line in lines]
    assert phases == ["Sampling", "Read", "Rows", "Training", "Labels", "Judged", "Next"]


@pytest.fixture
def pair(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.4
    files = {"p.csv": rng.normal(3, 1, 60), "u.csv": rng.normal(3.0 * y, 1)}
    for name, sizes in files.items():
        (tmp_path / name).write_text("\n".join(["size", *map(repr, sizes.tolist())]))
    return ["--positives", str(tmp_path / "p.csv"), "--unlabelled", str(tmp_path / "u.csv")]


def test_two_tables_need_no_label(pair, tmp_path, capsys):
    out = tmp_path / "model"
    main(["fit", *pair, "--out", str(out), "--model", "linear", "--prior", "0.4"])
    assert "Sampling: two-sample" in capsys.readouterr().out
    expected = nnpu.TablePU(0.4, model="linear").fit_two(pair[1], pair[3])
    scores = nnpu.load(out).decision_function(pair[3])
    assert np.array_equal(scores, expected.decision_function(pair[3]))
    main(["fit", "--config", str(out / "run.toml"), "--out", str(tmp_path / "again")])
    assert np.array_equal(nnpu.load(tmp_path / "again").decision_function(pair[3]), scores)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (lambda p: [*p, p[1]], "DATA does not go with --positives"),
        (lambda p: p[:2], "--unlabelled is missing"),
        (lambda p: p[2:], "--positives is missing"),
        (lambda p: [*p, "--label", "known"], "--label does not go with"),
        (lambda p: [*p, "--images", "file"], "--images does not go with"),
        (lambda p: [*p, "--answers", p[1]], "--answers does not go with"),
        (lambda p: [*p, "--sampling", "one-sample"], "Two tables are two samples"),
        (lambda p: [p[1]], "Missing option '--label'"),
        (lambda p: ["--label", "known"], "Missing argument 'DATA'"),
    ],
)
def test_two_tables_with_options_that_make_no_sense(pair, capsys, options, words):
    with pytest.raises(SystemExit) as stopped:
        main(["fit", *options(pair)])
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err
