"""dp-accounting: distributions there and back, and calibration through its own interface."""

from __future__ import annotations

import pytest

dp_accounting = pytest.importorskip("dp_accounting", reason="the optional dependency dp-accounting is not installed")

from dpverify.calibrate import account  # noqa: E402
from dpverify.claims.bitsum import BITSUM_CLAIMS  # noqa: E402
from dpverify.privacy_loss.compose import Composition  # noqa: E402
from dpverify.privacy_loss.grid import connect_the_dots  # noqa: E402
from dpverify.privacy_loss.interop import (  # noqa: E402
    ShuffleAccountant,
    ShuffleEvent,
    from_dp_accounting,
    to_dp_accounting,
)
from dpverify.privacy_loss.pairs import binomial_randomized_response, three_nb  # noqa: E402
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
