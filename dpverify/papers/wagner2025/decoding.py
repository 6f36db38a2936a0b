"""What the sources claim about decoding, and what was found about each claim."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.papers.theorem import Theorem, Verdict, enumeration, proof

__all__ = ["DECODING"]

DECODING: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-section-3.3-decoding",
        source="wagner2025, section 3.3, class decoding",
        statement="The vocabulary words of highest private density can be released at no further cost in privacy",
        hypotheses=(
            Hypothesis(
                "public-vocabulary",
                "The vocabulary does not depend on the users' points (wagner2025: fixed and public).",
                lambda depends_on_data: not depends_on_data,
            ),
        ),
        verdict=Verdict.HOLDS,
        finding="Post-processing, as the vocabulary is fixed and public. (Words that were collected from the data "
        "would give away that someone used them, whatever their order, with delta {delta:.0f}.)",
        checked_by=(
            proof("docs/accounting.md#what-is-composed", "what is processed costs no more"),
            enumeration("classifier:collected_vocabulary", "two neighbouring datasets whose words are the vocabulary"),
        ),
        links=("protocols.decoding", "dpverify.claims.decoding"),
    ),
)
