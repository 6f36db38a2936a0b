"""From a budget to every estimator of a mean, with its exact error beside what its source says."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, ClassVar

from dpverify.claims.local.baselines import CentralLaplaceMeanClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.shared.lower_bound import least_squared_error
from dpverify.claims.shuffled_mean import ShuffledMeanClaims
from dpverify.guarantee import Budget, BudgetLike, CapacityError, Guarantee, InfeasibleBudgetError
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.planning.sums.integers import plan_sums
from dpverify.search import smallest_at_level
from dpverify.shown import Drawn, Plain
from protocols.classes.frozen import dataclass
from protocols.local.baselines import CentralLaplaceMean
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.means import LocalMean
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from protocols.shuffled_mean import ShuffledMean
from protocols.validation import budget_by_name, check_integer

__all__ = ["MeanPlan", "MeanPlans", "plan_means"]

_LARGEST, _MOST_SPREAD = 600.0, 1e9
"""The largest epsilon of a report, and the largest 1 / epsilon that is tried."""
_TOLERANCE = _WIDTH = 1e-6
_NOT_FOR_ALL = (CentralLaplaceMean, RandomizedResponseMean, ShuffledMean)
_SPLIT = "split-and-mix"


@dataclass(frozen=True)
class MeanPlan(Plain):
    """One estimator of the mean of values in [0, 1] that meets a budget.

    - mechanism: Its name.
    - protocol: The protocol, ready to run.
    - parameters: Its parameters by argument name.
    - rmse: Exact root mean squared error, for the worst dataset.
    - statement: What its source says of the error.
    - published: The number that the statement gives, with the constant 1; None where it says nothing.
    - exact: The truth in the same measure: the root mean squared error unless it says otherwise.
    - guarantee: What the whole gives.
    """

    plain_as: ClassVar[str] = "mechanism parameters rmse statement published exact guarantee"

    mechanism: str
    protocol: Any = field(repr=False)
    parameters: dict[str, Any]
    rmse: float
    statement: str
    published: float | None
    exact: float
    guarantee: Guarantee


@dataclass(frozen=True)
class MeanPlans(Drawn):
    """What one budget buys for a mean, by every estimator.

    - budget: Of all estimates together.
    - users, instances: How many users hold a value, and how many means each takes part in.
    - plans: Those that meet the budget.
    - failures: By name of the others, why there is none.
    - least_local_rmse: What the error of every local estimator of a mean of bits is at least, for some dataset; None
      where delta > 0.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.means:means_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.means:means_bars"
    plain_as: ClassVar[str] = "budget users instances least_local_rmse recommended=_best rows=_rows"

    budget: Budget
    users: int
    instances: int
    plans: tuple[MeanPlan, ...]
    failures: dict[str, str]
    least_local_rmse: float | None

    @property
    def recommended(self) -> MeanPlan | None:
        """The plan of the least error for any values in [0, 1], without a trusted curator; None where there is none."""
        known = [row for row in self.plans if not isinstance(row.protocol, _NOT_FOR_ALL)]
        return min(known, key=lambda row: row.rmse, default=None)

    @property
    def _best(self) -> str | None:
        return None if self.recommended is None else self.recommended.mechanism

    @property
    def _rows(self) -> list[Any]:
        return [*self.plans, *({"mechanism": name, "error": reason} for name, reason in self.failures.items())]


@budget_by_name
def plan_means(
    budget: BudgetLike, *, users: int, instances: int = 1, progress: Callable[[int, int], Any] | None = None
) -> MeanPlans:
    """Find the parameters of least error of every estimator of a mean of values in [0, 1].

    Randomized response and the shuffled mean are of bits, the others of any values; in [0, m] all errors are m times as
    large. Shuffled shares ("split-and-mix") add up values in steps, to which they are rounded at random: as many as
    leave rounding about a hundredth of the squared error.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        Of all estimates together, replace-one adjacency.
    users : int
        n, public.
    instances : int
        I: how many means each user takes part in, with a value of her own for each.
    progress : callable, optional
        Called with how many estimators are planned, and with the number of all.

    Returns
    -------
    MeanPlans
        `plans`, a row for each estimator, with the reason where there is none.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> found = plan_means(("1", "1e-6"), users=10_000)
    >>> [f"{row.mechanism} {row.rmse:.5f}" for row in found.plans if "la" not in row.mechanism]
    ['rr-mean 0.00960', 'one-bit-mean 0.01082', 'shuffled-mean 0.00058', 'split-and-mix 0.00014']
    >>> found.recommended.mechanism
    'split-and-mix'
    """
    target = Budget.of(budget)
    users = check_integer("users", users, low=1)
    instances = check_integer("instances", instances, low=1)
    made: dict[str, Callable[[], MeanPlan]] = {}
    for protocol, statement, factor in _LOCAL:
        name = mechanism_claims_of(protocol).name
        made[name] = functools.partial(_local, protocol, statement, factor, target, users, instances)
    made["central-laplace-mean"] = functools.partial(_central, target, users, instances)
    made["shuffled-mean"] = functools.partial(_shuffled, target, users, instances)
    made[_SPLIT] = functools.partial(_split, target, users, instances)
    plans, failures = [], {}
    for done, (name, attempt) in enumerate(made.items()):
        if progress is not None:
            progress(done, len(made))
        try:
            plans.append(attempt())
        except (InfeasibleBudgetError, CapacityError) as error:
            failures[name] = str(error)
    least = None
    if target.delta == 0.0 and target.epsilon <= _LARGEST:
        least = math.sqrt(least_squared_error(users, target.epsilon))
    return MeanPlans(target, users, instances, tuple(plans), failures, least)


_LOCAL: tuple[tuple[LocalMean, str, float], ...] = (
    (RandomizedResponseMean(1.0), "1/(ε√n)", 1.0),
    (OneBitMean(1.0), "1/(ε√n)", 1.0),
    (LaplaceMean(1.0), "√2/(ε√n)", math.sqrt(2.0)),
    (DiscreteLaplaceMean(1.0), "√2/(ε√n)", math.sqrt(2.0)),
)
"""The estimators, at any epsilon, and what wang_lecture9, section 9.1, says of their root mean squared errors."""


def _local(protocol: LocalMean, statement: str, factor: float, budget: Budget, users: int, instances: int) -> MeanPlan:
    claims: Any = mechanism_claims_of(protocol)
    found, guarantee = _at_budget(protocol, budget, instances)
    published, rmse = factor / (found.epsilon * math.sqrt(users)), claims.rmse(found, users)
    return MeanPlan(claims.name, found, claims.parameters(found), rmse, statement, published, rmse, guarantee)


def _central(budget: Budget, users: int, instances: int) -> MeanPlan:
    claims = CentralLaplaceMeanClaims()
    found, guarantee = _at_budget(CentralLaplaceMean(users, 1.0), budget, instances)
    error = claims.mean_absolute_error(found)
    return MeanPlan(
        claims.name,
        found,
        claims.parameters(found),
        claims.rmse(found),
        "E|error|: 1/(nε)",
        error,
        error,
        guarantee,
    )


def _shuffled(budget: Budget, users: int, instances: int) -> MeanPlan:
    claims = ShuffledMeanClaims()
    row = plan("rr", budget, users=users, instances=instances)
    protocol = ShuffledMean(users, 2.0 * row.parameters["flip_probability"])
    stated = instances == 1 and budget.delta > 0.0
    published = claims.published_bound(users, budget.epsilon, budget.delta) if stated else None
    return MeanPlan(
        claims.name,
        protocol,
        claims.parameters(protocol),
        claims.rmse(protocol),
        "E|error|: √ln(1/δ)/(nε)",
        published,
        claims.mean_absolute_error(protocol).upper,
        row.guarantee,
    )


def _split(budget: Budget, users: int, instances: int) -> MeanPlan:
    """Return the sum of real numbers by shares."""
    found = plan_sums(budget, users=users, smallest=0, largest=1, real=True, instances=instances, protocols=(_SPLIT,))
    if not found.plans:
        raise InfeasibleBudgetError(found.failures[_SPLIT])
    (row,) = found.plans
    error = row.rmse / users
    return MeanPlan(_SPLIT, row.protocol, row.parameters, error, "-", None, error, row.guarantee)


def _at_budget(protocol: Any, budget: Budget, instances: int) -> tuple[Any, Guarantee]:
    """Return the protocol at the largest epsilon of a report with which so many meet the budget, and the guarantee."""

    def at(spread: float) -> Any:
        return replace(protocol, epsilon=min(1.0 / spread, _LARGEST))

    def spent(spread: float) -> float:
        return account(at(spread), instances=instances, delta=budget.exact_delta, relative_width=_WIDTH).epsilon.upper

    basic = instances / budget.epsilon
    normal = math.sqrt(-2.0 * instances * math.log(budget.delta)) / budget.epsilon if budget.delta > 0.0 else basic
    spread = smallest_at_level(spent, budget.epsilon, min(basic, normal), _MOST_SPREAD, _TOLERANCE)
    if spread is None:
        raise InfeasibleBudgetError(
            f"the budget {budget} cannot be met by {instances} reports with an epsilon of 1e-9 or more each."
        )
    found = at(spread)
    return found, account(found, instances=instances, delta=budget.exact_delta, relative_width=_WIDTH).guarantee
