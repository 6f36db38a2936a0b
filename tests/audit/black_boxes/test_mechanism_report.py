"""The sentence of a black box's audit claims no more than its figures."""

import json
import math
from dataclasses import replace

import pytest

from dpverify.audit.black_boxes.mechanism_report import MechanismReport
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
    epsilon_lower=0.91003,
    epsilon_upper=1.0499,
    delta_upper=0.002331,
    least_mass=0.0,
    confidence=0.99,
    renyi_lower={2.0: 0.25},
)


@pytest.mark.parametrize(
    ("verdict", "changes", "statement"),
    [
        (
            Verdict.CONSISTENT,
            {},
            "Consistent: no event tried shows more than epsilon 1.05 at delta 0.001, and none more than delta 0.00234 "
            "at epsilon 1; some shows at least epsilon 0.91 at delta 0.001 (confidence 0.99). Events not tried may "
            "show more.",
        ),
        (
            Verdict.CONSISTENT,
            {"delta": 0.0, "least_mass": 2.03e-4, "delta_upper": 1.0, "rarest": 6.4e-4},
            "Consistent: no event tried likelier than 0.00021 shows more than epsilon 1.05 at delta 0; some shows at "
            "least epsilon 0.91 at delta 0 (confidence 0.99). An outcome of one input alone would have shown, were its "
            "probability about 0.00064 or more. Events not tried may show more.",
        ),
        (
            Verdict.UNDECIDED,
            {"epsilon_lower": 0.0, "epsilon_upper": math.inf, "delta_upper": 1.0},
            "Undecided: nothing is excluded; none shows any (confidence 0.99), which is too little for a pass, "
            "with 1,000 trials.",
        ),
        *(
            (
                Verdict.UNDECIDED,
                {"epsilon_lower": 0.0, "epsilon_upper": math.inf, "delta_upper": 1.0, "trials_needed": needed},
                "Undecided: nothing is excluded; none shows any (confidence 0.99), which is too little for a pass, "
                f"with 1,000 trials; by an estimate {words}.",
            )
            for needed, words in ((52_341.0, "52,000 more would decide"), (math.inf, "no number of them would decide"))
        ),
        (
            # What was excluded is so of the events that count alone, and few trials pass nothing even so.
            Verdict.UNDECIDED,
            {"delta": 0.0, "epsilon_lower": 0.0, "epsilon_upper": 0.65, "least_mass": 0.7},
            "Undecided: no event tried likelier than 0.7 shows more than epsilon 0.65 at delta 0, and none more than "
            "delta 0.00234 at epsilon 1; none shows any (confidence 0.99), which is too little for a pass, with 1,000 "
            "trials. Events not tried may show more.",
        ),
        (
            Verdict.UNDECIDED,
            {"claim": None},
            "Undecided: nothing is claimed; no event tried shows more than epsilon 1.05 at delta 0.001; some shows at "
            "least epsilon 0.91 at delta 0.001 (confidence 0.99). Events not tried may show more.",
        ),
        (
            Verdict.CONSISTENT,
            {"claim": None, "unit": "mu", "shown_lower": 0.51239, "shown_upper": 1.10001},
            "Consistent: no event tried shows more than mu 1.101, or epsilon 1.05 at delta 0.001; some shows at least "
            "mu 0.5123 (confidence 0.99). Events not tried may show more.",
        ),
        (
            # A point of the curve is told as it is: beside it less is excluded, or shown.
            Verdict.UNDECIDED,
            {"claim": {"epsilon": 1.00004, "delta": 1.00499e-3}, "delta": 1.00499e-3},
            "Undecided: no event tried shows more than epsilon 1.05 at delta 0.00100499, and none more than delta "
            "0.00234 at epsilon 1.00004; some shows at least epsilon 0.91 at delta 0.00100499 (confidence 0.99), which "
            "is too little for a pass, with 1,000 trials. Events not tried may show more.",
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
