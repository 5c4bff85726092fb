"""The page of the leaderboard: mean ranks, critical differences, every table.

python benchmarks/leaderboard_page.py benchmarks/results/leaderboard.csv docs/lab/leaderboard.md
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RANKED = ("accuracy", "auc")
LIMIT = "oracle"  # sees the true classes: a limit, not a contender
OURS = "nnpu EnsemblePU"
IMAGES = ("digits", "mnist")  # shown, but no part of the ranks
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def contenders(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of systems, of the draws that every one of them has finished.

    A draw that fewer than half of the systems have finished is left out, then a system that has
    finished fewer than half of the draws.
    """
    rows = rows[~rows.system.str.startswith("member ") & (rows.system != LIMIT)]
    draw = ["protocol", "sampling", "table", "seed"]
    finished = rows.groupby(draw).system.transform("nunique")
    rows = rows[finished >= rows.system.nunique() / 2]
    share = rows.groupby("system").size() / len(rows[draw].drop_duplicates())
    rows = rows[rows.system.isin(share[share >= 0.5].index)]
    finished = rows.groupby(draw).system.transform("nunique")
    return rows[finished == rows.system.nunique()]


def mean_ranks(rows: pd.DataFrame, metric: str) -> tuple[pd.Series, int]:
    """Return the mean rank of each system over tables and samplings, 1 the best, and their number.

    Draws of one table are averaged first, so that a table counts once.
    """
    wide = rows.pivot_table(index=["sampling", "table"], columns="system", values=metric)
    return wide.rank(axis=1, ascending=False).mean().sort_values(), len(wide)


def critical_difference(k: int, n: int) -> float:
    """Return how far two mean ranks must lie apart (Nemenyi's test at 5 %; Demšar, 2006)."""
    from scipy.stats import studentized_range

    quantile = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(k * (k + 1) / (6 * n)))


def picture(rows: pd.DataFrame, path: Path) -> None:
    """Draw the mean ranks of each protocol and metric, with the critical difference."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    protocols = list(dict.fromkeys(rows.protocol))
    figure, axes = plt.subplots(
        len(protocols), 2, figsize=(11, 3.2 * len(protocols)), squeeze=False, layout="constrained"
    )
    for line, protocol in zip(axes, protocols, strict=True):
        for axis, metric in zip(line, RANKED, strict=True):
            ranks, n = mean_ranks(rows[rows.protocol == protocol], metric)
            width = critical_difference(len(ranks), n)
            y = np.arange(len(ranks))
            colours = ["#c2410c" if name.startswith("nnpu") else "#475569" for name in ranks.index]
            axis.hlines(y, ranks - width / 2, ranks + width / 2, color="#cbd5e1", linewidth=6)
            axis.scatter(ranks, y, color=colours, zorder=3)
            axis.set_yticks(y, list(ranks.index))
            axis.invert_yaxis()
            axis.set_xlabel("mean rank (1 is best)")
            axis.set_title(f"{metric}, prior {'given' if protocol == 'true' else protocol}, n={n}")
            for side in ("top", "right"):
                axis.spines[side].set_visible(False)
    figure.savefig(path, dpi=130)


def markdown(frame: pd.DataFrame, digits: int = 3) -> str:
    """Return a table; the greatest number of each row is bold."""
    head = ["", *map(str, frame.columns)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, row in frame.iterrows():
        best = row.max()
        cells = [
            "" if np.isnan(v) else f"**{v:.{digits}f}**" if v == best else f"{v:.{digits}f}"
            for v in row
        ]
        lines.append("| " + " | ".join([str(name), *cells]) + " |")
    return "\n".join(lines)


def ranks_table(rows: pd.DataFrame) -> str:
    lines = ["| system | " + " | ".join(f"{p}: {m}" for p in PROTOCOLS for m in RANKED) + " |"]
    lines.append("|---|" + "---|" * (len(RANKED) * len(PROTOCOLS)))
    found = {
        (p, m): mean_ranks(rows[rows.protocol == p], m)[0]
        for p in PROTOCOLS
        for m in RANKED
        if (rows.protocol == p).any()
    }
    first = next(iter(found.values()))
    for system in first.index:
        keys = [(p, m) for p in PROTOCOLS for m in RANKED]
        cells = [f"{found[key][system]:.2f}" if key in found else "" for key in keys]
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


PROTOCOLS = ("true", "estimated")


def against_members(rows: pd.DataFrame) -> str:
    """Compare the ensemble with the best of its members, by their means over the draws.

    Bold: behind by more than 0.01 and two standard errors.
    """
    head = [f"{protocol}: {metric}" for protocol in PROTOCOLS for metric in RANKED]
    lines = [
        "| table | sampling | draws | " + " | ".join(head) + " |",
        "|---|---|---|---|---|---|---|",
    ]
    for (table, sampling), part in rows.groupby(["table", "sampling"]):
        cells, draws = [], part[part.system == OURS].seed.nunique()
        for protocol in PROTOCOLS:
            given = part[part.protocol == protocol]
            mine = given[given.system == OURS].set_index("seed")
            members = given[given.system.str.startswith("member ")]
            for metric in RANKED:
                wide = members.pivot_table(index="seed", columns="system", values=metric)
                best = wide.mean().idxmax()
                gap = (mine[metric] - wide[best]).dropna()
                error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
                behind = -gap.mean() > max(0.01, 2 * error)
                text = f"{gap.mean():+.3f} ± {error:.3f} ({best.removeprefix('member ')})"
                cells.append(f"**{text}**" if behind else text)
        lines.append(f"| {table} | {sampling} | {draws} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def species_table(path: Path) -> str:
    """Return mean AUCs by region: of the verdict half, and of all species.

    Species with odd numbers were looked at while settings were chosen.
    """
    rows = pd.read_csv(path)
    odd = rows.species.str.extract(r"(\d+)$")[0].astype(int) % 2 == 1
    parts = [
        "Species with even numbers, on which nothing was chosen:",
        by_region(rows[~odd]),
        "All species:",
        by_region(rows),
    ]
    seconds = rows.groupby("system").seconds.agg(["sum", "size"])
    times = ", ".join(
        f"{name} {total / 60:.1f} ({int(n)} species)" for name, (total, n) in seconds.iterrows()
    )
    return "\n\n".join([*parts, f"CPU minutes: {times}."])


def by_region(rows: pd.DataFrame) -> str:
    """Return the mean AUC of each system over the species that all of them were run on."""
    counts = rows.groupby("species").system.nunique()
    whole = rows[rows.species.isin(counts[counts == rows.system.nunique()].index)]
    wide = whole.pivot_table(index="region", columns="system", values="auc")
    number = whole.groupby("region").species.nunique()
    wide.index = [f"{region} ({number[region]} species)" for region in wide.index]
    return markdown(wide)


def figures(path: Path, image: Path) -> str:
    """Return everything that is computed from the results."""
    every = pd.read_csv(path)
    rows = every[~every.table.isin(IMAGES)]
    whole = contenders(rows)
    picture(whole, image)
    parts = []
    for protocol in PROTOCOLS:
        part = whole[whole.protocol == protocol]
        tables, seeds = part.table.nunique(), part.seed.nunique()
        draws = len(part[["sampling", "table", "seed"]].drop_duplicates())
        parts.append(f'"{protocol}": {draws} draws of {tables} tables, {seeds} seed(s).')
    text = ["## Mean ranks", " ".join(parts), ranks_table(whole)]
    text.append(f"![Mean ranks with critical differences](../{image.parent.name}/{image.name})")
    systems = rows[~rows.system.str.startswith("member ") & rows.seed.isin(whole.seed)]
    for protocol in PROTOCOLS:
        part = systems[systems.protocol == protocol]
        for metric in RANKED:
            wide = part.pivot_table(index="system", columns="table", values=metric)
            text += [f"### {metric}, protocol {protocol}", markdown(wide.T)]
    text += ["## The ensemble against its best member", against_members(rows)]
    timed = rows[rows.protocol == "true"].dropna(subset=["seconds"])
    seconds = timed.groupby("system").seconds.median()
    lines = ["| system | CPU seconds, median |", "|---|---|"]
    lines += [f"| {name} | {value:.1f} |" for name, value in seconds.sort_values().items()]
    text += ["## Time", "\n".join(lines)]
    memory = path.with_name("leaderboard_memory.csv")
    if memory.exists():
        lines = ["| system | MB |", "|---|---|"]
        lines += [f"| {row.system} | {row.mb} |" for row in pd.read_csv(memory).itertuples()]
        text += ["## Memory", "\n".join(lines)]
    images = every[every.table.isin(IMAGES) & ~every.system.str.startswith("member ")]
    if len(images):
        index = ["table", "protocol", "sampling"]
        text.append("## Digits and MNIST")
        for metric in RANKED:
            wide = images.pivot_table(index=index, columns="system", values=metric)
            text += [f"{metric}:", markdown(wide.set_axis([", ".join(i) for i in wide.index]))]
    species = path.with_name("species.csv")
    if species.exists():
        text += ["## Species", species_table(species)]
    return "\n\n".join(text)


def write(path: Path, page: Path) -> None:
    """Write the figures between the two marks of the page; the words around them stay."""
    new = figures(path, page.parents[1] / "images" / "leaderboard.png")
    text = page.read_text() if page.exists() else f"# Leaderboard\n\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{new}\n\n{END}{after}")


def main(arguments: list[str]) -> Any:
    write(Path(arguments[0]), Path(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
