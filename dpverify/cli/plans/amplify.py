"""The command `dpverify amplify`: what shuffling the reports of a local mechanism gives."""

from __future__ import annotations

from typing import Annotated

import typer

from dpverify.cli.options import choice, exact, integer, number
from dpverify.cli.output import Users, print_result

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(amplify)


def amplify(
    users: Users,
    delta: Annotated[str, exact(within="(0, 1)", help="Compute epsilon at this delta, in {}; a decimal is exact.")],
    epsilon0: Annotated[
        float | None, number(within="[1e-12, 300]", help="The privacy of one report, in nats, in {}.")
    ] = None,
    epsilon: Annotated[
        float | None, number(within="(0, inf)", help="Instead: find the largest epsilon0 that keeps this, in {}.")
    ] = None,
    randomizer: Annotated[
        str,
        choice(
            known=lambda: ("any", "adaptive", "k-rr", "laplace", "gaussian"),
            help="any: whatever mechanism all users run; adaptive: in random order, each may depend on earlier "
            "reports; k-rr; laplace, gaussian: values in [0, 1] with noise.",
        ),
    ] = "any",
    delta0: Annotated[
        float, number(within="[0, 1)", help="any: one report is (epsilon0, delta0)-private, in {}.")
    ] = 0.0,
    classes: Annotated[
        int | None, integer(within="[2, inf)", help="k-rr: the number of values, in {}; 3 by default.")
    ] = None,
    sigma: Annotated[
        float | None, number(within="[0.05, 500]", help="gaussian: the noise's standard deviation, in {}.")
    ] = None,
    rounds: Annotated[int, integer(within="[1, inf)", help="In so many, each user reports afresh.")] = 1,
) -> None:
    """Show what shuffling the reports of n users gives. Or how private a report must be, given --epsilon."""
    from dpverify.guarantee import Budget
    from dpverify.planning import amplify as amplification
    from dpverify.report.plans.amplification import inverse_table

    if epsilon is None:
        if epsilon0 is None and randomizer != "gaussian":
            raise ValueError(f"exactly one of epsilon0={epsilon0!r} and epsilon={epsilon!r} must be given.")
        found = amplification.amplify(
            randomizer,
            users=users,
            delta=delta,
            epsilon0=epsilon0,
            delta0=delta0,
            classes=classes,
            sigma=sigma,
            rounds=rounds,
        )
        print_result(found)
        return
    if epsilon0 is not None:
        raise ValueError(f"epsilon={epsilon!r} and epsilon0={epsilon0!r} must not both be given: one follows.")
    if randomizer == "gaussian":
        raise ValueError("randomizer='gaussian' must be another one for epsilon: its reports have no epsilon0.")
    if sigma is not None:
        raise ValueError(f"sigma={sigma!r} must not be given for epsilon: no reports with an epsilon0 have it.")
    if rounds > 1:
        raise ValueError(f"rounds={rounds!r} must be 1 for epsilon: the largest epsilon0 is searched for one round.")
    budget = Budget(epsilon, delta)
    largest = amplification.largest_epsilon0(
        epsilon, users=users, delta=budget.delta, randomizer=randomizer, delta0=delta0, classes=classes
    )
    result = {
        "randomizer": randomizer,
        "users": users,
        "delta": float(budget.exact_delta),
        "epsilon": epsilon,
        "epsilon0": largest.to_dict(),
    }
    print_result(result, inverse_table(result))
