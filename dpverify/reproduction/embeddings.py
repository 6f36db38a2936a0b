"""The data of an experiment: the user's embeddings from a file, or digits that ship with a dependency."""

from __future__ import annotations

import functools
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass

__all__ = ["Embeddings", "Words", "bundled", "read", "read_words"]

_HELD_OUT = 10
"""One of so many points is held out."""


@dataclass(frozen=True, eq=False)
class Words:
    """A public vocabulary.

    - vectors (ndarray of float64, shape (words, d)): Of norm 1.
    - classes (ndarray of int64, shape (words,)): The class that each word belongs to, where that is known.
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float64]
    classes: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Points of norm 1 with labels, in an order that does not depend on them.

    - name: What the data is.
    - points (ndarray of float64, shape (n, d)): Of norm 1; the first tenth is held out.
    - labels (ndarray of int64, shape (n,)): In 0, ..., classes - 1.
    - vocabulary: For decoding; the held-out points when omitted.
    """

    name: str
    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    vocabulary: Words | None = None

    @property
    def held_out(self) -> int:
        """How many points are for testing."""
        return max(len(self.points) // _HELD_OUT, 1)

    @property
    def train(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The users' points and labels."""
        return self.points[self.held_out :], self.labels[self.held_out :]

    @property
    def test(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The held-out points and labels."""
        return self.points[: self.held_out], self.labels[: self.held_out]

    @property
    def dimension(self) -> int:
        """The number of coordinates, d."""
        return int(self.points.shape[1])

    @property
    def classes(self) -> int:
        """The number of classes, m."""
        return int(self.labels.max()) + 1

    @property
    def words(self) -> Words:
        """The vocabulary: the one that was given, or the held-out points by their class and place."""
        if self.vocabulary is not None:
            return self.vocabulary
        points, labels = self.test
        names = tuple(f"{label}-{place}" for place, label in enumerate(labels.tolist()))
        return Words(names, points, labels)


@functools.cache
def bundled() -> Embeddings:
    """Return scikit-learn's 1,797 digits, centred at the middle grey and of norm 1."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return _arranged("scikit-learn's digits", digits.data - 8.0 * (digits.data.max(axis=0) > 0.0), digits.target, None)


def read(path: Path, vocabulary: Path | None = None) -> Embeddings:
    """Return the embeddings of a file.

    - path: An npz file with `X`, shape (n, d), and labels `y`.
    - vocabulary: An npz file with `words` and their vectors `X`.

    Raises ValueError if a file lacks an array, or has one of another shape, or numbers that are not finite. Raises
    OSError if a file cannot be read.
    """
    arrays = _arrays(path, ("X", "y"))
    points, labels = arrays["X"], arrays["y"]
    if points.ndim != 2 or labels.shape != (len(points),) or len(points) < _HELD_OUT:
        raise ValueError(
            f"{path} has X of shape {points.shape} and y of shape {labels.shape}, but must have (n, d) and (n,), "
            f"n in [{_HELD_OUT}, inf)."
        )
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise ValueError(f"{path} has a label y that is not finite, and names no class.")
    known = read_words(vocabulary) if vocabulary is not None else None
    if known is not None and known.vectors.shape[1] != points.shape[1]:
        raise ValueError(
            f"{vocabulary} has vectors X of {known.vectors.shape[1]} dimensions, but must have the "
            f"{points.shape[1]} of {path}."
        )
    return _arranged(path.name, _real(path, points), labels, known)


def read_words(path: Path) -> Words:
    """Return a vocabulary from an npz file with `words` and their vectors `X`; see `read` for the errors."""
    arrays = _arrays(path, ("words", "X"))
    if arrays["X"].ndim != 2 or arrays["words"].shape != (len(arrays["X"]),):
        raise ValueError(
            f"{path} has words of shape {arrays['words'].shape} and X of shape {arrays['X'].shape}, but must have "
            "(words,) and (words, d)."
        )
    return Words(tuple(map(str, arrays["words"])), _unit(str(path), _real(path, arrays["X"])))


def _arrays(path: Path, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except (ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        # numpy would tell how to run the code that a file may hold in place of numbers.
        reason = "it holds something else than numbers and words" if "pickle" in str(error) else error
        raise ValueError(f"{path} must be an npz file with the arrays {' and '.join(names)} ({reason}).") from None


def _real(path: Path, vectors: NDArray[Any]) -> NDArray[np.float64]:
    if vectors.dtype.kind not in "fiub":
        raise ValueError(f"{path} has X of {vectors.dtype}, but must have real numbers.")
    return vectors.astype(np.float64)


def _unit(name: str, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise ValueError(f"{name} holds a vector that is 0 or not finite, and has no direction.")
    unit = vectors / norms
    return np.asarray(unit / np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1.0))


def _arranged(name: str, points: NDArray[Any], labels: NDArray[Any], vocabulary: Words | None) -> Embeddings:
    order = np.random.default_rng(0).permutation(len(points))
    classes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return Embeddings(name, _unit(name, points[order].astype(np.float64)), classes[order], vocabulary)
