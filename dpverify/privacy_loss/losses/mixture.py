"""Pairs of mixtures: what a change of a bit's *probability* reveals, from the pair that a change of the bit gives.

A bit that is 1 with probability a has the view `P_a = (1-a) P_0 + a P_1`. If a pair (A, B) dominates (P_1, P_0), at all
real epsilon, then P_1 and P_0 are the images of A and B under one channel (blackwell1953); so are the mixtures, and the
pair of A's and B's mixtures dominates that of the views. An input that is erased now and then is one such mixture.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.rounding import SUBNORMAL, UNIT, summation_error
from protocols.validation import check_probability

__all__ = ["MixedLosses", "bit_probability_change", "erased", "mixed_losses"]

_LARGEST_EXPONENT = 700.0


class MixedLosses(NamedTuple):
    """The losses of a mixture of both laws against P_0, what they move by at most, and the errors of their evaluation.

    - losses (ndarray of float64, shape (atoms,)): `ln(zero + one e^L)` for each L.
    - slope: Bound on the change of any of them when L changes by at most `loss_error`, in units of that change.
    - rounding: Bound on the rounding error of every one of them, in nats.
    """

    losses: NDArray[np.float64]
    slope: float
    rounding: float


def mixed_losses(pair: NDArray[np.float64], loss_error: float, zero: float, one: float) -> MixedLosses:
    """Return the losses of `zero P_0 + one P_1` against P_0, from those of P_1 against P_0.

    The weights add up to 1, with a rounding each. Far below 0 the result is the logarithm of a sum of positive terms,
    and from -ln 2 upwards that of 1 plus a product of relative error 4u: either errs by at most 12u of itself. Above
    e^700, where e^L would overflow, L dominates, with three units of |L| and |ln one|.
    """
    if one == 0.0 or zero == 0.0:
        return MixedLosses(pair * one, one, 0.0)
    log_one, largest = math.log(one), float(pair.max(initial=0.0))
    moderate = np.minimum(pair, _LARGEST_EXPONENT)
    gained = one * np.expm1(moderate)
    mixed = np.where(gained > -0.5, np.log1p(np.maximum(gained, -0.5)), np.log(zero + one * np.exp(moderate)))
    rounding = 0.0
    if largest > _LARGEST_EXPONENT:
        beyond = pair + log_one + np.log1p(np.exp(math.log(zero) - log_one - np.maximum(pair, _LARGEST_EXPONENT)))
        mixed, rounding = np.where(pair > _LARGEST_EXPONENT, beyond, mixed), 8.0 * UNIT * (largest - log_one)
    # The derivative, one e^L / (zero + one e^L), grows by a factor of e^loss_error at most, and is at most 1.
    slope = float(np.exp(pair + log_one - mixed + min(loss_error, 700.0) + 1e-12).max(initial=0.0))
    return MixedLosses(mixed, min(slope, 1.0), rounding + 12.0 * UNIT * float(np.abs(mixed).max(initial=0.0)))


def bit_probability_change(pair: PrivacyLossDistribution, first: float, second: float) -> PrivacyLossDistribution:
    """Return the distribution of (P_first, P_second) from that of (P_1, P_0).

    - pair: Of (P_1, P_0), or of a pair that dominates it.
    - first, second: The probabilities that the bit is 1, in [0, 1].

    The loss of an outcome depends on its loss L under the pair alone, as `ln(1-a + a e^L) - ln(1-b + b e^L)`, whose
    derivative is a difference of two numbers in [0, 1]: an error of L does not grow. P_0's mass outside the listed
    outcomes is one minus its mass on them, known to about 1e-13; it counts as missing.
    """
    a, b = check_probability("first", first), check_probability("second", second)
    other = pair.reference_masses
    against = [mixed_losses(pair.losses, pair.loss_error, 1.0 - w, w) for w in (a, b)]
    listed = float(other.sum()) * (1.0 - pair.reference_error - summation_error(other.size))
    unlisted = max(0.0, 1.0 - listed) * (1.0 + 4.0 * UNIT)
    losses, weights = against[0].losses - against[1].losses, a * pair.masses + (1.0 - a) * other
    loss_error = pair.loss_error * min(1.0, max(part.slope for part in against))
    loss_error += sum(part.rounding for part in against) + 2.0 * UNIT * float(np.abs(losses).max(initial=0.0))
    # Where P_0 has no mass, the loss is ln(a / b).
    infinite = a * pair.infinite_mass
    if b > 0.0 and infinite > 0.0:
        losses, weights = np.append(losses, math.log(a) - math.log(b)), np.append(weights, infinite)
        loss_error, infinite = loss_error + 4.0 * UNIT * (abs(math.log(a)) + abs(math.log(b))), 0.0
    return PrivacyLossDistribution.from_atoms(
        losses,
        weights,
        infinite,
        (a * pair.missing_mass + (1.0 - a) * unlisted) * (1.0 + 4.0 * UNIT) + (SUBNORMAL if a < 1.0 else 0.0),
        relative_error=pair.reference_error + 4.0 * UNIT,
        loss_error=loss_error * (1.0 + 8.0 * UNIT),
    )


def erased(pair: Directions, probability: float, kept: float | None = None) -> Directions:
    """Return the pair `q P0 + (1-q) P1` against P0, from that of P1 against P0.

    P1 is the law of the larger sum, and q is how likely the user's one is erased. The likelihood ratio X becomes
    `q + (1-q) X`, at least q: where P1 has no mass, the direction that was infinite has loss ln(1/q).

    - pair: P1 against P0. The directions may list different outcomes.
    - probability: q in [0, 1].
    - kept: 1 - q, within one rounding of itself, where it is small.
    """
    q = check_probability("probability", probability)
    if q == 0.0:
        return pair
    up, down = pair
    kept = 1.0 - q if kept is None else check_probability("kept", kept)
    upwards = mixed_losses(up.losses, up.loss_error, q, kept)
    downwards = mixed_losses(-down.losses, down.loss_error, q, kept)
    log_q, impossible = math.log(q), down.infinite_mass

    def error(pair: PrivacyLossDistribution, mixed: MixedLosses) -> float:
        return (pair.loss_error * mixed.slope + mixed.rounding - 4.0 * UNIT * log_q) * (1.0 + 8.0 * UNIT)

    return Directions(
        PrivacyLossDistribution.from_atoms(
            # P1's part as the one direction lists it, and P0's as the other does: each lacks what it says.
            np.concatenate([upwards.losses, downwards.losses, [log_q]]),
            np.concatenate([kept * up.masses, q * down.masses, [q * impossible]]),
            kept * up.infinite_mass,
            (kept * up.missing_mass + q * down.missing_mass) * (1.0 + 8.0 * UNIT),
            relative_error=max(up.relative_error, down.relative_error) + 4.0 * UNIT,
            loss_error=max(error(up, upwards), error(down, downwards)),
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
