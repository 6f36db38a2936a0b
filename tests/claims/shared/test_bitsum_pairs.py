import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.changes import Full, L2Ball, L2Bounded
from dpverify.claims.shared.bitsum_pairs import (
    Pairs,
    least_noise,
    least_normal_deviation,
    loss_of_bits,
    negligible,
    noise_tail,
    normal_deviation,
    tail_for,
)
from dpverify.guarantee import InfeasibleBudgetError
from dpverify.privacy_loss.losses.pairs import approximate_dp


def composed(delta: float, mechanisms: int = 1) -> Any:
    """Return what the searches read of a composition."""
    return cast(Any, SimpleNamespace(delta=delta, mechanisms=mechanisms, change=SimpleNamespace(full=mechanisms)))


@given(st.floats(-300, -1), st.integers(1, 10**11))
def test_all_instances_together_leave_out_little_of_delta(exponent: float, instances: int) -> None:
    delta = 10.0**exponent
    if delta / instances < 10.0 * 1e-260:
        with pytest.raises(InfeasibleBudgetError, match=r"leave the floats"):
            tail_for(composed(delta, instances))
        return
    tail = tail_for(composed(delta, instances))
    assert 0.0 < tail <= noise_tail(negligible(delta, instances))
    # A shift by one leaves out what is cut on either side, and the next probability.
    assert 10.0 * instances * tail <= 1e-10 * delta or negligible(delta, instances) == 1e-260


def test_delta_is_the_worst_of_all_pairs_and_groups() -> None:
    mild, middle, strong = (approximate_dp(epsilon, 0.0) for epsilon in (0.5, 1.0, 2.0))
    alone = [Pairs((pair,), ()).delta_upper(0.25) for pair in (mild, middle, strong)]
    assert alone == sorted(alone)
    assert Pairs((mild, (middle, strong)), ()).delta_upper(0.25) == alone[2]
    assert Pairs((middle, (mild,)), ()).delta_upper(0.25) == alone[1]


@pytest.mark.parametrize("mechanisms", [1, 768])
def test_searches_begin_near_normal_noise_that_meets_the_target(mechanisms: int) -> None:
    deviation = normal_deviation(composed(1e-6, mechanisms), 0.5)
    mu = math.sqrt(mechanisms) / deviation
    tail = 0.5 * math.erfc((0.5 / mu - mu / 2) / math.sqrt(2))
    other = 0.5 * math.erfc((0.5 / mu + mu / 2) / math.sqrt(2))
    assert 1e-9 < tail - math.exp(0.5) * other < 1e-6
    least = least_normal_deviation(composed(1e-6, mechanisms), 0.5)
    mu = math.sqrt(mechanisms) / least
    tail = 0.5 * math.erfc((0.5 / mu - mu / 2) / math.sqrt(2))
    other = 0.5 * math.erfc((0.5 / mu + mu / 2) / math.sqrt(2))
    assert 9e-7 < tail - math.exp(0.5) * other <= 1e-6


@pytest.mark.parametrize(
    ("lacking", "square", "most"), [(8e-4, 64.0, 1), (1.1e-3, 1024.0, 1), (2e-3, 64.0, 2), (-5e-2, 64.0, 3)]
)
def test_what_a_guess_lacks_costs_few_proofs(lacking: float, square: float, most: int) -> None:
    proved = list[float]()

    def epsilon(bound: Any, noise: float) -> float:
        if bound == "guess":
            return noise**-1.05
        proved.append((1.0 + lacking) * noise**-1.05)
        return proved[-1]

    class Bound(str):
        guessed, change = "guess", SimpleNamespace(full=square)

    found = least_noise(epsilon, cast(Any, Bound()), 0.5, 2.0, 1e6, 5e-4, slope=1.1)
    assert len(proved) <= most
    assert found is not None
    assert (1.0 - 5e-4) * 0.5 <= (1.0 + lacking) * found**-1.05 <= 0.5


def test_bits_of_points_of_a_ball_reveal_no_more_than_their_largest_loss_and_some_do() -> None:
    # Two bits: all pairs of points on a grid of the disc, against the sum of the larger logarithms of both ratios.
    square = 0.5
    angles, radii = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 97), math.sqrt(square) * np.linspace(0.0, 1.0, 9))
    chances = 0.5 + 0.5 * np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=-1).reshape(-1, 2)
    before, after = chances[:, None], chances[None]
    losses = np.maximum(np.log(after / before), np.log((1.0 - after) / (1.0 - before))).sum(axis=-1)
    most = loss_of_bits(L2Ball(square, 2))
    assert 0.99 * most <= losses.max() <= most * (1.0 + 1e-12)
    assert loss_of_bits(L2Ball(1.0, 2)) == loss_of_bits(L2Bounded(square, 2)) == loss_of_bits(Full(1)) == math.inf
