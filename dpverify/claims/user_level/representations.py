"""What is true of `protocols.user_level.representations`: how large they are, and how often they hold nothing good.

**Hashed points.** Let the target be the point a. The hypothesis "x falls into the bucket of a" errs on the other points
there: on a mass of mean at most 1/buckets, as each is there with probability 1/buckets. So its error exceeds alpha with
probability at most `1 / (buckets alpha)`, by Markov, for every a and every law.

**Repeated.** Independent draws all miss with the product of their probabilities.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from dpverify.guarantee import Number, exact_number
from protocols.user_level.representations import HashedPoints, Repeated, Representation

__all__ = ["miss_bound", "size_bits"]


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
