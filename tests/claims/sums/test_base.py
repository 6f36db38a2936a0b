"""The pair of the largest move, hunted by changes of integers and of rounded real numbers, in exact rationals."""

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverify import account
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.sums.split_and_mix import SplitAndMixClaims
from dpverify.guarantee import ThreatModel
from dpverify.laws import noise
from dpverify.planning.schedules.schedule import Schedule
from protocols.sums import NegativeBinomialSum, PoissonSum, SplitAndMix

L, CUT = 3, 40
P, Q = Fraction(1, 2), 1 - Fraction(1, 2)
# Laws on [0, CUT], the last one with all the rest, as what cannot be told apart is no less private.
GEOMETRIC = [Q * P**z for z in range(CUT)] + [P**CUT]
TWICE = [Q**2 * (z + 1) * P**z for z in range(CUT)]
TWICE += [1 - sum(TWICE)]


def moved(law: list[Fraction], by: int) -> list[Fraction]:
    shifted = [Fraction(0)] * by + law
    return [*shifted[:CUT], sum(shifted[CUT:], Fraction(0))]


def rounded(law: list[Fraction], x: Fraction) -> list[Fraction]:
    """The view where others hold 0, and one user a real number."""
    below = math.floor(x)
    f = x - below
    return [(1 - f) * a + f * b for a, b in zip(moved(law, below), moved(law, below + 1), strict=True)]


@pytest.mark.parametrize(("protocol", "law"), [
    (NegativeBinomialSum(5, L, 1.0, 0.5), GEOMETRIC),
    (NegativeBinomialSum(5, L, 2.0, 0.5), TWICE),
], ids=["geometric", "shape 2"])  # fmt: skip
def test_no_change_of_a_real_number_reveals_more_than_the_largest_move(protocol: Any, law: list[Fraction]) -> None:
    rng, claims = random.Random(21), mechanism_claims_of(protocol)
    pairs = claims.pairs(protocol).every
    for _ in range(150):
        x, y = (Fraction(rng.randrange(7 * L + 1), 7) for _ in range(2))
        before, after = rounded(law, x), rounded(law, y)
        for epsilon in (0.0, rng.uniform(-1, 3)):
            factor = Fraction(math.exp(epsilon))
            found = sum((max(a - factor * b, Fraction(0)) for a, b in zip(after, before, strict=True)), Fraction(0))
            assert found <= Fraction(max(pair.delta(epsilon).upper for pair in pairs)) + Fraction(1, 10**15)
    # And the largest move is attained: one shorter would be too little.
    for epsilon in (0.0, 0.5, 1.5):
        factor = Fraction(math.exp(epsilon))
        found = max(
            sum((max(a - factor * b, Fraction(0)) for a, b in zip(u, v, strict=True)), Fraction(0))
            for u, v in ((moved(law, L), moved(law, 0)), (moved(law, 0), moved(law, L)))
        )
        assert abs(found - Fraction(max(pair.delta(epsilon).lower for pair in pairs))) < Fraction(1, 10**9)


@pytest.mark.parametrize("protocol", [
    NegativeBinomialSum(4, 4, 0.3, 0.9), SplitAndMix(4, 4, 2**20, 30, 0.9, 0.3), PoissonSum(4, 4, 7.3),
], ids=repr)  # fmt: skip
def test_longer_moves_of_unimodal_noise_reveal_more(protocol: Any) -> None:
    # Log-concave or not: of a peak at 0 and heavy tails as well, where short moves show as much at some epsilons.
    claims = mechanism_claims_of(protocol)
    law = claims.noise_law(protocol, 1.0, 1e-30)
    for epsilon in np.linspace(0.0, 2.0, 21):
        shown = []
        for by in range(1, 5):
            up = np.append(np.zeros(by), law.pmf) - math.exp(epsilon) * np.append(law.pmf, np.zeros(by))
            down = np.append(law.pmf, np.zeros(by)) - math.exp(epsilon) * np.append(np.zeros(by), law.pmf)
            shown.append([up[up > 0].sum(), down[down > 0].sum()])
        assert (np.diff(shown, axis=0) >= -1e-12).all()
        found = account(protocol, epsilon=epsilon).delta
        assert found.lower * (1 - 1e-9) - 1e-15 <= max(shown[-1]) <= found.upper + 1e-12


def test_many_moves_of_noise_with_a_small_shape_take_one_pair() -> None:
    shape, p = 0.5, 1 - 1e-3
    found = account(NegativeBinomialSum(4, 100, shape, p), epsilon=0.5).delta
    law = noise.negative_binomial(shape, p)
    assert found.lower == pytest.approx(law.pmf[:100].sum(), abs=1e-9)
    assert len(mechanism_claims_of(PoissonSum(4, 9, 3.0)).pairs(PoissonSum(4, 9, 3.0)).every) == 2


def test_many_sums_and_schedules_compose_and_distances_of_shares_add_up() -> None:
    once, often = PoissonSum(100, 2, 900.0), account(PoissonSum(100, 2, 900.0), instances=9, delta=1e-6)
    # Nine moves by 2 in noise of 900 are about one by 6, of which the pair is exact.
    assert abs(often.epsilon.upper / account(PoissonSum(100, 6, 900.0), delta=1e-6).epsilon.upper - 1) < 0.05
    days = account([(once, 4), (PoissonSum(200, 1, 900.0), 5)], delta=1e-6)
    assert days.epsilon.upper < often.epsilon.upper
    # Beside others shares are their sum, and all their distances from it are charged.
    few, many = (SplitAndMix(100, 2, 2**12, shares, 0.9) for shares in (9, 30))
    shown, hidden = (account([(each, 2), (once, 1)], epsilon=0.7).delta for each in (few, many))
    charged = 2 * (1 + math.exp(0.7)) * SplitAndMixClaims().distance(few)
    assert shown.lower == pytest.approx(hidden.lower, rel=1e-4)
    assert 0 < charged < 1e-6
    assert charged * (1 - 1e-3) <= shown.upper - hidden.upper <= charged * (1 + 1e-3)
    assert shown.lower <= shown.upper - charged
    # A schedule of nearly the same shares is nearly that of one protocol, of which the curve is known.
    known = account(few, instances=2, delta=1e-6).epsilon
    near = account([(few, 1), (replace(few, p=0.9000001), 1)], delta=1e-6).epsilon
    assert abs(near.upper / known.upper - 1) < 2e-3
    assert near.lower <= known.upper
    assert (
        Schedule([(few, 2), (once, 1)]).basic_epsilon(1e-6) > account([(few, 2), (once, 1)], delta=1e-6).epsilon.upper
    )
    with pytest.raises(ValueError, match=r"has no pairs: the curve of split-and-mix is bounded"):
        SplitAndMixClaims().families(few, ThreatModel.COMMUNICATION, 1e-9)
    with pytest.raises(ValueError, match=r"^squared_change=.* must be omitted: nb-sum"):
        account(NegativeBinomialSum(9, 2, 4.0, 0.9), instances=3, squared_change=1, delta=1e-6)


def test_fewer_honest_users_have_less_noise() -> None:
    whole, half = (account(PoissonSum(100, 2, 300.0), honest=h, delta=1e-6).epsilon for h in (None, 50))
    alone = account(PoissonSum(50, 2, 150.0), delta=1e-6).epsilon
    assert whole.upper < half.lower
    assert half == alone
    assert account(PoissonSum(100, 2, 0.0), delta=1e-6).epsilon.lower == math.inf
