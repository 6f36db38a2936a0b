"""Intervals of sums of vectors, against the exact law of small ones and its worst dataset; and alarms."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.collection.rotations.means import _grows, mean_rows, strange_counts
from dpverify.collection.rotations.turned import Turned
from protocols.bitsum import NegativeBinomial, Poisson
from protocols.sums.vectors import UnaryVectorSum

NOISES = (Poisson(3, 6.0), NegativeBinomial(3, 9.0, 0.4))
_WINDOW = 160


def noise_of(noise: Any) -> NDArray[np.float64]:
    k = np.arange(_WINDOW)
    gamma = np.array([math.lgamma(each + 1.0) for each in k])
    if isinstance(noise, Poisson):
        return np.exp(k * math.log(noise.mean) - noise.mean - gamma)
    rising = np.array([math.lgamma(each + noise.shape) - math.lgamma(noise.shape) for each in k])
    return np.exp(rising - gamma + noise.shape * math.log1p(-noise.p) + k * math.log(noise.p))


def difference(found: Turned, held: Any, coordinate: int) -> tuple[NDArray[np.float64], int]:
    """Return the law of one coordinate's estimate over its weight, and where it begins: by convolution."""
    size = found.protocol.dimension
    sign = (-1.0) ** np.array([bin(coordinate & j).count("1") for j in range(size)]) * (-1) ** int(
        found.signs[coordinate]
    )
    law, begin = np.ones(1), 0
    places = found.places(held)
    noise = noise_of(found.protocol.noise)
    for j in range(size):
        for side in (1.0, -1.0):
            up = sign[j] * side > 0
            law, begin = np.convolve(law, noise if up else noise[::-1]), begin + (0 if up else 1 - _WINDOW)
        for y in places[:, j]:
            level, rest = divmod(int(sign[j]) * int(y) * found.factor, 2**46)
            law, begin = np.convolve(law, [1.0 - rest / 2**46, rest / 2**46]), begin + level
    return law, begin


@pytest.mark.long
@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("scale", [0.4, 1.7])
def test_whatever_users_hold_each_end_misses_as_rarely_as_it_says(noise: Any, scale: float) -> None:
    """The worst of all datasets of three users and six vectors, by the exact law of each coordinate's estimate."""
    found = Turned("10", UnaryVectorSum(noise, 2, scale, 1.5))
    assert found.clipped == 0.0
    vectors, worst = [[1, 0], [0, -1], [0.6, 0.8], [-0.3, 0.1], [0, 0], [0.71, -0.7]], 0.0
    for held in itertools.combinations_with_replacement(vectors, 3):
        for coordinate in range(2):
            law, begin = difference(found, held, coordinate)
            true = sum(each[coordinate] for each in held)
            (value, low, high), zero = mean_rows(found, np.zeros(4, dtype=np.int64), 3, 0.1)[coordinate], 3.0
            assert (value, low, high) == (0.0, max(low, -zero), min(high, zero))
            # The width does not depend on what is seen: ends that are cut to the range never miss for that.
            wide = width(found)
            estimates = found.weight * (begin + np.arange(law.size))
            for missed in (estimates - wide > true, estimates + wide < true):
                worst = max(worst, float(law[missed].sum()))
    assert 0.01 < worst <= 0.1


def width(found: Turned) -> float:
    """Return half of the interval's width, by counts that leave it within the range of many users."""
    many = Turned(found.signs, found.protocol)
    rows = mean_rows(many, np.zeros(4, dtype=np.int64), 3, 0.1)
    if rows[0][2] < 3.0:
        return rows[0][2]
    s = np.geomspace(1e-3, 20.0, 4_000)
    with np.errstate(over="ignore"):
        grown = _grows(found, 3, s)
    finite = np.isfinite(grown)
    return float(((math.log(10.0) + grown[finite]) / s[finite]).min()) * found.weight


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("scale", [0.1, 0.4, 5.0])
def test_no_error_grows_more_than_its_bound(noise: Any, scale: float) -> None:
    """All fractions of three users' rounding, in a law of one coordinate: the noise alone is met exactly."""
    found = Turned("0", UnaryVectorSum(noise, 1, scale, 1.5))
    for s in (1e-3, 0.1, 0.5):
        bound = float(_grows(found, 3, np.array([s]))[0])
        most = 0.0
        for x in np.linspace(-1.0, 1.0, 9):
            law, begin = difference(found, [[x]] * 3, 0)
            places = begin + np.arange(law.size) - law @ (begin + np.arange(law.size))
            most = max(most, *(float(np.log(law @ np.exp(t * places))) for t in (s, -s)))
        assert most <= bound * (1.0 + 1e-9) + 1e-13
        none = noise_of(noise)
        exact = sum(math.log(none @ np.exp(t * np.arange(_WINDOW))) for t in (s, -s))
        assert bound >= exact - 1e-12
        root = min(found.factor * (1 + 2**-10) / 2**20, 0.5)
        assert bound <= exact + 3 * min(s * s / 8, root * (1 - root) * (math.expm1(s) - s)) + 1e-9


def test_what_clipping_and_clients_cost_widens_intervals_to_everything() -> None:
    found = Turned("0" * 64, UnaryVectorSum(Poisson(1_000, 500.0), 64, 8.0, 4.0))
    assert 0.0 < found.clipped < 0.05
    assert mean_rows(found, np.full(128, 500), 1_000, 0.02)[0][1:] == (-1_000.0, 1_000.0)
    never = Turned("0" * 64, UnaryVectorSum(Poisson(1_000, 500.0), 64, 8.0, 8.1))
    ends = [mean_rows(never, np.full(128, 500), 1_000, side)[0][2] for side in (0.1, 0.01, 1e-6)]
    assert ends == sorted(ends)
    # Of normal tails, with the noise and the rounding at their most.
    deviation = never.weight * math.sqrt(64 * (2 * 500.0 + 1_000 * 0.25))
    assert 1.0 < ends[2] / (deviation * math.sqrt(2.0 * math.log(1e6))) < 1.02


def test_alarms_tell_what_nobody_sends() -> None:
    found = Turned("0" * 4, UnaryVectorSum(Poisson(1_000, 500.0), 4, 3.0, 2.1))
    right = np.full(8, 800)
    assert strange_counts(found, right, 1_000, 1e-9) == []
    assert (found.most, found.own) == (3, 9)
    for changed, said in (
        ({0: 100}, "1 of 8 counts, such as 100"),
        ({3: 5_000}, "1 of 8 counts, such as 5,000"),
        (dict.fromkeys(range(8), 3_000), "all counts together have 24,000"),
        (dict.fromkeys(range(8), 420), "all counts together have 3,360"),
    ):
        counts = right.copy()
        counts[list(changed)] = list(changed.values())
        assert [line for line in strange_counts(found, counts, 1_000, 1e-4) if line.startswith(said)], said
