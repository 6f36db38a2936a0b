"""The shares of a budget as a table: in full, rounded down, with the reason where there is none."""

from __future__ import annotations

from fractions import Fraction

from dpverify.guarantee import Budget
from dpverify.planning.budgets import InstanceBudgets, Share, per_instance_budgets
from dpverify.report.budgets import budget_table
from tests.report.printing import printed


def test_the_shares_are_shown_in_full() -> None:
    found = per_instance_budgets(("0.1", "1e-7"), 30, bitsum="central-gaussian", users=9)
    text = printed(budget_table(found), 100)
    rows = {words[0]: words[1:] for words in map(str.split, text.splitlines()) if len(words) == 3}
    for row in found.rows:
        for shown, proved in zip(rows[row.composition], (row.epsilon0, row.delta0), strict=True):
            assert proved is not None
            assert Fraction(proved) * (1 - Fraction(1, 10**15)) <= Fraction(shown) <= Fraction(proved)
    assert f"sigma={found.rows[-1].parameters['sigma']!r}, n = 9, spends." in text  # type: ignore[index]
    assert max(map(len, text.splitlines())) <= 100


def test_what_was_asked_and_what_failed_is_said() -> None:
    rows = (Share("basic", 0.25, 0.0, 0.0), Share("exact", error="it cannot be met."))
    text = printed(budget_table(InstanceBudgets(Budget("0.1", "1e-7"), 1000, 2, "3nb", 9, rows)), 100)
    assert text.splitlines()[0] == "Budget (0.1, 1e-07) of the whole, I = 1,000 instances, S = 2"
    assert "exact: it cannot be met." in text
    assert [words for words in map(str.split, text.splitlines()) if words[:1] == ["exact"]] == [["exact", "-", "-"]]
    single = printed(budget_table(InstanceBudgets(Budget(1, 0), 1, 1, None, None, rows[:1])), 100)
    assert single.splitlines()[0] == "Budget (1, 0) of the whole, I = 1 instances"
