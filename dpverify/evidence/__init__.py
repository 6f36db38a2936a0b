"""The theorems, and what backs their verdicts: functions without arguments that recompute, one module per subject.

Each returns its figures by name, and raises `ContradictedError` if they do not bear out the verdict that it is quoted
for. What is heavy is imported inside the functions. The figures that were last recorded stand beside each module, as
JSON (see `dpverify.papers.figures`).
"""

from __future__ import annotations

__all__ = ["ContradictedError", "require"]


class ContradictedError(AssertionError):
    """A computation does not bear out what its entry says."""


def require(condition: object, otherwise: str) -> None:
    """Refuse evidence that does not show what it is quoted for.

    Raises
    ------
    ContradictedError
        If the condition is false.
    """
    if not condition:
        raise ContradictedError(otherwise)
