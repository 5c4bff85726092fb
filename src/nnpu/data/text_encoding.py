"""Text files as UTF-8: the encoding is detected, and the bytes are looked through once."""

from __future__ import annotations

import codecs
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nnpu.data.packed import open_text
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Utf8Text", "as_utf8", "damaged_text"]

_SNIFFED = 1 << 16  # bytes at the beginning of a text that are looked at
_LONGEST_HEADER = 1 << 24
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
        from nnpu.data.recoding import check_encoding

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
        from nnpu.data.recoding import one_byte

        guess = one_byte(source)
    from nnpu.data.recoding import recode

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
