from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from protocols.classifier import HighestDensityClassifier
from protocols.decoding import Word, decode_classes, top_words
from protocols.kde import KernelDensity
from protocols.lsq import GaussianFeatures, Identity

WORDS = [f"w{i}" for i in range(50)]


def density(weights: list[float]) -> KernelDensity:
    features = Identity(len(weights)).sample(1, np.random.default_rng(0))
    return KernelDensity(np.array([weights]), 1, features)


def test_scores_are_densities_in_falling_order() -> None:
    vectors = np.random.default_rng(1).normal(size=(50, 3))
    estimate = density([1.0, -2.0, 0.5])
    order = np.argsort(-estimate(vectors))[:7]
    assert top_words(estimate, (WORDS, vectors), 7) == [
        Word(WORDS[i], pytest.approx(float(estimate(vectors)[i]), rel=1e-12), int(i)) for i in order
    ]


def test_ties_go_to_the_first_whatever_the_chunks() -> None:
    scores = np.array([0.0, 2.0, 1.0, 2.0, 2.0, 1.0, 0.0])
    vectors, words = scores[:, None], WORDS[:7]
    expected = ["w1", "w3", "w4", "w2", "w5"]
    for cuts in ([], [1, 2], [3], [2, 4, 6], [0, 7]):
        pieces = zip(np.split(np.array(words), cuts), np.split(vectors, cuts), strict=True)
        assert [word.word for word in top_words(density([1.0]), pieces, 5)] == expected
    assert [word.word for word in top_words(density([1.0]), (words, vectors), 5)] == expected


def test_classes_are_decoded_in_one_pass() -> None:
    rng = np.random.default_rng(2)
    y = np.repeat(["left", "right"], 40)
    x = rng.normal(size=(80, 2)) * 0.2 + np.where(y == "left", -1.0, 1.0)[:, None]
    fitted = HighestDensityClassifier(GaussianFeatures(2), instances=300, random_state=3).fit(x, y)
    vectors = np.array([[-1.0, -1.0], [0.0, 5.0], [1.0, 1.0]])
    chunks = iter([(["west"], vectors[:1]), (["north", "east"], vectors[1:])])
    decoded = decode_classes(fitted, chunks, 1)
    assert {label: words[0].word for label, words in decoded.items()} == {"left": "west", "right": "east"}
    for column, label in enumerate(fitted.classes_):
        (alone,) = top_words(fitted.densities_[column], (["west", "north", "east"], vectors), 1)
        assert decoded[label] == [Word(alone.word, pytest.approx(alone.score, rel=1e-12), alone.position)]


def test_vocabulary_may_be_larger_than_memory() -> None:
    def chunks(count: int) -> Iterator[tuple[list[str], np.ndarray]]:
        rng = np.random.default_rng(4)
        for _ in range(count):
            yield WORDS, rng.normal(size=(50, 20))

    peaks = []
    for count in (4, 400):
        tracemalloc.start()
        top_words(density([1.0] * 20), chunks(count), 5)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] + 20_000


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match=r"^k=0 must be an integer in \[1, inf\)\.$"):
        top_words(density([1.0]), (WORDS, np.ones((50, 1))), 0)
    with pytest.raises(ValueError, match=r"^k=51 must be in \[1, 50\], the number of words"):
        top_words(density([1.0]), (WORDS, np.ones((50, 1))), 51)
    with pytest.raises(ValueError, match=r"^vocabulary chunk 1 has 2 words and vectors of shape \(3, 1\)"):
        top_words(density([1.0]), [(["a"], np.ones((1, 1))), (["b", "c"], np.ones((3, 1)))], 1)
