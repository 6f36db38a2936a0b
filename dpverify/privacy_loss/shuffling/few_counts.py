"""The expected excess of a sum of independent copies, summed over how often each value occurs: for few such counts.

The likeliest value, which may be 0, takes what the others leave: R ~ Bin(n, 1 - its probability) of the copies take
another one, and these are a multinomial law given R.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import Interval
from dpverify.laws import noise as laws
from dpverify.rounding import SUBNORMAL, UNIT, summation_error
from protocols.classes.frozen import dataclass

__all__ = ["Values", "counted_excess"]

Floats = NDArray[np.float64]

_FEW_COUNTS, _MOST_COUNTS, _MOST_ENTRIES = 2**16, 2**19, 2**20
"""So many counts are summed in any case; more of three values or more, where a contour needs as many nodes for each."""
_TAIL = 1e-80
_MOST_RARE = 2**13
"""More copies than this that take another value than the likeliest are not counted."""


@dataclass(frozen=True, eq=False)
class Values:
    """A variable Z with finitely many values other than 0.

    - weights, values (ndarray of float64, shape (atoms,)): Z is `values[j]` with probability `weights[j]`, and 0
      otherwise.
    - weight_error: Bound on the relative error of every weight.
    - value_errors (ndarray of float64, shape (atoms,)): Bounds on the absolute error of each value.
    - complete: Whether the weights add up to 1 but for their errors: Z is never another 0.
    """

    weights: Floats
    values: Floats
    weight_error: float
    value_errors: Floats
    complete: bool = False


@functools.lru_cache(maxsize=4)
def _counts(start: int, stop: int, parts: int) -> tuple[Floats, NDArray[np.int64], Floats, Floats]:
    """Return all non-negative integers whose sum is in [start, stop), shape (parts, ways), and these sums.

    And the logarithms of the sums' factorials, and of the multinomial coefficients. Many laws are asked for the same.
    """
    totals = np.arange(stop)
    rows = [totals]
    for _ in range(parts - 1):
        left = stop - totals
        firsts = np.repeat(np.arange(totals.size), left)
        news = np.arange(firsts.size) - np.repeat(np.cumsum(left) - left, left)
        rows, totals = [*(row[firsts] for row in rows), news], totals[firsts] + news
    kept = totals >= start
    rows, totals = [row[kept] for row in rows], totals[kept]
    factorials = np.array([math.lgamma(k + 1.0) for k in range(stop)])
    together = factorials[totals]
    return np.array(rows, dtype=np.float64), totals, together, together - sum(factorials[row] for row in rows)


def _too_many(stop: int, parts: int) -> bool:
    ways = math.comb(stop + parts, parts)
    return ways > _FEW_COUNTS and (parts < 3 or ways > _MOST_COUNTS or ways * parts > _MOST_ENTRIES)


def counted_excess(variable: Values, copies: int) -> Interval | None:
    """Return `E[(Z_1 + ... + Z_n)+]` for n independent copies, or None if too many counts would have to be summed.

    - variable: The law of one of them.
    - copies: n, at least 1.
    """
    rest = 0.0 if variable.complete else max(1.0 - math.fsum(variable.weights), 0.0)
    weights = np.append(variable.weights, rest)
    values, offs = np.append(variable.values, 0.0), np.append(variable.value_errors, 0.0)
    base = int(np.argmax(weights))
    rare = np.delete(np.arange(weights.size), base)
    rare = rare[weights[rare] > 0.0]
    parts = rare.size
    chance = math.fsum(weights[rare])
    mean = copies * chance
    # A first look without any law: the counts up to far above the mean.
    reach = min(copies, int(mean + 20.0 * math.sqrt(mean) + 60.0))
    if parts == 0 and variable.complete:
        only, off = copies * float(values[base]), copies * float(offs[base])
        return Interval(max(only - off, 0.0) * (1.0 - 4.0 * UNIT), max(only + off, 0.0) * (1.0 + 4.0 * UNIT))
    if parts == 0 or reach > _MOST_RARE or _too_many(reach, parts):
        return None
    law = laws.binomial(copies, min(chance, 1.0), _TAIL)
    if law.stop > _MOST_RARE or _too_many(law.stop, parts):
        return None
    # Relative: what is left for a rare 0 has the absolute error of all the weights.
    slip = (variable.weight_error + 8.0 * UNIT) * (1.0 / rest if rest > 0.0 and base != values.size - 1 else 2.0)
    logs = np.log(weights[rare] / chance)
    differences = values[rare] - values[base]
    counts, totals, factorials, ways = _counts(law.start, law.stop, parts)
    each = np.array([logs, differences, np.abs(values[rare]) + abs(values[base]), offs[rare] + offs[base]])
    likely, sums, scale, off = each @ counts
    sums += copies * values[base]
    scale += copies * abs(values[base])
    off += copies * offs[base] + 16.0 * (parts + 2) * UNIT * scale
    units = 16.0 * (parts + 4) * UNIT * (1.0 + factorials + totals * float(np.abs(logs).max()))
    spread = units + 2.0 * slip * (totals + np.abs(totals - mean) / float(weights[base])) + law.relative_error
    chances = law.pmf[totals - law.start] * np.exp(ways + likely)
    lower = float(np.sum(chances * np.exp(-2.0 * spread) * np.maximum(sums - off, 0.0)))
    upper = float(np.sum(chances * np.exp(2.0 * spread) * np.maximum(sums + off, 0.0)))
    cut = (law.tail_below + law.tail_above) * copies * float(np.abs(values).max())
    rounding = summation_error(_MOST_COUNTS) + 8.0 * UNIT
    # A rest that is 0 for rounding may be one of so much: it moves each copy with that probability.
    moved = 0.0 if variable.complete or rest > 0.0 else 2.0 * (variable.weight_error + 8.0 * UNIT)
    cut += moved * copies * float(np.max(np.abs(values) + offs))
    return Interval.proved(max(lower * (1.0 - rounding) - cut, 0.0), upper * (1.0 + rounding) + 2.0 * cut + SUBNORMAL)
