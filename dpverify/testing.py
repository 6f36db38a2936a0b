"""Audits as tests: an assertion for each, with what a test runner's report should say about it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.black_boxes.mechanism_report import MechanismReport
from dpverify.audit.options import AuditKeywords
from dpverify.audit.outcome import AuditReport, in_words
from dpverify.audit.running.target import Runnable, TargetError
from dpverify.audit.subjects.libraries import library_target, takes_the_value_alone
from dpverify.guarantee import BudgetLike
from dpverify.statistics.bounds.claims import CurveClaim
from dpverify.statistics.family import Verdict

__all__ = ["assert_consistent", "assert_private"]

_FEWEST = 100
"""Runs of an audit that is made for its look inside alone."""

Record = Callable[[str, object], None]
"""What takes the properties of a test: the fixture `record_property` of pytest."""


def assert_private(
    mechanism: Runnable | Any,
    claim: BudgetLike | CurveClaim,
    inputs: tuple[ArrayLike, ArrayLike],
    *,
    record: Record | None = None,
    allow_undecided: bool = False,
    repeat: str = "",
    resolution: float | None = None,
    exceptions: bool = False,
    inside: bool = False,
    **options: Unpack[AuditKeywords],
) -> AuditReport:
    """Assert that nothing refutes a mechanism's privacy on two neighbouring inputs.

    Parameters
    ----------
    mechanism : Target, callable, str, or a mechanism of another library
        `mechanism(input, rng)` returns the output of one run; what takes the input alone, and the mechanisms of
        `dpverify.audit.subjects.libraries`, are called as they want to be.
    claim : Budget, (epsilon, delta), or CurveClaim such as GaussianDP(mu)
        What is promised for the two inputs.
    inputs : (array_like, array_like)
        Two neighbours.
    record, allow_undecided, repeat
        See `assert_consistent`.
    resolution : float, optional
        See `dpverify.audit.black_boxes.black_box.audit_mechanism`: noise in floating point shows the input in its
        lowest bits, and fails without it.
    exceptions : bool
        Whether an exception is an output like others, of which the type is seen; if not, it ends the test.
    inside : bool
        Whether to look inside first, which finds in seconds what outputs show after millions of runs. Where it is not
        asked for, a failure looks inside afterwards, for the line that is wrong.
    **options
        `trials`, `level`, `detect`, `seed`, `workers`, ...: see `dpverify.audit.options.AuditOptions`. A correct
        mechanism fails with probability `level` at most; the same seed and a mechanism that draws from `rng` give the
        same outcome each time.

    Raises
    ------
    AssertionError
        If the claim is refuted, or, unless `allow_undecided`, too few trials were run to find the fault looked for.

    Examples
    --------
    >>> import numpy as np
    >>> def count(values, rng):
    ...     return values.sum() + rng.laplace(scale=0.5)
    >>> neighbours = np.zeros(3), np.array([1.0, 0.0, 0.0])
    >>> report = assert_private(count, (1, 0), neighbours, trials=4_000)  # the noise's epsilon is 2
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    __tracebackhide__ = True
    target = mechanism
    if takes_the_value_alone(mechanism):
        target, repeat = library_target(mechanism), repeat and f"{repeat}  (draws anew: it is given no generator)"
    first, second = (np.asarray(value) for value in inputs)
    audited = functools.partial(audit_mechanism, target, claim, (first, second), exceptions=exceptions)
    report = audited(resolution=resolution, inside=inside, **options)
    if report.verdict is Verdict.VIOLATES and not inside:
        with suppress(TargetError):  # it has run before: another outcome is not what this test is about
            brief = options | {"trials": _FEWEST, "checkpoint": None, "progress": None}
            looked = audited(inside=True, **brief)
            report = replace(report, findings=looked.findings)
    return assert_consistent(report, record=record, allow_undecided=allow_undecided, repeat=repeat)


def assert_consistent(
    report: AuditReport, *, record: Record | None = None, allow_undecided: bool = False, repeat: str = ""
) -> AuditReport:
    """Assert that an audit found nothing, and would have found what it looked for; return its report.

    - report: Of any audit.
    - record: The fixture `record_property` of pytest: the verdict, what was tested and what was not become properties
      of the test in the file of `--junitxml`, whether it passes or fails.
    - allow_undecided: Whether an audit of too few trials passes, too: for a quick check before the long one.
    - repeat: What a failure says how to run it again, such as a command.

    Raises AssertionError: In a screen: the statement, what was claimed, how sure it is, in which event the outputs
    differ, what was found inside, or what was tested where nothing was found, and how to run it again.
    """
    __tracebackhide__ = True
    if record is not None:
        for name, value in _properties(report):
            record(f"dpverify.{name}", value)
    passes = {Verdict.CONSISTENT, Verdict.UNDECIDED} if allow_undecided else {Verdict.CONSISTENT}
    if report.verdict not in passes:
        lines = [f"  {name:8}{words}" for name, words in _screen(report, repeat)]
        raise AssertionError("\n".join([report.statement, *lines]))
    return report


def _screen(report: AuditReport, repeat: str) -> Iterator[tuple[str, str]]:
    """Yield what a failure shows below its statement."""
    if report.claim is not None:
        yield "claim", in_words(report.claim)
    yield "run", f"{report.counted}, seed {report.seed}; at most {report.level:g} false alarms per audit"
    findings = list(map(str, report.findings)) if isinstance(report, MechanismReport) else []
    yield from (("event", words) for words in report.diagnosis if words not in findings)
    yield from (("inside", words) for words in findings)
    if report.verdict is not Verdict.VIOLATES:
        yield from (("tested", str(look)) for look in report.limits.tested)
    if repeat:
        yield "repeat", repeat


def _properties(report: AuditReport) -> Iterator[tuple[str, object]]:
    yield "subject", report.subject
    yield "verdict", report.verdict.value
    yield "statement", report.statement
    if report.claim is not None:
        yield "claim", in_words(report.claim)
    yield "trials", report.trials
    yield "level", report.level
    yield "seed", report.seed
    yield from (("diagnosis", sentence) for sentence in report.diagnosis)
    if isinstance(report, MechanismReport):
        yield from (("inside", str(finding)) for finding in report.findings)
    yield from (("tested", str(look)) for look in report.limits.tested)
    yield from (("not_tested", words) for words in report.limits.not_tested)
