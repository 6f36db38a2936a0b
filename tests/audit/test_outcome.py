"""What an audit says: the verdict, the strongest evidence, and what a pass is worth."""

import json
from typing import Any

from dpverify.audit.outcome import AuditReport
from dpverify.statistics.family import AuditResult, Verdict


def result(check: str, verdict: Verdict, p_value: float = 0.5, **changes: Any) -> AuditResult:
    fields = {"trials": 1000, "method": "exact", "evidence": f"seen in {check}", "fault": "a fault", "power": 0.99}
    return AuditResult(check, p_value, verdict=verdict, **{**fields, **changes})


def report(*results: AuditResult) -> AuditReport:
    return AuditReport("a thing", {"epsilon": 1.0, "delta": 0.0}, results, 0.001, 1000, 7)


GOOD = result("conformance", Verdict.CONSISTENT, power=0.97)
WEAK = result("order", Verdict.UNDECIDED, power=0.25)
WEAKER = result("privacy", Verdict.UNDECIDED, power=0.125, fault="epsilon 1.1")


def test_a_pass_says_what_it_is_worth() -> None:
    found = report(GOOD, result("order", Verdict.CONSISTENT, power=1.0))
    assert (found.verdict, found.exit_code, found.violations) == (Verdict.CONSISTENT, 0, ())
    assert found.statement == (
        "Consistent: nothing was found. What would have been found, with probability at least 0.97: a fault."
    )


def test_the_strongest_evidence_comes_first_and_repetition_last() -> None:
    repeated = result("repeated outputs, consecutive runs", Verdict.VIOLATES, 1e-12)
    weak, strong = result("privacy", Verdict.VIOLATES, 1e-5), result("conformance", Verdict.VIOLATES, 1e-7)
    found = report(repeated, GOOD, weak, WEAKER, strong)
    assert found.violations == (strong, weak, repeated)
    assert (found.verdict, found.exit_code) == (Verdict.VIOLATES, 1)
    assert found.statement == "Violates: conformance: seen in conformance (at most 0.001 false alarms per audit)."


def test_the_weakest_test_is_named_where_nothing_is_decided() -> None:
    found = report(GOOD, WEAK, WEAKER)
    assert (found.verdict, found.exit_code) == (Verdict.UNDECIDED, 3)
    assert found.statement == (
        "Undecided: nothing was found, but privacy has power 0.12 against epsilon 1.1 with 1,000 trials."
    )
    unknown = result("messages", Verdict.UNDECIDED, power=None, fault="")
    assert report(WEAKER, unknown).statement == (
        "Undecided: nothing was found, but messages has unknown power with 1,000 trials."
    )
    # What no trials decide says so by itself.
    exact = result("privacy of the parameters", Verdict.UNDECIDED, trials=0, evidence="the claim lies inside")
    assert report(WEAKER, exact).statement == "Undecided: privacy of the parameters: the claim lies inside."


def test_the_report_is_plain_json() -> None:
    found = report(GOOD, WEAK).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["verdict"] == "undecided"
    assert found["claim"] == {"epsilon": 1.0, "delta": 0.0}
    assert [entry["check"] for entry in found["results"]] == ["conformance", "order"]
    assert AuditReport("x", None, (GOOD,), 0.1, 100, 0, ({"loss": 1.0},)).to_dict()["loss_rows"] == [{"loss": 1.0}]
