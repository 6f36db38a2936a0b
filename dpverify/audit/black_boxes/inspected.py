"""What a look inside a target adds to its audit: findings, and the tests that those are which refute the claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from dpverify.audit.black_boxes.own_terms import Claimed
from dpverify.audit.inside.findings import Finding, findings
from dpverify.audit.limits import Look
from dpverify.audit.options import AuditOptions
from dpverify.audit.running.runner import asked
from dpverify.audit.running.target import Target
from dpverify.statistics.family import AuditResult
from protocols.classes.frozen import dataclass

__all__ = ["LEVEL_SHARE", "Inspected"]

LEVEL_SHARE = 0.01
"""The share of an audit's level that the look inside has."""
_SECONDS = 10.0


@dataclass(frozen=True)
class Inspected:
    """What was found inside.

    Parameters
    ----------
    findings : tuple of Finding
        Those that refute the claim, and hints.
    recorded : str
        What was recorded, in words; empty where there was no look.
    """

    findings: tuple[Finding, ...] = ()
    recorded: str = ""

    @classmethod
    def of(
        cls,
        target: Target,
        datasets: Sequence[NDArray[Any]],
        places: Sequence[tuple[int, int]],
        claimed: Claimed,
        how: AuditOptions,
    ) -> Inspected:
        """Look inside, where the audit's runs are.

        Raises
        ------
        TargetError
            If the target fails.
        """
        seconds = _SECONDS if how.timeout is None else min(_SECONDS, how.timeout / 2.0)
        arguments = list(datasets), list(places), claimed, LEVEL_SHARE * how.level, how.seed, seconds
        rows, recorded = asked(target, findings, *arguments, executor=how.executor, timeout=how.timeout)
        return cls(tuple(Finding(*row) for row in rows), recorded)

    @property
    def refutations(self) -> list[AuditResult]:
        """The findings that refute the claim, as tests."""
        return [
            AuditResult(
                f"inside, {one.kind}",
                one.p_value,
                0,
                "parts that never vary, exact level" if one.p_value > 0.0 else "runs with the same draws",
                f"{one.sentence} [{one.place}]",
                power=1.0,
            )
            for one in self.findings
            if one.refutes
        ]

    @property
    def hints(self) -> tuple[str, ...]:
        """The other findings, as sentences."""
        return tuple(str(one) for one in self.findings if not one.refutes)

    @property
    def looks(self) -> tuple[Look, ...]:
        """What was looked at."""
        return (Look("inside", self.recorded),) if self.recorded else ()
