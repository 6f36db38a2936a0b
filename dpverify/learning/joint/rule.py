"""The rule of linear discriminant analysis, of noisy moments whose noise is known; of means alone the nearest mean."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.learning.joint.moments import COUNT_WEIGHT, SECOND_WEIGHT, Moments

__all__ = ["LinearRule", "linear_rule"]

_SHRUNK = 3.0
"""By how much more than the noise over a level a covariance is drawn to a multiple of the identity."""


class LinearRule(NamedTuple):
    """The class of the largest score, among those that are predicted; the score is x . coef + intercept.

    - coef: Shape (classes, dimension).
    - intercept, predicted: Shape (classes,).
    - warnings: Sentences for whoever uses it.
    """

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    predicted: NDArray[np.bool_]
    warnings: list[str]


def linear_rule(found: Moments, noise: float, users: int) -> LinearRule:
    """Return the rule that moments make, whose estimates of share times mean have noise of this deviation.

    - found: Published.
    - noise: Of each coordinate; that of a share and of a second moment follow from the weights.
    - users: How many there are.
    """
    classes, d = found.sums.shape
    shares = np.maximum(found.shares, max(noise, 1.0 / users))
    means, variances = found.sums / shares[:, np.newaxis], (noise / shares) ** 2
    whole = 1.0 if found.second is None else float(np.trace(found.second))
    within = found.sums.T @ means  # what of the second moment lies between classes, and what noise adds
    added = float(np.sum(shares * variances))
    level = max((whole - float(np.trace(within))) / d + added, 1e-3 / d)
    roots, directions = np.full(d, level), np.eye(d)
    if found.second is not None:
        covariance = found.second - 0.5 * (within + within.T) + added * np.eye(d)
        roots, directions = np.linalg.eigh(covariance)
        largest = noise / SECOND_WEIGHT * math.sqrt(2.0 * d)
        share = largest / (largest + _SHRUNK * level)
        roots = (1.0 - share) * np.maximum(roots, 0.0) + share * level
    inverse = (directions / roots) @ directions.T
    coef = means @ inverse
    lengths = np.sum(coef * means, axis=1) - np.trace(inverse) * variances
    intercept = np.log(shares / shares.sum()) - 0.5 * lengths
    counts = noise / COUNT_WEIGHT  # the deviation of a share
    hidden = 7.0 * counts * classes  # up to 1 an even share is hardly ever taken for none
    longer = noise * math.sqrt(d) * classes  # than a mean of norm 1 of an even share
    predicted = found.shares > 3.0 * counts
    if hidden > 1.0 or not predicted.any():
        predicted[:] = True
    said = []
    if none := np.count_nonzero(~predicted):
        said.append(f"{none:,} of {classes:,} classes have no more users than noise has, and are not predicted.")
    for size, what in (
        (hidden, "The noise hides which classes have users"),
        (longer, "The noise of a class's mean is longer than the mean can be"),
    ):
        if size > 1.0:
            said.append(
                f"{what}: about {math.ceil(users * size):,} users are needed at this budget, more than the "
                f"{users:,} that there are."
            )
    return LinearRule(coef, intercept, predicted, said)
