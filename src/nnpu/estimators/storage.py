"""What is in a model folder: weights in safetensors, the rest in JSON, checksums over both.

A folder appears complete or not at all. `nnpu.estimators.loading` reads it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.numpy

from nnpu import __version__, model_folder
from nnpu.files import sync, temporary_beside
from nnpu.launch import is_first
from nnpu.model_folder import CONFIG, SUMS, WEIGHTS
from nnpu.parameters import InputError, check_choice

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier

__all__ = ["SCHEMA", "save", "sums_of"]

SCHEMA = 1
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
    from nnpu.risk_kinds import Risk

    return {"risk": {"name": risk.name, **vars(risk)}} if isinstance(risk, Risk) else {}
