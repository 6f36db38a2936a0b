"""A small data set: the digits' first rows and few coordinates, so that plans take moments."""

import numpy as np

from dpverify.reproduction.embeddings import Embeddings, bundled
from dpverify.reproduction.experiment import Setting


def small_setting(seed: int = 0) -> Setting:
    """Return 900 digits of three classes and eight coordinates, to be looked at quickly."""
    digits = bundled()
    chosen = np.flatnonzero(digits.labels < 3)
    points = digits.points[chosen][:, [10, 20, 21, 28, 35, 36, 43, 61]]
    points = points / np.linalg.norm(points, axis=1, keepdims=True) * (1 - 1e-15)
    return Setting(Embeddings("few digits", points, digits.labels[chosen]), quick=True, seed=seed)
