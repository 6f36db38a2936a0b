"""Densities in a rehearsal: many users at few points, how many of their bits are one, and what the true density is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.collection.densities.signs import Signs
from protocols.classes.frozen import dataclass

__all__ = ["HeldPoints", "tossed"]

_POINTS = 48
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HeldPoints:
    """Points and how many users hold each.

    Parameters
    ----------
    signs : Signs
        The waves.
    points : ndarray, shape (points, dimension)
        Where they are.
    labels : ndarray of int64, shape (points,)
        Their classes.
    number : ndarray of int64, shape (points,)
        Of users at each.
    """

    signs: Signs
    points: NDArray[np.float64]
    labels: Counts
    number: Counts

    @classmethod
    def of(cls, query: Mapping[str, Any], given: ArrayLike | None, users: int) -> HeldPoints:
        """Return as many users at each of the rows given: a point, and where there are several classes one before it.

        When omitted the points are normal, a bandwidth wide, and of all classes alike.
        """
        signs, name = Signs.of(query["points"]), f"held of {query['name']!r}"
        several = int(signs.classes > 1)
        if given is None:
            normal = np.random.default_rng(0).standard_normal((_POINTS, signs.dimension))
            given = normal * signs.cosines().family.bandwidth
            given = np.column_stack([np.arange(_POINTS) % signs.classes, given]) if several else given
        rows = np.asarray(given, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != signs.dimension + several or not len(rows):
            raise ValueError(f"{name} must have shape (points, {signs.dimension + several}).")
        labels = rows[:, 0] if several else np.zeros(len(rows))
        if not np.isin(labels, np.arange(signs.classes)).all():
            raise ValueError(f"{name} must have a class below {signs.classes} in each row.")
        number = np.full(len(rows), users // len(rows), dtype=np.int64)
        number[: users % len(rows)] += 1
        return cls(signs, signs.points(rows[:, several:], name), labels.astype(np.int64), number)

    @property
    def bits(self) -> list[Counts]:
        """Of each instance how many users hold a zero, a one, and a coin."""
        bits, found = self.signs.bits(self.points), list[Counts]()
        for label in range(self.signs.classes):
            own = self.number * (self.labels == label)
            found += [np.array([own.sum() - one, one, self.number.sum() - own.sum()]) for one in own @ bits]
        return found

    def exact(self, users: int) -> list[float]:
        """Return the densities of all classes at all points, a class after the other, among so many users."""
        kernel = self.signs.cosines().family.kernel(self.points, self.points)
        each = [self.number * (self.labels == label) @ kernel / users for label in range(self.signs.classes)]
        return [float(density) for densities in each for density in densities]


def tossed(held: Counts, rng: np.random.Generator) -> Counts:
    """Return how many users have a zero and a one, after those toss who hold coins, if there are any."""
    if held.size == 2:
        return held
    heads = int(rng.binomial(int(held[2]), 0.5))
    return np.array([held[0] + held[2] - heads, held[1] + heads])
