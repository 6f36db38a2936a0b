"""Class decoding: the vocabulary's words that a class's private density ranks highest (wagner2025, section 3.3).

The source ranks words by the density at their vectors. Words that are near to everything then lead in many classes. The
distinctive score looks from the vocabulary's centre, and at what tells a class from the others: the inner product of
the class's published weights, less the mean of all classes', with the word's features, less the mean of all words',
divided by the length of these. Noise in the weights moves all such scores by about as much. Only published weights and
the public vocabulary enter, so it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass
from protocols.classes.optional import needing
from protocols.classifier import HighestDensityClassifier
from protocols.kde import KernelDensity
from protocols.lsq import LSQFeatures
from protocols.streaming import chunked, default_chunk_size, evaluate
from protocols.validation import check_choice, check_groups, check_integer

with needing("Decoding classes"):
    from sklearn.utils.validation import check_is_fitted

__all__ = ["SCORES", "Score", "Vocabulary", "Word", "decode_classes", "top_words"]

Chunk = tuple[Sequence[str], NDArray[np.floating]]
Vocabulary = Chunk | Iterable[Chunk]
"""Words with their vectors, shape (words, dimension): one such pair (a memory map will do), or an iterable of them."""

Score = Literal["distinctive", "density"]
SCORES: tuple[Score, ...] = ("distinctive", "density")

_CHUNK = 4096
_LARGEST = 1e300
"""Of squared norms of features: sums and differences of a few of them stay finite."""
_SAME = 1e-12
"""Features whose squared distance from the centre is less than this, relative to the squares, are at the centre."""


@dataclass(frozen=True)
class Word:
    """One word of a decoded class, its score, and where it stands in the vocabulary, from 0.

    It is ranked by the score, which may be negative, and of words with equal ones the first stands first.
    """

    word: str
    score: float
    position: int


def _chunks(vocabulary: Vocabulary) -> Iterator[Chunk]:
    if isinstance(vocabulary, tuple) and len(vocabulary) == 2 and isinstance(vocabulary[1], np.ndarray):
        pieces: Iterable[Chunk] = (vocabulary,)
    else:
        pieces = check_groups("vocabulary", vocabulary, "pairs (words, vectors)")
    for number, piece in enumerate(pieces):
        if (
            not isinstance(piece, (tuple, list))
            or len(piece) != 2
            or not all(hasattr(part, "__len__") for part in piece)
        ):
            raise TypeError(
                f"vocabulary chunk {number} is a {type(piece).__name__}, but must be a pair (words, vectors) of a list "
                "of texts and an array with one row per word."
            )
        words, vectors = piece[0], np.asarray(piece[1])
        if vectors.ndim != 2 or len(words) != len(vectors):
            raise ValueError(
                f"vocabulary chunk {number} has {len(words)} words and vectors of shape {vectors.shape}, but must "
                "have one row per word."
            )
        for start in range(0, len(words), _CHUNK):
            yield words[start : start + _CHUNK], vectors[start : start + _CHUNK]


def _centre(features: LSQFeatures, vocabulary: Vocabulary) -> NDArray[np.float64]:
    """Return the mean of g over the vocabulary, shape (I Q,)."""
    if isinstance(vocabulary, Iterator):
        raise ValueError(
            f"vocabulary={vocabulary!r} can be read only once, but must be a pair (words, vectors), a list, or another "
            'iterable that begins anew: score="distinctive" reads it twice, score="density" once.'
        )
    total, seen = np.zeros(features.coordinates), 0
    for _, vectors in _chunks(vocabulary):
        for name, chunk in chunked("vocabulary", np.asarray(vectors), default_chunk_size(features)):
            total += features.total(chunk, name=name)
        seen += len(vectors)
    return total / max(seen, 1)


def _distinctive(
    features: LSQFeatures, weights: NDArray[np.float64], centre: NDArray[np.float64], vectors: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return `w . (g - c) / |g - c|` for every vector and column w of the weights; 0 where g is the centre c."""
    size = default_chunk_size(features)
    with np.errstate(over="ignore"):
        squares = np.concatenate(
            [features.squared_norms(chunk, name=name) for name, chunk in chunked("vocabulary", vectors, size)]
        )
        own = float(centre @ centre)
    if not (np.all(squares <= _LARGEST) and own <= _LARGEST):
        raise ValueError(
            f"vocabulary has features of norm {math.sqrt(max(own, squares.max())):.3g}, but it must be in "
            f'[0, {math.sqrt(_LARGEST):.0e}] for score="distinctive".'
        )
    found = evaluate(features, np.column_stack([weights, centre]), vectors)
    across = found[:, -1]
    distances = squares - 2.0 * across + own
    away = distances > _SAME * (squares + own)
    lengths = np.sqrt(np.where(away, distances, 1.0))
    return np.asarray(np.where(away[:, np.newaxis], (found[:, :-1] - centre @ weights) / lengths[:, np.newaxis], 0.0))


def _decode(
    features: LSQFeatures, weights: NDArray[np.float64], vocabulary: Vocabulary, k: int, score: Score
) -> list[list[Word]]:
    """Return the top words for every column of the weights, in a pass that keeps k words per column."""
    check_integer("k", k, low=1)
    check_choice("score", score, SCORES)
    centre = None
    if score == "distinctive":
        centre = _centre(features, vocabulary)
        if weights.shape[1] > 1:  # one class alone has no others to differ from
            weights = weights - weights.mean(axis=1, keepdims=True)
    best: list[list[Word]] = [[] for _ in range(weights.shape[1])]
    seen = 0
    for words, vectors in _chunks(vocabulary):
        points = np.asarray(vectors)
        scores = (
            evaluate(features, weights, points) if centre is None else _distinctive(features, weights, centre, points)
        )
        for column, leaders in enumerate(best):
            # A stable sort of the negated scores: equal scores keep the vocabulary's order, also across chunks.
            first = np.argsort(-scores[:, column], kind="stable")[:k]
            leaders += [Word(str(words[i]), float(scores[i, column]), seen + int(i)) for i in first]
            leaders.sort(key=lambda word: (-word.score, word.position))
            del leaders[k:]
        seen += len(words)
    if seen < k:
        raise ValueError(f"k={k} must be in [1, {seen}], the number of words in the vocabulary.")
    return best


def top_words(density: KernelDensity, vocabulary: Vocabulary, k: int = 10, *, score: Score = "density") -> list[Word]:
    """Return the k words that a density estimate ranks highest; post-processing, at no cost in privacy.

    - density: The published estimate.
    - vocabulary: The public vocabulary, embedded as the users' points were (and scaled as they were: for the inner
      product, long vectors win). An iterable may be larger than memory; by "distinctive" it is read twice.
    - k: How many, at least 1 and at most the size of the vocabulary.
    - score ({"density", "distinctive"}): By the density at their vectors, as in the source, or as seen from the
      vocabulary's centre.

    Returns: By falling score, and by position where scores are equal. Raises ValueError if the vocabulary has fewer
    than k words, a chunk has other numbers of words and vectors, an iterator cannot be read twice, or features are so
    long that their squares overflow.
    """
    if not isinstance(density, KernelDensity):
        raise TypeError(f"density={density!r} must be a KernelDensity, as KernelDensityProtocol returns it.")
    return _decode(density.features, density.weights[:, np.newaxis], vocabulary, k, score)[0]


def decode_classes(
    classifier: HighestDensityClassifier, vocabulary: Vocabulary, k: int = 10, *, score: Score = "distinctive"
) -> dict[object, list[Word]]:
    """Return the top words of every class of a fitted classifier, for all classes together, in the order of `classes_`.

    As `top_words`, by what tells a class from the others, unless the score is "density". Vectors are used as they are,
    whatever `classifier.unit_norm` is.
    """
    if not isinstance(classifier, HighestDensityClassifier):
        raise TypeError(
            f"classifier={classifier!r} must be a HighestDensityClassifier, such as `protocol_` of a fitted "
            "PrivateDensityClassifier."
        )
    check_is_fitted(classifier)
    weights = np.stack([density.weights for density in classifier.densities_], axis=1)
    return dict(
        zip(classifier.classes_.tolist(), _decode(classifier.features_, weights, vocabulary, k, score), strict=True)
    )
