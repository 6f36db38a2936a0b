"""The exact law of how many messages one user sends.

The noise of the seeds' protocols is divisible, so what a user draws over I independent instances has the law of one
larger piece: NB(r/n, p) becomes NB(I r/n, p). Her number of messages is then a sum of few independent parts, whatever I
is, and nothing has to be convolved I times.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import Interval
from dpverify.laws.noise import binomial
from dpverify.laws.window import IntegerLaw
from dpverify.rounding import UNIT
from dpverify.search import least_integer
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_probability, check_real

__all__ = ["TAIL", "MessagesLaw", "Part", "counted_bits"]

TAIL = 1e-18
"""The mass that may be cut off at each side of a part."""
Part = tuple[int, IntegerLaw]
"""(copies, X): the part `copies * X` of the messages, as flood messages come in pairs."""


def counted_bits(instances: int, fraction_of_ones: float, drop_probability: float = 0.0) -> Part:
    """Return the messages that count bits: one for each of `instances` bits that is 1 and not dropped."""
    trials = check_integer("instances", instances, low=1)
    ones = check_probability("fraction_of_ones", fraction_of_ones)
    dropped = check_probability("drop_probability", drop_probability)
    if dropped == 0.0:
        return 1, binomial(trials, ones, TAIL)
    if ones == 1.0:
        return 1, binomial(trials, dropped, TAIL).mirrored(trials)
    # The smaller of the two chances, s, is known to four units: the larger, rounded, would lose the other's digits.
    sent, missed = ones * (1.0 - dropped), (1.0 - ones) + ones * dropped
    law = binomial(trials, min(sent, missed), TAIL)
    # d ln f(j) / d ln s = (j - I s) / (1 - s), and 1 - s is above 0.49.
    reach = max(law.stop - trials * min(sent, missed), trials * min(sent, missed) - law.start) + 1.0
    law = replace(law, relative_error=law.relative_error + 10.0 * UNIT * reach)
    return 1, law if sent <= missed else law.mirrored(trials)


@dataclass(frozen=True, eq=False)
class MessagesLaw:
    """The law of a sum of independent parts, one or more, each a number of copies of an integer at least 0.

    A shape such as I r / n that was rounded to a float is taken as that float.
    """

    parts: tuple[Part, ...]

    @property
    def mean(self) -> float:
        """The expected number, up to rounding and the tails of 1e-18 that are cut off."""
        return sum(copies * _mean(law) for copies, law in self.parts)

    @property
    def variance(self) -> float:
        """The variance, as accurate as the mean."""
        return sum(copies**2 * float(law.pmf @ (law.support - _mean(law)) ** 2) for copies, law in self.parts)

    @property
    def cut_off(self) -> float:
        """A bound on the probability that a part is outside its window."""
        return sum(law.tail_below + law.tail_above for _, law in self.parts)

    @cached_property
    def _split(self) -> tuple[int, NDArray[np.float64], int, int, NDArray[np.float64], float]:
        """Return the sum of all parts but the widest, the widest's P(X >= x), and the relative error of both."""
        *others, (copies, widest) = sorted(self.parts, key=lambda part: part[1].pmf.size)
        start, pmf = 0, np.ones(1)
        for times, law in others:
            spread = np.zeros(times * (law.pmf.size - 1) + 1)
            spread[::times] = law.pmf
            start, pmf = start + times * law.start, np.convolve(pmf, spread)
        above = np.append(np.cumsum(widest.pmf[::-1])[::-1], 0.0)
        # Every sum is of non-negative terms: an error of one unit per term and operation at most.
        roundings = 2.0 * len(self.parts) * (pmf.size + above.size + 8.0) * UNIT
        error = sum(law.relative_error for _, law in self.parts) + roundings
        return start, pmf, copies, widest.start, above, error / (1.0 - error)

    def chance_above(self, count: int) -> Interval:
        """Return the probability that more than `count` messages are sent, as a proved interval."""
        at = check_integer("count", count)
        start, pmf, copies, first, above, error = self._split
        left = at - np.arange(start, start + pmf.size)
        chance = float(pmf @ above[np.clip(left // copies + 1 - first, 0, above.size - 1)])
        return Interval(min(1.0, chance * (1.0 - error)), min(1.0, chance * (1.0 + error) + 1.01 * self.cut_off))

    def exceeded_with_chance(self, chance: float) -> int:
        """Return the least count that is proved to be exceeded with at most this probability.

        ValueError if it is not in (1e-15, 1): below, the tails that are cut off count.
        """
        check_real("chance", chance, low=1e-15, high=1.0, low_open=True, high_open=True)
        most = sum(copies * law.stop for copies, law in self.parts)
        return least_integer(lambda count: self.chance_above(count).upper <= chance, -1, most)


def _mean(law: IntegerLaw) -> float:
    return float(law.pmf @ law.support.astype(np.float64))
