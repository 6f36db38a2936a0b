from typing import ClassVar

import numpy as np
import pytest

from dpverify.claims.kde.error import sup_rmse
from dpverify.claims.lsq.gaussian import GaussianFeaturesClaims
from protocols.lsq import FourierPairs, GaussianFeatures, LSQFamily
from tests.claims.lsq.families import FamilyContract, users_of


class TestGaussian(FamilyContract):
    families: ClassVar[tuple[LSQFamily, ...]] = (GaussianFeatures(3), GaussianFeatures(2, 0.5))


class TestPairs(FamilyContract):
    families: ClassVar[tuple[LSQFamily, ...]] = (FourierPairs(3), FourierPairs(2, 0.5))


def test_close_users_have_a_closed_supremum() -> None:
    family = GaussianFeatures(3, 2.0)
    x = users_of(family, 6, 30)
    worst = sup_rmse(family, x, instances=7, bitsum_rmse=3.0)
    closed = (family.kernel(x, x).mean() + 1 / 30 + 8 * (3.0 / 30) ** 2) / 7
    assert worst.sup_rmse.lower**2 == pytest.approx(closed, rel=1e-9)
    assert worst.sup_rmse.upper**2 == pytest.approx(closed, rel=1e-9)
    assert worst.slack.lower > 5


def test_one_point_attains_the_general_bound() -> None:
    family = GaussianFeatures(2)
    worst = sup_rmse(family, np.zeros((5, 2)), instances=4, bitsum_rmse=0.0)
    assert worst.sup_rmse.upper**2 == pytest.approx((1 + 1 / 5) / 4, rel=1e-9)
    assert worst.slack.upper == pytest.approx(8 / (1 + 1 / 5) ** 0.5, rel=1e-9)


def test_product_is_symmetric() -> None:
    family, claims = GaussianFeatures(2, 0.7), GaussianFeaturesClaims()
    x, y = users_of(family, 7), np.array([0.2, -0.4])
    matrix = claims.product(family, x, x, y)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12)
