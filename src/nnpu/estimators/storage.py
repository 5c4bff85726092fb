"""Model folders: weights in safetensors, everything else in JSON, checksums over both.

Nothing in a folder is executable and nothing in it is imported by name, so that loading a
stranger's folder runs no code of theirs. Checksums are compared before anything is parsed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.torch
from safetensors import SafetensorError

from nnpu import __version__
from nnpu.files import TEMPORARY_PREFIX, sync
from nnpu.parameters import InputError
from nnpu.risk import RISKS, Risk

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from torch import Tensor, nn

    from nnpu.estimators.base import BasePUClassifier

__all__ = ["SCHEMA", "load", "save"]

SCHEMA = 1
_WEIGHTS, _CONFIG, _SUMS = "model.safetensors", "config.json", "SHA256SUMS"
_LARGEST_TEXT = 64 * 2**20  # bytes of config.json; a history of a million epochs is smaller


def save(classifier: BasePUClassifier, folder: str | os.PathLike[str]) -> Path:
    """Write a fitted classifier to a folder, which appears complete or not at all.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted.
    folder : path-like
        A new folder, or one with a model in it, which is replaced.
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
    target = Path(folder)
    if target.exists() and not (target / _SUMS).is_file():
        raise InputError(f"{target} exists and is no model folder; choose another name.")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=target.parent))
    try:
        _write(temporary / _WEIGHTS, safetensors.torch.save(tensors))
        _write(temporary / _CONFIG, json.dumps(config, indent=1, allow_nan=False).encode())
        _write(temporary / _SUMS, _sums(temporary).encode())
        sync(temporary)
        temporary.chmod(0o755)
        if target.exists():
            _swap(temporary, target)
        else:
            temporary.rename(target)
        sync(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def load(
    folder: str | os.PathLike[str], module: nn.Module | Callable[..., nn.Module] | None = None
) -> BasePUClassifier:
    """Read a classifier from a model folder.

    Parameters
    ----------
    folder : path-like
        What `PUClassifier.save` wrote.
    module : torch.nn.Module or callable, optional
        The network, if the classifier was fitted with one of the user's own: code is not stored.

    Returns
    -------
    BasePUClassifier
        Fitted, with the parameters it had. A parameter that was a Python object (a loss function,
        an optimiser class, a callback) has its default again.
    """
    from nnpu.estimators.linear import LinearPU
    from nnpu.estimators.network import PUClassifier

    path = Path(folder)
    weights, text = _read_checked(path)
    config = _parse(path, text)
    known: dict[str, type[BasePUClassifier]] = {"LinearPU": LinearPU, "PUClassifier": PUClassifier}
    name = config.get("estimator")
    if not isinstance(name, str) or name not in known:
        raise InputError(f"{path}: the estimator {name!r} is not known to this version of nnpu.")
    try:
        classifier = known[name](**_parameters(config["parameters"]))
        classifier._restore(_tensors(path, weights), config["fitted"], module)
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
        raise InputError(f"{path / _CONFIG} does not describe a model: {error}") from error
    return classifier


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    sync(path)


def _sums(folder: Path) -> str:
    """The checksums in the format of sha256sum."""
    names = (_CONFIG, _WEIGHTS)
    digests = (hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names)
    return "".join(f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True))


def _swap(new: Path, old: Path) -> None:
    """Put a folder in another's place; a folder cannot be renamed over a full one."""
    aside = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=old.parent))
    old.rename(aside / "old")
    new.rename(old)
    shutil.rmtree(aside, ignore_errors=True)


def _read_checked(folder: Path) -> tuple[bytes, bytes]:
    """Return the raw weights and configuration after their checksums were found right."""
    for name in (_WEIGHTS, _CONFIG, _SUMS):
        path = folder / name
        if path.is_symlink() or not path.is_file():
            raise InputError(f"{folder} is not a model folder: it has no file {name}.")
    if max((folder / name).stat().st_size for name in (_CONFIG, _SUMS)) > _LARGEST_TEXT:
        raise InputError(f"{folder}: {_CONFIG} is larger than any model's; it is not loaded.")
    weights, text = (folder / _WEIGHTS).read_bytes(), (folder / _CONFIG).read_bytes()
    expected = {
        _CONFIG: hashlib.sha256(text).hexdigest(),
        _WEIGHTS: hashlib.sha256(weights).hexdigest(),
    }
    lines = (folder / _SUMS).read_bytes().decode("ascii", "replace").splitlines()
    for name, digest in expected.items():
        if f"{digest}  {name}" not in lines:
            raise InputError(
                f"{folder / name} is damaged or was changed: its SHA-256 is not the one in "
                f"{_SUMS}. Copy the folder again or fit anew."
            )
    return weights, text


def _parse(folder: Path, text: bytes) -> dict[str, Any]:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder / _CONFIG} is not JSON: {error}") from error
    if not isinstance(config, dict) or config.get("format") != "nnpu-model":
        raise InputError(f"{folder / _CONFIG} does not describe an nnpu model.")
    schema = config.get("schema")
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise InputError(
            f"{folder} has model format {schema!r}; this version of nnpu reads formats up to "
            f"{SCHEMA}. Upgrade nnpu (it was written by version {config.get('nnpu')!r})."
        )
    return config


def _tensors(folder: Path, content: bytes) -> dict[str, Tensor]:
    try:
        tensors = safetensors.torch.load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{folder / _WEIGHTS} is not a safetensors file: {error}") from error
    for name, tensor in tensors.items():
        if not bool(tensor.isfinite().all()):
            raise InputError(f"{folder / _WEIGHTS}: the weights {name!r} are not all finite.")
    return tensors


def _plain_parameters(classifier: BasePUClassifier) -> dict[str, Any]:
    """The parameters that JSON can say; a `Risk` with its fields."""
    plain: dict[str, Any] = {}
    for name, value in classifier.get_params(deep=False).items():
        if isinstance(value, Risk):
            plain[name] = {"name": value.name, **vars(value)}
        elif isinstance(value, np.generic):
            plain[name] = value.item()
        elif value is None or isinstance(value, str | int | float | bool):
            plain[name] = value
    return plain


def _parameters(plain: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(plain)
    risk = parameters.get("risk")
    if isinstance(risk, dict):
        fields = dict(risk)
        parameters["risk"] = type(RISKS[fields.pop("name")])(**fields)
    return parameters
