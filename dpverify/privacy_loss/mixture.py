"""Pairs of mixtures: what a change of a bit's *probability* reveals, from the pair that a change of the bit gives.

A bit that is 1 with probability a has the view `P_a = (1-a) P_0 + a P_1`. If a pair (A, B) dominates (P_1, P_0), at all
real epsilon, then P_1 and P_0 are the images of A and B under one channel (blackwell1953); so are the mixtures, and the
pair of A's and B's mixtures dominates that of the views.
"""

from __future__ import annotations

import math

import numpy as np

from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.rounding import UNIT, summation_error
from protocols.validation import check_probability

__all__ = ["bit_probability_change"]


def bit_probability_change(pair: PrivacyLossDistribution, first: float, second: float) -> PrivacyLossDistribution:
    """Return the distribution of (P_first, P_second) from that of (P_1, P_0).

    Parameters
    ----------
    pair : PrivacyLossDistribution
        Of (P_1, P_0), or of a pair that dominates it.
    first, second : float
        The probabilities that the bit is 1, in [0, 1].

    Notes
    -----
    P_0's mass outside the listed outcomes is one minus its mass on them, known to about 1e-13; it counts as missing.
    """
    a, b = check_probability("first", first), check_probability("second", second)
    other = np.exp(np.log(pair.masses) - pair.losses)
    growth = pair.relative_error + math.expm1(pair.loss_error) + 16.0 * UNIT * (1.0 + pair.largest_loss)
    unlisted = max(0.0, 1.0 - float(other.sum())) + growth + summation_error(other.size)
    masses, reference = a * pair.masses + (1.0 - a) * other, b * pair.masses + (1.0 - b) * other
    occupied = (masses > 0) & (reference > 0)
    losses, weights = np.log(masses[occupied] / reference[occupied]), masses[occupied]
    # Where P_0 has no mass, the loss is ln(a / b).
    infinite, only = a * pair.infinite_mass, 0.0
    if b > 0.0 and infinite > 0.0:
        losses, weights = np.append(losses, math.log(a / b)), np.append(weights, infinite)
        infinite = 0.0
    if b == 0.0:
        only = float(masses[~occupied].sum())
    return PrivacyLossDistribution.from_atoms(
        losses,
        weights,
        infinite + only,
        a * pair.missing_mass + (1.0 - a) * unlisted,
        relative_error=growth,
        loss_error=2.0 * growth,
    )
