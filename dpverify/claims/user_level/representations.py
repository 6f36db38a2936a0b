"""What is true of `protocols.user_level.representations`: how large they are, and how often they hold nothing good.

**Hashed points.** Let the target be the point a. The hypothesis "x falls into the bucket of a" errs on the other points
there: on a mass of mean at most 1/buckets, as each is there with probability 1/buckets. So its error exceeds alpha with
probability at most `1 / (buckets alpha)`, by Markov, for every a and every law.

**Repeated.** Independent draws all miss with the product of their probabilities.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dpverify.guarantee import Number, exact_number
from protocols.user_level.representations import HashedPoints, Repeated, Representation
from protocols.validation import check_integer

__all__ = ["collision_miss", "miss_bound", "size_bits"]


def size_bits(representation: Representation) -> float:
    """Return d = log2 of the number of hypotheses."""
    return math.log2(representation.hypotheses)


def _alpha(alpha: Number) -> Fraction:
    exact = exact_number("alpha", alpha)
    if not 0 < exact < 1:
        raise ValueError(f"alpha={alpha!r} must be in (0, 1).")
    return exact


@functools.singledispatch
def miss_bound(representation: Representation, alpha: Number) -> Fraction:
    """Bound the probability that no hypothesis has error alpha or less, for every concept and every law.

    - representation: Whose class is the one that is learned.
    - alpha: In (0, 1).

    Returns: Exact; 0 for a class that represents itself. Raises TypeError if nothing is proved here about such a
    representation.
    """
    _alpha(alpha)
    if representation.hypotheses != len(representation.concepts):
        raise TypeError(f"representation={representation!r} must be of a kind for which a bound is proved here.")
    return Fraction(0)


@miss_bound.register
def _(representation: HashedPoints, alpha: Number) -> Fraction:
    return min(Fraction(1), 1 / (representation.buckets * _alpha(alpha)))


@miss_bound.register
def _(representation: Repeated, alpha: Number) -> Fraction:
    once: Fraction = miss_bound(representation.representation, alpha)
    return once**representation.copies


def collision_miss(representation: HashedPoints, weights: Sequence[int], target: int, alpha: Number) -> Fraction:
    """Return the exact probability that the bucket of the target point has an error above alpha.

    No other bucket has an error of alpha or less if the target itself has a larger mass.

    - weights: The law of the examples, as multiples of one number: at least 0, not all 0.
    - target: In [0, size).
    - alpha: In (0, 1).
    """
    check_integer("target", target, low=0, high=representation.size - 1)
    masses = [check_integer("weights", weight, low=0) for weight in weights]
    if len(masses) != representation.size or not any(masses):
        raise ValueError(f"weights={weights!r} must be {representation.size} integers in [0, inf), not all 0.")
    most = _alpha(alpha) * sum(masses)
    # By mass and number of the points that collide, how many sets of points there are.
    sets = Counter({(0, 0): 1})
    others = [mass for point, mass in enumerate(masses) if point != target and mass]
    for mass in others:
        grown = Counter({(total + mass, size + 1): ways for (total, size), ways in sets.items()})
        sets.update(grown)
    hit = Fraction(1, representation.buckets)
    bad = [(size, ways) for (total, size), ways in sets.items() if total > most]
    return sum((ways * hit**size * (1 - hit) ** (len(others) - size) for size, ways in bad), Fraction(0))
