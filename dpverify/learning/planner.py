"""The bitsum of a class, or of all users, from their public number."""

from __future__ import annotations

import functools
from dataclasses import replace

from dpverify.claims.registry import Group, registered
from dpverify.guarantee import Budget
from dpverify.planning.account import account
from dpverify.planning.plan import PlanRow, plan
from protocols.bitsum import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.validation import check_choice, check_integer

__all__ = ["BITSUMS", "Planner"]

BITSUMS = registered(Group.BITSUMS).shuffled
"""Those of the shuffle model; of each, more users than it is planned for only add noise."""
_KEPT = 5
"""Leading binary digits of a number of users that a plan keeps: at most a 16th of the users is not counted on."""


@dataclass(frozen=True)
class Planner:
    """Parameters for every number of users, as `protocols.classifier.HighestDensityClassifier.bitsum` asks for them.

    Plans are made for the number rounded down, so that few of them are needed. They hold for more users too: the noise
    of a view of 3NB, NB, Poisson or Pure is of one law for all numbers of users; and for randomized response further
    users' reports are noise that is independent of the rest, added to the view.

    - bitsum: The bitsum's name, one of `BITSUMS`.
    - budget: For replacing one point.
    - bits: Of one user.
    - squared_change: T^2 of these bits together.
    """

    bitsum: str
    budget: Budget
    bits: int
    squared_change: float

    def __post_init__(self) -> None:
        check_choice("bitsum", self.bitsum, BITSUMS)

    def row(self, users: int) -> PlanRow:
        """Return a plan whose parameters hold for this number of users.

        Raises InfeasibleBudgetError or CapacityError if there is none.
        """
        return _planned(self, _rounded(check_integer("users", users, low=1)))

    def __call__(self, users: int) -> BitsumProtocol:
        """Return the protocol of this number of users."""
        return replace(self.row(users).protocol, users=users)

    def keeps(self, protocol: BitsumProtocol) -> bool:
        """Return whether parameters are proved to keep the budget: those of a plan do, and few others."""
        return _kept(self, replace(protocol, users=_rounded(protocol.users)))


def _rounded(users: int) -> int:
    """Return the number of users that a plan for so many is made for."""
    return users - users % (1 << max(users.bit_length() - _KEPT, 0))


@functools.lru_cache(maxsize=256)
def _planned(planner: Planner, users: int) -> PlanRow:
    return plan(
        planner.bitsum,
        planner.budget,
        users=users,
        instances=planner.bits,
        squared_change=planner.squared_change,
    )


@functools.lru_cache(maxsize=256)
def _kept(planner: Planner, protocol: BitsumProtocol) -> bool:
    found = account(
        protocol, instances=planner.bits, squared_change=planner.squared_change, delta=planner.budget.exact_delta
    )
    return found.epsilon.upper <= planner.budget.exact_epsilon
