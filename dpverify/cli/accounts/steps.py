"""`dpverify account steps`: what noisy steps of a trusted curator give, as in DP-SGD."""

from __future__ import annotations

from typing import Annotated

from dpverify.cli.accounts.meaning import Meant, TradeOffFile, check_meant, print_meant
from dpverify.cli.options import choice, exact, integer, number
from dpverify.cli.output import AtDelta, AtEpsilon, Certificate, check_certified, print_result, write_certified
from dpverify.cli.plans.shared import Epsilon
from dpverify.guarantee import Adjacency

__all__ = ["Kind", "Law", "Neighbours", "Rate", "StepCount", "account_steps", "least_noise"]


def _laws() -> tuple[str, ...]:
    from dpverify.planning.steps.step import NoiseLaw

    return tuple(NoiseLaw)


def _kinds() -> tuple[str, ...]:
    from dpverify.planning.steps.sampling import Sampling

    return tuple(Sampling)


Rate = Annotated[
    float,
    number(
        "--rate",
        within="(0, 1]",
        help="q, in {}: with which probability each record takes part, as --sampling says.",
    ),
]
StepCount = Annotated[int, integer("--steps", within="[1, inf)", help="How many steps there are.")]
Law = Annotated[str, choice("--law", known=_laws, help="gaussian, or laplace for sums of numbers.")]
Kind = Annotated[
    str,
    choice(
        "--sampling",
        known=_kinds,
        help="poisson, or fixed-size: batches without replacement, of a share --rate of the larger dataset; or "
        "random-allocation: each record in one of --steps.",
    ),
]
Neighbours = Annotated[
    str,
    choice(
        "--adjacency",
        known=lambda: tuple(Adjacency),
        help="Which datasets are neighbours; with fixed-size no zero-out.",
    ),
]


Passes = Annotated[
    int,
    integer("--passes", within="[1, inf)", help="How often all --steps are made, with --sampling random-allocation."),
]


Chosen = Annotated[
    int,
    integer("--chosen", within="[1, 64]", help="In how many of a pass's steps a record is, with random-allocation."),
]


def account_steps(
    noise: Annotated[
        float,
        number(
            within="[1e-100, 1e150]", help="The noise multiplier: deviation or scale over the largest norm of a record."
        ),
    ],
    rate: Rate = 1.0,
    steps: StepCount = 1,
    passes: Passes = 1,
    chosen: Chosen = 1,
    law: Law = "gaussian",
    sampling: Kind = "poisson",
    adjacency: Neighbours = Adjacency.ADD_REMOVE.value,
    delta: AtDelta = None,
    epsilon: AtEpsilon = None,
    certificate: Certificate = None,
    meant: Meant = False,
    trade_off: TradeOffFile = None,
) -> None:
    """Noisy steps of a trusted curator on samples of the records, as in DP-SGD.

    Both ends are proved, of whichever direction is worse. The sampling is assumed to be as --rate and --sampling say:
    batches cut from a shuffled order are something else. A certificate is of a delta of 2.9e-39 a step or more, and of
    noise of 1/40 or more where the sum moves once, 1/20 where it moves twice.
    """
    if (delta is None) == (epsilon is None):
        raise ValueError("exactly one of --delta and --epsilon must be given.")
    check_certified(certificate, epsilon)
    check_meant(trade_off)
    from dpverify.planning.steps.account import account_steps
    from dpverify.planning.steps.allocation import RandomAllocation
    from dpverify.planning.steps.sampling import Sampling
    from dpverify.planning.steps.step import NoiseLaw, NoisyStep, Step, Steps

    part: tuple[Step, int]
    if Sampling(sampling) is Sampling.RANDOM_ALLOCATION:
        if rate != 1.0:
            raise ValueError(f"--rate={rate:g} must be left out: with random-allocation it is --chosen over --steps.")
        part = RandomAllocation(noise, steps, NoiseLaw(law), chosen), passes
    elif passes != 1:
        raise ValueError(f"--passes={passes} must be 1 but for --sampling random-allocation; --steps counts all.")
    elif chosen != 1:
        raise ValueError(f"--chosen={chosen} must be 1 but for --sampling random-allocation.")
    else:
        part = NoisyStep(noise, rate, NoiseLaw(law), Sampling(sampling)), steps
    made = Steps([part], adjacency)
    if certificate is not None and delta is not None:
        from dpverify.planning.steps.certificate import uncut

        uncut(made, delta)  # says before the work for the account what has no certificate
    result = account_steps(made, delta=delta, epsilon=epsilon)
    print_meant(result, meant, trade_off)
    write_certified(certificate, result.certificate, result.epsilon.upper)


def least_noise(
    epsilon: Epsilon,
    delta: Annotated[str, exact(within="(0, 1)", help="Budget of the whole, in {}; a decimal is taken exactly.")],
    steps: StepCount = 1,
    rate: Rate = 1.0,
    passes: Passes = 1,
    chosen: Chosen = 1,
    law: Law = "gaussian",
    sampling: Kind = "poisson",
    adjacency: Neighbours = Adjacency.ADD_REMOVE.value,
) -> None:
    """Least noise multiplier with which steps on samples of the records, as in DP-SGD, meet a budget."""
    from dpverify.digits import rounded_down, rounded_up
    from dpverify.planning.steps.calibration import least_noise

    found = least_noise(
        (epsilon, delta),
        steps=steps,
        rate=rate,
        passes=passes,
        chosen=chosen,
        law=law,
        sampling=sampling,
        adjacency=adjacency,
    )
    missed = f", one of {rounded_down(found.lower, 6)} is not" if found.lower > 0.0 else ""
    print_result({"noise": found}, f"A noise multiplier of {rounded_up(found.upper, 6)} is enough{missed}.")
