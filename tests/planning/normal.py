"""Normal noise in place of every bitsum's plan: the choice of features does not depend on it, and it is quick."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from dpverify.guarantee import Budget, InfeasibleBudgetError
from dpverify.planning.plan import PlanRow, plan
from dpverify.planning.sweeps import setting


def normal_noise(
    monkeypatch: pytest.MonkeyPatch, *, factor: float = 1.0, refuse: Callable[..., str | None] = lambda **asked: None
) -> list[dict[str, object]]:
    """Plan so from now on, but where `refuse` gives a reason; return what is asked, by argument name."""
    heard: list[dict[str, object]] = []

    def planned(*, bitsum: str, budget: Budget, users: int, squared_change: float | None, **more: Any) -> PlanRow:
        asked = {"bitsum": bitsum, "budget": Budget.of(budget), "users": users, **more}
        heard.append(asked)
        if reason := refuse(**asked):
            raise InfeasibleBudgetError(reason)
        row = plan("central-gaussian", budget, users=users, instances=1)
        spread = float(squared_change or more["instances"]) ** 0.5  # all bits, where nothing is said of them
        return dataclasses.replace(row, bitsum=bitsum, bitsum_rmse=factor * row.bitsum_rmse * spread)

    monkeypatch.setattr(setting, "plan", planned)
    return heard
