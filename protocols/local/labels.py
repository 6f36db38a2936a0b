"""Labels by m-ary randomized response, the preliminary round of the classifier (wagner2025, section 3.3)."""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy, bernoulli_exp, system_entropy
from protocols.validation import check_generator, check_indices, check_integer, check_ranges

__all__ = ["LabelRandomizedResponse"]


@dataclass(frozen=True)
class LabelRandomizedResponse:
    """Each user publishes her label with probability `e^eps / (e^eps - 1 + m)`, else a uniformly random other label.

    The published label is epsilon-DP in the local model: the probabilities of a report given two labels differ by a
    factor of at most e^eps, which is attained.

    Parameters
    ----------
    classes : int
        The number of classes m, in [1, 2^53]; public. A label is an integer in [0, m).
    epsilon : float
        In (0, 700], in nats. Beyond 700 the probability of another label nears the smallest float; to publish labels in
        the clear, do not randomize them.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = LabelRandomizedResponse(classes=3, epsilon=5.0)
    >>> published = mechanism.randomize(np.arange(9_000) % 3, np.random.default_rng(7))
    >>> print(f"{np.mean(published == np.arange(9_000) % 3):.2f} of the labels are true")
    0.99 of the labels are true
    """

    classes: int = field(metadata={"within": "[1, inf)", "help": "m, the number of classes, in {}; public."})
    epsilon: float = field(metadata={"within": "(0, 700]", "help": "epsilon of a published label, in {}, in nats."})

    def __post_init__(self) -> None:
        check_ranges(self)
        check_integer("classes", self.classes, high=2**53)  # all of which floats hold

    @property
    def keep_probability(self) -> float:
        """The probability that a user publishes her own label."""
        return 1.0 / (1.0 + (self.classes - 1) * math.exp(-self.epsilon))

    @property
    def other_probability(self) -> float:
        """The probability that a user publishes one given other label."""
        return math.exp(-self.epsilon) * self.keep_probability

    @property
    def contrast(self) -> float:
        """The difference of both: a report is the label with this probability, else uniform over all labels."""
        return -math.expm1(-self.epsilon) * self.keep_probability

    @property
    def transition(self) -> NDArray[np.float64]:
        """The matrix T with `T[c, r]` the probability of report r given label c, shape (classes, classes)."""
        matrix = np.full((self.classes, self.classes), self.other_probability)
        np.fill_diagonal(matrix, self.keep_probability)
        return matrix

    def randomize(self, labels: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return every user's published label, shape (users,), from her own.

        TypeError if the labels are no integers, ValueError if one is outside [0, classes), or the shape is another.
        """
        array = check_indices("labels", labels, self.classes)
        check_generator("rng", rng)
        if self.classes == 1:
            return np.zeros(array.size, dtype=np.int64)
        # Compared with the small probability of leaving: 1 - keep would lose it where epsilon is large.
        leave = rng.random(array.size) < (self.classes - 1) * self.other_probability
        shift = rng.integers(1, self.classes, array.size)
        return (array + leave * shift) % self.classes

    def report(self, label: int, entropy: Entropy | None = None) -> int:
        """Return what a real user with this label publishes, drawn exactly (see `protocols.exact_draws`).

        By the operating system's entropy when omitted; anything else is for tests.
        """
        own = check_integer("label", label, low=0, high=self.classes - 1)
        entropy = system_entropy() if entropy is None else entropy
        # A uniform proposal: the own label is accepted, another one with probability e^-eps.
        while True:
            proposed = entropy.randrange(self.classes)
            if proposed == own or bernoulli_exp(Fraction(self.epsilon), entropy):
                return proposed

    def debias(self, reported: ArrayLike) -> NDArray[np.float64]:
        """Return the unbiased estimate of the true class counts from the published ones, both of shape (classes,).

        It has the same total; entries may be negative. ValueError for another shape.
        """
        counts = self._counts("reported", reported)
        uniform = counts.sum() / self.classes
        # Equal to (counts - total other) / (keep - other), without its cancellation for a small epsilon.
        return np.asarray(uniform + (counts - uniform) / self.contrast)

    def covariance(self, counts: ArrayLike) -> NDArray[np.float64]:
        """Return the covariance matrix of `debias(reported)` given the true class counts, shape (classes, classes).

        It is linear in the counts, so at the debiased counts it is an unbiased estimate of itself (which need not be
        positive semidefinite). ValueError for another shape, or a count that is not finite.
        """
        true = self._counts("counts", counts)
        matrix = self.transition
        # A sum of independent one-hot reports: each contributes diag(T_c) - T_c T_c'.
        return (np.diag(true @ matrix) - matrix.T @ (true[:, np.newaxis] * matrix)) / self.contrast**2

    def _counts(self, name: str, value: ArrayLike) -> NDArray[np.float64]:
        array = np.asarray(value, dtype=np.float64)
        if array.shape != (self.classes,):
            raise ValueError(f"{name} has shape {array.shape}, but must have shape ({self.classes},).")
        if not np.isfinite(array).all():
            bad = int(np.argmin(np.isfinite(array)))
            raise ValueError(f"{name}[{bad}]={array[bad]} must be a finite number.")
        return array
