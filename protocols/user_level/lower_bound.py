"""Algorithm 6 of ghazi2021: from a private learner to a probabilistic representation, by running it on no data.

What a private learner returns on data that say nothing it also returns, with probability `e^(-n eps)` as large, on the
data of any n users. So many runs hold a good hypothesis for every law at once. The source runs the learner without any
users; where the number of users is public, as here, it is run on n fixed users.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from protocols.classes.frozen import dataclass
from protocols.user_level.representations import Representation, Table
from protocols.validation import check_bits, check_generator, check_integer

__all__ = ["LearnedRepresentation"]


@dataclass(frozen=True)
class LearnedRepresentation(Representation):
    """The hypotheses of independent runs of a private learner of the represented class on fixed data.

    `learner(rng)` runs it on fixed users, with all its randomness from a generator, and returns the labels that its
    hypothesis gives to the points, shape (domain,). `dpverify.claims.user_level.lower_bound` says how many runs are
    enough.
    """

    represented: Representation
    learner: Callable[[np.random.Generator], np.ndarray]
    runs: int

    def __post_init__(self) -> None:
        if not isinstance(self.represented, Representation):
            raise TypeError(f"represented={self.represented!r} must be a Representation.")
        check_integer("runs", self.runs, low=1)

    @property
    def concepts(self) -> Table:  # noqa: D102
        return self.represented.concepts

    @property
    def hypotheses(self) -> int:  # noqa: D102
        return self.runs

    def draw(self, rng: np.random.Generator) -> Table:
        """Run the learner; ValueError if it does not return a label, 0 or 1, for every point."""
        check_generator("rng", rng)
        rows = [check_bits("learner(rng)", self.learner(rng)) for _ in range(self.runs)]
        if any(row.shape != (self.domain,) for row in rows):
            raise ValueError(f"learner(rng) has shape {rows[0].shape}, but must have shape ({self.domain},).")
        return np.stack(rows).astype(np.uint8)
