"""Draw the pictures that explain, in images/: ``python docs/explaining_pictures.py``.

Each is drawn dark and light. That of a review takes its figures from the page of the case
(case.md), that of the cost from benchmarks/results/growth.csv. Needs matplotlib,
pandas and Pillow.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from PIL import Image
from scipy.stats import norm

from nnpu.review import list_count

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = Path(__file__).parent


class Colours(NamedTuple):
    """What the pictures are drawn with."""

    ground: str
    ink: str
    quiet: str
    positive: str
    hidden: str
    line: str


THEMES = {
    "light": Colours("#ffffff", "#1f2937", "#6b7280", "#c2410c", "#fdba74", "#1d4ed8"),
    "dark": Colours("#121212", "#e5e7eb", "#9ca3af", "#fb923c", "#7c4a1d", "#93c5fd"),
}


def clear(axis: Any) -> None:
    """Take away the frame and the ticks."""
    axis.set_xticks([])
    axis.set_yticks([])
    for side in axis.spines.values():
        side.set_visible(False)


def pu_data(colours: Colours) -> Any:
    """A hundred rows twice: as they are, and as the table shows them."""
    figure, axes = plt.subplots(1, 2, figsize=(5, 3.5))
    rng = np.random.default_rng(2)
    order = rng.permutation(100)
    labelled, hidden = order[:12], order[12:30]
    x, y = np.arange(100) % 10, np.arange(100) // 10
    for axis, title in zip(axes, ("What is true", "What the table says"), strict=True):
        known = title == "What the table says"
        axis.scatter(x, y, s=52, facecolors="none", edgecolors=colours.quiet, linewidths=1.2)
        if not known:
            axis.scatter(x[hidden], y[hidden], s=56, color=colours.hidden)
            axis.scatter(x[hidden], y[hidden], s=56, facecolors="none", edgecolors=colours.positive)
        axis.scatter(x[labelled], y[labelled], s=60, color=colours.positive)
        rows = [(colours.positive, colours.positive, "12 labelled")]
        if known:
            rows += [("none", colours.quiet, "88 unlabelled")]
        else:
            rows += [(colours.hidden, colours.positive, "18 hidden positives")]
            rows += [("none", colours.quiet, "70 negatives")]
        for place, (inside, edge, words) in enumerate(rows):
            height = 10.6 + 1.3 * place
            axis.scatter(0, height, s=56, color=inside, edgecolors=edge)
            axis.text(0.8, height, words, fontsize=11, va="center")
        axis.set_ylim(14, -0.8)
        axis.set_title(title, fontsize=12)
        axis.set_aspect("equal")
        clear(axis)
    return figure


def ranges(colours: Colours) -> Any:
    """One table, two worlds: the same rows, with few and with many hidden positives."""
    x = np.linspace(-3.5, 4, 400)
    labelled = norm.pdf(x, 1.9, 0.8)
    unlabelled = 0.85 * norm.pdf(x, -0.5, 1.1) + 0.15 * labelled
    worlds = {
        "Labels at random:\n15 % hidden (filled)": 0.15 * labelled,
        "Clear cases labelled first:\n35 % hidden (filled)": 0.35 * norm.pdf(x, 0.45, 1.0),
    }
    figure, axes = plt.subplots(1, 2, figsize=(5, 2.9), sharey=True)
    for axis, (title, hidden) in zip(axes, worlds.items(), strict=True):
        if (hidden > unlabelled + 1e-3).any():
            raise SystemExit("More hidden positives than unlabelled rows: change the shapes.")
        axis.fill_between(x, hidden, color=colours.hidden)
        axis.plot(x, unlabelled, color=colours.ink, linewidth=1.8)
        axis.plot(x, 0.3 * labelled, color=colours.positive, linewidth=1.8, linestyle="--")
        axis.set_title(title, fontsize=11.5)
        axis.set_xlabel("score →", fontsize=11)
        clear(axis)
    axes[0].text(0.45, 0.28, "unlabelled", color=colours.ink, fontsize=11)
    axes[0].text(4.1, 0.165, "labelled", color=colours.positive, fontsize=11, ha="right")
    figure.text(
        0.5, -0.15, "Both give the same table,\nso the answer is a range.", ha="center", fontsize=12
    )
    return figure


def answers(colours: Colours) -> Any:
    """What thirty, a hundred and two hundred answers say of a list of two hundred."""
    text = " ".join((DOCS / "case.md").read_text("utf-8").split())
    found = re.search(
        r"first 200 rows 30 were answered: (\d+) yes\. Positive among the 200: about \d+ "
        r"\((\d+) to (\d+),.*?Before the answers: (\d+) to (\d+)\.",
        text,
    )
    truth = re.search(r"(\d+) of the first 200", text)
    if found is None or truth is None:
        raise SystemExit("case.md does not say what its review found.")
    _, low, high, before, most = map(int, found.groups())
    true = int(truth[1])
    count = list_count(round(100 * true / 200), 100, 200)
    rows = [
        ("before", before, most),
        ("30 answers", low, high),
        ("100 answers", count.low, count.high),
        ("200 answers", true, true),
    ]
    figure, axis = plt.subplots(figsize=(3.7, 2.6))
    axis.plot([true] * 2, [-0.5, 3.6], color=colours.positive, linewidth=1.5, linestyle="--")
    for place, (name, start, end) in enumerate(rows):
        start, end = int(start), int(end)
        axis.plot(
            [start, max(end, start + 1)], [place] * 2, color=colours.line, linewidth=9,
            solid_capstyle="butt",
        )  # fmt: skip
        words = f"{start} to {end}" if end > start else f"{end}"
        axis.text(max(end, start) + 4, place, words, va="center", fontsize=11)
        axis.text(-4, place, name, va="center", ha="right", fontsize=11.5)
    axis.text(true, -0.75, f"truth: {true}", color=colours.positive, ha="center", fontsize=11)
    axis.set_xlim(0, 200)
    axis.set_xticks([0, 50, 100, 150, 200])
    axis.set_ylim(3.6, -1.1)
    axis.set_yticks([])
    axis.set_xlabel("positive among the first 200 of the list", fontsize=11)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    return figure


def hidden(colours: Colours) -> Any:
    """How many labelled and hidden positives stand in the first part of the list."""
    figure, axis = plt.subplots(figsize=(5, 3.4))
    q = np.linspace(0.001, 0.999, 300)
    a = norm.cdf(norm.ppf(q) + 1.3)

    def law(part: float) -> Any:
        return norm.cdf((1 - part) * norm.ppf(q) + part * norm.ppf(a))

    axis.fill_between(100 * q, 100 * law(0.1), 100 * law(0.9), color=colours.hidden, alpha=0.5)
    axis.plot(100 * q, 100 * a, color=colours.positive, linewidth=2, linestyle="--")
    axis.plot(100 * q, 100 * law(0.5), color=colours.line, linewidth=2)
    axis.plot(100 * q, 100 * q, color=colours.quiet, linewidth=1, linestyle=":")
    for height, words, colour in (
        (47, "labelled positives", colours.positive),
        (33, "hidden ones: about here,", colours.line),
        (24, "somewhere in the band", colours.line),
        (10, "any other row", colours.quiet),
    ):
        axis.text(99, height, words, color=colour, fontsize=11.5, ha="right")
    axis.set_xlabel("part of the list, from its top (%)", fontsize=11.5)
    axis.set_ylabel("found there, of all (%)", fontsize=11.5)
    axis.set_xlim(0, 100)
    axis.set_ylim(0, 101)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    return figure


def growth(colours: Colours) -> Any:
    """How processor time and memory grow with the rows, and which phase of a fit takes them."""
    found = pd.read_csv(DOCS.parent / "benchmarks" / "results" / "growth.csv")
    found["command"] = found["command"].where(found["where"] == "one machine", "two workers")
    found = found[(found["command"] != "two workers") | (found["phase"] != "whole")]  # their fits
    sums = found.groupby(["command", "rows"]).agg({"cpu": "sum", "mb": "max"})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.2), width_ratios=(3, 4, 3))
    looks = {
        "fit": (colours.positive, "-"),
        "two workers": (colours.positive, ":"),
        "predict CSV": (colours.line, "--"),
        "predict Parquet": (colours.line, "-"),
    }
    for axis, what in ((left, "cpu"), (right, "mb")):
        for command, (colour, line) in looks.items():
            values = sums.loc[command][what]
            axis.plot(values.index, values, line, color=colour, marker="o", markersize=4)
        axis.set_xscale("log")
        axis.set_xlabel("rows")
    left.set_yscale("log")
    left.set_yticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    left.set_ylim(top=900)
    left.set_yticks([], minor=True)
    right.set_ylim(bottom=0)
    words = {"predict CSV": "predict CSV (dashed)", "two workers": "fit on two workers (dotted)"}
    for (command, (colour, _)), height in zip(looks.items(), (0.93, 0.82, 0.71, 0.6), strict=True):
        text = words.get(command, command)
        left.text(0.04, height, text, color=colour, transform=left.transAxes, fontsize=9)
    left.set_title("processor time, seconds", fontsize=11)
    right.set_title("peak memory, MB", fontsize=11)
    fits = found[found.command == "fit"].pivot_table("cpu", "rows", "phase", sort=False)
    shares = fits.div(fits.sum(axis=1), axis=0)
    shades = plt.get_cmap("viridis")(np.linspace(0.1, 0.95, len(shares.columns)))
    begin = np.zeros(len(shares))
    for phase, shade in zip(shares.columns, shades, strict=True):
        middle.barh(range(len(shares)), shares[phase], left=begin, color=shade, label=phase)
        begin += shares[phase].to_numpy()
    middle.set_yticks(range(len(shares)), [f"{rows:,}" for rows in shares.index])
    middle.invert_yaxis()
    middle.set_xticks([])
    middle.set_title("share of each phase of a fit", fontsize=11)
    middle.legend(
        ncols=3, loc="upper center", bbox_to_anchor=(0.45, 0.02), frameon=False, fontsize=8,
        labelcolor=colours.ink,
    )  # fmt: skip
    for axis in (left, middle, right):
        for side in ("top", "right", *(("left", "bottom") if axis is middle else ())):
            axis.spines[side].set_visible(False)
    figure.tight_layout()
    return figure


PICTURES: dict[str, Callable[[Colours], Any]] = {
    "pu-data": pu_data,
    "ranges": ranges,
    "answers": answers,
    "hidden": hidden,
    "growth": growth,
}


def main() -> None:
    """Draw each picture in both themes."""
    mpl.use("Agg")
    for theme, colours in THEMES.items():
        style = {
            "figure.facecolor": colours.ground,
            "axes.facecolor": colours.ground,
            "text.color": colours.ink,
            "axes.labelcolor": colours.ink,
            "axes.titlecolor": colours.ink,
            "axes.edgecolor": colours.quiet,
            "xtick.color": colours.ink,
            "ytick.color": colours.ink,
        }
        with mpl.rc_context(style):
            for name, draw in PICTURES.items():
                path = DOCS / "images" / f"{name}-{theme}.png"
                buffer = io.BytesIO()
                draw(colours).savefig(buffer, dpi=160, bbox_inches="tight", pad_inches=0.12)
                pixels = Image.open(buffer).convert("RGB")
                pixels.quantize(64).save(path, optimize=True)  # a third of the bytes
                plt.close("all")


if __name__ == "__main__":
    main()
