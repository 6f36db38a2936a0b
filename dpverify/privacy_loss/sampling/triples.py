"""Laws of noise around three places, of which a record's sample mixes two: without it, with it, and with another one.

P0 is the law of a sum without the record, P1 and P2 are its shifts by as much as one record adds, up and down. A record
that comes with probability q turns P0 into `(1-q) P0 + q P1`; where it is replaced by its opposite among a sample that
is `(1-q) P0 + q P1` against `(1-q) P0 + q P2`; in a batch of fixed size its place is another record's otherwise, and
`(1-q) P2 + q P1` stands against P2. docs/sampling.md says why these are the worst for symmetric log-concave noise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.pairs import ListedPair
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["NoiseTriple"]

_LARGEST_LOSS = 300.0
"""Of one shift, so that no mass leaves the floats."""


@dataclass(frozen=True, eq=False)
class NoiseTriple:
    """Three laws on the same outcomes, P2 the mirror image of P1.

    - base, one, other (ndarray of float64, shape (outcomes,)): The masses of P0, P1 and P2, all positive.
    - missing: Upper bound on what any of them has elsewhere.
    - relative_error: Of every mass.
    """

    base: NDArray[np.float64]
    one: NDArray[np.float64]
    other: NDArray[np.float64]
    missing: float
    relative_error: float

    @classmethod
    def of_law(cls, law: IntegerLaw, shift: int, tail: float) -> NoiseTriple:
        """Return the triple of a symmetric law that is listed 2 `shift` atoms beyond a window with such tails."""
        size, shift = law.pmf.size, check_integer("shift", shift, low=1)
        base, one, other = (law.pmf[start : size - 2 * shift + start] for start in (shift, 0, 2 * shift))
        return cls(base, one, other, 2.0 * tail, law.relative_error)

    @classmethod
    def laplace(cls, loss: float, steps: int, *, rounded: bool = False) -> NoiseTriple:
        """Return that of discrete Laplace noise with a shift by so many steps; its laws are complete.

        - loss: Of one shift, in (0, 300].
        - steps: How many steps a shift is. Continuous noise is this one and another, independent one: it is dominated.
        - rounded: Whether it is continuous noise, rounded down to steps, instead: what that has is attained.
        """
        check_real("loss", loss, low=0.0, low_open=True, high=_LARGEST_LOSS)
        check_integer("steps", steps, low=1)
        fall = -math.expm1(-loss / steps)
        if rounded:  # (1 - e^-d) e^(-d |y|) / 2 on [y, y + 1), y >= 0, and e^-loss / 2 from there on
            places, share, end = np.arange(-steps, steps) + 0.5, 0.5 * fall * math.exp(0.5 * loss / steps), 0.5
        else:  # tanh(d/2) e^(-d |y|), and e^-loss / (1 + e^-d) from there on
            places, share, end = np.arange(1.0 - steps, steps), fall / (2.0 - fall), 1.0 / (2.0 - fall)
        base, one = (share * np.exp(-loss * (np.abs(places - at) / steps)) for at in (0, steps))
        tail = math.exp(-loss)
        base = np.concatenate([[end * tail], base, [end * tail]])
        one = np.concatenate([[end * tail * tail], one, [end]])
        # Exponents of up to twice the loss err by 3 units of themselves; `fall` and all else by a few.
        return cls(base, one, one[::-1].copy(), 0.0, (8.0 * loss + 24.0) * UNIT)

    def _mixed(self, law: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
        return np.asarray((1.0 - rate) * law + rate * self.one)

    def _pair(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> PrivacyLossDistribution:
        return PrivacyLossDistribution.from_pmfs(
            first, second, missing_mass=self.missing, relative_error=self.relative_error + 4.0 * UNIT
        )

    def comes(self, rate: float, shifts: int = 1) -> ListedPair:
        """Return the pair of a record that comes with a probability: one shift up from P0, or two from P2."""
        check_real("rate", rate, low=0.0, high=1.0, low_open=True)
        low = self.base if shifts == 1 else self.other
        mixed = self._mixed(low, rate)
        up = self._pair(mixed, low)
        return ListedPair(Directions(up, up if rate == 1.0 else self._pair(low, mixed)))

    def becomes(self, rate: float) -> ListedPair:
        """Return the pair of a record that takes part with a probability and is replaced by its opposite."""
        check_real("rate", rate, low=0.0, high=1.0, low_open=True)
        both = self._pair(self._mixed(self.base, rate), (1.0 - rate) * self.base + rate * self.other)
        return ListedPair(Directions(both, both))
