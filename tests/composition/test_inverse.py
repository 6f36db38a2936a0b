"""Composition backwards: what is returned is within the budget, and the largest that is."""

import json
import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.composition.inverse import per_instance_budget
from dpverify.composition.theorems import CompositionTheorem, compose
from dpverify.guarantee import Budget, InfeasibleBudgetError
from tests.refusals import refused

BASIC, ADVANCED, OPTIMAL = CompositionTheorem

epsilons = st.floats(1e-6, 3.0)


@given(st.sampled_from(CompositionTheorem), epsilons, st.floats(0.0, 1e-2), st.integers(1, 2000), st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_what_is_returned_composes_to_within_the_budget_and_one_float_more_does_not(
    theorem: CompositionTheorem, epsilon: float, delta: float, instances: int, sparsity: int
) -> None:
    budget = Budget(epsilon, delta)
    if theorem is ADVANCED and delta / 2 == 0.0:
        with refused("delta", InfeasibleBudgetError):
            per_instance_budget(budget, instances, sparsity=sparsity, composition=theorem)
        return
    found = per_instance_budget(budget, instances, sparsity=sparsity, composition=theorem)
    composed = found.composed()
    assert composed[0] <= budget.epsilon
    assert composed[1] <= budget.delta

    def again(epsilon0: float, delta0: float) -> tuple[float, float]:
        return compose(theorem, epsilon0, delta0, instances, sparsity=sparsity, delta_slack=found.delta_slack)

    # Two units in the last place for the rounding of the composed value to a float.
    assert again(found.epsilon0 * (1 + 2**-50), found.delta0)[0] > budget.epsilon
    if delta > 1e-290:
        assert again(found.epsilon0, found.delta0 * (1 + 2**-50))[1] > budget.delta


def test_running_example() -> None:
    # (2, 1e-6) over 768 instances with an even split. Without its drift term, the theorem would give 0.0134.
    found = {
        theorem: per_instance_budget(Budget("2", "1e-6"), 768, composition=theorem) for theorem in CompositionTheorem
    }
    assert found[BASIC].epsilon0 == pytest.approx(2 / 768, rel=1e-15)
    assert found[ADVANCED].epsilon0 == pytest.approx(0.012578318097619, rel=1e-13)
    assert found[OPTIMAL].epsilon0 == pytest.approx(0.015733640262541, rel=1e-13)
    assert found[ADVANCED].delta0 == pytest.approx(5e-7 / 768, rel=1e-15)
    assert 2 / math.sqrt(2 * 768 * math.log(2e6)) == pytest.approx(0.0134, abs=1e-5)
    assert compose(ADVANCED, 0.0134, 6.5e-10, 768, delta_slack=5e-7)[0] == pytest.approx(2.13922, abs=1e-5)


def test_pure_composition() -> None:
    budget = Budget(1, 0)
    for theorem in (BASIC, OPTIMAL):
        found = per_instance_budget(budget, 3, sparsity=2, composition=theorem)
        assert (found.delta0, found.delta_slack) == (0.0, 0.0)
        assert Fraction(found.epsilon0) * 6 <= 1 < Fraction(math.nextafter(found.epsilon0, 1)) * 6
        assert found.composed() == (1.0, 0.0)
    # All of delta on the slack: pure mechanisms, advanced composition.
    found = per_instance_budget(Budget(1, "1e-6"), 3000, composition=ADVANCED, delta_slack="1e-6")
    assert found.delta0 == 0.0
    assert found.composed()[1] <= 1e-6


def test_to_dict_is_plain_json() -> None:
    found = per_instance_budget(Budget(2, "1e-6"), 10, composition=ADVANCED)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert found.to_dict()["composition"] == "advanced"


def test_a_split_that_the_theorem_cannot_use_is_refused() -> None:
    with pytest.raises(ValueError, match=r"delta_slack for basic composition=0\.5 must be"):
        per_instance_budget(Budget(1, "1e-6"), 3, composition=BASIC, delta_slack=0.5)
    with refused("delta_slack='2e-6'"):
        per_instance_budget(Budget(1, "1e-6"), 3, composition=OPTIMAL, delta_slack="2e-6")
    with pytest.raises(InfeasibleBudgetError, match=r"leaves no positive float epsilon0"):
        per_instance_budget(Budget(5e-324, 0), 3, composition=BASIC)


@pytest.mark.parametrize(
    ("epsilon", "delta", "instances"),
    [("1.695e-222", "7.5e-132", 400), ("1e-100", "1e-100", 10), ("1e-74", "1e-80", 400), ("3e-290", "1e-289", 3)],
)
def test_optimal_composition_of_tiny_budgets_is_as_large_as_the_sum_over_all_lies_allows(
    epsilon: str, delta: str, instances: int
) -> None:
    budget = Budget(epsilon, delta)
    found = per_instance_budget(budget, instances, composition=OPTIMAL)
    assert found.composed()[0] <= budget.exact_epsilon
    assert found.composed()[1] <= budget.exact_delta
    assert found.epsilon0 >= per_instance_budget(budget, instances, composition=BASIC).epsilon0 * (1 - 1e-15)
    with mp.workdps(700):

        def slack(epsilon0: Any) -> Any:
            lies = range(instances + 1)
            gains = (mp.exp((instances - n) * epsilon0) - mp.exp(mp.mpf(epsilon) + n * epsilon0) for n in lies)
            terms = (mp.binomial(instances, n) * max(gain, mp.mpf(0)) for n, gain in zip(lies, gains, strict=True))
            return mp.fsum(terms) / (1 + mp.exp(epsilon0)) ** instances

        assert (
            slack(mp.mpf(found.epsilon0)) <= found.delta_slack < slack(mp.mpf(found.epsilon0) * (1 + mp.mpf("1e-12")))
        )


@pytest.mark.parametrize("theorem", [OPTIMAL, ADVANCED])
def test_all_of_delta_as_slack_is_no_more_than_delta(theorem: CompositionTheorem) -> None:
    # Rounded up once more, and then for print, 3e-6 was stated as 3.01e-6.
    found = per_instance_budget(("1", "3e-6"), 10, composition=theorem, delta_slack="3e-6")
    assert found.composed()[1] == found.delta_slack <= Fraction("3e-6")
