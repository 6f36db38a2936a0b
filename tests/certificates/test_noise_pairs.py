"""Certified divergences of Poisson noise and of dropped bits, against direct sums in 50-digit mpmath."""

from __future__ import annotations

import mpmath
import pytest
from flint import ctx
from mpmath import mpf

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.noise_pairs import PoissonPair, PurePair
from dpverify.certificates.pairs import ThreeNBPair
from dpverify.planning.account import account
from protocols.bitsum import Poisson, Pure
from tests.certificates.test_pairs import BOTH, DOWN, EPSILONS, UP, agrees, direct, shifted
from tests.refusals import refused


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50), ctx.workprec(256):
        yield


def poisson(mean, stop):
    return {z: mpmath.exp(-mean) * mean**z / mpmath.factorial(z) for z in range(stop)}


@BOTH
@EPSILONS
@pytest.mark.parametrize("mean", ["0.3", "1", "7.5", "40"])
def test_poisson(mean, epsilon, direction):
    law = poisson(mpf(mean), 260)
    truth = direct(shifted(law), law, epsilon, direction)
    if truth > mpf(10) ** -40:
        agrees(PoissonPair(mean), epsilon, direction, truth)
    else:
        assert hockey_stick(PoissonPair(mean), epsilon, direction).upper <= 1e-39


def two_counts(p, shape, flood_p, one, stop=60):
    """The law of (x + Z1 + Z3, Z2 + Z3) by convolution, up to a cut."""
    flood = [mpmath.rf(shape, z) / mpmath.factorial(z) * (1 - flood_p) ** shape * flood_p**z for z in range(stop)]
    geometric = [(1 - p) * p**z for z in range(stop)]
    law = {}
    for u in range(stop):
        for v in range(stop):
            mass = mpmath.fsum(flood[z] * geometric[u - z] * geometric[v - z] for z in range(min(u, v) + 1))
            law[u + one, v] = mass
    return law


@pytest.mark.long
@pytest.mark.parametrize(("q", "tolerance"), [("0", 1e-9), ("0.25", 1e-9), ("0.9", 1e-9)])
@BOTH
def test_pure(q, tolerance, direction):
    p, shape, flood_p = mpf("0.3"), mpf(2), mpf("0.4")
    zero, one = (two_counts(p, shape, flood_p, x, 34) for x in (0, 1))
    drop = mpf(q)
    kept = {y: drop * zero.get(y, mpf(0)) + (1 - drop) * one.get(y, mpf(0)) for y in {*zero, *one}}
    pair = PurePair("0.3", 2, "0.4", q)
    for epsilon in ("-3", "-0.4", "0", "0.1", "0.5", "1", "2.5"):
        truth = float(direct(kept, zero, epsilon, direction))
        found = hockey_stick(pair, epsilon, direction, digits=12)
        assert found.lower - tolerance <= truth <= found.upper + tolerance


def test_nothing_dropped_is_3nb():
    for direction in (UP, DOWN):
        same = hockey_stick(ThreeNBPair("0.5", 3, "0.6"), "0.3", direction, digits=20).text
        assert hockey_stick(PurePair("0.5", 3, "0.6", 0), "0.3", direction, digits=20).text == same


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"^mean=0 must be"):
        PoissonPair(0)
    with refused("drop_probability=1"):
        PurePair("0.5", 3, "0.6", 1)
    with pytest.raises(ValueError, match=r"^flood_p=1 must be"):
        PurePair("0.5", 3, 1, 0)


@pytest.mark.parametrize(
    ("protocol", "pair", "epsilon"),
    [
        (Poisson(9, 50.0), PoissonPair(50), 0.5),
        (Pure(9, 0.75, 0.25, 3.0, 0.5), PurePair(0.75, 3, 0.5, 0.25), 0.125),
        (Pure(9, 0.75, 0.25, 3.0, 0.5), PurePair(0.75, 3, 0.5, 0.25), 0.75),
    ],
)
def test_the_engine_encloses_the_larger_direction(protocol, pair, epsilon):
    found = account(protocol, epsilon=epsilon).delta
    certified = [hockey_stick(pair, epsilon, direction) for direction in (UP, DOWN)]
    assert found.lower <= max(one.upper for one in certified)
    assert max(one.lower for one in certified) <= found.upper
    assert found.width < 1e-6 * found.upper
