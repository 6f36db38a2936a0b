"""Noise of any shape: its variance, which shape a budget asks for, and that no larger flood is sent than is of use."""

import math
import time
from typing import Any

import pytest

from dpverify.changes import Full
from dpverify.claims.bitsum import three_nb as three_nb_twin
from dpverify.claims.shared import divisible_noise
from dpverify.claims.shared.divisible_noise import noise_mean, noise_p
from dpverify.guarantee import Budget, CapacityError, InfeasibleBudgetError, ThreatModel
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.planning.proved import TargetEpsilon
from dpverify.privacy_loss.losses.pairs import MOST_COUNTS
from protocols.bitsum import ThreeNB


@pytest.mark.parametrize("shape", [0.5, 2.0, 40.0, 1e6])
@pytest.mark.parametrize("spread", [1e-6, 0.3, 44.0, 1e4])
def test_noise_has_the_variance_that_is_asked_for(spread: float, shape: float) -> None:
    p = noise_p(spread, shape)
    assert 0.0 < p < 1.0
    assert noise_mean(spread, shape) / (1.0 - p) == pytest.approx(spread**2, rel=1e-6)
    assert shape * p / (1.0 - p) == pytest.approx(noise_mean(spread, shape), rel=1e-6)


def test_geometric_noise_is_told_by_its_loss() -> None:
    assert noise_p(4.0, 1.0) == math.exp(-0.25)
    assert noise_mean(4.0, 1.0) == pytest.approx(noise_p(4.0, 1.0) / (1.0 - noise_p(4.0, 1.0)))
    # However little noise is asked for.
    assert noise_p(1e-9, 1.0) > 0.0
    assert noise_p(1e-300, 2.0) > 0.0


def test_one_instance_is_best_with_geometric_noise() -> None:
    assert plan("3nb", Budget("2", "1e-6"), users=1000, instances=1).protocol.shape == 1.0


def test_a_few_instances_ask_for_a_shape_in_between() -> None:
    row = plan("3nb", Budget("2", "1e-6"), users=1000, instances=8)
    assert row.protocol.shape == 2.0
    # Geometric noise needs 5.66 with an unlimited flood.
    assert row.bitsum_rmse < 5.66
    assert 1.99 < row.guarantee.epsilon <= 2.0


def test_no_more_of_a_flood_is_sent_than_is_of_use() -> None:
    row = plan("3nb", Budget("2", "1e-6"), users=10, instances=4, max_messages_per_user=1e6)
    assert row.messages_per_user < 1e4
    assert row.bitsum_rmse < 1.01 * plan("3nb", Budget("2", "1e-6"), users=10, instances=4).bitsum_rmse


def test_a_flood_beyond_what_is_listed_is_refused() -> None:
    with pytest.raises(CapacityError, match=f"at most {MOST_COUNTS} are computed"):
        account(ThreeNB(10, 0.5, 3.0, 1.0 - 1e-9, shape=2.0), instances=2, delta=1e-6)


@pytest.mark.parametrize("epsilon", ["10", "100", "700"])
def test_shapes_are_compared_by_their_errors(epsilon: str) -> None:
    # Of little noise, 1/spread is the largest loss for r = 1, and no measure of the error.
    budget = (epsilon, "1e-6")
    laplace = plan("central-discrete-laplace", budget, users=10, instances=1).bitsum_rmse
    assert plan("3nb", budget, users=10, instances=1).bitsum_rmse < laplace * math.exp(0.006 * float(epsilon))


def test_a_plan_takes_few_accounts_and_few_messages_and_pure_takes_it_over(monkeypatch: pytest.MonkeyPatch) -> None:
    three_nb_twin._least_error.cache_clear()
    three_nb_twin._guaranteed_epsilon.cache_clear()
    asked: list[object] = []
    listed = divisible_noise.negative_binomial_counts

    def counted(*law: Any, **options: Any) -> Any:
        asked.append(law)
        return listed(*law, **options)

    monkeypatch.setattr(divisible_noise, "negative_binomial_counts", counted)
    row = plan("3nb", ("2", "1e-6"), users=30_000, instances=768)
    assert row.bitsum_rmse <= 62.48
    assert row.messages_per_user <= 1.062
    assert len(asked) <= 22
    asked.clear()
    assert plan("pure", ("2", "1e-6"), users=30_000, instances=768).guarantee.epsilon == row.guarantee.epsilon
    assert not asked


@pytest.mark.long
def test_a_tiny_delta_is_met_by_a_flood_of_a_larger_shape() -> None:
    # Tails were cut at 1e-40, which no delta below it survives, and the first shape of the flood is too long to list.
    row = plan("3nb", Budget("0.06", "2e-54"), users=30_000_000, instances=1)
    assert row.guarantee.epsilon <= 0.06
    assert row.bitsum_rmse < 24.0
    assert row.messages_per_user < 1.2


@pytest.mark.long
def test_wide_noise_is_planned_for_as_quickly_as_narrow_noise() -> None:
    # Sums over every value of the noise took 60 s for the differences, and 14 s for the plan.
    target = TargetEpsilon(Full(102), Budget(7.35e-4, 1.65e-6), ThreatModel.COMMUNICATION)
    begun = time.process_time()
    found = divisible_noise.least_spreads(target, 7.35e-4)
    assert {1.0, 2.0, 4.0, 8.0} <= set(found)
    assert found[8.0] < 0.9 * found[1.0]
    row = plan("3nb", ("0.003", "1e-6"), users=10_000, instances=4)
    assert row.guarantee.epsilon <= 0.003
    assert row.bitsum_rmse < 1746.0
    assert time.process_time() - begun < 8.0


def test_no_large_shape_is_tried_where_small_ones_find_no_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: list[float] = []
    listed = divisible_noise.negative_binomial_counts

    def counted(shape: float, *law: Any, **options: Any) -> Any:
        shapes.append(shape)
        return listed(shape, *law, **options)

    monkeypatch.setattr(divisible_noise, "negative_binomial_counts", counted)
    target = TargetEpsilon(Full(81), Budget(1.938e-4, 6.25e-30), ThreatModel.COMMUNICATION)
    with pytest.raises(InfeasibleBudgetError, match="even with an unlimited flood"):
        divisible_noise.least_spreads(target, 1.938e-4)
    assert shapes == [2.0, 4.0, 8.0]
