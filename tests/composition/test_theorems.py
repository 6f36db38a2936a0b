"""Composition forwards: bounds that hold and are tight."""

import math
from fractions import Fraction
from typing import Any

import flint
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.composition.theorems import CompositionTheorem, compose
from dpverify.formulas import composition as closed_forms
from dpverify.formulas.contexts import arb_context
from dpverify.privacy_loss.losses import two_valued
from tests.refusals import refused

BASIC, ADVANCED, OPTIMAL = CompositionTheorem

counts = st.integers(1, 40)
epsilons = st.floats(1e-6, 3.0)
slacks = st.floats(1e-15, 0.3)


@given(epsilons, counts, slacks)
@settings(deadline=None)
def test_optimal_epsilon_is_where_the_reference_divergence_meets_the_slack(
    epsilon0: float, mechanisms: int, slack: float
) -> None:
    epsilon, _ = compose(OPTIMAL, epsilon0, 0.0, mechanisms, delta_slack=slack)
    with mpmath.mp.workdps(50):
        assert closed_forms.optimal_slack(mpmath.mp, epsilon0, epsilon, mechanisms) <= slack
        if epsilon > 0:
            below = closed_forms.optimal_slack(mpmath.mp, epsilon0, epsilon * (1 - 1e-14), mechanisms)
            assert below > slack * (1 - 1e-30)


@pytest.mark.parametrize("epsilon0", [0.0157, 0.3, 3.0])
def test_truncated_tails_still_bound_the_full_sum(epsilon0: float) -> None:
    mechanisms = 768
    for slack in (0.1, 1e-6, 1e-40):
        epsilon, _ = compose(OPTIMAL, epsilon0, 0.0, mechanisms, delta_slack=slack)
        with mpmath.mp.workdps(60):
            assert closed_forms.optimal_slack(mpmath.mp, epsilon0, epsilon, mechanisms) <= slack
            assert closed_forms.optimal_slack(mpmath.mp, epsilon0, epsilon * (1 - 1e-14), mechanisms) > slack


@pytest.mark.parametrize("trials", [1, 2, 9, 130])
@pytest.mark.parametrize("odds", [Fraction(1, 50), Fraction(4, 5), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("guard", [None, 191])
def test_binomial_tails_hold_the_exact_sum(
    monkeypatch: pytest.MonkeyPatch, trials: int, odds: Fraction, guard: int | None
) -> None:
    if guard is not None:  # the terms that are cut off are most of them: their bound must hold all the same
        monkeypatch.setattr(two_valued, "_GUARD", guard)
    weights = [math.comb(trials, k) * odds**k for k in range(trials + 1)]
    with arb_context(192):
        ratio = flint.arb(odds.numerator) / odds.denominator
        for most in range(-1, trials + 1):
            exact = sum(weights[: most + 1], Fraction(0)) / sum(weights)
            found = two_valued._lower_tail(trials, most, ratio)
            assert abs(found - flint.arb(exact.numerator) / exact.denominator).contains(0)
            if guard is None:
                assert found.rad() < 1e-30


@given(epsilons, st.just(0.0) | st.floats(1e-300, 1e-3), counts, st.integers(1, 4), slacks)
@settings(deadline=None, max_examples=50)
def test_optimal_is_never_looser(epsilon0: float, delta0: float, instances: int, sparsity: int, slack: float) -> None:
    def bound(theorem: CompositionTheorem, delta_slack: float) -> tuple[float, float]:
        return compose(theorem, epsilon0, delta0, instances, sparsity=sparsity, delta_slack=delta_slack)

    optimal, advanced, basic = bound(OPTIMAL, slack), bound(ADVANCED, slack), bound(BASIC, 0.0)
    grouped = compose(OPTIMAL, sparsity * epsilon0, min(sparsity * delta0, 0.5), instances, delta_slack=slack)
    pairs = (optimal, advanced), (optimal, grouped), (bound(OPTIMAL, 0.0), basic)
    for (epsilon, delta), (other_epsilon, other_delta) in pairs:
        assert epsilon <= other_epsilon * (1 + 1e-15)
        assert delta <= other_delta * (1 + 1e-15)


def test_many_mechanisms_meet_the_normal_limit() -> None:
    # A million mechanisms with eps0 = 1/1000 are close to a Gaussian mechanism of sensitivity / noise = 1.
    epsilon, _ = compose(OPTIMAL, 1e-3, 0.0, 10**6, delta_slack=1e-6)
    gaussian = mpmath.ncdf(0.5 - epsilon) - mpmath.exp(epsilon) * mpmath.ncdf(-0.5 - epsilon)
    assert float(gaussian) == pytest.approx(1e-6, rel=1e-2)


def test_a_large_epsilon0_is_no_trap() -> None:
    # Beyond any exponential a ball can hold, the sum of the epsilons still bounds.
    assert compose(OPTIMAL, 1e300, 0.0, 3, delta_slack=1e-6)[0] >= 2.9e300
    with refused("epsilon0=1000.0"):
        compose(ADVANCED, 1000.0, 0.0, 3, delta_slack=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((BASIC, 0.0, 0.0, 1, 1, 0.0), r"epsilon0=0\.0 must be a finite number in \(0, inf\)"),
        ((BASIC, 1.0, 1.0, 1, 1, 0.0), r"delta0=1\.0 must be a finite number in \[0, 1\)"),
        ((BASIC, 1.0, 0.0, 0, 1, 0.0), r"instances=0 must be an integer in \[1, inf\)"),
        ((BASIC, 1.0, 0.0, 1, 0, 0.0), r"sparsity=0 must be an integer in \[1, inf\)"),
        ((BASIC, 1.0, 0.0, 1, 1, 0.1), r"delta_slack for basic composition=0\.1 must be .* in \[0, 0\]"),
        ((ADVANCED, 1.0, 0.0, 1, 1, 0.0), r"delta_slack for advanced composition=0\.0 must be .* in \(0, 1\)"),
        ((OPTIMAL, 1.0, 0.0, 1, 1, 1.0), r"delta_slack for optimal composition=1\.0 must be .* in \[0, 1\)"),
        ((BASIC, 1.0, 0.1, 10, 1, 0.0), r"delta0=0\.1 composes to delta=1\.0\d*, which is not in \[0, 1\)"),
        (("exact", 1.0, 0.1, 10, 1, 0.0), r"composition='exact' must be one of basic, advanced, optimal"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[Any, ...], message: str) -> None:
    theorem, epsilon0, delta0, instances, sparsity, slack = arguments
    with pytest.raises(ValueError, match=message):
        compose(theorem, epsilon0, delta0, instances, sparsity=sparsity, delta_slack=slack)
