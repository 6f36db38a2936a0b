"""Displayed bounds, steps of proofs and numbers of the text."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, enclosure, enumeration, proof, symbolic

__all__ = ["DISPLAYED"]

DISPLAYED: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-sample-sizes",
        source="wang_lecture9, section 9.1, numbers of samples, and section 9.2",
        kind=Kind.NUMBER,
        statement="An error alpha needs n = O(1/(alpha eps)) centrally and O(1/(alpha^2 eps^2)) locally: a gap of "
        "sqrt(n) in the error",
        hypotheses=(within("epsilon", "(0, 1]"),),
        verdict=Verdict.HOLDS,
        finding="As eps is at most 1: both follow from the right errors, 1/(n eps) and 1/(eps sqrt(n)), and their "
        "ratio is {gap}.",
        checked_by=(symbolic("local:sample_sizes", "both equations solved for n"),),
        links=("docs/local_means.md#error",),
    ),
    Theorem(
        name="wang_lecture9-theorem-9.2-bayes",
        source="wang_lecture9, proof of Theorem 9.2, item 2",
        kind=Kind.BOUND,
        statement="Given the transcript of a 1-LDP protocol a fair bit is 1 with a probability in [1/(e+1), e/(e+1)], "
        "inside [1/4, 3/4]",
        hypotheses=(within("epsilon", "(0, 1]", "wang_lecture9, Theorem 9.2"),),
        verdict=Verdict.HOLDS,
        finding="[{low:.4f}, {high:.4f}]. The display has P(A = a | X_i = 1) where P(X_i = 1 | A = a) is meant.",
        checked_by=(enclosure("local:bayes_interval", "the ends of the interval"),),
        links=("dpverify.claims.shared.lower_bound",),
    ),
    Theorem(
        name="wang_lecture9-9.1.1-ln-three",
        source="wang_lecture9, 9.1.1, randomized response at ln 3",
        kind=Kind.NUMBER,
        statement="At epsilon = ln 3, about 1.1, randomized response is right with probability 3/4, and says yes for a "
        "no with 1/4",
        verdict=Verdict.HOLDS,
        finding="ln 3 is {epsilon:.4f}.",
        checked_by=(enumeration("local:log_three", "the ratio of 3/4 and 1/4"),),
        links=("protocols.local.randomized_response",),
    ),
    Theorem(
        name="wang_lecture9-9.1.1-one-hash",
        source="wang_lecture9, 9.1.1, one hash function",
        statement="With h = 1 B is a one-hot encoding, which is effective when there are at most k values",
        hypotheses=(
            Hypothesis(
                "no-collision",
                "No two values share a place (not stated; hash functions are random).",
                lambda collisions: collisions == 0,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="Of k values under a random hash function some collide with probability {five:.4f} at k = 5, and all "
        "but surely at k = 128. A one-hot encoding needs distinct places.",
        checked_by=(
            proof("dpverify.evidence.local:collisions_of_hashes", "what distinct places make"),
            enumeration("local:collisions_of_hashes", "the chance of a collision for k of 5, 16 and 128, in fractions"),
        ),
        links=("protocols.rappor.bloom",),
        concern=Concern.ACCURACY,
        repair="Give each value its own place.",
    ),
)
