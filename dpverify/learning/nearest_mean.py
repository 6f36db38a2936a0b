"""The nearest class mean, from what a classifier of the inner product publishes, at no cost in privacy.

The density of a class with mean m is m . y at y, which is larger the longer m is. Among points whose classes spread
alike, the class of the nearest mean is the better guess: |y - m|^2 is least where m . y - |m|^2 / 2 is largest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpverify.learning.base import rmse_of
from protocols.classifier import HighestDensityClassifier
from protocols.lsq import LinearMap

__all__ = ["squared_norms"]


def squared_norms(made: HighestDensityClassifier) -> NDArray[np.float64]:
    """Return estimates of the squared norms of the classes' means, for linear features; no less than 0.

    With the published sum w of G x per class, rows of G of norm 1 and what g multiplies by, a, the mean is estimated by
    m = a G^T w, and |m|^2 is larger than its square on average by a^2 times the variances of w's entries: those of the
    bitsums, (2 R / n)^2 E^2, and of rounding, (R^2 - f^2) / n, where the f^2 of unit vectors are 1/d on average.
    """
    family = made.features_.family
    assert isinstance(family, LinearMap)
    found = []
    for density, protocol in zip(made.densities_, made.class_protocols(), strict=True):
        mean = family.weight * (family.matrix.T @ density.weights)
        noise = (2.0 * family.R * rmse_of(protocol.bitsum) / density.users) ** 2
        rounding = max(family.R**2 - 1.0 / family.dimension, 0.0) / density.users
        found.append(max(float(mean @ mean) - family.weight**2 * family.Q * (noise + rounding), 0.0))
    return np.array(found)
