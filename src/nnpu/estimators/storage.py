"""Model folders: weights in safetensors, everything else in JSON, checksums over both.

Nothing in a folder is executable and nothing in it is imported by name, so that loading a
stranger's folder runs no code of theirs. Checksums are compared before anything is parsed. The
folder may be reached by a link; the files in it may not be links.
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import json
import reprlib
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import safetensors.numpy

from nnpu import __version__
from nnpu.files import TEMPORARY_PREFIX, sync
from nnpu.launch import is_first
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray
    from torch import nn

    from nnpu.estimators.base import BasePUClassifier

__all__ = ["SCHEMA", "Stored", "check_target", "load", "save"]

SCHEMA = 1
_TABLE = "table/"  # before the names of what TablePU keeps
_WEIGHTS, _CONFIG, _SUMS = "model.safetensors", "config.json", "SHA256SUMS"
_STORED = {  # what a folder can hold, and where it is: imported only if it does
    "BiasedLabelPU": "nnpu.estimators.biased_labels",
    "BoostedPU": "nnpu.estimators.trees",
    "EnsemblePU": "nnpu.estimators.ensemble",
    "ImagePU": "nnpu.estimators.images",
    "LinearPU": "nnpu.estimators.linear",
    "PUClassifier": "nnpu.estimators.network",
}
_LARGEST = {_WEIGHTS: 8 * 2**30, _CONFIG: 8 * 2**20, _SUMS: 2**10}  # bytes

_OVERTAKEN = {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST}  # another process renamed first
_TRIES = 100


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
        A new folder, or one with a model in it, which is replaced.
    table, arrays : mapping, optional
        What `nnpu.TablePU` keeps beside its classifier: plain values and arrays.
    notes : mapping of str to str, optional
        Further text files by name, for people: loading does not read them.
    """
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
        tensors = tensors | {f"{_TABLE}{name}": array for name, array in (arrays or {}).items()}
    target = check_target(folder)
    if not is_first():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=target.parent))
    try:
        _write(temporary / _WEIGHTS, safetensors.numpy.save(_contiguous(tensors)))
        _write(temporary / _CONFIG, json.dumps(config, indent=1, allow_nan=False).encode())
        _check_sizes(temporary)
        _write(temporary / _SUMS, _sums(temporary).encode())
        for name, text in (notes or {}).items():
            _write(temporary / name, text.encode(errors="backslashreplace"))
        sync(temporary)
        temporary.chmod(0o755)
        _replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def check_target(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a model folder to write; an error if something else is there."""
    target = Path(folder)
    for _ in range(5):  # another writer may be replacing it between two looks
        if (target / _SUMS).is_file() or not target.exists():
            return target
        time.sleep(0.01)
    raise InputError(f"{target} exists and is no model folder; choose another name.")


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
        key.removeprefix(_TABLE): tensors.pop(key)
        for key in list(tensors)
        if key.startswith(_TABLE)
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
        raise InputError(f"{path / _CONFIG} does not describe a model: {reason}") from error
    columns = config.get("columns")
    if columns is None:
        return Stored(classifier, None, {})
    about = config.get("table", {})
    if not isinstance(about, dict):
        raise InputError(f"{path / _CONFIG} does not describe a table: {reprlib.repr(about)}.")
    return Stored(classifier, {"columns": columns, **about}, arrays)


def _contiguous(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays as safetensors wants them: it writes their memory as it lies."""
    return {name: np.asarray(array, order="C") for name, array in arrays.items()}


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    sync(path)


def _check_sizes(folder: Path) -> None:
    """Do not write what would not be read again."""
    for name in (_WEIGHTS, _CONFIG):
        size = (folder / name).stat().st_size
        if size > _LARGEST[name]:
            raise InputError(
                f"The model cannot be saved: {name} would have {size:,} bytes, and at most "
                f"{_LARGEST[name]:,} are read."
            )


def _sums(folder: Path) -> str:
    """The checksums of a folder's files in the format of sha256sum."""
    return _sums_of(**{name: (folder / name).read_bytes() for name in (_CONFIG, _WEIGHTS)})


def _sums_of(**contents: bytes) -> str:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items())


def _replace(new: Path, target: Path) -> None:
    """Put a folder in its place, whatever model is there.

    A folder cannot be renamed over a full one, so that the old one steps aside first. A process
    killed in between leaves no folder of that name, and `_place` finds the old one. Where another
    process writes the same folder at the same moment, the last one wins.
    """
    aside = _aside(target)
    for attempt in range(_TRIES):
        try:
            if target.exists():
                shutil.rmtree(aside, ignore_errors=True)
                target.rename(aside)
            new.rename(target)
            break
        except OSError as error:
            if error.errno not in _OVERTAKEN or attempt == _TRIES - 1:
                raise
            time.sleep(0.01)
    sync(target.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _aside(folder: Path) -> Path:
    return folder.parent / f"{TEMPORARY_PREFIX}old-{folder.name}"


def _place(folder: Path) -> Path:
    """Return where the model of that name is: aside, if it was never replaced as was begun."""
    return folder if folder.exists() or not _aside(folder).exists() else _aside(folder)


def _read_checked(folder: Path) -> tuple[bytes, bytes]:
    """Return the raw weights and configuration after their checksums were found right."""
    from nnpu.estimators.untrusted import read_file

    folder = _place(folder)
    weights, text, sums = (
        read_file(folder / name, _LARGEST[name]) for name in (_WEIGHTS, _CONFIG, _SUMS)
    )
    expected = _sums_of(**{_CONFIG: text, _WEIGHTS: weights})
    if sums != expected.encode():  # to the byte: no other line, no other name
        right = sums.split(b"\n")
        wrong = [line.split()[1] for line in expected.splitlines() if line.encode() not in right]
        raise InputError(
            f"{folder / (wrong or [_SUMS])[0]} is damaged or was changed: the SHA-256 of the files "
            f"are not those in {_SUMS}. Copy the folder again or fit anew."
        )
    return weights, text


def _parse(folder: Path, text: bytes) -> dict[str, Any]:
    from nnpu.estimators.untrusted import parse_json

    try:
        config = parse_json(text)
    except ValueError as error:
        raise InputError(f"{folder / _CONFIG} is not JSON: {error}") from error
    if not isinstance(config, dict) or config.get("format") != "nnpu-model":
        raise InputError(f"{folder / _CONFIG} does not describe an nnpu model.")
    schema = config.get("schema")
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise InputError(
            f"{folder} has model format {reprlib.repr(schema)}; this version of nnpu reads formats "
            f"up to {SCHEMA}. Upgrade nnpu (it was written by version "
            f"{reprlib.repr(config.get('nnpu'))})."
        )
    return config


def _tensors(folder: Path, content: bytes) -> dict[str, NDArray[Any]]:
    from nnpu.estimators.untrusted import all_finite, read_tensors

    try:
        tensors = read_tensors(content)
    except ValueError as error:
        raise InputError(f"{folder / _WEIGHTS} is not a safetensors file: {error}") from error
    for name, tensor in tensors.items():
        if not all_finite(tensor):
            raise InputError(f"{folder / _WEIGHTS}: the weights {name[:50]!r} are not all finite.")
    return tensors


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
        elif isinstance(value, list | tuple) and all(isinstance(v, str | int) for v in value):
            plain[name] = list(value)
    return plain


def _plain_risk(risk: Any) -> dict[str, Any]:
    from nnpu.risk import Risk

    return {"risk": {"name": risk.name, **vars(risk)}} if isinstance(risk, Risk) else {}


def _parameters(plain: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(plain)
    risk = parameters.get("risk")
    if isinstance(risk, dict):
        from nnpu.risk import RISKS

        fields = dict(risk)
        parameters["risk"] = type(RISKS[fields.pop("name")])(**fields)
    return parameters
