"""Tables larger than a machine, on Dask: fitted by LightGBM's own workers, scored by partitions.

Under the KL risk a row's gradient needs its own score and two counts of all rows, so every
worker computes its part alone. Labels are counted, and rows for the prior drawn, in each
partition; no worker holds more than its partitions. A cluster may lose workers: the training is
repeated once with those that remain, or ends with one line.
"""

from __future__ import annotations

import importlib
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_random_state

from nnpu import metrics
from nnpu.boosting import kl_round
from nnpu.calibration import ScoreCalibration
from nnpu.estimators.features import centred, find_offset
from nnpu.estimators.forest import Forest
from nnpu.estimators.labels import encode, fit_labels
from nnpu.extras import need, need_lightgbm
from nnpu.parameters import InputError, ParameterError
from nnpu.prior import estimate_prior
from nnpu.risk_kinds import get_risk

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nnpu.estimators.trees import BoostedPU

    Model = TypeVar("Model", bound=BoostedPU)

__all__ = [
    "KLObjective",
    "LostWorkerError",
    "evaluate_on_dask",
    "find_client",
    "fit_on_dask",
    "gathered",
    "on_partitions",
    "predict_on_dask",
    "train",
]

_LABEL = "PU label"  # of the column that is put beside the features
_MOST = 20_000  # rows of P, and of U, that the prior is estimated from
_WIDTH, _BINS = 0.005, 8000  # of the histogram of scores: from -20 to 20


def fit_on_dask(model: Model, X: Any, s: Any, *, patience: float = 60.0) -> Model:
    """Fit boosted trees to a Dask DataFrame through the client that is in use.

    Parameters
    ----------
    model : BoostedPU
        With ``risk="kl"``.
    X : dask DataFrame of numbers
        The features, NaN where a value is missing.
    s : dask Series
        PU labels of two values, partitioned as X. A partition need not hold both.
    patience : float, default=60
        Seconds to wait for a worker where there is none, or for a cancelled training to end.

    Raises
    ------
    LostWorkerError
        If a worker is lost during the training and again when it is repeated with the others.
    """
    client = find_client()
    model._check_parameters()
    _check(model, X)
    columns = [str(name) for name in X.columns]
    table = _joined(X, s)
    parts = table.to_delayed()
    counts = on_partitions(client, patience, _label_counts, parts)
    values = _sorted_values(counts)
    model.classes_, codes = fit_labels(values)
    if len(codes) != 2:
        raise InputError("Known negatives (-1) are not used on Dask: make them 0, or drop them.")
    n_u, n_p = (sum(one.get(value, 0) for one in counts) for value in values.tolist())
    seed = int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))
    share = (min(1.0, _MOST / n_u), min(1.0, _MOST / n_p))
    draw = partial(_drawn, classes=model.classes_, shares=share, seed=seed)
    drawn = on_partitions(client, patience, draw, parts)
    x_u, x_p = (np.concatenate([part[code] for part in drawn]) for code in (0, 1))
    model._offset = find_offset(np.concatenate([x_p, x_u]))
    model.n_features_in_, model.feature_names_in_ = len(columns), np.array(columns, dtype=object)
    model._known_negatives, model.sampling_ = False, model.sampling
    model.prior_estimate_ = None
    if model.prior == "auto":
        x_p, x_u = (centred(x, model._offset) for x in (x_p, x_u))
        how: dict[str, Any] = {"sampling": model.sampling, "random_state": seed}
        model.prior_estimate_ = estimate_prior(x_p, x_u, counts=(n_p, n_u), **how)
        model.prior_ = model.prior_estimate_.value
    else:
        model.prior_ = float(model.prior)  # type: ignore[arg-type]
    if model.sampling == "one-sample" and model.prior_ <= n_p / (n_p + n_u):
        raise ParameterError(
            "The 'prior' parameter of BoostedPU must be greater than the share of labelled rows, "
            f"{n_p / (n_p + n_u):.4g}. Got {model.prior_!r} instead."
        )
    model.calibration_, model.threshold_ = ScoreCalibration(1.0, 0.0), 0.0
    full = [number for number, one in enumerate(counts) if one]  # LightGBM takes no empty ones
    types = dict.fromkeys([*X.columns, _LABEL], np.float32)
    make = partial(_prepared, offset=model._offset, classes=model.classes_)
    table = table.partitions[full].map_partitions(make, meta=types)
    objective = KLObjective(model.prior_, model.sampling, n_p, n_p + n_u)
    options = model._options(seed) | {"n_estimators": model.n_estimators}
    booster = train(client, table[list(X.columns)], table[_LABEL], objective, options, patience)
    model.history_ = []
    model.forest_ = Forest.from_text(booster.model_to_string(num_iteration=-1))
    gain = booster.feature_importance("gain", iteration=-1)
    model.feature_importances_ = gain / (gain.sum() or 1.0)
    return model


def predict_on_dask(model: Any, X: Any) -> Any:
    """Score a Dask DataFrame by partitions, with any fitted model of this package.

    Parameters
    ----------
    model : classifier or TablePU
        Fitted; it is sent to the workers.
    X : dask DataFrame
        Rows with the columns of fit.

    Returns
    -------
    dask DataFrame
        ``score``, ``probability`` and ``prediction`` (1 or 0) of each row, under the index of X.
    """
    meta = {"score": "float32", "probability": "float64", "prediction": "int8"}
    return X.map_partitions(_predictions, model, meta=meta)


def evaluate_on_dask(model: Any, X: Any, s: Any) -> dict[str, float]:
    """Judge a model by PU labels, from histograms of scores that the workers count.

    Parameters
    ----------
    model : classifier
        Fitted.
    X, s : dask DataFrame, dask Series
        Rows that it was not fitted to, and their PU labels.

    Returns
    -------
    dict
        The metrics of `nnpu.metrics` by name. The AUC is that of scores in bins of 0.005.
    """
    count = partial(_histogram, model=model)
    counts = sum(on_partitions(find_client(), 60.0, count, _joined(X, s).to_delayed()))
    label, flag, place = np.nonzero(counts)
    weights = np.asarray(counts)[label, flag, place]
    how = {"prior": model.prior_, "sampling": model.sampling, "sample_weight": weights}
    return {
        name: metric(label, place if name == "pu_roc_auc" else flag, **how)
        for name, metric in metrics.METRICS.items()
    }


def _check(model: Any, X: Any) -> None:
    if get_risk(model.risk).name != "kl":
        raise ParameterError(
            "The 'risk' parameter of BoostedPU must be 'kl' for a Dask DataFrame: the others need "
            f"the scores of all rows in every round. Got {model.risk!r} instead."
        )
    for name, dtype in X.dtypes.items():
        if getattr(dtype, "kind", "O") not in "biuf":
            raise InputError(
                f"Column {name!r} holds {dtype}; on Dask turn it into numbers first, with "
                "categorize and cat.codes for example."
            )


def _joined(X: Any, s: Any) -> Any:
    """Return rows and labels as one frame: read apart, Dask may cut them in different places."""
    try:
        table = X.assign(**{_LABEL: s})
    except (TypeError, ValueError, NotImplementedError) as error:
        raise InputError(f"X and s must be partitioned alike ({error}).") from error
    expressions: Any = importlib.import_module("dask.dataframe.dask_expr._expr")
    series = hasattr(s, "divisions")  # an array has none: its rows are matched by their places
    by_index = series and not expressions.are_co_aligned(X.expr, s.expr)
    columns = list(table.columns)
    return table.map_partitions(_in_order, columns, by_index, meta=table._meta)


def _in_order(table: Any, columns: list[Any], by_index: bool) -> Any:
    """Return a partition with its columns in the order of the whole frame.

    Rows and labels of two frames were matched by the index. All rows of one index are then in one
    partition, in any order: which label is whose cannot be told.
    """
    if by_index and not table.index.is_unique:
        raise InputError(
            "X and s come from different frames, and their index repeats, so their rows cannot be "
            "matched; take both from one frame, or give them a unique index."
        )
    if list(table.columns) == columns:
        return table
    if sorted(map(str, table.columns)) != sorted(map(str, columns)):
        found, wanted = ([one for one in names if one != _LABEL] for names in (table, columns))
        raise InputError(
            f"Every partition of X must have the columns {wanted}. Got one with {found} instead."
        )
    return table[columns]


def _sorted_values(counts: list[dict[Any, int]]) -> NDArray[Any]:
    """Return the labels of all partitions."""
    values = {value for one in counts for value in one}
    try:
        return np.array(sorted(values))
    except TypeError as error:
        found = ", ".join(sorted(map(repr, values)))
        raise InputError(
            f"The labels must be of one type in all partitions. Got {found} instead."
        ) from error


def _label_counts(table: Any) -> dict[Any, int]:
    values, counts = np.unique(table[_LABEL].to_numpy(), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _drawn(table: Any, classes: Any, shares: tuple[float, float], seed: int) -> tuple[Any, Any]:
    """Return some rows of U and of P; say if a number is infinite."""
    rows, codes = _numbers(table), encode(table[_LABEL].to_numpy(), classes)
    if np.isinf(rows).any():
        raise InputError("Input X contains infinity.")
    chosen = np.random.default_rng(seed).random(len(rows)) < np.array(shares)[codes]
    return rows[chosen & (codes == 0)], rows[chosen & (codes == 1)]


def _numbers(table: Any) -> NDArray[np.float64]:
    rows: NDArray[np.float64] = table.drop(columns=_LABEL).to_numpy(np.float64, na_value=np.nan)
    return rows


def _prepared(table: Any, offset: Any, classes: Any) -> Any:
    """Return a partition as LightGBM takes it: numbers as they are fitted, labels 1 and 0."""
    codes = encode(table[_LABEL].to_numpy(), classes).astype(np.float32)
    rows = np.column_stack([centred(_numbers(table), offset), codes])
    return type(table)(rows, columns=table.columns, index=table.index)


def _predictions(X: Any, model: Any) -> Any:
    scores = model.decision_function(X) if len(X) else np.zeros(0, dtype=np.float32)
    classifier = getattr(model, "classifier_", model)  # a TablePU's, or itself
    flags = scores.astype(np.float64) > classifier.threshold_
    columns = (scores, classifier.calibration_(scores), flags.astype(np.int8))
    names = ("score", "probability", "prediction")
    return type(X)(dict(zip(names, columns, strict=True)), index=X.index)


def _histogram(table: Any, model: Any) -> NDArray[np.int64]:
    """Count rows by label, by prediction and by bin of the score."""
    found = _predictions(table.drop(columns=_LABEL), model)
    bins = np.clip(found["score"].to_numpy() / _WIDTH + _BINS / 2, 0, _BINS - 1).astype(np.int64)
    counts = np.zeros((2, 2, _BINS), dtype=np.int64)
    np.add.at(
        counts, (encode(table[_LABEL].to_numpy(), model.classes_), found["prediction"], bins), 1
    )
    return counts


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
    scale: float = 1.0
    start: float = 0.0  # the score before the first tree

    def __call__(self, s: Any, scores: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and curvature of some rows by their labels and scores."""
        how: dict[str, Any] = {"prior": self.prior, "sampling": self.sampling, "values": False}
        part = kl_round(scores + self.start, s, totals=(self.n_p, self.n), **how)
        return self.scale * part.gradient, self.scale * part.hessian


def train(
    client: Any, X: Any, s: Any, objective: Any, options: dict[str, Any], patience: float
) -> Any:
    """Return the booster that LightGBM trains; once more on what remains if a worker is lost.

    Parameters
    ----------
    client : distributed.Client
        Whose workers train.
    X, s : dask DataFrame, dask Series
        Numbers and labels, without empty partitions; or arrays.
    objective : callable
        Gradient and curvature of some rows by their labels and scores.
    options : dict
        Parameters of LightGBM, ``categorical_feature`` among them if there are such columns.
    patience : float
        Seconds that a training without workers, or a cancelled one, is waited for.
    """
    from lightgbm.basic import LightGBMError
    from lightgbm.dask import DaskLGBMRegressor

    options = {name: value for name, value in options.items() if name != "num_threads"}
    codes = options.pop("categorical_feature", [])
    how = {"categorical_feature": codes} if codes else {}
    trainer = DaskLGBMRegressor(client=client, **(options | {"objective": objective}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it goes by the workers' threads
        fit = partial(trainer.fit, X, s, **how)
        try:
            return _watched(client, fit, patience)
        except LostWorkerError:
            _free_networks(client, patience)
        for _ in range(2):
            try:
                return _watched(client, fit, patience)
            except LightGBMError:
                # What was left of the first training was collected in the midst of the second, and
                # with it the connections of both: by now nothing is left.
                _free_networks(client, patience)
        return _watched(client, fit, patience)


def _free_networks(client: Any, patience: float) -> None:
    """Let LightGBM forget, in each thread of each worker, the connections that are broken."""
    distributed = need("distributed", extra="dask", owner="BoostedPU")
    lightgbm = need_lightgbm("BoostedPU")
    quiet = {"verbosity": -1, "num_threads": 1}
    rows = lightgbm.Dataset(np.arange(2.0)[:, None], label=[0, 1], params=quiet)
    text = lightgbm.train(quiet, rows, 1).model_to_string()  # any booster will do
    futures = [
        client.submit(_free_network, text, workers=[worker], pure=False)
        for worker, threads in _threads(client).items()
        for _ in range(threads)
    ]
    with suppress(TimeoutError, distributed.TimeoutError):  # a worker may just be lost
        distributed.wait(futures, timeout=patience)
    client.cancel(futures, force=True)


def _free_network(text: str) -> None:
    # Read, not fitted: that would use the network. It is the thread's, not the booster's.
    need_lightgbm("BoostedPU").Booster(model_str=text).free_network()
    time.sleep(0.2)  # each of these tasks takes a thread of its own


def _watched(client: Any, fit: Callable[[], Any], patience: float) -> Any:
    """Train in a thread and watch the workers: LightGBM would wait forever for a lost one."""
    before, workers = set(client.futures), set(_threads(client))
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(fit().booster_)
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    seen = time.monotonic()  # when there was last a worker, or no reason to stop
    lost: set[str] = set()
    try:
        while thread.is_alive() and time.monotonic() - seen < patience:
            thread.join(0.2)
            now = set(_threads(client))
            lost |= workers - now
            if lost:
                _cancel(client, before, _PINNED)
            elif now:
                seen = time.monotonic()
        if result and not isinstance(result[0], BaseException):
            return result[0]
        time.sleep(1.0)  # a failure may be known before the loss that caused it
        lost |= workers - set(_threads(client))
    finally:
        with suppress(Exception):  # of a client that lost its scheduler
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


def _threads(client: Any) -> dict[str, int]:
    """Return the threads of each worker; one line if the scheduler went away."""
    try:
        if client.status in ("closing", "closed"):
            raise OSError(client.status)
        return dict(client.nthreads())
    except (OSError, TimeoutError) as error:
        raise LostWorkerError(_NO_SCHEDULER) from error


def find_client() -> Any:
    """Return the client that is in use."""
    distributed = need("distributed", extra="dask", owner="BoostedPU")
    try:
        return distributed.default_client()
    except ValueError as error:
        raise InputError(
            "A Dask DataFrame is fitted through a distributed.Client; make one first."
        ) from error


def on_partitions(client: Any, patience: float, function: Any, parts: Any) -> list[Any]:
    """Return what a function gives for every partition; an error if no worker is left."""
    dask = need("dask", extra="dask", owner="BoostedPU")
    lazy = dask.delayed(function, pure=False)
    return gathered(client, patience, [lazy(part) for part in parts])


def gathered(
    client: Any, patience: float, lazy: list[Any], tell: Callable[[int], None] | None = None
) -> list[Any]:
    """Return what tasks give; an error if no worker is left, or no scheduler.

    Parameters
    ----------
    client : distributed.Client
        Whose workers compute.
    patience : float
        Seconds to wait for a worker where there is none.
    lazy : list of Delayed or Future
        The tasks.
    tell : callable, optional
        Takes, every second, how many are done.
    """
    distributed = need("distributed", extra="dask", owner="nnpu on Dask")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # a model, once
        futures = client.compute(lazy)
    seen = time.monotonic()
    try:
        while True:
            try:
                distributed.wait(futures, timeout=1)
                return list(client.gather(futures))
            except (TimeoutError, distributed.TimeoutError):
                if tell is not None:
                    tell(sum(one.status == "finished" for one in futures))
                if _threads(client):
                    seen = time.monotonic()
                elif time.monotonic() - seen > patience:
                    raise LostWorkerError("No worker is left; start some and try again.") from None
    except distributed.CancelledError as error:  # the client lost its scheduler
        raise LostWorkerError(_NO_SCHEDULER) from error
    except BaseException:
        with suppress(Exception):
            client.cancel(futures, force=True)
        raise


_NO_SCHEDULER = "The scheduler of the cluster does not answer any more; start it and try again."
