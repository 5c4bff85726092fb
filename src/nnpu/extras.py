"""Optional packages, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["need"]


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
