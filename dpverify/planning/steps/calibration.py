"""From a budget to steps: the least noise, the most steps, or the largest sampling rate that are proved to meet it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from dpverify.guarantee import (
    Adjacency,
    Budget,
    BudgetLike,
    CapacityError,
    InfeasibleBudgetError,
    Interval,
    enclosing_floats,
)
from dpverify.planning.answers import between, within_limits
from dpverify.planning.steps.account import steps_of
from dpverify.planning.steps.allocation import RandomAllocation
from dpverify.planning.steps.sampling import Sampling
from dpverify.planning.steps.step import NoiseLaw, NoisyStep, Step, Steps
from dpverify.search import largest_integer, smallest_at_level
from protocols.validation import budget_by_name, check_choice, check_integer, check_real

__all__ = ["largest_rate", "least_noise", "most_steps"]

_NAME = "noisy steps"
_MOST_NOISE, _LEAST_RATE, _MOST_STEPS = 1e9, 1e-9, 10**9
"""How far is looked."""
_WIDENED = 4.0
"""By what the share grows that the argument of a proved miss is away."""
_COARSE = 0.03
"""The width at which the number of steps is guessed."""


@budget_by_name
def least_noise(
    budget: BudgetLike,
    *,
    steps: int = 1,
    rate: float = 1.0,
    law: NoiseLaw | str = NoiseLaw.GAUSSIAN,
    sampling: Sampling | str = Sampling.POISSON,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    passes: int = 1,
    chosen: int = 1,
    relative_width: float = 1e-4,
) -> Interval:
    """Return the least noise multiplier with which so many steps meet a budget.

    Parameters
    ----------
    budget : Budget or (number, number)
        (epsilon, delta), delta positive.
    steps : int
        How many; for random allocation, in a pass.
    rate, law, sampling, adjacency
        As for `dpverify.NoisyStep` and `dpverify.account`; random allocation takes no rate.
    passes : int
        How often all steps are made, for random allocation.
    chosen : int
        In how many steps of a pass each record is, for random allocation.
    relative_width : float
        The accuracy wanted.

    Returns
    -------
    Interval
        At its upper end the budget is proved to be met; at its lower end, proved to be missed unless that is 0.

    Raises
    ------
    InfeasibleBudgetError
        If no noise up to 1e9 is proved to meet it.

    Examples
    --------
    >>> found = least_noise(("2", "1e-5"), steps=10_000, rate=0.01)
    >>> print(f"{found.upper:.3f}")
    2.127
    """
    wanted = _positive(budget)
    check_integer("steps", steps, low=1, high=_MOST_STEPS)
    check_integer("passes", passes, low=1, high=_MOST_STEPS)
    check_real("relative_width", relative_width, low=0.0, high=1.0, low_open=True, high_open=True)

    def epsilon(noise: float) -> Interval:
        return _epsilon(Steps([(replace(step, noise=noise), count)], adjacency), wanted, relative_width)

    step: NoisyStep | RandomAllocation
    if check_choice("sampling", sampling, Sampling) is Sampling.RANDOM_ALLOCATION:
        if rate != 1.0:
            raise ValueError(f"rate={rate!r} must be left out for random allocation: it is chosen over steps.")
        step, count = RandomAllocation(1.0, steps, law, chosen), passes  # type: ignore[arg-type]
        about = {"steps": steps * passes, "rate": chosen / steps, "law": law}  # a sample that needs about as much
        start = least_noise(budget, **about, relative_width=_COARSE).upper  # type: ignore[arg-type]
    elif passes != 1:
        raise ValueError(f"passes={passes} must be 1 but for random allocation; steps counts all.")
    elif chosen != 1:
        raise ValueError(f"chosen={chosen} must be 1 but for random allocation.")
    else:
        step, count = NoisyStep(1.0, rate, law, sampling), steps  # type: ignore[arg-type]  # refuses by name
        start = max(rate * math.sqrt(steps) / wanted.epsilon, 0.3)
    met, missed = _crossed(epsilon, _target(wanted), start, _MOST_NOISE, relative_width)
    if met is None:
        raise InfeasibleBudgetError(
            f"budget={wanted} is not proved to be met by {steps * passes:,} steps with noise up to {_MOST_NOISE:g}."
        )
    return Interval.proved(missed, met)


@budget_by_name
def largest_rate(
    budget: BudgetLike,
    *,
    noise: float,
    steps: int = 1,
    law: NoiseLaw | str = NoiseLaw.GAUSSIAN,
    sampling: Sampling | str = Sampling.POISSON,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    relative_width: float = 1e-4,
) -> Interval:
    """Return the largest sampling rate with which so many steps meet a budget: times n, the largest expected batch.

    A smaller rate is never worse: the pair of q' < q is that of q mixed with two equal laws, in the shares q'/q and
    1 - q'/q, and divergences are jointly convex.

    Parameters
    ----------
    budget : Budget or (number, number)
        (epsilon, delta), delta positive.
    noise, steps, law, sampling, adjacency
        As for `least_noise`.
    relative_width : float
        The accuracy wanted.

    Returns
    -------
    Interval
        At its lower end the budget is proved to be met; at its upper end, proved to be missed unless that is 1.

    Raises
    ------
    InfeasibleBudgetError
        If no rate down to 1e-9 is proved to meet it.

    Examples
    --------
    >>> found = largest_rate(("2", "1e-5"), noise=1.0, steps=10_000)
    >>> print(f"{found.lower:.5f}")
    0.00370
    """
    wanted = _positive(budget)
    check_integer("steps", steps, low=1, high=_MOST_STEPS)
    check_real("relative_width", relative_width, low=0.0, high=1.0, low_open=True, high_open=True)
    made = NoisyStep(noise, 0.5, law, sampling)  # type: ignore[arg-type]
    most = 1.0 if made.sampling is Sampling.POISSON else math.nextafter(1.0, 0.0)

    def epsilon(inverse: float) -> Interval:
        step = replace(made, rate=min(1.0 / inverse, most))
        return _epsilon(Steps([(step, steps)], adjacency), wanted, relative_width)

    if epsilon(1.0).upper <= _target(wanted):
        return Interval(most, 1.0)
    start = max(math.sqrt(steps) / wanted.epsilon, 1.0)
    met, missed = _crossed(epsilon, _target(wanted), start, 1.0 / _LEAST_RATE, relative_width, least=1.0)
    if met is None:
        raise InfeasibleBudgetError(
            f"budget={wanted} is not proved to be met by {steps:,} steps at rates from {_LEAST_RATE:g} on."
        )
    return Interval.proved(min(1.0 / met, most), min(1.0 / missed, 1.0))


@budget_by_name
def most_steps(
    budget: BudgetLike,
    step: Step,
    *,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    relative_width: float = 1e-4,
) -> int:
    """Return the most steps that are proved to meet a budget, at most 10^9.

    Parameters
    ----------
    budget : Budget or (number, number)
        (epsilon, delta), delta positive.
    step : NoisyStep, RandomAllocation or another step
        Which is made again and again; of random allocation passes are counted.
    adjacency : Adjacency or str
        As for `dpverify.account`.
    relative_width : float
        The accuracy of each epsilon: what is proved to meet the budget may be as much less.

    Returns
    -------
    int
        With these the budget is proved to be met.

    Raises
    ------
    InfeasibleBudgetError
        If not even one is.

    Examples
    --------
    >>> import dpverify
    >>> most_steps(("2", "1e-5"), dpverify.NoisyStep(1.0, rate=0.01))
    1202
    """
    wanted = _positive(budget)
    check_real("relative_width", relative_width, low=0.0, high=1.0, low_open=True, high_open=True)
    if steps_of(step) is None:
        raise TypeError(f"step={step!r} must be a NoisyStep.")

    def allowed(count: int, width: float = relative_width) -> bool:
        return _epsilon(Steps([(step, count)], adjacency), wanted, width).upper <= _target(wanted)

    if not allowed(1):
        raise InfeasibleBudgetError(f"budget={wanted} is not proved to be met by one step of {step}.")
    guess = largest_integer(lambda count: allowed(count, _COARSE), 1, 1, _MOST_STEPS + 1)
    return largest_integer(allowed, guess, 1, _MOST_STEPS + 1)


def _positive(budget: BudgetLike) -> Budget:
    wanted = Budget.of(budget)
    check_real("delta", wanted.delta, low=0.0, low_open=True, high=1.0, high_open=True)
    return wanted


def _target(wanted: Budget) -> float:
    """Return the largest float that is at most epsilon: the nearest one may be more."""
    return enclosing_floats(wanted.exact_epsilon)[0]


def _chance(step: Step) -> Fraction:
    """Return with which probability a record is there at all: in a pass it is, at any rate of its steps."""
    return Fraction(1) if step.sampling is Sampling.RANDOM_ALLOCATION else Fraction(step.rate)


def _epsilon(steps: Steps, wanted: Budget, relative_width: float) -> Interval:
    """Return epsilon at the delta of a budget; all there is where the laws cannot be listed."""
    if sum(_chance(step) * count for step, count in steps.parts) <= wanted.exact_delta:
        return Interval(0.0, 0.0)  # the record is hardly ever in a sample, and no noise needs to hide it
    at = Interval(*enclosing_floats(wanted.exact_delta))
    try:
        with within_limits(_NAME):
            return between(steps.curve(0.25 * relative_width, at.lower).epsilon, at)
    except CapacityError:
        return Interval(0.0, math.inf)


def _crossed(
    epsilon: Callable[[float], Interval],
    target: float,
    start: float,
    most: float,
    tolerance: float,
    *,
    least: float = 0.0,
) -> tuple[float | None, float]:
    """Return about the least argument at which a falling epsilon is proved to be at most a target, and one of a miss.

    The latter is the least that is looked at where none is proved to miss it.
    """
    met = smallest_at_level(lambda x: epsilon(x).upper, target, start, most, tolerance, slope=1.0)
    share = tolerance
    while met is not None and share < 1.0:
        missed = max(met * (1.0 - share), least)
        if missed == least or epsilon(missed).lower > math.nextafter(target, math.inf):
            return met, missed
        share *= _WIDENED
    return met, least
