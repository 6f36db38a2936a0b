"""Squared norms of class means, from published values."""

import numpy as np
import pytest

from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.nearest_mean import squared_norms

pytestmark = pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [1.0, float("inf")])
def test_the_estimate_is_unbiased(epsilon: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * 512, 6)) + np.repeat([[0.0], [1.0]], 512, axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.repeat([0, 1], 512)
    truth = [np.square(X[y == label].mean(axis=0)).sum() for label in (0, 1)]
    made = PrivateDensityClassifier(
        epsilon=epsilon, label_epsilon=float("inf"), classes=[0, 1], bits=60, random_state=rng
    )
    found = np.array([squared_norms(made.fit(X, y).protocol_) for _ in range(200)])
    # Ten rotations hardly clip: what their gain makes up for on average is off by a per cent for single points.
    error = 5.0 * found.std(axis=0) / np.sqrt(200) + 0.02 * np.array(truth)
    assert (np.abs(found.mean(axis=0) - truth) < error).all()
    assert found.std(axis=0).max() < 0.1


@pytest.mark.long
def test_it_tells_classes_apart_that_lie_in_one_direction() -> None:
    rng = np.random.default_rng(1)
    y = np.arange(2000) % 2
    X = np.stack([0.3 + 0.6 * y, 0 * y], axis=1) + 0.05 * rng.normal(size=(2000, 2))
    settings = {"epsilon": 2, "classes": [0, 1], "public_scale": 1.0, "bits": 64, "random_state": 2}
    nearest = PrivateDensityClassifier(**settings).fit(X, y)
    densest = PrivateDensityClassifier(**settings, rule="density").fit(X, y)
    assert nearest.score(X, y) > 0.95
    assert densest.score(X, y) < 0.6
