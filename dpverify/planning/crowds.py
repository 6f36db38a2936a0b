"""What is left of a plan's privacy where fewer and fewer users follow the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import ClassVar

from dpverify.guarantee import Budget, BudgetLike, CapacityError, Interval, Number, Side, ThreatModel, exact_number
from dpverify.planning.account import account
from dpverify.planning.answers import share_of_users
from dpverify.planning.attacks import Attack, attack, density_attack
from dpverify.planning.kernels.density import DensityRow, plan_density
from dpverify.planning.plan import PlanRow
from dpverify.planning.sweeps.comparison import BITSUMS, Comparison, plan_bitsums
from dpverify.planning.sweeps.setting import FailedPlan, Tried
from dpverify.shown import Drawn, Plain
from protocols.classes.frozen import dataclass
from protocols.kde import KernelDensityProtocol
from protocols.validation import budget_by_name, check_integer

__all__ = ["FRACTIONS", "Crowd", "CrowdRow", "crowd", "crowd_density", "crowd_of", "epsilon_among"]

FRACTIONS = ("1", "0.9", "0.75", "0.5", "0.25", "0.1", "0.01")
"""The shares of honest users that are shown by default."""
_WIDTH = 1e-4


@dataclass(frozen=True)
class CrowdRow(Plain):
    """One plan, and what it gives at every honest fraction.

    - plan: The parameters, for all users.
    - epsilons: One for each fraction, at the budget's delta; None where the law was too large.
    - errors: Why, once each.
    - attack: What the malicious users can do, if it was asked for how many.
    """

    plain_as: ClassVar[str] = "plan epsilons errors attack?"

    plan: PlanRow
    epsilons: tuple[Interval | None, ...]
    errors: tuple[str, ...] = ()
    attack: Attack | None = None


@dataclass(frozen=True)
class Crowd(Tried[CrowdRow], Drawn):
    """Epsilon against the honest fraction, for plans of one budget.

    - budget: The budget of the whole composition.
    - users, instances: n and I.
    - honest: How many users are honest, one for each fraction.
    - fractions: Of the users, as asked.
    - rows: One per bitsum.
    - density: The estimator whose bitsum the only row is of, if it is of one: attacks are on a density then.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.crowds:crowd_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.crowds:crowd_curves"
    plain_as: ClassVar[str] = "budget users instances fractions honest rows density?"

    budget: Budget
    users: int
    instances: int
    honest: tuple[int, ...]
    fractions: tuple[Fraction, ...]
    rows: tuple[CrowdRow | FailedPlan, ...]
    density: DensityRow | None = None


@budget_by_name
def crowd(
    budget: BudgetLike,
    *,
    users: int,
    instances: int = 1,
    bitsums: Iterable[str] = BITSUMS,
    fractions: Iterable[Number] = FRACTIONS,
    honest: Number | None = None,
    threat_model: ThreatModel | str | None = None,
    malicious: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Crowd:
    """Plan each bitsum with the least error, and account the plan for every fraction of honest users.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        The budget of the whole composition; delta must be positive.
    users, instances : int
        n and I, at least 1.
    bitsums : iterable of str
        All by default.
    fractions : iterable of number
        Which shares of the users are honest, each in (0, 1] and of at least one user.
    honest : number, optional
        The users that the plans are made for, as in `dpverify.planning.plan.plan`; all users when omitted.
    threat_model : ThreatModel or str, optional
        As in `dpverify.planning.plan.plan`.
    malicious : int, optional
        m, from 0 to n: of how many users the manipulation of the estimate is shown too, with the least cap on messages
        that costs next to nothing.
    progress : callable, optional
        `progress(done, total)` after every plan and every account.

    Returns
    -------
    Crowd
        `plans`: for each bitsum its plan, and the interval of epsilon for each of the fractions.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> found = crowd(("1", "1e-6"), users=1000, instances=4, bitsums=["poisson"], fractions=["1", "0.5"])
    >>> [f"{end.upper:.2f}" for end in found.plans[0].epsilons if end is not None]
    ['1.00', '1.53']
    """
    fractions = tuple(fractions)
    budget = _checked(budget, users, fractions, malicious)[0]
    plans = plan_bitsums(
        budget,
        users=users,
        instances=instances,
        bitsums=bitsums,
        methods=["exact"],
        threat_model=threat_model,
        honest=honest,
        progress=None if progress is None else lambda done, total: progress(done, 2 * total),
    )
    accounts = None if progress is None else lambda done, total: progress(total + done, 2 * total)
    return crowd_of(plans, fractions=fractions, malicious=malicious, progress=accounts)


def crowd_of(
    plans: Comparison,
    *,
    fractions: Iterable[Number] = FRACTIONS,
    malicious: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Crowd:
    """Account plans that are there already for every fraction of honest users.

    - plans: At most one row for each bitsum, at a budget with a positive delta, of changes in full.
    - fractions, malicious: As for `crowd`.
    - progress: `progress(done, total)` in rows, after every row.

    Raises TypeError or ValueError for an argument out of range.
    """
    budget, users, asked, honest = _checked(plans.budget, plans.users, fractions, malicious)
    instances = plans.instances

    def accounted(row: PlanRow) -> CrowdRow:
        attacked = None if malicious is None else attack(row.protocol, malicious, budget, instances)
        return CrowdRow(row, *_epsilons(row.protocol, instances, row, budget, honest), attacked)

    rows: list[CrowdRow | FailedPlan] = []
    for row in plans.rows:
        rows.append(row if isinstance(row, FailedPlan) else accounted(row))
        if progress is not None:
            progress(len(rows), len(plans.rows))
    return Crowd(budget, users, plans.instances, honest, asked, tuple(rows))


def crowd_density(
    kernel: str,
    dimension: int,
    budget: BudgetLike,
    *,
    users: int,
    bandwidth: float = 1.0,
    bitsum: str = "rr",
    fractions: Iterable[Number] = FRACTIONS,
    honest: Number | None = None,
    malicious: int | None = None,
) -> Crowd:
    """Plan a density estimator with the least error, and account it for every fraction of honest users.

    - kernel, dimension, bandwidth: As in `dpverify.planning.kernels.density.plan_density`.
    - budget, users, fractions, honest: As for `crowd`.
    - bitsum: Of all bits.
    - malicious: m, from 0 to n: of how many users it is shown how far they can move a density, at whatever query.

    Raises TypeError or ValueError for an argument out of range.
    """
    budget, users, asked, counts = _checked(budget, users, fractions, malicious)
    best = plan_density(
        kernel,
        dimension,
        budget,
        users=users,
        bandwidth=bandwidth,
        bitsums=[bitsum],
        honest=honest,
    ).best
    found = _epsilons(KernelDensityProtocol(best.bitsum.protocol, best.features), 1, best.bitsum, budget, counts)
    attacked = None if malicious is None else density_attack(best, malicious, budget)
    return Crowd(budget, users, best.bits, counts, asked, (CrowdRow(best.bitsum, *found, attacked),), best)


def _checked(
    budget: BudgetLike, users: int, fractions: Iterable[Number], malicious: int | None
) -> tuple[Budget, int, tuple[Fraction, ...], tuple[int, ...]]:
    """Return the budget, n, and the fractions with how many users they are, in range."""
    budget, users = Budget.of(budget), check_integer("users", users, low=1)
    if budget.delta == 0.0:
        raise ValueError("delta=0 must be in (0, 1): the fewer users are honest, the more delta says.")
    if malicious is not None:
        check_integer("malicious", malicious, low=0, high=users)
    asked = tuple(fractions)
    honest = tuple(share_of_users("fractions", fraction, users) for fraction in asked)
    return budget, users, tuple(exact_number("fractions", fraction) for fraction in asked), honest


def _epsilons(
    protocol: object, instances: int, row: PlanRow, budget: Budget, honest: Iterable[int]
) -> tuple[tuple[Interval | None, ...], tuple[str, ...]]:
    """Return epsilon for each number of honest users, and why it is not known, once each."""
    epsilons: list[Interval | None] = []
    errors: list[str] = []
    for count in honest:
        try:
            epsilons.append(epsilon_among(count, protocol, row, budget, instances=instances))
        except CapacityError as error:
            epsilons.append(None)
            errors.append(error.reason)
    return tuple(epsilons), tuple(dict.fromkeys(errors))


def epsilon_among(
    honest: int,
    protocol: object,
    row: PlanRow,
    budget: Budget,
    *,
    instances: int,
    squared_change: Number | None = None,
) -> Interval:
    """Return what is left of a plan's epsilon, at its budget's delta, where so many users follow the protocol.

    - honest: How many, from 1 to n.
    - protocol: What is accounted: the plan's protocol, or a density estimator with it.
    - row: The plan.
    - budget: That it was made for.
    - instances, squared_change: As for `dpverify.planning.account.account`.

    Raises CapacityError if the law is too large to compute.
    """
    end = account(
        protocol,
        instances=instances,
        squared_change=squared_change,
        delta=budget.exact_delta,
        relative_width=_WIDTH,
        threat_model=row.guarantee.threat_model,
        honest=honest,
    ).epsilon
    if honest >= (row.honest or row.protocol.users) and row.guarantee.side is Side.UPPER_BOUND:
        return Interval.proved(end.lower, min(end.upper, row.guarantee.epsilon))  # the plan itself is a bound
    return end
