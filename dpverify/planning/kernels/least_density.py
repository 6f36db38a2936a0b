"""Density estimators backwards: the least users or epsilon for an error, for every number of bits.

The error of some features has a part that no budget takes away, their own; what noise and rounding add falls about like
1 over the number of users, or over epsilon. So the answer under normal noise, which needs no plan, is a good start, and
a few plans settle it: the answer meets what is asked, and one step less, in the fourth digit, does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import product

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.bitsum.baselines import least_sigma
from dpverify.guarantee import Budget, BudgetLike, Number, exact_number
from dpverify.planning.answers import honest_users
from dpverify.planning.kernels.density import DensityRow, DensitySetting
from dpverify.planning.kernels.least_densities import LeastDensities
from dpverify.planning.kernels.rungs import Candidate, check_kernel, has_bandwidth, ladder, rmse_at_one_point
from dpverify.planning.sweeps.comparison import some
from dpverify.planning.sweeps.least import Search
from dpverify.planning.sweeps.least_plans import Least
from dpverify.planning.sweeps.setting import FailedPlan, sweep
from dpverify.planning.sweeps.steps import EPSILONS, ROUND_USERS, Steps
from dpverify.search import smallest_at_level
from protocols.classes.frozen import dataclass
from protocols.validation import budget_by_name, check_choice, check_integer, check_real

__all__ = ["error_for_margin", "least_density_epsilon", "least_density_users"]

Progress = Callable[[float, int], object]
_MANY = 10**15
"""Users whose rounding is nothing beside the features' own error."""
_NEAR = 1e-3


def error_for_margin(margin: float, confidence: float = 0.9) -> float:
    """Return which error of each density is small enough to tell two classes apart.

    - margin: By how much two classes' densities differ at a point, in (0, 2].
    - confidence: The least probability that the estimates stand in the same order there, in (0, 1).

    Returns: margin sqrt(1 - confidence) / 2, as a root mean squared error of each.

    With an error of e each, the difference errs by 2 e at most (root mean squares of sums are at most sums of root mean
    squares, whether or not the errors depend on each other, as with shared features), and by Chebyshev's inequality by
    `margin` or more with probability (2 e / margin)^2 at most. Noise is nearly normal, so much less is often enough.

    >>> error_for_margin(0.2, 0.75)
    0.05
    """
    check_real("margin", margin, low=0.0, high=2.0, low_open=True)
    check_real("confidence", confidence, low=0.0, high=1.0, low_open=True, high_open=True)
    return margin * math.sqrt(1.0 - confidence) / 2.0


@dataclass(frozen=True)
class _Question:
    """What is asked of every rung: what to plan at a step, and what normal noise would err by there."""

    steps: Steps
    error: float
    at: Callable[[Candidate, str, str], DensitySetting]
    normal: Callable[[Candidate, float], float]
    floor: Callable[[Candidate], float]

    def reduced(self, rmse: float, floor: float) -> float:
        """Return the part of an error above the floor, which is at most `level` just where the error is met."""
        level = self.level(floor)
        found = math.sqrt(max(rmse**2 - floor**2, 0.0))
        return max(found, math.nextafter(level, math.inf)) if rmse > self.error else min(found, level)

    def level(self, floor: float) -> float:
        return math.sqrt(self.error**2 - floor**2)

    def start(self, candidate: Candidate) -> float:
        """Return the answer under normal noise; infinite where there is none."""
        floor, last = self.floor(candidate), float(self.steps.value(self.steps.most))
        if floor >= self.error:
            return math.inf
        found = smallest_at_level(
            lambda at: self.reduced(self.normal(candidate, at), floor),
            self.level(floor),
            1.0,
            last,
            _NEAR,
            slope=1.0,
        )
        return math.inf if found is None else found

    def search(
        self, candidate: Candidate, bitsum: str, start: float, progress: Callable[[float], object]
    ) -> Search[DensityRow]:
        floor = self.floor(candidate)
        return Search(
            partial(self.at, candidate, bitsum),
            self.steps,
            lambda row: self.reduced(row.rmse, floor),
            self.level(floor),
            start,
            1.0,
            f"an error of {self.error:.6g}",
            progress,
        )


def _answers(
    question: _Question,
    rungs: list[list[Candidate]],
    bitsums: Iterable[str],
    every_rung: bool,
    progress: Progress | None,
) -> tuple[tuple[Least[DensityRow], ...], tuple[str, ...]]:
    """Return the answers by messages, and why there are no others."""
    chosen = some("bitsums", [check_choice("bitsum", bitsum, BITSUM_CLAIMS) for bitsum in bitsums])
    started = [min(((question.start(each), each) for each in rung), key=lambda pair: pair[0]) for rung in rungs]
    reached = [pair for pair in started if pair[0] < math.inf]
    if not every_rung:
        reached = reached[-1:]

    def tell(done: int, share: float) -> None:
        if progress is not None:
            progress(done + share, len(reached) * len(chosen))

    found = sweep(
        [
            question.search(candidate, bitsum, start, partial(tell, done))
            for done, ((start, candidate), bitsum) in enumerate(product(reached, chosen))
        ],
        progress,
    )
    reasons = {row.error: None for row in found if isinstance(row, FailedPlan)}
    short = [candidate for start, candidate in started if start == math.inf]
    if short:
        last, floor = short[-1], question.floor(short[-1])
        why = (
            f"without any noise they err by {floor:.3g}"
            if floor >= question.error
            else f"{question.steps.name} end at {question.steps.value(question.steps.most)}"
        )
        bits = last.measured().bits
        reasons[f"an error of {question.error:.6g} is not reached with {bits:,} bits a user or fewer: {why}."] = None
    rows = [row for row in found if isinstance(row, Least)]
    return tuple(sorted(rows, key=lambda row: (row.row.messages_per_user, row.least))), tuple(reasons)


def _asked(error: float | None, margin: float | None, confidence: float | None) -> tuple[float, float | None]:
    """Return the error that is asked, and the confidence of a margin."""
    if (error is None) == (margin is None):
        raise ValueError(f"exactly one of error={error!r} and margin={margin!r} must be given.")
    if error is not None:
        if confidence is not None:
            raise ValueError(f"confidence={confidence!r} must be omitted without margin, which it belongs to.")
        return check_real("error", error, low=0.0, high=1.0, low_open=True), None
    assert margin is not None
    sure = 0.9 if confidence is None else confidence
    return error_for_margin(margin, sure), sure


def _spread(honest: Number | None, users: int) -> float:
    """Return by how much the noise of all exceeds that of the honest, about."""
    if honest is None:
        return 1.0
    share = exact_number("honest", honest)
    return 1.0 if share >= users else 1.0 / math.sqrt(share if share < 1 else share / users)


def _least(
    kernel: str,
    dimension: int,
    whole: Budget,
    users: int | None,
    wanted: tuple[float | None, float | None, float | None],
    bandwidth: float,
    bitsums: Iterable[str],
    honest: Number | None,
    every_rung: bool,
    progress: Progress | None,
) -> LeastDensities:
    """Return the least users, or for so many users the least epsilon in place of the budget's."""
    kernel = check_kernel(kernel, dimension, bandwidth, whole)
    error, confidence = _asked(*wanted)
    honest_users(honest, users or int(ROUND_USERS.value(ROUND_USERS.most)))

    def at(candidate: Candidate, bitsum: str, value: str) -> DensitySetting:
        budget = whole if users is None else Budget(value, whole.exact_delta)
        return DensitySetting(candidate, bitsum, budget, users or int(value), None, honest)

    def normal(candidate: Candidate, value: float) -> float:
        n, epsilon = (max(1, round(value)), whole.epsilon) if users is None else (users, value)
        return candidate.normal_rmse(n, least_sigma(epsilon, whole.delta) * _spread(honest, n))

    def floor(candidate: Candidate) -> float:
        return rmse_at_one_point(candidate.family, candidate.pairs, users or _MANY, 0.0)

    question = _Question(ROUND_USERS if users is None else EPSILONS, error, at, normal, cache(floor))
    return LeastDensities(
        "users" if users is None else "epsilon",
        kernel,
        dimension,
        float(bandwidth) if has_bandwidth(kernel) else None,
        whole.exact_epsilon if users is None else None,
        whole.exact_delta,
        users,
        error,
        wanted[1],
        confidence,
        *_answers(question, ladder(kernel, dimension, float(bandwidth)), bitsums, every_rung, progress),
        None if honest is None else exact_number("honest", honest),
    )


@budget_by_name
def least_density_users(
    kernel: str,
    dimension: int,
    budget: BudgetLike,
    *,
    error: float | None = None,
    margin: float | None = None,
    confidence: float | None = None,
    bandwidth: float = 1.0,
    bitsums: Iterable[str] = ("rr",),
    honest: Number | None = None,
    every_rung: bool = True,
    progress: Progress | None = None,
) -> LeastDensities:
    """Find the least number of users, to four digits, with whom a density is estimated this well.

    Parameters
    ----------
    kernel, dimension, budget
        As for `dpverify.planning.kernels.density.plan_density`.
    error : float, optional
        The root mean squared error of a density, at most, in (0, 1]: see `planning.kernels.rungs.rmse_at_one_point`.
    margin, confidence : float, optional
        In place of the error: see `error_for_margin`. The users are then those of each class.
    bandwidth, bitsums, honest
        As for `dpverify.planning.kernels.density.plan_density`.
    every_rung : bool
        Whether every number of bits has a row; otherwise only the largest, one for each bitsum.
    progress : callable, optional
        `progress(done, total)` in answers, at the start and after every plan: the share of an answer that is under way
        is a guess.

    Returns
    -------
    LeastDensities
        For each number of bits and bitsum the least number, with the plan that meets what is asked.

    Raises
    ------
    InfeasibleBudgetError
        If delta is 0.
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> found = least_density_users("inner-product", 8, ("1", "1e-6"), error=0.05, every_rung=False)
    >>> row = found.best
    >>> row.row.rmse <= 0.05 < row.below.rmse
    True
    """
    return _least(
        kernel,
        dimension,
        Budget.of(budget),
        None,
        (error, margin, confidence),
        bandwidth,
        bitsums,
        honest,
        every_rung,
        progress,
    )


def least_density_epsilon(
    kernel: str,
    dimension: int,
    delta: Number,
    *,
    users: int,
    error: float | None = None,
    margin: float | None = None,
    confidence: float | None = None,
    bandwidth: float = 1.0,
    bitsums: Iterable[str] = ("rr",),
    honest: Number | None = None,
    every_rung: bool = True,
    progress: Progress | None = None,
) -> LeastDensities:
    """Find the least epsilon of the whole, to four digits, at which a density is estimated this well.

    Parameters
    ----------
    kernel, dimension
        As for `least_density_users`.
    delta : number
        The delta of the whole, in (0, 1).
    users : int
        n, at least 1; of each class where a margin is asked.
    error, margin, confidence, bandwidth, bitsums, honest, every_rung, progress
        As for `least_density_users`.

    Returns
    -------
    LeastDensities
        For each number of bits and bitsum the least epsilon in nats, with the plan that meets what is asked.

    Raises
    ------
    InfeasibleBudgetError
        If delta is 0.
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> found = least_density_epsilon("inner-product", 8, "1e-6", users=1000, error=0.05, every_rung=False)
    >>> row = found.best
    >>> row.row.rmse <= 0.05 < row.below.rmse
    True
    """
    return _least(
        kernel,
        dimension,
        Budget(1, delta),
        check_integer("users", users, low=1),
        (error, margin, confidence),
        bandwidth,
        bitsums,
        honest,
        every_rung,
        progress,
    )
