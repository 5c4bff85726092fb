"""Imported when needed: optional packages, and the modules behind a package's public names."""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["lazy_names", "need"]


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
    >>> need("json", extra="trees", owner="BoostedPU").dumps(1)
    '1'
    >>> need("no_such_package", extra="trees", owner="BoostedPU")
    Traceback (most recent call last):
    ImportError: BoostedPU needs the package 'no_such_package', which is not installed. Install it
    with: pip install 'nnpu[trees]'
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{owner} needs the package {package!r}, which is not installed. Install it with: "
            f"pip install 'nnpu[{extra}]'"
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
