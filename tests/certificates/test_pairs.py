"""Certified divergences against direct sums over the outcomes, written a second time in 50-digit mpmath."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import mpmath
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.noise_pairs import PoissonPair
from dpverify.certificates.pairs import (
    Direction,
    DiscreteLaplacePair,
    GaussianPair,
    NegativeBinomialPair,
    RandomizedResponsePair,
    ThreeNBPair,
)
from dpverify.guarantee import CapacityError
from tests.refusals import refused

UP, DOWN = Direction.UP, Direction.DOWN
BOTH = pytest.mark.parametrize("direction", [UP, DOWN])
EPSILONS = pytest.mark.parametrize("epsilon", ["-1.5", "0", "0.2", "1.1", "3"])


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50), ctx.workprec(256):
        yield


def direct(larger, smaller, epsilon, direction):
    """Sum max(P - e^eps Q, 0) over outcomes; the laws are dicts or functions of the same keys."""
    p, q = (larger, smaller) if direction is UP else (smaller, larger)
    factor = mpmath.exp(mpf(epsilon))
    return mpmath.fsum(max(p.get(y, mpf(0)) - factor * q.get(y, mpf(0)), mpf(0)) for y in {*p, *q})


def agrees(pair, epsilon, direction, truth, digits=30):
    result = hockey_stick(pair, epsilon, direction, digits=digits)
    assert mpf(result.lower) * (1 - mpf(10) ** -40) <= truth <= mpf(result.upper) * (1 + mpf(10) ** -40)
    assert result.upper <= result.lower * (1 + 1e-15)
    ball = arb(result.text)
    reference = arb(mpmath.nstr(truth, 45))
    assert abs(ball - reference) <= abs(reference) * arb(10) ** (2 - digits)
    assert result.digits == digits


def shifted(law, by=1):
    return {y + by: mass for y, mass in law.items()}


def negative_binomial(r, p, stop):
    return {z: mpmath.rf(r, z) / mpmath.factorial(z) * (1 - p) ** r * p**z for z in range(stop)}


def convolve(*bits):
    law = {0: mpf(1)}
    for one in bits:
        following = {}
        for y, mass in law.items():
            following[y] = following.get(y, mpf(0)) + mass * (1 - one)
            following[y + 1] = following.get(y + 1, mpf(0)) + mass * one
        law = following
    return law


@BOTH
@EPSILONS
@pytest.mark.parametrize(("users", "p", "ones"), [(1, "0.2", 0), (7, "0.3", 0), (40, "0.2", 0), (25, "0.1", 9)])
def test_randomized_response(users, p, ones, epsilon, direction):
    flip = mpf(p)
    others = [1 - flip] * ones + [flip] * (users - 1 - ones)
    one, zero = convolve(*others, 1 - flip), convolve(*others, flip)
    truth = direct(one, zero, epsilon, direction)
    pair = RandomizedResponsePair(users, p, ones)
    if truth < mpf(10) ** -40:
        assert hockey_stick(pair, epsilon, direction).upper <= 1e-300
    else:
        agrees(pair, epsilon, direction, truth)


@BOTH
@pytest.mark.parametrize("users", [1, 2, 7, 13])
def test_without_ones_randomized_response_is_at_its_worst_dataset(users, direction):
    # In fractions; the largest is at neither end.
    p, factor = Fraction(1, 4), Fraction(math.exp(0.3))
    found = []
    for ones in range(users):
        one, zero = (fractions_of([1 - p] * ones + [p] * (users - 1 - ones) + [own]) for own in (1 - p, p))
        first, second = (one, zero) if direction is UP else (zero, one)
        found.append(sum(max(a - factor * b, 0) for a, b in zip(first, second, strict=True)))
    worst = hockey_stick(RandomizedResponsePair(users, p), 0.3, direction)
    assert worst.lower == pytest.approx(float(max(found)), rel=1e-12)
    if users > 2:
        ends = [hockey_stick(RandomizedResponsePair(users, p, m), 0.3, direction).upper for m in (0, users - 1)]
        assert worst.lower > max(ends)


def fractions_of(bits):
    law = [Fraction(1)]
    for one in bits:
        law = [a * (1 - one) + b * one for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


@pytest.mark.long
@BOTH
@EPSILONS
@pytest.mark.parametrize(("r", "p"), [("0.5", "0.4"), ("1", "0.6"), ("2.5", "0.5"), ("9", "0.3")])
def test_negative_binomial(r, p, epsilon, direction):
    law = negative_binomial(mpf(r), mpf(p), 300)  # the rest is below 1e-60
    truth = direct(shifted(law), law, epsilon, direction)
    pair = NegativeBinomialPair(r, p)
    if truth < mpf(10) ** -40:
        assert hockey_stick(pair, epsilon, direction).upper <= 1e-300
    else:
        agrees(pair, epsilon, direction, truth)


@cache
def three_nb_view(p, shape, flood_p, reach, own_shape="1"):
    geometric = negative_binomial(mpf(own_shape), mpf(p), reach)
    zero = {}
    for z, mass in negative_binomial(mpf(shape), mpf(flood_p), reach).items():
        for up, down in product(range(reach - z), repeat=2):
            view = (up + z, down + z)
            zero[view] = zero.get(view, mpf(0)) + mass * geometric[up] * geometric[down]
    return zero


@BOTH
@EPSILONS
def test_three_nb_against_the_two_dimensional_sum(epsilon, direction):
    zero = three_nb_view("0.25", "1.5", "0.2", 40)
    one = {(u + 1, v): mass for (u, v), mass in zero.items()}
    missing = mpf(10) ** -18  # views with a count of 40 or more: about 40 * 0.25^39
    result = hockey_stick(ThreeNBPair("0.25", "1.5", "0.2"), epsilon, direction, digits=30)
    enclosed = arb(result.text) if result.digits else arb(0)
    truth = arb(mpmath.nstr(direct(one, zero, epsilon, direction), 45))
    assert abs(enclosed - truth) <= arb(mpmath.nstr(missing * mpmath.exp(max(mpf(epsilon), 0)), 10))


@pytest.mark.long
@BOTH
@EPSILONS
@pytest.mark.parametrize("shape", ["0.5", "2.5"])
def test_three_nb_of_any_shape_against_the_two_dimensional_sum(shape, epsilon, direction):
    zero = three_nb_view("0.15", "1.5", "0.2", 34, shape)
    one = {(u + 1, v): mass for (u, v), mass in zero.items()}
    result = hockey_stick(ThreeNBPair("0.15", "1.5", "0.2", shape), epsilon, direction, digits=12)
    truth = float(direct(one, zero, epsilon, direction))
    # Views with a count of 34 or more are left out of the direct sum.
    assert result.lower <= truth + 1e-18
    assert truth <= result.upper * (1 + 1e-12) + 1e-18


def test_three_nb_of_another_shape_is_for_little_noise(monkeypatch):
    monkeypatch.setattr("dpverify.certificates.pairs._MOST_COUNTED", 32)
    with refused("p=0.99", CapacityError):
        hockey_stick(ThreeNBPair(0.99, 2, 0.5, 2), 0.001, UP)


def test_three_nb_up_is_exactly_zero_beyond_its_largest_loss():
    pair = ThreeNBPair("0.5", "1.5", "0.2")
    assert hockey_stick(pair, "0.694", UP).upper == 0.0  # ln 2 = 0.6931
    assert hockey_stick(pair, "0.693", UP).lower > 0.0


@BOTH
@EPSILONS
@pytest.mark.parametrize("p", ["0.67", "0.33"])
def test_discrete_laplace(p, epsilon, direction):
    scale = (1 - mpf(p)) / (1 + mpf(p))
    law = {z: scale * mpf(p) ** abs(z) for z in range(-350, 351)}
    truth = direct(shifted(law), law, epsilon, direction)
    if mpf(epsilon) >= -mpmath.log(mpf(p)):
        assert hockey_stick(DiscreteLaplacePair(p), epsilon, direction).upper <= 1e-300
    else:
        agrees(DiscreteLaplacePair(p), epsilon, direction, truth)


@pytest.mark.long
@BOTH
@EPSILONS
@pytest.mark.parametrize("sigma", ["0.5", "3"])
def test_gaussian_by_quadrature(sigma, epsilon, direction):
    s, eps = mpf(sigma), mpf(epsilon)
    crossing = mpf(1) / 2 + eps * s**2  # the density at 1 beats e^eps times that at 0 above this point
    truth = mpmath.quad(
        lambda x: mpmath.npdf(x, 1, s) - mpmath.exp(eps) * mpmath.npdf(x, 0, s),
        mpmath.linspace(crossing, crossing + 20 * s, 11),
    )
    agrees(GaussianPair(sigma), epsilon, direction, truth, digits=25)


@settings(max_examples=25, deadline=None)
@given(
    r=st.fractions(Fraction(1, 10), 20, max_denominator=50),
    p=st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=50),
    epsilon=st.fractions(-2, 2, max_denominator=30),
)
def test_directions_are_tied_by_duality(r, p, epsilon):
    # H_eps(P||Q) = 1 - e^eps + e^eps H_-eps(Q||P)
    pair = NegativeBinomialPair(r, p)
    up, down = hockey_stick(pair, epsilon, UP), hockey_stick(pair, -epsilon, DOWN)
    factor = math.exp(epsilon)
    assert up.lower - 1e-12 <= 1 - factor + factor * down.upper
    assert up.upper + 1e-12 >= 1 - factor + factor * down.lower


@settings(max_examples=25, deadline=None)
@given(
    users=st.integers(2, 60),
    p=st.fractions(Fraction(1, 100), Fraction(49, 100)),
    epsilon=st.fractions(-2, 2, max_denominator=30),
    direction=st.sampled_from([UP, DOWN]),
)
def test_flipping_every_bit_swaps_the_directions(users, p, epsilon, direction):
    # All others at 0 takes the binomial tails, all others at 1 the convolution.
    tails = hockey_stick(RandomizedResponsePair(users, p, 0), epsilon, direction)
    atoms = hockey_stick(RandomizedResponsePair(users, p, users - 1), epsilon, DOWN if direction is UP else UP)
    assert max(tails.lower, atoms.lower) <= min(tails.upper, atoms.upper)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RandomizedResponsePair(10, 0.5), r"flip_probability=0.5 must be .* \(0, 0.5\)"),
        (lambda: RandomizedResponsePair(10, 0.1, 10), r"ones=10 must be"),
        (lambda: RandomizedResponsePair(10**6, 0.1, 10), r"users=1000000 must be"),
        (lambda: RandomizedResponsePair(513, 0.1), r"users=513 must be at most 512 unless ones is given"),
        (lambda: NegativeBinomialPair(0, 0.5), r"shape=0 must be"),
        (lambda: ThreeNBPair(0.5, 1, 1), r"flood_p=1 must be"),
        (lambda: DiscreteLaplacePair("x"), r"p='x' must be"),
        (lambda: GaussianPair(math.inf), r"sigma=inf must be"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_epsilon_of_any_size_takes_no_memory() -> None:
    with pytest.raises(ArithmeticError, match="needs more than 16384 bits"):
        hockey_stick(PoissonPair("20"), "99999999999999999999")
    assert hockey_stick(PoissonPair("20"), "99999999999999999999", Direction.DOWN).upper == pytest.approx(math.exp(-20))
