"""Several instances, of which each may have another split: what they differ in altogether, and the worst of it.

A product does not care which instance a bit is of, so that all that matters of I instances are the bits lost and the
bits gained in total. The splits that matter have the more of one kind the fewer they have of the other. Let g be the
least concave function above them, from bits lost to bits gained. The totals (A, B) of any choice have B <= I g(A / I).

**Attained** are, between any two splits next to each other on g, i instances of the one and I - i of the other. They
are a path of totals along I g, with more and more bits lost and fewer and fewer gained.

**From above**, a block of the path has all totals of at least as many lost bits as its first one and fewer than the one
after its last. More gained bits are only worse: so let each have as many as I g allows. Then all have the fewest of
either kind that occur, and others besides, each of which the supremum of both kinds bounds: as many as the largest sum
leaves, which is at an end of the block or at a corner of g. Blocks are halved where their bound is the largest, until
that is attained within a gap. Where neighbours on g differ by one bit, as for any two values, every total is on the
path, and a block of one is exact.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Iterable
from typing import NamedTuple

from dpverify.claims.rappor.bloom import Split, largest
from dpverify.guarantee import Interval, PrivacyCurve

__all__ = ["Bits", "MixedSplits"]

_MOST_BLOCKS = 400
"""That are halved: what is left then of the largest bound is the width."""
_SENSITIVE = 10.0
"""How much more a relative change of epsilon changes delta, about: the gap of a delta is so much larger."""


class Bits(NamedTuple):
    """How many bits only the first of two patterns has, how many only the second, and how many of either kind."""

    lost: int
    gained: int
    either: int


class MixedSplits:
    """The privacy curve of instances of which each has any one of some splits.

    - found: What an instance may have, at least one.
    - instances: How many there are.
    - composed: Takes `Bits`, and returns the curve of so many; of bits of either kind only its upper ends are used. And
      whether it should rather be quick than tight, as of the many blocks that are only halved.
    - gap: The relative width of epsilon at which the search stops.
    """

    def __init__(
        self, found: Iterable[Split], instances: int, composed: Callable[[Bits, bool], PrivacyCurve], gap: float
    ) -> None:
        self._alone = largest(found)
        self._corners = corners(self._alone)
        self._last = (len(self._corners) - 1) * instances
        self._instances, self._composed, self._gap = instances, functools.cache(composed), gap

    def delta(self, epsilon: float) -> Interval:
        """Return the delta at an epsilon."""
        return self._worst(lambda curve: curve.delta(epsilon), _SENSITIVE * self._gap)

    def epsilon(self, delta: float) -> Interval:
        """Return the epsilon at a delta."""
        return self._worst(lambda curve: curve.epsilon(delta), self._gap)

    def total(self, place: int) -> Split:
        """Return a total of the path, the first at place 0."""
        edge, beyond = divmod(place, self._instances)
        ends = self._corners[edge], self._corners[min(edge + 1, len(self._corners) - 1)]
        return Split(*((self._instances - beyond) * one + beyond * other for one, other in zip(*ends, strict=True)))

    def cover(self, first: int, last: int) -> Bits:
        """Return what covers all totals of a block."""
        start, end = self.total(first), self._end(last)
        turns = range(-(-first // self._instances), last // self._instances + 1)
        most = max(sum(total) for total in (start, end, *(self.total(turn * self._instances) for turn in turns)))
        return Bits(start.lost, end.gained, most - start.lost - end.gained)

    def _end(self, place: int) -> Split:
        """Return the most bits lost before the next total of the path, and as many gained as there may be then."""
        own = self.total(place)
        if place == self._last:
            return own
        beyond = self.total(place + 1)
        lost, gained = beyond.lost - own.lost, own.gained - beyond.gained
        return Split(beyond.lost - 1, own.gained + -(lost - 1) * gained // lost)

    def _worst(self, ask: Callable[[PrivacyCurve], Interval], gap: float) -> Interval:
        def above(first: int, last: int, *, quick: bool = True) -> tuple[float, int, int]:
            bits = self.cover(first, last)
            return -ask(self._composed(bits, quick and bits.either > 0)).upper, first, last

        def attained(total: Split) -> float:
            return ask(self._composed(Bits(*total, 0), False)).lower

        lower = max(attained(Split(*(self._instances * bits for bits in split))) for split in self._alone)
        blocks = [above(0, self._last, quick=False)]
        for _ in range(_MOST_BLOCKS):
            bound, first, last = blocks[0]
            if first == last or -bound <= (1.0 + gap) * lower:
                break
            middle = (first + last) // 2
            heapq.heapreplace(blocks, above(first, middle))
            heapq.heappush(blocks, above(middle + 1, last))
            lower = max(lower, attained(self.total(middle)))
        return Interval.proved(lower, -blocks[0][0])


def corners(found: Iterable[Split]) -> tuple[Split, ...]:
    """Return those of splits, of which none covers another, that lie on the least concave function above them."""
    hull: list[Split] = []
    for split in sorted(found):
        while len(hull) > 1 and _below(hull[-2], hull[-1], split):
            hull.pop()
        hull.append(split)
    return tuple(hull)


def _below(first: Split, middle: Split, last: Split) -> bool:
    """Whether the middle one lies strictly below the line between the others."""
    rise = (last.gained - first.gained) * (middle.lost - first.lost)
    return (middle.gained - first.gained) * (last.lost - first.lost) < rise
