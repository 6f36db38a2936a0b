"""An audit as a table and as a figure: drawn from the rows, whatever they are."""

from dataclasses import replace

import pytest
from matplotlib.colors import to_hex

from dpverify.audit.limits import Limits, Look
from dpverify.audit.outcome import AuditReport
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.bitsum import Implementation
from dpverify.report.audits import audit_figure, audit_table
from dpverify.statistics.family import AuditResult, Verdict
from protocols.bitsum import RandomizedResponse
from tests.report.printing import printed


def result(check: str, verdict: Verdict, adjusted: float, power: float | None = 0.97) -> AuditResult:
    details = {"adjusted_p_value": adjusted}
    return AuditResult(
        check, adjusted / 2, 100, "exact", f"seen in {check}", f"fault of {check}", power, verdict, details=details
    )


RESULTS = (
    result("conformance", Verdict.CONSISTENT, 1.0),
    result("order", Verdict.VIOLATES, 1e-30),
    result("privacy", Verdict.UNDECIDED, 0.25, None),
)
LOSSES = tuple({"loss": x, "exact": 0.5, "empirical": 0.4, "lower": 0.3, "upper": 0.6} for x in (-1.0, 1.0))
LIMITS = Limits((Look("order", "sorted", "messages left sorted"), Look("datasets", "none")), ("other datasets",))
REPORT = AuditReport(
    "a thing",
    {"epsilon": 0.78, "delta": 1e-3},
    RESULTS,
    0.001,
    12345,
    7,
    LOSSES,
    limits=LIMITS,
    diagnosis=("The noise is too small.",),
)


def test_a_table_has_the_verdict_first_and_what_was_not_tested_last() -> None:
    text = printed(audit_table(REPORT), 120)
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[0] == "Audit of a thing, claim (0.78, 0.001): violates, 12,345 runs per dataset"
    assert lines[1].startswith("Violates: order: seen in order")
    rows = [line.split() for line in lines if line.split()[:1] in (["conformance"], ["order"], ["privacy"])]
    assert rows == [
        ["conformance", "consistent", "fault", "of", "conformance", "1"],
        ["order", "violates", "fault", "of", "order", "1e-30"],
        ["privacy", "undecided", "fault", "of", "privacy,", "power", "unknown", "0.25"],
    ]
    assert text.count("seen in order") == 1  # the statement says it
    assert "Tested: datasets" not in text
    assert "Diagnosis: The noise is too small." in lines
    assert lines[-2:] == [
        "Not tested: other datasets.",
        "All 3 tests by themselves: --verbose; in Python, .results and .limits.",
    ]
    assert ", claim" not in printed(audit_table(AuditReport("a thing", None, RESULTS, 0.1, 100, 0)))


def test_every_test_is_a_row_on_demand() -> None:
    text = printed(audit_table(REPORT, every=True), 120)
    assert "Found: order: seen in order." in text
    assert "Found: privacy" not in text
    assert "Tested: datasets: none." in text  # the faults of the others stand in the rows
    assert "messages left sorted" not in text
    assert "--verbose" not in text


def test_tests_that_say_the_same_share_a_row() -> None:
    each = [result(f"conformance of count, {name}", Verdict.CONSISTENT, p) for name, p in (("a", 1.0), ("b", 0.5))]
    each = [
        replace(entry, fault=f"{share} % of runs at delta 1e-6", power=power)
        for entry, share, power in zip(each, ("8", "10.5"), (0.97, 0.9), strict=True)
    ]
    broken = replace(each[0], verdict=Verdict.VIOLATES, power=0.2)
    report = AuditReport("a thing", None, (*each, broken), 0.1, 100, 0)
    rows = [" ".join(line.split()) for line in printed(audit_table(report), 120).splitlines()]
    assert [row for row in rows if row.startswith("conformance")] == [
        "conformance of count (2) consistent 8 to 10.5 % of runs at delta 1e-6, power 0.9 0.5",
        "conformance of count, a violates 8 % of runs at delta 1e-6 1",
    ]
    alone = printed(audit_table(report, every=True), 120).splitlines()
    assert len([line for line in alone if line.startswith("conformance of count, ")]) == 3


def test_a_pass_does_not_repeat_the_faults_of_its_table() -> None:
    passed = AuditReport("a thing", None, RESULTS[:1], 0.1, 100, 0)
    text = printed(audit_table(passed), 120)
    assert "Consistent: nothing was found. The faults below would have been, with probability at least 0.97." in text
    assert text.count("fault of conformance") == 1
    assert printed(audit_table(passed, every=True), 120).count("fault of conformance") == 2


def test_every_mark_of_the_figure_is_a_test() -> None:
    evidence, losses = audit_figure(REPORT).axes
    assert [label.get_text() for label in evidence.get_yticklabels()] == ["conformance", "order", "privacy"]
    marks = [line for line in evidence.lines if line.get_xydata().shape == (1, 2)][:3]
    # What is smaller than can be told from 0 stands at the edge, inside the figure.
    assert [line.get_xydata()[0].tolist() for line in marks] == [[1.0, 0.0], [1e-12, 1.0], [0.25, 2.0]]
    assert evidence.get_xlim()[0] < 1e-12
    # Told apart without colour, and named in the legend in the same colours.
    assert len({line.get_marker() for line in marks}) == 3
    legend = evidence.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["consistent", "violates", "undecided"]
    handles = {text.get_text(): handle for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)}
    for line, row in zip(marks, RESULTS, strict=True):
        assert to_hex(handles[row.verdict.value].get_color()) == to_hex(line.get_color())
    assert evidence.lines[-4].get_xdata() == [0.001, 0.001]
    drawn = {line.get_label(): line.get_xydata().tolist() for line in losses.lines}
    assert drawn == {"outputs": [[-1.0, 0.4], [1.0, 0.4]], "exact": [[-1.0, 0.5], [1.0, 0.5]]}
    assert losses.collections[0].get_label() == "99.9 % band"
    (alone,) = audit_figure(AuditReport("a thing", None, RESULTS[:1], 0.1, 100, 0)).axes
    assert [text.get_text() for text in alone.get_legend().get_texts()] == ["consistent"]


@pytest.fixture(scope="module")
def report() -> AuditReport:
    protocol = RandomizedResponse(20, 0.25)
    sampled = Implementation.of(protocol, aggregated=True)
    return audit_protocol(protocol, ("0.78", "1e-3"), implementation=sampled, trials=2000)


def test_a_real_report_fits_a_terminal(report: AuditReport) -> None:
    for width in (80, 100):
        lines = printed(audit_table(report), width).splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) <= 48
    assert "privacy of the parameters" in "\n".join(lines)
    evidence, losses = audit_figure(report).axes
    assert [label.get_text() for label in evidence.get_yticklabels()] == [result.check for result in report.results]
    exact = next(line for line in losses.lines if line.get_label() == "exact")
    assert exact.get_ydata().tolist() == [row["exact"] for row in report.loss_rows]
