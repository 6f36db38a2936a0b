"""Many users at few points: their bits, counted one by one, and the densities there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpverify.collection.client import signs
from dpverify.collection.densities.rehearsed import HeldPoints, tossed
from dpverify.collection.densities.signs import Signs

ROWS = [[0, 0.1, 0.2], [2, -0.7, 0.3], [0, 0.4, 0.0]]
QUERY: dict[str, Any] = {"name": "q", "points": Signs.sample(7, 2, "0.5", 3, np.random.default_rng(1)).settings}


def test_bits_are_those_of_users_one_by_one() -> None:
    held = HeldPoints.of(QUERY, ROWS, 11)
    users = [int(row) for row, number in enumerate([4, 4, 3]) for _ in range(number)]
    answers = [signs(QUERY, [int(ROWS[row][0]), ROWS[row][1:]]) for row in users]
    for place, found in enumerate(held.bits):
        label, wave = divmod(place, 7)
        own = [bits[wave] for of, bits in answers if of == label]
        assert found.tolist() == [own.count(0), own.count(1), 11 - len(own)]


def test_densities_are_sums_over_users() -> None:
    held = HeldPoints.of(QUERY, ROWS, 11)
    x = np.array([row[1:] for row in ROWS])
    kernel = np.exp(-((x[:, np.newaxis] - x) ** 2).sum(axis=2) / 0.25)
    wanted = [(4 * kernel[0] + 3 * kernel[2]) / 12, 0 * kernel[1], 4 * kernel[1] / 12]
    assert np.allclose(held.exact(12), np.concatenate(wanted))


def test_coins_are_tossed() -> None:
    rng = np.random.default_rng(1)
    assert tossed(np.array([3, 4]), rng).tolist() == [3, 4]
    found = np.array([tossed(np.array([3, 4, 100]), rng) for _ in range(400)])
    assert (found.sum(axis=1) == 107).all()
    assert abs(found[:, 1].mean() - 54.0) < 6.0 * 5.0 / 20.0
    assert found[:, 1].var() == pytest.approx(25.0, rel=0.5)


@pytest.mark.parametrize("given", [[[0.1, 0.2]], [[3, 0.1, 0.2]], [[0.5, 0.1, 0.2]], [], [[0, 1e9, 0.0]]])
def test_what_nobody_can_hold_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="held of 'q'"):
        HeldPoints.of(QUERY, given, 5)


def test_by_default_all_classes_have_points() -> None:
    held = HeldPoints.of(QUERY, None, 480)
    assert (np.bincount(held.labels).tolist(), held.points.shape) == ([16, 16, 16], (48, 2))
