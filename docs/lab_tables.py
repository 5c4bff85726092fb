"""Make the tables of the laboratory book from benchmarks/results: ``python docs/lab_tables.py``.

A table stands between ``<!-- table: name -->`` and ``<!-- end of table -->``. With ``--check``
nothing is written, and the status is 1 if a page differs. Needs pandas.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LAB = Path(__file__).parent / "lab"
RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
MARK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def results(name: str) -> pd.DataFrame:
    """Return the rows of a file of results."""
    return pd.read_csv(RESULTS / f"{name}.csv")


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown; numbers have three digits after the point."""
    head = list(head)
    cells = [[f"{one:.3f}" if isinstance(one, float) else str(one) for one in row] for row in rows]
    lines = [head, ["---"] * len(head), *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def negatives() -> str:
    """Accuracy by the number of known negatives."""
    means = results("negatives").groupby("negatives")[["pn", "nnpu", "nnpnu"]].mean()
    head = "negatives", "PN: P and N", "nnPU: P and U", "nnPNU: all three"
    return table(head, ((n, *row) for n, row in zip(means.index, means.values, strict=True)))


def imbalanced() -> str:
    """What each risk finds where positives are rare."""
    figures = ["precision", "recall", "F1", "balanced accuracy"]
    means = results("imbalanced").groupby(["prior", "risk"], sort=False)[figures].mean()
    rows = ((f"{p:.2f}", f"`{risk}`", *map(float, row)) for (p, risk), row in means.iterrows())
    return table(("prior", "risk", *figures), rows)


def scar() -> str:
    """How often the test rejects labels at random, and biased ones."""
    rows = results("scar").assign(rejected=lambda found: found.pvalue <= 0.05)
    counts = rows.groupby(["what", "table"], sort=False).rejected.agg(["size", "mean"])
    head = "table", "draws, random labels", "rejected", "draws, biased labels", "rejected"
    names = [name for what, name in counts.index if what == "size"]
    both = ([counts.loc[what, name] for what in ("size", "power")] for name in names)
    return table(
        head,
        (
            (name, int(a["size"]), float(a["mean"]), int(b["size"]), float(b["mean"]))
            for name, (a, b) in zip(names, both, strict=True)
        ),
    )


def biased_labels() -> str:
    """Accuracy and error of the share, plain and corrected."""
    rows = results("biased_labels").assign(error=lambda found: (found.estimate - found.prior).abs())
    labels = {
        "random": "random",
        "column": "one column",
        "columns": "two columns",
        "score": "score",
    }
    cells = [("accuracy", "true"), ("accuracy", "auto"), ("error", "auto")]
    means = rows.groupby(["role", "labelling", "model", "given"])[["accuracy", "error"]].mean()
    head = ["tables", "labels"]
    for what in ("prior given", "prior estimated", "error of the prior"):
        head += [f"{what}: plain", "`BiasedLabelPU`"]
    return table(
        head,
        (
            (
                role,
                labels[labelling],
                *(
                    float(means.loc[role, labelling, model, given][what])
                    for what, given in cells
                    for model in ("plain", "biased")
                ),
            )
            for role in ("third", "second", "verdict", "choose")
            for labelling in labels
        ),
    )


def boosting() -> str:
    """The gain of the objective on three tables."""
    rows = results("boosting")
    means = rows.groupby(["data", "method"], sort=False)[["accuracy", "f1", "auc"]].mean()
    spread = rows.groupby(["data", "method"], sort=False).accuracy.std()
    return table(
        ("data", "method", "accuracy", "F1", "AUC"),
        (
            (*key, f"{row.accuracy:.3f} ({spread[key]:.3f})", float(row.f1), float(row.auc))
            for key, row in means.iterrows()
        ),
    )


def looks(problems: tuple[str, ...], methods: dict[str, str]) -> str:
    """Positives found after 100 and 200 looks."""
    rows = results("down_the_list")
    means = rows.groupby(["problem", "method"], sort=False)[["found_100", "found_200"]].mean()

    def cell(problem: str, method: str) -> str:
        there = (problem, method) in means.index
        return "{:.1f} / {:.1f}".format(*means.loc[problem, method]) if there else ""

    lines = ([name, *(cell(name, method) for method in methods)] for name in problems)
    return table(("problem", *methods.values()), lines)


METHODS = {
    "list": "list, no answers",
    "answered": "answered",
    "weak": "weak",
    "ours": "`review`",
    "one_in_ten": "one look in ten random",
}


def found() -> str:
    """Positives found on genuine problems, by method."""
    screening = "adhd", "antihistamines", "nsaids", "atypicalantipsychotics", "protonpumpinhibitors"
    others = {"asreview": "ASReview", "asreview_25": "in rounds of 25"}
    return looks((*screening, "prediabetes", "depression", "k401"), METHODS | others)


def found_on_tables() -> str:
    """Positives found on tables whose labels were drawn at random."""
    return looks(("affair", "churn", "loans", "insurance", "spam"), METHODS)


def certificates() -> str:
    """Simulated reviews until the certificate."""
    rows = results("certificates")
    rows = rows.assign(looked=rows.looks / rows.all_rows, oracle=rows.list_oracle / rows.all_rows)
    means = rows.groupby("recall")[["wrong", "looked", "oracle", "left_always"]].mean()
    sums = rows.groupby("recall")[["left_held", "rounds"]].sum()
    head = "recall", "reviews", "wrong", "looks / all rows", "oracle / all rows"
    return table(
        (*head, "left, rounds", "left, reviews"),
        (
            (
                f"{recall:g}",
                int((rows.recall == recall).sum()),
                *(float(row[name]) for name in ("wrong", "looked", "oracle")),
                float(sums.left_held[recall] / sums.rounds[recall]),
                float(row.left_always),
            )
            for recall, row in means.iterrows()
        ),
    )


def unlabelled() -> str:
    """Ways to learn from unlabelled images at equal cost."""
    names = {
        "vpu": "VPU with its mixup term",
        "cvir": "CVIR (after a quarter of P against U)",
        "nnpu": "nnPU alone, all of the budget",
        "dist-pu": "Dist-PU (means of probabilities, entropy from half-way on)",
        "second stage": "nnPU (5/8), then soft labels: the second stage of `ImagePU`",
        "mixup": "the same with mixup in the second stage",
        "consistency": "the same with two views and their difference",
    }
    rows = results("unlabelled").groupby("method")
    order = sorted(rows, key=lambda one: one[1].error.mean())
    return table(
        ("method", "test error, mean", "samplings", "held-out PU risk, mean"),
        (
            (
                names[name],
                f"{part.error.mean():.4f}",
                ", ".join(f"{one:.4f}" for one in part.error),
                f"{part.held_out_risk.mean():.4f}",
            )
            for name, part in order
        ),
    )


def graphs() -> str:
    """Scores of graphs and of their models."""
    head = "sampling", "tables", "rows", "largest difference of a score", "of a probability"
    return table(
        (*head, "other predictions", "time, of ours"),
        (
            (
                sampling,
                part.table.nunique(),
                part.rows.sum(),
                f"{part.score.max():.1g}",
                f"{part.probability.max():.1e}",
                part.predictions.sum(),
                f"{part.graph_seconds.sum() / part.our_seconds.sum():.2f}",
            )
            for sampling, part in results("graphs").groupby("sampling")
        ),
    )


def growth() -> str:
    """What fit and predict take as rows grow."""
    found = results("growth")
    keys = ["where", "rows", "command"]
    sums = found.groupby(keys, sort=False)[["seconds", "cpu"]].sum()
    peaks = found.groupby(keys, sort=False)[["mb", "worker_mb"]].max()
    head = "where", "rows", "command", "processor time", "clock", "peak memory", "of a worker"
    return table(
        head,
        (
            (
                *(where, f"{rows:,}", f"`nnpu {command}`"),
                *(f"{cpu:.1f} s", f"{seconds:.0f} s", f"{mb:,.0f} MB"),
                f"{worker_mb:,.0f} MB" if "worker" in where else "",
            )
            for (where, rows, command), seconds, cpu, mb, worker_mb in sums.join(peaks).itertuples()
        ),
    )


def growth_phases() -> str:
    """Processor time of the phases of a fit, by rows."""
    found = results("growth")
    found = found[found.command == "fit"]
    head = [f"{rows:,}, {where}" for where, rows in found.groupby(["where", "rows"]).groups]
    times = found.pivot_table("cpu", "phase", ["where", "rows"], sort=False)
    times = times[sorted(times.columns)]
    return table(
        ("phase", *head),
        (
            (phase, *("" if one != one else f"{one:.1f} s" for one in row))
            for phase, row in zip(times.index, times.values, strict=True)
        ),
    )


def hold_out() -> str:
    """A single hold-out beside three folds: mean differences with their standard errors."""
    found = results("hold_out")

    def change(part: pd.DataFrame, figure: str) -> str:
        more = part[f"{figure}, hold-out"] - part[f"{figure}, folds"]
        return f"{more.mean():+.4f} ± {more.std() / len(more) ** 0.5:.4f}"

    figures = "auc", "accuracy", "prior error"
    head = "prior", "draws", "tables", "AUC in U", "accuracy in U", "error of the prior"
    return table(
        (*head, "processor time"),
        (
            (
                *("estimated" if prior == "auto" else "given", len(part), part.table.nunique()),
                *(
                    change(part, one) if prior == "auto" or one != figures[2] else ""
                    for one in figures
                ),
                f"{part['cpu, hold-out'].sum() / part['cpu, folds'].sum():.2f}",
            )
            for prior, part in found.groupby("prior")
        ),
    )


TABLES: dict[str, Callable[[], str]] = {
    one.__name__: one
    for one in (
        *(negatives, imbalanced, scar, biased_labels, boosting, unlabelled),
        *(found, found_on_tables, certificates, graphs, growth, growth_phases, hold_out),
    )
}


def filled(text: str) -> str:
    """Return a page with its tables made anew."""
    return MARK.sub(lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n{m[3]}", text)


def main() -> int:
    """Write the pages, or compare them."""
    stale = 0
    for page in sorted(LAB.glob("*.md")):
        text = page.read_text("utf-8")
        new = filled(text)
        if new != text:
            stale += 1
            print(f"{page.name}: {'differs' if '--check' in sys.argv else 'written'}")
            if "--check" not in sys.argv:
                page.write_text(new, "utf-8")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    raise SystemExit(main())
