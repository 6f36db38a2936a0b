"""What the sources claim about decoding, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Theorem, Verdict

__all__ = ["DECODING"]

DECODING: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-section-3.3-decoding",
        source="wagner2025, section 3.3, class decoding",
        statement="The vocabulary words of highest private density can be released at no further cost in privacy",
        hypotheses=(),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="Post-processing, as long as the vocabulary does not depend on the users' points: words that were "
        "collected from the data give away that someone used them, whatever their order.",
    ),
)
