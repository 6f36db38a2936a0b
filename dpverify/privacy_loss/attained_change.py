"""Changes of one user's bits that two points attain: the lower end for joint changes.

N of her bits move by T / sqrt(N) each, the others not at all, N from T^2 up to their number. In a ball they move around
one half, from `(1 - t)/2` to `(1 + t)/2`: x' = -x. Without one they move from a sure bit, or to one. As in all that is
accounted here the others' bits may be anything, in every coordinate: the upper end holds for all of them, so that a
user's guarantee does not rest on what others do, and the lower end takes the bits of a worst dataset.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from dpverify.changes import L2Ball, L2Bounded
from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.concentration import total_loss
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.family import FamilyComposition
from dpverify.privacy_loss.mixture import bit_probability_change

__all__ = ["AttainedChange"]

_WIDTH = 1e-4
_LEAST_LOSS = 1e-100
"""Smaller losses, whose squares leave the floats, are worth no composition."""
_TRIED = 4
"""How many changes are composed: those that promise most."""
_FACTORS = (1.0, 1.04, 1.08, 1.12, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
_SHRUNK = 1.0 - 1e-9
"""So that no rounding makes a change larger than allowed."""


class AttainedChange:
    """The privacy curves of a few changes that are attained, of which the largest counts.

    Parameters
    ----------
    pairs : sequence of PrivacyLossDistribution
        Pairs of a bit's full change that a dataset attains in every coordinate at once.
    change : L2Bounded
        T^2 and m.
    reference_delta : float
        At which delta the changes are chosen.
    """

    def __init__(
        self, pairs: Sequence[PrivacyLossDistribution], change: L2Bounded, reference_delta: float = 1e-6
    ) -> None:
        self._change, self._reference = change, reference_delta
        distinct = list({id(pair): pair for pair in pairs}.values())
        numbers = self._numbers()
        made = [
            max(candidates, key=lambda entry: entry[0])
            for number in numbers
            if (
                candidates := [self._estimated(pair, number) for full in distinct for pair in self._moved(full, number)]
            )
        ]
        # Where full changes are the worst, estimates do not tell which of them is.
        self._made = [self._estimated(pair, numbers[0]) for full in distinct for pair in self._moved(full, numbers[0])]
        self._made += sorted(made[1:], key=lambda entry: -entry[0])[:_TRIED]

    def _estimated(self, pair: PrivacyLossDistribution, number: int) -> tuple[float, PrivacyLossDistribution, int]:
        """Return a pair, how often it is used, and before them about the epsilon of that."""
        if not pair.losses.size:
            return math.inf, pair, number
        return total_loss([(pair, number)]).saddle_point(self._reference)[0], pair, number

    @functools.cached_property
    def _compositions(self) -> list[FamilyComposition]:
        return [
            FamilyComposition([pair], number, relative_width=_WIDTH, reference_delta=self._reference)
            for _, pair, number in self._made
            if not 0.0 < pair.largest_loss < _LEAST_LOSS
        ]

    def _numbers(self) -> list[int]:
        """Return how many coordinates may change: from all in full up to all by the same small amount."""
        least, most = max(math.ceil(self._change.squared_change), 1), self._change.coordinates
        some = {min(math.ceil(least * factor), most) for factor in _FACTORS}
        return sorted(some | {min(least + 1, most), most})

    def _moved(self, full: PrivacyLossDistribution, number: int) -> Iterator[PrivacyLossDistribution]:
        square = self._change.squared_change
        if square >= number:
            yield full
            return
        size = math.sqrt(square / number) * _SHRUNK
        if isinstance(self._change, L2Ball):
            yield bit_probability_change(full, 0.5 + 0.5 * size, 0.5 - 0.5 * size)
        else:
            yield bit_probability_change(full, size, 0.0)
            yield bit_probability_change(full, 1.0, 1.0 - size)

    def _largest(self, question: Callable[[FamilyComposition], float]) -> float:
        found = 0.0
        for composition in self._compositions:
            # One that takes a larger grid than fits is one fewer.
            with suppress(CapacityError):
                found = max(found, question(composition))
        return found

    def delta_lower(self, epsilon: float) -> float:
        """Return a lower bound on the largest hockey-stick divergence at a real epsilon."""
        return self._largest(lambda composition: composition.delta(epsilon).lower)

    def epsilon_lower(self, delta: float) -> float:
        """Return a lower bound on the least epsilon >= 0 at which that divergence is at most delta."""
        return self._largest(lambda composition: composition.epsilon(delta).lower)
