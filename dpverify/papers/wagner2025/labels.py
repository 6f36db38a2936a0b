"""What the sources claim about labels by randomized response, and what was found about each claim."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Kind, Theorem, Verdict, enumeration, symbolic

__all__ = ["LABELS"]

LABELS: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-section-3.3-labels",
        source="wagner2025, section 3.3, preliminary round",
        kind=Kind.ALGORITHM,
        statement="A label that is kept with probability e^eps / (e^eps - 1 + m), else replaced by a uniformly random "
        "other one, is eps-DP",
        hypotheses=(within("epsilon", "(0, inf)"), Hypothesis("two-classes", "m >= 2.", lambda m: m >= 2)),
        verdict=Verdict.HOLDS,
        finding="And no better: every two labels attain eps. With three classes or more some reports have no loss at "
        "all ({without_loss:.0f} of the five for m = 5), so that at delta > 0 many labels compose to less than binary "
        "randomized response.",
        checked_by=(
            symbolic("classifier:labels", "the largest ratio for any m and eps"),
            enumeration("classifier:labels_enumerated", "all pairs of five labels, in fractions"),
        ),
        links=("protocols.local.labels", "dpverify.claims.local.labels"),
    ),
)
