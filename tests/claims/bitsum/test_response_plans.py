"""Plans of randomized response: they spend their budget, take few accounts, and are refused in a sentence."""

import math
from typing import Any

import pytest

from dpverify.claims.bitsum import randomized_response as rr
from dpverify.guarantee import Budget, CapacityError, InfeasibleBudgetError, Side
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.planning.proved import TargetEpsilon


def test_published_against_exact_plan_at_the_main_job() -> None:
    budget = Budget("2", "1e-6")
    published = plan("rr", budget, users=30_000, instances=768, method="published")
    exact = plan("rr", budget, users=30_000, instances=768)
    assert published.bitsum_rmse > 3000
    assert exact.bitsum_rmse <= 62.5
    assert exact.guarantee.epsilon <= 2
    assert exact.guarantee.epsilon > 1.99
    assert any("outside the published range, which needs epsilon0 > sqrt(3456)" in note for note in published.notes)
    # The plan's protocol is accounted again, from scratch.
    again = account(exact.protocol, instances=768, delta=1e-6, relative_width=1e-4)
    assert again.epsilon.upper <= 2.0005
    assert again.epsilon.lower > 1.98


@pytest.mark.long
def test_a_plan_with_few_flipped_reports_is_sharp() -> None:
    # At a delta so large the search and what is then guaranteed once used different covers, and the pure plan was left.
    row = plan("rr", Budget(1, "0.9"), users=100, instances=2)
    assert row.guarantee.epsilon <= 1
    assert row.bitsum_rmse < 0.6


@pytest.mark.long
def test_a_plan_with_few_flipped_reports_spends_its_budget() -> None:
    row = plan("rr", ("9", "1e-6"), users=10**6, instances=48)
    spent = account(row.protocol, instances=48, delta=1e-6).epsilon
    assert spent.lower >= 0.999 * 9.0
    assert 0.9995 * 9.0 <= spent.upper <= 9.0


def test_the_slope_of_a_search_is_that_between_its_last_points() -> None:
    # Epsilon as a power of the error, whatever the first point was.
    seen = [(1.0, 7.0), *((error, 3.0 * error**-1.3) for error in (2.0, 2.1))]
    assert rr._slope(seen, 9.0) == pytest.approx(1.3, rel=1e-9)
    assert rr._slope(seen, 1.2) == 1.2
    assert rr._slope(seen[:1], 9.0) == rr._slope([(1.0, math.inf), (2.0, 5.0)], 9.0) == rr._SLOPE


def test_a_lone_user_falls_back_to_local_randomized_response() -> None:
    row = plan("rr", Budget(1, "1e-9"), users=1, instances=1)
    # Local RR at epsilon = 1 flips with probability 1 / (1 + e); delta = 1e-9 hardly helps.
    assert row.parameters["flip_probability"] == pytest.approx(1 / (1 + math.e), rel=2e-3)
    assert row.guarantee.epsilon <= 1


def test_a_budget_that_no_flip_probability_meets_is_refused() -> None:
    with pytest.raises(InfeasibleBudgetError, match="randomized response"):
        plan("rr", Budget("1e-13", "1e-15"), users=10, instances=1_000)
    with pytest.raises(InfeasibleBudgetError, match=r"max_messages_per_user=0\.5"):
        plan("rr", Budget(1, "1e-6"), users=100, instances=1, max_messages_per_user=0.5)
    with pytest.raises(CapacityError, match="instances=1000000000000000000 must be"):
        plan("rr", ("1", "1e-6"), users=1000, instances=10**18)


def test_a_plan_at_a_tiny_delta_is_not_that_at_none() -> None:
    row = plan("rr", ("1", "1e-60"), users=20_000, instances=8)
    assert account(row.protocol, instances=8, delta="1e-60").epsilon.lower >= 0.995


@pytest.mark.long
def test_a_search_takes_few_accounts_at_any_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    composed = TargetEpsilon.__call__

    def counted(self: TargetEpsilon, pairs: Any, **options: Any) -> float:
        asked.append(pairs)
        return composed(self, pairs, **options)

    monkeypatch.setattr(TargetEpsilon, "__call__", counted)
    # The last of them, with joint changes, is a small one of the demonstration's.
    for epsilon, users, instances, joint, most in (
        ("1e10", 1, 10**11, None, 15),
        ("2", 300, 20, None, 7),
        ("4", 60, 16, 8.0, 8),
    ):
        asked.clear()
        row = plan("rr", (epsilon, "1e-6"), users=users, instances=instances, squared_change=joint)
        assert row.guarantee.epsilon <= float(epsilon) <= row.guarantee.epsilon * (1 + 2e-4)
        assert len(asked) <= most


def test_what_is_pure_is_proved_where_floats_hold_no_window() -> None:
    for users in (1, 2):
        row = plan("rr", ("1e-9", "1e-100"), users=users, instances=10**6, method="published")
        assert row.guarantee.side is Side.UPPER_BOUND


def test_a_tiny_budget_is_met_with_the_error_of_a_normal_law() -> None:
    tiny = plan("rr", ("1e-9", "1e-12"), users=100, instances=1)
    assert tiny.bitsum_rmse < 1.01 * plan("central-gaussian", ("1e-9", "1e-12"), users=100, instances=1).bitsum_rmse
