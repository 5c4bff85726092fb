"""ONNX: a fitted classifier as a graph that runs without this package, checked when it is made."""

from __future__ import annotations

import json
import logging
import math
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from nnpu import __version__
from nnpu.estimators import BoostedPU, LinearPU, PUClassifier
from nnpu.extras import need
from nnpu.files import atomic_path
from nnpu.objective import flat_scores
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.forest import Forest

__all__ = ["to_onnx"]

_OWNER = "to_onnx"
_OUTPUTS = ("score", "probability", "prediction")
_CHECKED = 64  # rows
_TOLERANCE = 1e-4  # of a score, relative to 1 + |score|


def to_onnx(
    classifier: BasePUClassifier,
    X: Any,
    path: str | os.PathLike[str],
    *,
    columns: Sequence[Mapping[str, Any]] | None = None,
) -> Path:
    """Write a fitted classifier as an ONNX graph, after its scores were found to be the same.

    The graph takes ``features``, float32 of shape (n, …) for any n, and gives ``score``,
    ``probability`` (calibrated, as `predict_proba` has it) and ``prediction`` (1 or 0), each of
    shape (n,). The default network standardises features inside the graph; a module of one's own
    gets them as they are. How a table's columns become features (`nnpu fit`) is not part of it:
    that plan can be written beside it, in the metadata.

    Parameters
    ----------
    classifier : PUClassifier, LinearPU or BoostedPU
        Fitted.
    X : array-like or sparse matrix of shape (n, …)
        A few rows, as for `predict`. Their shape becomes the input's, and the scores of the graph
        are compared with the classifier's on (the first 64 of) them.
    path : path-like
        The file to write.
    columns : sequence of mappings, optional
        The column plan of a model folder, ``nnpu.load(folder).columns_.to_json()``.

    Returns
    -------
    Path
        Of the file. Its metadata, texts under ``nnpu.…``, hold the version, the classes, the
        prior, the sampling, the threshold, and names of features and columns if there are any.

    Raises
    ------
    ImportError
        If ``pip install 'nnpu[onnx]'`` is missing.
    InputError
        If the module cannot be exported, or the graph's scores are others.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from nnpu import LinearPU
    >>> from nnpu.export import to_onnx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> clf = LinearPU(prior=0.4).fit(X, np.arange(60) % 3 == 0)
    >>> to_onnx(clf, X, Path(tempfile.mkdtemp()) / "model.onnx").name
    'model.onnx'
    """
    onnx = need("onnx", extra="onnx", owner=_OWNER)
    need("onnxscript", extra="onnx", owner=_OWNER)
    check_is_fitted(classifier)
    graph = _Graph(_module(classifier), classifier).eval()
    rows = _rows(classifier, X)
    model = _export(graph, torch.from_numpy(rows))
    for name, text in _metadata(classifier, columns).items():
        model.metadata_props.add(key=f"nnpu.{name}", value=text)
    onnx.checker.check_model(model, full_check=True)
    _check(model, classifier, rows)
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return Path(path)


class _Graph(nn.Module):
    """Scores, probabilities and predictions of a batch."""

    def __init__(self, module: nn.Module, classifier: BasePUClassifier) -> None:
        super().__init__()
        self.module = module
        self.slope = classifier.calibration_.slope
        self.intercept = classifier.calibration_.intercept
        self.threshold = _float32_below(classifier.threshold_)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        score = flat_scores(self.module(features))
        probability = torch.sigmoid(self.slope * score + self.intercept)
        return score, probability, (score > self.threshold).to(torch.int64)


def _float32_below(threshold: float) -> float:
    """The greatest float32 that is no greater: a float32 score exceeds both or neither."""
    rounded = np.float32(threshold)
    if float(rounded) > threshold:
        rounded = np.nextafter(rounded, np.float32(-math.inf))
    return float(rounded)


def _module(classifier: BasePUClassifier) -> nn.Module:
    if classifier._offset is not None:
        raise InputError(
            "The classifier was fitted to columns that float32 cannot hold (time stamps, say), and "
            "a graph takes float32. Subtract a number near them before fit."
        )
    if isinstance(classifier, PUClassifier):
        module: nn.Module = classifier.module_
        return module.cpu()
    if isinstance(classifier, BoostedPU):
        return _Trees(classifier.forest_)
    if isinstance(classifier, LinearPU):
        return _Linear(classifier)
    raise InputError(
        f"{type(classifier).__name__} cannot be written as ONNX: PUClassifier, LinearPU and "
        "BoostedPU can. Use a model folder, classifier.save(folder), if it has one."
    )


class _Linear(nn.Module):
    """w·φ(x) + b of `LinearPU` in float64; without a basis the weights are those of x."""

    mean: Tensor | None
    scale: Tensor
    points: Tensor
    phase: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, classifier: LinearPU) -> None:
        super().__init__()
        features = classifier.features_
        self.basis, self.gamma, self.size = features.basis, features.gamma, features.size
        arrays = {name: getattr(features, name) for name in ("mean", "scale", "points", "phase")}
        arrays |= {"weight": classifier.coef_[0], "bias": classifier.intercept_}
        for name, array in arrays.items():
            self.register_buffer(name, None if array is None else torch.tensor(array).double())

    def forward(self, x: Tensor) -> Tensor:
        return (self._features(x.double()) @ self.weight + self.bias).float()

    def _features(self, x: Tensor) -> Tensor:
        if self.basis is None:
            return x
        x = (x if self.mean is None else x - self.mean) / self.scale
        product = x @ self.points.T
        if self.basis == "rff":
            return torch.cos(product + self.phase) * math.sqrt(2 / self.size)
        squares = x.square().sum(1, keepdim=True) + self.points.square().sum(1)
        return torch.exp(-self.gamma * (squares - 2 * product))


class _Trees(nn.Module):
    """The sum of the leaves that a row ends in: all trees go down a level at a time."""

    roots: Tensor
    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    nan_left: Tensor
    value: Tensor

    def __init__(self, forest: Forest) -> None:
        super().__init__()
        self.depth = max(forest.depths(), default=0)
        for name, array in forest.arrays().items():
            tensor = torch.tensor(array)
            self.register_buffer(name, tensor.long() if array.dtype == np.int32 else tensor)

    def forward(self, x: Tensor) -> Tensor:
        node = self.roots.expand(x.shape[0], -1)
        for _ in range(self.depth):  # a leaf is its own child
            value = x.gather(1, self.feature[node]).double()
            goes_left = torch.where(
                value.isnan(), self.nan_left[node], value <= self.threshold[node]
            )
            node = torch.where(goes_left, self.left[node], self.right[node])
        return self.value[node].sum(1).float()


def _rows(classifier: BasePUClassifier, X: Any) -> Any:
    rows = classifier._validate(X)[:_CHECKED]
    return np.ascontiguousarray(rows.toarray() if sp.issparse(rows) else rows)


def _export(graph: nn.Module, rows: Tensor) -> Any:
    n = torch.export.Dim("n", min=1)
    try:
        with _quiet_exporter():
            program = torch.onnx.export(
                graph,
                (rows,),
                input_names=["features"],
                output_names=list(_OUTPUTS),
                dynamic_shapes=({0: n},),
                dynamo=True,
                verbose=False,
            )
    except (torch.onnx.errors.OnnxExporterError, RuntimeError) as error:
        raise InputError(
            "The module cannot be written as ONNX: "
            f"{str(error).splitlines()[0][:200]} It must be one that torch.export takes."
        ) from error
    assert program is not None  # without a file to write it is returned
    return program.model_proto


@contextmanager
def _quiet_exporter() -> Iterator[None]:
    """Keep the exporter's remarks about its own insides from the user."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _metadata(
    classifier: BasePUClassifier, columns: Sequence[Mapping[str, Any]] | None
) -> dict[str, str]:
    plain = {
        "version": __version__,
        "classes": classifier.classes_.tolist(),
        "prior": classifier.prior_,
        "sampling": classifier.sampling,
        "threshold": classifier.threshold_,
    }
    if hasattr(classifier, "feature_names_in_"):
        plain["feature_names"] = classifier.feature_names_in_.tolist()
    if columns is not None:
        plain["columns"] = list(columns)
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in plain.items()
    }


def _check(model: Any, classifier: BasePUClassifier, rows: Any) -> None:
    """Compare the graph with the classifier, for all rows at once and for one row."""
    session = need("onnx.reference", extra="onnx", owner=_OWNER).ReferenceEvaluator(model)
    for batch in (rows, rows[:1]):
        with np.errstate(over="ignore", invalid="ignore"):  # its sigmoid of far scores
            outputs = session.run(list(_OUTPUTS), {"features": batch})
        scores, probabilities, _ = map(np.asarray, outputs)
        expected = classifier._scores(batch)
        wanted = classifier.calibration_(expected)
        alike = scores.shape == expected.shape and (
            np.all(np.abs(scores - expected) <= _TOLERANCE * (1 + np.abs(expected)))
            and np.abs(probabilities - wanted).max() <= 1e-3
        )
        if not alike:
            raise InputError(
                "The ONNX graph gives other scores than the module, so it is not written: does the "
                "module treat rows differently by their number, or draw numbers when it scores?"
            )
