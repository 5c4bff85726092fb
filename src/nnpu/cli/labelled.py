"""What the commands for tables share: labelled rows, the prior, metrics, messages."""

from __future__ import annotations

import math
import os
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from nnpu.parameters import InputError, ParameterError, check_prior

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.prior import PriorEstimate

__all__ = [
    "METRIC_WORDS",
    "PRIOR_ROWS",
    "as_prior",
    "check_labels",
    "check_writable",
    "find_prior",
    "for_json",
    "measure",
    "metric_lines",
    "read_labelled",
    "sampling_line",
    "telling_warnings",
]

LEAST = 10  # labelled rows, and unlabelled ones: fewer can be neither learned from nor judged
PRIOR_ROWS = 10_000  # an estimate from more rows takes minutes and is hardly narrower


def sampling_line(sampling: str) -> str:
    """Say how the data are taken to have come about, and what the alternative is."""
    if sampling == "one-sample":
        return (
            "Sampling: one-sample. All rows are taken as one sample in which some positives are "
            "labelled; if the labelled rows were collected separately, use --sampling two-sample."
        )
    return (
        "Sampling: two-sample. The labelled rows are taken as collected separately from the "
        "unlabelled ones; if all rows are one sample with some positives labelled, use --sampling "
        "one-sample."
    )


def as_prior(text: str, owner: str) -> float | str:
    """Return ``"auto"`` or the number that was written."""
    if text == "auto":
        return text
    try:
        return check_prior(float(text), owner, name="--prior")
    except ValueError:
        raise ParameterError(
            f"The '--prior' parameter of {owner} must be 'auto' or a float in the range (0, 1). "
            f"Got {text!r} instead."
        ) from None


def check_writable(path: Path, option: str = "--out") -> None:
    """Raise `InputError` if nothing can be written at `path`: before the work, not after it."""
    above = path.absolute().parent
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        raise InputError(
            f"{path} cannot be written: {above} is not a folder; choose another {option}."
        )
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(
            f"{path} cannot be written: no permission for {above}; choose another {option}."
        )


def read_labelled(path: Path, label: str) -> tuple[Batch, NDArray[np.int8]]:
    """Read a table and the PU labels of its rows."""
    from nnpu.data.streams import read_rows
    from nnpu.table.columns import find_column, label_codes

    batch = read_rows(path)
    find_column(label, batch.names, batch.source)
    if label in batch.matrices:
        raise InputError(f"{path}: {label!r} is a matrix; the labels must be one value per row.")
    return batch, label_codes(batch.columns[label], label, batch.source)


def check_labels(s: NDArray[np.int8], label: str, source: str) -> None:
    """Raise `InputError` unless there are rows enough of both samples."""
    n_p, n_u = int((s == 1).sum()), int((s == 0).sum())
    if n_p == 0:
        raise InputError(
            f"{source}: no row is labelled in column {label!r}: write 1, true or yes where a row "
            "is known to be positive."
        )
    if n_u == 0:
        raise InputError(
            f"{source}: no row is unlabelled in column {label!r}: write 0, or leave the cell "
            "empty, where the class is unknown (-1 means known to be negative)."
        )
    if min(n_p, n_u) < LEAST:
        raise InputError(
            f"{source}: {n_p} labelled and {n_u} unlabelled rows in column {label!r}; at least "
            f"{LEAST} of each are needed."
        )


def find_prior(
    x: Any, s: NDArray[np.int8], sampling: str, seed: int
) -> tuple[float, PriorEstimate]:
    """Estimate the prior from at most 10,000 rows, drawn from both samples alike.

    Returns
    -------
    prior : float
        For `PUClassifier`: in the one-sample setting of all rows, known negatives included.
    estimate : PriorEstimate
    """
    import numpy as np

    from nnpu.prior import estimate_prior

    rng = np.random.default_rng(seed)
    rows = np.arange(len(s))
    if len(s) > PRIOR_ROWS:
        rows = np.sort(rng.choice(len(s), PRIOR_ROWS, replace=False))
    x, s = x[rows], s[rows]
    if min((s == 1).sum(), (s == 0).sum()) < 2:
        raise InputError(
            "Too few labelled rows to estimate the prior from; say what it is with --prior."
        )
    estimate = estimate_prior(x[s == 1], x[s == 0], sampling=sampling, random_state=seed)
    share = float(np.mean(s >= 0)) if sampling == "one-sample" else 1.0
    return estimate.value * share, estimate


def measure(
    classifier: BasePUClassifier, s: NDArray[np.int8], scores: NDArray[np.float32]
) -> dict[str, dict[str, float]]:
    """Return every PU metric of a classifier's scores with its 90 % interval."""
    from nnpu.metrics import METRICS, interval

    prior, sampling = classifier.prior_, classifier.sampling
    found = {}
    for name, metric in METRICS.items():
        values = scores if name == "pu_roc_auc" else (scores > classifier.threshold_).astype(int)
        low, high = interval(name, s, values, prior=prior, sampling=sampling)
        value = metric(s, values, prior=prior, sampling=sampling)
        found[name] = {"value": value, "low": low, "high": high}
    return found


def for_json(found: dict[str, dict[str, float]]) -> dict[str, dict[str, float | None]]:
    """Return metrics as JSON can say them: a precision without bound becomes null.

    >>> for_json({"pu_precision": {"value": float("inf"), "low": 0.5}})
    {'pu_precision': {'value': None, 'low': 0.5}}
    """
    return {
        name: {key: value if math.isfinite(value) else None for key, value in parts.items()}
        for name, parts in found.items()
    }


#: What the metrics are called in front of people.
METRIC_WORDS = {
    "pu_accuracy": "accuracy",
    "pu_precision": "precision",
    "pu_recall": "recall",
    "pu_f1": "F1",
    "pu_roc_auc": "ROC AUC",
    "pu_zero_one_risk": "error rate",
    "lee_liu_score": "Lee-Liu score",
}


def metric_lines(
    found: dict[str, dict[str, float]], names: tuple[str, ...] = tuple(METRIC_WORDS)
) -> list[str]:
    """Return a line for each metric, and one about values that no metric can have."""
    lines = [
        f"  {METRIC_WORDS[name]:14}{found[name]['value']:7.3f}   "
        f"({found[name]['low']:.3f} to {found[name]['high']:.3f})"
        for name in names
    ]
    shares = [found[name] for name in names if name != "lee_liu_score"]
    if any(share["low"] < 0 or share["high"] > 1 for share in shares):
        lines.append("  (Below 0 or above 1: chance, or a wrong prior; no true label was seen.)")
    return lines


@contextmanager
def telling_warnings() -> Iterator[None]:
    """Print this package's warnings as sentences; leave out those of the libraries below it.

    Of several processes the first prints.
    """
    from nnpu.training.distributed import is_first

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(
        str(warning.message) for warning in caught if warning.category is UserWarning and is_first()
    ):
        click.echo(f"Note: {message}", err=True)
