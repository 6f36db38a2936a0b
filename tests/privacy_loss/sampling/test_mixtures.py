"""Mixtures of Gaussians: against divergences in Arb, and that both ends meet where what they rest on is exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb

from dpverify.formulas.contexts import arb_context
from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.sampling import mixtures
from dpverify.privacy_loss.sampling.mixtures import MixedNoise


def normal(x: arb) -> arb:
    """Return the mass of a standard normal law above x."""
    return (x / arb(2).sqrt()).erfc() / 2


def divergences(deviation: float, places: list[float], weights: list[float], epsilon: float) -> tuple[arb, arb]:
    """Return those of removal and of adding: where the ratio crosses e^epsilon, the masses beyond."""
    moves = [arb(place) / arb(deviation) for place in places]
    a = arb(epsilon).exp()

    def excess(y: arb) -> arb:
        terms = ((arb(w) * (c * y - c * c / 2).exp()) for c, w in zip(moves, weights, strict=True))
        return sum(terms, arb(0)) - a

    low, high = arb(-60), arb(60)
    if excess(low) > 0:
        return 1 - a, arb(0)
    for _ in range(200):
        middle = (low + high) / 2
        middle = middle.mid()
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    y = (low + high) / 2
    there = sum((arb(w) * normal(y - c) for c, w in zip(moves, weights, strict=True)), arb(0))
    remove = there - a * normal(y)  # of P and of P0, with H(P0 || P) at -epsilon
    return remove, remove - 1 + a


@pytest.mark.parametrize(
    ("deviation", "places", "weights"),
    [(2.0, [0.0, 1.0, 2.0], [0.75, 0.125, 0.125]), (0.3, [0.5, 1.0], [0.5, 0.5]), (40.0, [0.0, 1.0], [0.9375, 0.0625])],
)
@pytest.mark.parametrize("coarse", [False, True])
def test_both_ends_hold(
    deviation: float, places: list[float], weights: list[float], coarse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if coarse:
        monkeypatch.setattr(mixtures, "_PER_DEVIATION", 3)
    noise = MixedNoise(deviation, places, weights, 1e-30)
    above, below = noise.above(), noise.below()
    apart = 0.0
    with arb_context(320):
        for share in (-0.6, 0.05, 0.9, 4.0):
            epsilon = share * max(places) / deviation
            remove, add = divergences(deviation, places, weights, epsilon)
            # Adding, at -epsilon: H(P0 || P) = 1 - e^-eps' ... by the same crossing.
            add = add / arb(epsilon).exp()
            for law, own, truth, at in ((above.up, below.up, remove, epsilon), (above.down, below.down, add, -epsilon)):
                upper, lower = law.delta(at).upper, own.delta(at).lower
                assert arb(lower) <= truth * (1 + arb(1e-13)) + arb(1e-28)
                assert truth <= arb(upper)
                apart = max(apart, upper - lower)
    assert (1e-5 if coarse else 0.0) < apart < (0.1 if coarse else 1e-4)


def test_a_sum_that_moves_to_the_other_side() -> None:
    noise = MixedNoise(1.5, [0.0, 1.0], [0.5, 0.5], 1e-20)
    found = noise.opposite()
    y = np.linspace(-20.0, 20.0, 400_001)
    laws = [0.5 * np.exp(-0.5 * (y / 1.5) ** 2) + 0.5 * np.exp(-0.5 * ((y - at) / 1.5) ** 2) for at in (1.0, -1.0)]
    for epsilon in (0.0, 0.4):
        truth = np.maximum(laws[0] - math.exp(epsilon) * laws[1], 0.0).sum() * 1e-4 / (1.5 * math.sqrt(2.0 * math.pi))
        assert found.delta(epsilon).lower <= truth + 1e-9
        assert found.delta(epsilon).lower >= truth * (1.0 - 1e-3)


def test_tails_are_missing_and_what_floats_do_not_hold_is_refused() -> None:
    found = MixedNoise(1.0, [0.0, 1.0], [0.5, 0.5], 1e-3)
    end = math.sqrt(2.0 * math.log(2e3)) + 1.0
    gone, there = math.erfc(end / math.sqrt(2.0)), 0.25 * math.erfc((end - 1.0) / math.sqrt(2.0))
    assert gone * (1.0 - 1e-12) <= found.above().down.missing_mass <= 1.01 * gone
    assert there * (1.0 - 1e-12) <= found.above().up.missing_mass <= 1e-3
    assert found.below().up.missing_mass >= there * (1.0 - 1e-12)
    with pytest.raises(CapacityError, match=r"^moves of 100 deviations have losses of"):
        MixedNoise(0.01, [1.0], [1.0], 1e-9)
    with pytest.raises(CapacityError, match=r"^100 places on"):
        MixedNoise(1.0, [16.0] * 100, [0.01] * 100, 1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixtures, "_BITS", 60)
        with pytest.raises(CapacityError, match=r"^60 bits are not enough"):
            MixedNoise(1.0, [1e-9], [1.0], 1e-9).above()
