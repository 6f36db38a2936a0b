"""The law of the messages that count bits, where a drop is rare."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpverify.claims.bitsum import claims_of
from dpverify.formulas.contexts import arb_context
from dpverify.guarantee import ThreatModel
from protocols.bitsum import Pure


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
