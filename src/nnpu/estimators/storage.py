"""Model folders: weights in safetensors, everything else in JSON, checksums over both.

A folder appears complete or not at all. `nnpu.estimators.loading` reads it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.numpy

from nnpu import __version__
from nnpu.files import TEMPORARY_PREFIX, sync
from nnpu.launch import is_first
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier

__all__ = ["SCHEMA", "aside", "check_target", "save", "sums_of"]

SCHEMA = 1
TABLE = "table/"  # before the names of what TablePU keeps
WEIGHTS, CONFIG, SUMS = "model.safetensors", "config.json", "SHA256SUMS"
LARGEST = {WEIGHTS: 8 * 2**30, CONFIG: 32 * 2**20, SUMS: 2**10}  # bytes

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
        tensors = tensors | {f"{TABLE}{name}": array for name, array in (arrays or {}).items()}
    target = check_target(folder)
    if not is_first():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=target.parent))
    try:
        _write(temporary / WEIGHTS, safetensors.numpy.save(_contiguous(tensors)))
        _write(temporary / CONFIG, json.dumps(config, indent=1, allow_nan=False).encode())
        _check_sizes(temporary)
        _write(temporary / SUMS, _sums(temporary).encode())
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
        if (target / SUMS).is_file() or not target.exists():
            return target
        time.sleep(0.01)
    raise InputError(f"{target} exists and is no model folder; choose another name.")


def _contiguous(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return arrays as safetensors wants them: it writes their memory as it lies."""
    return {name: np.asarray(array, order="C") for name, array in arrays.items()}


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    sync(path)


def _check_sizes(folder: Path) -> None:
    """Do not write what would not be read again."""
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


def _replace(new: Path, target: Path) -> None:
    """Put a folder in its place, whatever model is there.

    A folder cannot be renamed over a full one, so that the old one steps aside first. A process
    killed in between leaves no folder of that name, and loading finds the old one. Where another
    process writes the same folder at the same moment, the last one wins.
    """
    old = aside(target)
    for attempt in range(_TRIES):
        try:
            if target.exists():
                shutil.rmtree(old, ignore_errors=True)
                target.rename(old)
            new.rename(target)
            break
        except OSError as error:
            if error.errno not in _OVERTAKEN or attempt == _TRIES - 1:
                raise
            time.sleep(0.01)
    sync(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def aside(folder: Path) -> Path:
    """Return where a model folder steps aside while another takes its place."""
    return folder.parent / f"{TEMPORARY_PREFIX}old-{folder.name}"


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
