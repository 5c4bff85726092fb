"""ONNX: a fitted classifier as a graph that runs without this package, checked when it is made.

Linear classifiers, trees and the ensemble are written node by node, with onnx alone. A network is
exported by torch.
"""

from __future__ import annotations

import json
import logging
import math
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from nnpu import __version__
from nnpu.estimators import BoostedPU, EnsemblePU, LinearPU
from nnpu.estimators.ensemble.inputs import FAR
from nnpu.estimators.ensemble.member_scorers import (
    SURE_SHARE,
    BoostedScorer,
    ForestScorer,
    KernelScorer,
    LinearScorer,
)
from nnpu.estimators.ensemble.weights import SURE
from nnpu.extras import need
from nnpu.files import atomic_path
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nnpu.estimators import PUClassifier
    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.ensemble.inputs import Columns, Dense
    from nnpu.estimators.ensemble.member_scorers import Scorer
    from nnpu.estimators.forest import Forest

__all__ = ["to_onnx"]

_OWNER = "to_onnx"
_OUTPUTS = ("score", "probability", "prediction")
_CHECKED = 64  # rows
_TOLERANCE = 1e-4  # of a score, relative to 1 + |score|
_OFF = 1e-3  # most that a probability may be off; for the ensemble, which is summed in float64, …
_OFF_ENSEMBLE = 1e-5
_OPSET, _IR = 18, 9  # of the graphs that are written here; runtimes of 2023 read them
# Of graphs with trees. onnxruntime before 1.24 takes some codes for members of sets that they are
# not in; it refuses this version.
_OPSET_OF_TREES, _IR_OF_TREES = 5, 12
_LEQ, _MEMBER = 0, 6  # modes of a tree's node: "no greater than" and "one of"


def to_onnx(
    classifier: BasePUClassifier,
    X: Any,
    path: str | os.PathLike[str],
    *,
    columns: Sequence[Mapping[str, Any]] | None = None,
) -> Path:
    """Write a fitted classifier as an ONNX graph, after its scores were found to be the same.

    The graph takes ``features`` of shape (n, …) for any n, and gives ``score``, ``probability``
    (calibrated, as `predict_proba` has it) and ``prediction`` (1 or 0), each of shape (n,).
    Features are float32; for `EnsemblePU` they are float64, with NaN where a value is missing and
    the codes of categories. The default network standardises features inside the graph; a module
    of your own gets them as they are. How a table's columns become features (`nnpu fit`) is not
    part of it: `TablePU.transform` does that, and the plan can be written beside the graph, in the
    metadata.

    Parameters
    ----------
    classifier : EnsemblePU, PUClassifier, LinearPU or BoostedPU
        Fitted; `EnsemblePU` to dense rows, and not to words.
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
        prior, the sampling, the threshold, and names of features and columns, and the levels of
        categories, if there are any.

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
    if reason := _no_graph(classifier):
        name = type(classifier).__name__
        raise InputError(f"{name} cannot be written as ONNX: {reason}. Use its model folder.")
    onnx = need("onnx", extra="onnx", owner=_OWNER)
    if classifier._offset is not None:
        raise InputError(
            "The classifier was fitted to columns that float32 cannot hold (time stamps, for "
            "example), and a graph takes float32. Subtract a number near them before fit."
        )
    rows = _rows(classifier, X)
    if isinstance(classifier, BoostedPU | LinearPU | EnsemblePU):
        model = _written(onnx, classifier)
    else:
        model = _exported(classifier, rows)
    for name, text in _metadata(classifier, columns).items():
        model.metadata_props.add(key=f"nnpu.{name}", value=text)
    onnx.checker.check_model(model, full_check=True)
    _check(model, classifier, rows)
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
    return Path(path)


def _no_graph(classifier: BasePUClassifier) -> str:
    """Return why a classifier has no graph; empty if it has one."""
    if isinstance(classifier, EnsemblePU):
        if classifier.design_ is None:
            return "it was fitted to sparse rows or words, and a graph takes dense rows"
        members = zip(classifier._mixture.names, classifier.scorers_, strict=True)
        unknown = [repr(name) for name, scorer in members if type(scorer) not in _MEMBERS]
        return f"a graph cannot hold its member {unknown[0]}" if unknown else ""
    if isinstance(classifier, BoostedPU | LinearPU) or _is_network(classifier):
        return ""
    return (
        "EnsemblePU, LinearPU, BoostedPU and PUClassifier can (nnpu fit --model ensemble, linear, "
        "trees or network)"
    )


def _is_network(classifier: BasePUClassifier) -> TypeGuard[PUClassifier]:
    """Return whether it is `PUClassifier`, which is not imported here: that takes torch."""
    return classifier._traced_by_torch


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

    def model(self, n_features: int, kind: type[np.generic]) -> Any:
        """Return the model, from ``features`` to ``score``, ``probability``, ``prediction``."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        info = helper.make_tensor_value_info
        outputs = zip(_OUTPUTS, (kinds.FLOAT, kinds.FLOAT, kinds.INT64), strict=True)
        graph = helper.make_graph(
            self.nodes,
            "nnpu",
            [info("features", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), ["n", n_features])],
            [info(name, kind, ["n"]) for name, kind in outputs],
            self.constants,
        )
        opsets = {"": _OPSET} | {node.domain: _OPSET_OF_TREES for node in self.nodes if node.domain}
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(*one) for one in opsets.items()],
            ir_version=_IR if len(opsets) == 1 else _IR_OF_TREES,
            producer_name="nnpu",
            producer_version=__version__,
        )


def _written(onnx: Any, classifier: BoostedPU | LinearPU | EnsemblePU) -> Any:
    """Return the graph of trees, of a linear classifier or of an ensemble; sums are in float64."""
    graph = _Graph(onnx)
    kind: type[np.generic] = np.float32
    if isinstance(classifier, EnsemblePU):
        score, kind = _ensemble(graph, classifier), np.float64
    elif isinstance(classifier, BoostedPU):
        score = _trees(graph, graph.cast("features", np.float64), classifier.forest_)
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
    return graph.model(classifier.n_features_in_, kind)


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


def _trees(
    graph: _Graph, x: str, forest: Forest, categories: Sequence[int] = (), n_features: int = 0
) -> str:
    """The sum of the leaves that a row ends in; `x` is float64, so thresholds stay exact.

    Codes are counted from 1 here: ONNX's reference evaluator ends a set at a 0.
    """
    onnx = graph.onnx
    if len(forest.category):
        x = graph.node("Add", x, np.isin(np.arange(n_features), categories).astype(np.float64))
    inner = _preorder(forest)
    leaf = forest.left == np.arange(len(forest.left))
    number = np.where(leaf, np.cumsum(leaf), 0) - 1  # of a leaf among leaves, …
    number[inner] = np.arange(len(inner))  # … and of an inner node among inner nodes
    # A tree that never split is a constant.
    rest = graph.constant(forest.value[forest.roots[leaf[forest.roots]]].sum(keepdims=True))
    if not len(inner):
        return graph.node("Expand", rest, graph.node("Shape", x, start=0, end=1))
    category = forest.category[inner] if len(forest.category) else np.full(len(inner), -1)
    asks = category >= 0

    def tensor(array: NDArray[Any]) -> Any:
        return onnx.numpy_helper.from_array(array)

    options: dict[str, Any] = {
        "nodes_splits": tensor(np.where(asks, 0.0, forest.threshold[inner])),
        "nodes_modes": tensor(np.where(asks, _MEMBER, _LEQ).astype(np.uint8)),
        "nodes_featureids": forest.feature[inner].tolist(),
        "nodes_missing_value_tracks_true": (forest.nan_left[inner] & ~asks).astype(int).tolist(),
        "leaf_weights": tensor(forest.value[leaf]),
        "leaf_targetids": [0] * int(leaf.sum()),
        "tree_roots": number[forest.roots[~leaf[forest.roots]]].tolist(),
        "n_targets": 1,
    }
    for side, children in (("true", forest.left[inner]), ("false", forest.right[inner])):
        options[f"nodes_{side}nodeids"] = number[children].tolist()
        options[f"nodes_{side}leafs"] = leaf[children].astype(int).tolist()
    if asks.any():
        sets = [1.0 + np.flatnonzero(forest.goes_left[one]) for one in category[asks]]
        members = np.concatenate([np.append(one, np.nan) for one in sets])
        options["membership_values"] = tensor(members)
    sums = graph.node("TreeEnsemble", x, domain="ai.onnx.ml", **options)
    return graph.node("Add", graph.node("Squeeze", sums, np.array([1])), rest)


def _preorder(forest: Forest) -> NDArray[np.intp]:
    """Return the inner nodes, each before those on its left and these before those on its right.

    Runtimes read sets of categories in this order, or in the order of the nodes.
    """
    left, right, order = forest.left.tolist(), forest.right.tolist(), []
    ahead = forest.roots[::-1].tolist()
    while ahead:
        node = ahead.pop()
        if left[node] != node:
            order.append(node)
            ahead += right[node], left[node]
    return np.array(order, dtype=np.intp)


def _ensemble(graph: _Graph, classifier: EnsemblePU) -> str:
    """The log-odds of the weighted mean of the members' calibrated posteriors, 0 at the cut."""
    assert classifier.design_ is not None
    x = _shrunk(graph, classifier.columns_)
    inputs = _Inputs(graph.cast(x, np.float64), _dense(graph, x, classifier.design_), classifier)
    posteriors = []
    mixture = classifier._mixture
    members = zip(classifier.scorers_, mixture.weights, mixture.calibrations, strict=True)
    for scorer, weight, (slope, intercept) in members:
        if weight > 0:
            score = _MEMBERS[type(scorer)](graph, inputs, scorer)
            log_odds = graph.node("Add", graph.node("Mul", score, slope), intercept)
            posteriors.append(graph.node("Mul", graph.node("Sigmoid", log_odds), weight))
    log_odds = _logit(graph, graph.node("Sum", *posteriors), SURE)
    return graph.node("Sub", log_odds, np.float64(classifier._cut))


class _Inputs(NamedTuple):
    """What members are fed: columns with gaps and codes, and dense ones; both float64."""

    x: str
    dense: str
    classifier: EnsemblePU


def _shrunk(graph: _Graph, columns: Columns) -> str:
    """The columns near zero, float32, as `Columns.transform` makes them."""
    x = graph.node("Div", graph.node("Sub", "features", columns.centre), columns.spread)
    return graph.cast(_within(graph, x, np.float64(-FAR), np.float64(FAR)), np.float32)


def _within(graph: _Graph, x: str, low: Any, high: Any) -> str:
    """x cut off at both ends; runtimes differ in what Clip makes of NaN, which stays here."""
    low, high = graph.constant(low), graph.constant(high)
    x = graph.node("Where", graph.node("Less", x, low), low, x)
    return graph.node("Where", graph.node("Greater", x, high), high, x)


def _dense(graph: _Graph, x: str, design: Dense) -> str:
    """The columns without gaps and categories, as `Dense.transform` makes them."""

    def columns(index: NDArray[np.int32]) -> str:
        return graph.node("Gather", x, index.astype(np.int64), axis=1)

    numbers = _within(graph, columns(design.numeric), design.low, design.high)
    numbers = graph.node("Div", graph.node("Sub", numbers, design.mean), design.scale)
    parts = [
        graph.node("Where", graph.node("IsNaN", numbers), np.float32(0), numbers),
        graph.cast(graph.node("IsNaN", columns(design.flagged)), np.float32),
        graph.cast(
            graph.node("Equal", columns(design.level_column), design.level_code), np.float32
        ),
    ]
    return graph.cast(graph.node("Concat", *parts, axis=1), np.float64)


def _expanded(graph: _Graph, inputs: _Inputs, scorer: LinearScorer) -> str:
    """w·φ(x) + b over columns, hinges and products, as `Expansion.dot` adds them up."""
    expansion, x = scorer.expansion, inputs.dense
    w = scorer.weights / expansion.scale
    h, p = len(expansion.hinge_column), len(expansion.left)
    d = len(w) - h - p
    constant = float(scorer.intercept[0]) - float(expansion.mean @ w)
    terms = [graph.node("MatMul", x, w[:d])]
    if h:
        columns = graph.node("Gather", x, expansion.hinge_column.astype(np.int64), axis=1)
        above = graph.node("Sub", columns, expansion.hinge_knot.astype(np.float64))
        terms.append(graph.node("MatMul", graph.node("Max", above, np.float64(0)), w[d : d + h]))
    if p:
        left, right = (
            graph.node("Gather", x, side.astype(np.int64), axis=1)
            for side in (expansion.left, expansion.right)
        )
        terms.append(graph.node("MatMul", graph.node("Mul", left, right), w[d + h :]))
    return graph.node("Add", graph.node("Sum", *terms), np.float64(constant))


def _bumps(graph: _Graph, inputs: _Inputs, scorer: KernelScorer) -> str:
    """Σ w exp(−γ ‖x − c‖²) + b."""
    (intercept, gamma), x, centres = scorer.constants, inputs.dense, scorer.centres
    products = graph.node("MatMul", x, 2 * gamma * centres.T)
    of_rows = graph.node("ReduceSum", graph.node("Mul", x, x), np.array([1]), keepdims=1)
    exponent = graph.node("Sub", products, graph.node("Mul", of_rows, gamma))
    exponent = graph.node("Sub", exponent, gamma * (centres**2).sum(axis=1))
    bumps = graph.node("Exp", graph.node("Min", exponent, np.float64(0)))
    return graph.node("Add", graph.node("MatMul", bumps, scorer.weights), intercept)


def _boosted(graph: _Graph, inputs: _Inputs, scorer: BoostedScorer) -> str:
    return graph.node("Add", _sums(graph, inputs, scorer.forest), scorer.start)


def _forest(graph: _Graph, inputs: _Inputs, scorer: ForestScorer) -> str:
    """The log-odds of the mean share of P in the leaves."""
    return _logit(graph, _sums(graph, inputs, scorer.forest), SURE_SHARE)


def _sums(graph: _Graph, inputs: _Inputs, forest: Forest) -> str:
    classifier = inputs.classifier
    return _trees(graph, inputs.x, forest, classifier.categories_, classifier.n_features_in_)


def _logit(graph: _Graph, share: str, sure: float) -> str:
    """log(p / (1 − p)), p being no nearer to 0 or 1 than `sure`."""
    share = graph.node("Clip", share, np.float64(sure), np.float64(1 - sure))
    rest = graph.node("Sub", np.float64(1), share)
    return graph.node("Log", graph.node("Div", share, rest))


_MEMBERS: dict[type[Scorer], Callable[[_Graph, _Inputs, Any], str]] = {
    LinearScorer: _expanded,
    KernelScorer: _bumps,
    BoostedScorer: _boosted,
    ForestScorer: _forest,
}


def _rows(classifier: BasePUClassifier, X: Any) -> Any:
    if X is None:
        return _made_up(classifier)
    rows = classifier._validate(X)[:_CHECKED]
    if isinstance(classifier, EnsemblePU):
        return np.asarray(rows, dtype=np.float64)
    return np.ascontiguousarray(rows.toarray() if sp.issparse(rows) else rows)


def _made_up(classifier: BasePUClassifier) -> NDArray[Any]:
    """Return rows to compare a graph and its classifier on: near the splits of trees."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((_CHECKED, classifier.n_features_in_))
    if isinstance(classifier, EnsemblePU):
        return _made_up_columns(classifier, rows, rng)
    if isinstance(classifier, BoostedPU):
        _near_cuts(rows, classifier.forest_, rng)
        rows[rng.random(rows.shape) < 0.05] = np.nan
    elif isinstance(classifier, LinearPU) and classifier.features_.basis is not None:
        rows *= classifier.features_.scale
        if classifier.features_.mean is not None:
            rows += classifier.features_.mean
    return rows.astype(np.float32)


def _near_cuts(rows: NDArray[np.float64], forest: Forest, rng: np.random.Generator) -> None:
    """Move the columns that trees ask for to where they ask."""
    inner = np.flatnonzero(forest.left != np.arange(len(forest.left)))  # a leaf is its own child
    for column in np.unique(forest.feature[inner]):
        cuts = forest.threshold[inner[forest.feature[inner] == column]]
        cuts = cuts[np.abs(cuts) < FAR]  # a split of gaps from all values is farther out
        if len(cuts):
            spread = float(cuts.std()) or max(1.0, abs(float(cuts[0])))
            rows[:, column] = rng.choice(cuts, _CHECKED) + 0.1 * spread * rows[:, column]


def _made_up_columns(
    classifier: EnsemblePU, rows: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return rows with gaps, and with codes among which some are unknown."""
    forests = [one.forest for one in classifier.scorers_ if hasattr(one, "forest")]
    for forest in forests:
        _near_cuts(rows, forest, rng)
    rows = rows * classifier.columns_.spread + classifier.columns_.centre
    n_codes = max([3, *(one.goes_left.shape[1] for one in forests)])
    codes = list(classifier.categories_)
    rows[:, codes] = rng.integers(0, n_codes + 1, (_CHECKED, len(codes)))
    rows[rng.random(rows.shape) < 0.05] = np.nan
    return rows


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
    if isinstance(classifier, EnsemblePU):
        plain["categories"] = list(classifier.categories_)
        plain["levels"] = classifier.levels_
    if columns is not None:
        plain["columns"] = list(columns)
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in plain.items()
    }


def _check(model: Any, classifier: BasePUClassifier, rows: Any) -> None:
    """Compare the graph with the classifier, for all rows at once and for one row."""
    most = _OFF_ENSEMBLE if isinstance(classifier, EnsemblePU) else _OFF
    session = need("onnx.reference", extra="onnx", owner=_OWNER).ReferenceEvaluator(model)
    for batch in (rows, rows[:1]):
        with np.errstate(over="ignore", invalid="ignore"):  # its sigmoid of far scores
            outputs = session.run(list(_OUTPUTS), {"features": batch})
        scores, probabilities, _ = map(np.asarray, outputs)
        expected = classifier._scores(batch)
        wanted = classifier.calibration_(expected)
        alike = scores.shape == expected.shape and (
            np.all(np.abs(scores - expected) <= _TOLERANCE * (1 + np.abs(expected)))
            and np.abs(probabilities - wanted).max() <= most
        )
        if not alike:
            raise InputError(
                "The ONNX graph gives other scores than the module, so it is not written: does "
                "the module depend on the number of rows, or draw random numbers when it scores?"
            )
