"""A theorem as data."""

import dataclasses
import json

import pytest

from dpverify.formulas import Hypothesis
from dpverify.papers.theorem import RULE, Evidence, Kind, Method, Theorem, Verdict

SMALL = Hypothesis("small", "epsilon < 1.", lambda epsilon: epsilon < 1)
MANY = Hypothesis("many", "n > 9 and epsilon < n.", lambda n, epsilon: n > 9 and epsilon < n)
COUNTED = Evidence(Method.ENUMERATION, "nothing:counted", "that it is so for n = 2")
COMPUTED = Evidence(Method.ACCOUNTING, "nothing:computed", "that it is so on a grid")
PROVED = Evidence(Method.PROOF, "docs/vector_sums.md", "that it is so")
SAMPLED = Evidence(Method.MONTE_CARLO, "nothing:sampled", "that it is so within 1 %")


@pytest.fixture
def theorem() -> Theorem:  # none that outlives its test: the test of all looks for strays
    verdict = Verdict.HOLDS_WITH_CONDITION
    return Theorem("a-1", "a2000, Lemma 1", "It is so.", verdict, "Only if.", hypotheses=(SMALL, MANY))


def test_what_does_not_hold_is_returned_in_order(theorem: Theorem) -> None:
    assert theorem.failed_hypotheses(epsilon=0.5, n=10) == ()
    assert theorem.failed_hypotheses(n=10, epsilon=1.0) == (SMALL,)
    assert theorem.failed_hypotheses(epsilon=2.0, n=9) == (SMALL, MANY)


def test_parameters_are_known_by_name(theorem: Theorem) -> None:
    assert MANY.parameters == ("n", "epsilon")
    for wrong in ({"epsilon": 1.0}, {"epsilon": 1.0, "n": 10, "delta": 0.0}):
        with pytest.raises(ValueError, match=r"^a-1 is about the parameters \['epsilon', 'n'\], not "):
            theorem.failed_hypotheses(**wrong)


def test_it_is_plain_json(theorem: Theorem) -> None:
    found = dataclasses.replace(theorem, kind=Kind.LEMMA, checked_by=(COUNTED,), repair="Say so.").to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found == {
        "name": "a-1",
        "source": "a2000, Lemma 1",
        "kind": "lemma",
        "statement": "It is so.",
        "hypotheses": ["epsilon < 1.", "n > 9 and epsilon < n."],
        "verdict": "holds under a condition",
        "finding": "Only if.",
        "repair": "Say so.",
        "concern": "text",
        "checked_by": [
            {
                "method": "exact enumeration",
                "check": "nothing:counted",
                "shows": "that it is so for n = 2",
                "quick": True,
            }
        ],
        "links": [],
    }


def test_a_source_is_a_document_and_an_item(theorem: Theorem) -> None:
    assert (theorem.document, theorem.item) == ("a2000", "Lemma 1")


@pytest.mark.parametrize(
    ("verdict", "kind", "evidence", "why"),
    [
        (Verdict.HOLDS, Kind.LEMMA, (PROVED, COUNTED), ""),
        (Verdict.HOLDS, Kind.LEMMA, (PROVED,), "Nothing that backs it can be run."),
        (Verdict.HOLDS, Kind.LEMMA, (COMPUTED, COUNTED), "What holds needs a proof."),
        (Verdict.HOLDS, Kind.NUMBER, (COMPUTED,), ""),
        (Verdict.CHECKED, Kind.LEMMA, (COMPUTED,), ""),
        (Verdict.CHECKED, Kind.LEMMA, (SAMPLED,), "Samples alone back no verdict."),
        (Verdict.FAILS, Kind.LEMMA, (COMPUTED,), "What fails needs a second, independent method."),
        (Verdict.FAILS, Kind.LEMMA, (COMPUTED, COUNTED), ""),
        (Verdict.OPEN, Kind.LEMMA, (), ""),
        (Verdict.CODE_DIFFERS, Kind.LEMMA, (), "Nothing that backs it can be run."),
        (Verdict.HOLDS_WITH_CONDITION, Kind.LEMMA, (COMPUTED,), "What holds needs a proof."),
        (
            Verdict.HOLDS_WITH_CONDITION,
            Kind.LEMMA,
            (PROVED, COUNTED),
            "The condition must be one of the hypotheses, and say that it is not stated.",
        ),
    ],
)
def test_no_verdict_is_stronger_than_its_evidence(
    theorem: Theorem, verdict: Verdict, kind: Kind, evidence: tuple[Evidence, ...], why: str
) -> None:
    assert dataclasses.replace(theorem, verdict=verdict, kind=kind, checked_by=evidence).unbacked() == why


def test_what_is_printed_decides(theorem: Theorem) -> None:
    added = dataclasses.replace(SMALL, statement="epsilon < 1 (not stated).")
    proved = dataclasses.replace(theorem, hypotheses=(added,), checked_by=(PROVED, COUNTED))
    assert proved.unbacked() == ""
    for verdict in (Verdict.HOLDS, Verdict.CHECKED):
        assert dataclasses.replace(proved, verdict=verdict).unbacked().startswith("What needs a condition that is not")
    failing = dataclasses.replace(proved, verdict=Verdict.FAILS)
    assert failing.unbacked() == ""
    step = dataclasses.replace(failing, source="a2000, proof of Lemma 1")
    assert step.unbacked() == "A step of a proof that is false is called so."


def test_the_rule_has_every_verdict() -> None:
    assert RULE.keys() == set(Verdict)


def test_a_finding_is_not_changed(theorem: Theorem) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        theorem.verdict = Verdict.HOLDS  # type: ignore[misc]
