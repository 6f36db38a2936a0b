"""The product of two pairs, against the grid engine and against direct enumeration."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import negative_binomial, three_nb
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, connect_the_dots
from dpverify.privacy_loss.windows.product import delta_of_two, listed_product, product
from dpverify.privacy_loss.windows.step import choose_step
from dpverify.privacy_loss.windows.transform import Composition


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.4, 1.5])
def test_product_is_the_enumerated_one(epsilon: float) -> None:
    rng = np.random.default_rng(1)
    laws = [rng.dirichlet(np.ones(5)) for _ in range(4)]
    laws[1][0] = 0.0  # an infinite loss in the first pair
    laws[1] /= laws[1].sum()
    pairs = [PrivacyLossDistribution.from_pmfs(laws[2 * i], laws[2 * i + 1]) for i in range(2)]
    joint = np.outer(laws[0], laws[2]) - math.exp(epsilon) * np.outer(laws[1], laws[3])
    found = delta_of_two(*pairs, epsilon)
    truth = float(np.maximum(joint, 0.0).sum())
    assert found.lower - 1e-15 <= truth <= found.upper + 1e-15
    assert found.width < 1e-13


@pytest.mark.parametrize("directions", [negative_binomial(20.0, 0.85), three_nb(0.8, 9.0, 0.9)])
def test_product_agrees_with_the_engine(directions: tuple[PrivacyLossDistribution, PrivacyLossDistribution]) -> None:
    step = min(choose_step(pair, 2) for pair in directions)
    engine = Composition([(connect_the_dots(pair, step), 1) for pair in directions])
    for epsilon in (0.2, 0.6, 1.0):
        first, second = delta_of_two(*directions, epsilon), engine.delta(epsilon)
        assert first.lower <= second.upper
        assert second.lower <= first.upper
        assert first.width <= 1e-9 * first.upper


def test_rare_infinite_losses_are_not_lost_by_cancellation() -> None:
    # 1 - (1 - a)(1 - b) is 0 in floats for a = b = 1e-20.
    pair = PrivacyLossDistribution.from_atoms(np.array([0.0]), np.array([1.0]), 1e-20)
    grid = connect_the_dots(pair, 0.1)
    assert product(grid, grid).infinite_mass == pytest.approx(2e-20, rel=1e-12)
    assert delta_of_two(pair, pair, 1.0).lower == pytest.approx(2e-20, rel=1e-12)


def test_rounding_is_charged_where_the_two_sides_cancel() -> None:
    # Losses of 1e-9: the sums of P-mass and Q-mass agree to nine digits, and their difference keeps seven at most.
    rng = np.random.default_rng(1)
    masses, losses = rng.dirichlet(np.ones(100_000)), np.sort(rng.uniform(-1e-9, 1e-9, 100_000))
    many = PrivacyLossDistribution.from_atoms(losses, masses)
    one = PrivacyLossDistribution.from_atoms(np.array([0.0]), np.array([1.0]))
    for epsilon in (0.0, 3e-10, 8e-10):
        truth = math.fsum(many.masses * np.maximum(-np.expm1(epsilon - many.losses), 0.0))
        for first, second in ((one, many), (many, one)):
            found = delta_of_two(first, second, epsilon)
            assert found.lower <= truth <= found.upper


def test_the_stated_error_of_a_product_covers_its_rounding() -> None:
    rng = np.random.default_rng(2)
    for size, other in ((3, 40), (200, 300)):
        laws = [rng.dirichlet(np.ones(cells)) for cells in (size, other)]
        grids = [GridPrivacyLoss(0.1, np.arange(law.size), law, 0.0, 0.0, 0.0, 0.0, 0.0) for law in laws]
        found = product(*grids)
        exact = [Fraction(0)] * (size + other - 1)
        left, right = ([Fraction(mass) for mass in law.tolist()] for law in laws)
        for (i, mass), (j, factor) in itertools.product(enumerate(left), enumerate(right)):
            exact[i + j] += mass * factor
        worst = max(abs(Fraction(mass) / truth - 1) for mass, truth in zip(found.masses.tolist(), exact, strict=True))
        assert 0 < worst <= Fraction(found.relative_error)


def test_a_product_without_any_finite_loss_is_all_unbounded() -> None:
    none = GridPrivacyLoss(0.1, np.zeros(0, dtype=np.int64), np.zeros(0), 0.25, 0.75, 0.0, 0.0, 0.0)
    some = GridPrivacyLoss(0.1, np.array([3, 5]), np.array([0.5, 0.5]), 0.0, 0.0, 0.0, 0.0, 0.0)
    for found in (product(none, some), product(some, none), product(none, none)):
        assert found.masses.size == found.indices.size == 0
        assert found.unbounded_mass >= 1.0


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.4, 1.5])
def test_the_listed_product_has_all_errors_of_both(epsilon: float) -> None:
    rng = np.random.default_rng(2)
    laws = [rng.dirichlet(np.ones(4)) for _ in range(4)]
    laws[1][0], laws[3][2] = 0.0, 0.0
    laws[1], laws[3] = laws[1] / laws[1].sum(), laws[3] / laws[3].sum()
    first, second = (PrivacyLossDistribution.from_pmfs(laws[2 * i], laws[2 * i + 1]) for i in range(2))
    joint = np.outer(laws[0], laws[2]) - math.exp(epsilon) * np.outer(laws[1], laws[3])
    found, truth = listed_product(first, second).delta(epsilon), float(np.maximum(joint, 0.0).sum())
    assert found.lower - 1e-15 <= truth <= found.upper + 1e-15
    assert found.width < 1e-13
    # What is charged of either is charged of both.
    vague = replace(first, missing_mass=0.01, relative_error=0.02, loss_error=0.03)
    both = listed_product(vague, vague)
    assert both.missing_mass >= 0.02
    assert both.relative_error >= 0.0404
    assert both.loss_error >= 0.06


def test_errors_of_either_factor_are_errors_of_the_product() -> None:
    grids = [
        connect_the_dots(PrivacyLossDistribution(np.array([-0.5, 0.5]), np.array([0.4, 0.6]), **errors), 0.1)
        for errors in ({}, {"relative_error": 0.1, "loss_error": 0.2, "missing_mass": 0.01})
    ]
    for both in (product(*grids), product(*grids[::-1])):
        assert both.relative_error >= grids[1].relative_error >= 0.1
        assert both.loss_error >= 0.2
        assert both.missing_mass >= 0.01
    assert product(grids[1], grids[1]).relative_error >= 0.21


def test_errors_of_both_pairs_widen_their_product() -> None:
    # One atom each, so that the largest product that the errors allow is known.
    listed = np.ones(1), np.ones(1)
    for errors in itertools.product(({"relative_error": 0.1}, {"loss_error": 0.1}, {}), repeat=2):
        first, second = (PrivacyLossDistribution.from_atoms(*listed, **error) for error in errors)
        kept = math.prod(1.0 - error.get("relative_error", 0.0) for error in errors)
        moved = sum(error.get("loss_error", 0.0) for error in errors)
        found = delta_of_two(first, second, 1.5)
        assert found.upper >= -1.0 / kept * math.expm1(1.5 - 2.0 - moved) * (1.0 - 1e-14)
        assert found.lower <= -kept * math.expm1(1.5 - 2.0 + moved) * (1.0 + 1e-14)
