"""What a divergence of any mix is bounded by at each epsilon, once the moments and the contours are known."""

from __future__ import annotations

import math

import numpy as np

from dpverify.privacy_loss.composing.rare_losses import Floats, OneRare, Others
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass

__all__ = ["MixBound", "Term"]


@dataclass(frozen=True)
class Term:
    """Sets of `rare` instances: `H_x <= min(e^log_mass share(x), e^(log_integral - tilt x))`."""

    tilt: float
    log_integral: float
    log_mass: float
    others: Others | None = None

    def log_delta(self, epsilon: float) -> float:
        """Return an upper bound on the logarithm of their divergence."""
        reached = self.tilt * epsilon
        rounding = 8.0 * UNIT * (abs(self.log_integral) + abs(reached) + 1.0)
        share = 0.0 if self.others is None else self.others.log_share(epsilon)
        return min(self.log_mass + share, self.log_integral - reached + rounding)


@dataclass(frozen=True)
class MixBound:
    """`H_x <= max over k of (e^(log_sums_k - tilt x) + G(k)) + the terms + rest`, for no or one rare loss and more.

    G is None where such sets are among the terms.

    What is computed for k and for each term is at most 1. That takes nothing away: where one of these exponentials is
    above 1 so is the maximum, and where a term is so is the sum; what is left of either is 1 at least, which no
    divergence exceeds. Where none is above 1 nothing is cut.
    """

    tilt: float
    log_sums: Floats
    one: OneRare | None
    terms: list[Term]
    rest: float

    def common(self, epsilon: float, log_growth: float) -> Floats:
        """Return the part that depends on k, with the masses so much larger."""
        reached = self.tilt * epsilon
        rounding = 8.0 * UNIT * (np.abs(self.log_sums) + abs(reached) + 1.0)
        found = np.exp(np.minimum(self.log_sums - reached + rounding + log_growth, 0.0))
        if self.one is not None:
            found += self.one.at(epsilon) * math.exp(log_growth)
        return np.asarray(found)
