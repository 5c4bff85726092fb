"""ONNX: a fitted classifier as a graph that runs without this package, checked when it is made.

Linear classifiers and trees are written node by node, with onnx alone. A network is exported by
torch.
"""

from __future__ import annotations

import json
import logging
import math
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from nnpu import __version__
from nnpu.estimators import BoostedPU, LinearPU
from nnpu.extras import need
from nnpu.files import atomic_path
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nnpu.estimators import PUClassifier
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.forest import Forest

__all__ = ["to_onnx"]

_OWNER = "to_onnx"
_OUTPUTS = ("score", "probability", "prediction")
_CHECKED = 64  # rows
_TOLERANCE = 1e-4  # of a score, relative to 1 + |score|
_OPSET, _IR = 18, 9  # of the graphs that are written here; runtimes of 2023 read them


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
    X : array-like or sparse matrix of shape (n, …), or None
        A few rows, as for `predict`. Their shape becomes the input's, and the scores of the graph
        are compared with the classifier's on (the first 64 of) them. None makes rows up, flat ones.
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
        If ``pip install 'nnpu[onnx]'`` is missing; a network's export also needs
        ``pip install 'nnpu[torch]'``.
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
    check_is_fitted(classifier)
    if not isinstance(classifier, BoostedPU | LinearPU) and not _is_network(classifier):
        raise InputError(
            f"{type(classifier).__name__} cannot be written as ONNX: LinearPU, BoostedPU and "
            "PUClassifier can (nnpu fit --model linear, trees or network). Use its model folder."
        )
    onnx = need("onnx", extra="onnx", owner=_OWNER)
    if classifier._offset is not None:
        raise InputError(
            "The classifier was fitted to columns that float32 cannot hold (time stamps, say), and "
            "a graph takes float32. Subtract a number near them before fit."
        )
    rows = _rows(classifier, X)
    if isinstance(classifier, BoostedPU | LinearPU):
        model = _written(onnx, classifier, rows)
    else:
        model = _exported(classifier, rows)
    for name, text in _metadata(classifier, columns).items():
        model.metadata_props.add(key=f"nnpu.{name}", value=text)
    onnx.checker.check_model(model, full_check=True)
    _check(model, classifier, rows)
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return Path(path)


def _is_network(classifier: BasePUClassifier) -> TypeGuard[PUClassifier]:
    """Return whether it is `PUClassifier`, which is not imported here: that takes torch."""
    return type(classifier).__name__ == "PUClassifier"


def _float32_below(threshold: float) -> float:
    """The greatest float32 that is no greater: a float32 score exceeds both or neither."""
    rounded = np.float32(threshold)
    if float(rounded) > threshold:
        rounded = np.nextafter(rounded, np.float32(-math.inf))
    return float(rounded)


class _Graph:
    """An ONNX graph that is written node by node."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, array: Any) -> str:
        """Add an array and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, operator: str, *inputs: Any, output: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output; what is no name is a constant."""
        names = [name if isinstance(name, str) else self.constant(name) for name in inputs]
        output = output or f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def cast(self, name: str, kind: type[np.generic], output: str = "") -> str:
        """Add a change of type."""
        to = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return self.node("Cast", name, to=to, output=output)

    def model(self, n_features: int) -> Any:
        """Return the model, from ``features`` to ``score``, ``probability``, ``prediction``."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        info = helper.make_tensor_value_info
        outputs = zip(_OUTPUTS, (kinds.FLOAT, kinds.FLOAT, kinds.INT64), strict=True)
        graph = helper.make_graph(
            self.nodes,
            "nnpu",
            [info("features", kinds.FLOAT, ["n", n_features])],
            [info(name, kind, ["n"]) for name, kind in outputs],
            self.constants,
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR,
            producer_name="nnpu",
            producer_version=__version__,
        )


def _written(onnx: Any, classifier: BoostedPU | LinearPU, rows: NDArray[np.float32]) -> Any:
    """Return the graph of trees or of a linear classifier; scores are summed in float64."""
    graph = _Graph(onnx)
    if isinstance(classifier, BoostedPU):
        score = _trees(graph, classifier.forest_)
    else:
        score = _linear(graph, classifier)
    graph.cast(score, np.float32, output="score")
    slope, intercept = (
        np.float32(value)
        for value in (classifier.calibration_.slope, classifier.calibration_.intercept)
    )
    logit = graph.node("Add", graph.node("Mul", "score", slope), intercept)
    graph.node("Sigmoid", logit, output="probability")
    above = graph.node("Greater", "score", np.float32(_float32_below(classifier.threshold_)))
    graph.cast(above, np.int64, output="prediction")
    return graph.model(rows.shape[1])


def _linear(graph: _Graph, classifier: LinearPU) -> str:
    """w·φ(x) + b of `LinearPU`; without a basis the weights are those of x."""
    phi = _features(graph, graph.cast("features", np.float64), classifier)
    return graph.node("Add", graph.node("MatMul", phi, classifier.coef_[0]), classifier.intercept_)


def _features(graph: _Graph, x: str, classifier: LinearPU) -> str:
    features = classifier.features_
    if features.basis is None:
        return x
    assert features.points is not None
    points = features.points.astype(np.float64)
    x = x if features.mean is None else graph.node("Sub", x, features.mean)
    x = graph.node("Div", x, features.scale)
    product = graph.node("MatMul", x, points.T.copy())
    if features.basis == "rff":
        assert features.phase is not None
        waves = graph.node("Cos", graph.node("Add", product, features.phase.astype(np.float64)))
        return graph.node("Mul", waves, np.float64(math.sqrt(2 / features.size)))
    of_rows = graph.node("ReduceSum", graph.node("Mul", x, x), np.array([1]), keepdims=1)
    squares = graph.node("Add", of_rows, (points**2).sum(axis=1))
    distances = graph.node("Sub", squares, graph.node("Mul", product, np.float64(2.0)))
    return graph.node("Exp", graph.node("Mul", distances, np.float64(-features.gamma)))


def _trees(graph: _Graph, forest: Forest) -> str:
    """The sum of the leaves that a row ends in: all trees go down a level at a time."""
    arrays = forest.arrays()
    names = {
        name: graph.constant(array.astype(np.int64) if array.dtype == np.int32 else array)
        for name, array in arrays.items()
    }
    rows = graph.node("Shape", "features", start=0, end=1)
    shape = graph.node("Concat", rows, np.array([len(arrays["roots"])]), axis=0)
    node = graph.node("Expand", names["roots"], shape)  # (n, trees)
    for _ in range(max(forest.depths(), default=0)):  # a leaf is its own child
        column = graph.node("Gather", names["feature"], node)
        value = graph.node("GatherElements", "features", column, axis=1)
        below = graph.node(
            "LessOrEqual",
            graph.cast(value, np.float64),
            graph.node("Gather", names["threshold"], node),
        )
        of_missing = graph.node("Gather", names["nan_left"], node)
        goes_left = graph.node("Where", graph.node("IsNaN", value), of_missing, below)
        left, right = (graph.node("Gather", names[name], node) for name in ("left", "right"))
        node = graph.node("Where", goes_left, left, right)
    leaves = graph.node("Gather", names["value"], node)
    return graph.node("ReduceSum", leaves, np.array([1]), keepdims=0)


def _rows(classifier: BasePUClassifier, X: Any) -> Any:
    if X is None:
        return _made_up(classifier)
    rows = classifier._validate(X)[:_CHECKED]
    return np.ascontiguousarray(rows.toarray() if sp.issparse(rows) else rows)


def _made_up(classifier: BasePUClassifier) -> NDArray[np.float32]:
    """Return rows to compare a graph and its classifier on: near the splits of trees."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((_CHECKED, classifier.n_features_in_))
    if isinstance(classifier, BoostedPU):
        tree = classifier.forest_.arrays()
        inner = np.flatnonzero(tree["left"] != np.arange(len(tree["left"])))  # a leaf is its child
        for column in np.unique(tree["feature"][inner]):
            cuts = tree["threshold"][inner[tree["feature"][inner] == column]]
            spread = float(cuts.std()) or max(1.0, abs(float(cuts[0])))
            rows[:, column] = rng.choice(cuts, _CHECKED) + 0.1 * spread * rows[:, column]
        rows[rng.random(rows.shape) < 0.05] = np.nan
    elif isinstance(classifier, LinearPU) and classifier.features_.basis is not None:
        rows *= classifier.features_.scale
        if classifier.features_.mean is not None:
            rows += classifier.features_.mean
    return rows.astype(np.float32)


def _exported(classifier: PUClassifier, rows: NDArray[np.float32]) -> Any:
    """Return the graph of a network, as torch writes it."""
    need("onnxscript", extra="onnx", owner=_OWNER)
    import torch
    from torch import Tensor, nn

    from nnpu.objective import flat_scores

    class Answers(nn.Module):
        """Scores, probabilities and predictions of a batch."""

        def __init__(self) -> None:
            super().__init__()
            self.module = classifier.module_.cpu()
            self.slope = classifier.calibration_.slope
            self.intercept = classifier.calibration_.intercept
            self.threshold = _float32_below(classifier.threshold_)

        def forward(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            score = flat_scores(self.module(features))
            probability = torch.sigmoid(self.slope * score + self.intercept)
            return score, probability, (score > self.threshold).to(torch.int64)

    n = torch.export.Dim("n", min=1)
    try:
        with _quiet_exporter():
            program = torch.onnx.export(
                Answers().eval(),
                (torch.from_numpy(rows),),
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
