"""The trusted curator's mean."""

import math

import numpy as np
import pytest

from protocols.local.baselines import CentralLaplaceMean
from tests.samples import assert_mean, assert_variance


def test_noise_of_its_scale_is_added_to_the_mean() -> None:
    curator, rng = CentralLaplaceMean(4, 0.5, 8.0), np.random.default_rng(3)
    found = np.array([curator.run([0.0, 8.0, 1.0, 3.0], rng) for _ in range(20_000)])
    assert curator.scale == 4.0
    assert_mean(found, 3.0, 32.0)
    assert_variance(found, 3.0, 32.0)
    assert abs(float(np.mean(np.abs(found - 3.0) > 4.0)) - math.exp(-1.0)) < 0.02


def test_every_user_has_a_value() -> None:
    curator, rng = CentralLaplaceMean(2, 1.0), np.random.default_rng(3)
    with pytest.raises(ValueError, match=r"^values has 1 entries, but must have one for each of users=2\.$"):
        curator.run([0.0], rng)
    with pytest.raises(ValueError, match=r"^values\[1\]=1\.5 must be in \[0, 1\]\.$"):
        curator.run([0.0, 1.5], rng)


def test_fewer_users_have_the_same_epsilon() -> None:
    assert CentralLaplaceMean(4, 0.5, 8.0).with_users(2) == CentralLaplaceMean(2, 0.5, 8.0)
