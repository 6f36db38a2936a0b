"""The closed variances of local means against sums over the probabilities, in floats, balls and symbols."""

import math

import pytest
from mpmath import fp

from dpverify.formulas.contexts import SympyContext, arb_context
from dpverify.formulas.protocols import local_means


@pytest.mark.parametrize("levels", [2, 3, 7])
def test_levels(levels: int) -> None:
    grown = math.exp(0.8)
    kept = (grown - 1.0) / (grown - 1.0 + levels)
    assert float(local_means.contrast(fp, 0.8, levels)) == pytest.approx(kept, rel=1e-14)
    for level in range(levels):
        keep, other = grown / (grown - 1.0 + levels), 1.0 / (grown - 1.0 + levels)
        law = [keep if r == level else other for r in range(levels)]
        mean = sum(r * p for r, p in enumerate(law))
        variance = sum((r - mean) ** 2 * p for r, p in enumerate(law)) / kept**2
        found = local_means.levels_variance(fp, 0.8, levels, level - (levels - 1) / 2)
        assert float(found) == pytest.approx(variance, rel=1e-12)


def test_two_levels_are_one_bit_and_randomized_response() -> None:
    for context in (fp, SympyContext()):
        wanted = local_means.response_variance(context, "0.7" if context is not fp else 0.7)
        found = local_means.levels_variance(context, "0.7" if context is not fp else 0.7, 2, context.convert(1) / 2)
        assert abs(float(found - wanted)) < 1e-12
    assert local_means.one_bit_variance(fp, 0.7, 1) == pytest.approx(local_means.response_variance(fp, 0.7), rel=1e-14)


def test_balls_contain_the_floats() -> None:
    with arb_context() as ctx:
        for found, ball in (
            (local_means.laplace_variance(fp, 0.3), local_means.laplace_variance(ctx, 0.3)),
            (local_means.posterior_variance(fp, 0.3), local_means.posterior_variance(ctx, 0.3)),
            (
                local_means.discrete_laplace_variance(fp, 0.3, 4, 0.25),
                local_means.discrete_laplace_variance(ctx, 0.3, 4, 0.25),
            ),
        ):
            assert abs(float(found / float(ball)) - 1.0) < 1e-13


def test_discrete_noise_tends_to_continuous() -> None:
    fine = local_means.discrete_laplace_variance(fp, 2.0, 10**6, 0.5)
    assert float(fine) == pytest.approx(float(local_means.laplace_variance(fp, 2.0)), rel=1e-6)
