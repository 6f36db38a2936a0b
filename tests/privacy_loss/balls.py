"""Ground truth of the hunts: divergences of laws whose masses are Arb balls, a hundred times as fast as rationals.

A ball contains the exact number, whatever its radius; the radius is some 2^-300 of the largest term of a sum.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from flint import arb, ctx, fmpq

from dpverify.guarantee import Interval

BITS = 320

Outcome = tuple[arb, arb]
"""The masses of one outcome, or of outcomes of one likelihood ratio, under both laws."""
BallPair = list[Outcome]


def ball(number: Fraction | float) -> arb:
    """Return a ball around a number; a float means its binary value."""
    if isinstance(number, Fraction):
        with ctx.workprec(BITS):
            return arb(fmpq(number.numerator, number.denominator))
    return arb(number)


def rational_balls(pair: tuple[Sequence[Fraction], Sequence[Fraction]]) -> BallPair:
    """Return a pair with outcomes of equal likelihood ratio as one; what P cannot produce never counts."""
    merged: dict[Fraction, list[Fraction]] = {}
    for p, q in zip(*pair, strict=True):
        if p > 0:
            cell = merged.setdefault(q / p, [Fraction(0), Fraction(0)])
            cell[0] += p
            cell[1] += q
    return [(ball(p), ball(q)) for p, q in merged.values()]


def reversed_pair(pair: BallPair) -> BallPair:
    return [(q, p) for p, q in pair]


def power(pair: BallPair, copies: int) -> BallPair:
    """Return so many independent copies of a pair: one outcome for each multiset of its outcomes."""
    with ctx.workprec(BITS):
        terms: list[BallPair] = [[(arb(1), arb(1))], *([] for _ in range(copies))]
        for index, (p, q) in enumerate(pair):
            powers = [(p**n / math.factorial(n), q**n / math.factorial(n)) for n in range(copies + 1)]
            wanted = range(copies + 1) if index + 1 < len(pair) else [copies]
            terms = [
                [(a * powers[n][0], b * powers[n][1]) for n in range(j + 1) for a, b in terms[j - n]]
                if j in wanted
                else []
                for j in range(copies + 1)
            ]
        orders = math.factorial(copies)
        return [(orders * p, orders * q) for p, q in terms[copies]]


def product(pairs: Sequence[BallPair]) -> BallPair:
    with ctx.workprec(BITS):
        made = pairs[0]
        for pair in pairs[1:]:
            made = [(a * c, b * d) for (a, b), (c, d) in itertools.product(made, pair)]
        return made


def divergence(pair: BallPair, epsilon: float) -> arb:
    """Return a ball around the hockey-stick divergence H_eps(P||Q)."""
    with ctx.workprec(BITS):
        factor, zero, total = arb(epsilon).exp(), arb(0), arb(0)
        for p, q in pair:
            excess = p - factor * q
            if excess > 0:
                total += excess
            elif not excess < 0:
                total += excess.max(zero)
        return total


def largest(pairs: Iterable[BallPair], epsilon: float) -> arb:
    """Return a ball around the largest divergence."""
    with ctx.workprec(BITS):
        found = arb(0)
        for pair in pairs:
            found = found.max(divergence(pair, epsilon))
        return found


def reports(flip: float, zeros: int, ones: int = 0, coins: int = 0) -> list[arb]:
    """Return the law of how many of so many users report 1, by the bit that they hold."""
    with ctx.workprec(BITS):
        p = arb(flip)
        law = [arb(1)]
        for chance in (*[p] * zeros, *[1 - p] * ones, *[arb(1) / 2] * coins):
            law = [a * (1 - chance) + b * chance for a, b in zip([*law, arb(0)], [arb(0), *law], strict=True)]
        return law


def report_pair(flip: float, zeros: int, ones: int = 0, coins: int = 0) -> BallPair:
    """Return the sum of the reports of these users and of one more, who holds 1 first and 0 second."""
    return list(zip(reports(flip, zeros, ones + 1, coins), reports(flip, zeros + 1, ones, coins), strict=True))


def shifted(masses: Sequence[arb], rest: float, *, up: bool, below: bool = False) -> BallPair:
    """Return Z + 1 against Z, or the reverse, for the first masses of Z, or for some in the middle if `below`.

    `rest` bounds the last (and the first) of them and all beyond.
    """
    before = [arb(0), *masses[:-1]]
    first, second = (before, masses) if up else (masses, before)
    # The P-mass beyond adds between nothing and all of itself.
    return [*list(zip(first, second, strict=True))[below:], (arb(0, rest), arb(0))]


def poisson_masses(mean: float, least: float) -> list[arb]:
    """Return the masses of a Poisson law until they fall below `least`."""
    with ctx.workprec(BITS):
        masses = [(-arb(mean)).exp()]
        while masses[-1] > least or len(masses) <= 2.0 * mean:
            masses.append(masses[-1] * mean / len(masses))
        return masses


def negative_binomial_masses(shape: float, p: float, least: float) -> list[arb]:
    """Return the masses of NB(shape, p) until they fall below `least`, well beyond the mode."""
    with ctx.workprec(BITS):
        ratio, exponent = arb(p), arb(shape)
        masses = [(1 - ratio) ** exponent]
        while masses[-1] > least or len(masses) <= 2.0 * shape * p / (1.0 - p):
            z = len(masses)
            masses.append(masses[-1] * ratio * (exponent + (z - 1)) / z)
        return masses


def discrete_gaussian_masses(sigma: float, least: float) -> list[arb]:
    """Return the masses of the discrete Gaussian law, symmetric, as far as they are at least `least`, and beyond."""
    with ctx.workprec(BITS):
        rate = 1 / (2 * arb(sigma) ** 2)
        reach = 2 + math.isqrt(math.ceil(-2.0 * math.log(least) * sigma * sigma))
        weights = [(-rate * z * z).exp() for z in range(reach + 1)]
        total = weights[0] + 2 * sum(weights[1:], arb(0)) + arb(0, 4.0 * least)
        halves = [weight / total for weight in weights]
        return [*halves[:0:-1], *halves]


def misses(found: Interval, truth: arb) -> bool:
    """Return whether an interval certainly does not contain the truth."""
    return bool(truth < found.lower or truth > found.upper)
