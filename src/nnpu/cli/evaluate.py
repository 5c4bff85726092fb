"""``nnpu evaluate``: how good a model is on rows that it has not seen, without true labels."""

from __future__ import annotations

import json
from pathlib import Path

import click

from nnpu.cli.options import label_option
from nnpu.cli.reporting import report_option

__all__ = ["evaluate"]

_CAVEAT = (
    "These figures hold for rows that the model was not fitted to; for rows of the training file "
    "they are too good (nnpu fit prints those of its held-out rows). They rest on the prior, and "
    "on labelled positives that are a random part of all positives."
)


@click.command()
@click.argument("model_dir", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@label_option
@report_option("none is written")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def evaluate(model_dir: Path, data: Path, label: str, report: Path | None, as_json: bool) -> None:
    """Judge the model in MODEL_DIR by the labelled and unlabelled rows of DATA."""
    import numpy as np

    from nnpu.cli.labelled import check_labels, check_writable, for_json, measure, metric_lines
    from nnpu.cli.reporting import evaluate_page
    from nnpu.cli.scoring import load_model, scored_batches
    from nnpu.report.html import write_page
    from nnpu.table.columns import find_column, label_codes

    if report is not None:
        check_writable(report, "--report")
    model = load_model(model_dir)
    parts, labels = [], []
    for batch, scores in scored_batches(model, data):
        find_column(label, batch.columns, batch.source)
        labels.append(label_codes(batch.columns[label], label, batch.source, batch.first))
        parts.append(scores)
    s, scores = np.concatenate(labels), np.concatenate(parts)
    check_labels(s, label, str(data))
    prior, sampling = model.classifier.prior_, model.classifier.sampling
    found = measure(model.classifier, s, scores)
    counts = {
        "rows": len(s),
        "labelled": int((s == 1).sum()),
        "positives": int((scores > model.classifier.threshold_).sum()),
    }
    if report is not None:
        page = evaluate_page(
            model.classifier, s, scores, found, data=data, model=model_dir, caveat=_CAVEAT
        )
        write_page(page, report)
    if as_json:
        result = {**counts, "prior": prior, "sampling": sampling, "metrics": for_json(found)}
        result |= {"caveat": _CAVEAT, "report": str(report) if report else None}
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(
        f"{counts['rows']:,} rows, {counts['labelled']:,} labelled, {counts['positives']:,} "
        f"predicted positive. Prior {prior:.3f}, {sampling}. With 90 % intervals:"
    )
    click.echo("\n".join(metric_lines(found)))
    click.echo(_CAVEAT)
    if report is not None:
        click.echo(f"Report: {report} (opens in a browser)")
