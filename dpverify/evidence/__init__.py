"""The theorems, and what backs their verdicts: functions without arguments that recompute, one module per subject.

Each returns its figures by name, and raises `ContradictedError` if they do not bear out the verdict that it is quoted
for. A module is imported when one of its checks is run, and only the checks that need it import sympy, which is
optional. The figures that were last recorded stand beside each module, as JSON (see `dpverify.papers.figures`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

__all__ = ["ContradictedError", "divergence", "require"]


class ContradictedError(AssertionError):
    """A computation does not bear out what its entry says."""


def require(condition: object, otherwise: str) -> None:
    """Refuse evidence that does not show what it is quoted for.

    Raises ContradictedError if the condition is false.
    """
    if not condition:
        raise ContradictedError(otherwise)


def divergence(
    first: Mapping[Any, Fraction] | Sequence[Fraction],
    second: Mapping[Any, Fraction] | Sequence[Fraction],
    *,
    power: Fraction | int,
) -> Fraction:
    """Return the hockey-stick divergence of two listed laws at power = e^epsilon, exactly."""
    one, other = (law if isinstance(law, Mapping) else dict(enumerate(law)) for law in (first, second))
    return sum((max(mass - power * other.get(seen, 0), Fraction(0)) for seen, mass in one.items()), Fraction(0))
