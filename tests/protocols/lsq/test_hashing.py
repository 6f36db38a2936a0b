"""Hashed partitions: collisions are the kernel."""

import math

import numpy as np
import pytest

from protocols.lsq import GaussianFeatures, LaplacianBinning
from protocols.lsq.hashing import HashedPartition
from tests.protocols.lsq.test_base import HASHED
from tests.refusals import refused
from tests.samples import assert_mean, sphere


@pytest.mark.parametrize("family", HASHED, ids=repr)
def test_sparse_and_dense_features_agree(family: HashedPartition) -> None:
    features = family.sample(7, np.random.default_rng(14))
    x = sphere(20, family.dimension, 15)
    coordinates, values = features.nonzero(x)
    dense = np.zeros((20, features.coordinates))
    dense[np.arange(20)[:, None], coordinates] = values
    np.testing.assert_array_equal(features.f(x).reshape(20, -1), dense)
    weights = np.random.default_rng(16).normal(size=(features.coordinates, 2))
    np.testing.assert_allclose(features.project(x, weights), dense @ weights, rtol=1e-12, atol=1e-12)
    assert set(np.unique(values)) <= ({-1.0, 1.0} if family.signed else {1.0})


@pytest.mark.parametrize("family", HASHED, ids=repr)
def test_three_points_meet_as_claimed(family: HashedPartition) -> None:
    """Cells keep `P(all three together) = sqrt(k k k)`, and hashes are independent for three cells."""
    x = 0.5 * sphere(3, family.dimension, 17)
    features = family.sample(200_000, np.random.default_rng(18))
    values = features.f(x)
    k = family.kernel(x, x)
    together, q = math.sqrt(k[0, 1] * k[0, 2] * k[1, 2]), 1 / family.Q
    product = np.einsum("ij,ij->i", values[0], values[2]) * np.einsum("ij,ij->i", values[1], values[2])
    pairs = k[0, 1] + k[0, 2] + k[1, 2] - 3 * together
    expected = (
        together + (k[0, 1] - together) * q if family.signed else together + pairs * q + (1 - together - pairs) * q * q
    )
    assert_mean(product, expected)


def test_hashed_families_refuse_what_they_do_not_cover() -> None:
    rng = np.random.default_rng(21)
    with refused("buckets=1"):
        LaplacianBinning(2, buckets=1)
    with pytest.raises(TypeError, match=r"^Cosines is not sparse"):
        GaussianFeatures(2).sample(2, rng).nonzero([[0.0, 1.0]])
