"""What a command reads and writes: no output may be one of its inputs, nor another output.

A command's paths have one of four types: `Source` is read, `Result` is a file that is written,
`ModelOut` a model folder that is replaced, `ResultFolder` a folder in which several are written.
`Command` checks them before anything else is done.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any, NamedTuple

import click

from nnpu.parameters import InputError
from nnpu.storage import CONFIG, REPORT, RUN, SUMS, WEIGHTS, check_target, is_there

__all__ = ["Command", "ModelOut", "Result", "ResultFolder", "Source", "also_read"]

_ALSO_READ = "nnpu.also_read"  # the key in click's context of inputs that are not parameters


class Source(click.Path):
    """A file or folder that is read; ``model`` if it is a model folder."""

    def __init__(self, *, model: bool = False, **options: Any) -> None:
        super().__init__(path_type=Path, **options)
        self.model = model


class Result(click.Path):
    """A file that is written; with ``pictures`` its name before .png and .svg."""

    def __init__(self, *, pictures: bool = False, **options: Any) -> None:
        super().__init__(path_type=Path, **options)
        self.pictures = pictures


class ModelOut(Result):
    """A model folder that is written."""


class ResultFolder(Result):
    """A folder in which `files`, and the model folder `model`, are written by these names."""

    def __init__(self, *, files: tuple[str, ...], model: str | None = None) -> None:
        super().__init__(file_okay=False)
        self.files, self.model = files, model


class _Output(NamedTuple):
    option: str
    path: Path
    is_folder: bool


class Command(click.Command):
    """A command that checks its paths before it starts."""

    def invoke(self, ctx: click.Context) -> Any:
        """Check the paths, then call the command."""
        sources, outputs = _paths(ctx)
        inputs = [path for source in sources for path in _files_of(source)]
        for output in outputs:
            if str(output.path) in ("-", "/dev/stdout"):
                continue
            for source in inputs:
                _check_apart(output, source)
            _check_writable(output)
        _check_distinct(outputs)
        return super().invoke(ctx)


def also_read(context: click.Context, path: Path) -> None:
    """Note an input that is not one of the command's parameters, such as its configuration."""
    context.meta.setdefault(_ALSO_READ, []).append(path)


class _Input(NamedTuple):
    path: Path
    is_model: bool
    is_pattern: bool = False  # or may be one


def _files_of(source: _Input) -> list[Path]:
    """Return the files of an input; `InputError` if it is not there."""
    path = source.path
    if source.is_pattern and not path.exists() and (files := sorted(glob.glob(str(path)))):
        return [Path(file) for file in files]
    if source.is_model:
        if not is_there(path):
            raise InputError(f"{path} is not a model folder: there is no such folder.")
        return [path / name for name in (WEIGHTS, CONFIG, SUMS)]
    if str(path) != "-" and not path.exists():
        raise InputError(f"{path} does not exist, or is not a file.")
    return [path]


def _paths(context: click.Context) -> tuple[list[_Input], list[_Output]]:
    inputs = [_Input(path, False) for path in context.meta.get(_ALSO_READ, [])]
    outputs: list[_Output] = []
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        for path in value if isinstance(value, tuple) else (value,):
            if not isinstance(path, Path):
                continue
            kind, option = parameter.type, parameter.opts[-1]
            if isinstance(kind, Source):
                inputs.append(_Input(path, kind.model, bool(context.params.get("dask"))))
            elif isinstance(kind, ResultFolder):
                outputs += [_Output(option, path / name, False) for name in kind.files]
                if kind.model is not None:
                    outputs.append(_Output(option, path / kind.model, True))
            elif isinstance(kind, Result):
                is_folder = isinstance(kind, ModelOut)
                files = _pictures(path) if kind.pictures else [path]
                outputs += [_Output(option, file, is_folder) for file in files]
    return inputs, outputs


def _pictures(path: Path) -> list[Path]:
    """Return the files that `nnpu.report.save_figure` writes."""
    stem = path.with_suffix("") if path.suffix in (".png", ".svg") else path
    return [stem.with_name(stem.name + suffix) for suffix in (".png", ".svg")]


def _check_apart(output: _Output, source: Path) -> None:
    """Raise `InputError` if writing `output` would change what is read."""
    if not source.exists():
        return
    path, real, place = output.path, _real(output.path), _real(source)
    if path.exists() and path.samefile(source):
        raise InputError(
            f"{path} is an input of this command and would be overwritten; choose another "
            f"{output.option}."
        )
    if source.is_dir() and not output.is_folder and real.is_relative_to(place):
        raise InputError(
            f"{path} is in {source}, an input of this command; choose another {output.option}."
        )
    # A fit may be repeated by the configuration that it left in the folder.
    if output.is_folder and place.is_relative_to(real) and place != real / RUN:
        raise InputError(
            f"{source} is an input of this command and in {path}, which would be replaced; choose "
            f"another {output.option}."
        )


def _check_distinct(outputs: list[_Output]) -> None:
    """Raise `InputError` if one output would overwrite another."""
    for number, one in enumerate(outputs):
        for other in outputs[:number]:
            folder, file = (other, one) if other.is_folder else (one, other)
            if _real(one.path) == _real(other.path):
                raise InputError(
                    f"{one.option} and {other.option} are both {one.path}; choose two names."
                )
            place = _real(file.path)
            inside = folder.is_folder and place.is_relative_to(_real(folder.path))
            if inside and place != _real(folder.path) / REPORT:
                raise InputError(
                    f"{file.path} is in the model folder, where only {REPORT} can go; choose "
                    f"another {file.option}."
                )


def _check_writable(output: _Output) -> None:
    """Raise `InputError` if nothing can be written there: before the work, not after it."""
    path = check_target(output.path) if output.is_folder else output.path
    above = path.absolute().parent
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        raise InputError(
            f"{path} cannot be written: {above} is not a folder; choose another {output.option}."
        )
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(
            f"{path} cannot be written: no permission for {above}; choose another {output.option}."
        )


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
