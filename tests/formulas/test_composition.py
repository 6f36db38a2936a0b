"""Composition formulas against extremal products."""

from fractions import Fraction

import pytest

from dpverify.formulas import composition as comp
from dpverify.formulas.contexts import arb_context


@pytest.mark.parametrize("mechanisms", range(1, 7))
def test_optimal_composition_is_the_extremal_product(mechanisms: int) -> None:
    # The extremal (eps0, delta0)-DP pair: a revealing outcome of mass delta0, else randomized response (kairouz2015).
    odds, delta0 = Fraction(3, 2), Fraction(1, 10)
    truth, lie = (1 - delta0) * odds / (1 + odds), (1 - delta0) / (1 + odds)
    pair = [(delta0, Fraction(0)), (truth, lie), (lie, truth), (Fraction(0), delta0)]
    product = [(Fraction(1), Fraction(1))]
    for _ in range(mechanisms):
        product = [(p * x, q * y) for p, q in product for x, y in pair]
    for ratio in (Fraction(1), Fraction(5, 4), odds, Fraction(2), odds**2, Fraction(10)):
        exact = sum(max(p - ratio * q, 0) for p, q in product)
        with arb_context() as ctx:
            slack = comp.optimal_slack(ctx, ctx.log(ctx.convert(odds)), ctx.log(ctx.convert(ratio)), mechanisms)
            delta = comp.optimal_delta(ctx, delta0, slack.nonnegative_part(), mechanisms)
            assert (delta - ctx.convert(exact)).contains(0)
            assert delta.rad() < 1e-30
