from __future__ import annotations

import pytest

from dpverify.changes import L2Bounded


@pytest.mark.parametrize(("squared", "coordinates"), [(0.0, 3), (3.1, 3), (float("nan"), 3), (-1.0, 3)])
def test_a_squared_change_outside_its_range_is_refused(squared: float, coordinates: int) -> None:
    with pytest.raises(ValueError, match=r"squared_change=.* must be a finite number in \(0, 3\]"):
        L2Bounded(squared, coordinates)


def test_a_number_of_coordinates_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="coordinates=0 must be an integer"):
        L2Bounded(0.5, 0)


def test_all_coordinates_may_change_fully() -> None:
    assert L2Bounded(3.0, 3) == L2Bounded(squared_change=3.0, coordinates=3)
