"""``nnpu bench``: our speed as ratios, measured in one run on this machine."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["bench"]

_NAMES = ("training", "mnist", "outofcore", "sparse", "processes")
_COLUMNS = {
    "ratio": ("ratio", 8, ".2f"),
    "processor_ratio": ("CPU", 8, ".2f"),
    "seconds": ("seconds", 10, ".2f"),
    "rows_per_second": ("rows/s", 12, ","),
    "peak_mb": ("peak MB", 9, ","),
}


@click.command()
@click.argument("name", default="training", metavar=f"[{'|'.join(_NAMES)}]")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How often each is measured.",
)
@click.option("--rows", type=click.IntRange(min=100), help="Fewer or more rows than by default.")
@click.option(
    "--authors",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="With mnist: a checkout of the authors' code, to be timed too (needs the data set).",
)
@click.option(
    "--authors-python",
    default="python",
    metavar="FILE",
    show_default=True,
    help="The interpreter for it, which has Chainer.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the ratios as JSON.")
def bench(
    name: str,
    repeats: int,
    rows: int | None,
    authors: Path | None,
    authors_python: str,
    as_json: bool,
) -> None:
    """Compare our speed with the hardware's limit and with other ways.

    \b
    training   6-layer perceptron, 60,000 rows of 784 features, batches of 1,000
    mnist      the same in the batches of the paper's experiment, 30,000
    outofcore  400,000 rows of 2,000 features, disk and memory (6.4 GB of disk)
    sparse     1,000,000 rows of 100,000 features, 50 not zero (0.4 GB of disk)
    processes  two processes of one thread against one of two threads
    """  # noqa: D301 (click reads the backspace)
    import json

    from nnpu.paper import speed
    from nnpu.paper.speed.processes import measure_processes
    from nnpu.parameters import check_choice

    check_choice("NAME", name, "nnpu bench", _NAMES)
    if authors is not None and name != "mnist":
        raise click.UsageError("--authors belongs to nnpu bench mnist.")
    if name == "outofcore":
        table = speed.measure_disk(rows or 400_000, repeats=repeats)
    elif name == "sparse":
        table = speed.measure_sparse(rows or 1_000_000, repeats=repeats)
    elif name == "processes":
        table = measure_processes(speed.Shape(n_rows=rows or 60_000), repeats=repeats)
    else:
        batch_size = 30_000 if name == "mnist" else 1_000
        shape = speed.Shape(n_rows=rows or 60_000, batch_size=batch_size)
        table = speed.measure_speed(shape, repeats=repeats)
    if authors is not None:
        from nnpu.paper.authors import compare_with_authors

        table += compare_with_authors(authors, authors_python, epochs=repeats)
    if as_json:
        click.echo(json.dumps(table))
        return
    columns = [(key, *column) for key, column in _COLUMNS.items() if key in table[0]]
    click.echo(" " * 42 + "".join(f"{head:>{width}}" for _, head, width, _ in columns))
    for row in table:
        cells = (
            f"{row[key]:>{width}{form}}" if key in row else " " * width
            for key, _, width, form in columns
        )
        click.echo(f"{row['what']:42}" + "".join(cells))
    click.echo(
        "\nThe ratio is the time as a multiple of that of the line it belongs to (1.00); CPU is\n"
        "the same by the processor's clock. The peak is anonymous memory of the process: mapped\n"
        "files do not count."
    )
