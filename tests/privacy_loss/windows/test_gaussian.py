"""The Gaussian privacy loss: enclosures against mpmath, and the grid against the closed form."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import GaussianPair
from dpverify.privacy_loss.losses.pairs import discrete_gaussian
from dpverify.privacy_loss.windows.gaussian import DiscreteNoiseCurve, GaussianPrivacyLoss
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.transform import Composition


def reference(mu: float, count: int, epsilon: float) -> mp.mpf:
    total = mp.mpf(mu) * mp.sqrt(count)
    return mp.ncdf(total / 2 - epsilon / total) - mp.exp(epsilon) * mp.ncdf(-total / 2 - epsilon / total)


@given(st.floats(0.01, 3), st.integers(1, 1000), st.floats(-3, 40))
def test_closed_form_contains_the_high_precision_value(mu: float, count: int, epsilon: float) -> None:
    with mp.workdps(80):
        exact = reference(mu, count, epsilon)
        found = GaussianPrivacyLoss(mu).composed(count).delta(epsilon)
        assert found.lower <= exact <= found.upper
        assert found.width <= 1e-11 * found.upper or found.upper < 1e-290


@pytest.mark.parametrize("delta", [1e-3, 1e-11, 1e-15, 1e-30])
def test_many_fold_engine_contains_the_truth_far_beyond_where_others_stop(delta: float) -> None:
    # sigma = 70, 768-fold: floating-point accountants go below the truth from 1e-11 on.
    law = GaussianPrivacyLoss(1 / 70)
    exact = law.composed(768).epsilon(delta)
    assert exact.width <= 1e-11 * exact.upper
    found = Composition([(law.on_grid(2e-5), 768)]).delta(exact.upper)
    with mp.workdps(60):
        truth = reference(1 / 70, 768, exact.upper)
    assert found.lower <= truth <= found.upper
    assert found.width <= 1e-3 * found.upper


@settings(max_examples=25, deadline=None)
@given(st.floats(0.02, 2), st.sampled_from([0.3, 1.0, 3.0]), st.floats(-1, 4))
def test_grid_contains_the_closed_form_at_any_resolution(mu: float, ratio: float, deviations: float) -> None:
    # Steps from a third of a standard deviation to three: panels within cells keep the quadrature exact.
    epsilon = mu * mu / 2 + deviations * mu
    found = Composition([(GaussianPrivacyLoss(mu).on_grid(mu * ratio), 1)]).delta(epsilon)
    exact = GaussianPrivacyLoss(mu).delta(epsilon)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper


@pytest.mark.parametrize(
    ("mu", "step", "tail"),
    [(300.0, 10.0, 1e-60), (50.0, 3.0, 1e-60), (0.1, 10.0, 1e-60), (1.0, 1.0, 1e-290), (3, 0.5, 0.01)],
)
def test_the_grid_errs_by_no_more_than_it_states(mu: float, step: float, tail: float) -> None:
    law, grid = GaussianPrivacyLoss(mu), GaussianPrivacyLoss(mu).on_grid(step, tail)
    first, last = int(grid.indices[0]), int(grid.indices[-1])
    assert grid.relative_error < 1e-11
    profile = grid.profile(first, last)
    for cell in np.linspace(first, last, 40).astype(int):
        exact, found = law.delta(cell * step), float(profile[cell - first])
        rounding = 2.0 * profile.size * 2.0**-53
        assert found * (1.0 - grid.relative_error - rounding) <= exact.upper
        assert exact.lower <= found * (1.0 + grid.relative_error + rounding) + grid.missing_mass


def test_a_grid_of_too_many_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^mu=1000000\.0 on a grid of step=1\.0 needs more than \d+ nodes\.$"):
        GaussianPrivacyLoss(1e6).on_grid(1.0)


def test_certificate_agrees() -> None:
    for epsilon in (-0.5, 0.0, 1.0, 5.0):
        enclosure = hockey_stick(GaussianPair("2"), epsilon)
        found = GaussianPrivacyLoss(0.5).delta(epsilon)
        assert found.lower <= enclosure.upper
        assert enclosure.lower <= found.upper


def test_composes_with_other_laws() -> None:
    # A wide discrete Gaussian is nearly the continuous one: 10 + 10 of both against 20 of the latter.
    gaussian, discrete = GaussianPrivacyLoss(1 / 20), discrete_gaussian(20.0)
    mixed = Composition([(gaussian.on_grid(1e-4), 10), (connect_the_dots(discrete.up, 1e-4), 10)]).epsilon(1e-5)
    assert mixed.midpoint == pytest.approx(gaussian.composed(20).epsilon(1e-5).midpoint, rel=1e-4)


def test_bad_input_is_refused() -> None:
    for mu in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="mu="):
            GaussianPrivacyLoss(mu)
    with pytest.raises(ValueError, match="instances=0"):
        GaussianPrivacyLoss(1.0).composed(0)
    with pytest.raises(ValueError, match="step=-1"):
        GaussianPrivacyLoss(1.0).on_grid(-1.0)


def test_a_delta_without_a_tight_enclosure_ends() -> None:
    # Below 1e-300 the lower bound of the divergence is 0, so epsilon's lower end has to go back to where it is not.
    found = GaussianPrivacyLoss(1.0).composed(1).epsilon(1e-305)
    assert 0.98 * found.upper < found.lower < found.upper


@pytest.mark.parametrize("mu", [50.0, 2500.0, 1e200])
def test_a_delta_next_to_1_is_no_more(mu: float) -> None:
    found = GaussianPrivacyLoss(mu).delta(0.0)
    assert 1.0 - 1e-11 <= found.lower <= found.upper <= 1.0


@pytest.mark.parametrize("epsilon", [1e5, 1e17, 1e300])
def test_a_delta_falls_to_the_end_of_the_floats(epsilon: float) -> None:
    assert GaussianPrivacyLoss(1.0).delta(epsilon).upper <= GaussianPrivacyLoss(1.0).delta(50.0).upper


@pytest.mark.parametrize("mu", [1e-3, 0.5, 3.0, 20.0])
def test_listed_pairs_are_below_and_above_the_law(mu: float) -> None:
    law = GaussianPrivacyLoss(mu)
    below, above = law.binned(), law.dominating()
    assert below is not None
    for place in (-3.0, -0.5, 0.3, 2.0, 5.0):
        epsilon = 0.5 * mu * mu + place * mu
        exact = law.delta(epsilon)
        assert below.delta(epsilon).lower <= exact.upper <= above.delta(epsilon).upper * (1.0 + 1e-12)
        room = max(-math.expm1(epsilon), 0.0)
        for pair in (below, above):
            assert pair.delta(epsilon).midpoint - room == pytest.approx(exact.midpoint - room, rel=0.02)


def test_noise_far_below_one_is_not_binned() -> None:
    assert GaussianPrivacyLoss(100.0).binned() is None


@pytest.mark.parametrize(
    ("sigma", "instances"), [(3.0, 1), (3.7, 2), (3.0, 4), pytest.param(5.2, 3, marks=pytest.mark.long)]
)
def test_sums_of_discrete_normal_noise_have_the_law_of_one(sigma: float, instances: int) -> None:
    with mp.workdps(60):
        places = range(-int(18 * sigma), int(18 * sigma) + 1)
        one = [mp.exp(-(mp.mpf(z) ** 2) / (2 * mp.mpf(sigma) ** 2)) for z in places]
        law = one = [mass / sum(one) for mass in one]
        for _ in range(instances - 1):
            total = [mp.mpf(0)] * (len(law) + len(one) - 1)
            for i, mass in enumerate(law):
                for j, other in enumerate(one):
                    total[i + j] += mass * other
            law = total
        first, second = [mp.mpf(0)] * instances + law, law + [mp.mpf(0)] * instances
        for epsilon in (-0.3, 0.0, 0.01, 0.3, 1.3, 3.5):
            pairs = zip(first, second, strict=True)
            exact = sum(max(mine - mp.exp(epsilon) * other, 0) for mine, other in pairs)
            found = DiscreteNoiseCurve(sigma, instances).delta(epsilon)
            # What lies beyond 18 sigma is left out of the reference.
            assert found.lower - 1e-60 <= exact <= found.upper + 1e-60
            assert found.lower > 0.5 * exact or exact < 1e-3


def test_wide_discrete_noise_agrees_with_the_engine() -> None:
    closed = DiscreteNoiseCurve(2000.0, 100).epsilon(1e-6)
    grid = connect_the_dots(discrete_gaussian(2000.0).up, 1e-7)
    listed = Composition([(grid, 100)]).epsilon(1e-6)
    assert closed.lower <= listed.upper
    assert listed.lower <= closed.upper
    assert closed.width <= 1e-5 * closed.upper
