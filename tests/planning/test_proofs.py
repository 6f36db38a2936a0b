"""The epsilon of a plan is what was proved for its parameters, whatever the search that found them believed."""

import math
from fractions import Fraction
from typing import Any

import pytest

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.bitsum.baselines import CentralDiscreteLaplaceClaims, CentralGaussianClaims
from dpverify.claims.bitsum.pure import PureClaims
from dpverify.claims.bitsum.randomized_response import RandomizedResponseClaims
from dpverify.claims.bitsum.three_nb import ThreeNBClaims
from dpverify.guarantee import Budget, InfeasibleBudgetError, Interval, Side
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.privacy_loss.datasets.report_sums import ReportSums
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from protocols.bitsum import Pure, RandomizedResponse, ThreeNB
from protocols.bitsum.baselines import CentralDiscreteLaplace, CentralGaussian

BUDGET = Budget(1, "1e-6")


def stating(monkeypatch: pytest.MonkeyPatch, factor: float) -> list[tuple[Any, float]]:
    """Make the proof of a plan with Poisson noise state `factor` times its epsilon; return what was stated for what."""
    claims, stated = type(BITSUM_CLAIMS["poisson"]), []
    proof = claims.guaranteed_epsilon

    def looser(self: Any, protocol: Any, bound: Any) -> float:
        stated.append((protocol, factor * proof(self, protocol, bound)))
        return stated[-1][1]

    monkeypatch.setattr(claims, "guaranteed_epsilon", looser)
    return stated


@pytest.mark.parametrize("factor", [pytest.param(1.0002, marks=pytest.mark.long), 1.0005])
def test_parameters_whose_proof_exceeds_the_target_are_given_up(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    stated = stating(monkeypatch, factor)
    row = plan("poisson", BUDGET, users=1000, instances=4)
    assert stated[0][1] > 1.0
    assert stated[-1] == (row.protocol, row.guarantee.epsilon)
    assert row.guarantee.epsilon <= 1.0
    assert account(row.protocol, instances=4, delta=1e-6).epsilon.lower <= row.guarantee.epsilon / factor


def test_a_budget_that_no_proof_meets_is_refused_and_not_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    stating(monkeypatch, 1.5)
    with pytest.raises(InfeasibleBudgetError, match="cannot be proved"):
        plan("poisson", BUDGET, users=1000, instances=4)


def test_the_stated_epsilon_is_the_proved_one(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = stating(monkeypatch, 0.5)
    row = plan("poisson", BUDGET, users=1000, instances=4)
    assert row.guarantee.epsilon == stated[-1][1] < 0.51


@pytest.mark.parametrize("doubtful", [False, True])
def test_a_published_guarantee_is_stated_as_proved_only_if_it_is(
    monkeypatch: pytest.MonkeyPatch, doubtful: bool
) -> None:
    if doubtful:
        # Intervals that do not tell whether the budget is met.
        monkeypatch.setattr(PrivacyLossDistribution, "delta", lambda *arguments: Interval(1e-30, 0.5))
    row = plan("rr", Budget("0.5", "1e-5"), users=20_000, instances=1, method="published", composition="basic")
    assert row.guarantee.side is (Side.ESTIMATE if doubtful else Side.UPPER_BOUND)
    assert any("does not confirm" in note for note in row.notes) is doubtful


def test_published_parameters_that_send_too_much_are_refused() -> None:
    arguments = {"users": 20_000, "instances": 1, "method": "published", "composition": "basic"}
    row = plan("3nb", Budget("0.5", "1e-5"), **arguments)
    least = row.messages_per_user
    assert plan("3nb", Budget("0.5", "1e-5"), **arguments, max_messages_per_user=least) == row
    with pytest.raises(InfeasibleBudgetError, match="max_messages_per_user"):
        plan("3nb", Budget("0.5", "1e-5"), **arguments, max_messages_per_user=least * (1 - 1e-9))


@pytest.mark.parametrize("instances", [1, 7])
def test_a_pure_account_holds_all_of_the_loss_of_one_instance(monkeypatch: pytest.MonkeyPatch, instances: int) -> None:
    monkeypatch.setattr(type(BITSUM_CLAIMS["rr"]), "pure_epsilon", lambda *arguments: Interval(1.0, 1.1))
    found = account(RandomizedResponse(10, 0.25), instances=instances, delta=0.0).epsilon
    assert found.lower <= instances * 1.0
    assert found.upper >= instances * 1.1
    assert found.width <= 0.1 * instances + 1e-12


def test_a_pure_account_of_a_loss_without_a_bound_keeps_its_lower_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(BITSUM_CLAIMS["rr"]), "pure_epsilon", lambda *arguments: Interval(1.0, math.inf))
    found = account(RandomizedResponse(10, 0.25), instances=7, delta=0.0).epsilon
    assert found.lower <= 7.0
    assert found.upper == math.inf


def test_a_pure_account_charges_its_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    for loss in (0.1, 1 / 3, 0.7, 1.1, 2.3):
        monkeypatch.setattr(type(BITSUM_CLAIMS["rr"]), "pure_epsilon", lambda *_, loss=loss: Interval(loss, loss))
        for instances in (3, 7, 11, 49):
            found = account(RandomizedResponse(10, 0.25), instances=instances, delta=0.0).epsilon
            assert Fraction(found.lower) <= instances * Fraction(loss) <= Fraction(found.upper)


@pytest.mark.parametrize("doubtful", [False, True])
def test_a_published_pure_guarantee_is_stated_as_proved_only_if_it_is(
    monkeypatch: pytest.MonkeyPatch, doubtful: bool
) -> None:
    claims = type(BITSUM_CLAIMS["central-discrete-laplace"])
    if doubtful:
        monkeypatch.setattr(claims, "pure_epsilon", lambda *arguments: Interval(0.0, 2.0))
        monkeypatch.setattr(
            claims, "published", lambda self, users, epsilon0, delta0: CentralDiscreteLaplace(users, 0.4)
        )
    row = plan("central-discrete-laplace", Budget(1, 0), users=50, instances=1, method="published", composition="basic")
    assert row.guarantee.side is (Side.ESTIMATE if doubtful else Side.UPPER_BOUND)


@pytest.mark.parametrize(
    ("claims", "protocol"),
    [
        (RandomizedResponseClaims(), RandomizedResponse(2001, 0.05)),
        (ThreeNBClaims(), ThreeNB(100, 0.7, 9.0, 0.9)),
        (PureClaims(), Pure(100, 0.7, 0.01, 9.0, 0.9)),
        (CentralDiscreteLaplaceClaims(), CentralDiscreteLaplace(100, 0.5)),
        (CentralGaussianClaims(), CentralGaussian(100, 1.5)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_private_is_proved_next_to_the_truth(claims: Any, protocol: Any) -> None:
    epsilon = 0.4
    found = account(protocol, epsilon=epsilon).delta
    # Closer than what a loose bound cuts, and far from it.
    for factor in (1.0 + 1e-6, 10.0):
        assert claims.proves(protocol, claims.threat_models[0], epsilon, found.upper * factor)
    assert not claims.proves(protocol, claims.threat_models[0], epsilon, found.lower * (1.0 - 1e-6))
    assert not claims.proves(protocol, claims.threat_models[0], epsilon, found.lower * 0.1)


def test_a_published_bound_with_room_is_proved_by_few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    made = ReportSums.__init__

    def counted(self: ReportSums, zeros: list[int], *others: Any) -> None:
        sizes.append(len(zeros))
        made(self, zeros, *others)

    monkeypatch.setattr(ReportSums, "__init__", counted)
    row = plan("rr", Budget(2, "1e-6"), users=30_000, instances=768, method="published")
    assert row.guarantee.side is Side.UPPER_BOUND
    assert 0 < max(sizes) <= 40  # of 512 for a sharp bound
