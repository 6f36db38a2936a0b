"""What all users of a discriminant send: planned from public numbers alone, and added up part by part."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import Budget
from dpverify.learning.joint.moments import ClassMoments
from dpverify.planning.sums.vectors import VectorPlan, plan_vectors
from protocols.classes.frozen import dataclass

__all__ = ["JointPlan", "VectorCounts", "joint_plan"]

_BLOCK_ENTRIES = 2**22


@dataclass(frozen=True)
class JointPlan:
    """The public vector of every user, and the protocol of its sum over all of them.

    - made: The vector.
    - plan: Of the protocol, whose `users` are all that take part: each part of them brings its part of the noise.
    """

    made: ClassMoments
    plan: VectorPlan

    @property
    def dimension(self) -> int:
        """Of users' points, d."""
        return self.made.dimension

    def counted(self, points: NDArray[np.float64], labels: NDArray[np.int64], rng: np.random.Generator) -> VectorCounts:
        """Return what some users send, with their part of the noise; in blocks, as vectors are long.

        - points: Scaled, shape (some, d).
        - labels: Shape (some,).
        """
        protocol = self.plan.protocol
        counts = np.zeros((self.made.coordinates, 2), dtype=np.int64)
        size = max(1, _BLOCK_ENTRIES // self.made.coordinates)
        for start in range(0, len(points), size):
            here = slice(start, start + size)
            counts += protocol.sample_view(self.made.vectors(points[here], labels[here]), rng)
        return VectorCounts(len(points), counts)


@dataclass(frozen=True, eq=False)
class VectorCounts:
    """How often every coordinate and sign was sent by some users, shape (coordinates, 2).

    **Not private** before it is of all users: until then a part of the noise is missing.
    """

    users: int
    counts: NDArray[np.int64]

    def __add__(self, other: VectorCounts) -> VectorCounts:
        """Return what both groups have sent."""
        return VectorCounts(self.users + other.users, self.counts + other.counts)


@functools.lru_cache(maxsize=64)
def joint_plan(budget: Budget, made: ClassMoments, users: int, ratio: float) -> JointPlan:
    """Return the plan for so many users; it is remembered, as every part of them asks for it.

    Raises InfeasibleBudgetError if nothing that is tried meets the budget.
    """
    plan = plan_vectors(budget, users=users, dimension=made.coordinates, ratio=ratio, clip=made.clip, l1=made.l1)
    return JointPlan(made, plan)
