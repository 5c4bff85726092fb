"""A review that works down a list: every answer improves the ranking, and none is lost.

The first list is the model's. After a round the rows are ranked anew by a few scores, each scaled
to the rows that were not given out yet:

- the model's own score;
- a logistic regression of known and found positives against rows answered no, with the rows that
  nobody looked at as weak negatives;
- a kernel ridge regression of the answers alone, which learns where the list is right and where
  it is not. It counts more with every answer, n/(n + 50);
- for words, what spreads from positives and negatives to the rows most like them, and from these
  to theirs.

The answers change the order and nothing else: the prior and the figures of the model stay, and what
is left is judged by random looks alone (`nnpu.review.stopping`).

A review in a folder is three files. ``review.json`` and ``review.safetensors`` are written once;
``looks.jsonl`` gets a line whenever rows are given out (``deal``) or answered, which is on the disk
before the call returns. A line that a kill cut short is dropped. Several processes may use one
folder: a lock lets one at a time write, and each reads what the others wrote first.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from nnpu.data.vectors import as_array, as_floats
from nnpu.files import atomic_path, write_text
from nnpu.parameters import InputError, ParameterError, check_count, check_number, shown
from nnpu.review.stopping import Certificate, Looks, certificate, left, worth_listing
from nnpu.review.totals import as_known
from nnpu.terminal import how_many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from nnpu.ranges import Estimate

__all__ = ["ListReview", "is_kept", "load"]

STATE, ARRAYS, LOG = "review.json", "review.safetensors", "looks.jsonl"
_LOCK = ".nnpu-tmp-review.lock"
_FORMAT = "nnpu-review"

# Chosen by benchmarks/down_the_list.py on the genuine problems.
_WEAK = 0.3  # weight, as a negative, of a row that nobody looked at: most are negative
_WORDS, _NUMBERS = 1.0, 0.3  # weight of the regression on sparse rows, and on dense ones
_TAUGHT, _HALF = 1.5, 50  # weight of the answers alone, half of it after this many
_RIDGE, _RIDGE_NEAR = 3.0, 1.0  # of the answers alone: on sparse rows, and on dense ones
_NEIGHBOURS, _SPREAD = 10, 0.5  # of a sparse row; weight of what reaches it over them
_STEPS, _STAYS = 40, 0.9  # over them, and how much is left after each
_LATEST = 2000  # answers that the ridge regression sees: its time grows with their cube
_BLOCK = 4096  # dense rows at once: the kernel is a column an answer wide


class ListReview:
    """A review of a ranked list, in rounds.

    Parameters
    ----------
    scores : array-like of shape (N,)
        The model's scores: greater means more likely positive. Out of fold for rows of the fit.
    features : array or sparse matrix of shape (N, d), optional
        What the answers teach by: finite numbers of about unit size. Without them the list stays
        the model's.
    known : array-like of shape (N,), optional
        1 or 0 for rows that need no look, NaN for the others.
    expected : float, optional
        How many positives the model expects among the rows to look at. It moves the value of
        `left` as much as one random look would, and never the range.
    random_state : int, default=0
        The same seed and answers give the same rows.
    model : str
        A short name of model and table, which a folder carries.

    Attributes
    ----------
    folder : Path or None
        Where the review is kept, after `save` or `load`: then `next` and `answer` write there
        before they return.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(600) < 0.1
    >>> x = rng.normal(truth[:, None] * [1.5, 1.0])
    >>> review = ListReview(x[:, 0], x)
    >>> for _ in range(8):
    ...     rows = review.next(25)
    ...     review.answer(rows, truth[rows])
    >>> review.looks, review.found, int(truth.sum())
    (200, 49, 54)
    >>> bool(review.left.low <= truth.sum() - review.found <= review.left.high)
    True
    """

    def __init__(
        self,
        scores: ArrayLike,
        features: Any = None,
        *,
        known: ArrayLike | None = None,
        expected: float | None = None,
        random_state: int = 0,
        model: str = "",
    ) -> None:
        self.scores = as_floats(scores, "scores", "ListReview")
        n = self.scores.size
        if self.scores.ndim != 1 or not np.isfinite(self.scores).all():
            raise InputError("ListReview: scores must be a list of finite numbers.")
        self.features = _as_features(features, n)
        self.known = as_known(known, n, "ListReview")
        self.expected, self.model = expected, model
        self.random_state = check_count("random_state", random_state, "ListReview", low=0)
        self.folder: Path | None = None
        self._size = int(np.isnan(self.known).sum())
        self._dealt: dict[int, bool] = {}  # row: drawn at random; in the order of the deals
        self._dealt_to: dict[int, str] = {}
        self._given: dict[int, dict[str, float]] = {}  # row: person: answer; the latest last
        self._graph: Any = None  # of the neighbours of sparse rows, once it is needed
        self._read = 0  # bytes of the log that are in memory

    def next(
        self, n: int, random: float = 0.1, *, until: float | None = None, by: str = ""
    ) -> NDArray[np.intp]:
        """Return the rows to look at next, each given out once; fewer than n at the end.

        Parameters
        ----------
        n : int
            How many.
        random : float, default=0.1
            The share of them that is drawn at random, for `left` and `certificate`. They stand
            evenly among the others; `is_random` says which they are.
        until : float, optional
            A recall to be certified: while the list brings the certificate nearer than random
            looks do, `random` is as above; then all looks are random.
        by : str
            Who looks at them.

        Returns
        -------
        array of int
            Row numbers.
        """
        n = check_count("n", n, "next")
        share = check_number("random", random, "next", low=0, high=1)
        self.refresh()
        ranking = self.ranking()  # takes a while: others may write meanwhile
        with self._writing():
            if until is not None and not worth_listing(
                self._looks(), recall=until, confidence=0.95, guess=self.expected
            ):
                share = 1.0
            free = np.flatnonzero(np.isnan(self.known) & ~self._mask())
            n = min(n, len(free))
            rng = np.random.default_rng([self.random_state, len(self._dealt)])
            drawn = min(int(share * n + rng.random()), n)  # share·n on average
            order = free[np.argsort(-ranking[free], kind="stable")]
            listed, rest = order[: n - drawn], np.sort(order[n - drawn :])
            chosen = rng.choice(rest, drawn, replace=False) if drawn else rest[:0]
            deal = [[int(row), 0] for row in listed] + [[int(row), 1] for row in chosen]
            if deal:
                self._write({"deal": deal, "by": by})
        places = [(np.arange(len(part)) + 0.5) / max(len(part), 1) for part in (listed, chosen)]
        mixed = np.argsort(np.concatenate(places), kind="stable")
        return np.concatenate([listed, chosen])[mixed].astype(np.intp)

    def answer(self, rows: ArrayLike, answers: ArrayLike, *, by: str = "") -> None:
        """Take answers: 1 yes, 0 no, NaN don't know.

        A second answer of the same person replaces the first. Where two people differ, the row
        counts as don't know and is listed in `disagreements`. A row that `next` did not give
        out counts as a look at the list.

        Parameters
        ----------
        rows : array-like of int
            Row numbers.
        answers : array-like
            As many answers.
        by : str
            Who gives them.
        """
        given = np.asarray(as_array(rows))
        values = as_floats(answers, "answers", "answer")
        if given.ndim != 1 or given.shape != values.shape:
            raise InputError(
                f"answer: an answer is needed for each row. Got shapes {given.shape} and "
                f"{values.shape}."
            )
        if given.size and (given.dtype.kind not in "iu" or not self._can_be_dealt(given)):
            raise InputError(
                f"answer: rows must be numbers from 0 to {self.scores.size - 1} of rows that "
                "are neither labelled nor known."
            )
        if not np.isin(values[~np.isnan(values)], (0, 1)).all():
            raise InputError("answer: answers must be 1 (yes), 0 (no) or NaN (don't know).")
        pairs = [
            [int(row), None if np.isnan(value) else int(value)]
            for row, value in zip(given, values, strict=True)
        ]
        if pairs:
            with self._writing():
                self._write({"answer": pairs, "by": by})

    def take_back(self, row: int, *, by: str = "") -> None:
        """Take an answer back: the row waits for one again.

        Parameters
        ----------
        row : int
            A row number.
        by : str
            Whose answer it was.
        """
        with self._writing():
            if by not in self._given.get(row, {}):
                raise InputError(f"take_back: row {row} has no answer of this person.")
            self._write({"back": [int(row)], "by": by})

    def refresh(self) -> None:
        """Take in what others wrote to the folder since."""
        if self.folder is None:
            return
        try:
            with open(self.folder / LOG, "rb") as file:
                file.seek(self._read)
                content = file.read()
        except OSError as error:
            raise InputError(f"{self.folder / LOG} cannot be read: {error.strerror}.") from error
        whole = content[: content.rfind(b"\n") + 1]
        for line in whole.splitlines():
            try:
                event = json.loads(line)
                self._apply({"by": "", **event})
            except (ValueError, TypeError, KeyError, IndexError) as error:
                raise InputError(
                    f"{self.folder / LOG} is damaged ({error}). Restore it from a copy."
                ) from error
        self._read += len(whole)

    @property
    def looks(self) -> int:
        """Rows that somebody answered, don't know included."""
        return len(self._given)

    @property
    def waiting(self) -> NDArray[np.intp]:
        """Rows that were given out and have no answer yet."""
        return np.array([row for row in self._dealt if row not in self._given], dtype=np.intp)

    def waiting_for(self, by: str = "") -> list[int]:
        """Rows that a person was given and that nobody answered yet."""
        return [row for row in self.waiting.tolist() if self._dealt_to.get(row, "") == by]

    @property
    def found(self) -> int:
        """Hidden positives that were found."""
        return self._looks().found

    @property
    def left(self) -> Estimate:
        """How many positives are left among the rows without a clear answer; see `left`."""
        return left(self._looks(), guess=self.expected)

    def certificate(self, recall: float = 0.9, confidence: float = 0.95) -> Certificate:
        """Return whether the share `recall` of the hidden positives is found; see `certificate`."""
        return certificate(self._looks(), recall=recall, confidence=confidence)

    @property
    def disagreements(self) -> dict[int, dict[str, float]]:
        """Rows on which people differ: the clear answer of each."""
        found = {}
        for row, given in sorted(self._given.items()):
            clear = {who: value for who, value in given.items() if not np.isnan(value)}
            if len(set(clear.values())) > 1:
                found[row] = clear
        return found

    @property
    def answers(self) -> dict[int, float]:
        """The answer to each row that has one: 1, 0, or NaN for don't know."""
        return {row: _merged(given) for row, given in sorted(self._given.items())}

    @property
    def curve(self) -> list[int]:
        """Positives found after each look, in the order in which the rows were given out."""
        answers = [_merged(self._given[row]) for row in self._dealt if row in self._given]
        return [int(found) for found in np.nancumsum(answers)]

    def answered_by(self, by: str = "") -> list[int]:
        """Rows that a person answered, the latest answer last."""
        return [row for row, given in self._given.items() if by in given]

    def is_random(self, rows: ArrayLike) -> NDArray[np.bool_]:
        """Return which of some rows that were given out were drawn at random."""
        return np.array([self._dealt.get(int(row), False) for row in np.asarray(rows)], dtype=bool)

    def lines(self, *, recall: float = 0.9) -> list[str]:
        """Return where the review stands, for a terminal."""
        drawn = how_many(int(self._looks().random.sum()), "random look")
        rest = self.left
        lines = [
            f"{self.looks:,} of {self._size:,} rows looked at, {self.found:,} positives found.",
            f"Positives left among the rest: about {rest.value:,.0f} ({rest.low:,.0f} to "
            f"{rest.high:,.0f}, 90 % confidence at any time, from {drawn}).",
            str(self.certificate(recall)),
        ]
        if len(self.waiting):
            lines.append(f"Waiting for an answer: {how_many(len(self.waiting), 'row')}.")
        if differ := self.disagreements:
            rows = ", ".join(str(row + 1) for row in list(differ)[:10])
            more = f" and {len(differ) - 10:,} more" if len(differ) > 10 else ""
            count = how_many(len(differ), "row")
            lines.append(f"Reviewers differ on {count}: {rows}{more} (counted from 1).")
        return lines

    def to_json(self, *, recall: float = 0.9) -> dict[str, Any]:
        """Return where the review stands, as plain values."""
        return {
            "looks": self.looks,
            "size": self._size,
            "found": self.found,
            "left": self.left._asdict(),
            "certificate": asdict(self.certificate(recall)),
            "waiting": len(self.waiting),
            "disagreements": {str(row): given for row, given in self.disagreements.items()},
        }

    def ranking(self) -> NDArray[np.float64]:
        """Return a score of each row by the model and all answers so far."""
        answers = {row: _merged(given) for row, given in self._given.items()}
        asked = np.array([row for row, y in answers.items() if not np.isnan(y)], dtype=np.intp)
        if not asked.size or self.features is None:
            return self.scores
        y = np.array([answers[row] for row in asked])
        rest = np.flatnonzero(np.isnan(self.known) & ~self._mask())
        if rest.size < 2:
            return self.scores
        total = _scaled(self.scores, rest)
        weight = _WORDS if sp.issparse(self.features) else _NUMBERS
        positive = np.concatenate([np.flatnonzero(self.known == 1), asked[y == 1]])
        negative = np.concatenate([np.flatnonzero(self.known == 0), asked[y == 0]])
        if positive.size:
            total += weight * _scaled(_regression(self.features, positive, negative, rest), rest)
            if sp.issparse(self.features):
                if self._graph is None:
                    self._graph = _neighbours(self.features)
                total += _SPREAD * _scaled(_spread(self._graph, positive, negative), rest)
        if np.ptp(y):
            share = asked.size / (asked.size + _HALF)
            taught = _ridge(self.features, asked[-_LATEST:], y[-_LATEST:])
            total += _TAUGHT * share * _scaled(taught, rest)
        return total

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Keep the review in a folder from now on; `load` reads it.

        Parameters
        ----------
        folder : path-like
            A new or empty folder.
        """
        import safetensors.numpy

        place = Path(folder)
        if self.folder is not None and place.resolve() == self.folder.resolve():
            return place  # everything is there
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise InputError(f"{place} is not an empty folder; choose another one for the review.")
        place.mkdir(parents=True, exist_ok=True)
        arrays = {"scores": self.scores, "known": self.known}
        if sp.issparse(self.features):
            for name in ("data", "indices", "indptr"):
                arrays[f"features.{name}"] = getattr(self.features, name)
        elif self.features is not None:
            arrays["features"] = np.ascontiguousarray(self.features)
        with atomic_path(place / ARRAYS) as temporary:
            temporary.write_bytes(safetensors.numpy.save(arrays))
        events = self._events()
        write_text(place / LOG, "".join(json.dumps(event) + "\n" for event in events))
        state = {
            "format": _FORMAT,
            "schema": 1,
            "model": self.model,
            "expected": self.expected,
            "random_state": self.random_state,
            "columns": None if self.features is None else int(self.features.shape[1]),
        }
        write_text(place / STATE, json.dumps(state, indent=1) + "\n")  # last: now it can be loaded
        self.folder, self._read = place, (place / LOG).stat().st_size
        return place

    def _can_be_dealt(self, rows: NDArray[Any]) -> bool:
        inside = bool((rows >= 0).all() and (rows < self.scores.size).all())
        return inside and bool(np.isnan(self.known[rows]).all())

    def _mask(self) -> NDArray[np.bool_]:
        mask = np.zeros(self.scores.size, dtype=bool)
        mask[list(self._dealt)] = True
        return mask

    def _looks(self) -> Looks:
        """Return the looks up to the last one with an answer.

        The bounds hold at any time. What was given out after it, and nobody answered, has not been
        looked at yet: it stays in the pool.
        """
        dealt = list(self._dealt.items())
        while dealt and dealt[-1][0] not in self._given:
            dealt.pop()
        answers = [_merged(self._given.get(row, {})) for row, _ in dealt]
        return Looks(self._size, np.array([drawn for _, drawn in dealt], dtype=bool), answers)

    def _events(self) -> list[dict[str, Any]]:
        """Return the log that makes this review."""
        events: list[dict[str, Any]] = []
        for who, part in groupby(self._dealt, lambda row: self._dealt_to.get(row, "")):
            events.append({"deal": [[row, int(self._dealt[row])] for row in part], "by": who})
        for row, given in self._given.items():
            for who, y in given.items():
                events.append({"answer": [[row, None if np.isnan(y) else int(y)]], "by": who})
        return events

    def _apply(self, event: dict[str, Any]) -> None:
        for row, drawn in event.get("deal", ()):
            if not self._can_be_dealt(np.array([row])) or row in self._dealt:
                raise ValueError(f"row {row} cannot be given out")
            self._dealt[row], self._dealt_to[row] = bool(drawn), event["by"]
        for row, value in event.get("answer", ()):
            if not self._can_be_dealt(np.array([row])) or value not in (0, 1, None):
                raise ValueError(f"row {row} cannot have the answer {value}")
            self._dealt.setdefault(row, False)
            given = self._given.pop(row, {})  # the last answer stands last
            self._given[row] = given | {event["by"]: np.nan if value is None else float(value)}
        for row in event.get("back", ()):
            del self._given[row][event["by"]]
            if not self._given[row]:
                del self._given[row]

    def _write(self, event: dict[str, Any]) -> None:
        """Put an event on the disk, then into memory; called while `_writing`."""
        if self.folder is not None:
            line = (json.dumps(event) + "\n").encode()
            with open(self.folder / LOG, "r+b") as file:
                file.seek(self._read)
                file.truncate()  # what a kill cut short
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            self._read += len(line)
        self._apply(event)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Be the only writer of the folder, and know what the others wrote."""
        if self.folder is None:
            yield
            return
        from filelock import FileLock, Timeout  # here: a review in memory needs no lock

        try:
            with FileLock(self.folder / _LOCK, timeout=60):
                self.refresh()
                yield
        except Timeout as error:
            raise InputError(f"{self.folder} is in use by another review; try again.") from error


def is_kept(folder: Path) -> bool:
    """Return whether a folder holds a review."""
    return (folder / STATE).is_file()


def load(folder: str | os.PathLike[str]) -> ListReview:
    """Return the review that a folder keeps; what it does from now on is kept there too.

    Parameters
    ----------
    folder : path-like
        What `ListReview.save` or ``nnpu review --folder`` wrote.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "review"
    >>> review = ListReview([0.1, 0.9, 0.5])
    >>> _ = review.save(folder)
    >>> rows = review.next(2, random=0)
    >>> review.answer(rows, [1, 0])
    >>> again = load(folder)
    >>> again.answers, again.next(2, random=0)
    ({1: 1.0, 2: 0.0}, array([0]))
    """
    import safetensors.numpy

    place = Path(folder)
    if not is_kept(place):
        raise InputError(f"{place} holds no review: there is no {STATE}. Make one with save.")
    try:
        state = json.loads((place / STATE).read_bytes())
        if state["format"] != _FORMAT or state["schema"] != 1:
            raise ValueError("written by another version")
        arrays = safetensors.numpy.load((place / ARRAYS).read_bytes())
        features = arrays.get("features")
        if "features.data" in arrays:
            parts = tuple(arrays[f"features.{name}"] for name in ("data", "indices", "indptr"))
            shape = arrays["scores"].size, state["columns"]
            features = sp.csr_array(parts, shape=shape)
        review = ListReview(
            arrays["scores"],
            features,
            known=arrays["known"],
            expected=state["expected"],
            random_state=state["random_state"],
            model=state["model"],
        )
    except InputError:
        raise
    except Exception as error:  # safetensors has errors of its own
        raise InputError(f"{place} holds no review that can be read: {error}.") from error
    review.folder = place
    review.refresh()
    return review


def _merged(given: dict[str, float]) -> float:
    """Return the answer that people agree on, NaN if they differ or nobody knows."""
    clear = {value for value in given.values() if not np.isnan(value)}
    return clear.pop() if len(clear) == 1 else float("nan")


def _as_features(features: Any, n: int) -> Any:
    if features is None:
        return None
    if sp.issparse(features):
        rows = sp.csr_array(features, dtype=np.float32)
        finite = np.isfinite(rows.data).all()
    else:
        rows = np.asarray(as_array(features), dtype=np.float32)
        finite = rows.ndim == 2 and np.isfinite(rows).all()
    if rows.ndim != 2 or rows.shape[0] != n or not finite:
        raise ParameterError(
            f"The 'features' parameter of ListReview must be finite numbers, a row for each of "
            f"{n} scores. Got {shown(features)} instead."
        )
    return rows


def _scaled(scores: NDArray[np.float64], rest: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return scores with mean 0 and spread 1 over the rows that are left."""
    part = scores[rest]
    return np.asarray((scores - part.mean()) / max(float(part.std()), 1e-12))


def _regression(
    features: Any,
    positive: NDArray[np.intp],
    negative: NDArray[np.intp],
    rest: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return scores of positives against negatives, the rest being weak negatives."""
    from sklearn.linear_model import LogisticRegression

    if not sp.issparse(features):  # whose columns may be of any size
        spread = features.std(axis=0)
        features = features / np.where(spread > 1e-6, spread, 1)
    rows = np.concatenate([positive, negative, rest])
    y = np.arange(rows.size) < positive.size
    weight = np.where(np.arange(rows.size) < positive.size + negative.size, 1.0, _WEAK)
    for side in (y, ~y):  # both classes count the same
        weight[side] *= rows.size / (2 * weight[side].sum())
    model = LogisticRegression(tol=1e-3, max_iter=200)
    fitted = model.fit(features[rows], y, sample_weight=weight)
    return np.asarray(fitted.decision_function(features), dtype=np.float64)


def _neighbours(features: Any) -> Any:
    """Return D^-1/2 A D^-1/2: A is how like each row is to its nearest ones, D its sums."""
    n = features.shape[0]
    k = min(_NEIGHBOURS, n - 1)
    parts = []
    for first in range(0, n, _BLOCK // 8):
        like = (features[first : first + _BLOCK // 8] @ features.T).toarray()
        here = np.arange(len(like))
        like[here, first + here] = 0
        near = np.argpartition(-like, k - 1, axis=1)[:, :k]
        rows, values = np.repeat(here, k), np.take_along_axis(like, near, axis=1)
        parts.append(sp.csr_array((values.ravel(), (rows, near.ravel())), shape=like.shape))
    graph = sp.csr_array(sp.vstack(parts)).maximum(0)
    graph = graph.maximum(graph.T)
    scale = 1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-9))
    return sp.csr_array(graph * scale[:, None] * scale[None, :])


def _spread(
    graph: Any, positive: NDArray[np.intp], negative: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return what reaches each row of the positives and negatives over the graph."""
    given = np.zeros(graph.shape[0])
    given[positive] = 1 / len(positive)
    given[negative] = -1 / max(len(negative), len(positive))
    total = given.copy()
    for _ in range(_STEPS):
        given = _STAYS * (graph @ given)
        total += given
    return total


def _ridge(features: Any, asked: NDArray[np.intp], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the answers alone say of each row, beyond their mean.

    A kernel ridge regression: linear in words; in columns of numbers a bell, so an answer
    speaks for the rows near by.
    """
    part = features[asked]
    if sp.issparse(features):
        gram = np.asarray((part @ part.T).toarray(), dtype=np.float64)
        dual = np.linalg.solve(gram + _RIDGE * np.eye(len(y)), y - y.mean())
        return np.asarray(features @ (part.T @ dual), dtype=np.float64)
    dual = np.linalg.solve(_bell(part, part) + _RIDGE_NEAR * np.eye(len(y)), y - y.mean())
    blocks = range(0, len(features), _BLOCK)
    return np.concatenate([_bell(features[i : i + _BLOCK], part) @ dual for i in blocks])


def _bell(rows: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return exp(−‖a − b‖²/2d) of each row a and each other row b of d columns."""
    a, b = rows.astype(np.float64), others.astype(np.float64)
    far = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.exp(np.maximum(far, 0) / (-2 * max(a.shape[1], 1))))
