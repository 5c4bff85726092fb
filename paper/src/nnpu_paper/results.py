"""What a command leaves: tidy tables (CSV files), in a folder in which only ours is replaced."""

from __future__ import annotations

import csv
import hashlib
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nnpu.files import atomic_path, sync, temporary_beside, write_text
from nnpu.parameters import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["OutputFolder", "Row", "read_results", "write_results"]

Row = dict[str, float | int | str | bool]


def write_results(path: str | os.PathLike[str], rows: Sequence[Mapping[str, object]]) -> Path:
    r"""Write the rows as CSV, atomically; the first row's keys are the columns.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "table.csv"
    >>> write_results(target, [{"n": 10, "bias": 0.25}]).read_text()
    'n,bias\n10,0.25\n'
    """
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return Path(path)


def read_results(path: str | os.PathLike[str]) -> list[Row]:
    """Read what `write_results` wrote; a cell that is a number becomes one.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "table.csv"
    >>> read_results(write_results(target, [{"method": "nnPU", "epoch": 1, "value": 0.25}]))
    [{'method': 'nnPU', 'epoch': 1, 'value': 0.25}]
    """
    with Path(path).open(encoding="utf-8", newline="") as file:
        return [{name: _cell(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _cell(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


class OutputFolder:
    """A folder in which a command replaces what it wrote before, and nothing else.

    What was written is recorded, name and SHA-256, in a hidden file of the command's own. A file
    that is not in the record, or was changed since, is somebody's: the command refuses before any
    work. New files are recorded before they take their places, so a kill at any moment leaves
    none that the next call does not know.

    Parameters
    ----------
    path : Path
        The folder; it is made if need be.
    command : str
        Who writes; commands with different names can share a folder.
    names : sequence of str
        The files that the command writes.

    Raises
    ------
    InputError
        If one of these files is there and is not the command's own.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> with OutputFolder(place, "demo", ["a.txt"]).writing() as new:
    ...     _ = (new / "a.txt").write_text("1")
    >>> _ = (place / "a.txt").write_text("my own words")
    >>> OutputFolder(place, "demo", ["a.txt"])
    Traceback (most recent call last):
    nnpu.parameters.InputError: ...a.txt is not a file that nnpu-paper demo wrote, or was changed
    since: move it away, or choose another --out.
    """

    def __init__(self, path: Path, command: str, names: Sequence[str]) -> None:
        self.path, self.command, self.names = path, command, names
        self._record = path / f".nnpu-paper-{command}"
        path.mkdir(parents=True, exist_ok=True)
        self._check()

    def _known(self) -> list[tuple[str, str]]:
        """Return what was written: SHA-256 and name."""
        if not self._record.is_file():
            return []
        lines = self._record.read_text(encoding="utf-8").splitlines()
        return [(line[:64], line[66:]) for line in lines]

    def _check(self) -> None:
        known = set(self._known())
        for name in self.names:
            target = self.path / name
            there = target.exists() or target.is_symlink()
            if there and not (target.is_file() and (_sha256(target), name) in known):
                raise InputError(
                    f"{target} is not a file that nnpu-paper {self.command} wrote, or was changed "
                    "since: move it away, or choose another --out."
                )

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Yield an empty folder; on success the files in it take their places."""
        new = temporary_beside(self.path / "new")
        new.mkdir()
        try:
            yield new
            files = sorted(new.iterdir())
            self._check()  # hours may have passed
            written = [(_sha256(file), file.name) for file in files]
            self._remember([*self._known(), *written])
            for file in files:
                file.replace(self.path / file.name)
            sync(self.path)
            replaced = {file.name for file in files}
            self._remember([pair for pair in self._known() if pair[1] not in replaced] + written)
        finally:
            shutil.rmtree(new)

    def _remember(self, pairs: Sequence[tuple[str, str]]) -> None:
        lines = (f"{digest}  {name}\n" for name, digest in sorted({(n, d) for d, n in pairs}))
        write_text(self._record, "".join(lines))


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
