"""A stable learner for a class of finite Littlestone dimension d, as Theorem 35 of ghazi2021 needs: from its own proof.

The learner of that paper's main part is not among our sources. This one has the same parts: a learner that finds one
hypothesis with a probability that depends on d alone (by tournaments of the standard optimal algorithm, as in bun2020,
but with another guess of the labels), run on many parts of a user's sample; and shared randomness, which makes all
users settle on one of the frequent ones. Here that is a threshold for frequencies: a uniform one is seldom near any of
the few that are large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.user_level.representations import Representation, Table
from protocols.user_level.stable_learner import PublicLearner, StableLearner, check_examples
from protocols.validation import check_generator, check_integer, check_ranges

__all__ = ["FrequentHypotheses", "FrequentLearner", "VersionSpaces", "examples_of_run"]

_MOST_SPACES = 2**15


class VersionSpaces:
    """The concepts that are left by examples, and what the standard optimal algorithm predicts from them.

    A version space is an integer, whose bit i says that concept i is left. The algorithm predicts for every point the
    label that leaves a space of the larger dimension, 0 among equals: so each mistake makes the dimension less.
    ValueError for concepts, shape (concepts, domain), with more than 2^15 version spaces.
    """

    def __init__(self, concepts: Table) -> None:
        self.full = (1 << len(concepts)) - 1
        self._keeps = [
            tuple(sum(1 << int(at) for at in np.flatnonzero(column == label)) for label in (0, 1))
            for column in concepts.T
        ]
        spaces, new = {self.full}, [self.full]
        while new:
            left = {space & keep for space in new for pair in self._keeps for keep in pair} - spaces - {0}
            spaces |= left
            if len(spaces) > _MOST_SPACES:
                raise ValueError(
                    f"concepts has more than {_MOST_SPACES} version spaces; list fewer points or concepts."
                )
            new = list(left)
        self._dimensions: dict[int, int] = {0: -1}
        for space in sorted(spaces, key=int.bit_count):
            self._dimensions[space] = self._dimension(space)
        made = {space: self._predicted(space) for space in sorted(spaces)}
        rows = {prediction: row for row, prediction in enumerate(sorted(set(made.values())))}
        self._rows = {space: rows[prediction] for space, prediction in made.items()}
        self.table: Table = np.array(sorted(rows), dtype=np.uint8)

    def _dimension(self, space: int) -> int:
        halves = ([space & keep for keep in pair] for pair in self._keeps)
        return max((1 + min(self._dimensions[half] for half in pair) for pair in halves if all(pair)), default=0)

    def _predicted(self, space: int) -> tuple[int, ...]:
        halves = ([self._dimensions[space & keep] for keep in pair] for pair in self._keeps)
        return tuple(int(one > zero) for zero, one in halves)

    @property
    def dimension(self) -> int:
        """The Littlestone dimension of the class."""
        return self._dimensions[self.full]

    def after(self, space: int, point: int, label: int) -> int:
        """Return what is left of a version space by an example; 0 if nothing is."""
        return space & self._keeps[point][label]

    def predicts(self, space: int, fallback: int) -> int:
        """Return the row of `table` that the algorithm predicts from a space, from another one if that is empty."""
        return self._rows[space or fallback or self.full]

    def tournament(self, first: int, second: int, asked: list[int], truth: NDArray[np.uint8]) -> int:
        """Return what is left of the one of two spaces that is mistaken at a point whose label is known; 0 if neither.

        The second may be 0, of one that lost a tournament of its own; `asked` holds the points that it asked labels of.
        If the first predicts them all, and both spaces predict something else, the first point at which they do is
        added.
        """
        own = self.table[self._rows[first]]
        mistaken = next((point for point in asked if own[point] != truth[point]), None)
        if mistaken is not None:
            return self.after(first, mistaken, int(truth[mistaken]))
        point = self._differ(first, second)
        if point is None:
            return 0
        asked.append(point)
        return self.after(first if own[point] != truth[point] else second, point, int(truth[point]))

    def guesses(self, first: int, second: int, asked: Sequence[int]) -> list[int]:
        """Return every space that may win a `tournament`, where the second had the first's predictions for labels.

        If the first is right about all points that the second asked for, so was the second told, and one of both is
        mistaken where they differ; if not, then there is a first point in `asked` at which it is mistaken.
        """
        own = self.table[self._rows[first]]
        made = {self.after(first, point, 1 - int(own[point])) for point in asked}
        point = self._differ(first, second)
        if point is not None:
            made |= {self.after(first, point, 1 - int(own[point])), self.after(second, point, int(own[point]))}
        return sorted(made - {0})

    def _differ(self, first: int, second: int) -> int | None:
        """Return the first point at which two spaces predict otherwise; None if there is none, or one is empty."""
        if not first or not second or self._rows[first] == self._rows[second]:
            return None
        return int(np.flatnonzero(self.table[self._rows[first]] != self.table[self._rows[second]])[0])


@dataclass(frozen=True, eq=False)
class FrequentHypotheses(PublicLearner):
    """The learner with its public randomness: a threshold for frequencies, and rounds and a seed for each run.

    A run has so many tournaments, in [0, d], one within the other, and guesses who wins by dice of its seed.
    """

    spaces: VersionSpaces
    batch: int
    threshold: float
    rounds: NDArray[np.int64]
    seeds: NDArray[np.int64]

    @property
    def table(self) -> Table:  # type: ignore[override]
        """What the standard optimal algorithm may predict."""
        return self.spaces.table

    def frequencies(self, points: ArrayLike, labels: ArrayLike) -> NDArray[np.float64]:
        """Return how often runs on parts of a sample find each hypothesis, shape (hypotheses,).

        ValueError if there are fewer examples than `examples_of_run` for each run, or one is out of range.
        """
        at, given = check_examples(points, labels, self.table.shape[1])
        runs, least = self.rounds.size, examples_of_run(self.spaces.dimension, self.batch)
        own = at.size // runs
        if own < least:
            raise ValueError(f"points has shape {at.shape}, but must hold {least} or more for each of {runs} runs.")
        found = np.zeros(len(self.table))
        for run in range(runs):
            part = slice(run * own, (run + 1) * own)
            examples = list(zip(at[part].tolist(), given[part].tolist(), strict=True))
            dice = np.random.default_rng(int(self.seeds[run]))
            found[_Run(self, examples, dice).predicted(int(self.rounds[run]))] += 1.0
        return found / runs

    def chosen(self, frequencies: NDArray[np.float64]) -> int:
        """Return the first hypothesis that is frequent enough; the most frequent one if none is."""
        enough = np.flatnonzero(frequencies >= self.threshold)
        return int(enough[0]) if enough.size else int(frequencies.argmax())

    def learn(self, points: ArrayLike, labels: ArrayLike) -> int:  # noqa: D102
        return self.chosen(self.frequencies(points, labels))


def examples_of_run(dimension: int, batch: int) -> int:
    """Return (2^(d+1) - 1) n: two batches for each of the 2^d - 1 tournaments of a run, and its last one."""
    return batch * ((2 << check_integer("dimension", dimension, low=0)) - 1)


class _Run:
    """One run, on its part of the examples, which are used up."""

    def __init__(self, public: FrequentHypotheses, examples: list[tuple[int, int]], dice: np.random.Generator) -> None:
        self._spaces, self._batch = public.spaces, public.batch
        self._examples, self._dice = examples, dice

    def predicted(self, rounds: int) -> int:
        """Return what a winner of so many tournaments and a last batch predict; the batch alone if there is none."""
        last = self._batch_space()
        return self._spaces.predicts(self._guessed(rounds) & last, last)

    def _batch_space(self) -> int:
        space = self._spaces.full
        for _ in range(self._batch):
            space = self._spaces.after(space, *self._examples.pop())
        return space

    def _guessed(self, rounds: int) -> int:
        """Return the winner by guessed labels; 0 if there is none."""
        if rounds == 0:
            return self._spaces.full
        first = self._guessed(rounds - 1) & self._batch_space()
        if not first:
            return 0
        asked: list[int] = []
        second = self._told(rounds - 1, self._spaces.table[self._spaces.predicts(first, first)], asked)
        made = self._spaces.guesses(first, second & self._batch_space(), asked)
        return made[int(self._dice.integers(len(made)))] if made else 0

    def _told(self, rounds: int, truth: NDArray[np.uint8], asked: list[int]) -> int:
        """Return the winner by told labels, 0 if there is none, and add the points that are asked for to `asked`."""
        if rounds == 0:
            return self._spaces.full
        first = self._told(rounds - 1, truth, asked) & self._batch_space()
        own: list[int] = []
        second = self._told(rounds - 1, truth, own) & self._batch_space()
        space = self._spaces.tournament(first, second, own, truth) if first else 0
        asked += own
        return space


@dataclass(frozen=True)
class FrequentLearner(StableLearner):
    """Find what tournaments find often, and take the first that is above a shared random threshold.

    The Littlestone dimension d of the representation's `concepts` decides how stable the learner is. The threshold is
    uniform in [eta / 2, eta], eta the share, and `dpverify.claims.user_level.littlestone` says which frequency some
    hypothesis has. With `batch` examples for each prediction and so many runs, a user needs (2^(d+1) - 1) batch runs
    examples.
    """

    representation: Representation
    share: float = field(metadata={"within": "(0, 1]"})
    batch: int = field(metadata={"within": "[1, inf)"})
    runs: int = field(metadata={"within": "[1, inf)"})

    def __post_init__(self) -> None:
        if not isinstance(self.representation, Representation):
            raise TypeError(f"representation={self.representation!r} must be a Representation.")
        check_ranges(self)

    @cached_property
    def spaces(self) -> VersionSpaces:
        """The version spaces of the class."""
        return VersionSpaces(self.representation.concepts)

    def drawn(self, rng: np.random.Generator) -> FrequentHypotheses:
        """Draw the threshold, and for each run its rounds and the seed of its dice."""
        threshold = self.share * (1.0 - 0.5 * check_generator("rng", rng).random())
        rounds = rng.integers(0, self.spaces.dimension + 1, self.runs)
        return FrequentHypotheses(self.spaces, self.batch, threshold, rounds, rng.integers(0, 1 << 63, self.runs))
