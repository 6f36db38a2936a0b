"""The command `dpverify audit mechanism`: code whose law is not known, on two inputs, or two samplers."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated

import typer

from dpverify.cli.audits.trials import (
    ClaimCurve,
    ClaimDelta,
    ClaimEpsilon,
    ClaimMu,
    ClaimRenyi,
    ClaimRho,
    Level,
    Plot,
    Resume,
    Seed,
    Timeout,
    Verbose,
    Workers,
    carried_out,
    claimed_any,
)
from dpverify.cli.options import integer, listed_floats, number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpverify.audit.black_boxes.neighbours import InputPairs

__all__ = ["audit_black_box"]

_LOW, _HIGH, _SECONDS = 0.0, 1.0, 60.0


def audit_black_box(
    target: Annotated[
        str | None,
        typer.Option(
            help="module:callable or path/to/file.py:callable, called as f(inputs, rng) in processes of its own; its "
            "outputs may be numbers, vectors, strings or tuples.",
        ),
    ] = None,
    input: Annotated[str | None, typer.Option(help="Numbers with commas between them: one dataset.")] = None,
    neighbour: Annotated[str | None, typer.Option(help="The dataset that it is compared with.")] = None,
    users: Annotated[
        int | None,
        integer(within="[1, inf)", help="In place of these two: search several datasets of so many users, in {}."),
    ] = None,
    low: Annotated[float, number(within="(-inf, inf)", help="The least value of a user, for --users.")] = _LOW,
    high: Annotated[float, number(within="(-inf, inf)", help="The largest value of a user, for --users.")] = _HIGH,
    first: Annotated[
        str | None, typer.Option(help="In place of a target: a sampler of outputs on one input, called as f(rng).")
    ] = None,
    second: Annotated[str | None, typer.Option(help="The sampler of outputs on its neighbour.")] = None,
    resolution: Annotated[
        float | None,
        number(
            within="(0, inf)",
            help="Round numbers to multiples of this: looks past the lowest bits, where noise in floating point shows "
            "its input.",
        ),
    ] = None,
    exceptions: Annotated[
        bool,
        typer.Option(
            "--exceptions", help="Take an exception as an output, of which the type is seen; else it ends the audit."
        ),
    ] = False,
    anytime: Annotated[
        bool, typer.Option("--anytime", help="Stop as soon as the claim is refuted; at the latest after all trials.")
    ] = False,
    inside: Annotated[
        bool,
        typer.Option(
            "--inside",
            help="First record what the target draws, and replay it on the other input: findings name the line that "
            "drew, and one that refutes the claim ends the audit.",
        ),
    ] = False,
    claim_epsilon: ClaimEpsilon = None,
    claim_delta: ClaimDelta = None,
    claim_mu: ClaimMu = None,
    claim_rho: ClaimRho = None,
    claim_renyi: ClaimRenyi = None,
    claim_curve: ClaimCurve = None,
    trials: Annotated[
        int | None,
        integer(
            within="[100, inf)",
            help="Runs on each input, in {}; omitted, four times as many again and again until the verdict stands.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        number(within="(0, inf)", help="Without --trials, begin no runs that would end later than this, in {}."),
    ] = _SECONDS,
    level: Level = 0.01,
    detect: Annotated[
        float,
        number(
            within="(0, 1)",
            help="A pass excludes that an event tried shows (1 + this) times the claimed epsilon at the claimed delta, "
            "or the claimed rho or divergence, or sqrt(1 + this) times mu.",
        ),
    ] = 0.1,
    timeout: Timeout = 120.0,
    workers: Workers = 1,
    resume: Resume = None,
    seed: Seed = 0,
    plot: Plot = None,
    verbose: Verbose = False,
) -> None:
    """Any code, as a black box: what its outputs on neighbouring inputs show."""
    from dpverify.audit.black_boxes.black_box import audit_mechanism

    claim = claimed_any(claim_epsilon, claim_delta, claim_mu, claim_rho, claim_renyi, claim_curve)
    given = [entry for entry in (target, input, neighbour, users) if entry is not None]
    if users is None and (low, high) != (_LOW, _HIGH):
        raise ValueError("--low and --high must be omitted without --users, whose values they are of.")
    if first is not None and second is not None and not given:
        audited = functools.partial(audit_mechanism, (first, second), claim)
    elif target is not None and first is None and second is None:
        audited = functools.partial(audit_mechanism, target, claim, _pairs(input, neighbour, users, low, high, seed))
    else:
        raise ValueError(
            "--target with --input and --neighbour, or with --users, or --first with --second, must be given."
        )
    audited = functools.partial(
        audited,
        resolution=resolution,
        exceptions=exceptions,
        anytime=anytime,
        inside=inside,
        seconds=seconds,
        level=level,
        detect=detect,
        seed=seed,
        workers=workers,
        timeout=timeout,
    )
    if trials is not None:
        if seconds != _SECONDS:
            raise ValueError(f"--seconds={seconds:g} must be omitted with --trials, which are all made.")
        audited = functools.partial(audited, trials=trials)
    carried_out(audited, resume, plot, verbose)


def _pairs(
    input: str | None, neighbour: str | None, users: int | None, low: float, high: float, seed: int
) -> InputPairs:
    from dpverify.audit.black_boxes.neighbours import neighbouring_inputs

    if users is not None and input is None and neighbour is None:
        return neighbouring_inputs(users, low, high, seed=seed)
    if users is None and input is not None and neighbour is not None:
        return _numbers("--input", input), _numbers("--neighbour", neighbour)
    raise ValueError("--input and --neighbour must be given together, or --users in place of both.")


def _numbers(option: str, text: str) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return numbers with commas between them, as integers where all are."""
    import numpy as np

    values = listed_floats(text)
    if not values or not np.isfinite(values).all():
        raise ValueError(f"{option}={text!r} must be finite numbers with commas between them.")
    numbers = np.array(values)
    whole = all(part.strip().lstrip("+-").isdigit() for part in text.split(","))
    return numbers.astype(np.int64) if whole else numbers
