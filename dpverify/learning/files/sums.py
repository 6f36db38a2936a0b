"""Sums over some of the users, which add up to those of all: for streams, partitions and clusters.

They are what a simulation needs of its users, and **not private**: noise is added once, when all of them are there. So
they must stay where the points are trusted to be; what a model publishes is made of their sum alone.

Every part of the users has a number, and counts once: what was counted twice, as where a worker is tried again, or
added twice, is refused. Which of two results for a part is taken does not matter, as neither is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.learning.scale import PublicScale
from protocols.classes.frozen import dataclass
from protocols.validation import check_groups

__all__ = ["PartialSums", "is_empty", "pairs_of"]


@dataclass(frozen=True, eq=False)
class PartialSums:
    """What was counted of some users: their bits, by the labels that they report, or integers.

    - public: What their features are: `PublicFeatures`, or the `JointPlan` of a discriminant.
    - scale: What each has done to her point.
    - classes (ndarray, shape (classes,)): The public labels, sorted; empty for a density, which has none.
    - label_epsilon: Of the labels' randomized response in nats; infinite for labels in the clear, or in the vectors.
    - counts: `BitCounts`, one for each class or a single one; or the single `VectorCounts` of a discriminant.
    - parts: Which parts of the users these are, at least one; see `PrivateDensityClassifier.partial_sums`.
    - seeded: Whether their randomness came from a seed or a generator that was given, and may be known.
    - names: The columns' names, of a table.

    Raises ValueError if they are of no part.
    """

    public: Any
    scale: PublicScale
    classes: NDArray[Any]
    label_epsilon: float
    counts: tuple[Any, ...]
    parts: frozenset[int]
    seeded: bool
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError(f"parts={self.parts!r} must have the number of at least 1 part of the users.")

    @property
    def users(self) -> int:
        """How many users were counted."""
        return sum(int(count.users) for count in self.counts)

    def __radd__(self, other: int) -> PartialSums:
        """Return the sums themselves when added to 0, which `sum` begins with."""
        return self if isinstance(other, int) and other == 0 else self + other  # type: ignore[operator]

    def __add__(self, other: PartialSums) -> PartialSums:
        """Return the sums of both groups of users.

        Raises ValueError if they were counted with other features, scales, classes or columns, or if a part is in both.
        """
        if not isinstance(other, PartialSums):
            raise TypeError(f"partial sums must be added to PartialSums, not to a {type(other).__name__}.")
        if self.public.dimension != other.public.dimension:
            raise ValueError(
                f"partial sums are of points of {self.public.dimension} and {other.public.dimension} coordinates, but "
                "must have the same number to be added."
            )
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
        return replace(self, counts=counts, parts=self.parts | other.parts, seeded=self.seeded or other.seeded)


def is_empty(*parts: Any) -> bool:
    """Return whether a group of users has nobody, as the last one of a stream may: neither points nor labels."""
    return all(hasattr(part, "__len__") and not isinstance(part, str) and len(part) == 0 for part in parts)


def pairs_of(chunks: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield groups of users after checking that each is a pair of points and labels, which no array of two rows is.

    Raises TypeError if one is not.
    """
    for number, chunk in enumerate(check_groups("chunks", chunks, "pairs (X, y) of points and labels")):
        if not isinstance(chunk, (tuple, list)) or len(chunk) != 2:
            what = f"a {type(chunk).__name__}" + (f" of {len(chunk)}" if isinstance(chunk, (tuple, list)) else "")
            raise TypeError(f"chunks must yield pairs (X, y) of points and labels, but yields {what} at {number}.")
        yield chunk[0], chunk[1]
