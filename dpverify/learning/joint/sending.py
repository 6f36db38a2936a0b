"""What all users of a discriminant send: planned from public numbers alone, and added up part by part."""

from __future__ import annotations

import functools

from dpverify.guarantee import Budget
from dpverify.learning.joint.moments import ClassMoments
from dpverify.planning.sums.vectors import VectorPlan, plan_vectors
from protocols.classes.frozen import dataclass

__all__ = ["JointPlan", "joint_plan"]


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


@functools.lru_cache(maxsize=64)
def joint_plan(budget: Budget, made: ClassMoments, users: int, ratio: float) -> JointPlan:
    """Return the plan for so many users; it is remembered, as every part of them asks for it.

    Raises InfeasibleBudgetError if nothing that is tried meets the budget.
    """
    plan = plan_vectors(budget, users=users, dimension=made.coordinates, ratio=ratio, clip=made.clip, l1=made.l1)
    return JointPlan(made, plan)
