"""Plans backwards: the least number of users, epsilon or messages for an error, each protocol's own.

The least error that a budget allows falls in the number of users and in epsilon. With one more user, who sends as much
noise as each of the others may then save, the noise on the sum stays as it is, and by randomized response it grows by
less than the users do; with more epsilon, what met the budget meets it still. A plan's error is that least one within
the tolerance of its search, so it may rise between neighbours. So both sides of every answer are plans: the answer
meets what is asked, and one step less does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any, Generic, TypeVar

from dpverify.changes import Change
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.shared.divisible_noise import DEFAULT_MARGIN
from dpverify.guarantee import Budget, BudgetLike, Number, ThreatModel
from dpverify.planning.answers import honest_users
from dpverify.planning.plan import EXACT, PlanRow
from dpverify.planning.sweeps.fronts import MARGINS, SHUFFLED
from dpverify.planning.sweeps.least_plans import Least, LeastPlans
from dpverify.planning.sweeps.setting import FailedPlan, Progress, Row, Setting, sweep
from dpverify.planning.sweeps.steps import EPSILONS, USERS, Steps
from protocols.classes.frozen import dataclass
from protocols.validation import budget_by_name, check_choice, check_integer, check_real

__all__ = ["Search", "least_epsilon", "least_messages", "least_users"]

_Row = TypeVar("_Row", bound=Row)
_ATTEMPTS = 3
_STILL_LEFT = 0.75
"""Of an answer, after every plan: nobody knows how many it takes, and six are usual."""


@dataclass(frozen=True)
class Search(Generic[_Row]):
    """One field of a setting, and how much its plan may err: what is asked for is the least value that reaches that.

    - at: Returns the setting where the field has a value, which is a decimal.
    - steps: The values.
    - error: What a plan errs by; it falls, about.
    - level: How much it may.
    - start: The value at which to begin.
    - slope: As for `Steps.least`.
    - wanted: How the level is called where it is not reached; by default `error=` it.
    - progress: Told before the first plan and after every one which share of the way may lie behind.
    """

    at: Callable[[str], Any]
    steps: Steps
    error: Callable[[_Row], float]
    level: float
    start: float
    slope: float | None = None
    wanted: str = ""
    progress: Callable[[float], object] = lambda share: None

    def attempted(self) -> Least[_Row] | FailedPlan:
        """Return the least value, with the plan one step below, or why there is none."""
        left, steps = 1.0, self.steps
        self.progress(0.0)

        @cache
        def row(index: int) -> _Row | FailedPlan:
            nonlocal left
            found: _Row | FailedPlan = _honestly(self.at(steps.value(index)))
            left *= _STILL_LEFT
            self.progress(1.0 - left)
            return found

        def error(index: int) -> float:
            return math.inf if isinstance(one := row(index), FailedPlan) else self.error(one)

        found = steps.least(error, self.level, self.start, slope=self.slope)
        if found is None:
            last, bitsum = steps.value(steps.most), self.at(steps.value(steps.most)).bitsum
            why = f": {one.error}" if isinstance(one := row(steps.most), FailedPlan) else "."
            wanted = self.wanted or f"error={self.level:.4g}"
            return _none(bitsum, f"{wanted} is not reached by {bitsum} with {steps.name} up to {last}{why}")
        one = row(found)
        assert not isinstance(one, FailedPlan)
        if found == 1:
            return Least(float(steps.value(1)), one)
        return Least(float(steps.value(found)), one, float(steps.value(found - 1)), row(found - 1))


def _none(bitsum: str, why: str) -> FailedPlan:
    return FailedPlan(bitsum, EXACT, None, why)


def _honestly(setting: Any) -> Any:
    """Return a setting's plan; with fewer users than are to be honest there is none."""
    try:
        honest_users(setting.honest, setting.users)
    except ValueError as error:
        return _none(setting.bitsum, str(error))
    return setting.attempted()


def _checked(error: float) -> float:
    return check_real("error", error, low=0.0, high=1.0, low_open=True)


def _share(row: PlanRow) -> float:
    return row.bitsum_rmse / row.protocol.users


def _start(change: Change, delta: float, product: float) -> float:
    """Return where normal noise would have an error, from epsilon times error and back."""
    return math.sqrt(-2.0 * change.full * math.log(max(delta, 1e-12))) / product


def _each(bitsums: Iterable[str], common: Setting) -> list[Setting]:
    """Return the setting of every bitsum, once what they have in common is checked."""
    check_integer("users", common.users, low=1)
    check_integer("instances", common.instances, low=1)
    honest_users(common.honest, common.users)
    return [replace(common, bitsum=check_choice("bitsum", bitsum, BITSUM_CLAIMS)) for bitsum in bitsums]


@budget_by_name
def least_users(
    budget: BudgetLike,
    *,
    error: float,
    instances: int = 1,
    bitsums: Iterable[str] = SHUFFLED,
    squared_change: Number | None = None,
    ball: bool = False,
    sparsity: int = 1,
    threat_model: ThreatModel | str | None = None,
    honest: Number | None = None,
    progress: Progress | None = None,
) -> LeastPlans:
    """Find the least number of users with whom a share of them is estimated this well.

    An error in users hardly depends on how many there are, and is met by few or by none.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        The budget of the whole composition.
    error : float
        The root mean squared error of one bitsum divided by n, at most; in (0, 1].
    instances : int
        I, at least 1.
    bitsums : iterable of str
        Which protocols; those that need no trusted curator by default.
    squared_change, ball, sparsity, threat_model, honest
        As in `dpverify.planning.plan.plan`.
    progress : callable, optional
        `progress(done, total)` in protocols, after every one.

    Returns
    -------
    LeastPlans
        For each protocol the least number, with the plan that meets what is asked, or the reason why there is none.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range. A protocol that does not reach the error is a row, with the reason.

    Examples
    --------
    >>> found = least_users(("1", "1e-6"), error=0.01, instances=1, bitsums=["poisson"])
    >>> (row,) = found.found
    >>> row.row.bitsum_rmse <= 0.01 * row.least < row.below.bitsum_rmse + 0.01
    True
    """
    budget, error = Budget.of(budget), _checked(error)
    common = Setting("", budget, USERS.most, instances, squared_change, ball, sparsity, threat_model, honest)
    settings, start = _each(bitsums, common), _start(common.change, budget.delta, budget.epsilon * error)

    def search(one: Setting) -> Search[PlanRow]:
        return Search(lambda users: replace(one, users=int(users)), USERS, _share, error, start)

    return LeastPlans(
        "users",
        budget.exact_epsilon,
        budget.exact_delta,
        None,
        instances,
        common.change,
        error,
        sweep(list(map(search, settings)), progress),
    )


def least_epsilon(
    delta: Number,
    *,
    error: float,
    users: int,
    instances: int = 1,
    bitsums: Iterable[str] = SHUFFLED,
    squared_change: Number | None = None,
    ball: bool = False,
    sparsity: int = 1,
    threat_model: ThreatModel | str | None = None,
    honest: Number | None = None,
    progress: Progress | None = None,
) -> LeastPlans:
    """Find the least epsilon of the whole, to four digits, at which a bitsum is estimated this well.

    Parameters
    ----------
    delta : number
        The delta of the whole composition, in [0, 1).
    error : float
        As for `least_users`.
    users, instances : int
        n and I, at least 1.
    bitsums, squared_change, ball, sparsity, threat_model, honest, progress
        As for `least_users`.

    Returns
    -------
    LeastPlans
        For each protocol the least epsilon in nats, with its plan, or the reason why there is none.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range. A protocol that does not reach the error is a row, with the reason.

    Examples
    --------
    >>> found = least_epsilon("1e-6", error=0.02, users=1000, instances=1, bitsums=["poisson"])
    >>> (row,) = found.found
    >>> row.row.bitsum_rmse <= 20 < row.below.bitsum_rmse
    True
    """
    error, whole = _checked(error), Budget(1, delta)
    common = Setting("", whole, users, instances, squared_change, ball, sparsity, threat_model, honest)
    settings, start = _each(bitsums, common), _start(common.change, whole.delta, error * users)

    def search(one: Setting) -> Search[PlanRow]:
        def at(epsilon: str) -> Setting:
            return replace(one, budget=(epsilon, delta))

        return Search(at, EPSILONS, _share, error, start)

    rows = sweep(list(map(search, settings)), progress)
    return LeastPlans("epsilon", None, whole.exact_delta, users, instances, common.change, error, rows)


@budget_by_name
def least_messages(
    budget: BudgetLike,
    *,
    error: float,
    users: int,
    instances: int = 1,
    bitsums: Iterable[str] = SHUFFLED,
    squared_change: Number | None = None,
    ball: bool = False,
    sparsity: int = 1,
    threat_model: ThreatModel | str | None = None,
    honest: Number | None = None,
    progress: Progress | None = None,
) -> LeastPlans:
    """Find the fewest expected messages per user and instance at which a bitsum is estimated this well.

    They are the fewest that are found: the search for a protocol's flood ends within 2 % of it. No plan says that
    fewer could not do.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        The budget of the whole composition.
    error : float
        As for `least_users`.
    users, instances : int
        n and I, at least 1.
    bitsums, squared_change, ball, sparsity, threat_model, honest, progress
        As for `least_users`.

    Returns
    -------
    LeastPlans
        For each protocol the fewest messages, with its plan, or the reason why there is none.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range. A protocol that does not reach the error is a row, with the reason.

    Examples
    --------
    >>> found = least_messages(("1", "1e-6"), error=0.01, users=1000, instances=1, bitsums=["poisson"])
    >>> found.best.least == found.best.row.messages_per_user
    True
    """
    budget, error = Budget.of(budget), _checked(error)
    common = Setting("", budget, users, instances, squared_change, ball, sparsity, threat_model, honest)
    rows = sweep([_Fewest(one, error) for one in _each(bitsums, common)], progress)
    spent, change = (budget.exact_epsilon, budget.exact_delta), common.change
    return LeastPlans("messages", *spent, users, instances, change, error, rows)


@dataclass(frozen=True)
class _Fewest:
    """A setting, and how much its plan may err: what is asked for is the plan of fewest messages."""

    setting: Setting
    error: float

    def _at(self, margin: float) -> PlanRow | FailedPlan:
        return replace(self.setting, error_margin=margin).attempted()

    def attempted(self) -> Least[PlanRow] | FailedPlan:
        """Return it, or why there is none."""
        bitsum, error, allowed = self.setting.bitsum, self.error, DEFAULT_MARGIN
        first = self._at(allowed)
        if isinstance(first, FailedPlan):
            allowed = MARGINS[-1]
            if isinstance(wider := self._at(allowed), FailedPlan):
                return first
            first = wider
        found = [first]
        margin = min(error * (1.0 + allowed) / _share(first) - 1.0, MARGINS[-1])
        for _ in range(_ATTEMPTS):
            row = self._at(margin) if margin > 0.0 else first
            if isinstance(row, FailedPlan):
                break
            found.append(row)
            if _share(row) <= error or row.bitsum_rmse == first.bitsum_rmse:
                break  # met, or nothing is traded here
            margin = error * (1.0 + margin) / _share(row) * (1.0 - 1e-6) - 1.0
        meeting = [row for row in found if _share(row) <= error]
        if not meeting:
            least = f"{bitsum}, which errs by at least {min(map(_share, found)):.4g} of n within this budget"
            return _none(bitsum, f"error={error:.4g} is not reached by {least}.")
        row = min(meeting, key=lambda row: row.messages_per_user)
        return Least(row.messages_per_user, row)
