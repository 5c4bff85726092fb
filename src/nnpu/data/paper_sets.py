"""The paper's data sets by name; what loads them is in the paper's wing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nnpu.parameters import check_choice

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from nnpu.data.dataset import Dataset

__all__ = ["DATASETS", "load"]

DATASETS: tuple[str, ...] = ("digits", "mnist", "epsilon", "20news", "cifar10")


def load(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    download: bool = True,
    positive: Iterable[Any] | None = None,
) -> Dataset:
    """Load one of the paper's data sets, with true labels, P and N made as in Section 5.

    Its files are looked for in `folder` (or else the folder named by ``NNPU_DATA``), then in the
    cache (``NNPU_CACHE``, else ``nnpu`` in the user's cache), then downloaded into the cache.
    Every file is verified before it is used.

    Parameters
    ----------
    name : {"digits", "mnist", "epsilon", "20news", "cifar10"}
        The data set. ``digits`` is embedded and needs no file.
    folder : path-like, optional
        Where to look first.
    download : bool, default=True
        Whether missing files are downloaded.
    positive : iterable, optional
        Classes that make up P, the others being N: digits 0 to 9, CIFAR-10's class names, or the
        first words of the newsgroups' names. By default those of Section 5.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If the files are missing, damaged or cannot be stored; the message says what to do.

    References
    ----------
    Kiryo et al. (2017), Positive-Unlabeled Learning with Non-Negative Risk Estimator, Section 5.

    Examples
    --------
    >>> digits = load("digits")
    >>> digits.y_train[:5]
    array([...], dtype=int8)
    >>> load("digits", positive=[0, 1, 2, 3, 4]).prior > 0.5
    True
    """
    check_choice("name", name, "load", DATASETS)
    from nnpu.paper.datasets import LOADERS

    return LOADERS[name](positive, folder=folder, download=download)
