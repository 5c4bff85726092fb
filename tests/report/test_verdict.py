"""The verdict: what is said first follows from the figures about the unlabelled rows."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from nnpu.estimators.evaluation import Estimate, Evaluation
from nnpu.hidden import Answers, KnownShare, audited_hidden, hidden_positives
from nnpu.report.verdict import verdict

GIVEN = KnownShare(0.2, 0.2, 0.2, 0.2)
GUESSED = KnownShare(0.2, 0.1, 0.4, 0.6)


def scored(n=1000, separation=2.0, seed=0):
    """Of 1,000 rows 300 are positive, and 100 of these are labelled."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) < 0.3 * n
    s = (np.arange(n) < 0.1 * n).astype(np.int8)
    return s, rng.normal(separation * y).astype(np.float32), y


def found(known=GIVEN, cut=1.0, rows=None, label_bias="typical", **changed):
    """An evaluation of scored rows."""
    s, scores, _ = scored() if rows is None else rows
    values = {
        "prior": Estimate(0.3, 0.3, 0.3),
        "prior_known": known.given,
        "sampling": "one-sample",
        "rows": len(s),
        "labelled": int(s.sum()),
        "flagged": int((scores > cut).sum()),
        "hidden": hidden_positives(s, scores, cut, known, label_bias=label_bias),
        "metrics": {"pu_precision": Estimate(0.8, 0.7, 0.9), "pu_recall": Estimate(0.7, 0.6, 0.8)},
    }
    return Evaluation(s=s, scores=scores, **(values | changed))


def numbers(text):
    """Return the whole numbers of a sentence."""
    return [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", text)]


def test_the_unlabelled_rows_are_the_subject():
    judged = found()
    answer = verdict(judged, "The model learned from 400 labelled rows.")
    hidden, first = judged.hidden, judged.top(100)
    flagged = int((judged.scores[judged.s == 0] > 1.0).sum())
    assert answer.learned == (
        f"The model learned from 400 labelled rows. It predicts {flagged} of 900 unlabelled rows "
        "to be positive."
    )
    assert hidden.flagged == flagged
    assert "180 unlabelled rows are positive" in answer.quality  # 0.2 of 900, as given
    ends = [100, round(100 * first.low), round(100 * first.high)]
    assert numbers(answer.quality.partition("Of the first")[2]) == ends
    assert "not given at random" in answer.quality
    assert answer.warning == ""


def test_a_guessed_share_is_a_range_and_what_would_narrow_it_is_said():
    judged = found(GUESSED)
    answer, share = verdict(judged), judged.hidden.share
    low, high = round(900 * share.low), round(900 * share.high)
    assert answer.quality.startswith(f"Between {low} and {high} unlabelled rows are positive.")
    assert f"{100 * share.low:.0f} % to {100 * share.high:.0f} %" in answer.warning
    for words in ("--prior", "--labelled", "nnpu review"):
        assert words in answer.warning


def test_the_first_advice_is_a_short_review_and_what_it_would_narrow():
    judged = found()
    advice, top = verdict(judged).advice, judged.top(200)
    assert advice.startswith("Look at the first rows of the list (nnpu predict --top 100). Or")
    assert "nnpu review --top 200 --rows 30" in advice
    assert f"instead of {100 * top.low:.0f} to {100 * top.high:.0f} %" in advice


def test_what_thirty_answers_give_is_no_wider_than_is_promised():
    from nnpu.review import list_count

    found = [list_count(yes, 30, 200) for yes in range(31)]
    assert max(each.high - each.low for each in found) / 200 <= 2 * 0.15


def test_a_ranking_that_may_be_chance_is_not_to_be_acted_on():
    answer = verdict(found(rows=scored(separation=0.0)))
    assert "no better than chance" in answer.quality
    assert answer.advice.startswith("Do not act on it yet")
    assert "no better than chance" not in verdict(found()).quality


def test_a_cut_that_flags_next_to_nothing_does_not_hide_the_ranking():
    for cut in (100.0, 4.2):
        answer = verdict(found(cut=cut))
        assert answer.advice.startswith("Next to nothing is predicted positive: look at the")
    assert "Next to nothing" not in verdict(found()).advice


def test_audited_figures_need_no_law_and_no_further_review():
    s, scores, y = scored()
    rows = np.flatnonzero(s == 0)[::4]
    share = Estimate(float(y[rows].mean()), 0.18, 0.27)
    answers = Answers(rows, y[rows].astype(float), np.full(len(rows), 4.0), share)
    judged = replace(found(GUESSED), hidden=audited_hidden(s, scores, 1.0, answers), audited=True)
    answer = verdict(judged)
    assert answer.quality.startswith("Between 162 and 243 unlabelled rows are positive.")
    assert "not given at random" not in answer.quality
    assert "nnpu review" not in answer.advice
    assert answer.warning == ""


def test_a_contradiction_is_said_first_and_takes_the_figures_for_all_rows_back():
    judged = found()
    against = replace(judged.hidden, contradicted="Labels were not given at random (p = 1e-9).")
    answer = verdict(replace(judged, hidden=against))
    assert answer.warning.startswith("Labels were not given at random (p = 1e-9). Figures for all")


def test_labels_at_random_are_an_assumption_that_the_user_may_make():
    typical, random = found(GUESSED), found(GUESSED, label_bias=1)
    assert random.top(100) == typical.hidden.at_random.top(100)
    assert random.hidden.share == typical.hidden.at_random.share
    holds = "This holds if labels were given at random among the positives."
    assert verdict(random).quality.endswith(holds)
    assert random.lines()[-1] == holds
    assert holds not in verdict(typical).quality + " ".join(typical.lines())


@pytest.mark.parametrize("known", [GIVEN, GUESSED, KnownShare(0.999, 0.9, 1.0, 1.0)])
@pytest.mark.parametrize("cut", [-100.0, 1.0])
def test_no_sentence_counts_more_rows_than_there_are(known, cut):
    answer = verdict(found(known, cut))
    assert max(numbers(answer.learned + answer.quality)) <= 900
    shares = [float(text) for text in re.findall(r"([0-9.]+) %", " ".join(answer))]
    assert max(shares) <= 100


def test_a_column_that_gives_the_label_away_takes_all_figures_back():
    answer = verdict(found(), "It learned.", leaks=["paid_back"])
    assert "'paid_back'" in answer.quality
    assert not numbers(answer.quality)
    assert "--drop paid_back" in answer.advice


def test_no_flagged_row_has_no_precision():
    nothing = Estimate(0.0, 0.0, 0.0)
    changed = found(cut=100.0, metrics={"pu_precision": nothing, "pu_recall": nothing})
    (line,) = [
        line
        for line in changed.figures(("pu_precision", "pu_recall"))
        if line.split()[0] == "precision"
    ]
    assert line.endswith("no row is predicted positive")
    assert "0.000" not in line
    assert np.isnan(changed.hidden.precision.value)
    assert changed.hidden.recall == nothing


def test_without_a_model_folder_no_command_is_advised():
    for judged in (found(), found(GUESSED)):
        answer = verdict(judged, commands=False)
        assert "from the highest score down" in answer.advice
        assert "drawn at random from the first 200" in answer.advice
        words = " ".join(answer)
        assert "nnpu predict" not in words
        assert "nnpu review" not in words
        assert "--" not in words
        top = judged.top(200)
        assert f"instead of {100 * top.low:.0f} to {100 * top.high:.0f} %" in answer.advice
