"""Ground truth for the engine: exact rational divergences of small products."""

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

import mpmath as mp
from hypothesis import strategies as st

from dpverify.certificates.rationals import RationalInterval, compose_rational
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution

_DIGITS = Context(prec=60)
RationalPair = tuple[list[Fraction], list[Fraction]]


def normalised(weights: Sequence[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


def floats(pair: RationalPair) -> PrivacyLossDistribution:
    """Return the engine's distribution of a rational pair: each probability is rounded once."""
    p, q = pair
    return PrivacyLossDistribution.from_pmfs([float(x) for x in p], [float(x) for x in q], relative_error=2.0**-52)


def truth(pairs: Sequence[RationalPair], counts: Sequence[int], epsilon: float) -> RationalInterval:
    return compose_rational(pairs, counts, Fraction(epsilon))


@st.composite
def rational_pairs(draw: st.DrawFn, max_size: int = 8) -> RationalPair:
    """Draw a pair of pmfs on a few points, zeros on either side included."""
    size = draw(st.integers(1, max_size))
    weights = st.lists(st.integers(0, 40), min_size=size, max_size=size).filter(any)
    return normalised(draw(weights)), normalised(draw(weights))


def decay(rate: float) -> Decimal:
    """Return `e^(-rate)` to sixty digits, from above: its loss is not above the rate."""
    return Decimal(-rate).exp(_DIGITS).next_plus(_DIGITS)


def binomial_sum(count: int, epsilon0: float, epsilon: float) -> mp.mpf:
    """Return the divergence of so many pure mechanisms of two losses, to 60 digits.

    It is sum C(k,j) a^(k-j) b^j (1 - e^(eps - (k-2j) eps0))+.
    """
    with mp.workdps(60):
        e0 = mp.mpf(epsilon0)
        high = 1 / (1 + mp.exp(-e0))
        return mp.fsum(
            mp.binomial(count, j) * high ** (count - j) * (1 - high) ** j * (1 - mp.exp(epsilon - (count - 2 * j) * e0))
            for j in range(count + 1)
            if (count - 2 * j) * e0 > epsilon
        )
