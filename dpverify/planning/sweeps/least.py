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
from typing import Any

from dpverify.changes import Change
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.guarantee import Budget, BudgetLike, Number, ThreatModel
from dpverify.planning.answers import change_of, honest_users
from dpverify.planning.plan import PlanRow
from dpverify.planning.sweeps.comparison import FailedPlan, attempted
from dpverify.planning.sweeps.fronts import MARGINS, SHUFFLED
from dpverify.planning.sweeps.least_plans import Least, LeastPlans
from dpverify.planning.sweeps.steps import EPSILONS, USERS, Steps
from protocols.validation import check_choice, check_integer, check_real

__all__ = ["least_epsilon", "least_messages", "least_users"]

Progress = Callable[[int, int], object]
_DEFAULT_MARGIN = 0.01
_ATTEMPTS = 3


def _least(
    bitsum: str,
    attempt: Callable[[str], PlanRow | FailedPlan],
    error: Callable[[PlanRow], float],
    level: float,
    steps: Steps,
    start: float,
) -> Least | FailedPlan:
    """Return the least value at which a plan errs no more than a level, with the plan one step below."""
    rows: dict[int, PlanRow | FailedPlan] = {}

    def at(index: int) -> PlanRow | FailedPlan:
        if index not in rows:
            rows[index] = attempt(steps.value(index))
        return rows[index]

    def value(index: int) -> float:
        return math.inf if isinstance(row := at(index), FailedPlan) else error(row)

    found = steps.least(value, level, start)
    if found is None:
        reason, last = at(steps.most), steps.value(steps.most)
        why = f": {reason.error}" if isinstance(reason, FailedPlan) else "."
        return FailedPlan(bitsum, "exact", None, f"{bitsum} does not reach this with {steps.name} up to {last}{why}")
    row = at(found)
    assert isinstance(row, PlanRow)
    if found == 1:
        return Least(float(steps.value(1)), row)
    return Least(float(steps.value(found)), row, float(steps.value(found - 1)), at(found - 1))


def _start(change: Change, delta: float, product: float) -> float:
    """Return where normal noise would have an error, from epsilon times error and back."""
    return math.sqrt(-2.0 * change.full * math.log(max(delta, 1e-12))) / product


def _common(
    instances: int,
    squared_change: Number | None,
    ball: bool,
    sparsity: int,
    threat_model: ThreatModel | str | None,
    honest: Number | None,
) -> tuple[dict[str, Any], Change]:
    """Return what all plans have in common, by argument name, and what changes in them."""
    instances = check_integer("instances", instances, low=1)
    honest_users(honest, USERS.most)
    options = {
        "instances": instances,
        "squared_change": squared_change,
        "ball": ball,
        "sparsity": sparsity,
        "threat_model": threat_model,
        "honest": honest,
    }
    return options, change_of(instances * sparsity, squared_change, ball)


def _each(
    bitsums: Iterable[str], progress: Progress | None, answer: Callable[[str], Least | FailedPlan]
) -> tuple[Least | FailedPlan, ...]:
    chosen = [check_choice("bitsum", bitsum, BITSUM_CLAIMS) for bitsum in bitsums]
    rows = []
    for bitsum in chosen:
        rows.append(answer(bitsum))
        if progress is not None:
            progress(len(rows), len(chosen))
    return tuple(rows)


def least_users(
    budget: BudgetLike,
    *,
    error: float,
    instances: int,
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
    budget, error = Budget.of(budget), check_real("error", error, low=0.0, high=1.0, low_open=True)
    options, change = _common(instances, squared_change, ball, sparsity, threat_model, honest)

    def answer(bitsum: str) -> Least | FailedPlan:
        def attempt(users: str) -> PlanRow | FailedPlan:
            try:
                honest_users(honest, int(users))
            except ValueError as error:
                return FailedPlan(bitsum, "exact", None, str(error))
            return attempted(bitsum, budget, users=int(users), **options)

        def share(row: PlanRow) -> float:
            return row.bitsum_rmse / row.protocol.users

        start = _start(change, budget.delta, budget.epsilon * error)
        return _least(bitsum, attempt, share, error, USERS, start)

    rows = _each(bitsums, progress, answer)
    return LeastPlans("users", budget.exact_epsilon, budget.exact_delta, None, instances, change, None, error, rows)


def least_epsilon(
    delta: Number,
    *,
    rmse: float,
    users: int,
    instances: int,
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
    rmse : float
        The root mean squared error of one bitsum in users, at most; positive.
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
    >>> found = least_epsilon("1e-6", rmse=20, users=1000, instances=1, bitsums=["poisson"])
    >>> (row,) = found.found
    >>> row.row.bitsum_rmse <= 20 < row.below.bitsum_rmse
    True
    """
    rmse = check_real("rmse", rmse, low=0.0, low_open=True)
    users, exact = check_integer("users", users, low=1), Budget(1, delta)
    options, change = _common(instances, squared_change, ball, sparsity, threat_model, honest)

    def answer(bitsum: str) -> Least | FailedPlan:
        def attempt(epsilon: str) -> PlanRow | FailedPlan:
            return attempted(bitsum, (epsilon, delta), users=users, **options)

        start = _start(change, exact.delta, rmse)
        return _least(bitsum, attempt, lambda row: row.bitsum_rmse, rmse, EPSILONS, start)

    rows = _each(bitsums, progress, answer)
    return LeastPlans("epsilon", None, exact.exact_delta, users, instances, change, rmse, None, rows)


def least_messages(
    budget: BudgetLike,
    *,
    rmse: float,
    users: int,
    instances: int,
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
    rmse : float
        The root mean squared error of one bitsum in users, at most; positive.
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
    >>> found = least_messages(("1", "1e-6"), rmse=10, users=1000, instances=1, bitsums=["poisson"])
    >>> found.best.least == found.best.row.messages_per_user
    True
    """
    budget, rmse = Budget.of(budget), check_real("rmse", rmse, low=0.0, low_open=True)
    users = check_integer("users", users, low=1)
    options, change = _common(instances, squared_change, ball, sparsity, threat_model, honest)

    def answer(bitsum: str) -> Least | FailedPlan:
        def attempt(margin: float) -> PlanRow | FailedPlan:
            return attempted(bitsum, budget, users=users, error_margin=margin, **options)

        return _fewest(bitsum, attempt, rmse)

    rows = _each(bitsums, progress, answer)
    return LeastPlans("messages", budget.exact_epsilon, budget.exact_delta, users, instances, change, rmse, None, rows)


def _fewest(bitsum: str, attempt: Callable[[float], PlanRow | FailedPlan], rmse: float) -> Least | FailedPlan:
    """Return the plan of fewest messages that errs no more than this."""
    allowed = _DEFAULT_MARGIN
    first = attempt(allowed)
    if isinstance(first, FailedPlan):
        allowed = MARGINS[-1]
        if isinstance(wider := attempt(allowed), FailedPlan):
            return first
        first = wider
    found = [first]
    margin = min(rmse * (1.0 + allowed) / first.bitsum_rmse - 1.0, MARGINS[-1])
    for _ in range(_ATTEMPTS):
        row = attempt(margin) if margin > 0.0 else first
        if isinstance(row, FailedPlan):
            break
        found.append(row)
        if row.bitsum_rmse <= rmse or row.bitsum_rmse == first.bitsum_rmse:
            break  # met, or nothing is traded here
        margin = rmse * (1.0 + margin) / row.bitsum_rmse * (1.0 - 1e-6) - 1.0
    meeting = [row for row in found if row.bitsum_rmse <= rmse]
    if not meeting:
        least = min(row.bitsum_rmse for row in found)
        return FailedPlan(bitsum, "exact", None, f"{bitsum} errs by at least {least:.4g} users within this budget.")
    row = min(meeting, key=lambda row: row.messages_per_user)
    return Least(row.messages_per_user, row)
