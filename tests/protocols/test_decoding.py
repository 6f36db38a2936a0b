import re
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from protocols.bitsum import RandomizedResponse
from protocols.classifier import HighestDensityClassifier
from protocols.decoding import SCORES, Word, decode_classes, top_words
from protocols.kde import KernelDensity, KernelDensityProtocol
from protocols.lsq import FourierPairs, GaussianFeatures, Identity, LaplacianBinning, LSQFamily
from tests.refusals import refused

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
    fitted = HighestDensityClassifier(GaussianFeatures(2), instances=300, random_state=3, label_epsilon=None).fit(x, y)
    vectors = np.array([[-1.0, -1.0], [0.0, 5.0], [1.0, 1.0]])
    chunks = iter([(["west"], vectors[:1]), (["north", "east"], vectors[1:])])
    decoded = decode_classes(fitted, chunks, 1, score="density")
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
    with refused("k=0"):
        top_words(density([1.0]), (WORDS, np.ones((50, 1))), 0)
    with refused("k=51"):
        top_words(density([1.0]), (WORDS, np.ones((50, 1))), 51)
    with pytest.raises(ValueError, match=r"^vocabulary chunk 1 has 2 words and vectors of shape \(3, 1\)"):
        top_words(density([1.0]), [(["a"], np.ones((1, 1))), (["b", "c"], np.ones((3, 1)))], 1)


def fitted_to_three(features: LSQFamily, instances: int) -> tuple[HighestDensityClassifier, np.ndarray]:
    rng = np.random.default_rng(11)
    labels = np.repeat(["a", "b", "c"], 1000)
    corners = {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0], "c": [0.0, 0.0, 1.0]}
    points = np.array([corners[label] for label in labels]) + 0.2 * rng.normal(size=(3000, 3))
    model = HighestDensityClassifier(features, instances=instances, random_state=12, label_epsilon=None).fit(
        points, labels
    )
    return model, rng.normal(size=(50, 3)) + 3.0  # a vocabulary far from where the points are


@pytest.mark.parametrize("features", [GaussianFeatures(3), LaplacianBinning(3, 4.0, 16)], ids=["dense", "sparse"])
def test_distinctive_words_are_those_of_the_definition(features: LSQFamily) -> None:
    model, vectors = fitted_to_three(features, 40)
    g = model.features_.g(vectors).reshape(50, -1)
    weights = np.stack([density.weights for density in model.densities_], axis=1)
    centred = g - g.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    expected = centred / lengths @ (weights - weights.mean(axis=1, keepdims=True))
    pieces = [(WORDS[start:end], vectors[start:end]) for start, end in ((0, 7), (7, 8), (8, 50))]
    for vocabulary in ((WORDS, vectors), pieces):
        for column, found in enumerate(decode_classes(model, vocabulary, 50).values()):
            scores = expected[[word.position for word in found], column]
            np.testing.assert_allclose([word.score for word in found], scores, rtol=1e-9, atol=1e-12)
            assert (np.diff(scores) <= 1e-12).all()
            assert len({word.position for word in found}) == 50


def test_distinctive_words_do_not_lead_everywhere() -> None:
    # The hub is long: its inner product is the largest with everything.
    model, _ = fitted_to_three(Identity(3, 2.0), 1)
    words = ["hub", "a", "b", "c"]
    vectors = np.array([[2.0, 2.0, 2.0], [1.5, 0.5, 0.5], [0.5, 1.5, 0.5], [0.5, 0.5, 1.5]])
    leaders = {
        score: [found[0].word for found in decode_classes(model, (words, vectors), 1, score=score).values()]
        for score in SCORES
    }
    assert leaders == {"density": ["hub"] * 3, "distinctive": ["a", "b", "c"]}


def test_a_word_at_the_centre_says_nothing() -> None:
    vectors = np.array([[1.0], [3.0], [2.0]])
    found = top_words(density([1.0]), (WORDS[:3], vectors), 3, score="distinctive")
    assert [(word.word, word.score) for word in found] == [("w1", 1.0), ("w2", 0.0), ("w0", -1.0)]


def test_what_can_be_read_only_once_is_refused_where_twice_is_needed() -> None:
    once = iter([(WORDS, np.ones((50, 1)))])
    with pytest.raises(ValueError, match="can be read only once, but must be a pair"):
        top_words(density([1.0]), once, 2, score="distinctive")
    with refused("score='best'"):
        top_words(density([1.0]), (WORDS, np.ones((50, 1))), 2, score="best")  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1e160, 1e200, 1e308])
def test_vectors_whose_squares_overflow_are_refused(size: float) -> None:
    vectors = np.array([[size, 0.0], [0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"^vocabulary has features of norm .* must be in \[0, 1e\+150\]"):
        top_words(density([1.0, 2.0]), (WORDS[:3], vectors), 1, score="distinctive")
    assert np.isfinite(
        top_words(density([1.0, 2.0]), (WORDS[:3], vectors / size * 1e140), 1, score="distinctive")[0].score
    )


def test_what_is_no_vocabulary_is_one_sentence() -> None:
    features = FourierPairs(3).sample(8, np.random.default_rng(0))
    density = KernelDensityProtocol(RandomizedResponse(4, 0.1), features).simulate(
        np.zeros((4, 3)), np.random.default_rng(0)
    )
    words = (["a"], np.zeros((1, 3)))
    for call, said in (
        (lambda: top_words(None, words, 1), "density=None must be a KernelDensity"),
        (lambda: top_words(density, None, 1), "vocabulary=None must be a list or another iterable of pairs"),
        (lambda: top_words(density, {"a": 1}, 1), "vocabulary={'a': 1} must be a list or another iterable of pairs"),
        (lambda: top_words(density, ["a", "b"], 1), "vocabulary chunk 0 is a str, but must be a pair (words, vectors)"),
        (
            lambda: top_words(density, [(None, np.zeros((1, 3)))], 1),
            "vocabulary chunk 0 is a tuple, but must be a pair",
        ),
        (lambda: decode_classes(None, words, 1), "classifier=None must be a HighestDensityClassifier"),
        (
            lambda: decode_classes(HighestDensityClassifier(label_epsilon=None), words, 1),
            "This HighestDensityClassifier instance is not",
        ),
    ):
        with pytest.raises((TypeError, ValueError, AttributeError), match=rf"^{re.escape(said)}"):
            call()
