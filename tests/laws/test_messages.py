"""The laws of messages charge every tail and error, also where a drop is rare."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.bitsum import claims_of
from dpverify.formulas.contexts import arb_context
from dpverify.guarantee import ThreatModel
from dpverify.laws import noise as laws
from dpverify.laws.messages import MessagesLaw
from dpverify.laws.window import IntegerLaw
from protocols.bitsum import Pure


@pytest.mark.parametrize("tail", [1e-3, 0.03])
@pytest.mark.parametrize("copies", [1, 2])
def test_messages_charge_the_tails_of_every_part(copies: int, tail: float) -> None:
    law = MessagesLaw(((1, laws.binomial(30, 0.3, tail)), (copies, laws.negative_binomial(3.0, 0.6, tail))))
    first = stats.binom.pmf(np.arange(31), 30, 0.3)
    second = np.zeros(copies * 200)
    second[::copies] = stats.nbinom.pmf(np.arange(200), 3.0, 0.4)
    exact = np.cumsum(np.convolve(first, second)[::-1])[::-1]
    assert law.chance_above(-1).upper == 1.0
    for count in range(60):
        found = law.chance_above(count)
        assert found.lower - 1e-13 <= exact[count + 1] <= found.upper + 1e-13
    # Not more than what is missing either.
    assert law.chance_above(5).width <= 1.02 * law.cut_off + 1e-12


def test_messages_charge_the_errors_of_their_laws() -> None:
    exact = laws.binomial(30, 0.3)
    for error in (-0.01, 0.01):
        listed = IntegerLaw(exact.start, exact.pmf * (1.0 + error), 0.010001, exact.tail_below, exact.tail_above)
        for parts in (((1, listed), (1, exact)), ((1, listed), (1, listed))):
            truth = np.cumsum(np.convolve(exact.pmf, exact.pmf)[::-1])[::-1]
            for count in (3, 18, 30):
                found = MessagesLaw(parts).chance_above(count)
                assert found.lower <= truth[count + 1 - 2 * exact.start] <= found.upper


@pytest.mark.parametrize("tail", [1e-3, 0.03])
@pytest.mark.parametrize("chance", [0.07, 0.2, 0.6])
def test_the_most_messages_are_proved_in_spite_of_the_tails(tail: float, chance: float) -> None:
    law = MessagesLaw(((1, laws.binomial(30, 0.3, tail)),))
    count = law.exceeded_with_chance(chance)
    assert stats.binom.sf(count, 30, 0.3) <= chance
    assert law.chance_above(count).upper <= chance < law.chance_above(count - 1).upper


def bits(instances: int, ones: float, drop: float) -> list[tuple[int, float]]:
    """Return the law of the part of Pure that counts bits, after checking that its errors are as stated."""
    (copies, law), *_ = claims_of(Pure(10, 0.5, drop)).messages_law(Pure(10, 0.5, drop), instances, ones).parts
    assert copies == 1
    sent = Fraction(ones) * (1 - Fraction(drop))
    for j, mass in zip(law.support.tolist(), law.pmf.tolist(), strict=True):
        exact = math.comb(instances, j) * sent**j * (1 - sent) ** (instances - j)
        assert abs(Fraction(mass) / exact - 1) <= Fraction(law.relative_error)
    listed = sum(map(Fraction, law.pmf.tolist())) * (1 + Fraction(law.relative_error))
    assert listed + Fraction(law.tail_below) + Fraction(law.tail_above) >= 1
    assert law.relative_error < 1e-11
    return list(zip(law.support.tolist(), law.pmf.tolist(), strict=True))


@pytest.mark.parametrize("drop", [1e-17, 1e-13, 0.3, 1.0 - 1e-13, 1.0 - 2.0**-53])
@pytest.mark.parametrize("ones", [1.0, 1.0 - 2.0**-53, 0.5, 1e-3])
def test_bits_that_are_sent(ones: float, drop: float) -> None:
    bits(30, ones, drop)


def test_a_rare_drop_is_not_forgotten() -> None:
    assert bits(100, 1.0, 1e-15)[-2:] == [(99, pytest.approx(1e-13, rel=1e-9, abs=0)), (100, pytest.approx(1.0))]


@pytest.mark.parametrize("p", [0.1, 0.3, 0.7, 0.9, 1.0 - 1e-9])
def test_the_loss_of_the_sum_is_known_as_well_as_stated(p: float) -> None:
    (pair,) = claims_of(Pure(10, p, 0.0)).views(Pure(10, p, 0.0), ThreatModel.MODEL).every
    with arb_context(200) as ctx:
        assert abs(ctx.convert(float(pair.losses[-1])) + ctx.log(p)) <= pair.loss_error
