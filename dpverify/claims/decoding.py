"""What is true of `protocols.decoding`: it is post-processing, and what follows from that.

The words of a class are a function of the published model, the public features and the public vocabulary, ties broken
by the vocabulary's order. So whatever the model guarantees, model and words together guarantee, for every vocabulary,
number of words and sequence of vocabularies, each chosen after seeing the words of those before.
"""

from __future__ import annotations

from dataclasses import replace

from dpverify.claims.theorem import Theorem, Verdict
from dpverify.guarantee import Guarantee

__all__ = ["THEOREMS", "decoded_guarantee"]

THEOREMS: tuple[Theorem, ...] = (
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
"""The claim about decoding."""


def decoded_guarantee(model: Guarantee) -> Guarantee:
    """Return what model and decoded words guarantee together: what the model does.

    Parameters
    ----------
    model : Guarantee
        Of the densities or the classifier that are decoded, in any threat model, of either side.
    """
    return replace(model, method=f"{model.method}; decoded words are post-processing")
