"""What datasets of points attain, for the lower end of density estimation where not all bits can change fully.

One user moves from a point x to -x, and everyone else holds 0, whose linear features are 0: their bits are fair coins.
Her bit j goes from `(1 - t_j)/2` to `(1 + t_j)/2`, t_j the feature over R, or back, which is the same for coins: their
law is its own mirror image. A smaller move of the same midpoint is a mixture of it and of no move, and reveals no more
(docs/joint_changes.md), so that sizes may be lowered to few.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.distant import opposite_sizes
from dpverify.claims.registry import claims_of
from dpverify.guarantee import PrivacyCurve
from dpverify.privacy_loss.attained_change import Parts, composed
from dpverify.privacy_loss.mixture import bit_probability_change
from protocols.bitsum import BitsumProtocol
from protocols.lsq import LSQFeatures

__all__ = ["among_coins_curve", "among_coins_parts", "grouped"]

_GROUPS = 128
"""Sizes of moves are lowered to so many: neighbours differ by little."""
_SMALLEST = 0.01
"""Smaller moves than this share of the largest are left out."""


def grouped(sizes: NDArray[np.float64]) -> list[tuple[float, int]]:
    """Return few sizes, and how many moves are of each, that are no larger than as many of the given ones."""
    kept = np.sort(sizes[sizes > _SMALLEST * sizes.max(initial=0.0)])
    groups = np.array_split(kept, min(_GROUPS, kept.size)) if kept.size else []
    return [(float(group[0]), group.size) for group in groups]


def among_coins_parts(bitsum: BitsumProtocol, features: LSQFeatures, runs: int) -> Parts:
    """Return the pairs of two opposite points where all others hold 0, and how often each is met; none if unknown.

    Parameters
    ----------
    bitsum : BitsumProtocol
        The bitsum, whose twin knows the law among coins.
    features : LSQFeatures
        The public features.
    runs : int
        How many runs with the same features.
    """
    coins = claims_of(bitsum).among_coins(bitsum)
    if coins is None:
        return ()
    found = [opposite_sizes(features, points) for points in claims_of(features.family).distant_points(features)]
    sizes = max(found, key=lambda sizes: float(sizes @ sizes), default=np.zeros(0))
    full = coins.attained[1]
    ends = [
        (0.5 + 0.5 * math.nextafter(size, 0.0), 0.5 - 0.5 * math.nextafter(size, 0.0), runs * count)
        for size, count in grouped(sizes)
    ]
    return tuple((bit_probability_change(full, before, after), number) for before, after, number in ends)


def among_coins_curve(
    bitsum: BitsumProtocol, features: LSQFeatures, runs: int, reference_delta: float
) -> PrivacyCurve | None:
    """Return their privacy curve, accurate where wanted; None where no points were worked out."""
    parts = among_coins_parts(bitsum, features, runs)
    return composed(parts, reference_delta) if parts else None
