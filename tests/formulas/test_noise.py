"""Formulas for negative binomial noise, Pure and the baselines: one body in all contexts, ranges, and identities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import pytest

from dpverify.formulas import FormulaRangeError, baselines, negative_binomial, pure
from dpverify.formulas.contexts import SympyContext, arb_context, enclosure

FORMULAS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "nb.p": (negative_binomial.p, (0.3,)),
    "nb.shape": (negative_binomial.shape, (1e-6,)),
    "nb.mean": (negative_binomial.mean, (0.8, 44.0)),
    "nb.variance": (negative_binomial.variance, (0.8, 44.0)),
    "pure.noise_epsilon": (pure.noise_epsilon, (2.5, 0.25)),
    "pure.drop_probability": (pure.drop_probability, (0.7, 0.25, 1000)),
    "pure.variance": (pure.variance, (0.6, 0.25, 700)),
    "pure.released_bias": (pure.released_bias, (0.25, 700)),
    "pure.sum_view_loss": (pure.sum_view_loss, (0.6, 0.25)),
    "pure.message_view_loss": (pure.message_view_loss, (0.6, 0.25)),
    "baselines.discrete_laplace_p": (baselines.discrete_laplace_p, (0.7,)),
    "baselines.local_flip_probability": (baselines.local_flip_probability, (0.7,)),
    "baselines.discrete_gaussian_sigma": (baselines.discrete_gaussian_sigma, (0.7, 1e-6)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_all_contexts_agree(name: str) -> None:
    formula, arguments = FORMULAS[name]
    with arb_context() as ctx:
        ball = enclosure(formula(ctx, *arguments))
    assert ball.width <= 1e-15 * abs(ball.upper)
    with mpmath.mp.workdps(40):
        assert ball.lower <= formula(mpmath.mp, *arguments) <= ball.upper
    assert float(formula(mpmath.fp, *arguments)) == pytest.approx(ball.upper, rel=1e-12)
    assert float(formula(SympyContext(), *arguments)) == pytest.approx(ball.upper, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: negative_binomial.p(mpmath.fp, 0.0), "epsilon0=0.0 must be in (0, inf)."),
        (lambda: negative_binomial.shape(mpmath.fp, 1.0), "delta0=1.0 must be in (0, 1)."),
        (lambda: negative_binomial.mean(mpmath.fp, 1.0, 3.0), "p=1.0 must be in [0, 1)."),
        (lambda: negative_binomial.tail_shape(mpmath.fp, 0.1, 0.0), "beta=0.0 must be in (0, 1)."),
        (lambda: pure.noise_epsilon(mpmath.fp, 1.0, 0.6), "rho=0.6 must be in (0, 0.5]."),
        (lambda: pure.drop_probability(mpmath.fp, 0.001, 0.5, 100), "the published drop probability q="),
        (lambda: pure.variance(mpmath.fp, 0.5, 1.0, 3), "q=1.0 must be in [0, 1)."),
        (lambda: pure.sum_view_loss(mpmath.fp, 0.0, 0.5), "p=0.0 must be in (0, 1)."),
        (lambda: pure.message_view_loss(mpmath.fp, 0.5, 0.0), "q=0.0 must be in (0, 1)."),
        (lambda: baselines.local_flip_probability(mpmath.fp, -1.0), "epsilon0=-1.0 must be in (0, inf)."),
        (lambda: baselines.discrete_gaussian_sigma(mpmath.fp, 1.0, 0.0), "delta0=0.0 must be in (0, 1)."),
    ],
)
def test_ranges(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(FormulaRangeError) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_zero_concentrated_epsilon_is_recovered() -> None:
    sigma = float(baselines.discrete_gaussian_sigma(mpmath.fp, 0.7, 1e-6))
    rho = 1 / (2 * sigma**2)
    assert rho + 2 * math.sqrt(rho * math.log(1e6)) == pytest.approx(0.7, rel=1e-12)
