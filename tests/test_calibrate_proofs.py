"""The epsilon of a plan is what was proved for its parameters, whatever the search that found them believed."""

from __future__ import annotations

from typing import Any

import pytest

from dpverify.calibrate import account, plan
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.guarantee import Budget, InfeasibleBudgetError

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


@pytest.mark.parametrize("factor", [1.0002, 1.0005])
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
