"""The paper's data sets: official files, verified, with P and N made as in Section 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.paper.datasets.epsilon import load_epsilon
from nnpu.paper.datasets.image_sets import load_cifar10, load_digits, load_mnist
from nnpu.paper.datasets.newsgroups import WordVectors, load_glove, load_newsgroups

if TYPE_CHECKING:
    from collections.abc import Callable

    from nnpu.data.dataset import Dataset

__all__ = ["LOADERS", "WordVectors", "load_glove"]

#: What `nnpu.data.load` calls, by the name of the data set.
LOADERS: dict[str, Callable[..., Dataset]] = {
    "digits": load_digits,
    "mnist": load_mnist,
    "epsilon": load_epsilon,
    "20news": load_newsgroups,
    "cifar10": load_cifar10,
}
