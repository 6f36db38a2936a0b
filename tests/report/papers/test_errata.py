"""The errata and the coverage, which are generated from the entries."""

from pathlib import Path

import pytest

from dpverify import cli
from dpverify.evidence.theorems import theorems
from dpverify.papers.theorem import Verdict
from dpverify.report.papers.errata import coverage_page, errata_page

DOCS = Path(__file__).resolve().parents[3] / "docs"
ENTRY = {
    "name": "a-1",
    "source": "a2000, Lemma 1",
    "statement": "It is so",
    "verdict": "fails",
    "finding": "It is not.",
    "repair": "Say so.",
    "concern": "text",
    "checked_by": [{"method": "symbolic", "shows": "that it is not"}],
}


@pytest.mark.parametrize(("command", "page"), [("errata", "errata.md"), ("coverage", "theorems.md")])
def test_the_pages_are_what_the_entry_says(capsys: pytest.CaptureFixture[str], command: str, page: str) -> None:
    assert cli.main(["theorems", command]) == 0
    assert (DOCS / page).read_text(encoding="utf-8") == capsys.readouterr().out, (
        f"dpverify theorems {command} > docs/{page}"
    )


def test_what_concerns_privacy_comes_first_and_failures_before_conditions() -> None:
    entries = [
        ENTRY,
        {**ENTRY, "source": "a2000, Lemma 2", "concern": "privacy", "verdict": "proof wrong"},
        {**ENTRY, "source": "a2000, Lemma 3", "concern": "privacy"},
        {**ENTRY, "source": "a2000, Lemma 4", "repair": ""},
    ]
    page = errata_page(entries)
    assert [line.split()[3] for line in page.splitlines() if line.startswith("### ")] == ["3:", "2:", "1:"]
    assert max(map(len, page.splitlines())) <= 120
    assert "3 items" in page
    assert "\n| a2000 | 2 |  |  |  | 1 |\n" in page


def test_coverage_counts_by_document_and_verdict() -> None:
    rule = ("As printed.", {"holds": "it is so", "fails": "it is not"})
    page = coverage_page([ENTRY, {**ENTRY, "verdict": "holds"}, ENTRY], [("a2000", "Lemma 9", "", "none yet")], rule)
    assert "As printed.\n\n- *holds*: it is so;\n- *fails*: it is not.\n" in page
    assert "| a2000 | 1 | 2 | 3 |" in page
    assert "| a2000 | Lemma 9 |  | none yet |" in page


def test_whatever_needs_a_correction_says_which() -> None:
    wrong = {Verdict.FAILS, Verdict.PROOF_WRONG, Verdict.HOLDS_WITH_CONDITION}
    assert [theorem.name for theorem in theorems() if theorem.verdict in wrong and not theorem.repair] == []
