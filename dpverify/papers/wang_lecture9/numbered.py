"""Numbered statements that stand for themselves."""

from __future__ import annotations

from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Kind, Theorem, Verdict, enumeration

__all__ = ["NUMBERED"]

NUMBERED: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-definition-9.1",
        source="wang_lecture9, Definition 9.1",
        kind=Kind.DEFINITION,
        statement="Q is (eps, delta)-LDP if P(Q(x) in S) <= e^eps P(Q(x') in S) + delta for all x, x' and S; delta = 0 "
        "is pure",
        hypotheses=(within("epsilon", "[0, inf)"), within("delta", "[0, 1]")),
        verdict=Verdict.HOLDS,
        finding="At delta = 0 single outcomes decide; at delta > 0 they do not: of three outcomes all events need "
        "delta {all_events:.1f} at eps = 0 where single ones need {single_outcomes:.1f}. The engine takes the supremum "
        "over events.",
        checked_by=(
            enumeration("local:levels_by_definition", "all events of a report of three outcomes, in fractions"),
        ),
        links=("dpverify.claims.local.base", "dpverify.privacy_loss.losses.distribution"),
    ),
    Theorem(
        name="wang_lecture9-definition-9.5",
        source="wang_lecture9, Definition 9.5",
        kind=Kind.DEFINITION,
        statement="A protocol (R, S, A) is (eps, delta)-SDP if the shuffled messages of all users are (eps, delta)-DP",
        hypotheses=(within("epsilon", "[0, inf)"), within("delta", "[0, 1]")),
        verdict=Verdict.HOLDS,
        finding="The uniformly random order tells nothing that the counts of the messages do not, so that the view is "
        "a multiset: what every twin accounts.",
        checked_by=(enumeration("shuffling:views_by_definition", "all orders of two users' reports, in fractions"),),
        links=("protocols.shuffler", "dpverify.guarantee:ThreatModel"),
    ),
)
