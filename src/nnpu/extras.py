"""Optional packages, imported when they are needed."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MissingExtraError", "need", "needing"]


class MissingExtraError(ImportError):
    """An optional package is not installed; the message names the extra that brings it."""


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
    nnpu.extras.MissingExtraError: BoostedPU needs the package 'no_such_package', which is not
    installed. Install it with: pip install 'nnpu[trees]'
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
