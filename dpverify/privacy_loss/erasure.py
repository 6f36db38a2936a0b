"""The pair that is left when the input under attack is erased now and then, and the pair of a pure mechanism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import Interval
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.pairs import Directions, approximate_dp
from dpverify.privacy_loss.rounding import UNIT
from protocols.validation import check_probability

__all__ = ["erased", "two_valued"]


def erased(pair: Directions, probability: float) -> Directions:
    """Return the pair `q P0 + (1-q) P1` against P0, from that of P1 against P0.

    P1 is the law of the larger sum, and q is how likely the user's one is erased. The likelihood ratio X becomes
    `q + (1-q) X`, at least q: where P1 has no mass, the direction that was infinite has loss ln(1/q).

    Parameters
    ----------
    pair : Directions
        P1 against P0. Both directions must list the same outcomes, as those of `privacy_loss.pairs` do.
    probability : float
        q in [0, 1].
    """
    q = check_probability("probability", probability)
    if q == 0.0:
        return pair
    up, down = pair

    def mixed(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.log(q + (1.0 - q) * ratio))

    # ln(q + (1-q) e^L) moves by no more than L does, plus the roundings of exp, the product, the sum and the logarithm.
    up_losses, down_losses = mixed(np.exp(up.losses)), -mixed(np.exp(-down.losses))
    roundings = UNIT * (8.0 + 4.0 * max(up.largest_loss, down.largest_loss) - 2.0 * np.log(q))
    impossible = down.infinite_mass
    extra = up.loss_error + roundings
    return Directions(
        PrivacyLossDistribution.from_atoms(
            np.append(up_losses, np.log(q)),
            np.append(up.masses * (q * np.exp(-up.losses) + (1.0 - q)), q * impossible),
            (1.0 - q) * up.infinite_mass,
            ((1.0 - q) * up.missing_mass + q * down.missing_mass) * (1.0 + 8.0 * UNIT),
            relative_error=max(up.relative_error, down.relative_error) + 2.0 * extra + 8.0 * UNIT,
            loss_error=extra,
        ),
        PrivacyLossDistribution.from_atoms(
            np.append(down_losses, -np.log(q)),
            np.append(down.masses, impossible),
            0.0,
            down.missing_mass,
            relative_error=down.relative_error + 4.0 * UNIT,
            loss_error=down.loss_error + roundings,
        ),
    )


def two_valued(epsilon: Interval) -> PrivacyLossDistribution:
    """Return the worst pair of a pure mechanism whose largest privacy loss is known to lie in an interval.

    Both directions are the same: loss epsilon with probability `1 / (1 + e^-epsilon)` and -epsilon else.
    """
    error = epsilon.width + UNIT * epsilon.upper
    return replace(approximate_dp(epsilon.midpoint, 0.0), loss_error=error, relative_error=2.0 * error + 8.0 * UNIT)
