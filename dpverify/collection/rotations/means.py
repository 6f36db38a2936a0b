"""What counts of rotated vectors say: the sum of all users' vectors, each coordinate with an interval, and alarms.

A coordinate's estimate is its weight times a sum, with signs, of the D counts of + and the D of -, whatever the signs
are: so that its error is that of D counts' noise less that of D others', and of what users round, D integers each. The
moment generating functions of the noise are known. That of a rounding error of the variance w is at most `exp(s^2 / 8)`
(Hoeffding) and `exp(w (e^|s| - 1 - |s|))` (Bennett), and a user's w add up to D times `Turned.rounded` at most. So
Chernoff's inequality has intervals, for all vectors; who is clipped, by unlikely signs, is charged to the level.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.collection.analysis.intervals import Tails, sum_law
from dpverify.collection.densities.estimate import reach
from dpverify.collection.rotations.turned import Turned
from protocols.bitsum.negative_binomial import NegativeBinomial

__all__ = ["mean_rows", "strange_counts"]

Floats = NDArray[np.float64]
_ROUNDED = 1e-8
"""As of densities: far above what is rounded, relatively."""


def mean_rows(turned: Turned, counts: NDArray[np.int64], users: int, side: float) -> list[tuple[float, float, float]]:
    """Return the estimate of the sum of each coordinate over users, and the ends of an interval for it.

    Parameters
    ----------
    turned : Turned
        How vectors became integers.
    counts : ndarray of int64, shape (2 D,)
        Of each rotated coordinate those of + and of -.
    users : int
        How many took part.
    side : float
        How likely each end misses at most, if users chose vectors without a look at the signs.

    Returns
    -------
    list of (float, float, float)
        Of each of the d coordinates, the ends in [-users, users]; all of that where the level leaves nothing.
    """
    values = turned.back(counts[::2] - counts[1::2])
    miss = 2.0 * side - users * turned.clipped
    if miss <= 0.0:
        return [(float(value), -float(users), float(users)) for value in values]
    wide = reach(math.log(2.0 / miss), lambda s: _grows(turned, users, s), np.ones(1)) * turned.weight
    wide = wide * (1.0 + _ROUNDED) + users * 2.0**-27  # half a step
    return [(value, max(value - wide, -float(users)), min(value + wide, float(users))) for value in values.tolist()]


def _grows(turned: Turned, users: int, s: Floats) -> Floats:
    """Return a bound on the logarithm of E e^(+-s Z), of the error Z of an estimate over its weight, s > 0."""
    size, noise = turned.protocol.dimension, turned.protocol.noise
    share = users / noise.users
    rounding = users * size * np.minimum(s * s / 8.0, turned.rounded * (np.expm1(s) - s))
    if isinstance(noise, NegativeBinomial):
        odds = noise.p / (1.0 - noise.p)
        with np.errstate(invalid="ignore", divide="ignore"):
            each = -np.log1p(-odds * np.expm1(s)) - np.log1p(-odds * np.expm1(-s))
        return np.asarray(rounding + np.where(odds * np.expm1(s) < 1.0, share * size * noise.shape * each, math.inf))
    return np.asarray(rounding + share * size * noise.noise_mean * 4.0 * np.sinh(s / 2.0) ** 2)


def strange_counts(turned: Turned, counts: NDArray[np.int64], users: int, side: float) -> list[str]:
    """Return what no users who follow the protocol send, but for a probability of `side` at each end of each count."""
    tails = Tails(sum_law(turned.protocol.noise, users), side)
    low, high = tails.between(0)[0], tails.between(users * turned.most)[1]
    found, outside = list[str](), counts[(counts < low) | (counts > high)]
    if outside.size:
        found.append(
            f"{outside.size:,} of {counts.size:,} counts, such as {outside[0]:,}, are outside of [{low:,}, {high:,}], "
            "where all vectors leave them."
        )
    tails, total = Tails(sum_law(turned.together, users), side), int(counts.sum())
    low, high = tails.between(0)[0], tails.between(users * turned.own)[1]
    if not low <= total <= high:
        found.append(f"all counts together have {total:,} messages, but all vectors leave [{low:,}, {high:,}].")
    return found
