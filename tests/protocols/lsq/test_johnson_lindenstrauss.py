import math
import tracemalloc

import numpy as np
import pytest
from scipy.linalg import hadamard

from protocols.bitsum import ExactSum
from protocols.kde import KernelDensityProtocol
from protocols.lsq import FastProjection, GaussianFeatures, RandomSigns
from protocols.lsq.johnson_lindenstrauss import hadamard_transform
from tests.refusals import refused


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_fast_transform_is_the_matrix_product_and_orthonormal(size: int) -> None:
    rows = np.random.default_rng(1).normal(size=(5, size))
    kept = rows.copy()
    np.testing.assert_allclose(hadamard_transform(rows), rows @ hadamard(size) / math.sqrt(size), atol=1e-13)
    np.testing.assert_array_equal(rows, kept)
    matrix = hadamard_transform(np.eye(size))
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(size), atol=1e-14)


@pytest.mark.parametrize(("dimension", "target"), [(1, 1), (5, 3), (5, 8), (64, 16)])
def test_map_is_the_product_of_its_matrices(dimension: int, target: int) -> None:
    projection = FastProjection.sample(dimension, target, np.random.default_rng(2))
    x, padded = np.random.default_rng(3).normal(size=(7, dimension)), projection.padded
    assert len(set(projection.kept.tolist())) == target
    dense = hadamard(padded)[projection.kept, :dimension] * projection.signs / math.sqrt(target)
    np.testing.assert_allclose(projection(x), x @ dense.T, atol=1e-12)
    # The largest singular value is what it should be: no norm grows by more.
    assert np.linalg.norm(dense, 2) <= projection.largest_stretch * (1 + 1e-12)
    if target == padded:
        np.testing.assert_allclose(np.linalg.norm(projection(x), axis=1), np.linalg.norm(x, axis=1), rtol=1e-12)


def test_blocks_do_not_matter_and_memory_does_not_grow() -> None:
    projection = FastProjection.sample(512, 8, np.random.default_rng(4))
    x = np.random.default_rng(5).normal(size=(20_000, 512)).astype(np.float32)
    part = projection(x[5000:5003])
    tracemalloc.start()
    whole = projection(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(whole[5000:5003], part)
    assert peak < whole.nbytes + 16 * 2**20 < x.nbytes


def test_users_project_on_the_way_to_a_density() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(40, 20)) / 10, rng.normal(size=(3, 20)) / 10
    projection = FastProjection.sample(20, 8, rng)
    features = GaussianFeatures(8).sample(50, rng)
    protocol = KernelDensityProtocol(ExactSum(40), features)
    at_once = protocol.simulate(projection(x), np.random.default_rng(7))
    streamed = protocol.simulate((projection(block) for block in np.split(x, 4)), np.random.default_rng(7))
    np.testing.assert_array_equal(at_once(projection(y)), streamed(projection(y)))


def test_families_on_the_sphere_need_rescaled_points() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(30, 16))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    projection, features = FastProjection.sample(16, 4, rng), RandomSigns(4).sample(3, rng)
    with pytest.raises(ValueError, match=r"has Euclidean norm .* but must have norm 1"):
        features.f(projection(x))
    unit = projection(x, unit=True)
    assert np.abs(features.f(unit)).max() <= features.family.R
    np.testing.assert_allclose(projection(x), unit * np.linalg.norm(projection(x), axis=1, keepdims=True), rtol=1e-12)


def test_bad_arguments() -> None:
    rng = np.random.default_rng(9)
    with refused("dimension=0"):
        FastProjection.sample(0, 1, rng)
    with refused("target=9"):
        FastProjection.sample(5, 9, rng)
    with refused("rng=7", TypeError):
        FastProjection.sample(5, 2, 7)  # type: ignore[arg-type]
    projection = FastProjection.sample(5, 2, rng)
    with pytest.raises(ValueError, match=r"^x has shape \(2, 4\), but must have shape \(points, 5\)\.$"):
        projection(np.ones((2, 4)), name="x")
    with pytest.raises(ValueError, match=r"^x has shape \(5,\), but must have shape \(points, 5\)\.$"):
        projection(np.ones(5), name="x")
    with pytest.raises(ValueError, match=r"^points\[1, 0\]=nan must be a finite number"):
        projection([[0.0] * 5, [math.nan] * 5])
    with pytest.raises(ValueError, match=r"^points\[1\] is so large that its projection overflows"):
        FastProjection(np.ones(5), np.array([0, 1]))([[0.0] * 5, [1.7e308] * 5])
    with pytest.raises(ValueError, match=r"^points\[0\] is projected to 0"):
        projection([[0.0] * 5], unit=True)
    with pytest.raises(ValueError, match=r"must be a power of two\.$"):
        hadamard_transform(np.ones((1, 6)))
