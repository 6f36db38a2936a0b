"""Which true sums does a view leave? Those under which the exact law has no tail that is as far out as what was seen.

With a true sum T of N inputs, a view's count X has a law that rises with T: P_T(X >= x) does, for every x. So the sums
that an observation x does not contradict, at a level for each side, are an interval: from the first T with
P_T(X >= x) above the level to the last with P_T(X <= x) above it. Tails are bounded from above, with rounding and what
windows cut off; the ends are looked for on a lattice, and a sum that is not tried counts as not contradicted.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import scipy

from dpverify.claims.registry import mechanism_claims_of
from dpverify.laws.messages import TAIL, MessagesLaw
from dpverify.laws.noise import binomial, negative_binomial
from dpverify.laws.window import IntegerLaw, point_mass
from dpverify.search import largest_integer
from protocols.bitsum import LocalRandomizedResponse, Pure, RandomizedResponse, ThreeNB
from protocols.bitsum.negative_binomial import Estimate, SingleNoise
from protocols.classes.frozen import dataclass
from protocols.local.labels import LabelRandomizedResponse
from protocols.sums import SplitAndMix, SumProtocol

__all__ = ["SumLaw", "Tails", "between", "sum_law", "tails_of"]

_ROUNDED = 2.0**-50
"""What probabilities that some floating point operations compute are off by, relatively, at most."""
_FINE = 50
"""Into so many steps a standard deviation is cut by the lattice."""
Parts = Sequence[IntegerLaw]


@dataclass(frozen=True)
class SumLaw:
    """The laws of a count X of a view, one for each true sum T in [0, inputs].

    Parameters
    ----------
    inputs : int
        N, how many inputs are summed.
    base, slope : float
        The mean of X is base + slope T.
    moving : callable
        Takes T, and returns the independent parts of X whose law depends on it.
    noise : tuple of (parts, parts)
        The other parts, as laws that are proved to be no smaller, and no larger, than the true ones.
    lower : callable, optional
        As `moving`, if that is proved to be no smaller only, a law that is proved to be no larger.
    """

    inputs: int
    base: float
    slope: float
    moving: Callable[[int], Parts]
    noise: tuple[Parts, Parts] = ((), ())
    lower: Callable[[int], Parts] | None = None

    def estimate(self, count: int) -> float:
        """Return the unbiased estimate of T."""
        return (count - self.base) / self.slope

    @property
    def deviation(self) -> float:
        """About the standard deviation of the estimate, at its largest."""
        variance = max(_positive([*self.moving(t), *self.noise[0]]).variance for t in (0, self.inputs))
        return math.sqrt(variance) / self.slope


def sum_law(protocol: Any, inputs: int) -> SumLaw:
    """Return the laws of a protocol's count when so many inputs are randomized, each as by one of its users.

    The inputs of several instances are those of one with as many users more: all noise is divided among inputs.

    Parameters
    ----------
    protocol : object
        rr, local-rr, nb, poisson, 3nb, pure or labels. X is the number of ones that are reported, or of messages, or
        how many more messages are +1 than -1; where the estimate is "under", how many messages fewer than inputs there
        are; of labels how many reports are of one of them, which T users hold. Or a sum of numbers, of which T is what
        they send, in steps.
    inputs : int
        At least 1.

    Raises
    ------
    TypeError
        For another protocol.
    """
    if isinstance(protocol, (RandomizedResponse, LocalRandomizedResponse)):
        p = protocol.flip_probability
        return SumLaw(
            inputs,
            inputs * p,
            1.0 - 2.0 * p,
            lambda t: [binomial(t, p, TAIL).mirrored(t), binomial(inputs - t, p, TAIL)],
        )
    if isinstance(protocol, LabelRandomizedResponse):
        other, others = protocol.other_probability, protocol.classes - 1

        def reports(t: int, side: float) -> Parts:
            missed = min(1.0, others * other * (1.0 - side))
            return [binomial(t, missed, TAIL).mirrored(t), binomial(inputs - t, other * (1.0 + side), TAIL)]

        return SumLaw(
            inputs,
            inputs * other,
            protocol.contrast,
            lambda t: reports(t, _ROUNDED),
            lower=lambda t: reports(t, -_ROUNDED),
        )
    claims = mechanism_claims_of(protocol)
    if isinstance(protocol, SumProtocol):
        return _of_numbers(protocol, claims, inputs)
    if not isinstance(protocol, (SingleNoise, ThreeNB, Pure)):
        raise TypeError(f"protocol={protocol!r} must be of bits (rr, local-rr, nb, poisson, 3nb or pure) or labels.")
    # A share of the noise is rounded up where that makes X larger, and down where it makes it smaller.
    less, more = (claims.with_users(protocol, inputs, more_private=side) for side in (False, True))
    if isinstance(protocol, SingleNoise):
        laws: Any = claims
        smaller, larger = (laws.noise_law(end, 1.0, TAIL) for end in (less, more))
        if protocol.estimate is Estimate.UNDER:
            noise, mean = ([smaller.mirrored()], [larger.mirrored()]), -more.noise_mean
        else:
            noise, mean = ([larger], [smaller]), more.noise_mean
        return SumLaw(inputs, mean, 1.0, lambda t: [point_mass(t)], noise)
    up, down = ([_noise(a), _noise(b).mirrored()] for a, b in ((more, less), (less, more)))
    q = getattr(protocol, "drop_probability", 0.0)
    return SumLaw(inputs, 0.0, 1.0 - q, lambda t: [binomial(t, q, TAIL).mirrored(t)], (up, down))


def _of_numbers(protocol: SumProtocol, claims: Any, inputs: int) -> SumLaw:
    both = isinstance(protocol, SplitAndMix)
    held = replace(protocol, modulus=2**53) if isinstance(protocol, SplitAndMix) else protocol  # for more users, too
    less, more = (claims.with_users(held, inputs, more_private=side) for side in (False, True))
    smaller, larger = (claims.noise_law(end, 1.0, TAIL) for end in (less, more))
    # Of noise of either sign, unimodal and symmetric, more has larger tails at both sides.
    noise = [larger], [larger if both else smaller]
    mean = 0.0 if both else more.noise_mean
    return SumLaw(inputs * protocol.levels, mean, 1.0, lambda t: [point_mass(t)], noise)


def _noise(protocol: Any) -> IntegerLaw:
    return negative_binomial(protocol.shape, protocol.p, TAIL)


def _positive(parts: Sequence[IntegerLaw]) -> MessagesLaw:
    """Return the law of the sum of parts, each less the start of its window."""
    return MessagesLaw(tuple((1, dataclasses.replace(part, start=0)) for part in parts))


def _above(parts: Sequence[IntegerLaw], level: float) -> int:
    """Return an integer which the sum of parts exceeds with at most this probability, as is proved."""
    return _positive(parts).exceeded_with_chance(level) + sum(part.start for part in parts)


def between(larger: Parts, smaller: Parts, level: float) -> tuple[int, int]:
    """Return between which integers a sum of parts is, but for a probability of at most `level` at each side.

    Of the parts one law is proved to be no smaller, and one to be no larger.
    """
    return -_above([part.mirrored() for part in smaller], level), _above(larger, level)


class _LevelError(ValueError):
    """What a level is that leaves no tails, or too small ones."""

    def __init__(self, level: float) -> None:
        super().__init__(f"level={level!r} must be a probability in (1e-15, 0.5].")
        self.level = level


@contextmanager
def tails_of(argument: str) -> Iterator[None]:
    """Say which argument, `name=value`, leaves tails that are too small."""
    try:
        yield
    except _LevelError as error:
        left = f"a probability in (1e-15, 0.5] to each side, not {error.level:.3g}."
        raise ValueError(f"{argument} must leave {left}") from None


class Tails:
    """Between which counts X is, but for a probability of at most `level` at each side.

    Parameters
    ----------
    law : SumLaw
        Of X.
    level : float
        In (1e-15, 1/2].
    """

    def __init__(self, law: SumLaw, level: float) -> None:
        if not 1e-15 < level <= 0.5:
            raise _LevelError(level)
        self.law, self.level = law, level
        moves = not all(part.pmf.size == 1 for t in (0, law.inputs) for part in law.moving(t))
        self._step = max(1, int(law.deviation / _FINE)) if moves else 1
        self._lattice = range(0, law.inputs + self._step, self._step)
        self._moves, self._known = moves, dict[int, tuple[int, int]]()

    def between(self, t: int) -> tuple[int, int]:
        """Return a and b with P_t(X < a) and P_t(X > b) at most the level."""
        tried, shift = (t, 0) if self._moves else (0, t)  # where only X's place depends on T, one law is enough
        if tried not in self._known:
            moving = [moving(tried) for moving in (self.law.moving, self.law.lower or self.law.moving)]
            larger, smaller = ([*parts, *noise] for parts, noise in zip(moving, self.law.noise, strict=True))
            self._known[tried] = between(larger, smaller, self.level)
        low, high = self._known[tried]
        return low + shift, high + shift

    @property
    def possible(self) -> tuple[int, int]:
        """Between which counts X is whatever T is, but for the level at each side."""
        return self.between(0)[0], self.between(self.law.inputs)[1]

    def interval(self, count: int) -> tuple[int, int]:
        """Return the least and the largest T that a count does not contradict; the first is larger if all are.

        Of any law with T the interval has T, but for the level at each side.
        """
        lattice, reach = self._lattice, float(scipy.stats.norm.isf(self.level)) * self.law.deviation
        centre = self.law.estimate(count)

        def tried(index: int) -> tuple[int, int]:
            return self.between(min(lattice[index], self.law.inputs))

        guesses = (int((centre - reach) / self._step), int((centre + reach) / self._step))
        last = len(lattice)
        below = largest_integer(lambda i: tried(i)[1] < count, guesses[0], -1, last)
        within = largest_integer(lambda i: tried(i)[0] <= count, guesses[1], -1, last)
        low = min(lattice[below], self.law.inputs) + 1 if below >= 0 else 0
        high = min(lattice[within + 1], self.law.inputs) - 1 if within + 1 < last else self.law.inputs
        return low, high
