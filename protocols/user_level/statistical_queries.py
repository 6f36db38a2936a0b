"""Algorithm 5 of ghazi2021: a learner that asks statistical queries, made stable by rounding with shared offsets.

Every answer is the mean over fresh samples, rounded to a grid: `floor(steps * mean + t) / steps` with one public
uniform t per query. For a mean u it is one of the two grid points around u, with the probabilities that make it
unbiased, as in the source; and two who share t and have means u and v get different answers with probability `steps |u
- v|`. So t is the correlated sampler for these laws, with one number of public randomness instead of one per grid
point.

The source prints the grid {0, 1/I, ..., 1} and the probabilities `u - floor(u)`. Queries have means in [-1, 1], so the
grid must reach -1; and it is `I u` that is rounded. (See `dpverify theorems ghazi2021`.)
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.user_level.representations import DecisionLists, Representation, Table, Thresholds
from protocols.user_level.stable_learner import PublicLearner, StableLearner, check_examples
from protocols.validation import check_generator, check_integer, check_real

__all__ = ["Bisection", "DecisionListSearch", "QueryAlgorithm", "QueryLearner", "RoundedQueries", "rounded_answer"]

Query = NDArray[np.float64]
"""A function of an example with values in [-1, 1]: shape (domain, 2), by point and label."""
Ask = Callable[[Query], float]
"""Returns the mean of a query, within the tolerance."""


def rounded_answer(mean: float, steps: int, offset: float) -> float:
    """Return a mean in [-1, 1] on the grid of multiples of 1/steps, rounded with an offset in [0, 1)."""
    return math.floor(steps * check_real("mean", mean, low=-1.0, high=1.0) + offset) / steps


class QueryAlgorithm(ABC):
    """A deterministic learner that sees no examples, but answers to statistical queries."""

    tolerance: float
    """How far from the means the answers may be, in (0, 1)."""

    @property
    @abstractmethod
    def representation(self) -> Representation:
        """The class that it learns: what it returns is a row of `representation.concepts`."""

    @property
    @abstractmethod
    def queries(self) -> int:
        """How many queries it asks at most."""

    @abstractmethod
    def run(self, ask: Ask) -> int:
        """Return a concept, after asking."""


@dataclass(frozen=True)
class Bisection(QueryAlgorithm):
    """Find a threshold on a line of `size` points by bisection, with error at most twice the tolerance.

    It asks for the mass of the positive examples left of a: 0 for the target and all thresholds left of it, and the
    error of a threshold a right of it. It ends with an a whose answer was within the tolerance (or a = 0), where that
    of a + 1 was not: so a + 1 is right of the target, a is not left of it, and the mass left of a is at most twice the
    tolerance.
    """

    size: int
    tolerance: float

    def __post_init__(self) -> None:
        check_integer("size", self.size, low=1)
        check_real("tolerance", self.tolerance, low=0.0, high=1.0, low_open=True, high_open=True)

    @property
    def representation(self) -> Thresholds:  # noqa: D102
        return Thresholds(self.size)

    @property
    def queries(self) -> int:  # noqa: D102
        return self.size.bit_length()  # ceil(log2(size + 1)) bisections of size + 1 thresholds

    def run(self, ask: Ask) -> int:  # noqa: D102
        low, high = 0, self.size + 1
        while high - low > 1:
            middle = (low + high) // 2
            query = np.zeros((self.size, 2))
            query[:middle, 1] = 1.0
            if ask(query) <= self.tolerance:
                low = middle
            else:
                high = middle
        return low


@dataclass(frozen=True)
class DecisionListSearch(QueryAlgorithm):
    """Find a decision list rule by rule, with error at most `2 (variables + 1)` times the tolerance.

    Among the points that no rule has taken yet, it asks for the errors of both labels and of every rule "bit i is v:
    label b" on a bit that no rule has asked, and takes the first of them whose answer is within the tolerance. There is
    one: of the target's rules the first that takes any of these points has no error on them, and it takes all of them
    or asks a new bit. So a label ends the list after at most `variables` rules, of error 2 tolerances at most each.
    """

    variables: int
    tolerance: float

    def __post_init__(self) -> None:
        check_integer("variables", self.variables, low=1, high=5)
        check_real("tolerance", self.tolerance, low=0.0, high=1.0, low_open=True, high_open=True)

    @property
    def representation(self) -> DecisionLists:  # noqa: D102
        return _decision_lists(self.variables)

    @property
    def queries(self) -> int:  # noqa: D102
        return 2 * (self.variables + 1) ** 2  # two labels, and four rules for each new bit: 2 + 4 k for k = 0, 1, ...

    def run(self, ask: Ask) -> int:  # noqa: D102
        points = np.arange(1 << self.variables)
        left, labels = np.full(points.size, True), np.zeros(points.size, dtype=np.uint8)
        new = list(range(self.variables))

        def errors(taken: NDArray[np.bool_], label: int) -> Query:
            query = np.zeros((points.size, 2))
            query[taken, 1 - label] = 1.0
            return query

        while True:
            takes = [(None, left), *((i, left & (points >> i & 1 == v)) for i in new for v in (0, 1))]
            rules = ((bit, taken, label) for bit, taken in takes for label in (0, 1))
            # Where none is within the tolerance, the answers are those of no decision list: any label will do.
            bit, taken, label = next(
                (rule for rule in rules if ask(errors(*rule[1:])) <= self.tolerance), (None, left, 0)
            )
            labels[taken] = label
            left = left & ~taken
            if bit is None:
                return int(np.flatnonzero((self.representation.concepts == labels).all(axis=1))[0])
            new.remove(bit)


@functools.cache
def _decision_lists(variables: int) -> DecisionLists:
    """Return the class, listed once."""
    return DecisionLists(variables)


@dataclass(frozen=True, eq=False)
class RoundedQueries(PublicLearner):
    """Algorithm 5 with its public randomness, an offset in [0, 1) for each query; I = `steps` points per unit."""

    algorithm: QueryAlgorithm
    offsets: NDArray[np.float64]
    steps: int

    @property
    def table(self) -> Table:  # type: ignore[override]
        """The class."""
        return self.algorithm.representation.concepts

    def _run(self, mean: Callable[[int, Query], float]) -> int:
        asked = 0

        def ask(query: Query) -> float:
            nonlocal asked
            array = np.asarray(query, dtype=np.float64)
            if asked == self.algorithm.queries:
                raise ValueError(f"{self.algorithm!r} asks more than queries={self.algorithm.queries} queries.")
            if array.shape != (self.table.shape[1], 2) or not (np.abs(array) <= 1.0).all():
                raise ValueError(
                    f"a query has shape {array.shape}, but must have shape ({self.table.shape[1]}, 2) and values in "
                    "[-1, 1]."
                )
            asked += 1
            return rounded_answer(mean(asked - 1, array), self.steps, float(self.offsets[asked - 1]))

        return check_integer("concept", self.algorithm.run(ask), low=0, high=len(self.table) - 1)

    def learn(self, points: ArrayLike, labels: ArrayLike) -> int:
        """Return the concept that a sample leads to; every query gets an equal part of it, or nearly so.

        ValueError if there are fewer examples than queries, or one is out of range.
        """
        at, given = check_examples(points, labels, self.table.shape[1])
        queries = self.algorithm.queries
        if at.size < queries:
            raise ValueError(
                f"points has shape {at.shape}, but must hold an example or more for each of the {queries} queries."
            )
        parts = [np.arange(i, at.size, queries) for i in range(queries)]
        return self._run(lambda i, query: float(query[at[parts[i]], given[parts[i]]].mean()))

    def learn_law(self, law: ArrayLike) -> int:
        """Return the stable concept of a law of examples, shape (domain, 2): what exact means lead to."""
        array = np.asarray(law, dtype=np.float64)
        return self._run(lambda _, query: float(np.clip((query * array).sum() / array.sum(), -1.0, 1.0)))


@dataclass(frozen=True)
class QueryLearner(StableLearner):
    """Algorithm 5.

    The answers that exact means lead to are within the algorithm's tolerance for every offset, as the grid's step is no
    larger. (The source takes a third of that, which nothing needs and which costs nine times the samples.)
    """

    algorithm: QueryAlgorithm

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, QueryAlgorithm):
            raise TypeError(f"algorithm={self.algorithm!r} must be a QueryAlgorithm.")

    @property
    def representation(self) -> Representation:  # type: ignore[override]
        """The class that is learned."""
        return self.algorithm.representation

    @property
    def steps(self) -> int:
        """I, the grid points per unit: the least number with `1 / I` within the tolerance."""
        return math.ceil(1.0 / self.algorithm.tolerance)

    def drawn(self, rng: np.random.Generator) -> RoundedQueries:
        """Draw one offset per query."""
        offsets = check_generator("rng", rng).random(self.algorithm.queries)
        return RoundedQueries(self.algorithm, offsets, self.steps)
