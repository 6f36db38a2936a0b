"""Algorithm 3 of ghazi2021: with shared randomness, users with different samples find the same hypothesis.

Each user weighs the hypotheses of a public representation by `exp(-sharpness * empirical error)` and draws one by
correlated sampling. With clocks for a sampler that is one line: the least `sharpness * error - gumbel`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.user_level.correlated_sampling import CorrelatedSampler
from protocols.user_level.representations import Representation, Table
from protocols.validation import check_bits, check_indices, check_integer, check_real

__all__ = ["PublicLearner", "StableLearner", "WeighedHypotheses", "WeighingLearner", "check_examples"]


def check_examples(points: ArrayLike, labels: ArrayLike, domain: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one user's points and labels as integers, after checking that there is one, and all are in range."""
    given = check_bits("labels", labels)
    if not given.size:
        raise ValueError("labels is empty, but a user must have an example or more.")
    return check_indices("points", points, domain, users=given.size), given


class PublicLearner(ABC):
    """A learner whose public randomness is drawn: a function from samples to one of finitely many hypotheses."""

    table: Table
    """The hypotheses that it may return, shape (hypotheses, domain)."""

    @abstractmethod
    def learn(self, points: ArrayLike, labels: ArrayLike) -> int:
        """Return the row of `table` that one user's sample leads to, points in [0, domain), labels 0 or 1."""


class StableLearner(ABC):
    """A learner with public randomness, of which a representation says what the examples are."""

    representation: Representation

    @abstractmethod
    def drawn(self, rng: np.random.Generator) -> PublicLearner:
        """Return the learner with public randomness from this generator."""


@dataclass(frozen=True, eq=False)
class WeighedHypotheses(PublicLearner):
    """Algorithm 3 with its public randomness: a table of hypotheses, and the clocks of their sampler."""

    table: Table
    sampler: CorrelatedSampler
    sharpness: float

    def errors(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the error of every hypothesis, shape (..., hypotheses), from how often points occur with each label.

        The counts, of shape (..., domain, 2), are examples of a sample, or probabilities of a law.
        """
        array = np.asarray(counts, dtype=np.float64)
        wrong = array[..., 0] @ self.table.T + array[..., 1] @ (1.0 - self.table).T
        return np.asarray(wrong / array.sum(axis=(-2, -1))[..., np.newaxis])

    def learn_counts(self, counts: ArrayLike) -> NDArray[np.int64]:
        """Return the hypotheses for samples, or laws, given as in `errors`; of a law itself it is the stable one."""
        return self.sampler.sample_logs(-self.sharpness * self.errors(counts))

    def learn(self, points: ArrayLike, labels: ArrayLike) -> int:  # noqa: D102
        domain = self.table.shape[1]
        at, given = check_examples(points, labels, domain)
        return int(self.learn_counts(np.bincount(2 * at + given, minlength=2 * domain).reshape(domain, 2)))


@dataclass(frozen=True)
class WeighingLearner(StableLearner):
    """Algorithm 3.

    A hypothesis of empirical error e has weight exp(-gamma e), gamma the sharpness, positive. The larger, the more
    accurate and the less stable; `dpverify.claims.user_level.stable_learner` says which one a theorem needs.
    """

    representation: Representation
    sharpness: float

    def __post_init__(self) -> None:
        if not isinstance(self.representation, Representation):
            raise TypeError(f"representation={self.representation!r} must be a Representation.")
        check_integer("hypotheses", self.representation.hypotheses, low=1)
        check_real("sharpness", self.sharpness, low=0.0, low_open=True)

    def drawn(self, rng: np.random.Generator) -> WeighedHypotheses:
        """Draw the hypotheses and then their clocks."""
        table = self.representation.draw(rng)
        return WeighedHypotheses(table, CorrelatedSampler.drawn(len(table), rng), self.sharpness)
