"""Which divisible noise, and how much of a flood, meets a budget: what 3NB and Pure share.

At a fixed variance, which shape of the noise is the most private depends on the budget: r = 1 for few instances, large
shapes, near to the difference of two Poisson variables (harrison2025), for many. It is searched for; what a search
returns was accounted, so that nothing about the order of shapes need be proved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from dpverify.claims.shared.bitsum_pairs import LARGEST_LOSS, ComposedEpsilon, normal_deviation, out_of_reach
from dpverify.guarantee import CapacityError, InfeasibleBudgetError
from dpverify.privacy_loss.floods.cells import Enclosure
from dpverify.privacy_loss.floods.two_counts import EFFORT, negative_binomial_counts
from dpverify.privacy_loss.losses.pairs import MOST_COUNTS, discrete_laplace, three_nb
from dpverify.search import bisected, galloped, smallest_at_level
from protocols.bitsum.three_nb import ThreeNB
from protocols.classes.frozen import dataclass

__all__ = ["DEFAULT_MARGIN", "NEAR_LIMIT", "Search", "counts", "least_spreads", "near_limits", "noise_mean", "noise_p"]

DEFAULT_MARGIN = 0.01
"""By default, communication is the least at which the error is above its infimum by this share of it."""
NEAR_LIMIT = 1.0 + DEFAULT_MARGIN
_FLOOD_SHAPES = (3.0, 4.0, 6.0, 9.0, 14.0, 22.0, 36.0, 60.0, 100.0)
"""The smaller delta is, the larger: small shapes then have windows that are too long to list."""
_FIRST_FLOOD, _FIRST_FLOOD_FOR_GEOMETRIC = 4.0, 14.0
"""Where the search for the flood's shape begins: for wide shapes of the noise, and for r = 1."""
_LIKELY_FLOOD, _FLOOD_FOR_GEOMETRIC = (17.0, 1.7), (1500.0, 0.9)
"""About how many spreads a flood needs, and with which power of it falls what it adds to epsilon; and for r = 1."""
_SPREAD_SLOPE, _FIRST_GAIN, _GAIN_SLOPE = 1.05, 0.23, 1.8
"""About with which power of the spread epsilon falls; what doubling the shape r gains: `0.23 r^-1.8`, relatively."""
_TAIL, _SMALLEST_TAIL = 1e-9, 1e-260
"""The share of delta, over the instances, at which a search cuts noise; and the least tail."""
_LEAST_FLOOD, _MOST_FLOOD = 0.05, 1e6
_MOST_SPREAD = 1e5
_MOST_SHAPE = 2.0**20
_ROOM = 1.003
"""The share of the error that the flood must be left to cost."""
_AMPLE, _AMPLE_FOR_ONE = 300.0, 2e4
"""A flood of so many spreads, or of so many over the instances, costs about 0.1 % of the error: none larger is sent.

A spread counts as 1 at least. At many instances the variance of its losses counts, and at few the largest.
"""
_LAST_HOPE = 8.0
"""If no spread up to here does for this shape, nor for smaller ones, none will: larger shapes gain a percent."""
_GAIN = 2e-3
"""What the next shape must gain, relatively, for larger ones to be tried."""
_SEARCH_EFFORT, _DIFFERENCE_EFFORT, _MOST_FOR_DIFFERENCE = 1e9, 3e7, 2e10
"""Products for one of the pairs that a search tries, of counts and of their difference; and the most for the latter.

Noise whose difference takes more is too wide to be seen with a flood: it would be tried for nothing.
"""


def counts(protocol: ThreeNB, tail: float, effort: float = EFFORT, max_atoms: int = MOST_COUNTS) -> Enclosure:
    """Return the pair of both counts, x = 1 against x = 0: exact for r = 1, and enclosed for other shapes.

    - tail: About what may be left out.
    - effort: How many products may be made for the enclosure; see `two_counts`.
    - max_atoms: How many atoms of the flood may be listed.

    Raises CapacityError if the noise is too wide.
    """
    if protocol.shape == 1.0:
        exact = three_nb(protocol.p, protocol.flood_shape, protocol.flood_p, tail, max_atoms=max_atoms)
        return Enclosure(exact, exact)
    flood = (protocol.flood_shape, protocol.flood_p)
    return negative_binomial_counts(protocol.shape, protocol.p, flood, tail, effort=effort, max_atoms=max_atoms)


def least_spreads(composed_epsilon: ComposedEpsilon, target: float) -> dict[float, float]:
    """Return the least spread (see `noise_p`) that the difference of the counts allows, for shapes 1, 2, 4, ... .

    That is what an unlimited flood would leave to see. Larger shapes are tried as long as they gain.

    Raises InfeasibleBudgetError if it is beyond 1e5.
    """
    if out_of_reach(composed_epsilon, target, math.sqrt(2.0) * _MOST_SPREAD):
        raise _unmet(target)

    found: dict[float, float] = {}
    shape, start = 1.0, normal_deviation(composed_epsilon, target) / math.sqrt(2.0)
    while shape <= _MOST_SHAPE:
        tolerance, slope = (1e-4, None) if shape == 1.0 else (5e-4, _SPREAD_SLOPE)
        level = functools.partial(_epsilon_of_difference, composed_epsilon, shape)
        try:
            spread = smallest_at_level(level, target, start, _MOST_SPREAD, tolerance, slope=slope)
        except CapacityError:
            spread = None
        if spread is not None:
            found[shape] = spread
        before = found.get(shape / 2.0)
        least = math.inf if before is None else (1.0 - _GAIN) * _error(before, shape / 2.0)
        if found and (spread is None or _error(spread, shape) > least):
            return found
        if not found and shape >= _LAST_HOPE:
            break
        if spread is not None:
            start = spread * (1.0 - _FIRST_GAIN * shape**-_GAIN_SLOPE)
        shape *= 2.0
    if not found:
        raise _unmet(target)
    return found


def _epsilon_of_difference(composed_epsilon: ComposedEpsilon, shape: float, spread: float) -> float:
    """Return what the difference of the counts reveals."""
    if shape == 1.0:
        return composed_epsilon([discrete_laplace(1.0 / spread).up])
    # Z1 - Z2 is symmetric, and so both directions are one pair.
    tail = _search_tail(composed_epsilon)
    made = negative_binomial_counts(
        shape, noise_p(spread, shape), None, tail, effort=_DIFFERENCE_EFFORT, most_effort=_MOST_FOR_DIFFERENCE
    )
    return composed_epsilon([made.upper.up])


def _unmet(target: float) -> InfeasibleBudgetError:
    return InfeasibleBudgetError(
        f"epsilon={target!r} cannot be met by 3NB, even with an unlimited flood, at an error below "
        f"{math.sqrt(2.0) * _MOST_SPREAD:.3g} users."
    )


def near_limits(limits: Mapping[float, float], near: float = NEAR_LIMIT, *, wide: bool = False) -> dict[float, float]:
    """Return for each shape the spread of one error: so many times that of the shape that errs least.

    With `wide`, that of so many times its spread. For noise that is next to nothing, which has one shape, that is more.
    """
    best = min(limits, key=lambda shape: _error(limits[shape], shape))
    allowed = _error(limits[best] * near, best) if wide else near * _error(limits[best], best)
    return {shape: _spread(allowed, shape) for shape in limits}


@dataclass(frozen=True)
class Search:
    """The search for parameters that meet a target.

    - limits: Shapes of the noise, and the least spread that an unlimited flood allows.
    """

    users: int
    composed_epsilon: ComposedEpsilon
    target: float
    limits: Mapping[float, float]

    def least_flood(self, near: float = NEAR_LIMIT, *, wide: bool = False) -> ThreeNB:
        """Return the protocol of the fewest messages found at an error of `near_limits`.

        Where that takes long the shapes are chosen by guesses, and then the flood.
        """
        best: _Found | None = None
        if (guess := self.composed_epsilon.guessed) != self.composed_epsilon:
            with suppress(InfeasibleBudgetError, CapacityError):
                shape = min(self.limits, key=lambda shape: _error(self.limits[shape], shape))
                found = _epsilon_of_difference(guess, shape, self.limits[shape])
                # The bound there is about the target.
                guess = guess.scaled(self.target / found) if found > 0.0 else guess
                likely = replace(self, composed_epsilon=guess)._shapes(near, wide=wide)
                best = self._fewest(*likely[:3], None, start=likely.flood)
        return self._protocol(best or self._shapes(near, wide=wide))

    def _shapes(self, near: float, *, wide: bool) -> _Found:
        best: _Found | None = None
        refusal: CapacityError | None = None
        for shape, spread in near_limits(self.limits, near, wide=wide).items():
            # Noise that is private enough by itself, and leaves something for the flood to spend.
            if self.limits[shape] * _ROOM <= spread:
                found = None
                for flood_shape in (_first_flood(shape), _FLOOD_SHAPES[-1]):
                    try:
                        found = self._fewest(shape, spread, flood_shape, best)
                        break
                    except CapacityError as error:
                        refusal = refusal or error
                if best is not None and found is None:
                    break
                best = found or best
        if best is not None:
            best = _walked(best, lambda at, best: self._fewest(best.shape, best.spread, at, best))
        if best is None and refusal is not None:
            raise refusal
        if best is None:
            raise InfeasibleBudgetError(
                f"epsilon={self.target!r} cannot be met by 3NB within {100.0 * (near - 1.0):.3g} % of the least error "
                f"at a flood below {_MOST_FLOOD:g} messages; pass max_messages_per_user to trade error for messages."
            )
        return best

    def _fewest(
        self, shape: float, spread: float, flood_shape: float, best: _Found | None, *, start: float = 0.0
    ) -> _Found | None:
        """Return the smallest flood that meets the target, if all together sends 2 % less than the best so far."""
        # What the flood adds to the noise's own epsilon is nearly a power of its mean.
        floor = self.target * self.limits[shape] / spread

        def excess(mean: float) -> float:
            epsilon = self._epsilon(self._protocol(_Found(shape, spread, flood_shape, mean)))
            return (epsilon - floor) / (self.target - floor)

        likely, slope = _FLOOD_FOR_GEOMETRIC if shape == 1.0 else _LIKELY_FLOOD
        start, ceiling = start or max(likely * spread, _LEAST_FLOOD), _MOST_FLOOD
        if best is not None:
            start = ceiling = 0.98 * best.pairs - noise_mean(spread, shape)
        mean = smallest_at_level(excess, 1.0, start, ceiling, 2e-2, slope=slope) if ceiling > 0.0 else None
        return None if mean is None else _Found(shape, spread, flood_shape, mean)

    def least_error_at(self, messages: float) -> ThreeNB:
        """Return the protocol of least error that sends at most so many messages per user."""
        best: _Found | None = None
        for shape in self.limits:
            found = self._closest(shape, _first_flood(shape), messages, best)
            if best is not None and found is None:
                break
            best = found or best
        if best is None:
            tried = ((shape, flood_shape) for shape in self.limits for flood_shape in _FLOOD_SHAPES)
            best = next((found for each in tried if (found := self._closest(*each, messages, None))), None)
        if best is not None:
            best = _walked(best, lambda at, best: self._closest(best.shape, at, messages, best))
        if best is None:
            raise InfeasibleBudgetError(
                f"max_messages_per_user={messages!r} is too few for 3NB with users={self.users} at "
                f"epsilon={self.target!r}."
            )
        return self._protocol(best)

    def _closest(self, shape: float, flood_shape: float, messages: float, best: _Found | None) -> _Found | None:
        """Return the least spread that meets the target with so many messages, if it is less than the best so far."""
        # What the bound leaves for noise and flood, in pairs of messages over all users.
        room = self.users * (messages - 1.0) / 2.0 * (1.0 - 1e-9)

        ample = max(_AMPLE, _AMPLE_FOR_ONE / self.composed_epsilon.mechanisms)

        def at(spread: float) -> _Found:
            return _Found(shape, spread, flood_shape, min(room - noise_mean(spread, shape), ample * max(spread, 1.0)))

        def meets(spread: float) -> bool:
            made = at(spread)
            return made.flood > 0.0 and self._epsilon(self._protocol(made), decide=True) <= self.target

        # More noise on the sum leaves less for the flood: the target is met on an interval of spreads, if at all.
        low = self.limits[shape]
        ceiling = room if best is None else _spread(_error(best.spread, best.shape), shape)
        bracket = galloped(meets, low, low * 1.01, grow=lambda spread: spread * 1.1, ceiling=ceiling)
        return None if bracket is None else at(bisected(meets, *bracket, relative=2e-3, geometric=True)[1])

    def _protocol(self, found: _Found) -> ThreeNB:
        p, mean, shape = noise_p(found.spread, found.shape), found.flood, found.flood_shape
        return ThreeNB(self.users, p, shape, mean / (mean + shape), found.shape)

    def _epsilon(self, protocol: ThreeNB, *, decide: bool = False) -> float:
        # What is cut counts as infinite loss: nothing beside the budget's delta, and shorter windows are quicker.
        tail = _search_tail(self.composed_epsilon)
        try:
            pair = counts(protocol, tail, _SEARCH_EFFORT)
        except CapacityError:
            if protocol.shape == 1.0:
                raise
            return math.inf
        return self.composed_epsilon(pair.upper, decide=decide)


class _Found(NamedTuple):
    """Parameters, and how many pairs of messages they send over all users."""

    shape: float
    spread: float
    flood_shape: float
    flood: float

    @property
    def pairs(self) -> float:
        return self.flood + noise_mean(self.spread, self.shape)


def _first_flood(shape: float) -> float:
    """Return the shape of the flood that is tried first for noise of a shape."""
    return _FIRST_FLOOD if shape != 1.0 else _FIRST_FLOOD_FOR_GEOMETRIC


def _walked(best: _Found, find: Callable[[float, _Found], _Found | None]) -> _Found:
    """Return what is found on the way to smaller or larger shapes of the flood, as long as each is better."""
    start = _FLOOD_SHAPES.index(best.flood_shape)
    for shapes in (_FLOOD_SHAPES[:start][::-1], _FLOOD_SHAPES[start + 1 :]):
        for shape in shapes:
            try:
                found = find(shape, best)
            except CapacityError:
                found = None
            if found is None:
                break
            best = found
        if best.flood_shape != _FLOOD_SHAPES[start]:
            break
    return best


def _search_tail(composed_epsilon: ComposedEpsilon) -> float:
    return max(_SMALLEST_TAIL, _TAIL * composed_epsilon.delta / composed_epsilon.mechanisms)


def _error(spread: float, shape: float) -> float:
    """Return the error over sqrt(2) of noise of a spread."""
    return spread if shape != 1.0 else 0.5 / math.sinh(0.5 * min(1.0 / spread, LARGEST_LOSS))


def _spread(error: float, shape: float) -> float:
    """Return the spread of noise of an error over sqrt(2)."""
    return error if shape != 1.0 else 0.5 / math.asinh(0.5 / error)


def noise_p(spread: float, shape: float) -> float:
    """Return the p of noise of a spread, which is its error over sqrt(2): `r p / (1-p)^2 = spread^2`.

    But `e^(-1/spread)` for r = 1, whose largest loss is 1/spread: nearly the same for wide noise.
    """
    if shape == 1.0:
        return math.exp(-min(1.0 / spread, LARGEST_LOSS))
    root = math.sqrt(shape) + math.sqrt(shape + 4.0 * spread * spread)
    return max((2.0 * spread / root) ** 2, math.exp(-LARGEST_LOSS))


def noise_mean(spread: float, shape: float) -> float:
    """Return the mean of Z1 and of Z2 at `noise_p`, `r p / (1-p)`."""
    if shape == 1.0:
        return 1.0 / math.expm1(min(1.0 / spread, LARGEST_LOSS))
    return 2.0 * spread * spread * math.sqrt(shape) / (math.sqrt(shape) + math.sqrt(shape + 4.0 * spread * spread))
