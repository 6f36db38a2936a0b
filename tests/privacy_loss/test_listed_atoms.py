"""What a pair lists against the exact law, atom by atom: what is not listed is missing, and every error is stated."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, DiscreteLaplacePair, ThreeNBPair
from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses import pairs
from dpverify.privacy_loss.losses.blanket import report_in_blanket, report_in_view
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import bit_probability_change, erased
from dpverify.privacy_loss.losses.pairs import two_valued
from dpverify.privacy_loss.losses.renyi import renyi_divergence
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss
from dpverify.privacy_loss.windows.product import delta_of_two, product
from tests.privacy_loss.exact import decay

CUT: dict[str, Callable[[float], tuple[PrivacyLossDistribution, ...]]] = {
    "negative binomial": lambda tail: pairs.negative_binomial(30.0, 0.6, tail),
    "poisson": lambda tail: pairs.poisson(20.0, tail),
    "discrete gaussian": lambda tail: pairs.discrete_gaussian(5.0, tail),
    "randomized response": lambda tail: pairs.binomial_randomized_response(60, 0.3, tail),
    "all ones but one": lambda tail: pairs.mixed_reports(60, 59, 0.3, tail),
    "all zeros but one": lambda tail: pairs.mixed_reports(60, 0, 0.3, tail),
    "all coins but one": lambda tail: pairs.mixed_reports(60, 0, 0.3, tail, coins=59),
    "few of each": lambda tail: pairs.mixed_reports(40, 20, 0.4, tail, coins=6),
    "three noises": lambda tail: pairs.three_nb(0.7, 12.0, 0.7, tail),
    "three noises, a short flood": lambda tail: pairs.three_nb(0.95, 2.0, 0.2, tail),
    "three noises, a long flood": lambda tail: pairs.three_nb(0.1, 3.0, 0.98, tail),
    "a blanket": lambda tail: (report_in_blanket(80, 0.3, 0.6, 0.2, tail),),
    "a view": lambda tail: (report_in_view(80, 0.3, 0.6, 0.2, tail),),
    "erased": lambda tail: erased(pairs.poisson(20.0, tail), 0.2),
    "erased, of two tails": lambda tail: erased(pairs.discrete_gaussian(5.0, tail), 0.9),
    "a mixture": lambda tail: tuple(bit_probability_change(pair, 0.7, 0.2) for pair in pairs.poisson(20.0, tail)),
}


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("tail", [1e-1, 1e-2, 1e-4])
def test_what_is_not_listed_is_missing(name: str, tail: float) -> None:
    for pair in CUT[name](tail):
        listed = sum(map(Fraction, pair.masses.tolist()), Fraction(pair.infinite_mass))
        assert listed * (1 + Fraction(pair.relative_error)) + Fraction(pair.missing_mass) >= 1
        # And no more: what is cut at each side of each law, geometric series included, or all that it would matter to.
        assert pair.missing_mass <= (30.0 * tail if pair.losses.size else 1.0 + 30.0 * tail)


@pytest.mark.parametrize("tail", [1e-2, 1e-4, 1e-10])
@pytest.mark.parametrize(("p", "shape", "flood_p"), [(0.22, 0.19, 0.22), (0.6, 4.0, 0.9), (0.9, 30.0, 0.5)])
def test_three_noises_of_a_coarse_tail(p: float, shape: float, flood_p: float, tail: float) -> None:
    """Beyond the flood's window the loss is below -ln p, by what the window cuts."""
    for pair, direction in zip(pairs.three_nb(p, shape, flood_p, tail), Direction, strict=True):
        for epsilon in (-0.3, 0.0, 0.09, 0.3, -math.log(p) - 1e-3, -math.log(p) - 1e-12):
            exact = hockey_stick(ThreeNBPair(p, shape, flood_p), epsilon, direction)
            found = pair.delta(epsilon)
            assert found.lower <= exact.upper
            assert exact.lower <= found.upper


def test_the_masses_of_a_mixture_err_by_what_is_stated() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        rare, loss = float(10.0 ** rng.uniform(-290, -1)), float(rng.uniform(-600, 600))
        if not -640.0 < math.log(rare) - loss < -2.0:
            continue
        # The loss is exact: the Q-mass is rare e^-loss, to all digits.
        listed = PrivacyLossDistribution.from_atoms(np.array([loss, 0.001]), np.array([rare, 1.0 - rare]))
        for a, b in ((0.5, 0.0), (0.5, 1.0), (0.25, 0.75)):
            found = bit_probability_change(listed, a, b)
            with ctx.workprec(300):
                ratio = arb(loss).exp()
                mass = arb(rare) * (a + (1 - arb(a)) / ratio)
                exact = ((a * ratio + (1 - a)) / (b * ratio + (1 - b))).log()
                nearest = int(np.argmin(np.abs(found.losses - float(exact))))
                assert abs(arb(float(found.losses[nearest])) - exact) <= found.loss_error
                assert abs(arb(float(found.masses[nearest])) / mass - 1) <= found.relative_error
            assert found.relative_error < 1e-13


def test_renyi_charges_what_cancels_in_an_exponent() -> None:
    rng = np.random.default_rng(4)
    for _ in range(500):
        rare = float(10.0 ** rng.uniform(-250, -1))
        order = float(rng.uniform(1.2, 6.0))
        # (order - 1) L + ln m is about 0 at the rare atom: two large numbers cancel.
        loss = -math.log(rare) / (order - 1.0) * float(rng.uniform(0.98, 1.02))
        pair = PrivacyLossDistribution.from_atoms(np.array([loss, -0.1]), np.array([rare, 1.0 - rare]))
        with ctx.workprec(300):
            power = arb(order) - 1
            total = arb(rare) * (power * arb(loss)).exp() + arb(1.0 - rare) * (power * arb(-0.1)).exp()
            exact = total.log() / power
            found = renyi_divergence(pair, order)
            assert arb(found.lower) <= exact.max(arb(0))
            assert exact <= arb(found.upper)
        assert found.width <= 1e-11


@pytest.mark.parametrize("loss", [1.0, 300.0, 800.0, 1500.0])
def test_products_of_large_losses(loss: float) -> None:
    """Two reports that are told apart but for e^-loss: H at eps is 1 - 2/(1+e^-l) ..., without any overflow."""
    pair = PrivacyLossDistribution.from_atoms(np.array([-loss, loss]), np.array([1e-3, 1.0 - 1e-3]))
    for epsilon in (0.5 * loss, 2.0 * loss - 1.0, 2.0 * loss - 1e-3, 2.0 * loss):
        with ctx.workprec(300):
            masses = [(arb(1e-3), -arb(loss)), (arb(1.0 - 1e-3), arb(loss))]
            exact = sum(
                (m * n * (-(arb(epsilon) - k - other).expm1()).max(arb(0)) for m, k in masses for n, other in masses),
                arb(0),
            )
            found = delta_of_two(pair, pair, epsilon)
            assert arb(found.lower) <= exact
            assert exact <= arb(found.upper)
        assert found.width <= 1e-9


def test_a_product_of_grids_rounds_by_what_it_states() -> None:
    rng = np.random.default_rng(5)
    masses = [rng.dirichlet(np.ones(300)) for _ in range(2)]
    grids = [GridPrivacyLoss(0.1, np.arange(300), mass, 0.0, 0.0, 0.0, 0.0, 0.0) for mass in masses]
    found = product(*grids)
    first, second = ([Fraction(x) for x in mass.tolist()] for mass in masses)
    assert 0.0 < found.relative_error < 1e-12
    wrong = 0
    for cell in range(0, 599, 37):
        exact = sum((first[i] * second[cell - i] for i in range(max(0, cell - 299), min(cell, 299) + 1)), Fraction(0))
        error = abs(Fraction(float(found.masses[cell])) / exact - 1)
        assert error <= Fraction(found.relative_error)
        wrong += error > 0
    assert wrong > 5


def test_two_valued_charges_the_width_of_its_loss() -> None:
    for rate in (0.1, 1.0, 30.0):
        for low, high in ((rate, rate * 1.02), (rate * 0.98, rate)):
            found = two_valued(Interval(low, high))
            for epsilon in (0.0, 0.5 * rate, 0.97 * rate, 0.999 * rate, 1.01 * rate):
                exact = hockey_stick(DiscreteLaplacePair(decay(rate)), epsilon)
                assert found.delta(epsilon).lower <= exact.upper
                assert exact.lower <= found.delta(epsilon).upper


@pytest.mark.parametrize("epsilon", [720.0, 1e5])
def test_a_pure_pair_of_any_loss(epsilon: float) -> None:
    assert pairs.approximate_dp(epsilon, 0.25).delta(1.0).midpoint == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("p", "shape", "flood_p"), [(0.7, 12.0, 0.7), (0.95, 30.0, 0.4), (0.1, 3.0, 0.9)])
@pytest.mark.parametrize("negligible", [0.1, 1e-4])
def test_three_noises_miss_what_the_flood_is_cut_by(
    monkeypatch: pytest.MonkeyPatch, p: float, shape: float, flood_p: float, negligible: float
) -> None:
    """What the flood lacks counts as missing as a whole, wherever it would have been: beyond it only roundings."""
    monkeypatch.setattr(pairs, "_NEGLIGIBLE", negligible)
    for pair in pairs.three_nb(p, shape, flood_p, 0.3):
        assert float(pair.masses.sum()) * (1.0 + 1e-12) + pair.infinite_mass + pair.missing_mass >= 1.0
