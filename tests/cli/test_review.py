"""``nnpu review``: rows out, answers in, and what can go wrong between."""

from __future__ import annotations

import csv
import json
import re
import sys

import numpy as np
import pytest
from tests.review.served import start_command

from nnpu import TablePU
from nnpu.cli import main
from nnpu.review import load

N = 600


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table with ids, a model of it, and the hidden truth by id."""
    folder = tmp_path_factory.mktemp("review")
    rng = np.random.default_rng(0)
    y = rng.random(N) < 0.4
    amount = rng.normal(1.6 * y, 1)
    s = y & (rng.random(N) < 0.4)
    lines = [f"c{i},{amount[i]:.4f},{rng.normal():.4f},{int(s[i])}" for i in range(N)]
    data = folder / "table.csv"
    data.write_text("\n".join(["id,amount,noise,s", *lines]))
    options = ["--label", "s", "--prior", "0.4", "--model", "linear", "--out"]
    main(["fit", str(data), *options, str(folder / "model")])
    return folder, {f"c{i}": bool(y[i]) for i in range(N)}, {f"c{i}" for i in np.flatnonzero(s)}


def review(folder, *arguments):
    return main(["review", str(folder / "model"), str(folder / "table.csv"), *map(str, arguments)])


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def amount(row):
    return float(row["amount"])


def fill(path, truth):
    rows = rows_of(path)
    for row in rows:
        row["answer"] = "yes" if truth[row["id"]] else "no"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_rows_go_out_and_answers_come_back(fitted, tmp_path, capsys):
    folder, truth, labelled = fitted
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    review(folder, "--rows", 60, "--out", one)
    said = capsys.readouterr().out
    assert "60 rows to look at" in said
    assert "folds" not in said  # rows of the fit have the scores that judged them
    rows = rows_of(one)
    assert list(rows[0])[-2:] == ["amount", "noise"]
    assert not {row["id"] for row in rows} & labelled
    for row in rows:  # a reason names the cell
        name, _, rest = row["reasons"].partition(" = ")
        assert float(rest.split(" ")[0]) == float(row[name])
    high, low = (max(rows, key=key) for key in (amount, lambda row: -amount(row)))
    assert high["reasons"].startswith(f"amount = {high['amount']} (+")
    assert low["reasons"].startswith(f"amount = {low['amount']} (-")
    fill(one, truth)
    review(folder, "--answers", one, "--json")
    found = json.loads(capsys.readouterr().out)
    prior = found["audit"]["prior"]
    assert prior["low"] < np.mean(list(truth.values())) < prior["high"]
    assert found["believed"]["prior"] == 0.4
    assert found["audit"]["precision_unlabelled"]["value"] <= found["audit"]["precision"]["value"]
    assert len(found["curve"]) == 19
    review(folder, "--answers", one, "--rows", 40, "--out", two)  # the next round
    assert not {row["id"] for row in rows_of(two)} & {row["id"] for row in rows}
    fill(two, truth)
    capsys.readouterr()
    review(folder, "--answers", one, "--answers", two, "--cost-fp", 1, "--cost-fn", 5)
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "From 100 answers: answers 90 % range labels alone with 50 more share of positives" in said
    )
    assert re.search(r"share of positives [\d.]+ [\d.]+ to [\d.]+ 0\.400 about ± 0\.\d", said)
    assert "Cut of least cost" in said
    assert "more answers would give the share of positives to ±0.02" in said


def test_answers_are_never_overwritten_and_go_into_the_report(fitted, tmp_path, capsys):
    folder, truth, _ = fitted
    sheet, page = tmp_path / "review.csv", tmp_path / "report.html"
    review(folder, "--rows", 30, "--out", sheet)
    review(folder, "--rows", 30, "--out", sheet)  # nothing is answered yet
    fill(sheet, truth)
    answered = sheet.read_bytes()
    for more, why in (([], "holds answers"), (["--answers", sheet], "would be overwritten")):
        with pytest.raises(SystemExit) as stopped:
            review(folder, *more, "--rows", 20, "--out", sheet)
        assert stopped.value.code == 2
        assert why in capsys.readouterr().err
    assert sheet.read_bytes() == answered
    with pytest.raises(SystemExit):
        review(folder, "--out", tmp_path / "2.csv", "--report", page)
    assert "--report needs answers" in capsys.readouterr().err
    review(folder, "--answers", sheet, "--report", page, "--json")
    found = capsys.readouterr().out
    json.loads(found[found.index("{") :], parse_constant=pytest.fail)  # no NaN
    text = page.read_text()
    assert "What a person said" in text
    assert "30 rows that were drawn at random were answered" in text
    # One figure for the unlabelled rows: that of the answers.
    assert "The figures come from the answers of a review" in text
    assert '<dd class="interval">audited ' in text
    assert "if labels were given at random</th>" not in text


def test_the_same_seed_gives_the_same_rows(fitted, tmp_path):
    folder, _, _ = fitted
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        review(folder, "--rows", 20, "--seed", seed, "--out", tmp_path / f"{name}.csv")
    a, b, c = ((tmp_path / f"{name}.csv").read_text() for name in "abc")
    assert a == b != c


def test_a_page_and_purposes(fitted, tmp_path, capsys):
    folder, _, _ = fitted
    page, top = tmp_path / "review.html", tmp_path / "top.csv"
    review(folder, "--rows", 20, "--page", page, "--question", "Fraud?", "--json")
    assert json.loads(capsys.readouterr().out) == {"rows": 20, "files": [str(page)]}
    assert "<h1>Fraud?</h1>" in page.read_text()
    review(folder, "--rows", 20, "--for", "finding", "--out", top)
    found = [float(row["probability"]) for row in rows_of(top)]
    assert found == sorted(found, reverse=True)
    review(folder, "--rows", 20, "--for", "finding=0.5+estimate=0.5", "--out", top)
    assert sum(row["chance"] == "1.0" for row in rows_of(top)) >= 10


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text.replace("id", "name", 1), "is not a review sheet"),
        (lambda text: text.replace("yes,c", "yes,x", 1), "not in the data"),
        (lambda text: text.replace("yes", "maybe", 1), "'maybe' is not understood"),
        (
            lambda text: text.replace("yes,", ",").replace("no,", ","),
            "no row of draw 1 is answered",
        ),
        (lambda text: "\n".join(text.splitlines()[:9]), "had 30 rows, and 8 are here"),
    ],
)
def test_a_spoilt_sheet_is_one_line_and_status_2(fitted, tmp_path, capsys, spoil, message):
    folder, truth, _ = fitted
    path = tmp_path / "review.csv"
    review(folder, "--rows", 30, "--out", path)
    fill(path, truth)
    path.write_text(spoil(path.read_text()))
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        review(folder, "--answers", path)
    said = capsys.readouterr()
    assert stopped.value.code == 2
    assert message in said.err
    assert said.err.count("\n") == 1


def test_a_changed_table_is_refused(fitted, tmp_path, capsys):
    folder, truth, _ = fitted
    path, changed = tmp_path / "review.csv", tmp_path / "changed.csv"
    review(folder, "--rows", 30, "--out", path)
    fill(path, truth)
    changed.write_text((folder / "table.csv").read_text() + "\nc-new,0.1,0.2,0")
    with pytest.raises(SystemExit):
        main(["review", str(folder / "model"), str(changed), "--answers", str(path)])
    assert "the data changed since the draw" in capsys.readouterr().err


def test_nothing_to_do_is_said(fitted, capsys):
    with pytest.raises(SystemExit):
        review(fitted[0])
    assert "use --out or --page to draw rows" in capsys.readouterr().err


def test_a_fit_learns_from_the_answers_and_its_own_audit_of_them_is_refused(
    fitted, tmp_path, capsys
):
    folder, truth, _ = fitted
    sheet, data, again = tmp_path / "review.csv", folder / "table.csv", tmp_path / "again"
    review(folder, "--rows", 60, "--out", sheet)
    fill(sheet, truth)
    review(folder, "--answers", sheet, "--json")
    audited = json.loads("{" + capsys.readouterr().out.partition("{")[2])["audit"]["prior"]
    options = ["--label", "s", "--model", "linear", "--out", str(again), "--json"]
    main(["fit", str(data), *options, "--answers", str(sheet)])
    result = json.loads(capsys.readouterr().out)
    assert result["prior"]["value"] == pytest.approx(audited["value"], abs=1e-6)
    assert result["prior"]["low"] < result["prior"]["value"] < result["prior"]["high"]
    assert f"--answers {sheet}" in result["command"]
    with pytest.raises(SystemExit) as stopped:
        main(["review", str(again), str(data), "--answers", str(sheet)])
    assert stopped.value.code == 2
    assert "drawn with another model" in capsys.readouterr().err
    new = tmp_path / "new.csv"
    options = ["--known", str(sheet), "--rows", "40", "--out", str(new)]
    main(["review", str(again), str(data), *options])
    assert "60 rows are known from earlier answers" in capsys.readouterr().out
    assert not {row["id"] for row in rows_of(new)} & {row["id"] for row in rows_of(sheet)}
    fill(new, truth)
    options = ["--known", str(sheet), "--answers", str(new), "--json"]
    main(["review", str(again), str(data), *options])
    prior = json.loads(capsys.readouterr().out)["audit"]["prior"]
    assert prior["low"] < np.mean(list(truth.values())) < prior["high"]
    with pytest.raises(SystemExit):  # what was known then is not known now
        main(["review", str(again), str(data), "--answers", str(new)])
    assert "other rows were known then" in capsys.readouterr().err


def test_a_fit_reads_a_sheet_that_was_drawn_with_the_answers_of_another(fitted, tmp_path, capsys):
    """Thirty of a list, then sixty of the others: the fit counts both, as the review does."""
    folder, truth, _ = fitted
    listed, sheet = tmp_path / "listed.csv", tmp_path / "all.csv"
    review(folder, "--top", 100, "--rows", 30, "--out", listed)
    fill(listed, truth)
    review(folder, "--known", listed, "--rows", 60, "--out", sheet)
    fill(sheet, truth)
    capsys.readouterr()
    review(folder, "--known", listed, "--answers", sheet, "--json")
    audited = json.loads("{" + capsys.readouterr().out.partition("{")[2])["audit"]["prior"]
    out = tmp_path / "model"
    start = ["fit", str(folder / "table.csv"), "--label", "s", "--model", "linear", "--json"]
    start += ["--out", str(out)]
    for options, why in (
        (["--answers", str(sheet)], "Pass the same labels and the same --known."),
        (["--known", str(listed)], "(--known) goes with answered sheets (--answers)"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main([*start, *options])
        assert stopped.value.code == 2
        assert why in " ".join(capsys.readouterr().err.split())
        assert not out.exists()
    main([*start, "--answers", str(sheet), "--known", str(listed)])
    result = json.loads(capsys.readouterr().out)
    assert result["prior"]["value"] == pytest.approx(audited["value"], abs=1e-6)
    assert result["prior"]["low"] < result["prior"]["value"] < result["prior"]["high"]
    main(["fit", "--config", str(out / "run.toml"), "--out", str(tmp_path / "again"), "--json"])
    assert json.loads(capsys.readouterr().out)["prior"] == result["prior"]
    asked = {row["id"]: truth[row["id"]] for path in (listed, sheet) for row in rows_of(path)}
    found = TablePU(model="linear")
    found.fit(folder / "table.csv", "s", answers=sheet, known=listed)
    assert found.prior_ == pytest.approx(audited["value"], abs=1e-6)
    answers = found.holdout_.hidden.answers
    assert len(answers.rows) == len(asked) == 90
    assert answers.y.sum() == sum(asked.values())


def test_a_fit_refuses_answers_to_other_rows(fitted, tmp_path, capsys):
    folder, truth, _ = fitted
    sheet, changed = tmp_path / "review.csv", tmp_path / "changed.csv"
    review(folder, "--rows", 30, "--out", sheet)
    fill(sheet, truth)
    changed.write_text("\n".join((folder / "table.csv").read_text().splitlines()[:400]))
    capsys.readouterr()
    for data, message in ((changed, "the data changed"), (sheet, "no column 's'")):
        out = tmp_path / "model"
        with pytest.raises(SystemExit) as stopped:
            main(["fit", str(data), "--label", "s", "--out", str(out), "--answers", str(sheet)])
        assert stopped.value.code == 2
        said = capsys.readouterr().err
        assert message in said or "not in the data" in said
        assert not out.exists()


def test_the_reasons_of_a_text_are_its_words(tmp_path, capsys):
    rng = np.random.default_rng(0)
    topics = {
        True: ["orbit", "launch", "lunar", "probe"],
        False: ["engine", "brake", "gear", "tyre"],
    }
    common = ["the", "a", "of", "we", "they", "saw", "new", "was", "good", "with"]
    y = rng.random(300) < 0.4
    texts = [" ".join(rng.choice(topics[bool(one)] + 2 * common, 20)) for one in y]
    s = y & (rng.random(300) < 0.5)
    lines = [f"c{i},{text},{int(s[i])}" for i, text in enumerate(texts)]
    data, out = tmp_path / "texts.csv", tmp_path / "1.csv"
    data.write_text("\n".join(["id,note,s", *lines]))
    main(["fit", str(data), "--label", "s", "--prior", "0.4", "--out", str(tmp_path / "model")])
    main(["review", str(tmp_path / "model"), str(data), "--rows", "20", "--out", str(out)])
    for row in rows_of(out):
        for reason in row["reasons"].split("; "):
            word, sign = reason.split(" (")[0], reason.split(" (")[1][0]
            assert word in row["note"].split()
            if word in topics[True] + topics[False]:
                assert sign == ("+" if word in topics[True] else "-")


def answered(path, truth):
    """Fill in a sheet of a review down the list."""
    fill(path, truth)
    return path


def test_a_review_down_the_list_is_kept_in_a_folder(fitted, tmp_path, capsys):
    """Rounds to a certificate: no labelled row is asked, no row twice, and it is right."""
    folder, truth, labelled = fitted
    kept, asked, said = tmp_path / "r", [], {"certificate": {"issued": False}}
    while not said["certificate"]["issued"]:
        sheet = tmp_path / f"{len(asked)}.csv"
        review(folder, "--folder", kept, "--next", 60, "--until", "recall=0.7", "--out", sheet)
        asked += [row["id"] for row in rows_of(sheet)]
        assert {row["look"] for row in rows_of(sheet)} <= {"list", "random"}
        answered(sheet, truth)
        capsys.readouterr()
        told = ("--answers", sheet, "--until", "recall=0.7", "--json")
        review(folder, "--folder", kept, *told)
        said = json.loads(capsys.readouterr().out)
    assert len(set(asked)) == len(asked)
    assert not set(asked) & labelled
    hidden = {name for name, y in truth.items() if y} - labelled
    found = hidden & set(asked)
    assert said["found"] == len(found) >= 0.7 * len(hidden)
    assert said["left"] == load(kept).left._asdict()  # one of ten such ranges may miss
    review(folder, "--folder", kept, "--next", 5, "--until", "recall=0.7", "--out", tmp_path / "x")
    assert "At least 70 % of the positives are found" in capsys.readouterr().out
    assert not (tmp_path / "x").exists()


def test_rows_answered_elsewhere_are_not_asked_again_in_a_folder(fitted, tmp_path, capsys):
    folder, truth, labelled = fitted
    kept, sheet, asked = tmp_path / "r", tmp_path / "a.csv", tmp_path / "b.csv"
    review(folder, "--rows", 40, "--out", sheet)
    fill(sheet, truth)
    known = {row["id"] for row in rows_of(sheet)}
    review(folder, "--folder", kept, "--known", sheet, "--next", N, "--out", asked)
    rest = {row["id"] for row in rows_of(asked)}
    assert rest == set(truth) - labelled - known  # every row that is left, and no other
    capsys.readouterr()
    review(folder, "--folder", kept, "--answers", answered(asked, truth), "--json")
    said = json.loads(capsys.readouterr().out)
    assert (said["size"], said["found"]) == (len(rest), sum(truth[name] for name in rest))
    for arguments, words in [
        (("--folder", kept, "--known", sheet, "--status"), "--known goes with the first command"),
        (("--folder", kept, "--answers", sheet), "read it without --folder"),
        (("--answers", asked), "write them into the label column"),
        (("--top", 50, "--answers", sheet), "drawn without --top is read without it"),
    ]:
        with pytest.raises(SystemExit) as stopped:
            review(folder, *arguments)
        assert stopped.value.code == 2
        assert words in capsys.readouterr().err


def test_two_people_and_rows_that_wait(fitted, tmp_path, capsys):
    folder, truth, _ = fitted
    kept, sheet, again = tmp_path / "r", tmp_path / "a.csv", tmp_path / "b.csv"
    review(folder, "--folder", kept, "--next", 10, "--out", sheet, "--by", "anna")
    review(folder, "--folder", kept, "--waiting", "--out", again)
    assert {row["id"] for row in rows_of(sheet)} == {row["id"] for row in rows_of(again)}
    review(folder, "--folder", kept, "--answers", answered(sheet, truth), "--by", "anna")
    review(folder, "--folder", kept, "--answers", sheet, "--by", "anna")  # twice does no harm
    first = rows_of(sheet)[0]["id"]
    review_by_ben = answered(again, {**truth, first: not truth[first]})
    capsys.readouterr()
    review(folder, "--folder", kept, "--answers", review_by_ben, "--by", "ben", "--status")
    said = capsys.readouterr().out
    assert "10 answers read from" in said
    assert "10 of" in said
    assert "Reviewers differ on 1 row:" in said


def test_a_folder_takes_a_whole_sheet_or_nothing_of_it(fitted, tmp_path, capsys):
    folder, truth, labelled = fitted
    kept, sheet, bad = tmp_path / "r", tmp_path / "a.csv", tmp_path / "b.csv"
    review(folder, "--folder", kept, "--next", N, "--out", sheet)
    review(folder, "--folder", kept, "--answers", sheet)
    assert "0 answers read from" in capsys.readouterr().out
    review(folder, "--folder", kept, "--next", 5, "--out", tmp_path / "none.csv")
    assert "No row is left to look at" in capsys.readouterr().out
    assert not (tmp_path / "none.csv").exists()
    head, first, second, *_ = sheet.read_text().splitlines()
    rest = ",".join(second.split(",")[2:])
    known = int(min(labelled)[1:]) + 1
    for lines, words in [
        ([f"yes{first}", f"no{second}", f"no{first}"], "line 4: row .* another answer further up"),
        ([f"yes{first}", f"yes,{known},{rest}"], f"line 3: row {known} is not one to look at"),
        ([f"yes{first}", f"yes,99999,{rest}"], "line 3: row 99999 is"),
        ([f"yes{first}", f"yes,0,{rest}"], "line 3: row 0 is"),
        ([f"yes{first}", f"perhaps{second}"], "line 3: the answer 'perhaps'"),
        ([f"yes{first}", f"yes,{known}"], "line 3: this row belongs to another review"),
    ]:
        bad.write_text("\n".join([head, *lines]) + "\n")
        with pytest.raises(SystemExit):
            review(folder, "--folder", kept, "--answers", bad)
        assert re.search(words, capsys.readouterr().err)
        with pytest.raises(SystemExit):  # a good one beside it is not taken either
            review(folder, "--folder", kept, "--answers", sheet, "--answers", bad)
    capsys.readouterr()
    review(folder, "--folder", kept, "--status")
    assert capsys.readouterr().out.startswith("0 of")
    review(folder, "--folder", kept, "--answers", answered(sheet, truth))
    assert f"{N - len(labelled)} answers read from" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--next", "5"], "--next needs --folder"),
        (["--status"], "--status needs --folder"),
        (["--folder", "{r}"], "Nothing to do"),
        (["--folder", "{r}", "--next", "5"], "with --out FILE"),
        (["--folder", "{r}", "--status", "--top", "5"], "--top does not go with --folder"),
        (["--folder", "{r}", "--status", "--until", "0.9"], "recall=0.9"),
        (["--folder", "{there}", "--next", "5", "--out", "{r}"], "not an empty folder"),
        (["--folder", "{r}", "--status"], "holds no review yet"),
        (["--folder", "{r}", "--answers", "{table}"], "holds no review yet"),  # a misspelt name
        (["--serve"], "--serve needs --folder"),
        (["--folder", "{r}", "--serve", "--status"], "--serve takes no --next, --out"),
        (["--folder", "{r}", "--status", "--port", "8000"], "--port needs --serve"),
    ],
)
def test_a_review_down_the_list_refuses(arguments, words, fitted, tmp_path, capsys):
    folder, *_ = fitted
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "thesis.tex").write_text("...")
    places = {"r": tmp_path / "r", "there": tmp_path / "there", "table": folder / "table.csv"}
    with pytest.raises(SystemExit) as stopped:
        review(folder, *(argument.format(**places) for argument in arguments))
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert words in " ".join(error.split())
    assert "Traceback" not in error


def test_a_page_is_served_until_ctrl_c_and_its_answers_are_in_the_status(fitted, tmp_path, capsys):
    folder, truth, labelled = fitted
    options = ["--folder", tmp_path / "r", "--serve", "--by", "anna", "--question", "Fraud?"]
    server = start_command(folder / "model", folder / "table.csv", *options)
    try:
        assert b"Fraud?" in server.ask()[2]
        _, found = server.do("next")
        for _ in range(3):
            cells = {cell["name"]: cell["text"] for cell in found["row"]["cells"]}
            assert cells["id"] not in labelled
            assert "known" not in cells
            answer = "yes" if truth[cells["id"]] else "no"
            _, found = server.do("answer", row=str(found["row"]["row"]), answer=answer)
    finally:
        server.stop()
    assert server.process.returncode == 130
    review(folder, "--folder", tmp_path / "r", "--status", "--json")
    assert json.loads(capsys.readouterr().out)["looks"] == 3


def test_without_the_extra_one_line_names_it(fitted, tmp_path, capsys, monkeypatch):
    folder, *_ = fitted
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "nnpu.review.serve", raising=False)
    with pytest.raises(SystemExit) as stopped:
        review(folder, "--folder", tmp_path / "r", "--serve")
    assert stopped.value.code == 2
    assert "pip install 'nnpu[serve]'" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "r").exists()
