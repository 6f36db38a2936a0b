"""The error of Algorithm 1 beyond the single families, which are checked in `tests/claims/lsq`."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import fp, mp

from dpverify.claims.kde.error import _moments, mse, sup_rmse
from dpverify.claims.lsq import LSQ_CLAIMS
from dpverify.claims.registry import claims_of
from dpverify.formulas.protocols import kde as formulas
from dpverify.papers.entries import stated
from protocols.bitsum import Pure, ThreeNB
from protocols.lsq import GaussianFeatures, Identity, LaplacianBinning, LSQFamily, RandomSigns
from protocols.lsq.hashing import HASH_ERROR
from tests.refusals import refused

ERROR = stated("wagner2025/kde", "error")


@pytest.mark.parametrize("family", [GaussianFeatures(3), RandomSigns(3), LaplacianBinning(3), Identity(3)], ids=repr)
@pytest.mark.parametrize("error", [0.0, 3.0, 200.0])
def test_the_sharper_bound_holds(family: LSQFamily, error: float) -> None:
    x = np.random.default_rng(1).normal(size=(12, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    instances = 1 if family.deterministic else 20
    worst = sup_rmse(family, x, instances=instances, bitsum_rmse=error)
    bound = float(formulas.rmse_bound(fp, family.beta, family.R, family.S, instances, error, 12))
    assert worst.sup_rmse.upper <= bound * (1 + 1e-9) + HASH_ERROR
    assert bound < worst.published


def test_clipping_is_a_bias() -> None:
    x, y = np.array([[0.9, 0.0], [0.1, 0.2]]), np.array([1.0, 0.0])
    rounding = ((0.5**2 - 0.5**2) + (0.5**2 - 0.1**2)) / 4
    got = mse(Identity(2, limit=0.5), x, y, instances=1, bitsum_rmse=0.0)
    assert got == pytest.approx(0.2**2 + rounding, rel=1e-12)


@pytest.mark.parametrize("x", [(-1.0, -1.0, -1.0), (-1.0, 0.25, -0.5), (1.0, 1.0, 1.0), (0.0, 1.0, -1.0)])
def test_an_error_that_depends_on_the_input_is_enclosed(x: tuple[float, ...]) -> None:
    """One coordinate, in exact rationals: over the rounded bits, the squared error and the variance of their sum."""
    protocol = Pure(3, 0.25, 0.5)
    p, q, n = Fraction(protocol.p), Fraction(protocol.drop_probability), 3
    points = [Fraction(value) for value in x]
    truth = Fraction(0)
    for bits in itertools.product((0, 1), repeat=n):
        chance = math.prod((1 + point) / 2 if bit else (1 - point) / 2 for point, bit in zip(points, bits, strict=True))
        variance = sum(bits) * q / (1 - q) + 2 * p / ((1 - p) * (1 - q)) ** 2
        off = sum(2 * bit - 1 - point for point, bit in zip(points, bits, strict=True)) / n
        truth += chance * (off**2 + 4 * variance / n**2)
    rmse = claims_of(protocol).rmse_over_inputs(protocol)
    found = sup_rmse(Identity(1), np.array(x)[:, np.newaxis], instances=1, bitsum_rmse=rmse).sup_rmse
    assert Fraction(found.lower) ** 2 <= truth <= Fraction(found.upper) ** 2
    # Both ends are attained: by zeros, and by ones.
    assert (found.upper < math.sqrt(truth) * (1 + 1e-9)) == (x == (1.0, 1.0, 1.0))
    assert (found.lower > math.sqrt(truth) * (1 - 1e-9)) == (x == (-1.0, -1.0, -1.0))


def exact_identity_mse(points: list[Fraction]) -> Fraction:
    """Of the sum of one coordinate in [-1, 1] without noise, at the query 1: only the rounding to bits."""
    return sum(1 - x**2 for x in points) / Fraction(len(points)) ** 2


def test_rounding_is_charged_where_moments_cancel() -> None:
    # Nearly all of the terms of single users cancels against that of pairs.
    rng = np.random.default_rng(3)
    for _ in range(60):
        n = 2 * int(rng.integers(1, 6))
        x = np.where(np.arange(n) % 2, -1.0, 1.0) * (1.0 - rng.random(n) * 10.0 ** -rng.uniform(3, 13))
        value, error = _moments(Identity(1), x[:, np.newaxis], np.ones(1), 1, 0.0)
        assert abs(Fraction(value) - exact_identity_mse([Fraction(v) for v in x])) <= error < 1e-11
        found = sup_rmse(Identity(1), x[:, np.newaxis], instances=1, bitsum_rmse=0.0).sup_rmse
        assert Fraction(found.lower) ** 2 <= exact_identity_mse([Fraction(v) for v in x]) <= Fraction(found.upper) ** 2


def exact_gaussian_mse(x: list[float], y: float, instances: int) -> Any:
    """In 60 digits, without noise, bandwidth 1: f(x) f(z) g(y)^2 averages the phases that cancel."""
    kernel = [[mp.exp(-((mp.mpf(u) - mp.mpf(v)) ** 2)) for v in x] for u in x]
    mirrored = [[mp.exp(-((mp.mpf(u) + mp.mpf(v) - 2 * mp.mpf(y)) ** 2)) for v in x] for u in x]
    mean = mp.fsum(mp.exp(-((mp.mpf(u) - mp.mpf(y)) ** 2)) for u in x) / len(x)
    pairs = mp.fsum(kernel[i][j] + mirrored[i][j] / 2 for i in range(len(x)) for j in range(len(x)) if i != j)
    return ((2 * len(x) + pairs) / len(x) ** 2 - mean**2) / instances


@pytest.mark.parametrize("reach", [0.1, 1.0, 1e3, 1e9])
def test_rounding_is_charged_far_from_the_query(reach: float) -> None:
    rng = np.random.default_rng(4)
    with mp.workdps(60):
        for _ in range(40):
            x = (np.array([1.0, -1.0, 1.0]) * reach + rng.normal(size=3) / 2).tolist()
            y = float(rng.normal()) / 2
            value, error = _moments(GaussianFeatures(1), np.array(x)[:, np.newaxis], np.array([y]), 7, 0.0)
            assert abs(mp.mpf(value) - exact_gaussian_mse(x, y, 7)) <= error
            assert error < 1e-13 * max(reach, 1.0)


def test_other_errors_do_not_depend_on_the_input() -> None:
    protocol = ThreeNB(3, 0.5, 2.0, 0.5)
    rmse = claims_of(protocol).rmse_over_inputs(protocol)
    assert rmse.lower == rmse.upper == claims_of(protocol).rmse(protocol)


def test_every_family_has_a_twin() -> None:
    names = [theorem.name for claims in LSQ_CLAIMS.values() for theorem in claims.theorems] + [t.name for t in ERROR]
    assert len(set(names)) == len(names) - 1  # the Laplacian and the exponential kernel share one
    with refused("protocol=None", TypeError):
        claims_of(None)


def test_bad_arguments() -> None:
    x = np.ones((1, 2))
    with pytest.raises(ValueError, match=r"^points holds 0 points"):
        mse(GaussianFeatures(2), np.empty((0, 2)), x[0], instances=1, bitsum_rmse=0.0)
    with pytest.raises(ValueError, match=r"^query has shape \(1, 3\)"):
        mse(GaussianFeatures(2), x, np.ones(3), instances=1, bitsum_rmse=0.0)
    with refused("instances=2"):
        mse(Identity(2), x, x[0], instances=2, bitsum_rmse=0.0)
    with refused("bitsum_rmse=-1.0"):
        sup_rmse(GaussianFeatures(2), x, instances=1, bitsum_rmse=-1.0)
