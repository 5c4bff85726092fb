"""The command line: arguments in, one call, messages out.

Only click is imported here; a command's module is loaded when the command is run, so
``nnpu --help`` is instant.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from contextlib import suppress
from typing import Any

import click

from nnpu import __version__
from nnpu.extras import MissingExtraError
from nnpu.parameters import InputError, ParameterError
from nnpu.terminal import visible

__all__ = ["main", "run_command"]

# In the order in which `nnpu --help` lists them: the module nnpu.cli.NAME holds a command NAME.
_COMMANDS = {
    "demo": "Fit a model to a bundled table and write its report, in seconds.",
    "fit": "Learn from a table with labelled positives and unlabelled rows.",
    "predict": "Score every row of a table with a fitted model.",
    "evaluate": "Evaluate a fitted model without true labels.",
    "prior": "Estimate the share of positives in a table.",
    "review": "Choose rows for a person to check, and use the answers.",
    "columns": "Show what a fit would do with each column of a table.",
    "export": "Write a fitted model as an ONNX graph.",
    "plan": "Show how precise a PU risk estimate will be, and what data to collect.",
}
_NO_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        if cmd_name != "fit" and "TORCHELASTIC_RUN_ID" in os.environ:
            raise InputError(
                f"nnpu {cmd_name} is not shared between processes: start it without torchrun."
            )
        module = importlib.import_module(f"nnpu.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nnpu")
def cli() -> None:
    """Positive-unlabelled learning: a classifier from labelled positives and unlabelled data."""


def main(args: list[str] | None = None) -> Any:
    """Run the command line ``nnpu``.

    Parameters
    ----------
    args : list of str, optional
        The arguments; by default those of the process.
    """
    return run_command(cli, "nnpu", args)


def run_command(command: click.Command, name: str, args: list[str] | None = None) -> Any:
    """Run a command line of click's as ``nnpu`` runs: each error is one line, and a status.

    The status is 0, 2 for an error of usage or input (`InputError`, `ParameterError`, a file that
    cannot be read or written), 130 for Ctrl-C. Without arguments the help is printed.

    Parameters
    ----------
    command : click.Command
        The command or group.
    name : str
        What it is called in its help and before each error.
    args : list of str, optional
        The arguments; by default those of the process.
    """
    with suppress(AttributeError, OSError):  # Windows does not know its load
        if os.getloadavg()[0] > (os.cpu_count() or 1):
            # OpenMP's threads spin while they wait, which takes the most time on a busy machine.
            os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    for stream in (sys.stdout, sys.stderr):  # a locale that cannot write ü must not cost a model
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        args = sys.argv[1:] if args is None else args
        return command.main(args=args or ["--help"], prog_name=name, standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        # click puts its own exception in the place of ours.
        cause = error.__context__ if isinstance(error, click.exceptions.Abort) else error
        _fail(name, str(cause or "") or "Interrupted.", 130)
    except click.UsageError as error:
        hint = f" See '{error.ctx.command_path} --help'." if error.ctx else ""
        _fail(name, error.format_message() + hint, 2)
    except BrokenPipeError:  # whoever read our output has gone: all files are written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        advice = "; make room, or choose another place" if error.errno in _NO_PLACE else ""
        where = f"{error.filename}: " if error.filename else ""
        _fail(name, f"{where}{error.strerror or error}{advice}.", 2)
    except (InputError, ParameterError, MissingExtraError) as error:
        _fail(name, str(error), 2)


def _fail(name: str, message: str, status: int) -> None:
    click.echo(f"{name}: {visible(' '.join(message.split()))}", err=True)
    sys.exit(status)
