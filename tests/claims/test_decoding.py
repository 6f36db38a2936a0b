"""Decoding is post-processing: the words are a function of the published weights and of nothing else."""

from typing import Any

import numpy as np

from dpverify.claims.decoding import decoded_guarantee
from dpverify.guarantee import Adjacency, Guarantee, Side, ThreatModel
from protocols.decoding import top_words
from protocols.kde import KernelDensity
from protocols.lsq import Identity


def test_the_guarantee_is_that_of_the_model() -> None:
    model = Guarantee(1.0, 1e-6, Adjacency.REPLACE_ONE, ThreatModel.COMMUNICATION, Side.UPPER_BOUND, "exact", "here")
    both = decoded_guarantee(model)
    assert (both.epsilon, both.delta, both.side, both.threat_model) == (1.0, 1e-6, model.side, model.threat_model)
    assert both.method == "exact; decoded words are post-processing"


def test_words_are_made_of_what_is_published_alone() -> None:
    rng = np.random.default_rng(3)
    vocabulary = [f"w{i}" for i in range(30)], rng.normal(size=(30, 4))
    features = Identity(4).sample(1, rng)
    density = KernelDensity(rng.normal(size=(1, 4)), 7, features, clipped_fraction=0.25)

    class Guarded(KernelDensity):
        def __getattribute__(self, name: str) -> Any:
            # The fraction of clipped points is not private.
            assert name != "clipped_fraction"
            return super().__getattribute__(name)

    guarded = object.__new__(Guarded)
    guarded.__dict__.update(vars(density))
    assert top_words(density, vocabulary, 5) == top_words(guarded, vocabulary, 5)
