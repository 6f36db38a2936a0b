"""Fronts of sums of numbers: coarser steps, fewer messages, and each row a plan that meets the budget."""

import pytest

from dpverify import account
from dpverify.guarantee import InfeasibleBudgetError
from dpverify.planning.sums.fronts import sum_front
from dpverify.planning.sums.integers import plan_sums

BUDGET = (1, "1e-6")


def test_integers_stand_beside_their_coarser_roundings() -> None:
    found = sum_front(BUDGET, users=2000, smallest=1, largest=5, steps=(2, 1, 4), protocols=["poisson-sum"])
    assert [(row.protocol.steps, row.protocol.levels) for row in found.rows] == [(1, 1), (2, 2), (None, 4)]
    exact = plan_sums(BUDGET, users=2000, smallest=1, largest=5, protocols=["poisson-sum"])
    assert (found.rows[-1], found.curator) == (exact.plans[0], exact.curator)
    for row in found.rows:
        assert account(row.protocol, delta="1e-6").epsilon.upper <= 1
    # Bits of ratings err by a rounding of four units each: sqrt(2000) / 2 times 4.
    rounding = row_error(found.rows[0].rmse, 4.0 * 2000**0.5 / 2)
    assert rounding == pytest.approx(4.0 * found.rows[0].protocol.mean ** 0.5, rel=1e-9)
    assert found.to_dict()["rows"][0]["on_front"]


def row_error(whole: float, part: float) -> float:
    return (whole**2 - part**2) ** 0.5


def test_real_numbers_trade_messages_for_rounding() -> None:
    found = sum_front(BUDGET, users=2000, largest=1, real=True, steps=(1, 8, 64), protocols=["split-and-mix", "nb-sum"])
    assert {row.protocol.steps for row in found.rows} == {1, 8, 64}
    errors, sent = [row.rmse for row in found.front], [row.messages for row in found.front]
    assert errors == sorted(errors, reverse=True)
    assert sent == sorted(sent)
    assert found.front[-1].name == "split-and-mix"
    assert found.front[0].name == "nb-sum"
    for what, least in ((errors, found.best.rmse), (sent, found.rows[0].messages)):
        assert min(what) == least


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(InfeasibleBudgetError, match=r"^delta=0 cannot be met by split-and-mix"):
        sum_front((1, 0), users=9, largest=2)
    with pytest.raises(TypeError, match=r"^steps=\(\) must be a sequence of integers, at least one\.$"):
        sum_front(BUDGET, users=9, largest=2, steps=())
    with pytest.raises(ValueError, match=r"^steps=0 must be an integer in \[1, inf\)\.$"):
        sum_front(BUDGET, users=9, largest=2, steps=(0,))
