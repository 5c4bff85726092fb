"""Work on the workers of a Dask cluster that may lose some of them: it ends, one way or another."""

from __future__ import annotations

import importlib
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nnpu.boosting import kl_round
from nnpu.extras import need
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KLObjective", "LostWorkerError", "find_client", "on_partitions", "train"]

_PINNED = ("_train_part", "_acquire_port")  # LightGBM's tasks that only one worker may run


class LostWorkerError(InputError):
    """Workers were lost twice, or none is left."""


@dataclass(frozen=True)
class KLObjective:
    """The gradient of the KL risk of all rows, for the rows of one worker."""

    prior: float
    sampling: str
    n_p: int
    n: int

    def __call__(self, s: Any, scores: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        totals = (self.n_p, self.n)
        part = kl_round(scores, s, prior=self.prior, sampling=self.sampling, totals=totals)
        return part.gradient, part.hessian


def train(
    client: Any, X: Any, s: Any, objective: Any, options: dict[str, Any], patience: float
) -> Any:
    """Return the booster that LightGBM trains; once more on what remains if a worker is lost.

    Parameters
    ----------
    client : distributed.Client
        Whose workers train.
    X, s : dask DataFrame, dask Series
        Numbers and labels, without empty partitions.
    objective : callable
        Gradient and curvature of some rows by their labels and scores.
    options : dict
        Parameters of LightGBM.
    patience : float
        Seconds that a training without workers, or a cancelled one, is waited for.
    """
    from lightgbm.dask import DaskLGBMRegressor

    options = {name: value for name, value in options.items() if name != "num_threads"}
    trainer = DaskLGBMRegressor(client=client, **(options | {"objective": objective}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it goes by the workers' threads
        try:
            return _watched(client, trainer, X, s, patience)
        except LostWorkerError:
            _free_networks(client, patience)
            return _watched(client, trainer, X, s, patience)


def _free_networks(client: Any, patience: float) -> None:
    """Let LightGBM forget, in each thread of each worker, the connections that are broken."""
    distributed = need("distributed", extra="dask", owner="BoostedPU")
    futures = [
        client.submit(_free_network, workers=[worker], pure=False)
        for worker, threads in client.nthreads().items()
        for _ in range(threads)
    ]
    with suppress(TimeoutError, distributed.TimeoutError):  # a worker may just be lost
        distributed.wait(futures, timeout=patience)
    client.cancel(futures, force=True)


def _free_network() -> None:
    basic: Any = importlib.import_module("lightgbm.basic")
    basic._LIB.LGBM_NetworkFree()
    time.sleep(0.2)  # each of these tasks takes a thread of its own


def _watched(client: Any, trainer: Any, X: Any, s: Any, patience: float) -> Any:
    """Train in a thread and watch the workers: LightGBM would wait for a lost one for ever."""
    before, workers = set(client.futures), set(client.nthreads())
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(trainer.fit(X, s).booster_)
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    seen = time.monotonic()  # when there was last a worker, or no reason to stop
    lost: set[str] = set()
    try:
        while thread.is_alive() and time.monotonic() - seen < patience:
            thread.join(0.2)
            now = set(client.nthreads())
            lost |= workers - now
            if lost:
                _cancel(client, before, _PINNED)
            elif now:
                seen = time.monotonic()
        if result and not isinstance(result[0], BaseException):
            return result[0]
        time.sleep(1.0)  # a failure may be known before the loss that caused it
        lost |= workers - set(client.nthreads())
    finally:
        _cancel(client, before, ("",))
    if lost or thread.is_alive():
        raise LostWorkerError(
            f"{len(lost)} of {len(workers)} workers were lost during the training; start them "
            "again, with more memory or smaller partitions, and fit again."
        )
    raise result[0]


def _cancel(client: Any, before: set[Any], names: tuple[str, ...]) -> None:
    """Cancel what this fit started, by the beginnings of its names."""
    distributed = need("distributed", extra="dask", owner="BoostedPU")
    ours = [key for key in list(client.futures) if key not in before and str(key).startswith(names)]
    client.cancel([distributed.Future(key, client) for key in ours], force=True)


def find_client() -> Any:
    """Return the client that is in use."""
    distributed = need("distributed", extra="dask", owner="BoostedPU")
    try:
        return distributed.default_client()
    except ValueError as error:
        raise InputError(
            "A Dask DataFrame is fitted through a distributed.Client; make one first."
        ) from error


def on_partitions(client: Any, patience: float, function: Any, table: Any) -> list[Any]:
    """Return what a function gives for every partition; an error if no worker is left."""
    dask = need("dask", extra="dask", owner="BoostedPU")
    distributed = need("distributed", extra="dask", owner="BoostedPU")
    lazy = dask.delayed(function, pure=False)
    futures = client.compute([lazy(part) for part in table.to_delayed()])
    seen = time.monotonic()
    while True:
        try:
            distributed.wait(futures, timeout=1)
            return list(client.gather(futures))
        except (TimeoutError, distributed.TimeoutError):
            if client.nthreads():
                seen = time.monotonic()
            elif time.monotonic() - seen > patience:
                client.cancel(futures, force=True)
                raise LostWorkerError("No worker is left; start some and try again.") from None
