"""CSV text: separator, quotes and encoding are detected, and no row is lost silently.

pyarrow skips blank lines, and an unclosed quote swallows every row after it. So the bytes are
looked through first, which is quick, and where they look wrong the text is read again slowly, by
Python's own reader, which knows the line. pyarrow then reads the file by its name: a thread of its
own that reads through Python could outlive the interpreter.
"""

from __future__ import annotations

import csv
import io
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nnpu.data.packed import open_arrow
from nnpu.data.text_encoding import as_utf8
from nnpu.parameters import InputError, ParameterError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from nnpu.data.text_encoding import Utf8Text

__all__ = [
    "Dialect",
    "check_unique",
    "explained",
    "long_cells",
    "parse_options",
    "read_batches",
]

_BLOCK = 1 << 19  # bytes of text that become one record batch, unless a row is longer
_LONGEST_CELL = 1 << 26  # characters: what is longer is a quote that was not closed
_SEPARATORS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Dialect:
    """How a text is written.

    Parameters
    ----------
    names : tuple of str
        The header.
    sep, quote : str
        What separates cells, and what encloses one.
    encoding : str
        Of the file.
    skip : int
        Number of lines before the header: one if it says ``sep=;``, as spreadsheets write it.
    """

    names: tuple[str, ...]
    sep: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    skip: int = 0

    def words(self) -> str:
        """Say what is unusual, or nothing.

        Examples
        --------
        >>> Dialect(("a",), sep=";", encoding="cp1252").words()
        "separator ';', encoding cp1252"
        """
        parts = [f"separator {self.sep!r}"] if self.sep != "," else []
        parts += [f"quotes {self.quote}"] if self.quote != '"' else []
        parts += [f"encoding {self.encoding}"] if self.encoding != "utf-8" else []
        return ", ".join(parts)


def check_unique(source: object, names: Iterable[str]) -> None:
    """Raise `InputError` if a name occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{source}: two columns are named {name!r}; rename one.")
        seen.add(name)


def read_batches(
    source: Path, sep: str | None = None, encoding: str | None = None
) -> Iterator[tuple[Dialect, Any]]:
    """Yield pyarrow record batches of strings, an empty cell being null, with bounded memory.

    Types are not guessed here: pyarrow would guess them from the first block alone.

    Parameters
    ----------
    source : Path
        The text, plain or packed.
    sep, encoding : str, optional
        By default detected.
    """
    import pyarrow as pa

    with as_utf8(source, encoding) as text, explained(text, sep) as dialect:
        rows, block = 0, _BLOCK
        while True:
            try:
                for batch in _reader(text, dialect, block, rows):
                    rows += batch.num_rows
                    yield dialect, batch
                return
            except pa.ArrowInvalid as error:
                from nnpu.data.csv_faults import fault

                # pyarrow's word for a row that no block can hold: go on from it with larger ones.
                if "straddl" not in str(error) or fault(text, dialect):
                    raise
                block *= 8


def _reader(text: Utf8Text, dialect: Dialect, block: int, rows: int) -> Any:
    import pyarrow as pa
    import pyarrow.csv

    return pyarrow.csv.open_csv(
        open_arrow(text.path),
        # Threads would read ahead, which costs memory and gains little here.
        read_options=pyarrow.csv.ReadOptions(
            block_size=max(block, 2 * text.longest_line),
            use_threads=False,
            skip_rows=dialect.skip,
            skip_rows_after_names=rows,
        ),
        parse_options=parse_options(dialect),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(dialect.names, pa.large_string()),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def parse_options(dialect: Dialect) -> Any:
    """Return what pyarrow needs to know of a dialect."""
    import pyarrow.csv

    return pyarrow.csv.ParseOptions(
        delimiter=dialect.sep, quote_char=dialect.quote, newlines_in_values=True
    )


@contextmanager
def explained(text: Utf8Text, sep: str | None) -> Iterator[Dialect]:
    """Yield the dialect; pyarrow's errors, and lost rows, become messages with a line."""
    import pyarrow as pa

    dialect = _dialect(text, sep)
    if text.suspicious(dialect.quote):
        from nnpu.data.csv_faults import fault

        if message := fault(text, dialect):
            raise InputError(message)
    try:
        yield dialect
    except pa.ArrowInvalid as error:
        told = " ".join(str(error).split())[:200]
        unknown = f"{text.source} is not a CSV table ({told})."
        if "Empty CSV file" in told:  # a header without a line break
            unknown = f"{text.source} has no rows."
        from nnpu.data.csv_faults import fault

        raise InputError(fault(text, dialect) or unknown) from error
    except OSError as error:
        raise InputError(f"{text.source} is damaged or incomplete ({error}).") from error


def _dialect(text: Utf8Text, sep: str | None) -> Dialect:
    """Find the separator, the quotes and the names at the beginning of a text."""
    if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in "\r\n\"'"):
        raise ParameterError(
            f"The 'sep' parameter must be one character. Got {shown(sep)} instead."
        )
    head = text.head.decode("utf-8", "ignore")
    skip = 0
    if (first := head.split("\n", 1)[0].rstrip("\r").lower()).startswith("sep=") and len(
        first
    ) == 5:
        sep, skip, head = sep or first[4], 1, head.split("\n", 1)[1]
    if sep is None and text.source.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        sep = "\t"
    candidates = [(mark, quote) for mark in ([sep] if sep else _SEPARATORS) for quote in "\"'"]
    parsed = {pair: _first_rows(head, *pair) for pair in candidates}
    sep, quote = max(candidates, key=lambda pair: _fitness(parsed[pair], pair[1]))
    names = parsed[sep, quote][0]
    numbered = names == [str(number) for number in range(len(names))]  # pandas' default names
    if all(_is_number(name) for name in names) and not numbered:
        raise InputError(
            f"{text.source}: the first line holds numbers; add a header line of names."
        )
    check_unique(text.source, names)
    return Dialect(tuple(names), sep, quote, text.encoding, skip)


def _first_rows(head: str, sep: str, quote: str) -> list[list[str]]:
    rows = []
    with long_cells():
        try:
            reader = csv.reader(io.StringIO(head, newline=""), delimiter=sep, quotechar=quote)
            for row in reader:
                rows += [row] if row else []
                if len(rows) == 100:
                    break
        except csv.Error:
            pass
    return rows or [[""]]


def _fitness(rows: list[list[str]], quote: str) -> tuple[bool, int, bool]:
    """Return how good a separator is: rows as long as the header, many cells, the usual quote."""
    width = len(rows[0])
    complete = rows[:-1] if len(rows) > 2 else rows  # the last may be cut off
    agree = sum(len(row) == width for row in complete) >= 0.9 * len(complete)
    # Of two kinds of quotes, the one that leaves no quotes around the names.
    bare = not any(len(name) > 1 and name[0] == name[-1] and name[0] in "\"'" for name in rows[0])
    return (agree and width > 1 and bare, width if bare else 1, quote == '"')


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


@contextmanager
def long_cells() -> Iterator[None]:
    """Let Python's reader take longer cells than it does by default."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)
