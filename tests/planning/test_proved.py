"""What a search finds is proved again, whatever it looked for."""

from __future__ import annotations

import pytest

from dpverify.changes import Full
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.guarantee import Budget, InfeasibleBudgetError, ThreatModel
from dpverify.planning.account import account
from dpverify.planning.proved import Search, TargetEpsilon

TARGET = TargetEpsilon(Full(4), Budget("1", "1e-5"), ThreatModel.COMMUNICATION)


@pytest.mark.parametrize("margin", [None, 0.02, 0.2])
def test_what_is_found_is_within_the_budget(margin: float | None) -> None:
    protocol, epsilon = Search(BITSUM_CLAIMS["nb"], 200, error_margin=margin).proved(TARGET)
    assert epsilon <= 1.0
    assert account(protocol, instances=4, delta="1e-5").epsilon.lower <= epsilon


def test_a_search_that_misses_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = BITSUM_CLAIMS["poisson"]
    asked: list[float] = []

    def careless(users: int, composed: TargetEpsilon, aim: float, most: float | None = None) -> object:
        asked.append(aim)
        return claims.protocol(users, 1.0)

    monkeypatch.setattr(type(claims), "least_error", lambda self, *words: careless(*words))
    with pytest.raises(InfeasibleBudgetError, match="cannot be proved for any parameters of poisson"):
        Search(claims, 200).proved(TARGET)
    assert asked == sorted(asked, reverse=True)
    assert len(asked) == 8
