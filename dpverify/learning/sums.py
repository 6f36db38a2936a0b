"""Sums over some of the users, which add up to those of all: for streams, partitions and clusters.

They are what a simulation needs of its users, and **not private**: noise is added once, when all of them are there. So
they must stay where the points are trusted to be; what a model publishes is made of their sum alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.learning.features import PublicFeatures
from dpverify.learning.scale import PublicScale
from protocols.streaming import BitCounts

__all__ = ["PartialSums", "pairs_of"]


@dataclass(frozen=True, eq=False)
class PartialSums:
    """The counted bits of some users, by the labels that they report.

    Parameters
    ----------
    public : PublicFeatures
        What their features are.
    scale : PublicScale
        What each has done to her point.
    classes : ndarray, shape (classes,)
        The public labels, sorted; empty for a density, which has none.
    label_epsilon : float
        Of the labels' randomized response in nats; infinite for labels in the clear.
    counts : tuple of BitCounts
        One for each class, or a single one.
    parts : frozenset of int
        Which parts of the users these are, where they are numbered; see `PrivateDensityClassifier.partial_sums`.
    names : tuple of str or None
        The columns' names, of a table.
    """

    public: PublicFeatures
    scale: PublicScale
    classes: NDArray[Any]
    label_epsilon: float
    counts: tuple[BitCounts, ...]
    parts: frozenset[int] = frozenset()
    names: tuple[str, ...] | None = None

    @property
    def users(self) -> int:
        """How many users were counted."""
        return sum(count.users for count in self.counts)

    def __add__(self, other: PartialSums) -> PartialSums:
        """Return the sums of both groups of users.

        Raises
        ------
        ValueError
            If they were counted with other features, scales, classes or columns, or if a part is in both.
        """
        for name in ("public", "scale", "label_epsilon", "names"):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(
                    f"partial sums have {name}={getattr(self, name)!r} and {getattr(other, name)!r}, but must have "
                    "the same to be added."
                )
        if not np.array_equal(self.classes, other.classes):
            raise ValueError(
                f"partial sums have classes={self.classes.tolist()} and {other.classes.tolist()}, but must have the "
                "same to be added."
            )
        if twice := self.parts & other.parts:
            raise ValueError(f"part={min(twice)} is in both partial sums, but each part of the users counts once.")
        counts = tuple(one + two for one, two in zip(self.counts, other.counts, strict=True))
        return PartialSums(
            self.public, self.scale, self.classes, self.label_epsilon, counts, self.parts | other.parts, self.names
        )


def pairs_of(chunks: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield groups of users after checking that each is a pair of points and labels, which no array of two rows is.

    Raises
    ------
    TypeError
        If one is not.
    """
    for number, chunk in enumerate(chunks):
        if not isinstance(chunk, (tuple, list)) or len(chunk) != 2:
            what = f"a {type(chunk).__name__}" + (f" of {len(chunk)}" if isinstance(chunk, (tuple, list)) else "")
            raise TypeError(f"chunks must yield pairs (X, y) of points and labels, but yields {what} at {number}.")
        yield chunk[0], chunk[1]
