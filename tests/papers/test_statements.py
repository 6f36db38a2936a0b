"""The numbered statements of the documents, and which entries are about them."""

from dpverify.evidence.theorems import theorems
from dpverify.papers.statements import STATEMENTS, number_elsewhere, uncovered
from dpverify.papers.theorem import Theorem, Verdict


def about(source: str) -> Theorem:
    return Theorem("x", source, "It is so.", Verdict.OPEN, "Nothing.")


def test_statements_are_listed_once() -> None:
    assert len({(each.document, each.item) for each in STATEMENTS}) == len(STATEMENTS) > 60


def test_an_entry_covers_what_its_source_names() -> None:
    known = {(each.document, each.item) for each in uncovered([])}
    left = {(each.document, each.item) for each in uncovered([about("wagner2025, Theorem 3.2 and Claim A.3, error")])}
    assert known - left == {("wagner2025", "Theorem 3.2"), ("wagner2025", "Claim A.3")}
    # Neither a longer number nor another document.
    assert len(uncovered([about("ghazi2021, Lemma 381"), about("scott2022, Lemma 38")])) == len(uncovered([]))


def test_the_other_version_has_other_numbers() -> None:
    assert number_elsewhere(about("wagner2025, Theorem 3.2, privacy")) == "Theorem 3.1, Theorem A.1"
    assert number_elsewhere(about("scott2022, Lemma 4.4")) == ""


def test_no_numbered_statement_is_missing() -> None:
    assert uncovered(theorems()) == ()


def test_every_document_has_entries() -> None:
    assert {each.document for each in STATEMENTS} <= {theorem.document for theorem in theorems()}
