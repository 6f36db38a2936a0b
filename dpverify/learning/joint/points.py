"""The mean of users' points by one sum of vectors: what an inner product with it takes, where that beats sums of bits.

Bits of rotated coordinates have the same noise, but rounding to one bit adds about R / sqrt(n), where noise falls like
1 / n: with more users it is nearly all of the error. Integers round to steps of the noise's size (docs/densities.md).
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.registry import claims_of
from dpverify.guarantee import Budget, CapacityError, InfeasibleBudgetError
from dpverify.learning.features import PublicFeatures
from dpverify.learning.files.counters import VectorCounts
from dpverify.learning.planner import Planner
from dpverify.planning.kernels.rungs import rmse_of_spread_points
from dpverify.planning.sums.vectors import VectorPlan, plan_vectors
from protocols.classes.frozen import dataclass

__all__ = ["MeanDensity", "PointPlan", "better_points", "point_plan"]


@dataclass(frozen=True)
class PointPlan:
    """The protocol of the sum of all users' points; each part of them brings its part of the noise.

    - dimension: d.
    - plan: Of the protocol, whose `users` are all that take part.
    """

    dimension: int
    plan: VectorPlan

    @property
    def rmse(self) -> float:
        """The error of an inner product with the mean of unit vectors, for a query of norm 1 in any direction."""
        return self.plan.rmse / (math.sqrt(self.dimension) * self.plan.protocol.users)

    def density(self, counts: VectorCounts) -> MeanDensity:
        """Return the estimate of all users' counts."""
        return MeanDensity(self.plan.protocol.analyze(counts.counts) / counts.users)


@dataclass(frozen=True, eq=False)
class MeanDensity:
    """The published mean of points, shape (d,): its inner product with a query is a density."""

    mean: NDArray[np.float64]

    def __call__(self, queries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density at every query, shape (queries,)."""
        return np.asarray(queries @ self.mean)


@functools.lru_cache(maxsize=64)
def point_plan(budget: Budget, dimension: int, users: int, most: float | None = None) -> PointPlan:
    """Return the least error within so many messages of a user; by default the ratio that `plan_vectors` takes.

    Raises InfeasibleBudgetError if nothing that is tried meets the budget within that.
    """
    return PointPlan(dimension, plan_vectors(budget, users=users, dimension=dimension, max_messages=most))


def better_points(public: PublicFeatures, bitsum: str, budget: Budget, users: int) -> PointPlan | None:
    """Return the sum of vectors where it errs less than sums of bits for no more messages; None where these are better.

    Bits are given what is best for them: points in all directions, of which nothing that is cut off adds up.

    - public: The bits' features, of the inner product.
    - bitsum: Of the bits.
    - budget, users: Of the whole.
    """
    planner = Planner(bitsum, budget, public.drawn.coordinates, public.squared_change)
    try:
        row = planner.row(users)
        made = planner(users)
        bits = rmse_of_spread_points(public.family, public.pairs, users, float(claims_of(made).rmse(made)))
        most: float | None = public.drawn.coordinates * row.messages_per_user
    except (CapacityError, InfeasibleBudgetError):
        bits, most = math.inf, None
    try:
        found = point_plan(budget, public.dimension, users, most)
    except (CapacityError, InfeasibleBudgetError):
        return None
    return found if found.rmse < bits else None
