"""The page about a classifier: one figure has one interval wherever it stands."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from nnpu import EnsemblePU, LinearPU, TablePU
from nnpu.estimators.evaluation import evaluate, labelled_share, unlabelled_cut
from nnpu.hidden import Estimate
from nnpu.report.html import floor_percent, render
from nnpu.report.model_page import model_page
from nnpu.report.sections import importance_section


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.random(1200) < 0.4
    x = rng.normal(np.outer(y, [2.0, 1.0]), 1.0)
    return x, (y & (rng.random(1200) < 0.5)).astype(int)


def shown(text, name):
    return re.search(rf'id="{name}"[^>]*>([^<]*)<', text)[1]


def test_the_explorer_and_the_metrics_have_the_same_interval_of_an_estimated_prior(rows):
    x, s = rows
    clf = LinearPU("auto", sampling="one-sample", random_state=0).fit(x[::2], s[::2])
    found = evaluate(clf, s[1::2], clf.decision_function(x[1::2]))
    assert found.prior.low < found.prior.high
    text = render(model_page(clf, found, title="Report"))
    precision = found.precision
    words = f"{100 * precision.low:.1f} to {100 * min(precision.high, 1):.1f}\u00a0%"
    known = found.prior_known
    assert shown(text, "tile-precision-interval" if known else "tile-precision") == words


def test_models_are_listed_by_weight_and_one_that_was_not_tried_has_no_figure(rows):
    x, s = rows
    clf = EnsemblePU(0.4, sampling="one-sample", random_state=0).fit(x[:400], s[:400])
    untried = [each["name"] for each in clf.members_ if each["name"] not in clf.seconds_]
    assert untried
    found = evaluate(clf, s[1::2], clf.decision_function(x[1::2]))
    text = render(model_page(clf, found, title="Report"))
    cells = lines_of(text, "<caption>Models in use")
    assert "on unseen rows" not in text  # there were none
    weights = [float(line[1]) for line in cells]
    assert weights == sorted(weights, reverse=True)
    assert min(weights) > 0
    assert sum(weights) == pytest.approx(1, abs=0.02)
    unused = lines_of(text, "<caption>Models that are not in use")
    assert f"<details><summary>Models that are not in use ({len(unused)})" in text
    assert {line[0] for line in [*cells, *unused]} == {each["name"] for each in clf.members_}
    assert {line[0] for line in unused if line[1] == "–"} == set(untried)  # noqa: RUF001
    assert all(line[-1] for line in unused)  # each says why


@pytest.mark.parametrize("aside", ["folds", "time"])
def test_models_are_compared_on_rows_that_they_had_not_seen(rows, aside):
    """A fold of all rows, or the latest rows, which are set aside: the words hold for both."""
    x, s = rows
    table = {"a": x[:400, 0], "hour": np.arange(400), "s": s[:400]}
    time = "hour" if aside == "time" else None
    model = EnsemblePU(0.4, members=["products", "splines"], n_folds=3)
    job = TablePU(0.4, model=model, time=time).fit(pa.table(table), "s")
    text = render(job.report())
    together, *cells = lines_of(text, "<caption>Models in use")
    assert together == ["all together", "", "", f"{job.classifier_.aside_:.3f}"]
    assert all(0.4 < float(line[3]) < 1 for line in cells)
    head = text[text.index("<caption>Models in use") :].partition("</tr>")[0]
    assert re.findall(r"<th[^>]*>([^<]*)<", head)[-2:] == ["AUC in folds", "AUC on unseen rows"]
    assert "set aside, or are one fold" in text


def lines_of(text, caption):
    """Return the cells of a table of a page, a list for each line."""
    table = text[text.index(caption) :]
    lines = table[: table.index("</table>")].split("<tr>")[2:]
    return [re.findall(r"<t[dh][^>]*>([^<]*)<", line) for line in lines]


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (Estimate(0.17, 0.018, 0.354), ("2 to 35\u00a0%", "best guess 17\u00a0%")),
        (Estimate(0.05, 0.046, 0.054), ("4.6 to 5.4\u00a0%", "best guess 5.0\u00a0%")),
        (Estimate(0.002, 0.001, 0.004), ("0.10 to 0.40\u00a0%", "best guess 0.20\u00a0%")),
        (Estimate(0.2, 0.2, 0.2), ("20.0\u00a0%", "by the share given")),
    ],
)
def test_the_tile_of_the_share_shows_its_range(rows, share, words, monkeypatch):
    x, s = rows
    clf = LinearPU(0.4, sampling="one-sample").fit(x, s)
    found = evaluate(clf, s, clf.decision_function(x))
    monkeypatch.setattr(type(found.hidden), "share", share)
    text = render(model_page(clf, found, title="Report"))
    figure, remark = words
    tile = f'<dd>{figure}</dd><dd class="interval">{remark}</dd></div>'
    assert f'<div class="tile"><dt>Positive among unlabelled</dt>{tile}' in text


def test_a_page_says_how_many_unlabelled_rows_are_predicted_positive_once(rows):
    """The tile and the sentence count the same rows, by the same cut."""
    x, s = rows
    clf = LinearPU(0.4, sampling="one-sample").fit(x, s)
    found = evaluate(clf, s, clf.decision_function(x))
    n, of = found.hidden.flagged, found.hidden.rows
    assert found.flagged != n  # labelled rows are among these, by another cut
    text = render(model_page(clf, found, title="Report"))
    assert f"It predicts {n} of {of} unlabelled rows to be positive." in text
    tile = f'<dd>{n}</dd><dd class="interval">of {of} unlabelled</dd>'
    assert f"<dt>Predicted positive</dt>{tile}" in text


def test_rows_far_from_the_threshold_are_not_called_near_it():
    """Two clear groups and three rows between them: only these have probabilities near one half."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [200, 600])
    x = np.where(y == 1, rng.normal(6, 0.5, 800), rng.normal(-6, 0.5, 800))
    s = (y == 1) & (rng.random(800) < 0.5)
    clf = LinearPU(0.25, sampling="one-sample").fit(x[:, None], s.astype(int))
    scores = clf.decision_function(x[:, None])
    between = np.flatnonzero(s == 0)[[5, 200, 500]]
    cut = unlabelled_cut(clf, labelled_share(clf, s.astype(int)))
    scores[between] = cut + np.array([-0.1, 0.0, 0.2], dtype=np.float32)
    found = evaluate(clf, s.astype(int), scores).ranking
    assert [row.name for row in found.near] == [f"row {i + 1:,}" for i in between[::-1]]
    scores[between] = -9.0
    found = evaluate(clf, s.astype(int), scores).ranking
    assert found.near == ()
    assert len(found.top) == 10


def test_a_labelled_row_is_doubted_below_the_threshold_of_its_score(rows):
    x, s = rows
    clf = LinearPU(0.4, sampling="one-sample").fit(x, s)
    scores = clf.decision_function(x)
    found = evaluate(clf, s, scores)
    cut = unlabelled_cut(clf, labelled_share(clf, s))
    assert cut > clf.threshold_
    below = np.sort(scores[(s == 1) & (scores <= clf.threshold_)])
    assert [row.score for row in found.ranking.doubted] == pytest.approx(below[:10].tolist())
    text = render(model_page(clf, found, title="Report"))
    lowest = lines_of(text, "<caption>Labelled, but scored low")[0]
    chance = float(clf.calibration_(below[:1])[0])  # a labelled row is not known to be unlabelled
    assert lowest[2] == floor_percent(chance)


def test_importance_is_in_points_of_the_auc():
    text = str(
        importance_section([("age", 0.521, 0.427, 0.615), ("town", -0.0001, -0.01, 0.02)]).body
    )
    assert "in points of 100 (chance is 50)" in text
    (_, _, age), (_, _, town) = (
        [re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", line)]
        for line in text.split("<tr>")[2:]
    )
    assert age == "52.1 (42.7 to 61.5)"
    assert town == "0.0 (\u22121.0 to 2.0)"


def test_probabilities_that_assume_random_labels_say_so_unless_nothing_else_is_claimed(rows):
    x, s = rows
    clf = LinearPU(0.4, sampling="one-sample").fit(x, s)
    scores = clf.decision_function(x)
    said = "The probabilities hold if labels were given at random"
    for bias, there in (("typical", True), (1, False)):
        found = evaluate(clf, s, scores, label_bias=bias)
        assert (said in render(model_page(clf, found, title="Report"))) is there


def test_a_comparison_with_the_plain_classifier_has_a_section_of_its_own(rows, monkeypatch):
    x, s = rows
    clf = LinearPU(0.4, sampling="one-sample").fit(x, s)
    found = evaluate(clf, s, clf.decision_function(x))
    assert 'id="plain"' not in render(model_page(clf, found, title="Report"))
    lines = ["Of the first 100 rows, 7 are others.", "Use it."]
    monkeypatch.setattr(type(found), "plain_lines", lambda _: lines, raising=False)
    text = render(model_page(clf, found, title="Report"))
    section = text[text.index('<section id="plain"') :]
    assert "Is PU learning worth it here?" in section
    assert "<p>Of the first 100 rows, 7 are others.</p>\n<p>Use it.</p>" in section


def test_an_option_of_the_command_line_is_one_word(rows):
    x, s = rows
    clf = LinearPU("auto", sampling="one-sample", random_state=0).fit(x[:200], s[:200])
    text = render(model_page(clf, None, title="Report"))
    assert "--labelled-by" not in text
    found = evaluate(clf, s, clf.decision_function(x))
    text = render(model_page(clf, found, title="Report", suspects=["a"]))
    assert "<code>--labelled-by</code>" in text
    assert "<code>--top</code>" in text
