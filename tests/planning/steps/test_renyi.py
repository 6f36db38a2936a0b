"""Steps known by Renyi divergences: how they add up and compose with others, and that nothing is proved from below."""

from fractions import Fraction

import pytest

import dpverify
from dpverify.guarantee import CapacityError
from dpverify.planning.steps.renyi import ConcentratedStep, RenyiStep, pair_of, pooled
from dpverify.planning.steps.step import NoisyStep, Steps
from dpverify.privacy_loss.losses.renyi import RenyiCurve


def test_divergences_add_up() -> None:
    # 100 steps of rho are one of 100 rho, and Gaussian noise, of that rho, has less.
    many, one = (Steps([(ConcentratedStep(rho), count)]).curve() for rho, count in ((0.005, 100), (0.5, 1)))
    for delta in (1e-3, 1e-9):
        assert many.epsilon(delta).upper == pytest.approx(one.epsilon(delta).upper, rel=1e-9)
        noise = Steps([(NoisyStep(10.0), 100)]).curve().epsilon(delta)
        assert many.epsilon(delta).lower == 0.0
        assert noise.upper < many.epsilon(delta).upper < 1.2 * noise.lower
    assert Steps([(ConcentratedStep(0.005, 0.01), 100)]).curve().epsilon(1e-5).upper == pytest.approx(
        1.0 + many.epsilon(1e-5).upper, rel=1e-9
    )


def test_a_table_uses_the_least_order_that_is_known() -> None:
    first, second = RenyiStep([2, 8], [0.1, 0.5]), RenyiStep([4.0, 6.0], [0.2, 0.1])
    parts = [(first, 3), (second, 2), (ConcentratedStep(0.01), 1)]
    curve = pooled(parts)  # type: ignore[arg-type]
    table = [
        (2.0, 3 * Fraction(0.1) + 2 * Fraction(0.1)),
        *((at, 3 * Fraction(0.5) + 2 * Fraction(0.1)) for at in (4.0, 6.0)),
    ]
    assert curve.epsilon(1e-3) == RenyiCurve(Fraction(0.01), Fraction(0), table).epsilon(1e-3)


def test_it_composes_with_noise_as_an_upper_end() -> None:
    # In the place of half of the noise: more than the noise, and less than its divergences alone.
    mixed = [(ConcentratedStep(0.005), 50), (NoisyStep(10.0), 50)]
    found = dpverify.account(mixed, delta="1e-6", relative_width=1e-3)
    alone = Steps([(NoisyStep(10.0), 50)]).curve().epsilon(1e-6)
    assert 0.99 * alone.lower < found.epsilon.lower <= alone.upper
    assert Steps([(NoisyStep(10.0), 100)]).curve().epsilon(1e-6).upper < found.epsilon.upper
    assert found.epsilon.upper < Steps([(ConcentratedStep(0.005), 100)]).curve().epsilon(1e-6).upper
    assert found.notes[-1].endswith("which prove no lower end: it is that of all others, and 0 without any")
    assert "Note: of some steps nothing but" in str(found)
    assert found.to_dict()["steps"][0] == {"rho": 0.005, "xi": 0.0, "instances": 50}


def test_a_pair_lies_between_noise_of_that_rho_and_the_curve() -> None:
    curve = RenyiCurve(Fraction(1, 50), Fraction(0))
    pair = pair_of(curve, 1e-20)
    up = pair._pair.up
    noise = Steps([(NoisyStep(5.0), 1)]).curve()
    for epsilon in (0.0, 0.1, 0.5, 1.3):  # at 0 the convex hull is less than the curve itself
        assert noise.delta(epsilon).upper < up.delta(epsilon).upper <= 1.02 * curve.delta(epsilon).upper


def test_limits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^values must have one number for each of orders, at least one, not 1 for 2"):
        RenyiStep([2, 3], [0.1])
    with pytest.raises(ValueError, match=r"^orders=2\.0 must be a finite number in \(3, inf\)"):
        RenyiStep([3, 2], [0.1, 0.1])
    with pytest.raises(ValueError, match=r"^values=-0\.1 must be"):
        RenyiStep([3], [-0.1])
    with pytest.raises(TypeError, match=r"^orders=2 must be a sequence of numbers\."):
        RenyiStep(2, 0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^rho=0\.0 must be"):
        ConcentratedStep(0.0)
    with pytest.raises(CapacityError, match=r"^Renyi divergences give losses of .*, and floats hold up to 700\."):
        pair_of(RenyiCurve(Fraction(1000), Fraction(0)), 1e-9)
    assert str(RenyiStep([2, 3], [0.1, 0.2])) == "Renyi divergences of 2 orders, all records"
    assert "and xi = 0.5, all records" in str(ConcentratedStep(1.0, 0.5))
