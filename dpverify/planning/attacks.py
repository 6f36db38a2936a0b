"""How far malicious users can move the estimate of a plan, and what a cap on their messages leaves and costs."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from dpverify.claims.caps import Cap, least_cap
from dpverify.claims.manipulation import Manipulation, manipulation
from dpverify.guarantee import Budget, CapacityError, InfeasibleBudgetError
from protocols.bitsum.base import BitsumProtocol

__all__ = ["CAP_SHARE", "Attack", "attack"]

CAP_SHARE = 1e-3
"""What a cap may cost of delta."""


@dataclass(frozen=True)
class Attack:
    """How far some users can move one estimated sum of bits.

    Parameters
    ----------
    freely : Manipulation
        Where the shuffler passes on whatever they send.
    cap : Cap or None
        The least cap on the messages per user and instance that costs `CAP_SHARE` of delta at most; None where the
        protocol fixes their number.
    capped : Manipulation
        With the cap; as `freely` where there is none.
    note : str
        Why no cap is known, where one is needed.
    """

    freely: Manipulation
    cap: Cap | None
    capped: Manipulation
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {
            "freely": self.freely.to_dict(),
            "cap": None if self.cap is None else dataclasses.asdict(self.cap),
            "capped": self.capped.to_dict(),
            "note": self.note,
        }


def attack(protocol: BitsumProtocol, malicious: int, budget: Budget, instances: int) -> Attack:
    """Return how far so many users can move an estimate of a protocol that keeps a budget.

    Parameters
    ----------
    protocol : BitsumProtocol
        Of each instance.
    malicious : int
        m, from 0 to n.
    budget : Budget
        What all instances together keep; delta must be positive.
    instances : int
        I.

    Raises
    ------
    ValueError
        If there are not so many users.
    """
    freely = manipulation(protocol, malicious)
    one = manipulation(protocol, 1)
    if math.isfinite(one.upper - one.lower):
        return Attack(freely, None, freely)
    try:
        cap = least_cap(protocol, budget, instances=instances, share=CAP_SHARE)
    except (InfeasibleBudgetError, CapacityError) as error:
        return Attack(freely, None, freely, error.reason if isinstance(error, CapacityError) else str(error))
    return Attack(freely, cap, manipulation(protocol, malicious, cap.messages))
