"""Composition with transforms that err by as much as their bound says, and with windows that fold mass over.

Real transforms err by 1e-16 and windows fold 1e-18: without these tests the charges for either could be left out.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverify.privacy_loss.losses.pairs import approximate_dp
from dpverify.privacy_loss.windows import tilting
from dpverify.privacy_loss.windows import transform as compose
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.exact import binomial_sum

LEVELS = (1e-3, 0.03)
"""The relative error of a transform in the 2-norm: small, and so large that it compounds over nine copies."""


def off(transform: Callable[..., Any], error: float) -> Callable[..., Any]:
    """Return a transform of sequences that are off by this error, spread evenly: what moves the total mass most."""

    def wrong(values: np.ndarray, *arguments: Any) -> np.ndarray:
        exact = transform(values, *arguments)
        if np.iscomplexobj(exact):  # forwards: an even error of the sequence is one of the first coefficient
            exact[0] += error * math.sqrt(values.size) * float(np.linalg.norm(values))
            return exact
        return exact + error * float(np.linalg.norm(exact)) / math.sqrt(exact.size)

    return wrong


@pytest.mark.parametrize("count", [1, 9])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("level", LEVELS)
def test_transforms_are_charged_forwards_and_backwards(
    monkeypatch: pytest.MonkeyPatch, count: int, sign: float, level: float
) -> None:
    for module in (compose, tilting):
        monkeypatch.setattr(module, "fft_error", lambda length: level)
    for name in ("rfft", "irfft"):
        monkeypatch.setattr(np.fft, name, off(getattr(np.fft, name), sign * 0.9 * level))
    found = Composition([(connect_the_dots(approximate_dp(1.0, 0.0), 1.0), count)])
    # Below every loss, and inside the window of 64 cells, the divergence is 1 - e^epsilon.
    for epsilon in (-20.0, -15.0, -11.0):
        interval = found.delta(epsilon)
        assert interval.lower <= -math.expm1(epsilon) <= interval.upper
    for epsilon in (0.0, 0.5):
        interval = found.delta(epsilon)
        assert interval.lower <= float(binomial_sum(count, 1.0, epsilon)) <= interval.upper


@pytest.mark.long
@pytest.mark.parametrize("alias", [1e-4, 1e-2, 0.1])
@pytest.mark.parametrize("count", [300, 700])
def test_what_folds_over_is_charged(monkeypatch: pytest.MonkeyPatch, alias: float, count: int) -> None:
    monkeypatch.setattr(compose, "_LOG_ALIAS", math.log(alias))
    epsilon0 = 0.05
    found = Composition([(connect_the_dots(approximate_dp(epsilon0, 0.0), epsilon0), count)])
    for epsilon in (-2.0, 0.0, 1.0, 3.0, 6.0):
        interval, truth = found.delta(epsilon), float(binomial_sum(count, epsilon0, epsilon))
        assert interval.lower <= truth * (1 + 1e-13)
        assert truth * (1 - 1e-13) <= interval.upper


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("count", [60, 3000])
def test_the_rounding_of_phases_is_charged(monkeypatch: pytest.MonkeyPatch, count: int, sign: float) -> None:
    """Ten units of each phase are in the masses' error by themselves, whatever else an answer is charged with."""
    unit, length = 1e-9, 128
    exact = np.angle
    composed = Composition([(connect_the_dots(approximate_dp(20.0, 0.0), 20.0), count)])
    masses, _, _ = composed._convolve(0.0, count - length // 2, length)
    monkeypatch.setattr(compose, "UNIT", unit)
    monkeypatch.setattr(np, "angle", lambda values: exact(values) * (1.0 + sign * 10.0 * unit))
    moved, error, _ = composed._convolve(0.0, count - length // 2, length)
    assert 1e-3 * error < float(np.linalg.norm(moved - masses)) <= error
