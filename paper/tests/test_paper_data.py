"""The real files: Table 2's numbers computed from them. Needs NNPU_DATA, a cache or a network."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from nnpu.data import negative_count, sample_pu
from nnpu_paper import load, load_glove
from nnpu_paper.archives import tar_members
from nnpu_paper.manifest import BUNDLES
from nnpu_paper.sources import locate

pytestmark = pytest.mark.reproduction


@pytest.fixture(scope="module")
def news():
    return load("20news")


def test_mnist_has_the_numbers_of_table_2():
    mnist = load("mnist")
    assert mnist.x_train.shape == (60_000, 784)
    assert mnist.x_test.shape == (10_000, 784)
    assert round(mnist.prior, 2) == 0.49
    assert (mnist.y_train == 1).sum() == 29_492
    assert mnist.x_train.min() == 0
    assert mnist.x_train.max() == 1
    # The mean pixel of the training set, known to every user of MNIST.
    assert mnist.x_train.mean(dtype=np.float64) == pytest.approx(0.1307, abs=5e-5)


def test_figure_1_is_drawn_from_mnist():
    sample = sample_pu(load("mnist"), 100, n_n=50, disjoint=True)
    assert (len(sample.index_p), len(sample.index_u), len(sample.index_n)) == (100, 59_900, 50)
    assert sample.prior == pytest.approx((29_492 - 100) / 59_900)


def test_section_5_is_drawn_from_mnist():
    mnist = load("mnist")
    # (30,508 / (2 · 29,492))² · 1,000 = 267.5
    n_n = negative_count(mnist.prior, 1_000)
    assert n_n == 268
    sample = sample_pu(mnist, 1_000, n_n=n_n)
    assert (len(sample.index_u), len(sample.index_n)) == (60_000, 268)


def test_20news_has_the_counts_of_table_2_and_the_prior_of_its_text(news):
    """Section 5's classes give a prior of .565; Table 2's .44 is the share of the other class."""
    assert news.x_train.shape[0] == 11_314
    assert news.x_test.shape[0] == 7_532
    assert (news.y_train == 1).sum() == 480 + 2_936 + 585 + 2_389  # alt, comp, misc, rec
    assert round(1 - news.prior, 2) == 0.44
    assert news.x_train.shape[1] == len(news.vocabulary) == 61_822
    assert list(news.vocabulary) == sorted(set(news.vocabulary))


def test_the_archive_reproduces_scikit_learn_s_documented_vocabulary():
    """Its user guide: four groups of the training part are 2,034 messages of 34,118 words."""
    groups = ("alt.atheism", "talk.religion.misc", "comp.graphics", "sci.space")
    _, (path,) = locate("20news", BUNDLES["20news"])
    folders = tuple(f"20news-bydate-train/{group}/" for group in groups)
    members = tar_members(path, lambda name: 10**6 * name.startswith(folders), total=10**9)
    texts = [content.decode("latin-1") for _, content in members]
    assert CountVectorizer().fit_transform(texts).shape == (2_034, 34_118)


def test_a_word_is_counted_where_it_belongs():
    news = load("20news", positive=["alt"])
    column = news.vocabulary.index("atheism")
    uses = news.x_train[:, [column]].toarray().ravel() > 0
    assert uses[news.y_train == 1].mean() > 10 * uses[news.y_train == -1].mean()


@pytest.mark.parametrize("dimension", [50, 100])
def test_glove_covers_nearly_all_words_of_20news(news, dimension):
    glove = load_glove(news.vocabulary, dimension, download=False)
    assert glove.vectors.shape == (61_822, dimension)
    counts = np.asarray(news.x_train.sum(axis=0)).ravel()
    assert counts[glove.known].sum() / counts.sum() > 0.97
    assert (glove.vectors[~glove.known] == 0).all()
    row = {word: glove.vectors[i] for i, word in enumerate(news.vocabulary)}

    def cosine(a, b):
        return row[a] @ row[b] / np.linalg.norm(row[a]) / np.linalg.norm(row[b])

    assert cosine("king", "queen") > cosine("king", "keyboard") + 0.2


def test_cifar10_has_the_numbers_of_table_2():
    cifar10 = load("cifar10")
    assert cifar10.x_train.shape == (50_000, 3, 32, 32)
    assert cifar10.x_test.shape == (10_000, 3, 32, 32)
    assert cifar10.prior == pytest.approx(0.4)
    # The channel means of the training set, as published with many models.
    means = cifar10.x_train.mean(axis=(0, 2, 3), dtype=np.float64)
    assert means == pytest.approx([0.4914, 0.4822, 0.4465], abs=5e-5)
