"""What is true of `protocols.decoding`: it is post-processing, and what follows from that.

The words of a class are a function of the published model, the public features and the public vocabulary, ties broken
by the vocabulary's order. So whatever the model guarantees, model and words together guarantee, for every vocabulary,
number of words and sequence of vocabularies, each chosen after seeing the words of those before. So `account` of the
density protocol or classifier that is decoded is the account of the words too.
"""

from __future__ import annotations

from dataclasses import replace

from dpverify.guarantee import Guarantee

__all__ = ["decoded_guarantee"]


def decoded_guarantee(model: Guarantee) -> Guarantee:
    """Return what model and decoded words guarantee together: what the model does.

    - model: Of the densities or the classifier that are decoded, in any threat model, of either side.
    """
    return replace(model, method=f"{model.method}; decoded words are post-processing")
