"""20 Newsgroups, "bydate": the words of the messages, and pre-trained GloVe vectors for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from nnpu.data import Dataset, binary_labels
from nnpu.parameters import InputError, check_count
from nnpu_paper.archives import damaged, tar_members, zip_member
from nnpu_paper.manifest import BUNDLES, glove_bundles
from nnpu_paper.sources import locate

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = [
    "NEWSGROUPS_CLASSES",
    "TOKEN",
    "WordVectors",
    "load_glove",
    "load_messages",
    "load_newsgroups",
]

NEWSGROUPS_CLASSES = ("alt", "comp", "misc", "rec", "sci", "soc", "talk")
_POSITIVE = ("alt", "comp", "misc", "rec")

TOKEN = "[a-z]{2,}"  # a word: two letters or more, after lower-casing
_MIN_MESSAGES = 2  # a word that only one message uses is dropped
_MESSAGE = re.compile(r"20news-bydate-(train|test)/([a-z]+)\.[a-z.-]+/(\d+)")
_MESSAGE_LIMIT = 1_000_000
_ARCHIVE_LIMIT = 200_000_000
_GLOVE_WORDS = 400_000
_GLOVE_LIMIT = 2_000_000_000


def load_newsgroups(positive: Iterable[Any] | None = None, **where: Any) -> Dataset:
    """Word counts of 20 Newsgroups: whole messages, headers included.

    The vocabulary is what both parts use, as in the paper; no label enters it.
    """
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import CountVectorizer

    messages = load_messages(**where)
    counter = CountVectorizer(token_pattern=TOKEN, min_df=_MIN_MESSAGES, dtype=np.float32)
    counts = csr_array(counter.fit_transform([text for _, _, text in messages]))
    classes = np.array([NEWSGROUPS_CLASSES.index(group) for _, group, _ in messages])
    y = binary_labels(classes, NEWSGROUPS_CLASSES, positive, _POSITIVE)
    n_train = sum(part == "train" for part, _, _ in messages)
    return Dataset(
        "20news",
        counts[:n_train],
        y[:n_train],
        counts[n_train:],
        y[n_train:],
        "20 Newsgroups, split by date, as word counts; alt, comp, misc and rec are P, "
        "sci, soc and talk N (Section 5).",
        tuple(counter.get_feature_names_out()),
    )


def load_messages(**where: Any) -> list[tuple[str, str, str]]:
    """The raw messages of 20 Newsgroups: (part, class, text), the training part first."""
    _, paths = locate("20news", BUNDLES["20news"], **where)
    return _read_messages(paths[0])


def _read_messages(path: Path) -> list[tuple[str, str, str]]:
    """(part, class, text) of every message, training part first, in the order of their names."""

    def limit(name: str) -> int:
        return _MESSAGE_LIMIT if _MESSAGE.fullmatch(name) else 0

    found = []
    for name, content in tar_members(path, limit, total=_ARCHIVE_LIMIT):
        part, group, number = _MESSAGE.fullmatch(name).groups()  # type: ignore[union-attr]
        if group not in NEWSGROUPS_CLASSES:
            raise InputError(f"{path} is not 20 Newsgroups: it has a message {name!r}.")
        order = (part != "train", name.rsplit("/", 1)[0], int(number))
        found.append((order, (part, group, content.decode("latin-1"))))
    return [message for _, message in sorted(found, key=lambda pair: pair[0])]


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Pre-trained vectors for a vocabulary.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n_words, dimension)
        A row of zeros for a word that has none.
    known : ndarray of bool, shape (n_words,)
        Which words have a vector.
    source : str
        Name of the file they were read from.
    """

    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]
    source: str


def load_glove(
    vocabulary: Sequence[str],
    dimension: int = 300,
    *,
    folder: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> WordVectors:
    r"""GloVe 6B vectors of a vocabulary (Pennington et al., 2014).

    Parameters
    ----------
    vocabulary : sequence of str
        Words, in lower case, such as `Dataset.vocabulary`.
    dimension : int, default=300
        Length of a vector; the paper's is 300, and 50, 100 and 200 are published too.
    folder, download
        As in `load`.

    Returns
    -------
    WordVectors

    Examples
    --------
    A file of two words in the compact form, in a folder of its own:

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> folder = tempfile.mkdtemp()
    >>> words = np.frombuffer(b"cat\ndog", np.uint8)
    >>> np.savez(f"{folder}/glove.6B.2d.20news.f16.npz", words=words, vectors=np.eye(2))
    >>> with patch.dict(os.environ, NNPU_CACHE=folder):
    ...     glove = load_glove(["dog", "unheard"], 2, folder=folder, download=False)
    >>> glove.vectors
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    >>> glove.known
    array([ True, False])
    """
    dimension = check_count("dimension", dimension, "load_glove")
    bundle, (path,) = locate("glove", glove_bundles(dimension), folder=folder, download=download)
    rows = {word: row for row, word in enumerate(vocabulary)}
    vectors = np.zeros((len(rows), dimension), dtype=np.float32)
    if bundle.form == "npz":
        found = _fill_from_npz(path, rows, vectors)
    elif bundle.form == "zip":
        with zip_member(path, f"glove.6B.{dimension}d.txt", limit=_GLOVE_LIMIT) as stream:
            found = _fill_from_text(path, stream, rows, vectors)
    else:
        with path.open("rb") as stream:
            found = _fill_from_text(path, stream, rows, vectors)
    known = np.zeros(len(rows), dtype=np.bool_)
    known[found] = True
    return WordVectors(vectors, known, path.name)


def _fill_from_text(
    path: Path,
    stream: IO[bytes],
    rows: dict[str, int],
    vectors: NDArray[np.float32],
) -> list[int]:
    """Read lines of a word and its numbers; return the rows that got a vector."""
    wanted = {word.encode(): row for word, row in rows.items()}
    found = []
    number = 0
    for number, line in enumerate(stream, start=1):
        word, _, values = line.partition(b" ")
        row = wanted.get(word)
        if row is None:
            continue
        try:
            numbers = np.array(values.split(), dtype=np.float32)
        except ValueError:
            numbers = np.empty(0, dtype=np.float32)
        if len(numbers) != vectors.shape[1]:
            raise InputError(
                f"{path}, line {number}: expected {vectors.shape[1]} numbers after {word!r}."
            )
        vectors[row] = numbers
        found.append(row)
    if number != _GLOVE_WORDS:
        raise InputError(f"{path} has {number:,} words instead of {_GLOVE_WORDS:,}: delete it.")
    return found


def _fill_from_npz(path: Path, rows: dict[str, int], vectors: NDArray[np.float32]) -> list[int]:
    """Read ``words`` (bytes, one word per line) and ``vectors`` (float16)."""
    with damaged(path), np.load(path, allow_pickle=False) as archive:
        try:
            words = bytes(archive["words"]).decode().split("\n")
            values = archive["vectors"]
        except (KeyError, ValueError) as error:
            raise InputError(f"{path} is not a file of word vectors ({error}).") from error
    if values.shape != (len(words), vectors.shape[1]):
        raise InputError(f"{path}: {len(words)} words, but vectors of shape {values.shape}.")
    pairs = [(rows[word], place) for place, word in enumerate(words) if word in rows]
    found, places = [row for row, _ in pairs], [place for _, place in pairs]
    vectors[found] = values[places]
    return found
