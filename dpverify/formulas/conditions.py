"""Conditions that most theorems share: a parameter in an interval."""

from __future__ import annotations

from typing import Any

from dpverify.formulas import Hypothesis

__all__ = ["within"]


def within(parameter: str, interval: str, source: str = "") -> Hypothesis:
    """Return the condition that a parameter lies in an interval, written as in mathematics: `(0, 1]`, `[2, inf)`.

    The source is where the condition stands; empty where that leaves it unsaid because nothing has a meaning outside.

    >>> condition = within("delta", "(0, 1]", "scott2022, Theorem 4.1")
    >>> condition.statement
    'delta in (0, 1] (scott2022, Theorem 4.1).'
    >>> condition.holds(1), condition.holds(0)
    (True, False)
    """
    low, high = (float(end) for end in interval[1:-1].split(","))
    low_open, high_open = interval[0] == "(", interval[-1] == ")"

    def holds(value: Any) -> bool:
        above = bool(value > low if low_open else value >= low)
        return above and bool(value < high if high_open else value <= high)

    statement = f"{parameter} in {interval}{f' ({source})' if source else ''}."
    return Hypothesis(f"{parameter}-in-range", statement, holds, (parameter,))
