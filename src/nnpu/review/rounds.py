"""A review in rounds: draws, sheets, answers, one audit of all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.data.vectors import as_array
from nnpu.files import write_text
from nnpu.parameters import InputError
from nnpu.review.audits import Audit, audit
from nnpu.review.draws import Draw, FloatArray, Purpose, as_probability, draw
from nnpu.review.learning import KnownRows, known_rows
from nnpu.review.page import page_text
from nnpu.review.sheets import (
    Agreement,
    Sheet,
    Stamp,
    agreement,
    cells,
    digest,
    read_sheets,
    sheet_text,
)
from nnpu.review.totals import as_known

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

__all__ = ["Review"]

_CLOSE = 1e-3  # what probabilities of one model may differ by between machines


class Review:
    """The rounds of a review of one table under one model.

    Parameters
    ----------
    probability : array-like of shape (N,)
        P(y = +1 | x) of every row; out of fold for rows that the model was fitted to.
    ids : array-like of shape (N,), optional
        What the rows are called; their numbers 0, 1, ... if not given.
    known : array-like of shape (N,), optional
        1 or 0 for rows that need no review, NaN for the others. In one-sample data:
        ``np.where(s == 1, 1, np.nan)``.
    model : str
        A short name of the model, such as a digest of its file; sheets carry it.

    Attributes
    ----------
    draws : list of Draw
        The rounds.
    answers : list of array
        The answers to them: 1, 0, NaN for don't know. Shorter than `draws` while a round waits.
    notes : list of str
        What was left out or assumed when sheets were read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from nnpu.review import Review
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> path = Path(tempfile.mkdtemp()) / "review.csv"
    >>> review = Review(p)
    >>> drawn = review.draw(40, random_state=0)
    >>> review.write(path).name
    'review.csv'
    >>> header, *rows = path.read_text().splitlines()
    >>> _ = path.write_text(chr(10).join([header, *("yes" + row for row in rows)]))
    >>> review = Review(p).read(path)
    >>> review.audit().answered
    40
    """

    def __init__(
        self,
        probability: ArrayLike,
        *,
        ids: Any = None,
        known: ArrayLike | None = None,
        model: str = "",
    ) -> None:
        self.probability: FloatArray = as_probability(probability, "Review")
        self.known = as_known(known, self.probability.size, "Review")
        self.ids = _ids(ids, self.probability.size)
        self.model = model
        self.draws: list[Draw] = []
        self.answers: list[FloatArray] = []
        self.notes: list[str] = []
        self.agreement: Agreement | None = None
        self._digest = digest(self.ids)
        self._partial = False

    @classmethod
    def from_sheets(
        cls,
        *paths: str | os.PathLike[str],
        ids: Any,
        known: ArrayLike | None = None,
    ) -> Review:
        """Read answered sheets without the model that the rows were drawn with.

        A sheet holds what the prior and a fit need: `known_rows` is all that can be asked of the
        review. Precision and the like need the probabilities of all rows.

        Parameters
        ----------
        paths : path-like
            The sheets of all rounds.
        ids, known
            As above; of the table that the rows were drawn from.
        """
        names = _ids(ids, len(ids))
        at = {name: i for i, name in enumerate(names)}
        sheets = [sheet for path in paths for sheet in read_sheets(path)]
        probability, filled = np.zeros(len(names)), np.zeros(len(names), dtype=bool)
        for sheet in (one for one in sheets if len(names) == one.stamp.N):
            for id_, p in zip(sheet.ids, sheet.probability, strict=True):
                if id_ in at:  # `read` refuses the others
                    probability[at[id_]], filled[at[id_]] = p, True
        first = min(sheets, key=lambda sheet: sheet.stamp.number)
        rest = ~filled & np.isnan(as_known(known, len(names), "Review"))
        if rest.any():
            left = first.stamp.expected - float(probability[filled].sum())
            probability[rest] = np.clip(left / int(rest.sum()), 0, 1)
        review = cls(probability, ids=names, known=known)
        review._partial = True
        return review.read(*paths)

    def known_rows(self) -> KnownRows:
        """Return what a fit needs: answered rows, their weights, and the audited prior."""
        if not self.answers:
            raise InputError("Review: there are no answers yet.")
        return known_rows(
            self.probability,
            self.draws[: len(self.answers)],
            self.answers,
            known=self.known,
            partial=self._partial,
        )

    def draw(self, n: int, *, purpose: Purpose = "estimate", random_state: Any = None) -> Draw:
        """Draw the next round: never rows that are known or were drawn before."""
        if len(self.answers) < len(self.draws):
            raise InputError("Review: the last draw has no answers yet: read its sheet first.")
        self.draws.append(
            draw(
                self.probability,
                n,
                purpose=purpose,
                exclude=self._excluded(self.draws),
                random_state=random_state,
            )
        )
        return self.draws[-1]

    def answer(self, values: ArrayLike) -> Review:
        """Give the answers to the last draw, in the order of its rows; return the review."""
        self.answers.append(np.asarray(as_array(values), dtype=np.float64))
        return self

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        table: Any = None,
        reasons: Sequence[str] | None = None,
    ) -> Path:
        """Write the sheet of the last draw: a CSV file with an empty column `answer`.

        Parameters
        ----------
        path : path-like
            The file to write.
        table : pandas, polars or pyarrow table, or dict of arrays, optional
            The rows' own columns.
        reasons : list of N str, optional
            Why the model scored each row so.
        """
        return write_text(path, self._sheet(table, reasons))

    def write_page(
        self,
        path: str | os.PathLike[str],
        *,
        table: Any = None,
        reasons: Sequence[str] | None = None,
        question: str = "Is this row a positive?",
        folder: str | os.PathLike[str] | None = None,
    ) -> Path:
        """Write a page to answer the last draw in: one HTML file that exports the sheet.

        Parameters
        ----------
        path : path-like
            The file to write.
        table, reasons
            As for `write`.
        question : str
            What is asked of every row.
        folder : path-like, optional
            Where images that cells name are looked up.
        """
        sheet = self._sheet(table, reasons, escape=False)  # the page escapes what it exports
        file = f"{Path(path).stem}.csv"
        return write_text(path, page_text(sheet, file=file, question=question, folder=folder))

    def _sheet(self, table: Any, reasons: Sequence[str] | None, *, escape: bool = True) -> str:
        if len(self.answers) >= len(self.draws):
            raise InputError("Review: there is no draw to write: call draw first.")
        drawn = self.draws[-1]
        why = None if reasons is None else [str(reasons[i]) for i in drawn.rows]
        columns = cells(table, drawn.rows)
        return sheet_text(drawn, self._stamp(drawn), self.ids, columns, why, escape=escape)

    def read(
        self,
        *paths: str | os.PathLike[str],
        second: str | os.PathLike[str] | None = None,
    ) -> Review:
        """Read answered sheets of all rounds, in any order; return the review.

        A sheet that is answered from its top to some row counts as a smaller draw; other blank
        answers count as don't know. `notes` names both.

        Parameters
        ----------
        paths : path-like
            The sheets.
        second : path-like, optional
            The same sheet as filled in by a second reviewer. Rows on which the two differ count
            as don't know; `agreement` says how far they agree.
        """
        sheets = sorted(
            (sheet for path in paths for sheet in read_sheets(path)), key=lambda s: s.stamp.number
        )
        others = read_sheets(second) if second is not None else []
        draws, answers = list(self.draws), list(self.answers)
        del draws[len(answers) :]  # a draw that waits is the one that the sheet brings back
        for sheet in sheets:
            self._check(sheet, len(draws))
            drawn = self._drawn(sheet, draws)
            for other in (o for o in others if str(o.stamp) == str(sheet.stamp)):
                self._merge(sheet, other)
            drawn, values = self._filled(sheet, drawn)
            draws.append(drawn)
            answers.append(values)
            self.notes += sheet.notes
        if others and self.agreement is None:
            raise InputError(f"{second} is not a second copy of {sheets[0].source}.")
        self.draws, self.answers = draws, answers
        return self

    def audit(self, *, threshold: float = 0.5) -> Audit:
        """Audit all rounds that have answers."""
        if not self.answers:
            raise InputError("Review: there are no answers yet.")
        if self._partial:
            raise InputError(
                "Review: an audit needs the model that the rows were drawn with: make the review "
                "from its probabilities, then read the sheets."
            )
        draws = self.draws[: len(self.answers)]
        return audit(self.probability, draws, self.answers, threshold=threshold, known=self.known)

    def _stamp(self, drawn: Draw) -> Stamp:
        left = self.probability[~self._excluded(self.draws[: self.draws.index(drawn)])]
        sizes = drawn.size, self.probability.size, left.size, round(float(left.sum()), 4)
        return Stamp(len(self.draws), drawn.purpose, *sizes, self._digest, self.model)

    def _excluded(self, draws: Sequence[Draw]) -> Any:
        mask = ~np.isnan(self.known)
        for drawn in draws:
            mask[drawn.rows] = True
        return mask

    def _check(self, sheet: Sheet, before: int) -> None:
        stamp, source, size = sheet.stamp, sheet.source, self.probability.size
        changed = "the data changed since the draw: it had"
        if size != stamp.N:
            hint = (
                "Answers to a list (--top) speak of it alone: read them with that --top."
                if size > stamp.N
                else "A sheet that was drawn without --top is read without it."
            )
            raise InputError(
                f"{source}: {changed} {stamp.N} rows, and {size} are here. Use the old file, or "
                f"draw again. {hint}"
            )
        if stamp.number <= before:
            raise InputError(
                f"{source}: draw {stamp.number} was read twice. Pass a second reviewer's sheet as "
                "second (--second)."
            )
        if stamp.number > before + 1:
            raise InputError(
                f"{source} is draw {stamp.number}, and draw {before + 1} is missing: pass the "
                "sheets of all rounds."
            )
        if stamp.model and self.model and stamp.model != self.model:
            raise InputError(
                f"{source}: the rows were drawn with another model ({stamp.model}, not "
                f"{self.model}). Use that model, or draw again; --known keeps the answers as known."
            )
        unknown = sorted(set(sheet.ids) - self._rows_by_id().keys())
        if unknown:
            raise InputError(
                f"{source}: ids that are not in the data: {len(unknown)}, such as {unknown[0]!r}. "
                "Use the data file that the rows were drawn from."
            )
        if stamp.ids != self._digest:
            raise InputError(f"{source}: {changed} other ids. Use the old file, or draw again.")

    def _drawn(self, sheet: Sheet, draws: Sequence[Draw]) -> Draw:
        """Return the draw of a sheet, checked against probabilities and chances."""
        at = self._rows_by_id()
        rows = np.array([at[id_] for id_ in sheet.ids], dtype=np.int64)
        p = self.probability[rows]
        if np.abs(p - sheet.probability).max() > _CLOSE:
            raise InputError(
                f"{sheet.source}: the rows were drawn with other probabilities: another model, or "
                "cells that changed since. Use the old model and data, or draw again."
            )
        stamp, excluded = sheet.stamp, np.flatnonzero(self._excluded(draws))
        modelled = bool(np.ptp(self.probability) > 0)
        chance = np.array(sheet.chance)
        drawn = Draw(
            rows, chance, self.probability.size, excluded, stamp.purpose, p, stamp.size, modelled
        )
        expected = drawn.chances(self.probability)[rows] if drawn.estimates else np.ones(rows.size)
        others = drawn.N - excluded.size != stamp.left
        if others or not (self._partial or np.allclose(chance, expected, rtol=0.02, atol=1e-9)):
            raise InputError(
                f"{sheet.source}: the chances are not those of this draw: the column chance was "
                "changed, or other rows were known then. Pass the same labels and the same --known."
            )
        return drawn

    def _merge(self, sheet: Sheet, other: Sheet) -> None:
        at = dict(zip(other.ids, other.answers, strict=True))
        both = [
            [np.nan if value is None else value for value in values]
            for values in (sheet.answers, [at[id_] for id_ in sheet.ids])
        ]
        self.agreement = agreement(*both)
        sheet.answers = [float(value) for value in self.agreement.merged]
        differ = self.agreement.rows - self.agreement.agreed
        sheet.notes.append(
            f"{sheet.source}: the reviewers differ on {differ} of {self.agreement.rows} rows, "
            f"which count as don't know (kappa {self.agreement.kappa})."
        )

    def _filled(self, sheet: Sheet, drawn: Draw) -> tuple[Draw, FloatArray]:
        blank = np.array([value is None for value in sheet.answers])
        values = np.array([np.nan if v is None else v for v in sheet.answers], dtype=np.float64)
        filled = int((~blank).sum())
        if filled == 0:
            raise InputError(f"{sheet.source}: no row of draw {sheet.stamp.number} is answered.")
        if filled == blank.size:
            return drawn, values
        rest = blank.size - filled
        if not blank[:filled].any():
            sheet.notes.append(
                f"{sheet.source}: the last {rest} rows are blank: draw {sheet.stamp.number} counts "
                f"as one of {filled} rows."
            )
            return drawn.first(filled), values[:filled]
        sheet.notes.append(
            f"{sheet.source}: {rest} rows between answered ones are blank and count as don't know."
        )
        return drawn, values

    def _rows_by_id(self) -> dict[str, int]:
        return {id_: i for i, id_ in enumerate(self.ids)}


def _ids(ids: Any, n_rows: int) -> list[str]:
    if ids is None:
        return [str(i) for i in range(n_rows)]
    names = [str(id_) for id_ in np.asarray(ids, dtype=object).ravel()]
    if len(names) != n_rows:
        raise InputError(f"Review: {len(names)} ids were given for {n_rows} rows.")
    if len(set(names)) != n_rows:
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InputError(
            f"Review: the id {twice!r} occurs twice: answers cannot be matched to rows. Use a "
            "column without repeats, or none."
        )
    return names
