"""From a target budget to a density estimator: range, family, number of features and bitsum of least error.

Bits of one point are charged for their joint change T^2. Where that is spread over many bits, every bitsum's noise is
about normal, with a deviation of T times that of the Gaussian mechanism: this picks the range and the family on each
rung of a ladder of bits, and only what is picked is planned and proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.bitsum.baselines import least_sigma
from dpverify.claims.lsq.base import LinearPairClaims
from dpverify.claims.lsq.linear import unbiased
from dpverify.claims.registry import claims_of
from dpverify.guarantee import Budget, BudgetLike, CapacityError, InfeasibleBudgetError, Number
from dpverify.planning.answers import honest_users
from dpverify.planning.fronts import Knee, knee, undominated
from dpverify.planning.plan import PlanRow, plan
from dpverify.shown import Drawn
from protocols.lsq import (
    ExponentialTessellation,
    FourierPairs,
    Identity,
    LaplacianBinning,
    LinearMap,
    LSQFamily,
    LSQFeatures,
)
from protocols.lsq.hashing import HashedPartition
from protocols.validation import check_choice, check_integer, check_real

__all__ = ["KERNELS", "DensityPlan", "DensityRow", "plan_density", "rmse_at_one_point"]

KERNELS = ("inner-product", "gaussian", "laplacian", "exponential")
_RANGES = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0)
"""Ranges that are tried, in standard deviations of a rotated coordinate."""
_BUCKETS = (2, 4, 8, 16, 32, 64)
_POINTS = 8
_FEWEST_BITS, _RUNGS = 32, 7
_MOST_ROTATIONS = 4
"""Of a point, below each other: more would reduce what rounding adds still further."""


@dataclass(frozen=True)
class DensityRow:
    """One density estimator that meets the budget.

    Parameters
    ----------
    family : LSQFamily
        The features' family.
    pairs : int
        I, how many pairs of features are drawn.
    bits : int
        I Q, the bits of one user.
    squared_change : float
        T^2, with the features of public seed 0. The plan's `change` says whether these are in a ball of that square.
    bitsum : PlanRow
        The bitsum for all bits together.
    rmse : float
        The root mean squared error of a density: see `rmse_at_one_point`.
    """

    family: LSQFamily
    pairs: int
    bits: int
    squared_change: float
    bitsum: PlanRow
    rmse: float

    @property
    def features(self) -> LSQFeatures:
        """The features of public seed 0."""
        return _drawn(self.family, self.pairs)

    @property
    def messages_per_user(self) -> float:
        """Expected messages of one user, over all bits."""
        return self.bits * self.bitsum.messages_per_user

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        claims = claims_of(self.family)
        return {
            "family": {"name": claims.name, **claims.parameters(self.family)},
            "pairs": self.pairs,
            "bits": self.bits,
            "squared_change": self.squared_change,
            "messages_per_user": self.messages_per_user,
            "rmse": self.rmse,
            "bitsum": self.bitsum.to_dict(),
        }


@dataclass(frozen=True)
class DensityPlan(Drawn):
    """What one budget buys for a kernel.

    Parameters
    ----------
    kernel : str
        One of `KERNELS`.
    dimension, users : int
        d and n.
    bandwidth : float or None
        In the units of the points; None for the inner product.
    budget : Budget
        The budget of the whole.
    rows : tuple of DensityRow
        By messages, the fewest first.
    failures : tuple of str
        Why bitsums have no plan, in one sentence each.
    honest : int or None
        For how many users who follow the protocol the budget is kept; None for all of them.
    """

    table_by: ClassVar[str] = "dpverify.report.densities:density_table"
    figure_by: ClassVar[str] = "dpverify.report.densities:density_front"

    kernel: str
    dimension: int
    users: int
    bandwidth: float | None
    budget: Budget
    rows: tuple[DensityRow, ...]
    failures: tuple[str, ...] = ()
    honest: int | None = None

    @property
    def front(self) -> tuple[DensityRow, ...]:
        """The rows that no other with as few messages or fewer has as little error as."""
        return undominated(self.rows, _messages, _error)

    @property
    def best(self) -> DensityRow:
        """The row of least error."""
        return min(self.rows, key=lambda row: row.rmse)

    @property
    def recommended(self) -> Knee:
        """The row of fewest messages among those that err little more than the best one, and the reason."""
        return knee(self.front, _messages, _error)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values; every row says whether it is on the front and recommended."""
        front, chosen = {id(row) for row in self.front}, self.recommended
        return {
            "kernel": self.kernel,
            "dimension": self.dimension,
            "users": self.users,
            "honest": self.honest,
            "bandwidth": self.bandwidth,
            "budget": self.budget.to_dict(),
            "reason": chosen.reason,
            "rows": [
                {**row.to_dict(), "on_front": id(row) in front, "recommended": row is chosen.row} for row in self.rows
            ],
            "failures": list(self.failures),
        }


def _messages(row: DensityRow) -> float:
    return row.messages_per_user


def _error(row: DensityRow) -> float:
    return row.rmse


def rmse_at_one_point(family: LSQFamily, pairs: int, users: int, bitsum_rmse: float) -> float:
    """Return the root mean squared error of a density where all users hold one point: what needs no data.

    Parameters
    ----------
    family : LSQFamily
        The features.
    pairs, users : int
        I and n.
    bitsum_rmse : float
        That of one bitsum, in users.

    Returns
    -------
    float
        Exact, over all randomness and, for maps, for the very map. For the inner product it is the larger one of two:
        where the query is the point itself, and where it is orthogonal, a mean over 8 random points of norm 1, or of
        the ball's radius. For kernels of a distance the point does not matter, and the query is the worst that the
        family's twin knows.
    """
    claims = claims_of(family)
    noise = (2.0 * family.R * bitsum_rmse / users) ** 2
    linear = isinstance(claims, LinearPairClaims)
    points = np.random.default_rng(0).standard_normal((_POINTS if linear else 1, family.dimension))
    points *= (family.radius or 1.0) / np.linalg.norm(points, axis=1, keepdims=True)

    def squared(x: np.ndarray, y: np.ndarray) -> float:
        expected = float(claims.expected(family, x, y)[0])
        alone, pair = float(claims.rounded_square(family, x, y)[0]), float(claims.product(family, x, x, y)[0, 0])
        bias = expected - float(family.kernel(x, y[np.newaxis])[0, 0])
        variance = alone / users + (1.0 - 1.0 / users) * pair - expected**2
        return bias**2 + (max(variance, 0.0) + noise * claims.query_square(family, y)) / pairs

    if linear:
        others = np.roll(points, 1, axis=0)
        others -= (points * others).sum(axis=1, keepdims=True) / np.square(points).sum(axis=1, keepdims=True) * points
        others /= np.maximum(np.linalg.norm(others, axis=1, keepdims=True), 1e-300)
        pairs_of = [[squared(x[np.newaxis], y) for x, y in zip(points, side, strict=True)] for side in (points, others)]
        return math.sqrt(max(float(np.mean(side)) for side in pairs_of))
    queries = np.concatenate([points, claims.bad_queries(family, points, pairs, noise)])
    return math.sqrt(max(squared(points, y) for y in queries))


def _ladder(fewest: int, most: int, rungs: int) -> list[int]:
    """Return about so many numbers, each twice the one before."""
    found = [most]
    while len(found) < rungs and found[-1] // 2 >= fewest:
        found.append(found[-1] // 2)
    return found[::-1]


def _candidates(kernel: str, dimension: int, bandwidth: float) -> Iterator[list[tuple[LSQFamily, int]]]:
    """Yield, rung by rung of the number of bits, families with their numbers of pairs; the best of a rung is kept."""
    if kernel == "inner-product":
        for rows in _ladder(min(_FEWEST_BITS, dimension), _MOST_ROTATIONS * dimension, 4):
            maps = [LinearMap(dimension, "haar", reach / math.sqrt(dimension), rows, radius=1.0) for reach in _RANGES]
            found: list[tuple[LSQFamily, int]] = [(unbiased(family), 1) for family in maps if family.limit <= 1.0]
            if rows == dimension:
                found.append((Identity(dimension, radius=1.0), 1))
            yield found
        return
    for bits in _ladder(_FEWEST_BITS, _FEWEST_BITS * 2 ** (_RUNGS - 1), _RUNGS):
        if kernel == "gaussian":
            yield [(FourierPairs(dimension, bandwidth), bits // 2)]
            continue
        family: type[HashedPartition] = LaplacianBinning if kernel == "laplacian" else ExponentialTessellation
        plain = [(family(dimension, bandwidth, buckets), bits // buckets) for buckets in _BUCKETS if buckets < bits]
        yield [(family(dimension, bandwidth, 1, True), bits), *plain]


def _drawn(family: LSQFamily, pairs: int) -> LSQFeatures:
    return family.sample(pairs, np.random.default_rng(0))


def _changes(candidates: list[tuple[LSQFamily, int]]) -> list[float]:
    """Return T^2 of every candidate, that of maps that differ in their range alone from one of them."""
    found, at_one = [], 0.0
    for family, pairs in candidates:
        features = _drawn(family, pairs)
        if isinstance(family, LinearMap):
            at_one = at_one or family.limit**2 * claims_of(family).squared_change(features)
            found.append(min(at_one / family.limit**2, float(features.coordinates)))
        else:
            found.append(claims_of(family).squared_change(features))
    return found


def plan_density(
    kernel: str,
    dimension: int,
    budget: BudgetLike,
    *,
    users: int,
    bandwidth: float = 1.0,
    bitsums: Iterable[str] = ("rr",),
    max_messages_per_user: float | None = None,
    honest_fraction: Number | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> DensityPlan:
    """Find density estimators of least error within a budget, for every number of messages.

    Parameters
    ----------
    kernel : {"inner-product", "gaussian", "laplacian", "exponential"}
        The kernel; points are in the unit ball for the first and the last.
    dimension : int
        d, at least 1.
    budget : Budget or (epsilon, delta)
        The budget of the whole, for replacing one point; delta must be positive.
    users : int
        n, public.
    bandwidth : float
        In the units of the points; 1, as it has none, for the inner product.
    bitsums : iterable of str
        The bitsums that are tried on every rung. Where T^2 is large they differ little in error, and randomized
        response sends the fewest messages.
    max_messages_per_user : float, optional
        The expected messages of one user over all bits, at most.
    honest_fraction : number, optional
        The budget is kept if at least this share of the users follows the protocol, as in `planning.plan.plan`;
        all of them when omitted. The error is that of all users' noise.
    progress : callable, optional
        `progress(done, total)` in plans, after every plan.

    Returns
    -------
    DensityPlan

    Raises
    ------
    InfeasibleBudgetError
        If no bitsum meets the budget on any rung, or none with so few messages.
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> found = plan_density("inner-product", 64, ("1", "1e-6"), users=2000)
    >>> best = found.best
    >>> best.bits, best.bitsum.bitsum
    (64, 'rr')
    >>> best.rmse < 0.01
    True
    """
    kernel, dimension = check_choice("kernel", kernel, KERNELS), check_integer("dimension", dimension, low=1)
    budget, users = Budget.of(budget), check_integer("users", users, low=1)
    check_real("bandwidth", bandwidth, low=0.0, low_open=True)
    if kernel == "inner-product" and bandwidth != 1.0:
        raise ValueError(f"bandwidth={bandwidth!r} must be 1 for the inner product, which has none.")
    if budget.delta == 0.0:
        raise InfeasibleBudgetError("delta=0 cannot be met here: the law of a joint change has no small largest loss.")
    if max_messages_per_user is not None:
        check_real("max_messages_per_user", max_messages_per_user, low=0.0, low_open=True)
    honest = None if honest_fraction is None else honest_users("honest_fraction", honest_fraction, users)
    chosen = [check_choice("bitsum", bitsum, BITSUM_CLAIMS) for bitsum in bitsums]
    # All users' noise is as much more than that of the honest ones.
    sigma = least_sigma(budget.epsilon, budget.delta) * math.sqrt(users / (honest or users))
    rows, failures = [], []
    rungs, done = list(_candidates(kernel, dimension, float(bandwidth))), 0
    for candidates in rungs:
        errors = [
            rmse_at_one_point(family, pairs, users, sigma * math.sqrt(change))
            for (family, pairs), change in zip(candidates, _changes(candidates), strict=True)
        ]
        family, pairs = candidates[int(np.argmin(errors))]
        features = _drawn(family, pairs)
        claims = claims_of(family)
        bits, square, ball = features.coordinates, claims.squared_change(features), claims.in_ball(features)
        for bitsum in chosen:
            most = None if max_messages_per_user is None else max_messages_per_user / bits
            try:
                row = plan(
                    bitsum,
                    budget,
                    users=users,
                    instances=bits,
                    squared_change=square,
                    ball=ball,
                    max_messages_per_user=most,
                    honest_fraction=honest_fraction,
                )
            except (InfeasibleBudgetError, CapacityError) as error:
                failures.append(error.reason if isinstance(error, CapacityError) else str(error))
            else:
                rmse = rmse_at_one_point(family, pairs, users, row.bitsum_rmse)
                rows.append(DensityRow(family, pairs, bits, square, row, rmse))
            done += 1
            if progress is not None:
                progress(done, len(rungs) * len(chosen))
    if not rows:
        raise InfeasibleBudgetError("\n".join(dict.fromkeys(failures)))
    rows.sort(key=lambda row: (row.messages_per_user, row.rmse))
    return DensityPlan(
        kernel,
        dimension,
        users,
        None if kernel == "inner-product" else float(bandwidth),
        budget,
        tuple(rows),
        tuple(dict.fromkeys(failures)),
        honest,
    )
