"""A theorem as data: where it stands, what it needs, what it says, and what was found about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dpverify.formulas import Hypothesis

__all__ = ["Theorem", "Verdict"]


class Verdict(StrEnum):
    """What checking a theorem came to."""

    HOLDS = "holds"
    HOLDS_WITH_CONDITION = "holds under an unstated condition"
    """Only under a condition that the source does not state: the finding says which."""
    FAILS = "fails"
    OPEN = "open"


@dataclass(frozen=True)
class Theorem:
    """One claim of a source, and what was found about it.

    Parameters
    ----------
    name : str
        Unique identifier, for instance `cheu2019-lemma-4.8`.
    source : str
        Cite key and item.
    statement : str
        What it says, in the notation of `docs/notation.md`.
    hypotheses : tuple of Hypothesis
        Its conditions, as checkable predicates on its parameters.
    verdict : Verdict
        What was found.
    finding : str
        The finding in words: the slack, the missing condition, or the counterexample.
    """

    name: str
    source: str
    statement: str
    hypotheses: tuple[Hypothesis, ...]
    verdict: Verdict
    finding: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values, hypotheses by their statement."""
        return {
            "name": self.name,
            "source": self.source,
            "statement": self.statement,
            "hypotheses": [hypothesis.statement for hypothesis in self.hypotheses],
            "verdict": self.verdict.value,
            "finding": self.finding,
        }

    def failed_hypotheses(self, *parameters: Any) -> tuple[Hypothesis, ...]:
        """Return the hypotheses that do not hold at these parameters."""
        return tuple(hypothesis for hypothesis in self.hypotheses if not hypothesis.holds(*parameters))
