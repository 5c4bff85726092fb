"""The part of a report about a network's training."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nnpu.report.html.chart import chart
from nnpu.report.html.document import Section
from nnpu.report.html.markup import number, tag
from nnpu.report.panels import Curve, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["sound_history", "training_section"]


def training_section(history: Sequence[Mapping[str, float]], *, beta: float = 0.0) -> Section:
    """Return the risk of each epoch, folded: few readers need it.

    Parameters
    ----------
    history : sequence of mappings
        A row per epoch: ``train_risk``, ``corrected``, and ``valid_risk`` if rows were held out.
    beta : float
        β, for the words.
    """
    epochs = np.arange(1, len(history) + 1)
    risks = [row["train_risk"] for row in history]
    curves = [Curve("training", epochs, risks)]
    if "valid_risk" in history[0]:
        held_out = [row["valid_risk"] for row in history]
        curves.append(Curve("held out", epochs, held_out, style="dashed"))
    limit = "0" if beta == 0 else f"−{number(beta)}"
    shares = [row["corrected"] for row in history if "corrected" in row]
    corrected = (
        f"In {100 * np.mean(shares):.0f} % of all steps the estimated cost of false alarms fell "
        f"below {limit}, a sign that the network was learning the batch by heart; nnPU then takes "
        "a step back instead of a step forward."
        if shares
        else ""
    )
    gap = (
        "Where the training risk keeps falling and the held-out risk rises, the network overfits; "
        "fewer epochs are better then."
    )
    panel = Panel("The risk that is minimised", "epoch", "PU risk", curves)
    inside = tag(
        "div",
        tag("div", chart(panel, "training-1"), class_="charts"),
        tag("div", tag("p", gap), tag("p", corrected) if corrected else ""),
        class_="beside",
    )
    summary = tag("summary", f"Training curve ({len(history):,} epochs)")
    return Section("training", "The training", tag("details", summary, inside))


def sound_history(history: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """The rows of a history that may come from an untrusted folder, if they can be drawn."""
    needed = ("train_risk", "train_zero_one", "train_positive", "train_negative")
    drawn = ("corrected", *needed, *(name.replace("train", "valid") for name in needed))
    rows = [{name: row[name] for name in drawn if name in row} for row in history]
    sound = all(
        all(name in row for name in needed)
        and all(isinstance(value, float | int) and math.isfinite(value) for value in row.values())
        and row.keys() == rows[0].keys()
        for row in rows
    )
    return rows if sound else []
