"""CSV text: separator, quotes and encoding are detected, and no row is lost silently.

pyarrow skips blank lines, and an unclosed quote swallows every row after it. So the bytes are
looked through first, which is quick, and where they look wrong the text is read again slowly, by
Python's own reader, which knows the line. pyarrow then reads the file by its name: a thread of its
own that reads through Python could outlive the interpreter. A text in another encoding than UTF-8
is copied to UTF-8 first.
"""

from __future__ import annotations

import codecs
import csv
import io
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nnpu.data.packed import open_arrow, open_text
from nnpu.parameters import InputError, ParameterError, shown
from nnpu.terminal import how_many

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "Dialect",
    "Utf8Text",
    "as_utf8",
    "check_encoding",
    "check_unique",
    "damaged_text",
    "explained",
    "fault",
    "long_cells",
    "one_byte",
    "parse_options",
    "read_batches",
    "recode",
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
    if text.suspicious(dialect.quote) and (message := fault(text, dialect)):
        raise InputError(message)
    try:
        yield dialect
    except pa.ArrowInvalid as error:
        reason = " ".join(str(error).split())[:200]
        unknown = f"{text.source} is not a CSV table ({reason})."
        if "Empty CSV file" in reason:  # a header without a line break
            unknown = f"{text.source} has no rows."

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


_SNIFFED = 1 << 16  # bytes at the beginning of a text that are looked at
_LONGEST_HEADER = 1 << 24  # bytes: a million names
LOOKED = 1 << 20  # bytes that are looked through together
_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass
class Utf8Text:
    """A file of UTF-8 text that was looked through once.

    Parameters
    ----------
    source : Path
        The user's file, for messages.
    path : Path
        The file to read: the same, or a copy in UTF-8.
    encoding : str
        Of the user's file.
    """

    source: Path
    path: Path
    encoding: str
    quotes: int = 0
    ticks: int = 0  # single quotes
    blank: bool = False
    longest_line: int = 0  # of the beginning
    head: bytes = b""

    def suspicious(self, quote: str) -> bool:
        """Return whether a row may be lost: an open quote, or a blank line."""
        return (self.quotes if quote == '"' else self.ticks) % 2 == 1 or self.blank


@contextmanager
def as_utf8(source: Path, encoding: str | None) -> Iterator[Utf8Text]:
    """Yield the text as UTF-8, looked through; other encodings are copied for the time."""
    given = None
    if encoding is not None:
        given = check_encoding(encoding)
    head = _sniff(source, given)
    guess = given or _encoding(head)
    if guess == "utf-8":
        text = Utf8Text(source, source, "utf-8", head=head)
        line = _look_through(text)
        if line is None:
            yield text
            return
        if given:
            raise InputError(f"{source}, line {line}: not UTF-8 text; give its --encoding.")

        guess = one_byte(source)

    with tempfile.TemporaryDirectory(prefix="nnpu-") as folder:
        copy = Path(folder) / "text.csv"
        recode(source, copy, guess)
        text = Utf8Text(source, copy, guess, head=_sniff(copy, "utf-8"))
        _look_through(text)
        yield text


def _sniff(source: Path, encoding: str | None) -> bytes:
    """First bytes of the text; an error if they cannot be the beginning of a table."""
    with damaged_text(source), open_text(source) as stream:
        head = stream.read(_SNIFFED)
        if b"\n" not in head:  # a header of thousands of names
            head += stream.readline(_LONGEST_HEADER)
    for mark in _MARKS:
        head = head.removeprefix(mark) if mark == codecs.BOM_UTF8 else head
    if not head.strip():
        raise InputError(f"{source} is empty.")
    if b"\0" in head and (encoding or _encoding(head)) in ("utf-8", "cp1252", "latin-1"):
        raise InputError(f"{source} is a binary file, not a CSV table.")
    return head


def _encoding(head: bytes) -> str:
    """Return UTF-16 if the beginning looks like it; what is not UTF-8 shows later."""
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    even, odd = head[0:2000:2], head[1:2000:2]
    if odd and odd.count(0) > 0.7 * len(odd) and not even.count(0):
        return "utf-16-le"
    if even and even.count(0) > 0.7 * len(even) and not odd.count(0):
        return "utf-16-be"
    return "utf-8"


def _look_through(text: Utf8Text) -> int | None:
    """Count what may lose a row; return the line of the first byte that is not UTF-8, if any."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    last, line = b"\n", 1
    text.longest_line = max(len(part) for part in text.head.split(b"\n"))
    with damaged_text(text.source), open_text(text.path) as stream:
        while True:
            block = stream.read(LOOKED)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].count(b"\n")
            if not block:
                return None
            if b"\0" in block:
                raise InputError(f"{text.source} is a binary file, not a CSV table.")
            text.quotes += block.count(b'"')
            text.ticks += block.count(b"'")
            seam = last + block
            text.blank |= b"\n\n" in seam or b"\n\r" in seam or b"\r\r" in seam
            last, line = seam[-1:], line + block.count(b"\n")


@contextmanager
def damaged_text(source: Path) -> Iterator[None]:
    """Turn the errors of a broken file into one line."""
    try:
        yield
    except (OSError, EOFError) as error:
        raise InputError(f"{source} is damaged or incomplete ({error}).") from error


_NOT_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"


def check_encoding(encoding: str) -> str:
    """Return Python's name of an encoding; `ParameterError` if it is unknown."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise ParameterError(
            "The 'encoding' parameter must be the name of a text encoding, such as utf-8, utf-16 "
            f"or cp1252. Got {shown(encoding)} instead."
        ) from None
    return {"utf-8-sig": "utf-8"}.get(name, name)


def one_byte(source: Path) -> str:
    """Return which encoding of one byte a character a text has that is not UTF-8."""
    with open_text(source) as stream:
        while block := stream.read(LOOKED):
            if any(byte in block for byte in _NOT_IN_CP1252):
                return "latin-1"
    return "cp1252"


def recode(source: Path, copy: Path, encoding: str) -> None:
    """Copy a text of another encoding as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    with damaged_text(source), open_text(source) as stream, copy.open("wb") as out:
        while True:
            block = stream.read(LOOKED)
            try:
                out.write(decoder.decode(block, final=not block).encode())
            except UnicodeError as error:
                raise InputError(f"{source} is not {encoding} text ({error}).") from error
            if not block:
                return


def fault(text: Utf8Text, dialect: Dialect) -> str | None:
    """Return what is wrong with the first wrong row, and its line number; None if nothing is."""
    source = text.source
    line = 1  # of the row that is being read
    blank = 0  # line of the first blank line that no row has followed yet
    expected = 0
    with (
        long_cells(),
        io.TextIOWrapper(cast("Any", open_text(text.path)), "utf-8-sig", newline="") as lines,
    ):
        for _ in range(dialect.skip):
            lines.readline()
        reader = csv.reader(lines, delimiter=dialect.sep, quotechar=dialect.quote, strict=True)
        try:
            for row in reader:
                number = reader.line_num + dialect.skip
                if not row:
                    blank = blank or number
                elif blank and expected:
                    return f"{source}, line {blank} is blank; remove it."
                else:
                    blank, expected = 0, expected or len(row)
                if row and len(row) != expected:
                    return (
                        f"{source}, line {number}: {how_many(len(row), 'cell')} instead of "
                        f"{expected}, the number of names in the header."
                    )
                line = number + 1
        except csv.Error as error:
            long = "a cell is very long, or " if "limit" in str(error) else ""
            return (
                f"{source}, line {line}: {long}a quote ({dialect.quote}) is opened and not closed, "
                "or stands alone in a quoted cell; close it, or double it."
            )
    return None
