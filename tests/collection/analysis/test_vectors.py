"""Intervals of coordinates, against every law that small vectors have; reports of each, against who draws them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.collection.analysis.vectors import coordinate_interval, strange_coordinates
from protocols.vector_sum import VectorSum


def law_of(protocol: VectorSum, held: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the chance of every (reports, total) of the first coordinate, by convolution over users."""
    found = np.zeros((len(held) + 1, len(held) * protocol.levels + 1))
    found[0, 0] = 1.0
    share = protocol.inclusion_probability[0]
    for x in held:
        grown = (1.0 - share) * found
        for level, chance in enumerate(protocol.report_law([[x] * protocol.dimension])[0, 0]):
            grown[1:, level:] += share * chance * found[:-1, : found.shape[1] - level]
        found = grown
    return found


@pytest.mark.parametrize(
    "protocol", [VectorSum(3, 1, 2, 0.1), VectorSum(3, 2, 1, 0.0), VectorSum(3, 2, 2, 0.3)], ids=repr
)
def test_whatever_users_hold_each_end_misses_as_rarely_as_it_says(protocol: VectorSum) -> None:
    known: dict[tuple[int, int], tuple[float, float, float]] = {}
    largest = 0.0
    for held in itertools.combinations_with_replacement((0.0, 0.3, 0.5, 1.0), 3):
        low = high = 0.0
        law = law_of(protocol, held)
        for reports, total in itertools.product(range(4), range(3 * protocol.levels + 1)):
            if law[reports, total] > 0.0:
                if (reports, total) not in known:
                    counts = np.zeros(protocol.levels + 1, dtype=np.int64)
                    level, rest = divmod(total, max(reports, 1))
                    counts[level] += reports - rest
                    counts[min(level + 1, protocol.levels)] += rest
                    known[reports, total] = coordinate_interval(protocol, counts, 3, 0.2)
                _, least, most = known[reports, total]
                low += law[reports, total] * (least > sum(held) + 1e-9)
                high += law[reports, total] * (most < sum(held) - 1e-9)
        assert max(low, high) <= 0.2
        largest = max(largest, low, high)
    assert largest > 0.0


def test_it_is_as_wide_as_the_tails_of_many_reports() -> None:
    """Half of the users hold 1, and half 0: Chernoff's bound has no factor in front of the normal tail's exponent."""
    protocol = VectorSum(10**6, 4, 1, 0.1)
    value, low, high = coordinate_interval(protocol, np.array([125_000, 125_000]), 10**6, 0.025)
    assert value == pytest.approx(5e5)
    reach = math.sqrt(2.0 * math.log(40.0)) * 0.5 / math.sqrt(250_000) / 0.9 * 1e6
    assert high - value == pytest.approx(reach, rel=1e-3)
    assert value - low == pytest.approx(reach, rel=1e-3)
    assert coordinate_interval(protocol, np.array([0, 0]), 10**6, 0.025) == (5e5, 0.0, 1e6)


def test_who_reports_a_coordinate_is_drawn() -> None:
    protocol = VectorSum(10_000, 4, 1, 0.1)
    fine = np.array([[1_300, 1_200]] * 4)
    assert strange_coordinates(protocol, fine, 10_000, 1e-6) == []
    many = fine.copy()
    many[2] += 200
    (said,) = strange_coordinates(protocol, many, 10_000, 1e-6)
    assert said.startswith("coordinate 2 has 2,900 reports, but must have [2,")
    assert strange_coordinates(VectorSum(9, 1, 1, 0.1), np.array([[4, 5]]), 9, 1e-6) == []
    assert strange_coordinates(VectorSum(9, 1, 1, 0.1), np.array([[4, 4]]), 9, 1e-6) != []
