"""Public linear maps with a public range."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from protocols.bitsum import ExactSum
from protocols.kde import KernelDensityProtocol
from protocols.lsq import LinearMap

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("kind", "dimension", "columns"), [("haar", 6, 6), ("hadamard", 6, 8), ("hadamard", 8, 8)])
def test_full_maps_keep_inner_products(kind: str, dimension: int, columns: int) -> None:
    family = LinearMap(dimension, kind, seed=3)
    assert (family.Q, family.S, family.weight) == (columns, columns, 1.0)
    np.testing.assert_allclose(family.matrix.T @ family.matrix, np.eye(dimension), atol=1e-14)
    if kind == "hadamard":
        signs = family.matrix[0] * np.sqrt(columns)
        np.testing.assert_allclose(family.matrix, hadamard(columns)[:, :dimension] * signs / np.sqrt(columns))


@pytest.mark.long
@pytest.mark.parametrize(("kind", "rows"), [("haar", 3), ("hadamard", 3), ("signs", 3), ("signs", 40)])
def test_fewer_or_more_rows_keep_them_on_average(kind: str, rows: int) -> None:
    x, y = RNG.standard_normal((2, 1, 4))
    maps = [LinearMap(4, kind, 100.0, rows=rows, seed=seed) for seed in range(4000)]
    products = [float(m.sample(1, RNG).f(x)[0, 0] @ m.sample(1, RNG).g(y)[0, 0]) for m in maps]
    deviation = np.std(products) / np.sqrt(len(products))
    assert abs(np.mean(products) - float(x[0] @ y[0])) < 5.2 * deviation  # a false alarm in 5 million
    np.testing.assert_allclose(np.linalg.norm(maps[0].matrix, axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", ["haar", "hadamard"])
def test_rotations_below_each_other_keep_them_exactly(kind: str) -> None:
    family = LinearMap(4, kind, rows=12)
    np.testing.assert_allclose(family.weight * family.matrix.T @ family.matrix, np.eye(4), atol=1e-14)
    assert np.linalg.matrix_rank(np.concatenate([family.matrix[:4], family.matrix[4:8]], axis=1)) == 4
    assert np.abs(family.matrix[:4] - family.matrix[4:8]).max() > 0.1


def test_a_rotation_spreads_what_the_coordinates_do_not() -> None:
    point, limit = np.eye(1, 384), 4.0 / np.sqrt(384.0)
    for kind in ("haar", "hadamard", "signs"):
        features = LinearMap(384, kind, limit).sample(1, RNG)
        assert features.clipped_coordinates(point) <= 2
        assert np.abs(features.f(point)).max() <= limit
    assert features.clipped_coordinates(20.0 * point) > 300


def test_the_fraction_of_clipped_features_is_reported() -> None:
    features = LinearMap(5, "hadamard", 0.3, radius=1.0, outside="scale").sample(1, RNG)
    x = RNG.standard_normal((9, 5))
    density = KernelDensityProtocol(ExactSum(9), features).simulate(x, RNG, chunk_size=2)
    images = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0) @ features.g(np.eye(5))[:, 0]
    assert density.clipped_fraction == np.mean(np.abs(images) > 0.3)


def test_the_seed_is_the_map() -> None:
    first, again, other = (LinearMap(4, seed=seed).matrix for seed in (5, 5, 6))
    for rows in (10, 3):  # however many rows were asked for before
        np.testing.assert_array_equal(LinearMap(4, rows=rows, seed=6).matrix[:4], other[:rows])
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.1
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1.0
