"""dp-accounting: distributions there and back, and calibration through its own interface."""

import math

import numpy as np
import pytest

dp_accounting = pytest.importorskip("dp_accounting", reason="the optional dependency dp-accounting is not installed")

from dpverify.claims.bitsum import BITSUM_CLAIMS  # noqa: E402
from dpverify.planning.account import account  # noqa: E402
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution  # noqa: E402
from dpverify.privacy_loss.losses.interop import (  # noqa: E402
    ShuffleAccountant,
    ShuffleEvent,
    from_dp_accounting,
    to_dp_accounting,
)
from dpverify.privacy_loss.losses.pairs import binomial_randomized_response, discrete_laplace, three_nb  # noqa: E402
from dpverify.privacy_loss.windows.grid import Bounds, connect_the_dots, dominating_grid  # noqa: E402
from dpverify.privacy_loss.windows.product import product  # noqa: E402
from dpverify.privacy_loss.windows.transform import Composition  # noqa: E402
from protocols.bitsum import ThreeNB  # noqa: E402


def event(p: float) -> ShuffleEvent:
    pairs = BITSUM_CLAIMS["3nb"].pairs(ThreeNB(1000, p, 20.0, 0.98))
    return ShuffleEvent(pairs.every, pairs.attained)


def test_exported_distribution_gives_the_same_numbers_there() -> None:
    up, down = binomial_randomized_response(30_000, 0.1)
    theirs = to_dp_accounting(down, up, 1e-4).self_compose(64)
    ours = max(Composition([(connect_the_dots(d, 1e-4), 64)]).epsilon(1e-6).upper for d in (up, down))
    assert theirs.get_epsilon_for_delta(1e-6) == pytest.approx(ours, rel=1e-6)


def test_round_trip_keeps_every_mass() -> None:
    directions = three_nb(0.9, 12.0, 0.9)
    back = from_dp_accounting(to_dp_accounting(directions.up, directions.down, 1e-3))
    for direction, grid in zip(directions, back, strict=True):
        original = connect_the_dots(direction, 1e-3)
        assert grid.masses.sum() == pytest.approx(original.masses.sum(), rel=1e-12)
        assert Composition([(grid, 5)]).delta(0.3).upper == pytest.approx(
            Composition([(original, 5)]).delta(0.3).upper, rel=1e-9
        )


def test_imported_distribution_can_be_composed_here() -> None:
    theirs = dp_accounting.pld.privacy_loss_distribution.from_gaussian_mechanism(
        30.0, value_discretization_interval=1e-4
    )
    remove, _ = from_dp_accounting(theirs)
    ours = Composition([(remove, 100)]).epsilon(1e-6).upper
    assert ours == pytest.approx(theirs.self_compose(100).get_epsilon_for_delta(1e-6), rel=1e-6)


def test_an_import_proves_what_it_was_made_for_only() -> None:
    def imported(pessimistic: bool) -> Composition:
        theirs = dp_accounting.pld.privacy_loss_distribution.from_laplace_mechanism(
            1.0, value_discretization_interval=0.2, use_connect_dots=False, pessimistic_estimate=pessimistic
        )
        return Composition([(from_dp_accounting(theirs)[0], 16)])

    # Between them lies the truth, so neither's interval may leave it out.
    upper, lower = imported(True).epsilon(1e-6), imported(False).epsilon(1e-6)
    assert upper.lower == 0.0
    assert lower.upper == math.inf
    assert 5.0 < lower.lower < upper.upper < 20.0
    above, below = imported(True).delta(1.0), imported(False).delta(1.0)
    assert (above.lower, below.upper) == (0.0, 1.0)
    assert 0.5 < below.lower < above.upper < 1.0
    assert imported(True).delta(-1.0).lower == pytest.approx(-math.expm1(-1.0), rel=1e-12)


def test_a_product_with_an_import_proves_no_more_than_it() -> None:
    theirs = dp_accounting.pld.privacy_loss_distribution.from_laplace_mechanism(
        1.0, value_discretization_interval=0.2, pessimistic_estimate=False
    )
    optimistic = from_dp_accounting(theirs)[0]
    ours = connect_the_dots(discrete_laplace(0.3).up, 0.2)
    assert product(optimistic, ours).bounds is product(ours, optimistic).bounds is Bounds.LOWER
    assert dominating_grid([optimistic, ours], 0.2).bounds is Bounds.NEITHER
    assert Composition([(optimistic, 2), (ours, 3)]).epsilon(1e-3).upper == math.inf


def test_an_export_keeps_the_error_of_its_losses() -> None:
    pair = PrivacyLossDistribution.from_atoms(np.array([-0.5, 0.5]), np.array([0.4, 0.6]), loss_error=0.02)
    theirs = to_dp_accounting(pair, pair, 0.01)
    for epsilon in (-0.3, 0.0, 0.2, 0.49, 0.505):
        assert theirs.get_delta_for_epsilon(epsilon) >= 0.6 * -math.expm1(epsilon - 0.52) > 0


def test_accountant_answers_like_account() -> None:
    accountant = ShuffleAccountant()
    accountant.compose(dp_accounting.SelfComposedDpEvent(event(0.9), 20))
    exact = account(ThreeNB(1000, 0.9, 20.0, 0.98), instances=20, delta=1e-6).epsilon
    assert exact.lower <= accountant.get_epsilon(1e-6) <= exact.upper * 1.001
    assert accountant.get_delta(exact.upper) <= 1e-6 * 1.01
    assert ShuffleAccountant().get_epsilon(1e-6) == 0.0


def test_different_events_add_up() -> None:
    accountant = ShuffleAccountant()
    accountant.compose(event(0.9), 10).compose(event(0.95), 10)
    worse, better = (ShuffleAccountant().compose(event(p), 20).get_epsilon(1e-6) for p in (0.9, 0.95))
    assert better < accountant.get_epsilon(1e-6) < worse


def test_other_events_are_refused() -> None:
    with pytest.raises(dp_accounting.UnsupportedEventError, match="ShuffleEvent only"):
        ShuffleAccountant().compose(dp_accounting.GaussianDpEvent(1.0))


def test_calibration_works_through_dp_accounting() -> None:
    p = dp_accounting.calibrate_dp_mechanism(
        lambda: ShuffleAccountant(1e-3),
        lambda p: dp_accounting.SelfComposedDpEvent(event(p), 16),
        1.0,
        1e-5,
        dp_accounting.ExplicitBracketInterval(0.5, 0.99),
        tol=1e-3,
    )
    assert account(ThreeNB(1000, p, 20.0, 0.98), instances=16, delta=1e-5).epsilon.upper <= 1.001
