"""Exact random draws of a real client: integers from the operating system's entropy, and no floating point.

What `randomize` and `sample_view` draw from a numpy generator is a simulation. Floating-point noise can give away its
input by its last bits (mironov2012), and a seeded generator can be run again. Here probabilities are met exactly,
for parameters that are rational, which every float is. How long a draw takes is random too and depends on its result:
whoever can time a client may learn from it.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

__all__ = [
    "Entropy",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_logistic",
    "bernoullis",
    "discrete_laplace",
    "negative_binomial",
    "poisson",
    "system_entropy",
]


class Entropy(Protocol):
    """A source of uniform integers, such as `secrets.SystemRandom()`; for tests, a seeded `random.Random`."""

    def randrange(self, stop: int, /) -> int:
        """Return an integer in [0, stop), each with the same probability."""


def system_entropy() -> Entropy:
    """Return the operating system's entropy, the only source that a client should use."""
    return secrets.SystemRandom()


def bernoulli(probability: Fraction, entropy: Entropy) -> bool:
    """Return True with exactly this probability; ValueError if it is outside [0, 1]."""
    if not 0 <= probability <= 1:
        raise ValueError(f"probability={probability} must be in [0, 1].")
    return entropy.randrange(probability.denominator) < probability.numerator


def bernoullis(kinds: Sequence[int], probabilities: Sequence[Fraction], entropy: Entropy) -> list[bool]:
    """Return independent draws, each with exactly the probability that its kind is the place of.

    Denominators are powers of two, as those of floats. One integer is asked for, of whole bytes for each draw.
    ValueError for a probability outside [0, 1], or with another denominator.
    """
    for probability in probabilities:
        if probability.denominator & (probability.denominator - 1) or not 0 <= probability <= 1:
            raise ValueError(f"probability={probability} must be in [0, 1], with a power of two below.")
    size = max(1, *(-(-(probability.denominator.bit_length() - 1) // 8) for probability in probabilities))
    bounds = [(probability.numerator << 8 * size) // probability.denominator for probability in probabilities]
    drawn = entropy.randrange(1 << 8 * size * len(kinds)).to_bytes(size * len(kinds), "big")
    starts, number = range(0, len(drawn), size), int.from_bytes
    return [
        number(drawn[start : start + size], "big") < bounds[kind] for start, kind in zip(starts, kinds, strict=True)
    ]


def bernoulli_exp(exponent: Fraction, entropy: Entropy) -> bool:
    """Return True with probability `e^-exponent` exactly (canonne2020, Algorithm 1); ValueError if it is negative."""
    if exponent < 0:
        raise ValueError(f"exponent={exponent} must be in [0, inf).")
    whole, rest = divmod(exponent, 1)
    if not all(_bernoulli_exp_below_one(Fraction(1), entropy) for _ in range(whole)):
        return False
    return _bernoulli_exp_below_one(rest, entropy)


def _bernoulli_exp_below_one(exponent: Fraction, entropy: Entropy) -> bool:
    # The first k draws succeed with probability x^k / k!: an even number of successes has that of the series of e^-x.
    successes = 0
    while bernoulli(exponent / (successes + 1), entropy):
        successes += 1
    return successes % 2 == 0


def bernoulli_logistic(exponent: Fraction, entropy: Entropy) -> bool:
    """Return True with probability `1 / (1 + e^exponent)` exactly, for an exponent of at least 0.

    A fair coin proposes; True is accepted with probability e^-exponent, False always.
    """
    while entropy.randrange(2):
        if bernoulli_exp(exponent, entropy):
            return True
    return False


def discrete_laplace(decay: Fraction, entropy: Entropy) -> int:
    """Return an integer z with probability proportional to `e^(-decay |z|)` exactly (canonne2020, Algorithm 2).

    ValueError if the decay is not positive.
    """
    if decay <= 0:
        raise ValueError(f"decay={decay} must be in (0, inf).")
    s, t = decay.numerator, decay.denominator
    while True:
        # X = U + t V is geometric with ratio e^(-1/t), so that its quotient by s has the ratio e^(-s/t).
        uniform = entropy.randrange(t)
        if not bernoulli_exp(Fraction(uniform, t), entropy):
            continue
        multiples = 0
        while bernoulli_exp(Fraction(1), entropy):
            multiples += 1
        magnitude = (uniform + t * multiples) // s
        negative = entropy.randrange(2) == 1
        # Zero has one sign only, or it would come twice as often.
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def poisson(mean: Fraction, entropy: Entropy) -> int:
    """Return a draw of Poisson(mean) exactly; ValueError if the mean is negative.

    In pieces of mean m <= 1/2. The loop ends at k with probability `m^k / k! (1 - m / (k+1))`; kept with probability
    `(1 - m) / (1 - m / (k+1))`, that is in proportion to `m^k / k!`.
    """
    if mean < 0:
        raise ValueError(f"mean={mean} must be in [0, inf).")
    pieces = math.ceil(2 * mean)
    return sum(_poisson_up_to_half(mean / pieces, entropy) for _ in range(pieces))


def _poisson_up_to_half(mean: Fraction, entropy: Entropy) -> int:
    while True:
        k = 0
        while bernoulli(mean / (k + 1), entropy):
            k += 1
        if bernoulli((1 - mean) / (1 - mean / (k + 1)), entropy):
            return k


def negative_binomial(shape: Fraction, p: Fraction, entropy: Entropy) -> int:
    """Return a draw of NB(shape, p), pmf `C(z+r-1, z) (1-p)^r p^z`, exactly; ValueError out of range.

    A geometric draw, shape 1, is kept with probability `prod_{j<z} (r+j) / (1+j)` for a shape r < 1. Most draws that
    are dropped are at their first step, so that small shares of much noise are quick: `1 / (1-p)` steps or so.
    """
    if shape < 0 or not 0 <= p < 1:
        raise ValueError(f"shape={shape} must be in [0, inf) and p={p} in [0, 1).")
    whole, rest = divmod(shape, 1)
    parts = [Fraction(1)] * whole + [rest] * (rest > 0)
    return sum(_negative_binomial_up_to_one(part, p, entropy) for part in parts)


def _negative_binomial_up_to_one(shape: Fraction, p: Fraction, entropy: Entropy) -> int:
    while True:
        z = 0
        while bernoulli(p, entropy):
            z += 1
            if not bernoulli((shape + z - 1) / z, entropy):
                break
        else:
            return z
