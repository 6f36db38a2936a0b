"""Changes of one user's bits that two points attain: the lower end for joint changes.

N of her bits move by T / sqrt(N) each, the others not at all, N from T^2 up to their number; or as many in full as T^2
holds, and one more by what is left. In a ball they move around one half, from `(1 - t)/2` to `(1 + t)/2`: x' = -x.
Without one also from a sure bit, or to one. As in all that is accounted here the others' bits may be anything, in
every coordinate: the upper end holds for all of them, so that a user's guarantee does not rest on what others do, and
the lower end takes the bits of a worst dataset.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from dpverify.changes import L2Ball, L2Bounded
from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.composing.attained_mix import Parts, composed_mix
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import bit_probability_change
from dpverify.privacy_loss.windows.saddle import total_loss
from dpverify.privacy_loss.windows.transform import Composition

__all__ = ["AttainedChange", "Composed", "Parts", "composed"]

Composed = FamilyComposition | Composition
_Tried = tuple[float, Parts]

_WIDTH = 1e-4
_LEAST_LOSS = 1e-100
"""Smaller losses, whose squares leave the floats, are worth no composition."""
_TRIED = 4
"""How many changes of a kind are composed: those that promise most."""
_FACTORS = (1.0, 1.04, 1.08, 1.12, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
_LEAST_REST = 1e-6
"""The share of the full changes below which one more is not worth a composition."""
_SHRUNK = 1.0 - 1e-9
"""So that no rounding makes a change larger than allowed."""


class AttainedChange:
    """The privacy curves of a few changes that are attained, of which the largest counts.

    - pairs: Pairs of a bit's full change that a dataset attains in every coordinate at once.
    - change: T^2 and m.
    - reference_delta: At which delta the changes are chosen.
    """

    def __init__(
        self, pairs: Sequence[PrivacyLossDistribution], change: L2Bounded, reference_delta: float = 1e-6
    ) -> None:
        self._change, self._reference = change, reference_delta
        self._distinct = list({id(pair): pair for pair in pairs}.values())

    @functools.cached_property
    def _tried(self) -> dict[tuple[int, int, int], _Tried]:
        """Changes of one size, by kind, number and direction."""
        return {
            (kind, number, direction): self._estimated(((pair, number),))
            for number in self._numbers()
            for direction, full in enumerate(self._distinct)
            for kind, pair in enumerate(self._moved(full, number))
        }

    @functools.cached_property
    def _made(self) -> list[_Tried]:
        """What is composed."""
        # Of every kind, and of either direction of it: estimates are rough where losses are few, or tails are heavy.
        groups: dict[tuple[int, int | None], list[_Tried]] = {}
        for (kind, _, direction), entry in self._tried.items():
            for group in ((kind, None), (kind, direction)):
                groups.setdefault(group, []).append(entry)
        # Where full changes are the worst, estimates do not tell which of them is.
        fewest = self._numbers()[0]
        made = [
            self._estimated(parts)
            for full in self._distinct
            for parts in (*(((pair, fewest),) for pair in self._moved(full, fewest)), *self._with_a_rest(full))
        ]
        best = [
            entry
            for (_, direction), entries in groups.items()
            for entry in sorted(entries, key=_estimate)[-(_TRIED if direction is None else 1) :]
        ]
        return [*made, *{id(entry): entry for entry in best}.values()]

    def _estimated(self, parts: Parts) -> _Tried:
        """Return about the epsilon of parts, and them."""
        if not all(pair.losses.size for pair, _ in parts):
            return math.inf, parts
        return total_loss(parts).saddle_point(self._reference)[0], parts

    @functools.cached_property
    def _compositions(self) -> list[Composed]:
        made = {
            id(entry): composed(entry[1], self._reference)
            for entry in self._made
            if not any(0.0 < pair.largest_loss < _LEAST_LOSS for pair, _ in entry[1])
        }
        return [*made.values(), *self._climbed(made)]

    def _climbed(self, made: dict[int, Composed]) -> list[Composed]:
        """Return what one kind of move leads to, from the best that was composed on to more and to fewer of them.

        Estimates choose badly under heavy tails.
        """
        known = {key: self._epsilon(made[id(entry)]) for key, entry in self._tried.items() if id(entry) in made}
        if not known:
            return []
        kind, number, direction = max(known, key=lambda key: known[key])
        numbers = [tried for other, tried, way in self._tried if (other, way) == (kind, direction)]
        climbed = list[Composed]()
        for side in ([n for n in numbers[::-1] if n < number], [n for n in numbers if n > number]):
            best = known[kind, number, direction]
            for tried in side:
                climbed.append(composed(self._tried[kind, tried, direction][1], self._reference))
                before, best = best, self._epsilon(climbed[-1])
                if best <= before:
                    break
        return climbed

    def _epsilon(self, curve: Composed) -> float:
        with suppress(CapacityError):
            return curve.epsilon_lower(self._reference)
        return 0.0

    def _numbers(self) -> list[int]:
        """Return how many coordinates may change: from all in full up to all by the same small amount."""
        least, most = max(math.ceil(self._change.squared_change), 1), self._change.coordinates
        some = {min(math.ceil(least * factor), most) for factor in _FACTORS}
        return sorted(some | {min(least + 1, most), most})

    def _moved(self, full: PrivacyLossDistribution, number: int) -> Iterator[PrivacyLossDistribution]:
        """Yield the pairs of so many moves of one size."""
        square = self._change.squared_change
        if square >= number:
            yield full
        else:
            yield from self._by(full, math.sqrt(square / number) * _SHRUNK)

    def _with_a_rest(self, full: PrivacyLossDistribution) -> Iterator[Parts]:
        """Yield as many full moves as T^2 holds, with one of what is left."""
        whole = math.floor(self._change.squared_change)
        rest = self._change.squared_change - whole
        if whole > 0 and rest > _LEAST_REST * whole:
            for pair in self._by(full, math.sqrt(rest) * _SHRUNK):
                yield (full, whole), (pair, 1)

    def _by(self, full: PrivacyLossDistribution, size: float) -> Iterator[PrivacyLossDistribution]:
        yield bit_probability_change(full, 0.5 + 0.5 * size, 0.5 - 0.5 * size)
        if not isinstance(self._change, L2Ball):
            yield bit_probability_change(full, size, 0.0)
            yield bit_probability_change(full, 1.0, 1.0 - size)

    def _largest(self, question: Callable[[Composed], float]) -> float:
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
        return self._largest(lambda composition: composition.epsilon_lower(delta))


def _estimate(entry: _Tried) -> float:
    return entry[0]


def composed(parts: Parts, reference_delta: float) -> Composed:
    """Return the privacy curve of bitsums of which so many meet each pair."""
    if len(parts) == 1:
        ((pair, number),) = parts
        return FamilyComposition([pair], number, relative_width=_WIDTH, reference_delta=reference_delta)
    return composed_mix(parts, reference_delta)
