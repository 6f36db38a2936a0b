"""The command line: parses arguments, calls the library, prints what it returns. One module per group of commands."""

# Everything heavy is imported inside the commands, so that --help and a mistyped option answer at once.

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from dpverify.cli import (
    account,
    amplify,
    audit,
    budget,
    canaries,
    certify,
    classify,
    crowd,
    days,
    demo,
    formula,
    least,
    ledger,
    means,
    plan,
    rappor,
    report,
    reproduce,
    runs,
    serve,
    spending,
)
from dpverify.cli.messages import as_typed, invoked, options_of, refuse_repeated
from dpverify.cli.plugins import add_plugins
from dpverify.optional import MissingPackageError, needing

__all__ = ["app", "main"]

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"dpverify {version('dpverify')}")
        except PackageNotFoundError:
            typer.echo("dpverify, run from its source without being installed")
        raise typer.Exit


@app.callback()
def dpverify(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    """Design, calibrate and check shuffle-model differential-privacy protocols."""


for _group in (
    budget,
    plan,
    least,
    means,
    account,
    amplify,
    crowd,
    rappor,
    audit,
    canaries,
    certify,
    formula,
    ledger,
    report,
    reproduce,
    serve,
    classify,
    demo,
):
    _group.register(app)
spending.register(app, lambda words: _run(words))


def _usage_error() -> type[Exception]:
    """Return the base class of typer's usage errors, which moved from click into typer."""
    return next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def _run(words: list[str]) -> int:
    """Run a command and return its exit status; bad input is a ValueError in the words of the command line."""
    if words[:1] == ["account"] and runs.AND in words:
        days.account_together(runs.typed_runs(words[1:], _run))
        sys.stdout.flush()
        return 0
    words = ledger.in_full(words)
    program = typer.main.get_command(app)
    add_plugins(
        program,
        words,
        {"account": (account.in_full, account.any_protocol), "audit": (audit.any_protocol, audit.any_protocol)},
    )
    command, words = invoked(program, words)
    options = options_of(command)
    refuse_repeated(words, options.values())
    try:
        status = int(program(args=words or ["--help"], prog_name="dpverify", standalone_mode=False) or 0)
    except ValueError as error:
        # What else a limit's message says is in arguments of the engine, for which there are no options.
        raise ValueError(as_typed(str(getattr(error, "reason", error)), options)) from error
    # Here, not at the interpreter's end: a full disk can still be told.
    sys.stdout.flush()
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; an error is one sentence on the standard error output and exit status 2.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process when omitted.

    Returns
    -------
    int
        The exit status: 0, 2 for any error, 130 when interrupted, or what `audit` says.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with needing("This command"):
            return _run(words)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("Interrupted.", err=True)
        return 130
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
        message = (
            f"dpverify has a fault, {type(error).__name__}: {str(error) or 'no message'}; "
            "`python -X dev -m dpverify` with the same words shows where."
        )
    typer.echo(message, err=True)
    return 2
