"""Sentences: hashed n-grams for networks; TF-IDF for trees, or a few directions of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse

from nnpu.data.cells import as_text
from nnpu.parameters import InputError
from nnpu.table.columns.column import Block, Column, Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Directions", "Text", "are_names", "read_together"]

BUCKETS = 1 << 13  # of hashed text; a power of two spreads evenly
_TERMS = 20_000  # words that directions are made of, the most frequent; pairs make them worse
_WORDS = 50_000  # words of a table of nothing but text
_COMMON = 0.5  # a word in more of the documents says nothing, in any language
_DIRECTIONS = 64
_ROWS = 20_000  # texts that the directions are fitted to: more change them little
_NAME_WORDS = 6  # on average, in names of things: an organisation, a medium
_TOKEN = r"(?u)\b\w+\b"


@dataclass(frozen=True)
class Directions:
    """TF-IDF of a fixed vocabulary, reduced by a truncated singular value decomposition.

    Parameters
    ----------
    terms : list of str
        The vocabulary.
    weights : ndarray of shape (n_terms,)
        Inverse document frequencies.
    components : ndarray of shape (k, n_terms)
        The directions; none (k = 0) leaves the terms as they are.
    """

    terms: list[str]
    weights: NDArray[np.float32]
    components: NDArray[np.float32]

    @classmethod
    def fit(cls, texts: list[str], analyzer: str) -> Self | None:
        """Fit to texts; None if they share no two words."""
        from sklearn.utils.extmath import randomized_svd

        all_terms = cls.of_words(texts, analyzer, _TERMS)
        if all_terms is None:
            return None
        some = texts[:: max(1, -(-len(texts) // _ROWS))]
        k = min(_DIRECTIONS, len(all_terms.terms) - 1, len(some) - 1)
        if k < 1:
            return None
        components = randomized_svd(all_terms(some, analyzer), k, random_state=0)[2]
        return replace(all_terms, components=components.astype(np.float32))

    @classmethod
    def of_words(
        cls, texts: list[str], analyzer: str, most: int, common: float = 1.0
    ) -> Self | None:
        """Return the most frequent terms and their weights alone, but for too common ones."""
        texts = texts[:: max(1, -(-len(texts) // _ROWS))]
        options: dict[str, Any] = {"max_features": most, "min_df": 2}
        if common * len(texts) >= 10:
            options["max_df"] = common
        if analyzer == "word":
            options["ngram_range"] = (1, 1)
        try:
            counter = _counter(analyzer, **options)
            counts = counter.fit_transform(texts)
        except ValueError:  # scikit-learn's word for an empty vocabulary
            return None
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        weights = np.log((1 + counts.shape[0]) / (1 + frequency)) + 1
        terms = counter.get_feature_names_out().tolist()
        nothing = np.zeros((0, len(terms)), np.float32)
        return cls(terms, weights.astype(np.float32), nothing)

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return what `arrays` described; ValueError if it is not valid."""
        terms = bytes(np.asarray(arrays["terms"], dtype=np.uint8)).decode().split("\n")
        weights, components = arrays["weights"], arrays["components"]
        if weights.shape != (len(terms),) or components.shape[1:] != weights.shape:
            raise ValueError("the arrays of a text column do not fit together")
        if not (np.isfinite(weights).all() and np.isfinite(components).all()):
            raise ValueError("the arrays of a text column must be finite")
        return cls(terms, weights, components)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, the vocabulary as UTF-8 bytes."""
        terms = np.frombuffer("\n".join(self.terms).encode(), dtype=np.uint8)
        return {"terms": terms, "weights": self.weights, "components": self.components}

    def __call__(self, texts: list[str], analyzer: str) -> Any:
        """Return the coordinates of texts, shape (n, k), or their TF-IDF as CSR."""
        counts = _counter(analyzer, vocabulary=self.terms).transform(texts)
        weighted = _weighted(counts, self.weights)
        if not len(self.components):
            return weighted.astype(np.float64)
        return np.asarray(weighted @ self.components.T, dtype=np.float64)


def _counter(analyzer: str, **options: Any) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    if analyzer == "word":
        options = {"ngram_range": (1, 2), "token_pattern": _TOKEN} | options
    else:
        options |= {"ngram_range": (2, 4)}
    return CountVectorizer(analyzer=analyzer, dtype=np.float32, **options)


def _weighted(counts: Any, weights: NDArray[Any]) -> Any:
    """Return 1 + log of counts times weights, each row of length one."""
    from sklearn.preprocessing import normalize

    weighted = sparse.csr_array(counts, dtype=np.float32)
    weighted.data = (1 + np.log(weighted.data)) * weights.astype(np.float32)[weighted.indices]
    return normalize(weighted, copy=False)


@dataclass(frozen=True)
class Text(Column):
    """A column of sentences.

    Parameters
    ----------
    analyzer : {"word", "char_wb"}
        Words (and pairs of words in the dense view), or runs of characters.
    buckets : int
        Number of features in the dense view, which is sparse.
    directions : Directions, optional
        Those of the raw view; version 0.1.0 had none.
    together : bool
        Whether the texts of all such columns are one document in the raw view, which the first of
        them makes: a word then means the same in a title and in an abstract, and few positives
        tell more about it.
    """

    analyzer: str
    buckets: int
    directions: Directions | None = field(default=None, repr=False, compare=False)
    together: bool = False
    kind: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        if self.analyzer not in ("word", "char_wb") or not 1 <= int(self.buckets) <= 1 << 24:
            raise ValueError(f"column {self.name!r}: no such text features")

    @classmethod
    def fit(cls, name: str, cells: Any, analyzer: str) -> Self:
        """Fit the directions to the training rows."""
        texts = as_text(cells).drop_null().to_pylist()
        return cls(name, analyzer, BUCKETS, Directions.fit(texts, analyzer))

    @property
    def width(self) -> int:
        """The number of buckets."""
        return self.buckets

    @property
    def raw_names(self) -> list[str]:
        """The directions by number, or the terms."""
        if self.directions is None:
            return []
        if self.together:
            return list(self.directions.terms)
        number = len(self.directions.components)
        parts = [f"topic {topic}" for topic in range(1, number + 1)] or self.directions.terms
        return [f"{self.name} ({part})" for part in parts]

    @property
    def dense_names(self) -> list[str]:
        """The buckets by number."""
        return [f"{self.name} (bucket {bucket})" for bucket in range(self.buckets)]

    @property
    def makes_words(self) -> bool:
        """Whether the directions are single words, or some column's are that this one joins."""
        found = self.directions
        return bool(self.together or (found is not None and not len(found.components)))

    @property
    def in_document(self) -> bool:
        """As `together` says."""
        return self.together

    def as_words(self, cells: Any) -> Self:
        """Return the column with single words in the raw view, for a table of nothing but text."""
        texts = as_text(cells).drop_null().to_pylist()
        return replace(self, directions=Directions.of_words(texts, self.analyzer, _WORDS))

    def words(self) -> str:
        """Say what it becomes."""
        what = "words" if self.analyzer == "word" else "runs of characters"
        return f"text: {what}, read with the other texts" if self.together else f"text: {what}"

    def read(
        self,
        cells: Any,
        first: int = 0,
        decimal: str | None = None,
        memory: dict[str, Any] | None = None,
    ) -> Reading:
        """Return strings, null for missing ones."""
        text = as_text(cells)
        return Reading(text)

    def dense(self, values: Any) -> Block:
        """Hash, to a CSR array; a missing text is an empty one."""
        from sklearn.feature_extraction.text import HashingVectorizer

        hashing = HashingVectorizer(
            n_features=self.buckets,
            analyzer=self.analyzer,
            ngram_range=(1, 2) if self.analyzer == "word" else (3, 5),
            token_pattern=_TOKEN,
            dtype=np.float32,
        )
        return sparse.csr_array(hashing.transform(values.fill_null("").to_pylist()))

    def raw(self, values: Any) -> Any:
        """Return the coordinates, NaN for a missing text; a missing text has no terms."""
        if self.directions is None:
            raise InputError(
                f"Column {self.name!r}: the model was stored without its directions; fit anew."
            )
        coordinates = self.directions(values.fill_null("").to_pylist(), self.analyzer)
        if sparse.issparse(coordinates):
            return coordinates
        coordinates[np.asarray(values.is_null())] = np.nan
        return coordinates

    def document(self, parts: list[Any]) -> Any:
        """Return the terms of the texts of several columns together."""
        if self.directions is None:
            raise InputError(
                f"Column {self.name!r}: the model was stored without its directions; fit anew."
            )
        texts = zip(*(values.fill_null("").to_pylist() for values in parts), strict=True)
        return self.directions([" ".join(row) for row in texts], self.analyzer)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return those of the directions."""
        return {} if self.directions is None else self.directions.arrays()


def are_names(cells: Any) -> bool:
    """Return whether texts are rather names of things: few words, and most rows share theirs.

    Beside a text such a column is a category. Its words are no part of what the text says: 50
    labelled messages tell which universities wrote them, and little else (``docs/lab/text.md``).

    Parameters
    ----------
    cells : pyarrow array
        The training rows' cells.

    Examples
    --------
    >>> import pyarrow as pa
    >>> are_names(pa.array(["University of Ulm", "Bonn", "University of Ulm", "Bonn"]))
    True
    >>> are_names(pa.array(["has anybody seen it", "thank you", "so do I", "not at all"]))
    False
    """
    import pyarrow.compute as pc

    text = as_text(cells).drop_null()
    if not len(text):
        return False
    words = pc.mean(pc.add(pc.count_substring_regex(text, r"\s+"), 1)).as_py()
    if words > _NAME_WORDS:
        return False
    counts = text.value_counts().field("counts").to_numpy()
    return bool(counts[counts > 1].sum() >= len(text) / 2)


def read_together(columns: list[Text], cells: list[Any]) -> list[Text]:
    """Return the columns of a table of nothing but text, to be read as one document.

    Parameters
    ----------
    columns : list of Text
        Two or more, all of words.
    cells : list of pyarrow array
        Their cells in the training rows.
    """
    parts = zip(*(as_text(each).fill_null("").to_pylist() for each in cells), strict=True)
    documents = [" ".join(row) for row in parts]
    terms = Directions.of_words(documents, "word", _WORDS, _COMMON)
    if terms is None:
        return columns
    first, *rest = (replace(column, together=True, directions=None) for column in columns)
    return [replace(first, directions=terms), *rest]
