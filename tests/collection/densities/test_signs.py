"""Signs of waves: the bits of the client, the kernel that they have, and what is no set of waves."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from dpverify.audit.clients.vectors import value
from dpverify.collection.client import signs
from dpverify.collection.densities.signs import SECOND_MOMENT, Signs


def sampled(waves: int = 40, dimension: int = 2, bandwidth: str = "0.5", classes: int = 1) -> Signs:
    return Signs.sample(waves, dimension, bandwidth, classes, np.random.default_rng(5))


@pytest.mark.parametrize(("bandwidth", "classes"), [("0.3", 1), ("1", 2), ("1e9", 3), ("1e-20", 1)])
def test_clients_and_analysts_compute_the_same_bits(bandwidth: str, classes: int) -> None:
    found, rng = sampled(9, 3, bandwidth, classes), random.Random(1)
    query: dict[str, Any] = {"kind": "report", "points": found.settings}
    for _ in range(200):
        answer = value(query, rng)
        label, point = answer if classes > 1 else (0, answer)
        assert signs(query, answer) == (label, found.bits([point])[0].astype(int).tolist())


@pytest.mark.parametrize("bandwidth", ["0.5", "1", "0.50001", "0.9999", "3e-7", "123456"])
def test_steps_are_between_two_powers_below_the_bandwidth(bandwidth: str) -> None:
    assert 2**16 <= float(bandwidth) * 2.0 ** sampled(bandwidth=bandwidth).shift < 2**17


def test_over_all_offsets_the_product_is_the_cosine_of_what_is_between() -> None:
    """One frequency at evenly spread offsets: what is left is the mean over offsets, and a step of the sum."""
    one = sampled(1)
    words = one.waves[:16]
    offsets = [f"{(2 * place + 1) << 15:08x}" for place in range(2**16)]
    spread = Signs(2, "0.5", "".join(words + offset for offset in offsets))
    x, y = np.array([[0.7, -0.2]]), np.array([[0.1, 0.4], [0.7, -0.2]])
    product = (2.0 * spread.bits(x) - 1.0) * spread.cosines().g(y)[:, :, 0] * (math.pi / 2.0 / math.sqrt(2.0))
    middle = (np.floor(x * 2.0**one.shift) + 0.5) * 2.0**-one.shift
    angle = (y - middle) @ one.cosines().frequencies[0]
    assert np.abs(product.mean(axis=1) - np.cos(angle)).max() < math.pi / 2**16


def test_an_analyst_has_the_phase_of_the_middle_of_a_cell() -> None:
    """Half a part of a turn beyond the client's phase, which is that of the corner: nothing else is off."""
    found = sampled(9)
    steps = np.array([[70_001, -3]])
    words = np.frombuffer(bytes.fromhex(found.waves), dtype=">i4").astype(np.int64).reshape(9, 3)
    phases = (steps @ words[:, :2].T + words[:, 2]) % 2**32
    waves = found.cosines()
    angles = (steps + 0.5) * 2.0**-found.shift @ waves.frequencies.T + waves.offsets + math.pi / 2.0
    off = angles - (phases + 0.5) * (2.0 * math.pi / 2**32)
    assert np.abs(off - np.rint(off / (2.0 * math.pi)) * 2.0 * math.pi).max() < 1e-9
    assert (found.bits(steps * 2.0**-found.shift) == (phases < 2**31)).all()


def test_over_waves_it_is_the_kernel_and_g_has_its_second_moment() -> None:
    waves = 60_000
    found, distances = sampled(waves), np.array([0.0, 0.2, 0.5, 1.0, 3.0])
    x = np.array([[0.3, -0.4]])
    y = x + distances[:, np.newaxis] * np.array([[0.6, 0.8]])
    g = found.cosines().g(y)[:, :, 0] * (math.pi / 2.0 / math.sqrt(2.0))
    means = ((2.0 * found.bits(x) - 1.0) * g).mean(axis=1)
    assert np.abs(means - np.exp(-4.0 * distances**2)).max() < 6.0 * math.sqrt(SECOND_MOMENT / waves)
    assert np.abs((g**2).mean(axis=1) - SECOND_MOMENT).max() < 6.0 * math.pi**2 / 4.0 / math.sqrt(waves)


def test_what_a_lattice_moves_the_kernel_by_is_within_the_bias() -> None:
    """The steepest place of the kernel, by half a step in each coordinate."""
    found, dimension = sampled(dimension=3), 3
    half = 2.0**-found.shift / 2.0 * math.sqrt(dimension)
    steepest = math.sqrt(2.0 / math.e) / 0.5
    deviation = found.radians  # of a step's phase: rounding frequencies costs 1 / (12 e) of 1 / sigma^2 in parts
    parts = 2.0**32 / (2.0 * math.pi) * deviation
    assert half * steepest + 1.0 / (12.0 * math.e * parts**2) < found.bias


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"dimension": 0}, "dimension"),
        ({"classes": 0}, "classes"),
        ({"bandwidth": "0"}, "bandwidth"),
        ({"waves": ""}, "waves"),
        ({"waves": "0" * 25}, "waves"),
        ({"waves": "G" * 24}, "waves"),
        ({"shift": 3}, "points"),
    ],
)
def test_what_is_no_set_of_waves_is_refused(changed: dict[str, Any], said: str) -> None:
    settings = sampled(1).settings
    assert Signs.of(settings).settings == settings
    with pytest.raises(ValueError, match=said):
        Signs.of({**settings, **changed})


def test_points_out_of_reach_are_refused() -> None:
    found = sampled()
    limit = 2.0 ** (30 - found.shift)
    assert found.bits([[math.nextafter(limit, 0.0), -0.0]]).shape == (1, 40)
    with pytest.raises(ValueError, match="below 2"):
        found.bits([[limit, 0.0]])
