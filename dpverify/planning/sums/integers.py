"""Sums of numbers side by side, each with its least noise for a budget: which protocol, and what it costs.

Every bound in a search is that of the exact law, composed; what is returned is accounted for once more, and its epsilon
is at most the budget's. What is searched is noise for integers from 0 on; where others' ends are is a public shift.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar

from dpverify.changes import Full
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.shared.bitsum_pairs import check_not_too_rare
from dpverify.claims.shared.shares import split_distance
from dpverify.claims.sums.split_and_mix import SplitAndMixClaims
from dpverify.guarantee import Budget, BudgetLike, CapacityError, Guarantee, InfeasibleBudgetError
from dpverify.laws.two_sided import two_sided
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.search import smallest_at_level
from dpverify.shown import Drawn, Plain
from protocols.classes.frozen import dataclass
from protocols.sums import AugmentedSum, NegativeBinomialSum, PoissonSum, SplitAndMix, SumProtocol
from protocols.validation import budget_by_name, check_choice, check_flag, check_integer

__all__ = ["SumPlan", "SumPlans", "plan_sums"]

_TOLERANCE, _WIDTH, _SLACKS = 1e-4, 1e-5, (0.0, 3e-5, 5e-4)
_NEARLY, _NEXT_TO = 1.01, 1.002
"""How many times the error of Poisson noise that of NB noise may be; and that of the noise alone, of fewer shares."""
_LARGEST = 2.0**26
"""The largest error that is looked for: of Poisson noise the largest mean is 2^52."""
_MOST_SHARES, _MOST_SHAPE, _LISTED = 64, 2.0**12, 2.0**16
_NO_MATTER = 1e-3
"""Up to which share of epsilon a delta may be that discrete Laplace noise makes no use of."""
_COARSE, _FEW, _ROUNDING = 64, 8, 0.01
"""Steps of a first plan for real numbers, fewer where laws are listed; what rounding may add to the squared error."""
_EXACT = 2**53 - 1
_MOST_LEVELS = 1024
"""Up to so many steps integers are sent as they are: of more few messages are worth what rounding errs."""
_ENDS = 5e-4
"""The share of delta that may be lost where noise ends."""
_WRAPS = 1e-20
"""The chance, about, with which noise may leave the range of the estimates, on either side."""

_Maker = Callable[..., SumProtocol]
"""Returns a protocol for a budget, users, the largest integer and instances; of a shape near a given one."""
_LOOSE = 1e-4
"""How closely noise is bounded while shapes are compared; what is chosen is bounded more closely, and accounted for."""


@dataclass(frozen=True)
class SumPlan(Plain):
    """One protocol for a sum of integers, or of real numbers, that meets a budget.

    - name: The protocol's.
    - protocol: Ready to run.
    - parameters: Its parameters by argument name.
    - rmse: Root mean squared error of the sum, for any input, in units of 1; rounding included.
    - messages, size: The expected messages of a user with the largest number, in each sum, and their bytes.
    - guarantee: What all sums together give.
    """

    plain_as: ClassVar[str] = "name parameters rmse messages bytes=size guarantee"

    name: str
    protocol: SumProtocol = field(repr=False)
    parameters: dict[str, Any]
    rmse: float
    messages: float
    size: float
    guarantee: Guarantee


@dataclass(frozen=True)
class SumPlans(Drawn):
    """What one budget buys for a sum of integers, or of real numbers.

    - budget: Of all sums together.
    - users, largest, instances: How many users hold numbers up to which one, and in how many sums each takes part.
    - curator: The RMSE of a trusted curator's Gaussian noise that meets it.
    - plans: Those that meet the budget, the least error first.
    - failures: By name of the others, why there is none.
    - smallest: From which number on.
    - real: Whether they are real numbers, and not integers.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.means:sums_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.means:sums_bars"
    plain_as: ClassVar[str] = "budget users smallest largest real instances curator rows=_rows"

    budget: Budget
    users: int
    largest: float
    instances: int
    curator: float
    plans: tuple[SumPlan, ...]
    failures: dict[str, str]
    smallest: float = 0
    real: bool = False

    @property
    def _rows(self) -> list[Any]:
        return [*self.plans, *({"name": name, "error": reason} for name, reason in self.failures.items())]


@budget_by_name
def plan_sums(
    budget: BudgetLike,
    *,
    users: int,
    smallest: float = 0,
    largest: float,
    real: bool = False,
    steps: int | None = None,
    instances: int = 1,
    protocols: Sequence[str] | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> SumPlans:
    """Find parameters of little error for a sum of integers, or of real numbers, with each protocol.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        Of all sums together, replace-one adjacency, whoever sees all shuffled messages.
    users : int
        n, public.
    smallest, largest : float
        a and b, public: a user holds an integer in [a, b]. Where b - a is above 1,024 it is rounded at random, as
        real numbers are, unless the noise is so small that each step counts.
    real : bool
        Or any number in it, which is rounded at random to one of both next steps.
    steps : int, optional
        Of real numbers L, of how many steps [a, b] consists; rounding adds at most n/4 to the squared error in steps,
        and nothing to privacy. When omitted so many for each protocol that this is a hundredth of what the noise adds.
    instances : int
        In how many sums each user takes part, with a number of her own for each.
    protocols : sequence of str, optional
        Of "split-and-mix", "poisson-sum", "nb-sum" and "augmented-sum"; all but the last, whose shuffler draws the
        noise, when omitted.
    progress : callable, optional
        Called with how many protocols are planned, and with the number of all.

    Returns
    -------
    SumPlans
        `plans`, the least error first, and the reasons where there is none. For "split-and-mix" the shape of the noise
        is the best power of two from 1 on, or 1 where there is too much noise to list other laws; the shares are the
        fewest within .2 % of what the noise alone costs. Negative binomial noise of a larger shape may err by some
        thousandths less, for more messages.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> found = plan_sums((1, "1e-6"), users=10_000, largest=4)
    >>> [f"{row.name} {row.rmse:.3f}" for row in found.plans]
    ['split-and-mix 5.642', 'poisson-sum 18.353', 'nb-sum 18.537']
    >>> found = plan_sums((1, "1e-6"), users=10_000, smallest=-1, largest=1, real=True, protocols=["split-and-mix"])
    >>> found.plans[0].protocol.steps, f"{found.plans[0].rmse:.3f}"
    (354, '2.842')
    """
    target = Budget.of(budget)
    users = check_integer("users", users, low=1)
    check_flag("real", real)
    if steps is not None and not real:
        raise ValueError(f"steps={steps!r} must be omitted for integers: it is of real numbers.")
    # Which range it is, the protocol says: without noise any will do.
    span = PoissonSum(users, largest, 0.0, smallest=smallest, steps=steps or _COARSE if real else None)
    instances = check_integer("instances", instances, low=1)
    names = _USUAL if protocols is None else [check_choice("protocols", each, _MAKERS) for each in protocols]
    plans, failures = [], {}
    fit = steps is None and (real or span.levels > _MOST_LEVELS)
    for done, name in enumerate(names):
        if progress is not None:
            progress(done, len(names))
        try:
            plans.append((_fitted if fit else _planned)(_MAKERS[name], target, span, instances))
        except InfeasibleBudgetError as error:
            failures[name] = str(error)
        except CapacityError:  # in terms of a law that nobody asked for
            failures[name] = f"steps={span.levels} need more noise at {target} than can be listed for {name}."
    curator = math.inf
    if target.delta > 0.0:
        bit = plan("central-gaussian", target, users=users, instances=instances).bitsum_rmse
        curator = float(span.step * span.levels) * bit
    plans.sort(key=lambda row: row.rmse)
    ends = span.smallest, real
    return SumPlans(target, users, span.largest, instances, curator, tuple(plans), failures, *ends)


def _fitted(maker: _Maker, budget: Budget, span: SumProtocol, instances: int) -> SumPlan:
    """Return the plan of a protocol for a span in as many steps as its noise leaves hardly visible.

    That of few tells how many: its share of the span is the same, and so is the best shape. Where there is too much
    noise for laws of that shape to be listed, fewer steps may be better than another law.
    """
    levels = _FEW if maker in (_split_and_mix, _augmented) else _COARSE
    coarse = maker(budget, span.users, levels, instances)
    claims: Any = mechanism_claims_of(coarse)
    noise = math.sqrt(claims.variance(coarse)) / levels
    fitting = math.ceil(math.sqrt(span.users / (4.0 * _ROUNDING)) / max(noise, 1.0 / _LARGEST))
    steps = max(min(fitting, _EXACT // span.users), 1)
    if span.steps is None and steps >= span.levels:  # of integers
        return _planned(maker, budget, span, instances)
    if not isinstance(coarse, (SplitAndMix, AugmentedSum)):
        return _planned(maker, budget, replace(span, steps=steps), instances)
    near = functools.partial(maker, shape=coarse.shape)
    rows = [_planned(near, budget, replace(span, steps=steps), instances)]
    if rows[0].parameters["shape"] < coarse.shape:
        rows.append(_planned(near, budget, replace(span, steps=max(1, steps // 8)), instances))
    return min(rows, key=lambda row: row.rmse)


def _planned(maker: _Maker, budget: Budget, span: SumProtocol, instances: int) -> SumPlan:
    """Return the plan of a protocol for a span, aiming a little lower where the account does not confirm the search."""
    for slack in _SLACKS:
        aim = Budget(budget.epsilon * (1.0 - slack), budget.delta)
        made = maker(aim, span.users, span.levels, instances)
        protocol = replace(made, smallest=span.smallest, largest=span.largest, steps=span.steps)
        found = account(protocol, instances=instances, delta=budget.exact_delta, relative_width=_WIDTH)
        if found.epsilon.upper <= budget.epsilon:
            break
    else:
        raise CapacityError(f"the account finds {found.epsilon.upper!r} where the search did epsilon={aim.epsilon!r}.")
    claims: Any = mechanism_claims_of(protocol)
    sent = claims.messages_per_user(protocol)
    size = sent * claims.bytes_per_message(protocol)
    return SumPlan(
        claims.name, protocol, claims.parameters(protocol), claims.rmse(protocol), sent, size, found.guarantee
    )


def _epsilon(protocol: SumProtocol, instances: int, delta: float, width: float = _WIDTH) -> float:
    """Return an upper bound on the composed epsilon of the noise, quickly."""
    claims: Any = mechanism_claims_of(protocol)
    curve = claims.composed(protocol, Full(instances), width, delta)
    assert isinstance(curve, FamilyComposition)
    return curve.epsilon(delta, quick=True).upper


def _least(
    made: Callable[[float], SumProtocol],
    budget: Budget,
    instances: int,
    delta: float,
    start: float,
    name: str,
    width: float = _WIDTH,
) -> float:
    """Return the least argument, about, at which a protocol meets the budget at this delta."""
    if delta <= 0.0:
        raise InfeasibleBudgetError(f"delta=0 cannot be met by {name}: its views are not pure DP.")
    check_not_too_rare(budget.delta, instances)

    def epsilon(amount: float) -> float:
        return _epsilon(made(amount), instances, delta, width)

    found = smallest_at_level(epsilon, budget.epsilon, start, _LARGEST, _TOLERANCE)
    if found is None:
        raise InfeasibleBudgetError(
            f"epsilon={budget.epsilon!r} cannot be met by {name} at an error below {_LARGEST:g}."
        )
    return found


def _start(budget: Budget, largest: int, instances: int) -> float:
    """Return about the deviation of normal noise that meets the budget."""
    return largest * math.sqrt(-2.0 * instances * math.log(budget.delta or 0.5)) / budget.epsilon


def _poisson(budget: Budget, users: int, largest: int, instances: int, name: str = "poisson-sum") -> PoissonSum:
    def made(deviation: float) -> PoissonSum:
        return PoissonSum(users, largest, deviation * deviation)

    start = _start(budget, largest, instances)
    return made(_least(made, budget, instances, budget.delta, start, name))


def _negative_binomial(budget: Budget, users: int, largest: int, instances: int) -> NegativeBinomialSum:
    """Return the noise of the fewest messages within a per cent of Poisson noise's error: of the least mean."""
    error = _NEARLY * math.sqrt(_poisson(budget, users, largest, instances, "nb-sum").mean)

    def made(rest: float) -> NegativeBinomialSum:
        return NegativeBinomialSum(users, largest, (error * rest) ** 2 / (1.0 - rest), 1.0 - rest)

    # What of epsilon is the skewness's alone is about a power of the rest, and quickly found.
    normal = _epsilon(PoissonSum(users, largest, error**2), instances, budget.delta)

    def excess(rest: float) -> float:
        return _epsilon(made(rest), instances, budget.delta) - normal

    rest = None
    if normal < budget.epsilon:
        rest = smallest_at_level(excess, budget.epsilon - normal, 0.5, 1.0 - 1e-6, 2e-3)
    if rest is None:
        raise InfeasibleBudgetError(f"epsilon={budget.epsilon!r} cannot be met by nb-sum within 1 % of Poisson noise.")
    return made(rest)


_Noise = Callable[..., SplitAndMix]
"""Returns noise of a shape, for a modulus, shares and a delta, from about a deviation on, as closely as is said."""


def _deviation(found: SplitAndMix) -> float:
    return math.sqrt(2.0 * found.shape * found.p) / (1.0 - found.p)


def _two_sided(
    budget: Budget, users: int, largest: int, instances: int, near: float, name: str = "split-and-mix"
) -> tuple[SplitAndMix, _Noise]:
    """Return about the noise of either sign with the least deviation, in one share, and what finds others closely.

    Its shape is looked for from one on that is near.
    """

    def made(shape: float, modulus: int, shares: int, deviation: float) -> SplitAndMix:
        # 2 r p / (1-p)^2 is the variance; p may be tiny.
        twice = 2.0 * shape * deviation * deviation
        p = twice / (shape + math.sqrt(shape * shape + twice)) ** 2
        return SplitAndMix(users, largest, modulus, shares, p, shape)

    def noise(
        shape: float, modulus: int, shares: int, delta: float, start: float, width: float = _WIDTH
    ) -> SplitAndMix:
        of_deviation = functools.partial(made, shape, modulus, shares)
        pure = math.exp(-budget.epsilon / largest) * (1.0 + 4e-15)
        if shape == 1.0 and instances == 1 and 0.0 < delta < _NO_MATTER * budget.epsilon and 0.0 < pure < 1.0:
            # The largest loss is epsilon + (1 + p) delta at most: the least p is known, up to that.
            return replace(of_deviation(1.0), p=pure)
        return of_deviation(_least(of_deviation, budget, instances, delta, start, name, width))

    def alone(shape: float, start: float) -> SplitAndMix | None:
        """Return noise about as it will be; None where there is too much for a law that has to be listed."""
        if not 1.0 <= shape <= _MOST_SHAPE or (shape > 1.0 and start >= _LISTED):
            return None
        try:
            return noise(shape, 2**53, 1, budget.delta, start, _LOOSE)
        except CapacityError:
            return None

    # The shape by the noise alone, as long as the error falls: to larger ones, or, if none is better, to smaller ones.
    start = _start(budget, largest, instances)
    best = (near > 1.0 and alone(near, start)) or noise(1.0, 2**53, 1, budget.delta, start, _LOOSE)
    first, sure = best.shape, 1.0 - 2.0 * _LOOSE
    for factor in (2.0, 0.5) if first > 1.0 else (2.0,):
        while (other := alone(factor * best.shape, _deviation(best))) and _deviation(other) < sure * _deviation(best):
            best = other
        if best.shape != first:
            break
    return best, noise


def _split_and_mix(budget: Budget, users: int, largest: int, instances: int, shape: float = 1.0) -> SplitAndMix:
    best, noise = _two_sided(budget, users, largest, instances, shape)
    roomy, margin = 2**53, two_sided(best.shape, best.p, _WRAPS).stop
    modulus = 2 ** (users * largest + 2 * math.ceil(1.1 * margin)).bit_length()
    if modulus > roomy:
        raise InfeasibleBudgetError(
            f"users={users} times largest={largest} leave no room below 2^53 for the noise of split-and-mix."
        )
    for shares in range(1, _MOST_SHARES + 1):
        charge = instances * (1.0 + math.exp(min(budget.epsilon, 700.0))) * (1.0 + 1e-9)
        left = budget.delta - charge * split_distance(users, shares, modulus, budget.delta / charge)
        if left <= 0.0:
            continue
        found = noise(best.shape, modulus, shares, left, _deviation(best))
        if _deviation(found) <= _NEXT_TO * _deviation(best):
            return found
    raise InfeasibleBudgetError(
        f"no plan of split-and-mix with at most {_MOST_SHARES} shares was found for {budget} and users={users}."
    )


def _augmented(budget: Budget, users: int, largest: int, instances: int, shape: float = 1.0) -> AugmentedSum:
    name = "augmented-sum"
    if budget.delta == 0.0:
        raise InfeasibleBudgetError(f"delta=0 cannot be met by {name}: its views are not pure DP.")
    about, noise = _two_sided(budget, users, largest, instances, shape, name)
    best = noise(about.shape, 2**53, 1, budget.delta, _deviation(about))
    # What the last values tell is infinitely lost, and next to nothing of delta.
    margin = two_sided(best.shape, best.p, max(_ENDS * budget.delta / instances, 1e-280)).stop + largest
    return AugmentedSum(users, largest, margin, best.p, best.shape)


_MAKERS: dict[str, _Maker] = {
    SplitAndMixClaims.name: _split_and_mix,
    "poisson-sum": _poisson,
    "nb-sum": _negative_binomial,
    "augmented-sum": _augmented,
}
_USUAL = tuple(_MAKERS)[:3]  # those of which users draw the noise
