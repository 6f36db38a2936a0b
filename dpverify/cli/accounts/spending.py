"""`dpverify spend` and `dpverify spent`: a ledger of what a collection has spent of its budget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dpverify.cli.accounts.days import AtMost
from dpverify.cli.accounts.runs import typed_runs
from dpverify.cli.options import choice, exact
from dpverify.cli.output import Certificate, check_certified, print_result, threat_model, write_certified
from dpverify.guarantee import Adjacency, ThreatModel

__all__ = ["register"]

Ledger = Annotated[Path, typer.Argument(help="The ledger's file.")]


def register(app: typer.Typer, run: Callable[[list[str]], int]) -> None:
    """Add the commands to the application.

    - app: The application.
    - run: Runs a command, given all its words: what is spent is typed as behind `dpverify account`.
    """

    def spend(
        file: Ledger,
        words: Annotated[
            list[str],
            typer.Argument(
                metavar="PROTOCOL OPTIONS...", help="As behind `dpverify account`; --and between different protocols."
            ),
        ],
        label: Annotated[str, typer.Option(help="What it is, for who reads the ledger; before the file.")] = "",
        certificate: Certificate = None,
    ) -> None:
        """Write down runs that are about to take place. Refused, with status 2, if the budget would be exceeded.

        A certificate, whose option stands before the file, too, is of all runs in the ledger; where none can be written
        the status is 2 as well, and the runs are written down.
        """
        from dpverify.spending.ledger import PrivacyLedger

        check_certified(certificate)
        runs = typed_runs(words, run)
        if any(each.delta or each.epsilon for each in runs):
            raise ValueError("--delta and --epsilon must be omitted: the ledger has its budget.")
        if any(each.adversary for each in runs):
            raise ValueError("--threat-model must be omitted: the ledger says whose view is accounted.")
        spent = PrivacyLedger(file).spend_all([each.entry for each in runs], label=label)
        print_result(spent)
        assert spent.account is not None
        write_certified(certificate, spent.account.certificate, spent.epsilon.upper)

    app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(spend)
    app.command()(spent)


def spent(
    file: Ledger,
    new: Annotated[bool, typer.Option("--new", help="Make the ledger, of the budget --epsilon and --delta.")] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Take off a torn last line, whose writer was stopped in the middle.")
    ] = False,
    epsilon: Annotated[
        str | None, exact(within="(0, inf)", help="With --new: the budget, in nats, in {}; a decimal is exact.")
    ] = None,
    delta: Annotated[
        str | None, exact(within="[0, 1)", help="With --new: the budget, in {}; a decimal is exact.")
    ] = None,
    at_most: AtMost = None,
    adversary: Annotated[
        ThreatModel | None,
        threat_model("With --new: whose view; by default the first that all runs are accounted for."),
    ] = None,
    adjacency: Annotated[
        str | None,
        choice(
            "--adjacency",
            known=lambda: tuple(Adjacency),
            help="With --new: which datasets are neighbours; replace-one when omitted, others for nothing but steps.",
        ),
    ] = None,
) -> None:
    """Show what is spent of a ledger's budget; or make the ledger."""
    from dpverify.spending.ledger import PrivacyLedger

    if new and repair:
        raise ValueError("--new and --repair must not be given together.")
    if new != (epsilon is not None) or new != (delta is not None) or (at_most is not None and not new):
        raise ValueError("--new must be given with --epsilon and --delta, and these and --at-most only with --new.")
    for name, given in (("--threat-model", adversary), ("--adjacency", adjacency)):
        if given is not None and not new:
            raise ValueError(f"{name} must be omitted but with --new.")
    ledger = PrivacyLedger(file)
    if new:
        assert epsilon is not None
        assert delta is not None
        neighbours = adjacency or Adjacency.REPLACE_ONE
        ledger = PrivacyLedger.create(
            file, (epsilon, delta), at_most=at_most, threat_model=adversary, adjacency=neighbours
        )
    if repair:
        typer.echo(f"Taken off: {ledger.repair()}", err=True)
    found = ledger.spent()
    print_result(found)
