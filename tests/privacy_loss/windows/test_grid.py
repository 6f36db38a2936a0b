"""Connect-the-dots dominates, is exact at grid points, and the supremum dominates every member."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.two_valued import TwoValuedCurve
from dpverify.privacy_loss.windows.contour_composition import ContourComposition
from dpverify.privacy_loss.windows.grid import Bounds, GridPrivacyLoss, connect_the_dots, dominating_grid
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth

MASSES = np.array([1.0, np.exp(0.1)]) / (1.0 + np.exp(0.1))
STEPS = st.sampled_from([1e-3, 0.01, 0.1, 0.7])


def upper(grid: GridPrivacyLoss, epsilon: float) -> float:
    """Return the grid's own upper bound, summed directly: independent of `profile`."""
    gap = epsilon - grid.loss_error - grid.losses
    finite = float(np.sum(grid.masses * np.maximum(-np.expm1(gap), 0.0)))
    return (finite * (1 + grid.relative_error + 1e-13)) + grid.unbounded_mass


@given(rational_pairs(), STEPS, st.integers(-20, 20))
def test_connect_the_dots_is_exact_at_grid_points_and_keeps_both_masses(
    pair: RationalPair, step: float, index: int
) -> None:
    distribution, exact = floats(pair), truth([pair], [1], index * step)
    grid = connect_the_dots(distribution, step)
    assert upper(grid, index * step) == pytest.approx(float(exact.upper), abs=1e-12)
    assert grid.masses.sum() == pytest.approx(distribution.masses.sum(), rel=1e-12)
    q_mass = np.sum(distribution.masses * np.exp(-distribution.losses))
    assert np.sum(grid.masses * np.exp(-grid.losses)) == pytest.approx(q_mass, rel=1e-11)


def test_connect_the_dots_charges_its_rounding() -> None:
    rng = np.random.default_rng(7)
    losses, step = np.sort(rng.uniform(0.0, 0.5, 300)), 0.1
    pair = PrivacyLossDistribution.from_atoms(losses, np.full(300, 1.0 / 300.0))
    grid = connect_the_dots(pair, step)
    with mp.workdps(40):
        width = mp.mpf(step)
        exact = dict.fromkeys(map(int, grid.indices), mp.mpf(0))
        for loss, mass in zip(map(mp.mpf, pair.losses), map(mp.mpf, pair.masses), strict=True):
            below = int(mp.floor(loss / width))
            up = mp.expm1(width * below - loss) / mp.expm1(-width)
            exact[below] += mass * (1 - up)
            exact[below + 1] += mass * up
        off = [abs(mp.mpf(m) / exact[int(i)] - 1) for i, m in zip(grid.indices, grid.masses, strict=True)]
    assert pair.relative_error < max(off) <= grid.relative_error


@given(st.lists(rational_pairs(), min_size=1, max_size=4), STEPS, st.floats(-6, 6))
def test_the_dots_of_a_pair_and_a_supremum_dominate(pairs: list[RationalPair], step: float, epsilon: float) -> None:
    supremum = dominating_grid([floats(pair) for pair in pairs], step)
    for pair in pairs:
        for grid in (connect_the_dots(floats(pair), step), supremum):
            assert truth([pair], [1], epsilon).lower <= upper(grid, epsilon)


@given(st.lists(rational_pairs(), min_size=2, max_size=4), STEPS, st.integers(-10, 10))
def test_supremum_is_no_larger_than_it_must_be(pairs: list[RationalPair], step: float, index: int) -> None:
    # Infinite masses are charged as their maximum, apart from the finite parts: compare those.
    members = [connect_the_dots(floats(pair), step) for pair in pairs]
    grid = dominating_grid(members, step)
    finite = max(float(member.profile(index, index)[0]) for member in members)
    assert float(grid.profile(index, index)[0]) * (1 + grid.relative_error) <= finite * (1 + 1e-8) + 1e-8


def finite(pair: PrivacyLossDistribution | GridPrivacyLoss, epsilon: float) -> float:
    return float(np.sum(pair.masses * np.maximum(-np.expm1(epsilon - pair.losses), 0.0)))


@pytest.mark.parametrize("epsilon", [-700.0, -5.0, -1.0, -0.11, -0.05, 0.0, 0.5, 2.0])
def test_supremum_dominates_finite_parts_of_different_mass_left_of_the_grid(epsilon: float) -> None:
    # Half of the one is infinite, the rest far to the right: it is the larger one at all grid points from 0 on.
    first = PrivacyLossDistribution(np.array([2.0]), np.array([0.5]), 0.5)
    second = PrivacyLossDistribution(np.array([0.0]), np.array([1.0]))
    grid = dominating_grid([first, second], 0.1)
    assert grid.masses.sum() <= 1.0 + 1e-12
    for pair in (first, second):
        assert finite(pair, epsilon) <= finite(grid, epsilon) * (1.0 + grid.relative_error)


@given(st.lists(rational_pairs(4), min_size=2, max_size=3), STEPS, st.integers(-40, 10))
def test_supremum_dominates_every_finite_part(pairs: list[RationalPair], step: float, index: int) -> None:
    members = [connect_the_dots(floats(pair), step) for pair in pairs]
    grid = dominating_grid(members, step)
    assert max(finite(member, index * step) for member in members) <= finite(grid, index * step) * (1.0 + 1e-11)


def test_steps_below_the_resolution_of_floats_are_refused() -> None:
    pair = PrivacyLossDistribution(np.array([-1.0, 1.0]), np.array([0.3, 0.7]))
    with pytest.raises(ValueError, match=r"step=1e-18 must be above 4\.44e-16"):
        connect_the_dots(pair, 1e-18)


def test_profile_agrees_with_the_direct_sum() -> None:
    rng = np.random.default_rng(5)
    p, q = rng.dirichlet(np.ones(40)), rng.dirichlet(np.ones(40))
    grid = connect_the_dots(PrivacyLossDistribution.from_pmfs(p, q), 0.01)
    direct = [float(np.sum(grid.masses * np.maximum(-np.expm1(i * 0.01 - grid.losses), 0))) for i in range(-50, 50)]
    np.testing.assert_allclose(grid.profile(-50, 49), direct, rtol=1e-12, atol=1e-15)


def test_bad_input_is_refused() -> None:
    pair = PrivacyLossDistribution(np.array([0.0]), np.array([1.0]))
    with pytest.raises(ValueError, match="step=0"):
        connect_the_dots(pair, 0.0)
    with pytest.raises(ValueError, match="pairs is empty"):
        dominating_grid([], 0.1)
    far = PrivacyLossDistribution(np.array([-700.0, 700.0]), np.array([1e-300, 1.0]))
    with pytest.raises(ValueError, match="grid cells"):
        dominating_grid([far, pair], 1e-6)


@given(
    st.lists(st.tuples(st.floats(1e-3, 1.0), st.floats(-1.0, 1.0)), min_size=2, max_size=8),
    st.sampled_from([1e-12, 1e-3, 0.3]),
    st.floats(-30.0, 30.0),
)
def test_a_capped_grid_dominates_all_that_its_errors_allow(
    atoms: list[tuple[float, float]], error: float, epsilon: float
) -> None:
    # True masses of sum 1, listed with errors at will; `epsilon` is in steps.
    true, off = (np.array(column) for column in zip(*atoms, strict=True))
    true /= true.sum()
    indices = np.arange(true.size, dtype=np.int64) - 3
    listed = GridPrivacyLoss(0.1, indices, true * (1.0 + error * off), 0.0, 0.0, error, 0.0, 0.1)
    capped = listed.capped()
    exact = float(np.sum(true * np.maximum(-np.expm1(0.1 * (epsilon - indices)), 0.0)))
    assert exact <= finite(capped, 0.1 * epsilon) * (1.0 + 1e-14)
    assert capped.masses.sum() <= 1.0 + 2e-9 * error / (1.0 - error) + 1e-14
    assert capped.relative_error == 0.0
    assert capped.bounds is Bounds.UPPER


def test_many_copies_of_a_capped_grid_count_its_error_as_what_it_moves() -> None:
    listed = connect_the_dots(PrivacyLossDistribution(np.array([-0.1, 0.1]), MASSES, relative_error=1e-6), 0.1)
    upper, capped = (ContourComposition([(grid, 10**7)]).epsilon(1e-6).upper for grid in (listed, listed.capped()))
    exact = TwoValuedCurve(Interval(0.1, 0.1), 10**7).epsilon(1e-6)
    assert exact.lower <= capped <= 1.0001 * exact.upper
    assert upper > capped


def test_a_capped_grid_keeps_what_is_or_may_be_infinite() -> None:
    grid = GridPrivacyLoss(0.1, np.array([0]), np.array([0.5]), 0.25, 0.125, 0.1, 0.0, 0.0)
    assert grid.capped().missing_mass >= 0.25 * 1.1 + 0.125
