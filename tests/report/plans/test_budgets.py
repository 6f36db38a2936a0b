"""The shares of a budget as a table: in full, rounded down, with the reason where there is none."""

from fractions import Fraction

from dpverify.guarantee import Budget
from dpverify.planning.budgets import BudgetSplit, Share, split_budget
from dpverify.report.plans.budgets import budget_table
from tests.report.printing import printed


def test_the_shares_are_shown_in_full() -> None:
    found = split_budget(("0.1", "1e-7"), 30, bitsum="central-gaussian", users=9)
    text = printed(budget_table(found), 100)
    rows = {words[0]: words[1:] for words in map(str.split, text.splitlines()) if len(words) == 3}
    for row in found.rows:
        limits = row.epsilon0_limit or row.epsilon0, row.delta0_limit or row.delta0
        for shown, proved in zip(rows[row.composition], limits, strict=True):
            assert Fraction(proved) * (1 - Fraction(1, 10**15)) <= Fraction(shown) <= Fraction(proved)
    assert f"sigma={found.rows[-1].parameters['sigma']!r}, n = 9, spends." in text  # type: ignore[index]
    assert max(map(len, text.splitlines())) <= 100


def test_what_was_asked_and_what_failed_is_said() -> None:
    rows = (Share("basic", 0.25, 0.0, 0.0), Share("exact", error="it cannot be met."))
    text = printed(budget_table(BudgetSplit(Budget("0.1", "1e-7"), 1000, 2, "3nb", 9, rows)), 100)
    assert text.splitlines()[0] == "Budget (0.1, 1e-07) of the whole, I = 1,000 instances, S = 2"
    assert "exact: it cannot be met." in text
    assert [words for words in map(str.split, text.splitlines()) if words[:1] == ["exact"]] == [["exact", "-", "-"]]
    single = printed(budget_table(BudgetSplit(Budget(1, 0), 1, 1, None, None, rows[:1])), 100)
    assert single.splitlines()[0] == "Budget (1, 0) of the whole, I = 1 instance"


def test_typed_decimals_stay_as_typed_and_no_decimal_exceeds_what_is_allowed() -> None:
    one = split_budget(("0.1", "1e-8"), 1)
    assert ["basic", "0.1", "1e-08"] in [line.split() for line in printed(budget_table(one), 100).splitlines()]
    assert one.to_dict()["rows"][0] == {"composition": "basic", "epsilon0": 0.1, "delta0": 1e-8, "delta_slack": 0.0}
    for instances, sparsity in ((3, 1), (7, 3), (768, 1)):
        rows = split_budget(("0.1", "3e-6"), instances, sparsity=sparsity).to_dict()["rows"]
        for row, slack in zip(rows[:2], (0, Fraction(rows[1]["delta_slack"])), strict=True):
            left = Fraction("3e-6") - slack
            assert 0 <= left - instances * sparsity * Fraction(repr(row["delta0"])) < Fraction("1e-20")
        assert instances * sparsity * Fraction(repr(rows[0]["epsilon0"])) <= Fraction("0.1")
