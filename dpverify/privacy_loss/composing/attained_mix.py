"""Mixes of pairs that datasets attain, found by climbing, for the lower end.

With few users, and where epsilon is less than the deviation of the loss, no single dataset in all instances is the
worst. From one the search goes on by giving one instance another dataset for as long as the divergence at an epsilon
grows. The search proves nothing: what it
finds is composed, and the lower end of that is proved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.saddle import total_loss
from dpverify.privacy_loss.windows.step import choose_step, least_step, rarest, step_for
from dpverify.privacy_loss.windows.transform import Composition
from protocols.classes.frozen import dataclass

__all__ = ["Choice", "Parts", "attained_delta", "attained_epsilon", "composed_mix", "estimated_epsilon"]

Parts = tuple[tuple[PrivacyLossDistribution, int], ...]
"""Pairs, and in how many instances each is met."""

Complex = NDArray[np.complex128]
State = dict[int, int]
"""How many instances, or lots of them, have each pair of a family."""

_WIDTH = 1e-4
_MOST_LENGTH, _MOST_BYTES = 2**16, 2**27
"""Of the transform of a mix."""
_ESTIMATE_LENGTH, _VERY_MANY = 2**14, 10**5
"""And of an estimate of one pair; from so many instances on the approximation at a saddle point does as well."""
_CELLS, _AROUND = 2**12, 10.0
"""Of the search: its grid, and how many deviations that spans on either side."""
_MOST_STARTS, _MOST_MOVES, _MOST_CLIMBS = 12, 200, 3
_WORTH = 1e-7
"""The relative growth of the divergence below which a move is not made, and of epsilon below which no climb follows."""


@dataclass(frozen=True)
class Choice:
    """Pairs that a dataset attains, one of which is met in each of so many instances; or, unless free, one in all."""

    pairs: Sequence[PrivacyLossDistribution]
    count: int
    free: bool = True


def composed_mix(parts: Parts, reference_delta: float) -> Composition:
    """Return the composition of instances of which so many meet each pair."""
    cut = rarest(reference_delta, sum(number for _, number in parts))
    listed = [(pair.trimmed(cut), number) for pair, number in parts]
    step = step_for(listed, relative_width=_WIDTH, reference_delta=reference_delta, most_length=_MOST_LENGTH)
    step = max(step, least_step(pair for pair, _ in listed))
    return Composition([(connect_the_dots(pair, step), number) for pair, number in listed], max_bytes=_MOST_BYTES)


def estimated_epsilon(pair: PrivacyLossDistribution, instances: int, delta: float) -> float:
    """Return about the epsilon of many instances of one pair."""
    pair = pair.trimmed(rarest(delta, instances))
    if instances > _VERY_MANY:
        return total_loss([(pair, instances)]).saddle_point(delta)[0]
    try:
        step = choose_step(pair, instances, relative_width=_WIDTH, reference_delta=delta, most_length=_ESTIMATE_LENGTH)
        return Composition([(connect_the_dots(pair, step), instances)]).epsilon_upper(delta)
    except CapacityError:
        return math.inf


def attained_epsilon(choices: Sequence[Choice], delta: float, near: float) -> float:
    """Return a lower bound on the largest epsilon at delta of a mix: that of what a search from `near` on finds."""
    if _tells(choices, delta):
        return 0.0
    best = 0.0
    for _ in range(_MOST_CLIMBS):
        found = composed_mix(_climbed(choices, max(near, best), delta), delta).epsilon_lower(delta)
        if found <= max(near, best) * (1.0 + _WORTH) or found == math.inf:
            return max(found, best)
        best = found
    return best


def attained_delta(choices: Sequence[Choice], epsilon: float, near: float) -> float:
    """Return a lower bound on the largest divergence at an epsilon of a mix, which is about `near`."""
    if _tells(choices, near):
        return 0.0
    return composed_mix(_climbed(choices, epsilon, near), near).delta(epsilon).lower


def _trimmed(choices: Sequence[Choice], delta: float) -> list[list[PrivacyLossDistribution]]:
    cut = rarest(delta, sum(choice.count for choice in choices))
    return [[pair.trimmed(cut) for pair in choice.pairs] for choice in choices]


def _tells(choices: Sequence[Choice], delta: float) -> bool:
    """Return whether no loss of some pair is finite but the rarest: no mix need be looked for."""
    return any(pair.losses.size == 0 for pairs in _trimmed(choices, delta) for pair in pairs)


def _climbed(choices: Sequence[Choice], epsilon: float, delta: float) -> Parts:
    """Return a mix that no move of one instance to another pair makes worse, by a float estimate."""
    values = _Divergences(choices, _trimmed(choices, delta), epsilon)
    starts = [(family, place) for family, choice in enumerate(choices) for place in range(len(choice.pairs))]
    state = max((_climb(values, *start) for start in starts[:: -(-len(starts) // _MOST_STARTS)]), key=_value)[1]
    return tuple(
        (choice.pairs[place], number * (1 if choice.free else choice.count))
        for choice, numbers in zip(choices, state, strict=True)
        for place, number in numbers.items()
    )


def _climb(values: _Divergences, first: int, place: int) -> tuple[float, list[State]]:
    """Return where moves lead to, from one pair in all instances of a family and then the worst in those of others."""
    state = values.start
    state[first] = {place: sum(state[first].values())}
    for family in range(len(state)):
        if family != first:
            state[family] = {values.best_of_all(state, family): sum(state[family].values())}
    best = 0.0
    for _ in range(_MOST_MOVES):
        found = max((values.best_move(state, family) for family in range(len(state))), key=_value)
        if not found[0] > best * (1.0 + _WORTH):
            break
        best, family, leaves, enters = found
        state[family][enters] = state[family].get(enters, 0) + 1
        state[family][leaves] -= 1
        if not state[family][leaves]:
            del state[family][leaves]
    return best, state


def _value(found: tuple[float, Any] | tuple[float, int, int, int]) -> float:
    return found[0]


class _Divergences:
    """Estimates of the divergence at an epsilon of any mix, from the logarithms of tilted Fourier transforms."""

    def __init__(
        self, choices: Sequence[Choice], pairs: Sequence[Sequence[PrivacyLossDistribution]], epsilon: float
    ) -> None:
        law = total_loss([(some[0], choice.count) for some, choice in zip(pairs, choices, strict=True)])
        tilt = law.tilt_at(epsilon)
        deviation = max(math.sqrt(law.moments(t)[2]) for t in (0.0, tilt))
        spans = [
            _AROUND * deviation,
            sum(
                choice.count * max(pair.largest_loss for pair in some)
                for some, choice in zip(pairs, choices, strict=True)
            ),
        ]
        # Where no loss but 0 is left, any.
        step = max(2.1 * min(spans) / _CELLS, least_step(pair for some in pairs for pair in some)) or 1.0
        self._logs, self._lots, exponent = list[Complex](), list[int](), 0.0
        for some, choice in zip(pairs, choices, strict=True):
            rows = np.zeros((len(some), _CELLS))
            grids = [connect_the_dots(pair, step) for pair in some]
            largest = max(grid.moments.at(tilt)[0] for grid in grids)
            for row, grid in zip(rows, grids, strict=True):
                np.add.at(row, grid.indices % _CELLS, grid.masses * np.exp(tilt * grid.losses - largest))
            size = 1 if choice.free else choice.count
            exponent += choice.count * largest
            # As one more frequency: the probability that no loss is infinite.
            finite = np.array([1.0 - pair.infinite_mass for pair in some])[:, None]
            self._logs.append(size * np.log(np.append(np.fft.rfft(rows, axis=1), finite, axis=1) + 1e-300))
            self._lots.append(choice.count if choice.free else 1)
        self._entered = [np.exp(logs).T for logs in self._logs]
        losses = step * (math.floor(epsilon / step) - _CELLS // 2 + np.arange(_CELLS, dtype=np.float64))
        places = np.rint(losses / step).astype(np.int64) % _CELLS
        payoff = np.zeros(_CELLS)
        above = np.maximum(losses - epsilon, 0.0)
        payoff[places] = -np.expm1(-above) * np.exp(-tilt * above)
        weights = np.conj(np.fft.rfft(payoff))
        weights[1:-1] *= 2.0
        infinite = any(pair.infinite_mass for some in pairs for pair in some)
        self._certain = _CELLS * math.exp(min(tilt * epsilon - exponent, 700.0)) if infinite else 0.0
        self._weights = np.append(weights, -self._certain)

    @property
    def start(self) -> list[State]:
        """The first pair of each family in all its instances."""
        return [{0: lots} for lots in self._lots]

    def _total(self, state: Sequence[State], but: int = -1) -> Complex:
        """Return the logarithm of a mix's transform, without a family's."""
        found = np.zeros(self._weights.size, dtype=np.complex128)
        for family, (numbers, logs) in enumerate(zip(state, self._logs, strict=True)):
            for place, number in numbers.items() if family != but else ():
                found += number * logs[place]
        return found

    def best_of_all(self, state: Sequence[State], family: int) -> int:
        """Return the pair that is the worst in all instances of a family, beside what is chosen of the others."""
        values = np.exp(self._total(state, family) + self._lots[family] * self._logs[family]) @ self._weights
        return int(np.argmax(values.real))

    def best_move(self, state: Sequence[State], family: int) -> tuple[float, int, int, int]:
        """Return the largest estimate that one move gives, the family, and which pair leaves and enters."""
        total, logs = self._total(state), self._logs[family]
        found = list[tuple[float, int, int, int]]()
        for leaves in state[family]:
            values = (np.exp(total - logs[leaves]) * self._weights) @ self._entered[family]
            enters = int(np.argmax(values.real))
            found.append((float(values.real[enters]) + self._certain, family, leaves, enters))
        return max(found)
