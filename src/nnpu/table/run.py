"""One fit on disk: a table in, a model folder with its report and its log out."""

from __future__ import annotations

import json
import warnings
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from nnpu.estimators.evaluation import prior_interval
from nnpu.extras import need
from nnpu.files import partial_folder
from nnpu.parameters import InputError, ParameterError
from nnpu.storage import LOG, REPORT, RUN
from nnpu.table._messages import OUR_COLUMNS
from nnpu.table.fitting import named_model
from nnpu.table.pages import fit_page
from nnpu.terminal import is_first, of_torchrun

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.table.table_pu import TablePU

__all__ = ["fit_to_folder", "model_for"]


@contextmanager
def model_for(
    name: str | None,
    out: Path,
    *,
    epochs: int | None = None,
    parallel: Literal["global", "local"] = "global",
    images: str | None = None,
    image_size: int | None = None,
) -> Iterator[str | BasePUClassifier | None]:
    """Yield the model of a run; that of a network keeps checkpoints beside `out`.

    Parameters
    ----------
    name : str or None
        As in `TablePU`.
    out : Path
        The model folder.
    epochs, parallel
        Of the network. Giving one of them without a name chooses the network, and so does
        torchrun; a warning says so.
    images, image_size : str, int, optional
        The column of image files, if there is one, and the side they are resized to.
    """
    if images is not None:
        need("torch", extra="torch", owner="nnpu fit --images")
    if images is not None and name is None and parallel == "global":
        from nnpu.estimators.images import RUNS
        from nnpu.training.checkpoint import check_checkpoints

        check_checkpoints(partial_folder(out), RUNS)
        how = {"epochs": epochs or "auto", "checkpoint": partial_folder(out)}
        yield named_model("images", size=(image_size,) * 2 if image_size else None, **how)
        return
    if image_size is not None:
        raise ParameterError(
            "The '--image-size' parameter of nnpu fit is for --images COLUMN alone, without "
            f"--model and --parallel. Got --image-size {image_size} instead."
        )
    options = {"--epochs": epochs is not None, "--parallel": parallel != "global"}
    reasons = [option for option, given in options.items() if given]
    reasons += ["torchrun"] if of_torchrun() else []
    unasked = name is None and bool(reasons)
    name = "network" if unasked else name
    if name != "network":
        if reasons:
            raise ParameterError(
                f"The '--model' parameter of nnpu fit must be network with {' and '.join(reasons)}"
                f", which no other model can use. Got {name} instead."
            )
        yield name
        return
    need(
        "torch",
        extra="torch",
        owner=f"nnpu fit {f'with {reasons[0]}' if unasked else '--model network'}",
    )
    from nnpu.training import DEFAULT_TRAINING, checkpoints_beside

    loop = replace(DEFAULT_TRAINING, parallel=parallel)
    with checkpoints_beside(out, loop) as training:
        yield named_model("network", epochs=epochs or "auto", training=training)
    if unasked:
        warnings.warn(
            f"The model is the network, the only one that takes {reasons[0]}; see --model.",
            UserWarning,
            stacklevel=3,
        )


def fit_to_folder(
    job: TablePU,
    data: Any,
    label: str | None,
    out: Path,
    *,
    answers: Sequence[Path] = (),
    known: Sequence[Path] = (),
    dask: str | None = None,
    report: Path | None = None,
    command: str = "",
    config: str = "",
) -> dict[str, Any]:
    """Fit, save the model, then write its report; if the page fails, the model stays.

    Parameters
    ----------
    job : TablePU
        Not fitted yet.
    data : Path or (Path, Path)
        The table; or that of the positives and that of the unlabelled rows.
    label, out : str, Path
        The label column of one table, the model folder.
    answers : sequence of Path
        Answered sheets of a review.
    known : sequence of Path
        Answered sheets whose rows were known when those were drawn.
    dask : str, optional
        The cluster that fits the table, as in `nnpu.table.partitions.cluster`.
    report : Path, optional
        Where the report goes; by default into the folder.
    command, config : str
        What repeats the run, as a command line and as TOML.

    Returns
    -------
    dict
        What was done, as plain values.
    """
    if job.id in OUR_COLUMNS:
        raise ParameterError(
            "The '--id' parameter of nnpu fit must not be 'score', 'probability', 'prediction' or "
            f"'rank', which are columns of the predictions. Got {job.id!r} instead; rename it in "
            "the table."
        )
    with _explaining_interrupts(job, out):
        if isinstance(data, tuple):
            job.fit_two(*data)
            data = data[1]
        elif dask is not None:
            from nnpu.table.partitions import cluster, partitions_of_files

            with cluster(dask):
                job.fit(partitions_of_files(data, **job._how()), label)
        else:
            job.fit(data, label, answers=list(answers) or None, known=known)
        result = _result(job, data, out, report, command)
        notes = {LOG: _log(job)} | ({RUN: config} if config else {})
        job.save(out, notes=notes)
    _write_report(job, data, report or out / REPORT, command)
    return result


def _write_report(job: TablePU, data: Path, path: Path, command: str) -> None:
    if not is_first():
        return
    try:
        fit_page(job, title=f"Report: {data.name}", footer=command).save(path)
    except OSError as error:  # a full disk, most often
        words = f"The model is saved, but not its report ({error.strerror or error})"
        raise OSError(error.errno, words, str(path)) from error
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        warnings.warn(
            f"The model is saved, but its report could not be drawn: {error}",
            UserWarning,
            stacklevel=2,
        )


def _result(
    job: TablePU, data: Path, out: Path, report: Path | None, command: str
) -> dict[str, Any]:
    estimate = job.prior_estimate_
    prior: dict[str, Any] = {"value": job.prior_}
    if estimate is not None:
        interval = prior_interval(job.classifier_)
        prior |= {"low": interval.low, "high": interval.high}
        prior |= {"identified": estimate.identified, "message": estimate.message}
    found = None if job.holdout_ is None else job.holdout_.to_json()
    test = job.classifier_.scar_test_
    return {
        "model": str(out),
        "sampling": job.sampling,
        "columns": job.columns_.to_json(),
        "prior": prior,
        "labels": None if test is None else asdict(test),
        "held_out": found,
        "report": str(report or out / REPORT),
        "command": command,
    }


def _log(job: TablePU) -> str:
    """The events of the run as JSON, one a line, in the order in which things happened."""
    estimate = job.prior_estimate_
    prior = {"value": job.prior_} if estimate is None else estimate.stored()
    found: dict[str, Any] = {} if job.holdout_ is None else job.holdout_.to_json()["metrics"]
    times: Mapping[str, float] = getattr(job.classifier_, "seconds_", {})
    events: list[Mapping[str, Any]] = [
        {"event": "columns", "columns": job.columns_.to_json()},
        {"event": "prior", **prior},
        *({"event": "epoch", **row} for row in getattr(job.classifier_, "history_", [])),
        *({"event": "member", "name": name, "seconds": seconds} for name, seconds in times.items()),
        {"event": "held_out", "metrics": found},
    ]
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events)


@contextmanager
def _explaining_interrupts(job: TablePU, out: Path) -> Iterator[None]:
    """Say on Ctrl-C what is kept and how to resume."""
    try:
        yield
    except KeyboardInterrupt as error:
        kept = (
            f"The training so far is in {partial_folder(out)}; the same command resumes it."
            if _has_checkpoint(job, partial_folder(out))
            else "No model was written; the same command starts again."
        )
        raise KeyboardInterrupt(f"Interrupted. {kept}") from error


def _has_checkpoint(job: TablePU, folder: Path) -> bool:
    """Whether the folder is there and this run's: another one may be writing to it."""
    if getattr(job.model, "training", None) is None or not folder.is_dir():
        return False
    from nnpu.training.checkpoint import FolderLock

    try:
        FolderLock(folder).release()
    except InputError:
        return False
    return True
