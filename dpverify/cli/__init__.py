"""The command line: parses arguments, calls the library, prints what it returns. One module per group of commands."""

# Everything heavy is imported inside the commands, so that --help and a mistyped option answer at once.

from __future__ import annotations

import functools
import importlib
import io
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from dpverify.cli.formats import choose, offer_formats
from dpverify.cli.groups import on_few_columns, under_headings
from dpverify.cli.messages import as_typed, invoked, options_of, refuse_repeated
from dpverify.cli.protocol_names import known_name
from dpverify.optional import MissingPackageError, needing

__all__ = ["application", "main"]

_COMMANDS = {
    "budget": "plans.budget",
    "plan": "plans.plan",
    "least": "plans.least",
    "front": "plans.least",
    "means": "plans.means",
    "sums": "plans.sums",
    "design": "plans.design",
    "aggregate": "collections.aggregate",
    "account": "accounts.account",
    "amplify": "plans.amplify",
    "crowd": "plans.crowd",
    "rappor": "learners.rappor",
    "audit": "audits.audit",
    "canaries": "audits.canaries",
    "certify": "accounts.certify",
    "check": "accounts.check",
    "formula": "papers.formula",
    "theorems": "papers.theorems",
    "report": "pictures.report",
    "reproduce": "papers.reproduce",
    "serve": "pictures.serve",
    "classify": "learners.classify",
    "predict": "learners.classify",
    "decode": "learners.decode",
    "demo": "pictures.demo",
    "collect": "collections.collect",
    "rehearse": "collections.rehearse",
    "release": "collections.collect",
    "spend": "accounts.spending",
    "spent": "accounts.spending",
}
"""The module here of each command."""

_HEADINGS = {
    "From a budget to parameters": ("plan", "front", "least", "budget", "means", "sums", "design", "rappor"),
    "From parameters to what they guarantee": ("account", "amplify", "crowd", "certify", "check", "spend", "spent"),
    "From code to whether it keeps its word": ("audit", "canaries"),
    "From users' uploads to estimates": ("rehearse", "collect", "release", "aggregate"),
    "From users' points to a classifier": ("classify", "predict", "decode"),
    "What the papers say, and what holds": ("theorems", "formula", "reproduce"),
    "To look at": ("demo", "report", "serve"),
}
"""What --help lists, in this order."""

_WITHOUT_RESULT = ("check", "collect", "demo", "release", "report", "serve", "theorems errata", "theorems coverage")
"""Commands that print no result, and so have no options for its format."""

_NARROW = 52
"""Columns below which typer's help would be wider than the terminal."""

_FAULT, _INTERRUPTED = 70, 130
"""The exit statuses of a fault of our own (EX_SOFTWARE of sysexits.h), and after Ctrl-C."""


def _module(name: str) -> Any:
    return importlib.import_module(f"dpverify.cli.{name}")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"dpverify {version('dpverify')}")
        except PackageNotFoundError:
            typer.echo("dpverify, run from its source without being installed")
        raise typer.Exit


def dpverify(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    """Design, calibrate and check shuffle-model differential-privacy protocols.

    `dpverify demo` shows it at work; below the help of a command is an example of it.
    """


@functools.cache
def application(command: str | None = None) -> typer.Typer:
    """Return the application, or no more of it than the module of one command has: the others cost time to import."""
    app = typer.Typer(cls=under_headings(_HEADINGS), rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(dpverify)
    for name in dict.fromkeys(_COMMANDS.values()):
        if command is None or name == _COMMANDS[command]:
            # What is spent is typed as behind `dpverify account`.
            _module(name).register(*((app, _run) if name == "accounts.spending" else (app,)))
    return app


def _usage_error() -> type[Exception]:
    """Return the base class of typer's usage errors, which moved from click into typer."""
    return next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def _abortable(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Return a callback whose interruption is an Abort: typer would make it an exit status, which says nothing."""

    @functools.wraps(callback)
    def called(*values: Any, **options: Any) -> Any:
        try:
            return callback(*values, **options)
        except KeyboardInterrupt:
            raise typer.Abort from None

    return called


def _run(words: list[str]) -> int:
    """Run a command and return its exit status; bad input is a ValueError in the words of the command line."""
    typed = known_name(words[0], _COMMANDS) if words else None
    if words[:1] == ["account"] and _module("accounts.runs").AND in words:
        _module("accounts.days").account_together(_module("accounts.runs").typed_runs(words[1:], _run))
        sys.stdout.flush()
        return 0
    if typed == "theorems":
        words = _module("papers.theorems").in_full(words)
    program: Any = typer.main.get_command(application(typed))
    offer_formats(program, _WITHOUT_RESULT)
    command, words = invoked(program, words)
    if "--help" in words:
        command.epilog = _module("examples").below_help(words)
    command.callback = command.callback and _abortable(command.callback)
    options = options_of(command)
    refuse_repeated(words, options.values())
    columns = shutil.get_terminal_size().columns
    narrow = {"terminal_width": columns} if columns < _NARROW else {}
    if narrow:
        on_few_columns(command)
    try:
        status = int(program(args=words or ["--help"], prog_name="dpverify", standalone_mode=False, **narrow) or 0)
    except ValueError as error:
        # What else a limit's message says is in arguments of the engine, for which there are no options.
        raise ValueError(as_typed(str(getattr(error, "reason", error)), options)) from error
    # Here, not at the interpreter's end: a full disk can still be told.
    sys.stdout.flush()
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; an error is one sentence on the standard error output and exit status 2.

    - arguments: Without the program's name; those of the process when omitted.

    Returns: The exit status: 0, 2 for bad input, 70 for a fault of our own, 130 when interrupted, or what `audit` says.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    choose(None)
    if sys.stdout is None or sys.stderr is None:  # closed by the shell
        if sys.stderr is not None:
            typer.echo("The output cannot be written: it is closed.", err=True)
        return 2
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal of few letters lacks is no reason to end
            stream.reconfigure(errors="backslashreplace")
    try:
        with needing("This command"):
            return _run(words)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("Interrupted.", err=True)
        return _INTERRUPTED
    except _usage_error() as error:
        message = error.format_message()  # type: ignore[attr-defined]
    except (ValueError, MissingPackageError) as error:
        message = str(error)
    except SystemExit:
        # So click ends at a closed pipe, with the status that says that a violation was found.
        message = "The output cannot be written: Broken pipe."
    except MemoryError:
        message = "This needs more memory than there is; ask for fewer users or instances."
    except OSError as error:
        if error.filename is None:
            # What is left in the buffer would fail again, with a traceback, when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        message = f"{error.filename or 'The output'} cannot be written: {error.strerror}."
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        typer.echo(
            f"dpverify has a fault, {type(error).__name__}: {str(error) or 'no message'}; "
            "`python -X dev -m dpverify` with the same words shows where.",
            err=True,
        )
        return _FAULT
    typer.echo(message, err=True)
    return 2
