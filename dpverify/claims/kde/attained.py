"""What datasets of points attain, for the lower end of density estimation where not all bits can change fully.

One user moves from a point x to -x, or back, and everyone else holds x. Her bit j goes from `(1 + t_j)/2` to
`(1 - t_j)/2`, or mirrored, t_j the feature over R, and all others' bits are as hers was. If everyone's report of a bit
is flipped at random, t_j shrinks, hers and the others' alike: that reveals no more, and sizes may be lowered to few.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.registry import claims_of
from dpverify.claims.shared.distant import opposite_sizes
from dpverify.guarantee import PrivacyCurve
from dpverify.privacy_loss.joint.attained_change import Parts, composed
from dpverify.privacy_loss.losses.mixture import bit_probability_change
from dpverify.privacy_loss.windows.saddle import total_loss
from dpverify.rounding import UNIT
from protocols.bitsum import BitsumProtocol
from protocols.lsq import LSQFeatures

__all__ = ["grouped", "opposite_curve", "opposite_parts"]

_GROUPS, _FEW_GROUPS = 96, 12
"""Sizes of moves are lowered to so many: neighbours differ by little. And to so many where points are compared."""
_SMALLEST = 0.01
"""Smaller moves than this share of the largest are left out."""


def grouped(sizes: NDArray[np.float64], groups: int = _GROUPS) -> list[tuple[float, int]]:
    """Return few sizes, and how many moves are of each, that are no larger than as many of the given ones."""
    kept = np.sort(sizes[sizes > _SMALLEST * sizes.max(initial=0.0)])
    parts = np.array_split(kept, min(groups, kept.size)) if kept.size else []
    return [(float(part[0]), part.size) for part in parts]


def _either_way(bitsum: BitsumProtocol, sizes: NDArray[np.float64], runs: int, groups: int) -> Iterator[Parts]:
    """Yield the pairs of moves of these sizes, away from the others' point and back, and how often each is met."""
    found = [
        (size, runs * count, claims_of(bitsum).among_equals(bitsum, size)) for size, count in grouped(sizes, groups)
    ]
    if not found or any(pairs is None for _, _, pairs in found):
        return
    for direction in (0, 1):
        parts = []
        for size, count, pairs in found:
            assert pairs is not None
            # Opposite features' probabilities are rounded each: she may move by a little less than from t to -t.
            less = min(16.0 * UNIT / size, 1.0)
            ends = (1.0 - less, 0.0) if direction == 0 else (1.0, less)
            parts.append((bit_probability_change(pairs[direction], *ends), count))
        yield tuple(parts)


def opposite_parts(bitsum: BitsumProtocol, features: LSQFeatures, runs: int, reference_delta: float) -> Parts:
    """Return the pairs of two opposite points where all others hold one of them, and how often each is met.

    Of the points that the features' twin knows those that promise most; none where the bitsum has no law of that.

    - features: The public features.
    - runs: How many runs with the same features.
    - reference_delta: At which delta points are compared.
    """

    def promised(parts: Parts) -> float:
        return total_loss(parts).saddle_point(reference_delta)[0]

    best: tuple[NDArray[np.float64], int] | None = None
    most = 0.0
    for points in claims_of(features.family).distant_points(features):
        sizes = opposite_sizes(features, points)
        for direction, parts in enumerate(_either_way(bitsum, sizes, runs, _FEW_GROUPS)):
            if promised(parts) > most:
                most, best = promised(parts), (sizes, direction)
    if best is None:
        return ()
    return list(_either_way(bitsum, best[0], runs, _GROUPS))[best[1]]


def opposite_curve(
    bitsum: BitsumProtocol, features: LSQFeatures, runs: int, reference_delta: float
) -> PrivacyCurve | None:
    """Return their privacy curve, accurate where wanted; None where no points were worked out."""
    parts = opposite_parts(bitsum, features, runs, reference_delta)
    return composed(parts, reference_delta) if parts else None
