"""Linear separators of few bits by statistical queries (ghazi2021, Corollary 33): a perceptron that sees means only.

With `QueryLearner` and a `HadamardSelection` that is a learner in the local model, in which every user sends one
message and nobody asks anything twice.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass
from protocols.user_level.representations import OfBits, Table
from protocols.user_level.statistical_queries import Ask, QueryAlgorithm
from protocols.validation import check_integer, check_real

__all__ = ["SeparatorSearch", "Separators"]

_MOST_VARIABLES = 4
_MOST_UPDATES = 2.5
"""Times R^2 / m^2; see `SeparatorSearch`."""


@dataclass(frozen=True)
class Separators(OfBits):
    """The functions "w x + b is positive" of a vector x of 1 to 4 bits: 4, 14, 104, 1882 of them."""

    def __post_init__(self) -> None:
        check_integer("variables", self.variables, low=1, high=_MOST_VARIABLES)

    @functools.cached_property
    def _found(self) -> dict[tuple[int, ...], float]:
        """The functions of small integer weights, which are all, with the largest margin of one such vector."""
        points = augmented(self.variables)
        reach, found = max(1, self.variables - 1), dict[tuple[int, ...], float]()
        for weights in itertools.product(range(-reach, reach + 1), repeat=self.variables):
            for twice in range(-2 * reach * self.variables - 1, 2 * reach * self.variables + 2, 2):
                vector = np.array([*weights, 0.5 * twice])
                values = points @ vector
                labels = tuple((values > 0.0).astype(int).tolist())
                margin = float(np.abs(values).min() / np.linalg.norm(vector))
                found[labels] = max(found.get(labels, 0.0), margin)
        return dict(sorted(found.items()))

    @functools.cached_property
    def concepts(self) -> Table:  # noqa: D102
        return np.array(list(self._found), dtype=np.uint8)

    @property
    def margin(self) -> float:
        """A lower bound m on the margin of some unit vector for every function: how far all (x, 1) are from 0."""
        return min(self._found.values())


def augmented(variables: int) -> NDArray[np.float64]:
    """Return the vectors (x, 1) of all points, shape (2^variables, variables + 1)."""
    points = np.arange(1 << variables)
    return np.column_stack([points[:, np.newaxis] >> np.arange(variables) & 1, np.ones(points.size)]).astype(float)


@dataclass(frozen=True)
class SeparatorSearch(QueryAlgorithm):
    """Find a separator of error at most alpha by the perceptron, on the mean of the examples that are still wrong.

    It asks for the error e of w, and ends where the answer is at most alpha less the tolerance t. Else it asks for the
    mean v of the vectors (x, 1), with the sign of the label, of examples that w has wrong, and adds the answer over the
    error's answer to w. Let u be a unit vector of margin m for the target, and `R^2 = variables + 1`. With the
    tolerance `t = alpha m / (16 R)`, e is at least 10/11 alpha, so that t R <= .069 m e and t <= .05 e. As `u v >= m
    e`, `w v <= 0` and `|v| <= e R`, an update adds .88 m or more to u w, and less than `.145 m |w| + 1.23 R^2` to
    |w|^2. After T of them `.88 m T <= .145 m T + 1.11 R sqrt(T)`, hence T <= 2.5 R^2 / m^2.
    """

    variables: int
    alpha: float

    def __post_init__(self) -> None:
        check_integer("variables", self.variables, low=1, high=_MOST_VARIABLES)
        check_real("alpha", self.alpha, low=0.0, high=1.0, low_open=True, high_open=True)

    @property
    def representation(self) -> Separators:  # noqa: D102
        return _separators(self.variables)

    @property
    def tolerance(self) -> float:  # type: ignore[override]
        """The tolerance t of the queries."""
        return self.alpha * self.representation.margin / (16.0 * math.sqrt(self.variables + 1.0))

    @property
    def updates(self) -> int:
        """How often w changes at most."""
        return math.floor(_MOST_UPDATES * (self.variables + 1.0) / self.representation.margin**2)

    @property
    def queries(self) -> int:  # noqa: D102
        return (self.updates + 1) * (self.variables + 2)

    def run(self, ask: Ask) -> int:  # noqa: D102
        points, weights = augmented(self.variables), np.zeros(self.variables + 1)
        for _ in range(self.updates + 1):
            positive = points @ weights > 0.0
            wrong = np.column_stack([positive, ~positive]).astype(float)
            error = ask(wrong)
            if error <= self.alpha - self.tolerance:
                break
            # Of label 0 the sign is that of a negative example.
            signed = wrong * np.array([-1.0, 1.0])
            mean = np.array([ask(signed * coordinate[:, np.newaxis]) for coordinate in points.T])
            weights += mean / error
        # After more updates than there can be, the answers were those of no separator: any one will do.
        return int(np.flatnonzero((self.representation.concepts == (points @ weights > 0.0)).all(axis=1))[0])


@functools.cache
def _separators(variables: int) -> Separators:
    """Return the class, listed once."""
    return Separators(variables)
