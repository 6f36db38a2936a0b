"""From budgets for a day, a month, a year to the noise of every query: all on the same users, by the law of it all.

The largest weighted relative error is least where all are equal: to lower one takes privacy, which only another query
can give. So one number is searched, from which every query's noise follows.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from dpverify.changes import Full
from dpverify.claims.registry import mechanism_claims_of
from dpverify.collection.manifest import SHARE, Manifest, manifest
from dpverify.collection.query import Asked, Query
from dpverify.collection.recipes import cut_draws
from dpverify.digits import counted, typed
from dpverify.guarantee import Budget, BudgetLike, Guarantee, InfeasibleBudgetError, Number, ThreatModel, exact_number
from dpverify.planning.answers import PROOF, honest_users, upper_bound, within_limits
from dpverify.planning.schedules.beside import Beside, alone
from dpverify.planning.schedules.day import Day
from dpverify.planning.schedules.schedule import Schedule
from dpverify.search import smallest_at_level
from dpverify.shown import Drawn, Plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

__all__ = ["Design", "DesignedQuery", "Limit", "MetLimit", "design"]

_TOLERANCE = 1e-4
"""How much smaller, relatively, an error might be that keeps the budgets."""
_WIDTH = 1e-3
"""How wide the accounts of a search are, relatively, at most."""
_LARGEST = 1e12
"""How many times a guess the level may be."""
_MOST_DAYS = 10**6


@dataclass(frozen=True)
class Limit:
    """A budget for any so many days together.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        delta must be positive.
    days : int
        At least 1.
    """

    budget: Budget
    days: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", Budget.of(self.budget))
        if self.budget.delta == 0.0:
            raise ValueError(f"delta={self.budget.delta!r} must be in (0, 1): many sums together need a positive one.")
        check_integer("days", self.days, low=1, high=_MOST_DAYS)

    def __str__(self) -> str:
        return f"{self.budget} for {counted(self.days, 'day')}"


@dataclass(frozen=True)
class MetLimit(Plain):
    """What a design spends of a budget.

    Parameters
    ----------
    budget : Budget
        What was asked.
    days : int
        For any so many days.
    changed : int
        How many sums of these days one user's replacement may change.
    guarantee : Guarantee
        What holds.
    binds : bool
        Whether it is the one that forbids less noise.
    """

    plain_as: ClassVar[str] = "budget days changed guarantee binds"

    budget: Budget
    days: int
    changed: int
    guarantee: Guarantee
    binds: bool


@dataclass(frozen=True)
class DesignedQuery(Plain):
    """What one query of a design is, and how much it errs.

    Parameters
    ----------
    query : Query
        What was asked.
    bitsum : str
        The name of the protocol of its sums.
    protocol : object
        Of each of its sums, ready to run.
    parameters : dict
        Its parameters by argument name.
    rmse : float
        Exact root mean squared error of one sum, in users, if all take part; of a vector's, as a norm, at most.
    relative_error : float
        That of the answer: of all users, or of a mean's range.
    upload : float
        Expected bits that a user uploads a day, at most.
    """

    plain_as: ClassVar[str] = (
        "name=query.name kind=query.kind sums=query.sums changed=query.changed weight=query.weight "
        "bitsum parameters rmse relative_error upload"
    )

    query: Query
    bitsum: str
    protocol: Any = field(repr=False)
    parameters: dict[str, Any]
    rmse: float
    relative_error: float
    upload: float


@dataclass(frozen=True)
class Design(Drawn):
    """The noise of every query that keeps all budgets.

    Parameters
    ----------
    users : int
        n, public.
    honest : int or None
        How many of them, at least, follow the protocols on each day, for the guarantees; None for all.
    limits : tuple of MetLimit
        The budgets, and what is spent of them.
    queries : tuple of DesignedQuery
        In the order in which they were given.
    beside : tuple of Beside
        What a trusted curator makes of the same users, and the budgets cover, too.
    """

    table_by: ClassVar[str] = "dpverify.report.collections.designs:design_table"
    figure_by: ClassVar[str] = "dpverify.report.collections.designs:design_bars"
    plain_as: ClassVar[str] = "users honest limits rows=queries beside"

    users: int
    honest: int | None
    limits: tuple[MetLimit, ...]
    queries: tuple[DesignedQuery, ...]
    beside: tuple[Beside, ...] = ()

    @property
    def asked(self) -> list[Asked]:
        """All queries as clients answer them on a day."""
        return [each.query.asked(each.protocol, self.honest) for each in self.queries]

    def days(self, number: int) -> list[Day]:
        """Return what so many days are, for `dpverify.account`: each query as often as a user's bits in it change."""
        runs = (Day(each.protocol, each.query.changed * number, self.honest) for each in self.queries)
        return [*runs, *(each.within(number) for each in self.beside)]

    def certificate(self, days: int) -> dict[str, Any]:
        """Return a proof of what holds for the budget of so many days, which `dpverify check` can check.

        Its epsilon may be slightly above the budget's; see `dpverify.planning.result.AccountResult.certificate`. Its
        delta is the budget's without what clients may cost.
        """
        from dpverify.planning.certificate import certificate_of

        if self.beside:
            raise ValueError("certificates are of protocols, and not yet of steps beside them.")
        for limit in self.limits:
            if limit.days == days:
                share = SHARE if any(cut_draws(each.protocol) for each in self.queries) else Fraction(0)
                delta = Decimal(typed(limit.budget.delta)) * (1 - Decimal(share.numerator) / share.denominator)
                runs, change = self.days(days), Full(limit.changed)
                return certificate_of(runs, change, ThreatModel.COMMUNICATION, str(delta).lower())
        known = ", ".join(str(limit.days) for limit in self.limits)
        raise ValueError(f"days={days!r} must be those of a budget: {known}.")

    def manifest(
        self,
        certificates: Mapping[int, Mapping[str, str]] | None = None,
        *,
        progress: Callable[[str], Any] | None = None,
    ) -> Manifest:
        """Return the manifest of a day, with a guarantee for each budget: of the queries alone, which clients answer.

        Parameters
        ----------
        certificates, progress
            As for `dpverify.collection.manifest.manifest`.
        """
        deltas = {limit.days: typed(limit.budget.delta) for limit in self.limits}
        return manifest(self.asked, delta=deltas, certificates=certificates, progress=progress)

    def write(
        self, path: str | Path, *, certified: bool = False, progress: Callable[[str], Any] | None = None
    ) -> Manifest:
        """Write the manifest to a file, and return it.

        Parameters
        ----------
        path : str or Path
            Such as plan.json.
        certified : bool
            Whether to write a certificate for each budget, too, beside it, such as plan.365-days.json: the manifest
            has their hashes.
        progress : callable, optional
            Called with what is done next, in a few words.
        """
        from dpverify.planning.certificate import write_certificate

        path, certificates = Path(path), dict[int, Mapping[str, str]]()
        for days in [limit.days for limit in self.limits] if certified else []:
            beside = path.with_suffix(f".{days}-days.json")
            if progress is not None:
                progress(f"a proof for {counted(days, 'day')}")
            write_certificate(beside, self.certificate(days))
            certificates[days] = {"file": beside.name, "sha256": hashlib.sha256(beside.read_bytes()).hexdigest()}
        made = self.manifest(certificates, progress=progress)
        made.write(path)
        return made


@within_limits("this design")
def design(
    queries: Sequence[Query],
    budgets: Sequence[tuple[BudgetLike, int]] | BudgetLike,
    *,
    users: int,
    honest: Number | None = None,
    beside: Sequence[Beside | tuple[Any, ...]] = (),
) -> Design:
    """Find the noise of many queries, asked of the same users on every day, so that all budgets are kept.

    The largest weight times relative error is the least that a search to 1e-4 found at which a quick account, an upper
    bound some per mille above the sharp one, keeps the budgets. All queries share it: a design whose largest is smaller
    has less noise in each of them, and noise never costs privacy (more flips, or a larger mean of Poisson noise, is
    what anybody could do to the view).

    Parameters
    ----------
    queries : sequence of Query
        All that is asked on a day.
    budgets : Budget, (epsilon, delta) or sequence of (budget, days)
        One for a day, or budgets for any so many days together, such as `[(("1", "1e-8"), 1), (("2", "1e-8"), 365)]`.
        Replace-one adjacency: all that a user sends in these days is replaced.
    users : int
        n, public.
    honest : number, optional
        How many of the users follow the protocols on each day, at least, or below 1 which share of them; the others may
        cheat or stay away. All when omitted.
    beside : sequence of Beside or (step, instances, days)
        What a trusted curator makes of the same users' records, such as `[(NoisyStep(1.0, rate=0.01), 1000, 365)]`: at
        most so many steps in any so many days, or without days at most so many ever. The budgets cover them, too.

    Returns
    -------
    Design
        Protocols and errors, with what is spent of every budget: of their exact laws together, an upper bound.

    Raises
    ------
    InfeasibleBudgetError
        If no noise keeps a budget.
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> asked = [Query("features", bits=50), Query("rating", levels=5), Query("text", buckets=1000)]
    >>> found = design(asked, [(("1", "1e-8"), 1), (("2", "1e-8"), 365)], users=200_000, honest="0.9")
    >>> [f"{query.query.name} {query.relative_error:.2%}" for query in found.queries]
    ['features 0.19%', 'rating 0.19%', 'text 0.19%']
    >>> [limit.binds for limit in found.limits]
    [False, True]
    """
    users = check_integer("users", users, low=2)
    asked, limits = _queries(queries), _limits(budgets)
    trusted = honest_users(honest, users)
    others = tuple(each if isinstance(each, Beside) else Beside(*each) for each in beside)
    level = max(_guess(asked, limit, users) for limit in limits)
    # The noise depends hardly on the bitsums: those whose upload is smallest at a guess are, but on the verge, at last.
    chosen = [query.chosen(users, _error(query, users, level)) for query in asked]
    level, met = _kept(asked, chosen, limits, users, trusted, others)
    rows = [
        _designed(query, name, query.protocol(name, users, _error(query, users, level)))
        for query, name in zip(asked, chosen, strict=True)
    ]
    return Design(users, trusted, met, tuple(rows), others)


def _error(query: Query, users: int, level: float) -> float:
    """Return the root mean squared error of a sum at which weight times relative error is at a level."""
    return level / (float(exact_number("weight", query.weight)) * query.relative(users))


def _kept(
    asked: Sequence[Query],
    chosen: Sequence[str],
    limits: Sequence[Limit],
    users: int,
    honest: int | None,
    beside: Sequence[Beside],
) -> tuple[float, tuple[MetLimit, ...]]:
    """Return the least level at which these bitsums keep all budgets, and what is then spent of each."""
    # Clients that draw unbounded noise cost something of delta: the manifest has room for it.
    left = 1 if set(chosen) == {"rr"} else 1 - SHARE
    joint = any(query.vector is not None for query in asked)

    @functools.cache
    def spent(level: float, limit: Limit, guess: bool = False) -> float:
        delta = float(limit.budget.delta * left)
        days = [
            Day(query.protocol(name, users, _error(query, users, level)), query.changed * limit.days, honest)
            for query, name in zip(asked, chosen, strict=True)
        ]
        days += [each.within(limit.days) for each in beside]
        curve = Schedule(days, threat_model=ThreatModel.COMMUNICATION).curve
        return curve(delta, _WIDTH, quick=True, guess=guess).epsilon(delta).upper

    for limit in limits if beside else ():
        if not alone(beside, limit.days, limit.budget.delta, _WIDTH).lower < limit.budget.epsilon:
            raise InfeasibleBudgetError(f"the budget {limit} is spent by the steps beside the queries alone.")
    level, binding = 0.0, limits[0]
    for limit in sorted(limits, key=lambda limit: -_guess(asked, limit, users)):
        if level > 0.0 and spent(level, limit) <= limit.budget.epsilon:
            continue
        start = max(level, _guess(asked, limit, users))

        def at(times: float, start: float = start, limit: Limit = limit) -> float:
            return spent(times * start, limit, joint)

        # A level has no size of its own, with weights and numbers of users of any size: its ratio to a guess has one.
        found = smallest_at_level(at, limit.budget.epsilon, 1.0, _LARGEST, _TOLERANCE)
        if found is None:
            raise InfeasibleBudgetError(f"the budget {limit} cannot be met by any noise.")
        level, binding = found * start, limit
        while joint and spent(level, limit) > limit.budget.epsilon:  # a guess is some per mille below the proof
            level *= spent(level, limit) / limit.budget.epsilon * (1.0 + _TOLERANCE)
    met = []
    for limit in limits:
        guarantee = upper_bound(
            spent(level, limit),
            limit.budget.delta,
            ThreatModel.COMMUNICATION,
            "exact composition of all queries",
            PROOF,
        )
        if guarantee.epsilon > limit.budget.epsilon:
            raise InfeasibleBudgetError(f"the budget {limit} cannot be proved at the noise that another one needs.")
        changed = limit.days * sum(query.changed for query in asked)
        met.append(MetLimit(limit.budget, limit.days, changed, guarantee, limit is binding))
    return level, tuple(met)


def _queries(queries: Sequence[Query]) -> tuple[Query, ...]:
    if not isinstance(queries, Sequence) or not queries or not all(isinstance(each, Query) for each in queries):
        raise TypeError(f"queries={queries!r} must be a list of Query, at least one.")
    names = [query.name for query in queries]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"name={twice!r} must be that of one query.")
    return tuple(queries)


def _limits(budgets: Any) -> list[Limit]:
    """Return one limit for each number of days."""
    if isinstance(budgets, Budget) or (isinstance(budgets, tuple) and not isinstance(budgets[0], (tuple, Budget))):
        budgets = [(budgets, 1)]
    limits = [each if isinstance(each, Limit) else Limit(*each) for each in budgets]
    if not limits or len({limit.days for limit in limits}) < len(limits):
        raise ValueError(f"budgets={budgets!r} must have one budget, and one only, for each number of days.")
    return sorted(limits, key=lambda limit: limit.days)


def _guess(queries: Sequence[Query], limit: Limit, users: int) -> float:
    """Return about the level at which normal noise meets a budget."""
    log, epsilon = -2.0 * math.log(limit.budget.delta), limit.budget.epsilon
    # epsilon is about mu^2 / 2 + mu sqrt(log), for means that are mu standard deviations apart.
    apart = 2.0 * epsilon / (math.sqrt(log + 2.0 * epsilon) + math.sqrt(log))
    changes = sum(query.spent / _error(query, users, 1.0) ** 2 for query in queries)
    return math.sqrt(limit.days * changes) / apart


def _designed(query: Query, bitsum: str, protocol: Any) -> DesignedQuery:
    rmse, parameters = query.rmse(protocol), mechanism_claims_of(protocol).parameters(protocol)
    relative = rmse * query.relative(protocol.users)
    return DesignedQuery(query, bitsum, protocol, parameters, rmse, relative, query.upload(protocol))
