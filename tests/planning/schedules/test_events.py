"""dp-accounting's events: there and back, and the same numbers on both sides."""

from typing import Any

import pytest

dp_accounting = pytest.importorskip("dp_accounting", reason="the optional dependency dp-accounting is not installed")

from dp_accounting.pld import PLDAccountant  # noqa: E402
from dp_accounting.rdp import RdpAccountant  # noqa: E402

from dpverify.planning.account import account  # noqa: E402
from dpverify.planning.schedules.events import from_event, to_event  # noqa: E402
from dpverify.planning.schedules.schedule import Day  # noqa: E402
from dpverify.privacy_loss.losses.interop import ShuffleAccountant  # noqa: E402
from protocols.bitsum import CentralGaussian, NegativeBinomial, RandomizedResponse  # noqa: E402

REPLACED = dp_accounting.NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize(
    "days",
    [
        [Day(CentralGaussian(1, 7.5), 3), Day(CentralGaussian(1, 0.1), 1)],
        [Day(RandomizedResponse(200, 0.25), 2), Day(NegativeBinomial(9, 40.0, 0.9), 5)],
        [Day(RandomizedResponse(200, 0.25), 1)],
    ],
)
def test_what_is_exported_is_read_back(days: list[Day]) -> None:
    assert from_event(to_event(days)) == tuple(days)


def test_repetitions_within_repetitions_multiply_and_an_event_is_of_all_users() -> None:
    twice = dp_accounting.SelfComposedDpEvent(
        dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(20.0), 3), 4
    )
    assert from_event(twice) == (Day(CentralGaussian(1, 10.0), 12),)
    with pytest.raises(ValueError, match=r"^honest=5 must be omitted"):
        to_event([(RandomizedResponse(9, 0.25), 1, 5)])


def test_a_gaussian_event_is_the_same_mechanism_on_both_sides() -> None:
    event = dp_accounting.ComposedDpEvent(
        [dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(20.0), 30), dp_accounting.GaussianDpEvent(8.0)]
    )
    ours = account(list(from_event(event)), delta=1e-6).epsilon
    theirs = PLDAccountant(REPLACED).compose(event).get_epsilon(1e-6)
    assert ours.upper == pytest.approx(theirs, rel=2e-3)
    exported = to_event([(CentralGaussian(9, 10.0), 30), (CentralGaussian(9, 4.0), 1)])
    assert PLDAccountant(REPLACED).compose(exported).get_epsilon(1e-6) == pytest.approx(theirs, rel=1e-12)


def test_other_protocols_are_accounted_by_our_accountant_there() -> None:
    days = [(NegativeBinomial(9, 40.0, 0.9), 5), (NegativeBinomial(9, 80.0, 0.9), 2)]
    theirs = ShuffleAccountant().compose(to_event(days)).get_epsilon(1e-6)
    assert account(days, delta=1e-6).epsilon.lower <= theirs
    assert theirs == pytest.approx(account(days, delta=1e-6).epsilon.upper, rel=1e-2)


@pytest.mark.parametrize(
    "event",
    [
        dp_accounting.LaplaceDpEvent(1.0),
        dp_accounting.NonPrivateDpEvent(),
        dp_accounting.GaussianDpEvent(0.0),
        dp_accounting.ComposedDpEvent([dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(1.0))]),
    ],
)
def test_what_is_not_exact_is_not_translated(event: Any) -> None:
    with pytest.raises(ValueError, match="no other is translated exactly"):
        from_event(event)


def test_nothing_is_no_schedule() -> None:
    with pytest.raises(ValueError, match="schedule is empty"):
        from_event(dp_accounting.NoOpDpEvent())


def test_moments_elsewhere_take_no_heed_of_what_is_replaced() -> None:
    """Why the page on spending warns: once this fails, the warning can go."""
    event = to_event([(CentralGaussian(9, 1.0), 1)])
    theirs = RdpAccountant(neighboring_relation=REPLACED).compose(event).get_epsilon(1e-6)
    assert theirs < 0.5 * account(CentralGaussian(9, 1.0), delta=1e-6).epsilon.lower
