"""Laws on the integers as finite windows of float probabilities, with proved accuracy.

Differences of `lgamma` lose seven digits at n = 10^9. Here one atom in `_BLOCK` is an *anchor*, evaluated in Arb, and
the atoms up to the next anchor follow from the ratios f(k+1)/f(k): a product of few factors, each with few roundings,
so that the relative error is bounded by counting them. The window is found by bisection on Arb bounds of the tails.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.formulas.contexts import upper_float
from dpverify.guarantee import CapacityError
from dpverify.rounding import UNIT
from dpverify.search import galloped, largest_integer, least_integer
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = [
    "DEFAULT_MAX_ATOMS",
    "DEFAULT_TAIL",
    "EXACT",
    "SMALLEST_TAIL",
    "IntegerLaw",
    "UnimodalPmf",
    "check_atoms",
    "check_window",
    "point_mass",
    "window",
]

DEFAULT_TAIL = 1e-60
"""The default of the largest mass that may be cut off at each side."""
DEFAULT_MAX_ATOMS = 2**24
"""The default of the most atoms a window may have (128 MiB of float64)."""
SMALLEST_TAIL = 1e-290
"""The smallest tail that can be asked for: the atoms next to a smaller one would be out of the range of floats."""

EXACT = 2**53
"""Integers below this are exact as floats."""

_BLOCK = 128
_LARGEST_BLOCK = 1024
_ANCHORS = 512
"""Atoms are anchored one a block, evaluated in Arb; with more anchors than this, blocks are longer instead."""
_SMALLEST_ATOM = 1e-300
_NORMAL = 2.0
"""How often the logarithm of a normal density fell so far is contained in the distance times its slope there."""
_MOST_STEPS, _FARTHEST = 6, 2**200


@dataclass(frozen=True)
class IntegerLaw:
    """A probability law on the integers: its atoms in a window, and bounds for what lies outside.

    - start: The first integer of the window.
    - pmf (ndarray of float64, shape (atoms,)): P(X = start), P(X = start + 1), ...; each at least 1e-300, read-only.
    - relative_error: Proved: `|pmf / true pmf - 1| <= relative_error` for every entry.
    - tail_below, tail_above: Proved upper bounds on P(X < start) and on P(X >= stop); exactly 0 where the support ends
      there.
    """

    start: int
    pmf: NDArray[np.float64]
    relative_error: float
    tail_below: float
    tail_above: float

    def __post_init__(self) -> None:
        self.pmf.flags.writeable = False

    @property
    def stop(self) -> int:
        """The first integer above the window."""
        return self.start + self.pmf.size

    def mirrored(self, around: int = 0) -> IntegerLaw:
        """Return the law of `around - X`, exactly.

        Bin(n, 1-p) is Bin(n, p) mirrored around n: 1 - p rounded to a float would be another law, its small probability
        off by a unit of 1 and not of p.
        """
        return IntegerLaw(
            around - self.stop + 1, self.pmf[::-1].copy(), self.relative_error, self.tail_above, self.tail_below
        )

    @property
    def support(self) -> NDArray[np.int64]:
        """The integers of the window, shape (atoms,); all below 2^53 in absolute value, so exact as floats too."""
        return np.arange(self.start, self.stop, dtype=np.int64)


@dataclass(frozen=True)
class UnimodalPmf:
    """A pmf f on {0, ..., highest} that rises up to about `mode` and falls from there.

    - log_pmf, ratio: ln f(k) and f(k+1)/f(k) in Arb, for an exact integer k.
    - blocks_of_ratios: (first, offsets) -> f(k+1)/f(k) in floats at k = first[:, None] + offsets, shape (blocks,
      offsets).
    - roundings: How many relative errors of 2^-53 such a float ratio has suffered at most.
    - largest_ratio_above: A bound in Arb on f(j+1)/f(j) over all j >= k; below the mode the pmf must be log-concave.
    """

    log_pmf: Callable[[arb], arb]
    ratio: Callable[[arb], arb]
    blocks_of_ratios: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    roundings: int
    largest_ratio_above: Callable[[arb], arb]
    mode: int
    highest: int | None = None

    def mass_from(self, k: int) -> arb:
        """Bound P(X >= k) by the geometric series f(k) (1 + q + q^2 + ...)."""
        if self.highest is not None and k > self.highest:
            return arb(0)
        return _geometric(self.log_pmf(arb(k)), self.largest_ratio_above(arb(k)))

    def mass_below(self, k: int) -> arb:
        """Bound P(X < k), the same way."""
        return arb(0) if k <= 0 else _geometric(self.log_pmf(arb(k - 1)), self.backwards(k))

    def backwards(self, k: int) -> arb:
        """Return f(k-2)/f(k-1), k positive."""
        return arb(0) if k == 1 else 1 / self.ratio(arb(k - 2))


def _geometric(log_first: arb, ratio: arb) -> arb:
    return log_first.exp() / (1 - ratio) if ratio < 1 else arb(math.inf)


def _reach(mass: Callable[[int], arb], ratio: Callable[[int], arb], tail: float) -> int:
    """Return the smallest d >= 0 whose mass is at most the tail: it must not rise, and must get there in the end.

    Masses cost most, so that Newton's steps on their logarithm go next to it, from where a normal law with that ratio
    of neighbours would be. What they find is a guess: the answer and its predecessor are asked.
    """
    mass, log_tail = functools.cache(mass), math.log(tail)

    def decay(d: int) -> float:
        found = ratio(d)
        return -float(found.log()) if found > 0 else math.inf

    def far(d: int) -> bool:
        return d * decay(d) >= -_NORMAL * log_tail

    low, guess = galloped(far, 0, 1, grow=lambda d: 4 * d) or (0, 1)
    guess = least_integer(far, low, guess, tolerance=0.1)
    for _ in range(_MOST_STEPS):
        excess, fall = float(mass(guess).log()) - log_tail, decay(guess)
        if not (math.isfinite(excess) and 0.0 < fall < math.inf):
            break
        last, guess = guess, max(guess + math.ceil(excess / fall), 0)
        if abs(guess - last) <= 1:
            break
    return 1 + largest_integer(lambda d: not mass(d) <= tail, guess, -1, _FARTHEST)


def check_atoms(name: str, least: float, tail: float) -> None:
    """Raise CapacityError where the least probability of a window has lost digits."""
    if least < _SMALLEST_ATOM:
        raise CapacityError(
            f"probabilities below {_SMALLEST_ATOM:g} are needed, where floats lose digits; "
            f"{name} needs a larger tail than {tail!r}."
        )


def check_window(name: str, atoms: int, stop: int, max_atoms: int, tail: float) -> None:
    """Raise CapacityError where a window has too many atoms, or ends beyond what floats tell apart."""
    if atoms > max_atoms:
        raise CapacityError(
            f"a law of {atoms} atoms is needed, but at most {max_atoms} are computed; "
            f"{name} at tail={tail!r} needs max_atoms >= {atoms}, or a larger tail."
        )
    if stop > EXACT:
        raise CapacityError(
            f"a law that reaches the integer {stop} is needed, but only integers in [0, 2^53] are exact as floats; "
            f"it is {name}."
        )


def _anchored(f: UnimodalPmf, start: int, stop: int) -> tuple[NDArray[np.float64], float]:
    """Return f on [start, stop) and a bound on its relative error."""
    atoms = stop - start
    block = min(max(_BLOCK, min(atoms // _ANCHORS, _LARGEST_BLOCK)), atoms)
    first = np.arange(start, stop, block, dtype=np.float64)
    table = np.empty((first.size, block))
    anchor_error = arb(0)
    for row, k in enumerate(range(start, stop, block)):
        exact = f.log_pmf(arb(k)).exp()
        table[row, 0] = nearest = float(exact)
        anchor_error = anchor_error.max(abs(arb(nearest) / exact - 1).upper())
    # Column j holds f(k)/f(k-1) at k = first + j before the running product, f(k) after it. Only padding behind `stop`
    # can underflow: in the window every partial product is a pmf value of at least 1e-300.
    table[:, 1:] = f.blocks_of_ratios(first, np.arange(block - 1, dtype=np.float64))
    np.multiply.accumulate(table, axis=1, out=table)
    errors = (f.roundings + 1) * (block - 1) * arb(UNIT)
    relative_error = (1 + anchor_error) * (1 + errors / (1 - errors)) - 1
    return table.reshape(-1)[:atoms].copy(), upper_float(relative_error)


def window(
    name: str, f: UnimodalPmf, tail: float, max_atoms: int, *, mirrored: bool = False, beyond: int = 0
) -> IntegerLaw:
    """Return the smallest window of f, or of its even extension, whose tails are proved to be at most `tail`.

    So many atoms `beyond` its upper end, and the lower one if mirrored, are listed as well.
    """
    check_real("tail", tail, low=SMALLEST_TAIL, high=0.5)
    check_integer("max_atoms", max_atoms, low=1)
    after, start = f.mode + 1, 0
    stop = after + _reach(lambda d: f.mass_from(after + d), lambda d: f.largest_ratio_above(arb(after + d)), tail)
    stop += beyond
    if not mirrored:
        below = _reach(
            lambda d: f.mass_below(f.mode - d), lambda d: f.backwards(f.mode - d) if d < f.mode else arb(0), tail
        )
        start = max(0, f.mode - below)
    check_window(name, 2 * stop - 1 if mirrored else stop - start, stop, max_atoms, tail)
    pmf, relative_error = _anchored(f, start, stop)
    check_atoms(name, float(min(pmf[0], pmf[-1])), tail)
    above = upper_float(f.mass_from(stop))
    if mirrored:
        return IntegerLaw(1 - stop, np.concatenate((pmf[:0:-1], pmf)), relative_error, above, above)
    return IntegerLaw(start, pmf, relative_error, upper_float(f.mass_below(start)), above)


def point_mass(at: int) -> IntegerLaw:
    """Return the law of a constant."""
    return IntegerLaw(at, np.ones(1), 0.0, 0.0, 0.0)
