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
from dpverify.cli.groups import of_each, on_few_columns, under_headings
from dpverify.cli.messages import as_typed, invoked, options_of, refuse_repeated, unknown
from dpverify.cli.options import spare
from dpverify.cli.protocol_names import known_name
from protocols.classes.optional import MissingPackageError, needing

__all__ = ["application", "main"]

_LISTED = {
    "From a budget to parameters": {
        "plan": ("plans.plan", "Find protocol parameters that meet a privacy budget."),
        "front": ("plans.least", "Show error against messages, and recommend a plan."),
        "least": ("plans.least", "Find the least users, epsilon or messages for an error."),
        "budget": ("plans.budget", "Split a budget: what each of many instances may spend."),
        "means": ("plans.means", "Compare local, shuffled and central means at one budget."),
        "sums": ("plans.sums", "Compare sums of numbers or vectors with a trusted curator."),
        "design": ("plans.design", "Find the noise of many queries, day after day."),
        "rappor": ("learners.rappor", "Find RAPPOR's parameters from the privacy of reports."),
    },
    "From parameters to what they guarantee": {
        "account": ("accounts.account", "Compute what parameters really guarantee, as an interval."),
        "amplify": ("plans.amplify", "Show what shuffling the reports of n users gives."),
        "crowd": ("plans.crowd", "Show epsilon against the share of honest users."),
        "certify": ("accounts.certify", "Enclose one instance's delta to any number of digits."),
        "check": ("accounts.check", "Accept or refuse a certificate with integers alone."),
        "spend": ("accounts.spending", "Write down runs that are about to take place."),
        "spent": ("accounts.spending", "Show what is spent of a ledger's budget; or make the ledger."),
    },
    "From code to whether it keeps its word": {
        "audit": ("audits.audit", "Test whether a running implementation keeps its promise."),
        "canaries": ("audits.canaries", "Audit a mechanism in one run, by secret bits guessed right."),
    },
    "From users' uploads to estimates": {
        "rehearse": ("collections.rehearse", "Simulate days of a collection."),
        "collect": ("collections.collect", "Take the uploads of one batch over HTTP, each once."),
        "collected": ("collections.collect", "Show how many uploads have arrived, and what can be released."),
        "release": ("collections.collect", "Release a query's batch, shuffled, and delete its uploads."),
        "aggregate": ("collections.aggregate", "Estimate from released batches, with exact intervals."),
    },
    "From users' points to a classifier": {
        "classify": ("learners.classify", "Learn a classifier from points that users keep to themselves."),
        "predict": ("learners.classify", "Predict the labels of points with a learned model."),
        "decode": ("learners.decode", "Show what the classes of a learned model are about."),
    },
    "What the papers say, and what holds": {
        "theorems": ("papers.theorems", "Show what was found about the theorems of the sources."),
        "formula": ("papers.formula", "Evaluate, invert or print a closed form of the sources."),
        "reproduce": ("papers.reproduce", "Make a figure or table of the sources again."),
    },
    "To look at": {
        "demo": ("pictures.demo", "Learn digits from 1,347 users, with and without privacy."),
        "report": ("pictures.report", "Write plans, privacy, errors and an audit to one HTML page."),
        "serve": ("pictures.serve", "Plan in a browser, by sliders or from a text."),
    },
}
"""What --help lists under each heading, in this order: the module here of each command, and its first sentence."""
_COMMANDS = {name: module for under in _LISTED.values() for name, (module, _) in under.items()}

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


def _without_commands() -> typer.Typer:
    app = typer.Typer(cls=under_headings(_LISTED), rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(dpverify)
    return app


def _names_alone() -> typer.Typer:
    """Return an application that has the commands' names and first sentences, and runs none: it imports no module."""
    app = _without_commands()
    for under in _LISTED.values():
        for name, (_, sentence) in under.items():
            app.command(name, help=sentence)(lambda: None)
    return app


def _runs_none(words: Sequence[str]) -> bool:
    """Return whether words end before a command: in the list of all, the version, or a word that is no command."""
    completing = "_DPVERIFY_COMPLETE" in os.environ  # of typer: what is typed stands in the environment
    first = words[0] if words else "--help"
    return not completing and (first in ("--help", "--version") or not first.startswith("-"))


@functools.cache
def application(command: str | None = None) -> typer.Typer:
    """Return the application, or no more of it than the module of one command has: the others cost time to import."""
    app = _without_commands()
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
    program: Any = typer.main.get_command(_names_alone() if typed is None and _runs_none(words) else application(typed))
    offer_formats(program, _WITHOUT_RESULT)
    command, words = invoked(program, words)
    if "--help" in words:
        command.epilog = _module("examples").below_help(words)
        of_each(command)
    command.callback = command.callback and _abortable(command.callback)
    for level in (program, command):
        spare(level)
    options = options_of(command)
    refuse_repeated(words, (each.opts[0] for each in command.params if not getattr(each, "multiple", False)))
    columns = shutil.get_terminal_size().columns
    narrow = {"terminal_width": columns} if columns < _NARROW else {}
    if narrow:
        on_few_columns(command)
    try:
        status = int(program(args=words or ["--help"], prog_name="dpverify", standalone_mode=False, **narrow) or 0)
    except ValueError as error:
        # What else a limit's message says is in arguments of the engine, for which there are no options.
        raise ValueError(as_typed(str(getattr(error, "reason", error)), options)) from error
    except _usage_error() as error:
        raise ValueError(unknown(error.format_message(), command, words)) from error  # type: ignore[attr-defined]
    # Here, not at the interpreter's end: a full disk can still be told.
    sys.stdout.flush()
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; an error is one sentence on the standard error output and exit status 2.

    - arguments: Without the program's name; those of the process when omitted.

    Returns: The exit status: 0, 2 for bad input, 70 for a fault of our own, 130 when interrupted, or the command's own.
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
    except SystemExit as ended:
        if not ended.code:  # completion has been shown, installed, or answered
            return 0
        # So click ends at a closed pipe, with the status that says that a violation was found.
        message = "The output cannot be written: Broken pipe."
    except MemoryError:
        message = "This needs more memory than there is; ask for fewer users, instances or dimensions."
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
