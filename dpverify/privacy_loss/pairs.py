"""Privacy loss distributions of the laws that noise-adding protocols produce, both directions each.

`UP` compares the law with the larger sum against the other (P is the output when the user's bit is 1), `DOWN` the other
way round. Neither dominates the other in general.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss import laws
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.laws import DEFAULT_TAIL, IntegerLaw
from dpverify.privacy_loss.recurrence import decayed_sums, decayed_sums_error
from dpverify.privacy_loss.rounding import UNIT
from protocols.validation import check_integer, check_probability, check_real

__all__ = [
    "Directions",
    "approximate_dp",
    "binomial_randomized_response",
    "discrete_gaussian",
    "discrete_laplace",
    "mixed_reports",
    "negative_binomial",
    "poisson",
    "three_nb",
]


class Directions(NamedTuple):
    """The two directions of one pair of neighbouring laws."""

    up: PrivacyLossDistribution
    down: PrivacyLossDistribution


def _shifted(law: IntegerLaw, log_ratio: NDArray[np.float64], loss_error: float) -> Directions:
    """Return the pair Z + 1 against Z, given `log_ratio[i] = ln f(start+i+1) / f(start+i)`, shape (atoms - 1,)."""
    bounded_below, bounded_above = law.tail_below == 0.0, law.tail_above == 0.0
    first, last = float(law.pmf[0]), float(law.pmf[-1])
    grown = 1.0 + law.relative_error
    up = PrivacyLossDistribution.from_atoms(
        -log_ratio,
        law.pmf[:-1],
        last if bounded_above else 0.0,
        (0.0 if bounded_above else law.tail_above + last * grown) + law.tail_below,
        relative_error=law.relative_error,
        loss_error=loss_error,
    )
    down = PrivacyLossDistribution.from_atoms(
        log_ratio,
        law.pmf[1:],
        first if bounded_below else 0.0,
        (0.0 if bounded_below else law.tail_below + first * grown) + law.tail_above,
        relative_error=law.relative_error,
        loss_error=loss_error,
    )
    return Directions(up, down)


def negative_binomial(shape: float, p: float, tail: float = DEFAULT_TAIL) -> Directions:
    """Return the pair Z + 1 against Z for Z ~ NB(shape, p), the seeds' convention (ghazi2021, Algorithm 7).

    The loss `ln f(y-1)/f(y) = ln(y / (p (y + shape - 1)))` is closed; at y = 0 the other direction is infinite.
    """
    law = laws.negative_binomial(shape, p, tail)
    z = law.support[:-1].astype(np.float64)
    log_ratio = np.log(p * ((z + shape) / (z + 1.0)))
    return _shifted(law, log_ratio, 4.0 * UNIT * (1.0 + float(np.abs(log_ratio).max(initial=0.0))))


def poisson(mean: float, tail: float = DEFAULT_TAIL) -> Directions:
    """Return the pair Z + 1 against Z for Poisson Z."""
    law = laws.poisson(mean, tail)
    log_ratio = np.log(mean / (law.support[:-1] + 1.0))
    return _shifted(law, log_ratio, 4.0 * UNIT * (1.0 + float(np.abs(log_ratio).max(initial=0.0))))


def discrete_laplace(epsilon: float) -> Directions:
    """Return the pair Z + 1 against Z for `P(Z = z)` proportional to `e^(-epsilon |z|)`.

    The loss is epsilon where y >= 1 (of mass `P(Z >= 0) = 1 / (1 + e^-epsilon)`) and -epsilon elsewhere: the worst pair
    of a pure epsilon-DP mechanism, in both directions.
    """
    pair = approximate_dp(check_real("epsilon", epsilon, low=0.0, low_open=True), 0.0)
    return Directions(pair, pair)


def discrete_gaussian(sigma: float, tail: float = DEFAULT_TAIL) -> Directions:
    """Return the pair Z + 1 against Z for `P(Z = z)` proportional to `e^(-z^2 / (2 sigma^2))`."""
    law = laws.discrete_gaussian(sigma, tail)
    log_ratio = -(2.0 * law.support[:-1] + 1.0) / (2.0 * sigma * sigma)
    return _shifted(law, np.asarray(log_ratio), 4.0 * UNIT * float(np.abs(log_ratio).max(initial=0.0)))


def approximate_dp(epsilon0: float, delta0: float) -> PrivacyLossDistribution:
    """Return the worst pair of an (epsilon0, delta0)-DP mechanism (kairouz2015): the same in both directions."""
    check_real("epsilon0", epsilon0, low=0.0)
    check_real("delta0", delta0, low=0.0, high=1.0, high_open=True)
    larger = (1.0 - delta0) / (1.0 + math.exp(-epsilon0))
    smaller = (1.0 - delta0) / (1.0 + math.exp(epsilon0))
    return PrivacyLossDistribution.from_atoms(
        np.array([epsilon0, -epsilon0]), np.array([larger, smaller]), delta0, relative_error=8.0 * UNIT
    )


def binomial_randomized_response(users: int, flip_probability: float, tail: float = DEFAULT_TAIL) -> Directions:
    """Return the pair of shuffled randomized response when all other users hold 0.

    `P(y) = Bin(n, p)` for the user's bit 0, and `Q/P(y) = (1-p) y / (n p) + p (n-y) / (n (1-p))
    = 1 + (y - n p) (1 - 2p) / (n p (1-p))` for her bit 1. All other users holding 1 is the mirror image, with the
    directions exchanged.
    """
    check_integer("users", users, low=1)
    check_real("flip_probability", flip_probability, low=0.0, high=0.5, low_open=True, high_open=True)
    p = flip_probability
    law = laws.binomial(users, p, tail)
    y = law.support.astype(np.float64)
    # y - n p cancels near the mean: its error, a unit of n p, is divided by n p again.
    deviation = (y - users * p) / (users * p * (1.0 - p))
    loss = np.log1p(deviation * (1.0 - 2.0 * p))
    ratio = np.exp(loss)
    loss_error = UNIT * float(np.max((4.0 + 8.0 * np.abs(deviation)) / ratio)) + 4.0 * UNIT * float(np.abs(loss).max())
    omitted = law.tail_below + law.tail_above
    # Q's mass outside the window: Q/P is at most (1-p)/p.
    return Directions(
        PrivacyLossDistribution.from_atoms(
            loss,
            law.pmf * ratio,
            0.0,
            omitted * (1.0 - p) / p * (1.0 + 8.0 * UNIT),
            relative_error=law.relative_error + 2.0 * loss_error + 8.0 * UNIT,
            loss_error=loss_error,
        ),
        PrivacyLossDistribution.from_atoms(
            -loss, law.pmf, 0.0, omitted, relative_error=law.relative_error, loss_error=loss_error
        ),
    )


def mixed_reports(
    users: int, ones: int, flip_probability: float, tail: float = DEFAULT_TAIL, *, coins: int = 0
) -> Directions:
    """Return the pair of shuffled randomized response when `ones` of the other users hold 1 and `coins` a fair coin.

    Parameters
    ----------
    users : int
        n, at least 1, the user under attack included.
    ones : int
        k in [0, n-1-coins].
    flip_probability : float
        p in (0, 1/2).
    tail : float
        Mass that may be cut at each side of each binomial.
    coins : int
        In [0, n-1]; a coin's report is a coin again.
    """
    check_integer("users", users, low=1)
    check_integer("coins", coins, low=0, high=users - 1)
    check_integer("ones", ones, low=0, high=users - 1 - coins)
    check_real("flip_probability", flip_probability, low=0.0, high=0.5, low_open=True, high_open=True)
    p = flip_probability
    high = laws.binomial(ones, 1.0 - p, tail)
    low = laws.binomial(users - 1 - coins - ones, p, tail)
    fair = laws.binomial(coins, 0.5, tail)
    fixed = np.convolve(high.pmf, low.pmf)
    others = np.convolve(fixed, fair.pmf)
    relative_error = high.relative_error + low.relative_error + fair.relative_error
    relative_error += (min(high.pmf.size, low.pmf.size) + min(fixed.size, fair.pmf.size) + 8.0) * UNIT
    # Bin(k, 1-p) is evaluated at the rounded 1-p: of relative size u, which moves each factor by that much.
    relative_error += 2.0 * UNIT * ones
    omitted = sum(law.tail_below + law.tail_above for law in (high, low, fair))
    zero = np.append((1.0 - p) * others, 0.0) + np.append(0.0, p * others)
    one = np.append(p * others, 0.0) + np.append(0.0, (1.0 - p) * others)
    # An entry of the convolution lacks at most `omitted`; those for which that could matter are charged as missing.
    occupied = np.minimum(zero, one) > max(omitted * 1e15, 1e-290)
    relative_error += 1e-15
    losses = np.log(one[occupied] / zero[occupied])
    loss_error = 2.0 * relative_error + 16.0 * UNIT * (1.0 + float(np.abs(losses).max(initial=0.0)))
    dropped = float(zero[~occupied].sum() + one[~occupied].sum())
    common = {"relative_error": relative_error + 4.0 * UNIT, "loss_error": loss_error}
    missing = (omitted + dropped) * (1.0 + 1e-6)
    return Directions(
        PrivacyLossDistribution.from_atoms(losses, one[occupied], 0.0, missing, **common),
        PrivacyLossDistribution.from_atoms(-losses, zero[occupied], 0.0, missing, **common),
    )


def three_nb(p: float, flood_shape: float, flood_p: float, tail: float = 1e-40) -> Directions:
    """Return the pair of the 3NB view (U, V) = (x + Z1 + Z3, Z2 + Z3) for r = 1, x = 1 against x = 0.

    Z1, Z2 are geometric, `(1-p) p^z`, and Z3 ~ NB(flood_shape, flood_p). With `H(u) = sum_{z<=u} f3(z) p^(2(u-z))`:

    - where V < U the loss of x = 1 against x = 0 is `-ln p`, with P-mass 1/(1+p) under x = 1 and p/(1+p) under x = 0;
    - where V >= U = u it is `-ln(H(u) / (p H(u-1)))`, with mass `(1-p) p H(u-1)` under x = 1 and `(1-p) H(u)` under
      x = 0; at u = 0 only x = 0 has mass, (1-p) f3(0).
    """
    check_probability("p", p, high_open=True)
    check_real("p", p, low=0.0, low_open=True)
    flood = laws.negative_binomial(flood_shape, flood_p, tail * 1e-8)
    rate = -2.0 * math.log(p)
    # H decays like p^(2u) beyond the flood's window: follow it until its mass is below the tail.
    beyond = math.ceil(math.log(tail) / (2.0 * math.log(p))) + 1
    if flood.pmf.size + beyond > laws.DEFAULT_MAX_ATOMS:
        raise ValueError(
            f"three_nb(p={p!r}) needs {flood.pmf.size + beyond} atoms at tail={tail!r}, but at most "
            f"{laws.DEFAULT_MAX_ATOMS} are allowed; use a smaller p or a larger tail."
        )
    masses = decayed_sums(np.append(flood.pmf, np.zeros(beyond)), rate)
    # Entries that the flood's cut lower tail could change are charged as missing.
    start = 0
    if flood.tail_below > 0.0:
        reach = flood.tail_below * np.exp(2.0 * math.log(p) * np.arange(1, masses.size + 1))
        start = int(np.argmax(reach <= 1e-16 * masses))
    keep = masses[start:]
    # The rate rounds by three units: H(u) errs by that times the mean age of what it is made of.
    ages = p * p * np.append(0.0, decayed_sums(masses, rate)[:-1])[start:] / keep
    errors = flood.relative_error + 4.0 * (rate * ages + 4.0) * UNIT + decayed_sums_error(masses.size) + 1e-16
    relative_error = float(errors.max())
    omitted = (
        (1.0 - p) * float(masses[:start].sum()) + (flood.tail_below + flood.tail_above) / (1.0 + p) + tail / (1.0 + p)
    ) * (1.0 + 1e-9)
    # H(u) / (p H(u-1)) = p + f3(u) / (p H(u-1)): the errors of H weigh only as much as the second term.
    fresh = np.append(flood.pmf, np.zeros(beyond))[start + 1 :] / (p * keep[:-1])
    loss = -np.log(p + fresh)
    shares = fresh / (p + fresh)
    loss_error = float(np.max(shares * (errors[:-1] + flood.relative_error + 4.0 * UNIT), initial=0.0))
    loss_error += 8.0 * UNIT * (1.0 + float(np.abs(loss).max(initial=0.0)))
    split = -math.log(p)
    zero = flood.start + start == 0 and flood.tail_below == 0.0
    first = (1.0 - p) * float(keep[0])
    return Directions(
        PrivacyLossDistribution.from_atoms(
            np.append(loss, split),
            np.append((1.0 - p) * p * keep[:-1], 1.0 / (1.0 + p)),
            0.0,
            omitted + first * 1e-30 + (1.0 - p) * p * float(keep[-1]) * (1.0 + relative_error),
            relative_error=relative_error + 8.0 * UNIT,
            loss_error=loss_error,
        ),
        PrivacyLossDistribution.from_atoms(
            np.append(-loss, -split),
            np.append((1.0 - p) * keep[1:], p / (1.0 + p)),
            first if zero else 0.0,
            omitted + (0.0 if zero else first * (1.0 + relative_error)),
            relative_error=relative_error + 8.0 * UNIT,
            loss_error=loss_error,
        ),
    )
