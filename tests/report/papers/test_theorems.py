"""The theorems of the papers, and their evidence, as tables."""

from typing import Any

from dpverify.evidence.theorems import find
from dpverify.report.papers.theorems import checked_table, theorems_table
from dpverify.report.tables import as_text

ROW: dict[str, Any] = {
    "check": "subject:one",
    "method": "exact enumeration",
    "shows": "that it is so",
    "theorems": ["a-1", "a-2"],
    "figures": {},
    "agrees": True,
    "trouble": "",
    "seconds": 0.5,
}


def test_all_that_is_known_of_a_theorem_is_told() -> None:
    (theorem,) = find("scott2022-theorem-4.1-composition")
    text = " ".join(as_text(theorems_table([theorem.to_dict()], findings=True)).split())
    for part in (theorem.source, theorem.statement, theorem.finding, theorem.repair, "optimal_composition"):
        assert part in text
    brief = as_text(theorems_table([theorem.to_dict()]))
    assert theorem.verdict.value in brief
    assert theorem.repair not in " ".join(brief.split())


def test_of_many_theorems_what_was_found_is_told_and_how_many_there_are() -> None:
    several = [theorem.to_dict() for theorem in find("Theorem 3.2")]
    text = as_text(theorems_table(several, findings=True))
    assert len(several) > 3
    in_full = sum(len(as_text(theorems_table([each], findings=True)).splitlines()) for each in several)
    assert len(text.splitlines()) < 0.7 * in_full
    told = " ".join(text.split())
    assert all(" ".join(each["finding"].split()) in told for each in several)
    assert f"{len(several)} claims. One in full, with its evidence: dpverify theorems NAME." in told
    assert all(f"({each['checked_by'][0]['check']})" not in told for each in several if each["checked_by"])
    verdicts = [theorem["verdict"] for theorem in several]
    assert f"{verdicts.count('holds')} holds" in " ".join(as_text(theorems_table(several)).split())


def test_what_contradicts_is_told_below_the_rows() -> None:
    text = as_text(checked_table([ROW, {**ROW, "check": "subject:two", "agrees": False, "trouble": "It is not."}]))
    assert "2 computations, which back 2 theorems, in 1.0 s: 1 contradict." in " ".join(text.split())
    assert "subject:two (a-1, a-2): It is not." in text
    assert [line.split()[-2] for line in text.splitlines() if line.startswith("subject:") and "(" not in line] == [
        "yes",
        "NO",
    ]
