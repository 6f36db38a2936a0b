"""What the sources claim about classifiers, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Theorem, Verdict

__all__ = ["CLASSIFIER"]

CLASSIFIER: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-corollary-3.4-communication",
        source="wagner2025, Corollary 3.4, communication-threat model",
        statement="The learning protocol is (eps + eps_lbl, delta)-DP",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="For neighbours that differ in one user's point and label; (eps, delta) if only her point differs. It "
        "needs each class's protocol to be (eps, delta)-DP at its reported size, whatever that turns out to be.",
    ),
    Theorem(
        name="wagner2025-corollary-3.4-model",
        source="wagner2025, Corollary 3.4, model-threat model",
        statement="The learning protocol is (eps, delta)-DP",
        hypotheses=(),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="Holds for neighbours of equal labels. If the label may change it fails, as the reported counts are "
        "part of the model: with one user they are her reported label, at eps_lbl. Then (eps + eps_lbl, delta) is what "
        "holds.",
    ),
)
