"""The pairs of Laplace noise against integrals of the densities and sums of the probabilities."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.laplace import binned_laplace, stepped_laplace


def profile(epsilon: float, at: float) -> float:
    """The divergence of continuous noise, in closed form: 1 - e^((at - epsilon) / 2) between both ends."""
    return -math.expm1(0.5 * (at - epsilon)) if at < epsilon else 0.0


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 3.0, 100.0])
@pytest.mark.parametrize("cells", [1, 2, 7, 512])
def test_continuous_noise_lies_between_the_bounds(epsilon: float, cells: int) -> None:
    above, below = stepped_laplace(epsilon, cells), binned_laplace(epsilon, cells)
    for share in (0.0, 0.31, 0.5, 0.77, 0.999):
        exact = profile(epsilon, share * epsilon)
        assert below.delta(share * epsilon).lower <= exact <= above.delta(share * epsilon).upper
        gap = above.delta(share * epsilon).upper - below.delta(share * epsilon).lower
        assert gap <= 0.3 * (epsilon / cells) * min(1.0, epsilon / cells) + 1e-12


@pytest.mark.parametrize(("epsilon", "steps"), [(0.9, 1), (0.9, 2), (2.5, 5)])
def test_discrete_noise_is_its_shift_by_all_steps(epsilon: float, steps: int) -> None:
    z = np.arange(-400, 401 + steps)
    decay = epsilon / steps
    laws = [math.tanh(decay / 2) * np.exp(-decay * np.abs(z - shift)) for shift in (0, steps)]
    found = stepped_laplace(epsilon, steps)
    for at in (0.0, 0.4 * epsilon, 0.95 * epsilon):
        exact = float(np.maximum(laws[0] - math.exp(at) * laws[1], 0.0).sum())
        assert exact == pytest.approx(found.delta(at).upper, rel=1e-9)
    for shift in range(1, steps):
        smaller = math.tanh(decay / 2) * np.exp(-decay * np.abs(z - shift))
        for p, q in ((laws[0], smaller), (smaller, laws[0])):
            assert float(np.maximum(p - math.exp(0.2) * q, 0.0).sum()) <= found.delta(0.2).upper


@pytest.mark.parametrize("epsilon", [1e-9, 0.3, 7.0, 600.0])
@pytest.mark.parametrize("cells", [1, 3, 4096])
def test_the_stated_errors_cover_the_roundings(epsilon: float, cells: int) -> None:
    with ctx.workprec(256):
        e = arb(epsilon)
        for pair, factor, edge in (
            (stepped_laplace(epsilon, cells), (e / (2 * cells)).tanh(), (1 + (e / (2 * cells)).tanh()) / 2),
            (binned_laplace(epsilon, cells), (e / (2 * cells)).sinh(), arb(1) / 2),
        ):
            assert_within(pair, e, factor, edge, cells)


def assert_within(pair: PrivacyLossDistribution, e: arb, factor: arb, edge: arb, cells: int) -> None:
    stepped = pair.losses.size == cells + 1
    for i in {0, 1, pair.losses.size // 2, pair.losses.size - 2, pair.losses.size - 1}:
        if i in (0, pair.losses.size - 1):
            share = Fraction(-1 if i == 0 else 1)
        else:
            share = Fraction(2 * i - cells, cells) if stepped else Fraction(2 * i - 1 - cells, cells)
        loss = e * share.numerator / share.denominator
        mass = factor * ((loss - e) / 2).exp()
        if i in (0, pair.losses.size - 1):
            mass = edge * ((loss - e) / 2).exp()
        assert abs(float(arb(float(pair.losses[i])) - loss)) <= pair.loss_error
        assert abs(float(arb(float(pair.masses[i])) / mass - 1)) <= pair.relative_error


def test_arguments_are_checked() -> None:
    for make in (stepped_laplace, binned_laplace):
        with pytest.raises(ValueError, match=r"^epsilon=0\.0 must be a finite number in \(0, 700\]\.$"):
            make(0.0, 3)
        with pytest.raises(ValueError, match=r"^steps=0 must be an integer in \[1, inf\)\.$"):
            make(1.0, 0)
