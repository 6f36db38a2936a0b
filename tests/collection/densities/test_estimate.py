"""What sums of signs say: errors and intervals, against laws that are drawn and enumerated."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.collection.densities.estimate import Densities, densities
from dpverify.collection.densities.rehearsed import HeldPoints, tossed
from dpverify.collection.densities.signs import Signs
from protocols.bitsum import Poisson, RandomizedResponse

RUNS = 200


def drawn(signs: Signs, protocol: Any, rows: list[list[float]], rng: np.random.Generator) -> Densities:
    """Return what a run says of users at such points."""
    held = HeldPoints.of({"name": "q", "points": signs.settings}, rows, protocol.users)
    ones = [int(tossed(each, rng)[1]) for each in held.bits]
    sums = [float(protocol.analyze(protocol.sample_view(np.array([one]), rng))[0]) for one in ones]
    return densities(signs, protocol, protocol.users, sums)


@pytest.mark.long
@pytest.mark.parametrize(("protocol", "classes"), [(RandomizedResponse(40, 0.2), 2), (Poisson(40, 30.0), 1)], ids=repr)
def test_errors_are_within_their_bound_and_intervals_have_the_truth(protocol: Any, classes: int) -> None:
    """Where all users hold one point the bound is nearly met far from it; waves, coins and noise are drawn anew."""
    rng = np.random.default_rng(3)
    rows, at = [[0.1, 0.2]], np.array([[0.1, 0.2], [30.0, 0.0]])
    if classes == 2:
        rows = [[0.0, *rows[0]]]
    truth = np.zeros((2, classes))
    truth[0, 0] = 1.0
    errors, covered, found = [], np.zeros((2, classes)), None
    for _ in range(RUNS):
        found = drawn(Signs.sample(24, 2, "0.5", classes, rng), protocol, rows, rng)
        low, high = found.intervals(at, 0.8)
        errors.append(found(at) - truth)
        covered += (low <= truth) & (truth <= high)
    assert found is not None
    rmse = np.sqrt(np.mean(np.square(errors), axis=0))
    slack = 6.0 / math.sqrt(2.0 * RUNS)
    assert (rmse < found.sup_rmse * (1.0 + slack)).all()
    assert rmse[1, 0] > found.sup_rmse * (1.0 - slack)
    assert (covered / RUNS > 0.8 - 6.0 * math.sqrt(0.16 / RUNS)).all()
    assert found.sup_rmse < 1.01 * math.pi / math.sqrt(8 * 24) * math.hypot(1.0, 2.0 * protocol_rmse(protocol) / 40)


def protocol_rmse(protocol: Any) -> float:
    if isinstance(protocol, Poisson):
        return math.sqrt(protocol.mean)
    return math.sqrt(protocol.users * 0.2 * 0.8) / 0.6


def generating(pmf: NDArray[np.float64], values: NDArray[np.float64], s: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.logaddexp.reduce(np.log(pmf) + s * (values - pmf @ values)))


@pytest.mark.parametrize("s", [1e-3, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("classes", [1, 2])
def test_no_sum_grows_more_than_its_bound(s: float, classes: int) -> None:
    """All users' bits, 0, 1 or of another class a coin, and either sign: for three users every law by convolution."""
    signs = Signs.sample(1, 1, "1", classes, np.random.default_rng(0))
    p, rr, poisson = 0.2, RandomizedResponse(3, 0.2), Poisson(3, 2.0)
    noise = np.exp(-2.0 + np.arange(400) * math.log(2.0) - [math.lgamma(k + 1.0) for k in range(400)])
    bounds = [float(densities(signs, each, 3, np.zeros(classes))._grows(np.array([s]))[0]) for each in (rr, poisson)]
    most = [0.0, 0.0]
    for bits in itertools.product([0.0, 1.0, *([0.5] if classes == 2 else [])], repeat=3):
        reports, inputs = np.ones(1), np.ones(1)
        for bit in bits:
            q = p + bit * (1.0 - 2.0 * p)
            reports, inputs = np.convolve(reports, [1.0 - q, q]), np.convolve(inputs, [1.0 - bit, bit])
        counts = np.convolve(inputs, noise)
        for sign in (s, -s):
            most[0] = max(most[0], generating(reports, np.arange(4.0) / (1.0 - 2.0 * p), sign))
            most[1] = max(most[1], generating(counts, np.arange(float(counts.size)), sign))
    assert most[0] <= bounds[0] * (1.0 + 1e-9) <= 1.000001 * most[0]
    assert most[1] <= bounds[1] * (1.0 + 1e-9) <= 1.000001 * most[1]


def test_what_clients_cost_widens_intervals_to_everything() -> None:
    signs, half = Signs.sample(1_024, 2, "0.5", 1, np.random.default_rng(1)), np.full(1_024, 5e5)
    ends = []
    for missing in (0.0, 0.04, 0.06):
        found = densities(signs, RandomizedResponse(10**6, 0.3), 10**6, half, missing)
        ends.append([float(end[0, 0]) for end in found.intervals([[0.0, 0.0]], 0.95)])
    # Normal tails would make it 0.08: Chernoff's bound has no factor in front, and both errors share the level.
    assert 0.0 == ends[0][0] < ends[0][1] < 0.12 < ends[1][1] < 0.2 < ends[2][1] == 1.0
    with pytest.raises(ValueError, match="confidence"):
        found.intervals([[0.0, 0.0]], 1.0)


def test_the_likeliest_class_is_predicted() -> None:
    rng = np.random.default_rng(2)
    signs = Signs.sample(800, 2, "0.7", 3, rng)
    rows = [[0, 1.0, 0.0], [1, -0.5, 0.8], [2, -0.5, -0.8]]
    found = drawn(signs, RandomizedResponse(30_000, 0.2), rows, rng)
    assert found.predict([row[1:] for row in rows]).tolist() == [0, 1, 2]
    assert found([[1.0, 0.0]])[0, 0] == pytest.approx(1.0 / 3.0, abs=0.15)


def test_other_protocols_have_no_such_law() -> None:
    signs = Signs.sample(1, 1, "1", 1, np.random.default_rng(0))
    with pytest.raises(TypeError, match="protocol"):
        densities(signs, None, 3, [0.0])
