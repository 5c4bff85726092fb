"""CSV text: its header is checked, its rows come in record batches, and none is lost silently.

pyarrow skips blank lines, and an unclosed quote swallows every row after it. So the bytes are
watched on their way to it (counting is cheap), and where they look wrong the text is read again
slowly, by Python's own reader, which knows the line.
"""

from __future__ import annotations

import csv
import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from nnpu.data.archives import open_text
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["check_unique", "read_batches", "read_header", "read_typed"]

_SNIFFED = 1 << 16  # bytes at the beginning of a text that are looked at
_LONGEST_HEADER = 1 << 24
_BLOCK = 1 << 18  # bytes of text that become one record batch; no row may be longer
_LONG_ROW, _LARGE_BLOCK = 1 << 12, 1 << 22  # where rows are that long, the batches are larger
_MARK = b"\xef\xbb\xbf"


def read_header(source: Path) -> list[str]:
    """Return the column names; an error if the file cannot be a table of UTF-8 text."""
    head = _sniff(source)
    try:
        text = head.removeprefix(_MARK).decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        cut = len(head) >= _SNIFFED and error.start > len(head) - 8  # in two, by our look at it
        if not cut:
            line = head[: error.start].count(b"\n") + 1
            raise InputError(f"{source}, line {line}: not UTF-8 text; save it as UTF-8.") from None
        text = head[: error.start].decode("utf-8", "ignore")
    names = next(row for row in csv.reader(io.StringIO(text, newline="")) if row)
    numbered = names == [str(number) for number in range(len(names))]  # pandas' default names
    if all(_is_number(name) for name in names) and not numbered:
        raise InputError(f"{source}: the first line holds numbers; add a header line of names.")
    if len(names) == 1 and (mark := next((mark for mark in ";\t|" if mark in names[0]), None)):
        raise InputError(f"{source} is separated by {mark!r}; save it with commas.")
    check_unique(source, names)
    return names


def check_unique(source: Path, names: Iterable[str]) -> None:
    """Raise `InputError` if a name occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{source}: two columns are named {name!r}; rename one.")
        seen.add(name)


def read_typed(source: Path) -> Any:
    """Return the whole text as a pyarrow table whose types pyarrow guesses."""
    import pyarrow as pa
    import pyarrow.csv

    read_header(source)
    with _watched(source) as stream:
        table = pyarrow.csv.read_csv(stream, parse_options=_parse_options())
        if pa.binary() in table.schema.types:  # pyarrow's guess for what is not UTF-8
            raise pa.ArrowInvalid("a column is not UTF-8 text")
    return table


def read_batches(source: Path) -> Iterator[Any]:
    """Yield pyarrow record batches of strings, an empty cell being null, with bounded memory.

    Types are not guessed here: pyarrow would guess them from the first block alone.

    Parameters
    ----------
    source : Path
        The text, plain or packed.
    """
    import pyarrow as pa
    import pyarrow.csv

    names = read_header(source)
    block = _block_size(source)
    with _watched(source) as stream:
        reader = pyarrow.csv.open_csv(
            stream,
            # Threads would read ahead, which costs memory and gains little here.
            read_options=pyarrow.csv.ReadOptions(block_size=block, use_threads=False),
            parse_options=_parse_options(),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
        yield from reader


def _block_size(source: Path) -> int:
    longest = max(len(line) for line in _sniff(source).split(b"\n"))
    return _BLOCK if longest < _LONG_ROW else max(_LARGE_BLOCK, 8 * longest)


def _parse_options() -> Any:
    import pyarrow.csv

    return pyarrow.csv.ParseOptions(newlines_in_values=True)


class _Watch(io.RawIOBase):
    """A stream that counts, as it is read, what may have lost a row."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.quotes = 0
        self.blank = self.binary = False
        self._last = b"\n"

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block: bytes = self.stream.read(size)
        self.quotes += block.count(b'"')
        seam = self._last + block
        self.blank |= b"\n\n" in seam or b"\n\r" in seam or b"\r\r" in seam
        self.binary |= b"\0" in block
        self._last = seam[-1:]
        return block

    @property
    def suspicious(self) -> bool:
        return self.quotes % 2 == 1 or self.blank or self.binary


@contextmanager
def _watched(source: Path) -> Iterator[Any]:
    """Yield a stream for pyarrow; its errors, and lost rows, become messages with a line."""
    import pyarrow as pa

    try:
        with open_text(source) as raw:
            watch = _Watch(raw)
            yield pa.PythonFile(cast("Any", watch), mode="r")
    except pa.ArrowInvalid as error:
        raise InputError(_fault(source) or _unknown(source, error)) from error
    except (OSError, EOFError) as error:
        raise InputError(f"{source} is damaged or incomplete ({error}).") from error
    if watch.suspicious and (message := _fault(source)):
        raise InputError(message)


def _unknown(source: Path, error: Exception) -> str:
    if "straddling" in str(error):  # pyarrow's word for a row that no block can hold
        return f"{source}: a row is longer than {_BLOCK:,} bytes; shorten its cells."
    return f"{source} is not a CSV table ({' '.join(str(error).split())[:200]})."


def _sniff(source: Path) -> bytes:
    """First bytes of the text; an error if they cannot be the beginning of a UTF-8 table."""
    try:
        with open_text(source) as stream:
            head = stream.read(_SNIFFED)
            if b"\n" not in head:  # a header of thousands of names
                head += stream.readline(_LONGEST_HEADER)
    except (OSError, EOFError) as error:
        raise InputError(f"{source} is damaged or incomplete ({error}).") from error
    if not head.removeprefix(_MARK).strip():
        raise InputError(f"{source} is empty.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{source} is UTF-16 text; save it as UTF-8.")
    if b"\0" in head:
        raise InputError(f"{source} is a binary file, not a CSV table.")
    return head


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _fault(source: Path) -> str | None:
    """Return what is wrong with the first wrong row, and its line number; None if nothing is."""
    line = 1  # of the row that is being read
    blank = 0  # line of the first blank line that no row has followed yet
    expected = 0
    with io.TextIOWrapper(_Lines(source), "utf-8-sig", newline="") as text:
        reader = csv.reader(text, strict=True)
        try:
            for row in reader:
                if not row:
                    blank = blank or reader.line_num
                elif blank and expected:
                    return f"{source}, line {blank} is blank; remove it."
                else:
                    blank, expected = 0, expected or len(row)
                if row and len(row) != expected:
                    return (
                        f"{source}, line {reader.line_num}: {len(row)} cells instead of "
                        f"{expected}, the number of the header's names."
                    )
                line = reader.line_num + 1
        except UnicodeDecodeError:
            return f"{source}, line {_undecodable(source)}: not UTF-8 text; save it as UTF-8."
        except csv.Error as error:
            long = "a cell is very long, or " if "limit" in str(error) else ""
            return (
                f'{source}, line {line}: {long}a quote (") is opened and not closed, or stands '
                "alone in a quoted cell; close it, or double it."
            )
    return None


class _Lines(io.BufferedReader):
    """The text as bytes; a NUL in it is an error of ours, not of the csv module."""

    def __init__(self, source: Path) -> None:
        super().__init__(cast("Any", open_text(source)))
        self.source = source

    def read1(self, size: int = -1) -> bytes:
        block = super().read1(size)
        if b"\0" in block:
            raise InputError(f"{self.source} is a binary file, not a CSV table.")
        return block


def _undecodable(source: Path) -> int:
    with open_text(source) as stream:
        for number, content in enumerate(stream, start=1):
            try:
                content.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1
