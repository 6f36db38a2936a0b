"""Pure: both views enumerated, what is pure and what is not, and the bias of not dividing by 1 - q."""

import math
from typing import Any, ClassVar

import numpy as np
import pytest
from mpmath import fp
from scipy.signal import convolve

from dpverify.claims.bitsum.pure import RHO
from dpverify.formulas import FormulaRangeError
from dpverify.formulas.protocols import pure as formulas
from dpverify.guarantee import Budget, InfeasibleBudgetError, ThreatModel
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from protocols.bitsum import Pure
from tests.claims.bitsum.contracts import BitsumClaimsContract, negative_binomial_pmf

SUM, MESSAGES = ThreatModel.MODEL, ThreatModel.COMMUNICATION


class TestPureClaims(BitsumClaimsContract):
    protocol = Pure(2, 0.25, 0.3, 1.5, 0.2)
    size = 28
    plannable: ClassVar[dict[str, Any]] = {"users": 2000, "instances": 32}

    def user_law(self, bit: int) -> np.ndarray:
        protocol = self.protocol
        pieces = (negative_binomial_pmf(protocol.shape / protocol.users, protocol.p, self.size) for _ in range(2))
        flood = np.diag(negative_binomial_pmf(protocol.flood_shape / protocol.users, protocol.flood_p, self.size))
        noise = convolve(np.outer(*pieces), flood, method="direct")[: self.size, : self.size]
        shifted = np.roll(noise, 1, axis=0)
        shifted[0] = 0.0
        return noise if bit == 0 else protocol.drop_probability * noise + (1 - protocol.drop_probability) * shifted

    def seen(self, law: np.ndarray, threat_model: ThreatModel) -> np.ndarray:
        if threat_model is MESSAGES:
            return law
        return np.array([np.trace(law, offset) for offset in range(1 - self.size, self.size)])

    def largest_loss(self, threat_model: ThreatModel) -> float:
        losses = []
        for p, q in self.neighbours(threat_model):
            # Away from the edge of the enumeration, where its mass is cut.
            known = (p > 1e-9) & (q > 1e-9)
            losses.append(float(np.log(p[known] / q[known]).max()))
        return max(losses)

    @pytest.mark.parametrize("threat_model", [SUM, MESSAGES])
    def test_largest_loss_is_the_closed_form(self, threat_model: ThreatModel) -> None:
        claimed = account(self.protocol, delta=0.0, threat_model=threat_model).epsilon
        assert claimed.width <= 1e-15
        assert self.largest_loss(threat_model) == pytest.approx(claimed.upper, rel=1e-4)
        q = self.protocol.drop_probability
        expected = {SUM: math.log(q + (1 - q) / self.protocol.p), MESSAGES: math.log(1 / q)}[threat_model]
        if threat_model is MESSAGES:
            expected = max(expected, math.log(q + (1 - q) / self.protocol.p))
        assert expected in claimed


class TestManyDropped(TestPureClaims):
    """Here the loss ln(1/q) of no message +1 is not the largest."""

    protocol = Pure(2, 0.25, 0.7, 1.5, 0.2)

    def test_plan_meets_its_budget_and_hardly_more(self) -> None:
        """Not again: it does not depend on this protocol's parameters."""


class TestLargeShape(TestManyDropped):
    """The largest loss is approached, as that of geometric noise is attained."""

    protocol = Pure(2, 0.2, 0.3, 1.5, 0.2, 4.0)
    size = 36

    @pytest.mark.parametrize("threat_model", [SUM, MESSAGES])
    def test_largest_loss_is_the_closed_form(self, threat_model: ThreatModel) -> None:
        claimed = account(self.protocol, delta=0.0, threat_model=threat_model).epsilon
        assert claimed == account(Pure(2, 0.2, 0.3, 1.5, 0.2), delta=0.0, threat_model=threat_model).epsilon
        assert 0.7 * claimed.upper < self.largest_loss(threat_model) < claimed.upper


class TestSmallShape(TestManyDropped):
    """The largest loss is at a difference of 1, and that of the counts at (1, 0)."""

    protocol = Pure(2, 0.25, 0.3, 1.5, 0.2, 0.6)

    @pytest.mark.parametrize("threat_model", [SUM, MESSAGES])
    def test_largest_loss_is_the_closed_form(self, threat_model: ThreatModel) -> None:
        claimed = account(self.protocol, delta=0.0, threat_model=threat_model).epsilon
        assert claimed.width <= 1e-15
        assert self.largest_loss(threat_model) == pytest.approx(claimed.upper, rel=1e-9)


@pytest.mark.parametrize("flood_p", [0.0, 0.5, 0.99])
def test_no_flood_makes_the_messages_pure(flood_p: float) -> None:
    q = 1e-3
    claimed = account(Pure(50, 0.5, q, 20.0, flood_p), delta=0.0).epsilon
    assert math.log(1 / q) in claimed
    assert account(Pure(50, 0.5, 0.0, 20.0, flood_p), delta=0.0).epsilon.lower == math.inf


def test_published_messages_are_not_pure() -> None:
    q = float(formulas.drop_probability(fp, 1.0, RHO, 30_000))
    assert -math.log(q) == pytest.approx(12.7, abs=0.01)
    with pytest.raises(FormulaRangeError, match=r"largest loss 12\.69"):
        plan("pure", Budget(1, 0), users=30_000, instances=1, method="published")
    row = plan("pure", Budget(1, 0), users=30_000, instances=1, method="published", threat_model=SUM)
    assert (row.guarantee.threat_model, row.guarantee.delta) == (SUM, 0.0)
    assert account(row.protocol, delta=0.0, threat_model=SUM).epsilon.upper < 1.0


def test_too_small_a_budget_is_infeasible_not_clipped() -> None:
    with pytest.raises(FormulaRangeError, match=r"published drop probability q=.* must be in \[0, 1\)"):
        plan("pure", Budget("0.01", 0), users=30, instances=4, method="published", threat_model=SUM)


@pytest.mark.parametrize("threat_model", [SUM, MESSAGES])
@pytest.mark.parametrize("instances", [1, 7])
def test_exact_pure_plan(threat_model: ThreatModel, instances: int) -> None:
    row = plan("pure", Budget(1, 0), users=500, instances=instances, threat_model=threat_model)
    epsilon0 = 1 / instances
    assert (row.composition, row.guarantee.delta) == ("basic", 0.0)
    found = account(row.protocol, instances=instances, delta=0.0, threat_model=threat_model).epsilon
    assert 1 - 1e-12 <= found.upper <= 1 + 1e-15
    x = math.exp(-epsilon0)
    if threat_model is SUM:
        assert row.parameters["drop_probability"] == 0.0
        assert row.bitsum_rmse == pytest.approx(math.sqrt(2 * x) / (1 - x))
    else:
        assert row.parameters["drop_probability"] == pytest.approx(x)
        assert row.parameters["p"] == pytest.approx(x / (1 + x))


def test_pure_messages_beat_local_randomized_response() -> None:
    ours, local = (plan(name, Budget(1, 0), users=30_000, instances=1) for name in ("pure", "local-rr"))
    assert ours.bitsum_rmse == pytest.approx(math.sqrt(30_000 / (math.e - 1)), rel=1e-3)
    assert local.bitsum_rmse == pytest.approx(math.sqrt(30_000 * math.e) / (math.e - 1), rel=1e-9)


def test_published_flood_is_just_enough() -> None:
    row = plan("pure", Budget(1, "1e-6"), users=30_000, instances=1, method="published", composition="basic")
    found = account(row.protocol, epsilon=1.0).delta
    assert found.lower > 0.5e-6
    assert found.upper <= 1e-6
    assert "least that is enough" in row.notes[0]


def test_messages_bound() -> None:
    with pytest.raises(InfeasibleBudgetError, match=r"max_messages_per_user=0\.001"):
        plan("pure", Budget(1, 0), users=10, instances=1, max_messages_per_user=0.001)


def test_the_sum_takes_the_shape_that_the_budget_asks_for() -> None:
    many = plan("pure", Budget(2, "1e-6"), users=1000, instances=256, threat_model=SUM)
    assert many.protocol.shape > 1.0
    geometric = plan("pure", Budget(2, "1e-6"), users=1000, instances=1, threat_model=SUM)
    assert geometric.protocol.shape == 1.0
    # Discrete Laplace noise needs 50 at 256 instances, and 35.5 is about what a normal law needs.
    assert many.bitsum_rmse < 36.5
    assert 1.99 < many.guarantee.epsilon <= 2.0
