"""Sums over what is not seen: value by value of the noise, and part by part where its shape is whole, they agree."""

import numpy as np
import pytest

from dpverify.laws import noise
from dpverify.privacy_loss.floods.intervals import Cuts, points
from dpverify.privacy_loss.floods.shared_flood import Listed, Scale
from dpverify.privacy_loss.floods.smaller_count import SmallerCount

WIDE = Cuts(np.array([1, 2, 4, 8]), np.array([1, 2, 4, 8]))


@pytest.mark.parametrize("rows", [points(12), WIDE])
@pytest.mark.parametrize("columns", [points(20), WIDE])
@pytest.mark.parametrize("at", [(0, False), (1, True)])
def test_both_sums_agree(rows: Cuts, columns: Cuts, at: tuple[int, bool]) -> None:
    own, flood = noise.negative_binomial(3.0, 0.6, 1e-60), noise.negative_binomial(4.0, 0.7, 1e-60)
    listed, parts = Listed(own, flood), SmallerCount(3, 0.6, (4.0, 0.7), flood, 1e-40)
    sums = [view.cut(rows, columns)(rows, *at) for view in (listed, parts)]
    errors = listed.error(rows, columns) + parts.error(rows, columns)
    first, second = (each.masses() for each in sums)
    assert (np.abs(first - second) <= errors * second).all()
    for crossed in (False, True):
        for first, second in zip(*(each.ends(crossed) for each in sums), strict=True):
            assert (np.abs(first - second) <= errors * second).all()


def test_both_know_where_the_noise_is() -> None:
    own = noise.negative_binomial(3.0, 0.6, 1e-40)
    listed, closed = Scale.of(own), Scale.of_noise(3.0, 0.6)
    assert (listed.mean, listed.variance) == pytest.approx((closed.mean, closed.variance), rel=1e-12)


def test_what_the_windows_lack_is_outside() -> None:
    own, flood = noise.negative_binomial(3.0, 0.6, 1e-3), noise.negative_binomial(400.0, 0.7, 1e-4)
    listed = Listed(own, flood)
    assert listed.start == flood.start > 0
    tails = 2.0 * (own.tail_below + own.tail_above) + flood.tail_below + flood.tail_above
    assert listed.lack >= 2.0 * tails
    assert listed.outside >= 2.0 * tails
