"""The verdict: what is said first follows from the figures."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nnpu.estimators.evaluation import Estimate, Evaluation
from nnpu.report.verdict import verdict


def found(**changed):
    """An evaluation with sound figures, but for those that are changed."""
    metrics = {
        "pu_accuracy": Estimate(0.9, 0.85, 0.95),
        "pu_precision": Estimate(0.8, 0.7, 0.9),
        "pu_recall": Estimate(0.75, 0.65, 0.85),
        "pu_f1": Estimate(0.77, 0.7, 0.85),
        "pu_roc_auc": Estimate(0.93, 0.9, 0.96),
        "pu_zero_one_risk": Estimate(0.1, 0.05, 0.15),
        "lee_liu_score": Estimate(1.5, 1.2, 1.8),
    } | changed.pop("metrics", {})
    values = {
        "prior": Estimate(0.3, 0.3, 0.3),
        "prior_known": True,
        "sampling": "one-sample",
        "rows": 1000,
        "labelled": 100,
        "flagged": 280,
        "s": np.zeros(1000, dtype=np.int8),
        "scores": np.zeros(1000, dtype=np.float32),
    }
    return Evaluation(metrics=metrics, **(values | changed))


def test_a_sound_model_is_described_with_its_assumption():
    answer = verdict(found(), "The model learned from 400 labelled rows.")
    assert answer.learned.startswith("The model learned from 400 labelled rows. Of 1,000 rows")
    assert "it predicts 280 to be positive" in answer.learned
    assert "About 80 % of the rows it flags are positive (70 to 90 %)" in answer.quality
    assert "finds about 75 % of the positives (65 to 85 %)" in answer.quality
    assert "if the share of positives is 0.3 and the labelled rows are a random" in answer.quality
    assert "nnpu predict" in answer.advice
    assert answer.warning == ""


def test_an_unknown_prior_gives_ranges_and_says_what_would_help():
    answer = verdict(found(prior=Estimate(0.3, 0.1, 0.5), prior_known=False))
    assert "Of the rows it flags, 70 to 90 % are positive" in answer.quality
    assert "About 80 %" not in answer.quality
    assert "between 0.10 and 0.50" in answer.quality
    for words in (answer.warning, answer.advice):
        assert "--prior" in words
        assert "nnpu review" in words
    assert "0.10 to 0.50; the best guess is 0.30" in answer.warning


def test_a_ranking_that_may_be_chance_is_not_to_be_acted_on():
    answer = verdict(found(metrics={"pu_roc_auc": Estimate(0.52, 0.45, 0.59)}))
    assert "no better than chance" in answer.quality
    assert answer.advice.startswith("Do not act on it yet")


def test_no_flagged_row_has_no_precision():
    nothing = Estimate(0.0, 0.0, 0.0)
    changed = found(flagged=0, metrics={"pu_precision": nothing, "pu_recall": nothing})
    answer = verdict(changed)
    assert "precision cannot be estimated" in answer.quality
    assert "lower threshold" in answer.advice
    (line,) = [line for line in changed.lines() if line.split()[0] == "precision"]
    assert line.endswith("no row is predicted positive")
    assert "0.000" not in line


def test_an_impossible_estimate_is_suspected_only_beyond_chance():
    chance = verdict(found(metrics={"pu_precision": Estimate(1.02, 0.9, 1.0)}))
    assert "nnpu predict" in chance.advice
    assert "Nearly all rows it flags are positive (90 to 100 %)" in chance.quality
    beyond = verdict(found(metrics={"pu_precision": Estimate(1.5, 1.0, 1.0)}))
    assert "share of positives" in beyond.advice
    assert "before you use it" in beyond.advice


def test_few_true_ones_among_the_flagged_rows_are_candidates():
    assert "candidates" in verdict(found(metrics={"pu_precision": Estimate(0.4, 0.3, 0.6)})).advice


@pytest.mark.parametrize("high", [1.0, 1.7])
def test_no_sentence_holds_a_share_above_all(high):
    metrics = {"pu_precision": Estimate(high, 0.9, high), "pu_recall": Estimate(high, 0.9, high)}
    answer = verdict(found(metrics=metrics))
    numbers = [float(text) for text in re.findall(r"([0-9.]+) %", " ".join(answer))]
    assert max(numbers) <= 100


def test_a_column_that_gives_the_label_away_takes_all_figures_back():
    answer = verdict(found(), "It learned.", leaks=["paid_back"])
    assert "'paid_back'" in answer.quality
    assert "%" not in answer.quality
    assert "--drop paid_back" in answer.advice


def test_a_model_that_misses_most_positives_is_to_be_cut_lower():
    answer = verdict(found(metrics={"pu_recall": Estimate(0.03, 0.0, 0.08)}))
    assert "lower threshold" in answer.advice
