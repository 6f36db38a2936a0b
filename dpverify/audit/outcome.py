"""The outcome of an audit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from dpverify.audit.limits import Limits
from dpverify.guarantee import Budget
from dpverify.shown import Drawn
from dpverify.statistics.bounds.claims import CurveClaim
from dpverify.statistics.family import AuditResult, Verdict, overall
from protocols.classes.frozen import dataclass

__all__ = ["AuditReport", "in_words", "stated"]

EXIT_CODES = {Verdict.CONSISTENT: 0, Verdict.VIOLATES: 1, Verdict.UNDECIDED: 3}
"""The exit status of the command line by verdict; 2 is bad input."""


def stated(claim: Budget | CurveClaim | None) -> Mapping[str, float] | None:
    """Return a claim as a report has it."""
    if isinstance(claim, CurveClaim):
        return claim.terms
    return None if claim is None else {"epsilon": claim.epsilon, "delta": claim.delta}


def in_words(claim: Mapping[str, float]) -> str:
    """Return a claim of a report as `epsilon 1, delta 1e-06`."""
    return ", ".join(f"{name} {value:g}" for name, value in claim.items())


_LITTLE = 0.005
"""A power that is not worth its digits."""
_REPETITION = ("repeated", "dependence", "steadiness")


@dataclass(frozen=True)
class AuditReport(Drawn):
    """All tests of one audit, decided together.

    - subject: What was audited.
    - claim: epsilon and delta, or what another claim is made of, where a privacy claim was tested.
    - results: The tests.
    - level: The largest probability that a correct implementation fails any of them.
    - trials, seed: Runs per dataset, and the seed: the same ones give the same report.
    - loss_rows: The privacy loss of the outputs on the first dataset against its neighbour, and the exact one, for a
      plot: see `dpverify.statistics.loss.LossLaw.rows`. Finite losses only; empty where the law is not known.
    - limits: What was looked at, and what was not: a verdict says nothing about the latter.
    - diagnosis: What the outputs look like, in sentences that a developer can act on.
    """

    table_by: ClassVar[str] = "dpverify.report.audits:audit_table"
    figure_by: ClassVar[str] = "dpverify.report.audits:audit_evidence"
    rows_by: ClassVar[str] = "results"
    plain_as: ClassVar[str] = "subject claim verdict statement level trials seed results loss_rows limits diagnosis"

    subject: str
    claim: Mapping[str, float] | None
    results: tuple[AuditResult, ...]
    level: float
    trials: int
    seed: int
    loss_rows: tuple[Mapping[str, float], ...] = ()
    limits: Limits = field(default_factory=Limits)
    diagnosis: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """`violates` if any test does, else `undecided` if any is, else `consistent`."""
        return overall(self.results)

    @property
    def counted(self) -> str:
        """How much was run, in words."""
        return f"{self.trials:,} runs per dataset"

    @property
    def exit_code(self) -> int:
        """The verdict as an exit status: 0 consistent, 1 violation found, 3 undecided."""
        return EXIT_CODES[self.verdict]

    @property
    def violations(self) -> tuple[AuditResult, ...]:
        """The tests that refuted the implementation, the strongest evidence first.

        Runs that repeat come last: outputs of a law that is too narrow repeat themselves too.
        """
        found = [result for result in self.results if result.verdict is Verdict.VIOLATES]
        return tuple(sorted(found, key=lambda result: (result.check.startswith(_REPETITION), result.p_value)))

    @property
    def statement(self) -> str:
        """The verdict in a sentence, with what a pass is worth."""
        if self.violations:
            first = self.violations[0]
            return f"Violates: {first.check}: {first.evidence} (at most {self.level:g} false alarms per audit)."
        if self.verdict is Verdict.UNDECIDED:
            weak = [result for result in self.results if result.verdict is Verdict.UNDECIDED]
            exact = [result for result in weak if result.trials == 0]
            if exact:
                return f"Undecided: {exact[0].check}: {exact[0].evidence}."
            first = min(weak, key=lambda result: -1.0 if result.power is None else result.power)
            power = "unknown power" if first.power is None else f"power {first.power:.2g}"
            power = "next to no power" if first.power is not None and first.power < _LITTLE else power
            against = f" against {first.fault}" if first.fault else ""
            return f"Undecided: nothing was found, but {first.check} has {power}{against} with {self.trials:,} trials."
        least = min(result.power or 0.0 for result in self.results)
        power = "with certainty" if least >= 1.0 else f"with probability at least {math.floor(1000 * least) / 1000:g}"
        faults = list(dict.fromkeys(result.fault for result in self.results if result.fault))
        return f"Consistent: nothing was found. What would have been found, {power}: {'; '.join(faults)}."
