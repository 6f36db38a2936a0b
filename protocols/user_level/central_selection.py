"""Selection by a trusted curator with pure privacy: the exponential mechanism on the counts (ghazi2021, Lemma 12)."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy, bernoulli_exp, system_entropy
from protocols.validation import check_generator, check_indices, check_ranges

__all__ = ["ExponentialSelection"]


@dataclass(frozen=True)
class ExponentialSelection:
    """A candidate, drawn with weights `exp(eps c / 2)`, c how many users hold it.

    Replacing a user moves one count up and one down, each by one, so that weights and their sum change by `e^(eps/2)`
    at most: epsilon, in nats, is what the construction promises, and the exact loss is a little less.
    """

    users: int = field(metadata={"within": "[1, inf)", "help": "n, the number of users, in {}."})
    candidates: int = field(metadata={"within": "[2, inf)", "help": "the number of values, in {}; public."})
    epsilon: float = field(metadata={"within": "(0, 100]", "help": "epsilon as it is promised, in {}, in nats."})

    def __post_init__(self) -> None:
        check_ranges(self)

    def probabilities(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the law of the selected candidate given how many users hold each, shape (..., candidates)."""
        array = np.asarray(counts, dtype=np.float64)
        if array.ndim == 0 or array.shape[-1] != self.candidates:
            raise ValueError(f"counts has shape {array.shape}, but must have shape (..., {self.candidates}).")
        # The largest count is taken off first: nothing overflows, and what underflows is no float's business.
        weights = np.exp(0.5 * self.epsilon * (array - array.max(axis=-1, keepdims=True)))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def select(self, values: ArrayLike, entropy: Entropy | None = None) -> int:
        """Return what a real curator selects, drawn exactly (see `protocols.exact_draws`), from each user's value.

        By the operating system's entropy when omitted; anything else is for tests.
        """
        counts = np.bincount(self._checked(values), minlength=self.candidates).tolist()
        entropy = system_entropy() if entropy is None else entropy
        # A uniform proposal is accepted with its weight over the largest one.
        while True:
            proposed = entropy.randrange(self.candidates)
            if bernoulli_exp(Fraction(self.epsilon) * (max(counts) - counts[proposed]) / 2, entropy):
                return proposed

    def run(self, values: ArrayLike, rng: np.random.Generator) -> int:
        """Return the selected candidate, from each user's value, shape (users,).

        TypeError if the values are no integers, ValueError if one is outside [0, candidates), or they are not n.
        """
        law = self.probabilities(np.bincount(self._checked(values), minlength=self.candidates))
        return int(check_generator("rng", rng).choice(self.candidates, p=law))

    def _checked(self, values: ArrayLike) -> NDArray[np.int64]:
        return check_indices("values", values, self.candidates, users=self.users)
