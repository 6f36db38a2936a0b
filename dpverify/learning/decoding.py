"""The words of a public vocabulary that tell the classes of a learned classifier apart: post-processing of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.evaluate import Progress
from dpverify.learning.files.data import DataFile
from dpverify.shown import Drawn
from protocols.classes.frozen import dataclass
from protocols.decoding import Score, Word, decode_classes

__all__ = ["Decoded", "decode"]


@dataclass(frozen=True, eq=False)
class Decoded(Drawn):
    """The words of every class, best first.

    - classifier: Whose classes they are; what it guarantees, it guarantees together with the words.
    - score: What the words are ranked by: "distinctive" or "density".
    - vocabulary: How many words were looked at.
    - words: By class.
    """

    table_by: ClassVar[str] = "dpverify.report.learning:decoded_table"
    figure_by: ClassVar[str] = "dpverify.report.learning:decoded_scores"
    rows_by: ClassVar[str] = "words"
    plain_as: ClassVar[str] = "score vocabulary guarantee=classifier.guarantee_ words=_rows"

    classifier: PrivateDensityClassifier = field(repr=False)
    score: Score
    vocabulary: int
    words: Mapping[object, Sequence[Word]]

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"class": label, "rank": rank, "word": word.word, "score": word.score, "position": word.position}
            for label, found in self.words.items()
            for rank, word in enumerate(found, start=1)
        ]


def _text(word: str) -> str:
    """Return a word with its lone surrogates, which no file and no terminal takes, as escapes."""
    return word.encode("utf-8", "backslashreplace").decode("utf-8")


class _Scaled:
    """The vocabulary of a file, on the classifier's public scale; begins anew as often as it is read."""

    def __init__(self, file: DataFile, classifier: PrivateDensityClassifier, passes: int, progress: Progress) -> None:
        self._file, self._classifier, self._progress = file, classifier, progress
        self._seen, self._all = 0, passes * file.rows

    def __iter__(self) -> Iterator[tuple[Sequence[str], NDArray[np.floating]]]:
        for vectors, words in self._file.chunks():
            assert words is not None
            yield list(map(_text, words.astype(str).tolist())), self._classifier.scale_(vectors)
            self._seen += len(vectors)
            self._progress(self._seen, self._all)


def decode(
    classifier: PrivateDensityClassifier,
    vocabulary: DataFile,
    k: int = 10,
    *,
    score: Score = "distinctive",
    progress: Progress = lambda done, rows: None,
) -> Decoded:
    """Return the k words of a public vocabulary that a classifier ranks highest in each class.

    - classifier: Fitted, or loaded from a model file.
    - vocabulary: Vectors, embedded as the users' points were, with the words as labels: `open_data(path, "words")`.
      Each vector is scaled as the points were.
    - k: How many words, from 1 to the size of the vocabulary.
    - score ({"distinctive", "density"}): See `protocols.decoding`.
    - progress: Called with the words that are done, and all words of all passes.

    Raises ValueError if the vectors have another dimension than the points, cannot be scaled, or are fewer than k.
    """
    if not isinstance(classifier, PrivateDensityClassifier):
        raise TypeError(f"classifier={classifier!r} must be a fitted PrivateDensityClassifier.")
    check_is_fitted(classifier)
    if not isinstance(vocabulary, DataFile) or vocabulary.labels is None:
        raise TypeError(f"vocabulary={vocabulary!r} must be a file with words, as open_data(path, words) returns it.")
    if vocabulary.dimension != classifier.n_features_in_:
        raise ValueError(
            f"{vocabulary.path} has vectors of {vocabulary.dimension} dimensions, but must have the "
            f"{classifier.n_features_in_} of the model."
        )
    scaled = _Scaled(vocabulary, classifier, 2 if score == "distinctive" else 1, progress)
    words = decode_classes(classifier.protocol_, scaled, k, score=score)
    return Decoded(classifier, score, vocabulary.rows, words)
