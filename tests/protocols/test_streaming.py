import re

import numpy as np
import pytest

from protocols.bitsum import RandomizedResponse
from protocols.kde import KernelDensityProtocol
from protocols.lsq import FourierPairs, GaussianFeatures, LaplacianBinning, LinearMap
from protocols.streaming import (
    BitCounts,
    count_bits,
    count_groups,
    default_chunk_size,
    evaluate,
    memory_needed,
    rounded_bits,
)


def test_default_chunk_fills_64_mebibytes() -> None:
    features = GaussianFeatures(768).sample(768, np.random.default_rng(20))
    size = default_chunk_size(features)
    assert memory_needed(features, size) <= 64 * 2**20 < memory_needed(features, size + 1)


@pytest.mark.parametrize("family", [GaussianFeatures(3), LaplacianBinning(3, 1.0, 4)], ids=["dense", "sparse"])
def test_counts_of_groups_add_up_to_those_of_all(family: GaussianFeatures | LaplacianBinning) -> None:
    features = family.sample(6, np.random.default_rng(0))
    points = np.random.default_rng(1).normal(size=(60, 3))
    protocol = KernelDensityProtocol(RandomizedResponse(60, 0.1), features)
    rng, other = np.random.default_rng(2), np.random.default_rng(2)
    groups = (count_bits(features, points[start : start + 20], rng) for start in (0, 20, 40))
    total = sum(groups, BitCounts.none(features))
    assert total.users == 60
    published = protocol.publish(total, rng).published
    np.testing.assert_array_equal(published, protocol.simulate(points, other, chunk_size=20).published)


@pytest.mark.parametrize(
    "family",
    [GaussianFeatures(3), LaplacianBinning(3, 1.0, 4), LinearMap(3, limit=0.4, rows=700, radius=1.0, outside="scale")],
    ids=["dense", "sparse", "single"],
)
def test_groups_are_counted_as_each_alone(family: LinearMap) -> None:
    # More rows than are made at a time, and more than a byte counts; the last of 4 groups has nobody.
    features = family.sample(1 if family.deterministic else 6, np.random.default_rng(0))
    points = np.random.default_rng(1).normal(size=(900, 3)).astype(np.float32 if family.deterministic else np.float64)
    groups = np.random.default_rng(2).integers(0, 3, 900)
    found = count_groups(features, points, groups, np.random.default_rng(3), name="points")
    alone, rng = {}, np.random.default_rng(3)
    for group in range(3):
        alone[group] = count_bits(features, points[groups == group], rng)
    assert found.keys() == alone.keys()
    for group, counts in found.items():
        np.testing.assert_array_equal(counts.ones, alone[group].ones)
        np.testing.assert_array_equal(counts.coins, alone[group].coins)
        assert (counts.users, counts.clipped) == (np.count_nonzero(groups == group), None)
    assert (found[0] + alone[0]).clipped is None


def test_single_precision_has_the_chances_of_double() -> None:
    features = LinearMap(5, limit=0.3, radius=1.0, outside="scale").sample(1, np.random.default_rng(0))
    points = (
        np.random.default_rng(1).normal(size=(50, 5)).astype(np.float32) * np.logspace(-3, 25, 50, dtype="f4")[:, None]
    )
    single, double = features.chances(points), features.chances(points.astype(np.float64))
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(single, double, atol=2e-6)
    clipped = features.clipped_coordinates(points)
    assert 0 < clipped < 250
    assert {features.clipped_among(each, points) for each in (single, double)} == {clipped}
    # Where no ball says how large points are, or a tiny one, they are held against it in double precision.
    for radius in (None, 1e-30):
        assert (
            LinearMap(5, radius=radius).sample(1, np.random.default_rng(0)).chances(points[:1] * 0).dtype == np.float64
        )


@pytest.mark.long
def test_sparse_bits_are_those_of_dense_ones_and_coins() -> None:
    features = LaplacianBinning(3, 1.0, 4).sample(5, np.random.default_rng(3))
    rng, points, trials = np.random.default_rng(4), np.random.default_rng(5).normal(size=(2, 3)), 20_000
    dense = np.mean([rounded_bits(features, points, rng).sum(axis=0) for _ in range(trials)], axis=0)
    expected = (0.5 * (1.0 + features.f(points) / features.family.R)).reshape(2, -1).sum(axis=0)
    counts = [count_bits(features, points, rng) for _ in range(200)]
    assert {counted.users for counted in counts} == {2}
    coins = counts[0].coins
    sparse = np.mean([counted.ones for counted in counts], axis=0) + coins / 2.0
    assert coins.any()
    assert coins.max() <= 2
    # A sum of two bits has variance at most 1/2; 20 bitsums, each with a false alarm below 1e-8.
    assert np.abs(dense - expected).max() < 6.0 * np.sqrt(0.5 / trials)
    assert np.abs(sparse - expected).max() < 6.0 * np.sqrt(0.5 / 200)


def test_what_is_no_group_of_points_is_one_sentence() -> None:
    features = FourierPairs(3).sample(8, np.random.default_rng(0))
    rng, points = np.random.default_rng(0), np.zeros((4, 3))
    counts = count_bits(features, points, rng)
    for call, said in (
        (lambda: count_bits(features, None, rng), "points=None must be a list or another iterable of arrays of points"),
        (lambda: count_bits(features, "ab", rng), "points='ab' must be a list or another iterable of arrays"),
        (lambda: count_bits(None, points, rng), "features=None must be LSQFeatures"),
        (lambda: count_bits(features, points + 1j, rng), "points has dtype complex128, but must hold real numbers"),
        (
            lambda: count_bits(features, np.full((4, 3), "a"), rng),
            "points must hold real numbers in rows of one length",
        ),
        (lambda: counts + 1, "counts of 16 bitsums must be added to counts of as many, not a int."),
        (
            lambda: counts + BitCounts.none(FourierPairs(3).sample(4, rng)),
            "counts of 16 bitsums must be added to counts of as many, not 8 bitsums.",
        ),
        (lambda: evaluate(features, np.zeros((3, 1)), points), "weights has shape (3, 1), but must have shape (16, "),
        (lambda: rounded_bits(features, points, None), "rng=None must be a numpy.random.Generator"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^{re.escape(said)}"):
            call()
