"""Privacy loss distributions of the laws that noise-adding protocols produce, both directions each.

`UP` compares the law with the larger sum against the other (P is the output when the user's bit is 1), `DOWN` the other
way round. Neither dominates the other in general.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError, Interval
from dpverify.laws import noise as laws
from dpverify.laws.window import DEFAULT_TAIL, EXACT, SMALLEST_TAIL, IntegerLaw
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.recurrence import decayed_sums, decayed_sums_error
from dpverify.rounding import SUBNORMAL, UNIT, summation_error
from protocols.validation import check_integer, check_probability, check_real

__all__ = [
    "MOST_COUNTS",
    "Directions",
    "approximate_dp",
    "binomial_randomized_response",
    "discrete_gaussian",
    "discrete_laplace",
    "mixed_reports",
    "moved",
    "negative_binomial",
    "poisson",
    "three_nb",
    "two_valued",
]

MOST_COUNTS = 2**22
"""The most atoms of a flood that are listed: a second, and 300 MB, for each list of the two counts."""
_NEGLIGIBLE = 1e-16
"""What an entry of a sum may lack, relatively, and still be listed: charged with it."""
_FEW = 16
"""Of so many reports, and of multiples of that, laws are kept: all others are sums of two."""


class Directions(NamedTuple):
    """The two directions of one pair of neighbouring laws."""

    up: PrivacyLossDistribution
    down: PrivacyLossDistribution


def _below(law: IntegerLaw) -> NDArray[np.float64]:
    """Return the integers from one below the window to its last, as floats, shape (atoms + 1,)."""
    return np.arange(law.start - 1, law.stop, dtype=np.float64)


def _shifted(law: IntegerLaw, log_ratio: NDArray[np.float64], loss_error: float) -> Directions:
    """Return the pair Z + 1 against Z, given `log_ratio[i] = ln f(start+i) / f(start+i-1)`, shape (atoms + 1,).

    The ratios beyond both ends are known, too, so that no atom of the window lacks its loss, however steeply the masses
    fall there; where the support ends the loss is infinite, and the ratio not looked at.
    """
    first, last = int(law.tail_below == 0.0), law.pmf.size - int(law.tail_above == 0.0)
    missing = law.tail_below + law.tail_above
    up = PrivacyLossDistribution.from_atoms(
        -log_ratio[1 : last + 1],
        law.pmf[:last],
        float(law.pmf[last:].sum()),
        missing,
        relative_error=law.relative_error,
        loss_error=loss_error,
    )
    down = PrivacyLossDistribution.from_atoms(
        log_ratio[first:-1],
        law.pmf[first:],
        float(law.pmf[:first].sum()),
        missing,
        relative_error=law.relative_error,
        loss_error=loss_error,
    )
    return Directions(up, down)


def moved(law: IntegerLaw, by: int) -> Directions:
    """Return the pair Z + by against Z, for noise Z and a move of 1 or more.

    Where one of both is outside the window its mass is missing, or infinitely lost if the support ends there. That
    leaves out more than the tails of the law: the mass of so many atoms at either end.
    """
    check_integer("by", by, low=1)
    common = max(law.pmf.size - by, 0)
    higher, lower = law.pmf[:common], law.pmf[by:]
    tails = (law.tail_below + law.tail_above) * (1.0 + 4.0 * UNIT)
    ends = float(law.pmf[common:].sum()), float(law.pmf[: law.pmf.size - common].sum())
    losses = np.log(higher) - np.log(lower)
    largest = float(np.abs(np.log(law.pmf)).max())
    loss_error = 2.0 * law.relative_error / (1.0 - law.relative_error) + 6.0 * UNIT * (largest + 1.0)
    error = law.relative_error + summation_error(law.pmf.size)

    def direction(
        losses: NDArray[np.float64], masses: NDArray[np.float64], end: float, tail: float
    ) -> PrivacyLossDistribution:
        known = tail == 0.0
        return PrivacyLossDistribution.from_atoms(
            losses,
            masses,
            end if known else 0.0,
            tails + (0.0 if known else end * (1.0 + 2.0 * error)),
            relative_error=error,
            loss_error=loss_error,
        )

    # P = Z + by has its last atoms beyond those of Z, and P = Z its first ones below those of Z + by.
    return Directions(
        direction(losses, higher, ends[0], law.tail_above), direction(-losses, lower, ends[1], law.tail_below)
    )


def negative_binomial(shape: float, p: float, tail: float = DEFAULT_TAIL) -> Directions:
    """Return the pair Z + 1 against Z for Z ~ NB(shape, p), the seeds' convention (ghazi2021, Algorithm 7).

    The loss `ln f(y-1)/f(y) = ln(y / (p (y + shape - 1)))` is closed; at y = 0 the other direction is infinite.
    """
    law = laws.negative_binomial(shape, p, tail)
    z = np.maximum(_below(law), 0.0)
    # In two logarithms, as the product may leave the floats. At p = 0 no ratio is looked at.
    log_p = math.log(p) if p > 0.0 else 0.0
    log_ratio = log_p + np.log((z + shape) / (z + 1.0))
    return _shifted(law, log_ratio, 4.0 * UNIT * (1.0 + float(np.abs(log_ratio).max()) - log_p))


def poisson(mean: float, tail: float = DEFAULT_TAIL) -> Directions:
    """Return the pair Z + 1 against Z for Poisson Z."""
    law = laws.poisson(mean, tail)
    log_ratio = np.log(mean / (np.maximum(_below(law), 0.0) + 1.0))
    return _shifted(law, log_ratio, 4.0 * UNIT * (1.0 + float(np.abs(log_ratio).max())))


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
    log_ratio = -(2.0 * _below(law) + 1.0) / (2.0 * sigma * sigma)
    return _shifted(law, np.asarray(log_ratio), 4.0 * UNIT * float(np.abs(log_ratio).max()))


def approximate_dp(epsilon0: float, delta0: float) -> PrivacyLossDistribution:
    """Return the worst pair of an (epsilon0, delta0)-DP mechanism (kairouz2015): the same in both directions."""
    check_real("epsilon0", epsilon0, low=0.0)
    check_real("delta0", delta0, low=0.0, high=1.0, high_open=True)
    larger = (1.0 - delta0) / (1.0 + math.exp(-epsilon0))
    # Not 1 / (1 + e^epsilon0), which overflows.
    smaller = larger * math.exp(-epsilon0)
    return PrivacyLossDistribution.from_atoms(
        np.array([epsilon0, -epsilon0]), np.array([larger, smaller]), delta0, relative_error=8.0 * UNIT
    )


def binomial_randomized_response(users: int, flip_probability: float, tail: float = DEFAULT_TAIL) -> Directions:
    """Return the pair of shuffled randomized response when all other users hold 0.

    `P(y) = Bin(n, p)` for the user's bit 0, and `Q/P(y) = (1-p) y / (n p) + p (n-y) / (n (1-p))` for her bit 1: a sum
    of positive terms, so that nothing cancels however small p is. All other users holding 1 is the mirror image, with
    the directions exchanged.
    """
    check_integer("users", users, low=1)
    check_real("flip_probability", flip_probability, low=0.0, high=0.5, low_open=True, high_open=True)
    p = flip_probability
    # Q/P is at most (1-p)/p, so this much less of P's mass is cut for Q to lose no more than `tail` at each side.
    law = laws.binomial(users, p, max(tail * p, SMALLEST_TAIL))
    y = law.support.astype(np.float64)
    # At most seven roundings in the ratio, and two units of the logarithm.
    ratio = (1.0 - p) * y / (users * p) + p * (users - y) / (users * (1.0 - p))
    loss = np.log(ratio)
    loss_error = UNIT * (8.0 + 4.0 * float(np.abs(loss).max()))
    omitted = law.tail_below + law.tail_above
    return Directions(
        PrivacyLossDistribution.from_atoms(
            loss,
            law.pmf * ratio,
            0.0,
            min(1.0, omitted * (1.0 - p) / p * (1.0 + 8.0 * UNIT)),
            relative_error=law.relative_error + 16.0 * UNIT,
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

    - users: n, at least 1, the user under attack included.
    - ones: k in [0, n-1-coins].
    - flip_probability: p in (0, 1/2).
    - tail: Mass that may be cut at each side of each binomial, in units of p.
    - coins: In [0, n-1]; a coin's report is a coin again.
    """
    check_integer("users", users, low=1)
    check_integer("coins", coins, low=0, high=users - 1)
    check_integer("ones", ones, low=0, high=users - 1 - coins)
    check_real("flip_probability", flip_probability, low=0.0, high=0.5, low_open=True, high_open=True)
    p = flip_probability
    # The rarer law of an outcome may be p times the other: so small a tail must not matter to it either.
    tail = max(tail * p, SMALLEST_TAIL)
    others, relative_error, omitted = np.ones(1), 8.0 * UNIT, 0.0
    low = _summands(users - 1 - coins - ones, p, tail)
    for law in (*(part.mirrored() for part in _summands(ones, p, tail)), *low, *_summands(coins, 0.5, tail)):
        relative_error += law.relative_error + min(others.size, law.pmf.size) * UNIT
        others = np.convolve(others, law.pmf)
        omitted += law.tail_below + law.tail_above
    zero = np.append((1.0 - p) * others, 0.0) + np.append(0.0, p * others)
    one = np.append(p * others, 0.0) + np.append(0.0, (1.0 - p) * others)
    # An entry of the convolution lacks at most `omitted`, and what underflowed in it; those for which that could matter
    # are charged as missing.
    occupied = np.minimum(zero, one) > max(omitted * 1e15, 1e-290)
    relative_error += 1e-15
    losses = np.log(one[occupied] / zero[occupied])
    loss_error = 2.0 * relative_error + 16.0 * UNIT * (1.0 + float(np.abs(losses).max(initial=0.0)))
    lost = omitted * (1.0 + 1e-6) + (0.0 if occupied.all() else SUBNORMAL)
    common = {"relative_error": relative_error + 4.0 * UNIT, "loss_error": loss_error}

    def missing(law: NDArray[np.float64]) -> float:
        return lost + float(law[~occupied].sum()) * (1.0 + 2.0 * relative_error + 1e-6)

    return Directions(
        PrivacyLossDistribution.from_atoms(losses, one[occupied], 0.0, missing(one), **common),
        PrivacyLossDistribution.from_atoms(-losses, zero[occupied], 0.0, missing(zero), **common),
    )


def _summands(number: int, p: float, tail: float) -> list[IntegerLaw]:
    """Return laws whose sum is that of so many reports: cells ask for many numbers, whose laws have parts in common."""
    few = number % _FEW
    return [_reports(part, p, tail) for part in (number - few, few) if part]


@functools.lru_cache(maxsize=128)
def _reports(number: int, p: float, tail: float) -> IntegerLaw:
    return laws.binomial(number, p, tail)


def _scaled(values: NDArray[np.float64], factor: float, last: float) -> NDArray[np.float64]:
    """Return `factor * values`, and one more."""
    found = np.append(values, last)
    found[:-1] *= factor
    return found


def three_nb(
    p: float, flood_shape: float, flood_p: float, tail: float = 1e-40, *, max_atoms: int = MOST_COUNTS
) -> Directions:
    """Return the pair of the 3NB view (U, V) = (x + Z1 + Z3, Z2 + Z3) for r = 1, x = 1 against x = 0.

    Z1, Z2 are geometric, `(1-p) p^z`, and Z3 ~ NB(flood_shape, flood_p). With `H(u) = sum_{z<=u} f3(z) p^(2(u-z))`:

    - where V < U the loss of x = 1 against x = 0 is `-ln p`, with P-mass 1/(1+p) under x = 1 and p/(1+p) under x = 0;
    - where V >= U = u it is `-ln(H(u) / (p H(u-1)))`, with mass `(1-p) p H(u-1)` under x = 1 and `(1-p) H(u)` under
      x = 0; at u = 0 only x = 0 has mass, (1-p) f3(0).
    """
    check_probability("p", p, high_open=True)
    check_real("p", p, low=0.0, low_open=True)
    check_real("tail", tail, low=SMALLEST_TAIL, high=0.5)
    check_real("flood_shape", flood_shape, low=0.0, high=EXACT, low_open=True)
    # What the flood's window cuts must matter to no H that is kept down to a mass of about `tail`.
    flood = laws.negative_binomial(flood_shape, flood_p, max(tail * _NEGLIGIBLE, SMALLEST_TAIL), max_atoms=max_atoms)
    rate = -2.0 * math.log(p)
    # H decays like p^(2u) beyond the flood's window: follow it until its mass is below the tail. What is as long as the
    # window is computed in place and dropped early: a heavy flood has millions of atoms.
    beyond = math.ceil(-math.log(tail) / rate) + 1
    if flood.pmf.size + beyond > max_atoms:
        raise CapacityError(
            f"a law of {flood.pmf.size + beyond} atoms is needed, but at most {max_atoms} are computed; "
            f"three_nb(p={p!r}) at tail={tail!r} needs a smaller p or a larger tail."
        )
    window = flood.pmf.size
    padded = np.append(flood.pmf, np.zeros(beyond))
    flood = replace(flood, pmf=np.zeros(0))
    masses = decayed_sums(padded, rate)
    # H(u) lacks what the flood has below its window, which has decayed as long, and above it up to u. It is kept where
    # that is negligible, from `start` to `end`: in one stretch, since below `stop` the lack decays at least as fast.
    lack = -rate * np.arange(1.0, masses.size + 1.0)
    np.exp(lack, out=lack)
    lack *= flood.tail_below
    lack[window:] += flood.tail_above
    exact = (masses >= SMALLEST_TAIL) & (lack <= _NEGLIGIBLE * masses)
    start, end = (int(exact.argmax()), exact.size - int(exact[::-1].argmax())) if exact.any() else (0, 0)
    del lack, exact
    keep = masses[start:end]
    # The rate rounds by three units: H(u) errs by that times p^2 the mean age of what it is made of.
    errors = decayed_sums(masses, rate)
    errors[1:] = errors[:-1]
    errors[:1] = 0.0
    errors = errors[start:end]
    errors /= keep
    errors *= 4.0 * UNIT * rate * p * p
    errors += flood.relative_error + 16.0 * UNIT + decayed_sums_error(masses.size) + _NEGLIGIBLE
    relative_error = float(errors.max(initial=0.0))
    # The sum of H is 1 / (1 - p^2): below `start`, what is listed there and all that the lower tail adds; from `end`
    # on, p^2 H(end - 1) and the rest of the flood.
    last = float(keep[-1]) if keep.size else 0.0
    late = flood.tail_above + float(padded[end:].sum())
    omitted = (1.0 - p) * float(masses[:start].sum()) + (flood.tail_below + late + p * p * last) / (1.0 + p)
    omitted = omitted * (1.0 + relative_error + 1e-9) + SUBNORMAL
    # P(U = u <= V) is (1-p) H(u) for x = 0 and (1-p) p H(u-1) for x = 1, and their ratio (p^2 + f3(u) / H(u-1)) / p:
    # the errors of H weigh only as much as the second term, and f3(u), where it is cut, is negligible to p^2.
    ratio = padded[start + 1 : end] / keep[:-1]
    errors += flood.relative_error
    errors[:-1] *= ratio
    ratio += p * p
    errors[:-1] /= ratio
    loss = np.log(ratio, out=ratio)
    np.subtract(math.log(p), loss, out=loss)
    loss_error = float(errors[:-1].max(initial=0.0)) + _NEGLIGIBLE
    del padded, errors
    loss_error += 8.0 * UNIT * (1.0 + max(-float(loss.min(initial=0.0)), float(loss.max(initial=0.0))) - math.log(p))
    split = -math.log(p)
    first = (1.0 - p) * float(keep[0]) if keep.size else 0.0
    zero = flood.start + start == 0 and flood.tail_below == 0.0
    return Directions(
        PrivacyLossDistribution.from_atoms(
            np.append(loss, split),
            _scaled(keep[:-1], (1.0 - p) * p, 1.0 / (1.0 + p)),
            0.0,
            omitted + (1.0 - p) * p * last * (1.0 + 2.0 * relative_error),
            relative_error=relative_error + 8.0 * UNIT,
            loss_error=loss_error,
        ),
        PrivacyLossDistribution.from_atoms(
            _scaled(loss, -1.0, -split),
            _scaled(keep[1:], 1.0 - p, p / (1.0 + p)),
            first if zero else 0.0,
            omitted + (0.0 if zero else first * (1.0 + 2.0 * relative_error)),
            relative_error=relative_error + 8.0 * UNIT,
            loss_error=loss_error,
        ),
    )


def two_valued(epsilon: Interval) -> PrivacyLossDistribution:
    """Return the worst pair of a pure mechanism whose largest privacy loss is known to lie in an interval.

    Both directions are the same: loss epsilon with probability `1 / (1 + e^-epsilon)` and -epsilon else. An error of
    epsilon, in nats, is at most that relative error of either.
    """
    error = (0.5 * epsilon.width + UNIT * epsilon.upper) * (1.0 + 8.0 * UNIT)
    return dataclasses.replace(
        approximate_dp(epsilon.midpoint, 0.0),
        loss_error=error,
        relative_error=math.expm1(min(error, 700.0)) + 16.0 * UNIT,
    )
