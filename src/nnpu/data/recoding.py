"""Texts in other encodings than UTF-8: which one it is, and a copy in UTF-8."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from nnpu.data.packed import open_text
from nnpu.data.text_encoding import LOOKED, damaged_text
from nnpu.parameters import InputError, ParameterError, shown

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_encoding", "one_byte", "recode"]

_NOT_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"


def check_encoding(encoding: str) -> str:
    """Return the name of an encoding as Python has it; `ParameterError` if there is none."""
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
