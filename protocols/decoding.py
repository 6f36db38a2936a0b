"""Class decoding: the vocabulary words at which a class's private density is highest (wagner2025, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocols.classifier import HighestDensityClassifier
from protocols.kde import KernelDensity, evaluate
from protocols.lsq import LSQFeatures
from protocols.validation import check_integer

__all__ = ["Vocabulary", "Word", "decode_classes", "top_words"]

Chunk = tuple[Sequence[str], NDArray[np.floating]]
Vocabulary = Chunk | Iterable[Chunk]
"""Words with their vectors, shape (words, dimension): one such pair (a memory map will do), or an iterable of them."""

_CHUNK = 4096


@dataclass(frozen=True)
class Word:
    """One word of a decoded class.

    Parameters
    ----------
    word : str
        The word.
    score : float
        The density estimate at its vector; it may be negative.
    position : int
        Where it stands in the vocabulary, from 0: of words with equal scores, the first stands first.
    """

    word: str
    score: float
    position: int


def _chunks(vocabulary: Vocabulary) -> Iterator[Chunk]:
    if isinstance(vocabulary, tuple) and len(vocabulary) == 2 and isinstance(vocabulary[1], np.ndarray):
        pieces: Iterable[Chunk] = (vocabulary,)
    else:
        pieces = vocabulary
    for number, (words, vectors) in enumerate(pieces):
        if vectors.ndim != 2 or len(words) != len(vectors):
            raise ValueError(
                f"vocabulary chunk {number} has {len(words)} words and vectors of shape {vectors.shape}, but must "
                "have one row per word."
            )
        for start in range(0, len(words), _CHUNK):
            yield words[start : start + _CHUNK], vectors[start : start + _CHUNK]


def _decode(features: LSQFeatures, weights: NDArray[np.float64], vocabulary: Vocabulary, k: int) -> list[list[Word]]:
    """Return the top words for every column of the weights, in one pass that keeps k words per column."""
    check_integer("k", k, low=1)
    best: list[list[Word]] = [[] for _ in range(weights.shape[1])]
    seen = 0
    for words, vectors in _chunks(vocabulary):
        scores = evaluate(features, weights, np.asarray(vectors))
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


def top_words(density: KernelDensity, vocabulary: Vocabulary, k: int = 10) -> list[Word]:
    """Return the k words at which a density estimate is highest; post-processing, at no cost in privacy.

    Parameters
    ----------
    density : KernelDensity
        The published estimate.
    vocabulary : (words, vectors) or iterable of such
        The public vocabulary, embedded as the users' points were (and scaled as they were: for the inner product, long
        vectors win). An iterable is read once and may be larger than memory.
    k : int
        How many, at least 1 and at most the size of the vocabulary.

    Returns
    -------
    list of Word
        By falling score, and by position where scores are equal.

    Raises
    ------
    ValueError
        If the vocabulary has fewer than k words, or a chunk has other numbers of words and vectors.
    """
    return _decode(density.features, density.weights[:, np.newaxis], vocabulary, k)[0]


def decode_classes(
    classifier: HighestDensityClassifier, vocabulary: Vocabulary, k: int = 10
) -> dict[object, list[Word]]:
    """Return the top words of every class of a fitted classifier, in one pass over the vocabulary.

    Parameters
    ----------
    classifier : HighestDensityClassifier
        Fitted.
    vocabulary, k
        As for `top_words`. Vectors are used as they are, whatever `classifier.unit_norm` is.

    Returns
    -------
    dict of list of Word
        By class, in the order of `classes_`.
    """
    weights = np.stack([density.weights for density in classifier.densities_], axis=1)
    return dict(zip(classifier.classes_.tolist(), _decode(classifier.features_, weights, vocabulary, k), strict=True))
