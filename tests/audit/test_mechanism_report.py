"""The sentence of a black box's audit claims no more than its figures."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from dpverify.audit.mechanism_report import MechanismReport
from dpverify.statistics.family import AuditResult, Verdict

PASSED = AuditResult("privacy", 0.5, 900, "exact", "seen", "epsilon 1.1", 0.97, Verdict.CONSISTENT)
REPORT = MechanismReport(
    "a thing",
    {"epsilon": 1.0, "delta": 1e-3},
    (PASSED,),
    0.01,
    1_000,
    7,
    delta=1e-3,
    epsilon_lower=0.91,
    epsilon_upper=1.04,
    least_mass=2e-4,
    confidence=0.99,
    renyi_lower={2.0: 0.25},
)


@pytest.mark.parametrize(
    ("verdict", "changes", "statement"),
    [
        (
            Verdict.CONSISTENT,
            {},
            "Consistent: no event tried shows more than epsilon 1.04 at delta 0.001, some shows at least 0.91 "
            "(confidence 0.99). Events rarer than 0.0002, or not tried, may show more.",
        ),
        (
            Verdict.UNDECIDED,
            {"epsilon_lower": 0.0, "epsilon_upper": math.inf},
            "Undecided: no event was frequent enough to show more at delta 0.001, none shows any (confidence 0.99), "
            "which does not exclude the fault that was asked for with 1,000 trials.",
        ),
        (
            Verdict.UNDECIDED,
            {"claim": None},
            "Undecided: nothing is claimed; no event tried shows more than epsilon 1.04 at delta 0.001, some shows at "
            "least 0.91 (confidence 0.99).",
        ),
        (Verdict.VIOLATES, {}, "Violates: privacy: seen (at most 0.01 false alarms per audit)."),
    ],
)
def test_the_statement(verdict: Verdict, changes: dict[str, object], statement: str) -> None:
    assert replace(REPORT, results=(replace(PASSED, verdict=verdict),), **changes).statement == statement  # type: ignore[arg-type]


def test_the_report_is_plain_json() -> None:
    found = replace(REPORT, epsilon_upper=math.inf).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["epsilon_upper_of_events_tried"] == "inf"
    assert found["renyi_lower"] == {"2": 0.25}
