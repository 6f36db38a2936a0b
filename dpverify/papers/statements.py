"""The numbered statements of the documents, with their numbers in other versions: `theorems()` has an entry for each.

Entries quote the first version, `wagner2025, Theorem 3.2`; a reader of the other one finds them by her number. A
statement that no computation can bear on says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from protocols.classes.frozen import dataclass

if TYPE_CHECKING:
    from dpverify.papers.theorem import Theorem

__all__ = ["STATEMENTS", "Statement", "number_elsewhere", "outcomes", "uncovered"]


@dataclass(frozen=True)
class Statement:
    """A numbered statement of a document.

    - document: Cite key.
    - item: As printed, without what is said.
    - elsewhere: Its number in the other version of the document, if that has another one.
    - why_not: Why there is no entry that says more about it than this; empty if it has one.
    """

    document: str
    item: str
    elsewhere: str = ""
    why_not: str = ""


def _all(document: str, *rows: str | tuple[str, str] | tuple[str, str, str]) -> tuple[Statement, ...]:
    return tuple(Statement(document, *((row,) if isinstance(row, str) else row)) for row in rows)


_MEASURED = "Accuracies measured on data and embeddings that do not ship; no two tables contradict but Tables 2 and 4."
_WORDS = "Words found on data and embeddings that do not ship; rows that Tables 1 and 8 share agree."
_PLOT = "A plot of measurements, without numbers; what it rests on has entries of its own."

STATEMENTS: tuple[Statement, ...] = (
    *_all(
        "wagner2025",
        ("Definition 2.1", "Definition 1 (no number)"),
        ("Definition 3.1", "Definition 2 (no number)"),
        ("Theorem 3.2", "Theorem 3.1, Theorem A.1"),
        ("Theorem 3.3", "Theorem 3.2, Theorem A.2"),
        ("Corollary 3.4", "Corollary (no number)"),
        ("Claim A.2", "Claim 1 of A.1 (no number)"),
        ("Claim A.3", "Claim 2 of A.1 (no number)"),
        ("Claim A.4", "Claim 3 of A.1 (no number)"),
        *("equation 1", "equation 2", "equation 3", "equation 4"),
        "Algorithm 1",
        "Algorithm 2",
        ("Table 1", "", _WORDS),
        ("Table 2", "", _MEASURED),
        ("Table 3", "", _MEASURED),
        ("Table 4", "", ""),
        ("Table 5", "", _MEASURED),
        ("Table 6", "", _WORDS),
        ("Table 7", "", _WORDS),
        ("Table 8", "", _WORDS),
        *((f"Figure {number}", "", _PLOT) for number in range(1, 9)),
    ),
    *_all(
        "ghazi2021",
        *("Theorem 8", "Theorem 26", "Corollary 27", "Algorithm 3", "Lemma 28", "Theorem 29", "Algorithm 4"),
        *("Theorem 30", "Definition 31", "Lemma 32", "Algorithm 5", "Lemma 34", "Algorithm 6"),
        *("Theorem 35", "Lemma 36", "Lemma 37", "Lemma 38", "Theorem 39", "Algorithm 7", "Algorithm 8"),
        *("Corollary 40", "equation 3", "equation 4", "equation 5", "equation 6"),
        ("Corollary 33", "", "Follows from Lemma 32 and Theorem 29, which have entries, and learners of other works."),
    ),
    *_all(
        "wang_lecture9",
        *("Definition 9.1", "equation 9.1", "Theorem 9.2", "equation 9.2", "Theorem 9.3", "Figure 9.2"),
        ("Figure 9.1", "", "A drawing of the local model; it states nothing."),
        ("Figure 9.4", "", "A drawing of an architecture; it states nothing."),
        *("Figure 9.3", "Theorem 9.4", "equation 9.3", "Definition 9.5", "Theorem 9.6", "equation 9.4"),
        "equation 9.5",
    ),
    *_all(
        "scott2022",
        *("Algorithm 1", "Algorithm 2", "Algorithm 3", "Theorem 4.1", "Theorem 4.2", "Corollary 4.3", "Lemma 4.4"),
        *("Lemma 4.5", "Theorem 4.6", "Corollary 4.7", "equation 1", "equation 2"),
        *("Figure 1", "Figure 2", "Figure 3"),
    ),
)


def number_elsewhere(theorem: Theorem) -> str:
    """Return the numbers that other versions of its document give to what a theorem is about; empty if the same."""
    return ", ".join(each.elsewhere for each in STATEMENTS if each.elsewhere and _about(theorem, each))


def uncovered(theorems: Iterable[Theorem]) -> tuple[Statement, ...]:
    """Return the statements that no theorem is about, and that do not say why not."""
    known = tuple(theorems)
    return tuple(
        each for each in STATEMENTS if not each.why_not and not any(_about(theorem, each) for theorem in known)
    )


def outcomes(theorems: Iterable[Theorem]) -> list[tuple[str, str, str, str]]:
    """Return, for every statement, document, item, its number elsewhere, and its entries or why there is none."""
    known = tuple(theorems)
    found = []
    for each in STATEMENTS:
        entries = [f"{theorem.name}: {theorem.verdict.value}" for theorem in known if _about(theorem, each)]
        found.append((each.document, each.item, each.elsewhere, "; ".join(entries) or each.why_not or "none yet"))
    return found


def _about(theorem: Theorem, statement: Statement) -> bool:
    """Whether a theorem's source names a statement, and not one whose number goes on: Table 1, but not Table 10."""
    place = theorem.source.find(statement.item) if theorem.document == statement.document else -1
    after = theorem.source[place + len(statement.item) :]
    return place >= 0 and not after[:1].isdigit() and not (after[:1] == "." and after[1:2].isdigit())
