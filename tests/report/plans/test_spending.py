"""The table of what was spent."""

from dataclasses import replace
from pathlib import Path

from dpverify.guarantee import Interval
from dpverify.spending.ledger import PrivacyLedger
from protocols.local.labels import LabelRandomizedResponse


def test_the_table_says_what_is_spent_of_what(tmp_path: Path) -> None:
    ledger = PrivacyLedger.create(tmp_path / "spent", ("9", 0), at_most=40)
    assert str(ledger.spent()).startswith("Budget (9, 0): 0 runs, at most 40 a user")
    for number in range(22):
        spent = ledger.spend(LabelRandomizedResponse(2, 0.125), label=f"week {number}")
    shown = str(spent)
    assert "week 21" in shown
    assert "week 1 " not in shown
    assert "and 2 lines before." in shown
    assert "Spent: epsilon from 2.75 to 2.75 at the" in shown
    assert spent.head in shown
    wide = replace(spent, epsilon=Interval(1.23456789, 2.34567812))
    assert "Spent: epsilon from 1.23456 to 2.34568 at the" in str(wide)
