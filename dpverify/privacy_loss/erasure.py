"""The pair that is left when the input under attack is erased now and then, and the pair of a pure mechanism."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpverify.guarantee import Interval
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.mixture import MixedLosses, mixed_losses
from dpverify.privacy_loss.pairs import Directions, approximate_dp
from dpverify.rounding import UNIT
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
    upwards = mixed_losses(up.losses, up.loss_error, q, 1.0 - q)
    downwards = mixed_losses(-down.losses, down.loss_error, q, 1.0 - q)
    log_q, impossible = math.log(q), down.infinite_mass

    def error(pair: PrivacyLossDistribution, mixed: MixedLosses) -> float:
        return (pair.loss_error * mixed.slope + mixed.rounding - 4.0 * UNIT * log_q) * (1.0 + 8.0 * UNIT)

    return Directions(
        PrivacyLossDistribution.from_atoms(
            np.append(upwards.losses, log_q),
            np.append(q * up.reference_masses + (1.0 - q) * up.masses, q * impossible),
            (1.0 - q) * up.infinite_mass,
            ((1.0 - q) * up.missing_mass + q * down.missing_mass) * (1.0 + 8.0 * UNIT),
            relative_error=max(up.reference_error, down.relative_error) + 4.0 * UNIT,
            loss_error=error(up, upwards),
        ),
        PrivacyLossDistribution.from_atoms(
            np.append(-downwards.losses, -log_q),
            np.append(down.masses, impossible),
            0.0,
            down.missing_mass,
            relative_error=down.relative_error + 4.0 * UNIT,
            loss_error=error(down, downwards),
        ),
    )


def two_valued(epsilon: Interval) -> PrivacyLossDistribution:
    """Return the worst pair of a pure mechanism whose largest privacy loss is known to lie in an interval.

    Both directions are the same: loss epsilon with probability `1 / (1 + e^-epsilon)` and -epsilon else. An error of
    epsilon, in nats, is at most that relative error of either.
    """
    error = (0.5 * epsilon.width + UNIT * epsilon.upper) * (1.0 + 8.0 * UNIT)
    return replace(
        approximate_dp(epsilon.midpoint, 0.0),
        loss_error=error,
        relative_error=math.expm1(min(error, 700.0)) + 16.0 * UNIT,
    )
