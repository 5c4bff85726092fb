"""``nnpu bench``: our speed as ratios, measured in one run on this machine."""

from __future__ import annotations

import click

__all__ = ["bench"]


@click.command()
@click.argument("name", default="training", metavar="[training|mnist|processes]")
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the ratios as JSON.")
def bench(name: str, repeats: int, as_json: bool) -> None:
    """Compare our speed with the hardware's limit and with a plain loop.

    training: the 6-layer perceptron on 60,000 rows of 784 features, batches of 1,000.
    mnist: the same at the batch of the paper's experiment, 30,000.
    processes: two processes with one thread each against one process with two.
    """
    import json

    from nnpu.experiments.processes import measure_processes
    from nnpu.experiments.speed import Shape, measure_speed
    from nnpu.parameters import check_choice

    check_choice("NAME", name, "nnpu bench", ["training", "mnist", "processes"])
    if name == "processes":
        rows = measure_processes(repeats=repeats)
    else:
        shape = Shape(batch_size=30_000) if name == "mnist" else Shape()
        rows = measure_speed(shape, repeats=repeats)
    if as_json:
        click.echo(json.dumps(rows))
        return
    click.echo(f"{'':42}{'ratio':>8}{'seconds':>10}")
    for row in rows:
        click.echo(f"{row['what']:42}{row['ratio']:>8.2f}{row['seconds']:>10}")
    unit = "one process's" if name == "processes" else "ours"
    click.echo(f"\nThe ratio is the time as a multiple of {unit}; below 1 is faster.")
