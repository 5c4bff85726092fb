"""What is in a model folder, and how it is written and loaded.

Weights are in safetensors, the rest in JSON, with checksums over both; a folder appears complete or
not at all. Nothing in it is executable and nothing is imported by name, so loading a
stranger's folder runs no code of theirs. Checksums are compared before anything is parsed. The
folder may be reached by a link; the files in it may not be links.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import reprlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import safetensors.numpy

from nnpu import __version__
from nnpu import storage as model_folder
from nnpu.calibration import ScoreCalibration
from nnpu.estimators.features import offset_from_json
from nnpu.files import sync, temporary_beside
from nnpu.parameters import InputError, check_choice, check_count, check_number, check_prior
from nnpu.prior import PriorEstimate
from nnpu.risk_kinds import RISKS, Risk
from nnpu.storage import (
    CONFIG,
    SUMS,
    WEIGHTS,
    all_finite,
    find,
    parse_json,
    read_file,
    read_tensors,
)
from nnpu.terminal import is_first

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray
    from torch import nn

    from nnpu.estimators.base import BasePUClassifier

__all__ = [
    "SCHEMA",
    "Stored",
    "check_finite",
    "load",
    "restore_shared",
    "save",
    "sums_of",
]

SCHEMA = 1  # of what is written; a folder with a greater one is refused
TABLE = "table/"  # before the names of what TablePU keeps
LARGEST = {WEIGHTS: 8 * 2**30, CONFIG: 32 * 2**20, SUMS: 2**10}  # bytes


def save(
    classifier: BasePUClassifier,
    folder: str | os.PathLike[str],
    *,
    table: Mapping[str, Any] | None = None,
    arrays: Mapping[str, NDArray[Any]] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Path:
    """Write a fitted classifier to a folder, which appears complete or not at all.

    Of several processes that trained it together the first writes it.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted.
    folder : path-like
        A new folder, or one with a model and nothing else in it, which is replaced as a whole.
    table, arrays : mapping, optional
        What `nnpu.TablePU` keeps beside its classifier: plain values and arrays.
    notes : mapping of str to str, optional
        Text files for people, which loading does not read: any of ``report.html``, ``run.toml``
        and ``log.jsonl``.
    """
    for name in notes or {}:
        check_choice("notes", name, "save", model_folder.NOTES)
    tensors, fitted = classifier._state()
    config = {
        "format": "nnpu-model",
        "schema": SCHEMA,
        "nnpu": __version__,
        "estimator": type(classifier).__name__,
        "parameters": _plain_parameters(classifier),
        "fitted": fitted,
    }
    if table is not None:
        config["columns"] = table["columns"]
        config["table"] = {name: value for name, value in table.items() if name != "columns"}
        tensors = tensors | {f"{TABLE}{name}": array for name, array in (arrays or {}).items()}
    target = model_folder.check_target(folder)
    if not is_first():
        return Path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    model_folder.remove_stale(target)
    temporary = temporary_beside(target)
    temporary.mkdir()
    try:
        _write(temporary / WEIGHTS, safetensors.numpy.save(_contiguous(tensors)))
        _write(temporary / CONFIG, json.dumps(config, indent=1, allow_nan=False).encode())
        _check_sizes(temporary)
        _write(temporary / SUMS, _sums(temporary).encode())
        for name, text in (notes or {}).items():
            _write(temporary / name, text.encode(errors="backslashreplace"))
        sync(temporary)
        model_folder.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # a name that nobody else could know
    return Path(folder)


def _contiguous(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays as safetensors wants them: it writes their memory as it lies."""
    return {name: np.asarray(array, order="C") for name, array in arrays.items()}


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    sync(path)


def _check_sizes(folder: Path) -> None:
    """Refuse to write what `load` would refuse to read."""
    for name in (WEIGHTS, CONFIG):
        size = (folder / name).stat().st_size
        if size > LARGEST[name]:
            raise InputError(
                f"The model cannot be saved: {name} would have {size:,} bytes, and at most "
                f"{LARGEST[name]:,} are read."
            )


def _sums(folder: Path) -> str:
    """The checksums of a folder's files in the format of sha256sum."""
    return sums_of(**{name: (folder / name).read_bytes() for name in (CONFIG, WEIGHTS)})


def sums_of(**contents: bytes) -> str:
    """Return the lines of SHA256SUMS for these files."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items())


def _plain_parameters(classifier: BasePUClassifier) -> dict[str, Any]:
    """The parameters that JSON can say; a `Risk` with its fields."""
    plain: dict[str, Any] = {}
    for name, value in classifier.get_params(deep=False).items():
        if name == "risk" and not isinstance(value, str):
            plain |= _plain_risk(value)
        elif isinstance(value, np.generic):
            plain[name] = value.item()
        elif value is None or isinstance(value, str | int | float | bool):
            plain[name] = value
        elif isinstance(value, list | tuple) and all(
            isinstance(v, str | int | float | np.number) for v in value
        ):
            plain[name] = [v.item() if isinstance(v, np.generic) else v for v in value]
    return plain


def _plain_risk(risk: Any) -> dict[str, Any]:
    return {"risk": {"name": risk.name, **vars(risk)}} if isinstance(risk, Risk) else {}


_STORED = {  # what a folder can hold, and where it is: imported only if it does
    "BiasedLabelPU": "nnpu.estimators.biased_labels",
    "BoostedPU": "nnpu.estimators.trees",
    "EnsemblePU": "nnpu.estimators.ensemble",
    "ImagePU": "nnpu.estimators.images",
    "LinearPU": "nnpu.estimators.linear",
    "PUClassifier": "nnpu.estimators.network",
    "ScorePU": "nnpu.table.ready_scores",
}


class Stored(NamedTuple):
    """What a model folder holds.

    Attributes
    ----------
    classifier : BasePUClassifier
        Fitted.
    table : dict or None
        What `nnpu.TablePU` keeps beside it, ``columns`` first; None for a bare classifier.
    arrays : dict
        The arrays of the same.
    """

    classifier: BasePUClassifier
    table: dict[str, Any] | None
    arrays: dict[str, NDArray[Any]]


def load(
    folder: str | os.PathLike[str], module: nn.Module | Callable[..., nn.Module] | None = None
) -> Stored:
    """Read a model folder.

    Parameters
    ----------
    folder : path-like
        What `PUClassifier.save` wrote.
    module : torch.nn.Module or callable, optional
        The network, if the classifier was fitted with one of the user's own: code is not stored.

    Returns
    -------
    Stored
        The classifier has the parameters it had. One that was a Python object (a loss function,
        an optimiser class, a callback) has its default again.
    """
    path = Path(folder)
    weights, text = _read_checked(path)
    config = _parse(path, text)
    name = config.get("estimator")
    if not isinstance(name, str) or name not in _STORED:
        raise InputError(
            f"{path}: the estimator {reprlib.repr(name)} is not known to this version of nnpu."
        )
    tensors = _tensors(path, weights)
    arrays = {
        key.removeprefix(TABLE): tensors.pop(key) for key in list(tensors) if key.startswith(TABLE)
    }
    try:
        kind: type[BasePUClassifier] = getattr(importlib.import_module(_STORED[name]), name)
        classifier = kind(**_parameters(config["parameters"]))
        classifier._restore(tensors, config["fitted"], module)
        classifier._check_parameters()
    except InputError:
        raise
    except (
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        AttributeError,
        RuntimeError,
    ) as error:
        reason = str(error)[:300]
        raise InputError(f"{path / CONFIG} does not describe a model: {reason}") from error
    columns = config.get("columns")
    if columns is None:
        return Stored(classifier, None, {})
    about = config.get("table", {})
    if not isinstance(about, dict):
        raise InputError(f"{path / CONFIG} does not describe a table: {reprlib.repr(about)}.")
    return Stored(classifier, {"columns": columns, **about}, arrays)


def _read_checked(folder: Path) -> tuple[bytes, bytes]:
    """Return the raw weights and configuration after their checksums were found right."""
    folder = find(folder)
    weights, text, sums = (
        read_file(folder / name, LARGEST[name]) for name in (WEIGHTS, CONFIG, SUMS)
    )
    expected = sums_of(**{CONFIG: text, WEIGHTS: weights})
    if sums != expected.encode():  # to the byte: no other line, no other name
        right = sums.split(b"\n")
        wrong = [line.split()[1] for line in expected.splitlines() if line.encode() not in right]
        raise InputError(
            f"{folder / (wrong or [SUMS])[0]} is damaged or was changed: the SHA-256 of the files "
            f"are not those in {SUMS}. Copy the folder again or fit anew."
        )
    return weights, text


def _parse(folder: Path, text: bytes) -> dict[str, Any]:
    try:
        config = parse_json(text)
    except ValueError as error:
        raise InputError(f"{folder / CONFIG} is not JSON: {error}") from error
    if not isinstance(config, dict) or config.get("format") != "nnpu-model":
        raise InputError(f"{folder / CONFIG} does not describe an nnpu model.")
    schema = config.get("schema")
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise InputError(
            f"{folder} has model format {reprlib.repr(schema)}; this version of nnpu reads formats "
            f"up to {SCHEMA}. Upgrade nnpu (it was written by version "
            f"{reprlib.repr(config.get('nnpu'))})."
        )
    return config


def _tensors(folder: Path, content: bytes) -> dict[str, NDArray[Any]]:
    try:
        tensors = read_tensors(content)
    except ValueError as error:
        raise InputError(f"{folder / WEIGHTS} is not a safetensors file: {error}") from error
    for name, tensor in tensors.items():
        if not all_finite(tensor):
            raise InputError(f"{folder / WEIGHTS}: the weights {name[:50]!r} are not all finite.")
    return tensors


def _parameters(plain: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(plain)
    if isinstance(limits := parameters.get("prior"), list):
        parameters["prior"] = tuple(limits)
    risk = parameters.get("risk")
    if isinstance(risk, dict):
        fields = dict(risk)
        parameters["risk"] = type(RISKS[fields.pop("name")])(**fields)
    return parameters


def restore_shared(classifier: BasePUClassifier, fitted: dict[str, Any]) -> None:
    """Restore what all classifiers share, from the values of a folder."""
    owner = type(classifier).__name__
    classifier.classes_ = _classes(fitted["classes"], fitted["classes_dtype"])
    classifier._known_negatives = fitted["known_negatives"] is True
    classifier.prior_ = check_prior(fitted["prior"], owner)
    classifier.sampling_ = classifier.sampling
    estimate = fitted.get("prior_estimate")
    classifier.prior_estimate_ = None if estimate is None else PriorEstimate.from_stored(estimate)
    classifier.n_features_in_ = check_count("n_features", fitted["n_features"], owner)
    if "offset" in fitted:
        classifier._offset = offset_from_json(fitted["offset"], classifier.n_features_in_)
    calibration = fitted.get("calibration", {"slope": 1.0, "intercept": 0.0})  # once not kept
    classifier.calibration_ = _calibration(**calibration)
    classifier.threshold_ = check_finite("threshold", fitted.get("threshold", 0.0))
    if "feature_names" in fitted:
        names = fitted["feature_names"]
        if len(names) != classifier.n_features_in_ or not all(isinstance(n, str) for n in names):
            raise ValueError("the names of the features are not one string for each of them")
        classifier.feature_names_in_ = np.array(names, dtype=object)


def _calibration(slope: Any, intercept: Any) -> ScoreCalibration:
    """Return a stored calibration if its numbers are valid."""
    slope = check_number("slope", check_finite("slope", slope), "calibration", low=0)
    return ScoreCalibration(slope, check_finite("intercept", intercept))


def check_finite(name: str, value: Any) -> float:
    """Return a stored number if it is finite."""
    limit = np.finfo(np.float64).max
    return check_number(name, value, "the model folder", low=-limit, high=limit)


def _classes(classes: Any, dtype: Any) -> NDArray[Any]:
    """Return the two classes of a model folder; only plain numbers and texts are let in."""
    fault = TypeError(f"classes cannot be {str(classes)[:50]} of the type {str(dtype)[:50]!r}")
    if not isinstance(dtype, str) or not isinstance(classes, list) or len(classes) != 2:
        raise fault
    strings = all(isinstance(value, str) for value in classes)
    pattern = r"\|O|[<>]U[0-9]{1,4}" if strings else r"\|b1|\|[iu]1|[<>]([iu][248]|f[248])"
    if not re.fullmatch(pattern, dtype):
        raise fault
    result = np.array(classes, dtype=dtype)
    if not result[0] < result[1]:
        raise fault
    return result
