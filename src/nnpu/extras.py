"""Packages and names that are imported when they are needed.

Optional packages are asked for in one line that names the extra; public names of a package are
imported on first use, so ``import nnpu`` stays quick.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "MissingExtraError",
    "find_lightgbm",
    "lazy_names",
    "need",
    "need_lightgbm",
    "needing",
]


class MissingExtraError(ImportError):
    """A package cannot be imported; the message says in one line what to install."""


def need(package: str, *, extra: str, owner: str) -> Any:
    """Return an optional package, or raise an ImportError that names the extra to install.

    Parameters
    ----------
    package : str
        The module to import.
    extra : str
        The extra of this distribution that brings it.
    owner : str
        Who needs it, for the message.

    Examples
    --------
    >>> need("json", extra="onnx", owner="to_onnx").dumps(1)
    '1'
    >>> need("no_such_package", extra="onnx", owner="to_onnx")
    Traceback (most recent call last):
    nnpu.extras.MissingExtraError: to_onnx needs the package 'no_such_package', which is not
    installed. Install it with: pip install 'nnpu[onnx]'
    """
    with needing(package, extra=extra, owner=owner):
        return importlib.import_module(package)


@contextmanager
def needing(package: str, *, extra: str, owner: str) -> Iterator[None]:
    """Around imports of an optional package: as `need`, for modules that cannot do without it.

    The outermost owner is named: whoever imports `nnpu.training` reads of that, and not of a module
    behind it.

    Examples
    --------
    >>> with needing("no_such_package", extra="torch", owner="PULoss"):
    ...     import no_such_package
    Traceback (most recent call last):
    nnpu.extras.MissingExtraError: PULoss needs the package 'no_such_package', which is not
    installed. Install it with: pip install 'nnpu[torch]'
    """
    try:
        yield
    except (ModuleNotFoundError, MissingExtraError) as error:
        raise MissingExtraError(
            f"{owner} needs the package {package!r}, which is not installed. Install it with: "
            f"pip install 'nnpu[{extra}]'"
        ) from error


def find_lightgbm() -> Any | None:
    """Return LightGBM; None if it, or the OpenMP library that it needs, is not there.

    >>> find_lightgbm() is not None
    True
    """
    try:
        return need_lightgbm("find_lightgbm")
    except MissingExtraError:
        return None


def need_lightgbm(owner: str) -> Any:
    """Return LightGBM, or raise an ImportError that says in one line why it cannot be loaded.

    It is installed with this package, but needs the OpenMP library of the system.

    Parameters
    ----------
    owner : str
        Who needs it, for the message.

    Examples
    --------
    >>> need_lightgbm("BoostedPU").__name__
    'lightgbm'
    """
    try:
        return importlib.import_module("lightgbm")
    except (ImportError, OSError) as error:  # OSError: no OpenMP library
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise MissingExtraError(
            f"{owner} needs LightGBM, which cannot be loaded: {reason}. Install it again (pip "
            "install lightgbm), and the OpenMP library if that is what is missing (apt install "
            "libgomp1, brew install libomp)."
        ) from error


def lazy_names(package: str, **homes: str) -> Callable[[str], Any]:
    """Return a package's ``__getattr__`` (PEP 562) that imports a public name on first use.

    Parameters
    ----------
    package : str
        The package.
    **homes : str
        For each module inside of it the public names that it holds, with spaces between them.

    Examples
    --------
    >>> lazy_names("xml", sax="parse parseString")("parse").__module__
    'xml.sax'
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name in modules:
            return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
        if name.isidentifier() and not name.startswith("_"):  # a module of the package itself
            with suppress(ModuleNotFoundError):
                return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
