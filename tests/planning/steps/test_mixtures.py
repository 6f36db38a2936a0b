"""Steps that move a sum by a random amount: beside sampled noise, which is one, and what is refused."""

from __future__ import annotations

import pytest

import dpverify


@pytest.mark.parametrize("adjacency", ["add-remove", "zero-out", "replace-one"])
def test_sampled_noise_is_a_mixture(adjacency: str) -> None:
    mixed, sampled = (
        dpverify.account(step, instances=100, delta="1e-6", adjacency=adjacency, relative_width=1e-3).epsilon
        for step in (dpverify.MixtureStep(1.0, [0, 1], [0.99, 0.01]), dpverify.NoisyStep(1.0, 0.01))  # type: ignore[arg-type]
    )
    assert mixed.lower <= sampled.upper
    assert sampled.lower <= mixed.upper
    assert mixed.width <= 2e-3 * mixed.upper


def test_steps_and_what_is_refused() -> None:
    step = dpverify.MixtureStep(2.0, [0, 1, 2], [0.81, 0.18, 0.01])  # type: ignore[arg-type]
    assert step.rate == pytest.approx(0.19)
    found = dpverify.account([(step, 2), dpverify.NoisyStep(5.0)], delta="1e-5", relative_width=1e-2)
    assert "each record takes part with probability 0.19" in found.notes[0]
    assert str(step) == "gaussian noise of 2 on moves of 0, 1, 2, at random"
    for moves, weights, error in (
        ([0.0], [1.0], r"^moves=\(0.0,\) must be 1 to 100 numbers, one of them positive"),
        ([1.0, 2.0], [1.0], r"and weights as many, not 1\.$"),
        ([-1.0], [1.0], r"^moves=-1.0 must be"),
        ([1.0], [0.5], r"^weights must have the sum 1, not 0.5"),
    ):
        with pytest.raises(ValueError, match=error):
            dpverify.MixtureStep(1.0, moves, weights)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^moves=1.0 must be a sequence of numbers"):
        dpverify.MixtureStep(1.0, 1.0, [1.0])  # type: ignore[arg-type]
