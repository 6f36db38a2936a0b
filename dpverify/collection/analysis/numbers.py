"""What counts say of sums of numbers: estimates with intervals, rounding included.

A client rounds a number at random to a step next to it, with the right mean: its error has a range of one step, so that
those of n users add up to more than t steps with a probability of exp(-2 t^2 / n) at most, whatever they hold
(Hoeffding). Half of each side's level is for that, and half for the noise, whose law is exact. What floats do to a
number before that is below 2^-51 of the range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.sums.split_and_mix import SplitAndMixClaims
from dpverify.collection.analysis.intervals import Tails, sum_law
from dpverify.collection.query import Asked
from dpverify.guarantee import enclosing_floats
from protocols.sums import SplitAndMix

__all__ = ["of_numbers", "steps_in", "wrapped"]

_CUT = Fraction(1, 2**50)


def steps_in(protocol: Any, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what counts are in steps with noise: of shares the integer around those that can be; else the counts."""
    return protocol.centred(counts % protocol.modulus) if isinstance(protocol, SplitAndMix) else counts


def wrapped(protocol: Any) -> Fraction:
    """Return with which probability, at most, noise leaves the integers that shares can stand for; 0 of others."""
    return Fraction(SplitAndMixClaims().wrapped(protocol)) if isinstance(protocol, SplitAndMix) else Fraction(0)


def of_numbers(
    asked: Asked, counts: NDArray[np.int64], users: int, side: float
) -> Iterator[tuple[int, int | None, float, float, float]]:
    """Yield instance, bucket, estimate and both ends of its interval of each sum; of weights all hold together.

    - counts (ndarray, shape (runs, 1) or (1, buckets)): What came in, in steps with noise.
    - side: The level of each side.
    """
    protocol, weights = asked.protocol, asked.asks == "weights"
    each, off = side / counts.shape[1], Fraction(0)
    if protocol.steps is not None:
        each /= 2.0
        off = Fraction(math.sqrt(-users * math.log(each) / 2.0)) * (1 + _CUT) + users * protocol.levels * _CUT
    tails = Tails(sum_law(protocol, users), each)
    for (run, bucket), count in zip(np.ndindex(counts.shape), counts.ravel().tolist(), strict=True):
        low, high = tails.interval(count)
        value, first, last = (
            users * Fraction(protocol.smallest) + protocol.step * steps
            for steps in (
                Fraction(tails.law.estimate(count)),
                max(low - off, Fraction(0)),
                min(high + off, Fraction(tails.law.inputs)),
            )
        )
        ends = enclosing_floats(first)[0], enclosing_floats(last)[1]
        yield run, bucket if weights else None, float(value), *ends
