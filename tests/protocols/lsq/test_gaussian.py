"""Random Fourier features of the Gaussian kernel."""

import math

import numpy as np
import pytest

from protocols.lsq import GaussianFeatures


def test_gaussian_kernel_is_the_formula() -> None:
    value = GaussianFeatures(2, bandwidth=0.5).kernel([[0.0, 0.0]], [[0.3, 0.4]])
    assert value == pytest.approx(math.exp(-1.0), rel=1e-12)


def test_gaussian_features_do_not_overflow_silently() -> None:
    features = GaussianFeatures(2).sample(3, np.random.default_rng(9))
    with pytest.raises(ValueError, match=r"^x\[1\] is so large"):
        features.f([[0.0, 0.0], [1.7e308, 1.7e308]])
    assert GaussianFeatures(2).kernel([[1e200, 0.0]], [[0.0, 0.0]]) == 0.0
