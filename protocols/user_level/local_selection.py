"""Selection in the local model: the value that most users hold, from one randomized bit of each (ghazi2021, Lemma 13).

The lemma asks for an error of `O(sqrt(n log(candidates / beta)) / eps)` from eps-DP reports. One that does so, and
whose report has an exact law, is the Hadamard response with one bit (acharya2019): with the Walsh matrix H of order K,
a power of two, a user with value u draws a row j and reports j and the sign H[j, u], flipped with probability 1 / (1 +
e^eps).
"""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy, bernoulli_logistic, system_entropy
from protocols.validation import check_generator, check_indices, check_integer, check_ranges

__all__ = ["HadamardSelection"]

_MOST_CANDIDATES = 10**18
"""Of which twice the order, and so every report, is an integer of 64 bits."""


@dataclass(frozen=True)
class HadamardSelection:
    """The candidate of the largest estimated count; the smallest index among equals.

    A report is `2 j + b`: a uniform row j of H, and the bit b of the sign (-1)^b, flipped or not.
    """

    candidates: int = field(metadata={"within": "[2, inf)", "help": "the number of values, in {}; public."})
    epsilon: float = field(metadata={"within": "(0, 700]", "help": "epsilon of a report, in {}, in nats."})

    def __post_init__(self) -> None:
        check_ranges(self)
        check_integer("candidates", self.candidates, high=_MOST_CANDIDATES)

    @property
    def order(self) -> int:
        """K, the order of the Walsh matrix: the least power of two with a column for every candidate."""
        return 1 << (self.candidates - 1).bit_length()

    @property
    def flip_probability(self) -> float:
        """The probability that a sign is flipped."""
        return math.exp(-self.epsilon) / (1.0 + math.exp(-self.epsilon))

    def signs(self, values: ArrayLike, rows: ArrayLike) -> NDArray[np.int64]:
        """Return the bits of the signs H[rows, values]: the parity of the bits that both numbers have."""
        common = np.asarray(rows, dtype=np.int64) & np.asarray(values, dtype=np.int64)
        for shift in (32, 16, 8, 4, 2, 1):
            common = common ^ (common >> shift)
        return np.asarray(common & 1)

    def randomize(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return every user's report, shape (users,), from values of that shape.

        TypeError if they are no integers, ValueError if one is outside [0, candidates), or the shape is another.
        """
        array = check_indices("values", values, self.candidates)
        rows = check_generator("rng", rng).integers(0, self.order, array.size)
        flips = rng.random(array.size) < self.flip_probability
        return 2 * rows + (self.signs(array, rows) ^ flips)

    def report(self, value: int, entropy: Entropy | None = None) -> int:
        """Return what a real user with this value sends, drawn exactly (see `protocols.exact_draws`).

        By the operating system's entropy when omitted; anything else is for tests.
        """
        own = check_integer("value", value, low=0, high=self.candidates - 1)
        entropy = system_entropy() if entropy is None else entropy
        row = entropy.randrange(self.order)
        return 2 * row + (int(self.signs(own, row)) ^ bernoulli_logistic(Fraction(self.epsilon), entropy))

    def estimates(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the unbiased estimate of how many users hold each value, shape (candidates,), from all reports.

        The Walsh transform of the signs that each row got, over the factor `tanh(eps / 2)` by which flips shrink them.
        """
        array = check_indices("reports", reports, 2 * self.order)
        counts = np.bincount(array, minlength=2 * self.order).reshape(self.order, 2)
        scores = counts[:, 0] - counts[:, 1]
        half = 1
        while half < self.order:
            pairs = scores.reshape(-1, 2, half)
            scores = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
            half *= 2
        return np.asarray(scores[: self.candidates] / math.tanh(self.epsilon / 2.0))

    def analyze(self, reports: ArrayLike) -> int:
        """Return the selected candidate."""
        return int(np.argmax(self.estimates(reports)))

    def run(self, values: ArrayLike, rng: np.random.Generator) -> int:
        """Return the candidate that is selected from the users' randomized reports."""
        return self.analyze(self.randomize(values, rng))
