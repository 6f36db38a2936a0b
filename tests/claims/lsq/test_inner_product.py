import itertools
from typing import ClassVar

import numpy as np
import pytest

from dpverify.claims.kde.error import mse, sup_rmse
from protocols.lsq import Identity, LSQFamily, RandomSigns
from tests.claims.lsq.families import FamilyContract, users_of


class TestRandomSigns(FamilyContract):
    families: ClassVar[tuple[LSQFamily, ...]] = (RandomSigns(3), RandomSigns(1))


class TestIdentity(FamilyContract):
    families: ClassVar[tuple[LSQFamily, ...]] = (Identity(3), Identity(3, limit=0.6))


def test_random_signs_by_enumeration() -> None:
    """All signs and all roundings of two users in three dimensions."""
    family = RandomSigns(3)
    x, y = users_of(family, 8, 2), np.array([0.3, -1.2, 0.5])
    truth, total = float((x @ y).mean()), 0.0
    for signs in itertools.product((-1.0, 1.0), repeat=3):
        for rounded in itertools.product((-family.R, family.R), repeat=2):
            chance = np.prod([(1 + np.dot(signs, u) / f) / 2 for u, f in zip(x, rounded, strict=True)]) / 8
            total += chance * (np.mean(rounded) * np.dot(signs, y) - truth) ** 2
    assert mse(family, x, y, instances=1, bitsum_rmse=0.0) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("family", [RandomSigns(5), Identity(5), Identity(5, 0.3)], ids=repr)
def test_supremum_is_attained(family: LSQFamily) -> None:
    worst = sup_rmse(family, users_of(family, 9, 20), instances=1, bitsum_rmse=2.0)
    assert np.linalg.norm(worst.query) == pytest.approx(1.0, rel=1e-12)
    assert worst.sup_rmse.width <= 1e-8 * worst.sup_rmse.upper
