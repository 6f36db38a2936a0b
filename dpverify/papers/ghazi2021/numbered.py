"""Numbered statements that stand for themselves."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Kind, Theorem, Verdict, accounting, enumeration, proof

__all__ = ["NUMBERED"]

NUMBERED: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-corollary-27",
        source="ghazi2021, Corollary 27",
        kind=Kind.COROLLARY,
        statement="m = O~_beta(PRDim(C)^3 / alpha^2) samples are enough for a stable learner",
        hypotheses=(
            within("alpha", "(0, 1)"),
            Hypothesis(
                "beta-below-0.98", "0 < beta < 0.98, as for Theorem 26 (not stated).", lambda beta: 0 < beta < 0.98
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="For a class that represents itself, by m = gamma^2 ln(2 |H|) / (2 beta^4), which grows like "
        "d^{exponent:.2f} from d = 400 to 800. Lemma 10, which bounds PRDim at alpha/2 and beta/2 by PRDim, stands in "
        "the main part, which was not at hand.",
        checked_by=(
            proof("dpverify.claims.user_level.stable_learner", "that so many samples are enough"),
            accounting("user_level:pseudo_stable_budget", "the growth of m from d = 400 to 800"),
        ),
        links=("dpverify.claims.user_level.stable_learner:enough_samples",),
        repair="Ask for beta < 0.98.",
    ),
    Theorem(
        name="ghazi2021-definition-31",
        source="ghazi2021, Definition 31",
        kind=Kind.DEFINITION,
        statement="An oracle STAT_D(tau) answers a query of values in [-1, 1] within tau of its mean",
        hypotheses=(within("tau", "(0, inf)", "ghazi2021, Definition 31"),),
        verdict=Verdict.HOLDS,
        finding="The repaired Algorithm 5 is one, with room: its answers are within {worst_in_tau:.2f} tau of the mean "
        "that it is given, which leaves 2/3 tau for the samples.",
        checked_by=(
            enumeration("user_level:statistical_queries", "answers at 41 means, three tolerances and offsets"),
        ),
        links=("protocols.user_level.statistical_queries",),
    ),
    Theorem(
        name="ghazi2021-algorithm-8",
        source="ghazi2021, Algorithm 8 and Corollary 40, overestimation",
        kind=Kind.ALGORITHM,
        statement="The total number of messages is never below the sum",
        hypotheses=(
            Hypothesis("everyone-takes-part", "All n users take part.", lambda n, participants: participants == n),
        ),
        verdict=Verdict.HOLDS,
        finding="A user sends her bit at least ({least_excess:.0f} is the least excess).",
        checked_by=(
            proof("docs/buckets.md#the-error-of-a-selection", "that noise only adds"),
            enumeration("buckets:overestimates", "all bits and noises up to 4 of three users"),
        ),
        links=("protocols.bitsum.negative_binomial",),
    ),
)
