"""How far malicious users can move the estimates of a plan, and what a cap on their messages leaves and costs."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from dpverify.claims.attacks.caps import Cap, least_cap
from dpverify.claims.attacks.manipulation import Manipulation, manipulation
from dpverify.guarantee import Budget, CapacityError, InfeasibleBudgetError
from dpverify.planning.kernels.density import DensityRow
from dpverify.shown import Plain
from protocols.bitsum.base import BitsumProtocol
from protocols.classes.frozen import dataclass
from protocols.lsq import LinearMap

__all__ = ["CAP_SHARE", "Attack", "attack", "density_attack"]

CAP_SHARE = 1e-3
"""What a cap may cost of delta."""


@dataclass(frozen=True)
class Attack(Plain):
    """How far some users can move one estimated sum of bits.

    - freely: Where the shuffler passes on whatever they send.
    - cap: The least cap on the messages per user and instance that costs `CAP_SHARE` of delta at most; None where the
      protocol fixes their number.
    - capped: With the cap; as `freely` where there is none.
    - note: Why no cap is known, where one is needed.
    """

    freely: Manipulation
    cap: Cap | None
    capped: Manipulation
    note: str = ""


def attack(protocol: BitsumProtocol, malicious: int, budget: Budget, instances: int) -> Attack:
    """Return how far so many users can move an estimate of a protocol that keeps a budget.

    - protocol: Of each instance.
    - malicious: m, from 0 to n.
    - budget: What all instances together keep; delta must be positive.
    - instances: I.

    Raises ValueError if there are not so many users.
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


def density_attack(row: DensityRow, malicious: int, budget: Budget) -> Attack:
    """Return at most how far so many users can move a density, at any query; of norm 1 at most for the inner product.

    A bitsum moved by s moves the density by `2 R s g_j / (n I)`, g_j the query's feature: in all bitsums together by
    `2 R |s| sum |g_j| / (n I)` at most, s the farther of both ends. That is attained where the features that are not 0
    have one sign; at given queries `dpverify.claims.attacks.manipulation.density_manipulation` is exact.

    - row: The estimator.
    - malicious: m, from 0 to n.
    - budget: What it keeps.
    """
    found = attack(row.bitsum.protocol, malicious, budget, row.bits)
    scale = 2.0 * row.family.R * _largest_sum(row) / (row.bitsum.protocol.users * row.pairs)

    def moved(one: Manipulation) -> Manipulation:
        farthest = max(one.upper, -one.lower)
        most = scale * farthest if farthest else 0.0
        return Manipulation(malicious, -most, most)

    return dataclasses.replace(found, freely=moved(found.freely), capped=moved(found.capped))


def _largest_sum(row: DensityRow) -> float:
    """Return an upper bound on the sum of the sizes of a query's features."""
    if isinstance(row.family, LinearMap):
        # By the norm of the map, and Cauchy and Schwarz.
        map_norm = float(np.linalg.norm(row.features.g(np.eye(row.family.dimension)).reshape(-1, row.bits), 2))
        return math.sqrt(row.bits) * map_norm * (1.0 + 1e-9)
    # Of each pair S are not 0 at most, and in the range.
    return float(row.pairs * row.family.S * row.family.R)
