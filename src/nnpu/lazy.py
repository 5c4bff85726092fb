"""The modules behind a package's public names, imported when they are needed."""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["lazy_names"]


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
