"""The law of truncated noise, its privacy by enumeration, and how far cheats get."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverify import account, manipulation
from dpverify.audit.protocol import audit_protocol
from dpverify.claims.attacks.manipulation import Manipulation
from dpverify.claims.registry import mechanism_claims_of
from dpverify.statistics.family import Verdict
from protocols.sums import AugmentedSum

M, L = 5, 2


def exact_law(p: Fraction) -> dict[int, Fraction]:
    """Discrete Laplace noise given that it is at most M in size."""
    weights = {z: p ** abs(z) for z in range(-M, M + 1)}
    return {z: weight / sum(weights.values()) for z, weight in weights.items()}


@pytest.mark.parametrize("p", [0.5, 0.875])
def test_no_two_inputs_reveal_more_than_the_account_and_one_pair_as_much(p: float) -> None:
    protocol, law = AugmentedSum(3, L, M, p), exact_law(Fraction(p))
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        factor, shown = Fraction(math.exp(epsilon)), []
        # Views of the sum of any inputs, one user's replaced.
        for before, after in itertools.permutations(range(L + 1), 2):
            p0, p1 = ({z + x: mass for z, mass in law.items()} for x in (before, after))
            shown.append(sum(max(mass - factor * p1.get(z, 0), Fraction(0)) for z, mass in p0.items()))
        found = account(protocol, epsilon=epsilon).delta
        assert found.lower <= float(max(shown)) * (1 + 1e-9)
        assert Fraction(found.upper) >= max(shown)
        assert found.upper == pytest.approx(float(max(shown)), rel=1e-6)


@pytest.mark.parametrize(("margin", "p", "shape"), [(5, 0.5, 1.0), (1, 0.9, 1.0), (3, 0.6, 0.4), (200, 0.5, 3.0)])
def test_the_law_is_that_of_noise_given_that_it_stays_inside(margin: int, p: float, shape: float) -> None:
    claims: Any = mechanism_claims_of(AugmentedSum(3, L, margin, p, shape))
    law = claims.noise_law(AugmentedSum(3, L, margin, p, shape), 0.5, 1e-30)
    # By convolution of binomial weights.
    single = np.cumprod([1.0, *((z + shape) / (z + 1) * p for z in range(600))])
    weights = np.array([single[: 601 - abs(z)] @ single[abs(z) :] for z in range(-margin, margin + 1)])
    expected = weights / weights.sum()
    cut = margin + law.start
    assert np.allclose(law.pmf, expected[cut : expected.size - cut], rtol=1e-11)
    assert law.relative_error < 1e-11
    assert (law.tail_above == 0.0) is (margin < 200)
    assert law.tail_above >= expected[:cut].sum() - 1e-300


def test_what_a_coarse_window_leaves_out_is_in_the_error() -> None:
    protocol = AugmentedSum(3, L, 4, 0.5)
    claims: Any = mechanism_claims_of(protocol)
    law = claims.noise_law(protocol, 1.0, 0.05)
    assert law.stop == 4  # and P(|D| <= 4) is not known but from its tails
    weights = 0.5 ** np.abs(np.arange(-4, 5))
    off = np.abs(law.pmf / (weights / weights.sum())[1:-1] - 1)
    assert 0.01 < off.max() <= law.relative_error
    assert law.tail_above >= weights[0] / weights.sum()


def test_cheats_add_what_they_could_have_held() -> None:
    protocol, rng = AugmentedSum(6, 3, 9, 0.5, smallest=-1, steps=None), np.random.default_rng(4)
    assert protocol.levels == 4
    assert manipulation(protocol, 2) == manipulation(protocol, 2, cap=9) == Manipulation(2, 0.0, 8.0)
    assert manipulation(protocol, 2, cap=3).upper == 6.0
    honest = protocol.randomize([-1, 3, 0, 2], rng).symbols
    moved = {
        float(protocol.analyze(protocol.view([*honest, *sent])) - protocol.analyze(protocol.view(honest)))
        for sent in itertools.product((0, 1), repeat=8)
    }
    assert (min(moved), max(moved)) == (0.0, 8.0)


def test_noise_is_nobodys_and_an_audit_passes_it() -> None:
    protocol = AugmentedSum(9, 2, 20, 0.6)
    assert account(protocol, honest=1, delta=1e-4).epsilon == account(protocol, delta=1e-4).epsilon
    given: Any = {"trials": 100, "level": 1e-3, "seed": 5}
    assert audit_protocol(protocol, **given).verdict is not Verdict.VIOLATES
    less = AugmentedSum(9, 2, 20, 0.1)
    assert audit_protocol(protocol, implementation=less, **given).verdict is Verdict.VIOLATES
    assert account(AugmentedSum(30, 2, 20, 0.0), delta=1e-4).epsilon.lower == math.inf
