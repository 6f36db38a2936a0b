"""One negative binomial noise: exact law, Theorem 39's slack, Lemma 38, and the Poisson limit of the least error."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.guarantee import Budget, InfeasibleBudgetError
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.planning.proved import TargetEpsilon
from dpverify.privacy_loss.joint.joint_change import JointChange
from protocols.bitsum import Estimate, NegativeBinomial
from tests.claims.bitsum.contracts import BitsumClaimsContract, negative_binomial_pmf

CLAIMS = BITSUM_CLAIMS["nb"]


class TestNegativeBinomialClaims(BitsumClaimsContract):
    protocol = NegativeBinomial(3, 4.0, 0.3)
    size = 60

    def user_law(self, bit: int) -> np.ndarray:
        protocol = self.protocol
        noise = negative_binomial_pmf(protocol.shape / protocol.users, protocol.p, self.size)
        return np.roll(noise, bit)


class TestOverestimate(TestNegativeBinomialClaims):
    protocol = NegativeBinomial(3, 4.0, 0.3, estimate=Estimate.OVER)


class TestUnderestimate(TestNegativeBinomialClaims):
    protocol = NegativeBinomial(3, 4.0, 0.3, estimate=Estimate.UNDER)

    def user_law(self, bit: int) -> np.ndarray:
        return super().user_law(1 - bit)

    def test_messages_per_user(self) -> None:
        # The fraction is that of the zeros: see the twin.
        noise = self.protocol.noise_mean / 3
        assert CLAIMS.messages_per_user(self.protocol, 1.0) == pytest.approx(1.0 + noise)


def test_published_parameters_are_those_of_theorem_39_and_their_range_is_noted() -> None:
    assert CLAIMS.published(10, 0.5, 1e-6) == NegativeBinomial(10, 3 * (1 + math.log(1e6)), math.exp(-0.2 * 0.5))
    assert not CLAIMS.published_notes(10, 0.999, 1e-12)
    assert "0 < epsilon0 < 1" in CLAIMS.published_notes(10, 1.0, 1e-6)[0]


@pytest.mark.parametrize(("budget", "instances"), [(Budget("1", "1e-6"), 1), (Budget("2", "1e-6"), 768)])
def test_least_error_is_near_poissons(budget: Budget, instances: int) -> None:
    nb, poisson = (plan(name, budget, users=30_000, instances=instances) for name in ("nb", "poisson"))
    assert poisson.bitsum_rmse < nb.bitsum_rmse < 1.0101 * poisson.bitsum_rmse
    assert nb.messages_per_user <= poisson.messages_per_user
    assert budget.epsilon * 0.999 < nb.guarantee.epsilon <= budget.epsilon
    published = plan("nb", budget, users=30_000, instances=instances, method="published")
    assert published.bitsum_rmse > 30 * nb.bitsum_rmse
    assert published.messages_per_user > nb.messages_per_user


def test_messages_trade_against_error() -> None:
    budget, scale = Budget("1", "1e-6"), {"users": 100, "instances": 32}
    free = plan("nb", budget, **scale)
    bound = 1.0 + 0.9 * (free.messages_per_user - 1.0)
    tight = plan("nb", budget, **scale, max_messages_per_user=bound)
    assert tight.messages_per_user <= bound
    assert tight.bitsum_rmse > free.bitsum_rmse
    assert tight.guarantee.epsilon <= 1.0


def test_a_single_instance_has_hardly_any_trade() -> None:
    with pytest.raises(InfeasibleBudgetError, match=r"max_messages_per_user=1\.2 is too few"):
        plan("nb", Budget("1", "1e-6"), users=100, instances=1, max_messages_per_user=1.2)


@pytest.mark.long
def test_joint_changes_at_an_ample_budget_take_few_integrals(monkeypatch: pytest.MonkeyPatch) -> None:
    # Only whether no noise is too likely matters: it took fifteen integrals of two seconds each, and more than 30 s.
    integrals: list[float] = []
    integrate = JointChange._integrate

    def counted(self: JointChange, tilt: float, most: float) -> None:
        integrals.append(tilt)
        integrate(self, tilt, most)

    monkeypatch.setattr(JointChange, "_integrate", counted)
    row = plan("nb", ("500", "1e-12"), users=5_000, instances=100, squared_change=0.6)
    assert row.guarantee.epsilon <= 500.0
    assert row.bitsum_rmse < 6.0
    assert len(integrals) <= 6


@pytest.mark.long
def test_the_search_does_not_fall_for_noise_far_too_skewed(monkeypatch: pytest.MonkeyPatch) -> None:
    # From a value next to that of Poisson noise a step led to losses of 1.8, whose windows took 1.4 GB and 17 s.
    largest: list[float] = []
    asked = TargetEpsilon.__call__

    def counted(self: TargetEpsilon, pairs: Any, **options: Any) -> float:
        largest.append(pairs[0].largest_loss)
        return asked(self, pairs, **options)

    monkeypatch.setattr(TargetEpsilon, "__call__", counted)
    row = plan("nb", ("0.1097", "7.276e-5"), users=74_909, instances=2_307)
    assert row.guarantee.epsilon <= 0.1097
    assert row.bitsum_rmse < 1136.6
    assert row.messages_per_user < 1.183
    assert max(largest) < 0.1
    assert len(largest) <= 9


@pytest.mark.parametrize(("variance", "epsilon", "rests"), [(2, 0.3, (0.825, 0.89)), (5, 1.5, (0.95, 0.975))])
def test_a_smaller_p_at_the_same_variance_may_be_less_private(
    variance: float, epsilon: float, rests: tuple[float, float]
) -> None:
    def delta(rest: float) -> float:
        z = np.arange(400)
        law = stats.nbinom.pmf(z, variance * rest**2 / (1 - rest), rest)
        up, down = np.append(0.0, law), np.append(law, 0.0)
        both = (np.maximum(p - math.exp(epsilon) * q, 0.0).sum() for p, q in ((up, down), (down, up)))
        found = account(NegativeBinomial(9, variance * rest**2 / (1 - rest), 1 - rest), epsilon=epsilon).delta
        exact: float = max(both)
        assert found.lower - 1e-9 <= exact <= found.upper + 1e-9
        return exact

    larger_p, smaller_p = map(delta, rests)
    assert 1.015 * larger_p < smaller_p < 1.03 * larger_p


@pytest.mark.long
def test_the_search_for_few_messages_takes_few_bounds_of_joint_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    # Next to Poisson noise epsilon is no power of 1 - p, and noisy: 15 of them took 7 s. A guess takes a fifth.
    asked = list[bool]()
    bound = JointChange.epsilon_upper

    def counted(self: JointChange, delta: float, **options: float) -> float:
        asked.append(not self._grid.guess)
        return bound(self, delta, **options)

    monkeypatch.setattr(JointChange, "epsilon_upper", counted)
    row = plan("nb", ("0.3", "1e-8"), users=85_742, instances=64, squared_change=0.33)
    assert row.guarantee.epsilon <= 0.3
    assert row.bitsum_rmse < 12.05
    assert row.messages_per_user < 1.00163
    assert sum(asked) <= 5
    assert len(asked) <= 14
