"""Entries of a schedule, as they are given."""

from typing import Any

import pytest

import dpverify
from dpverify.planning.schedules.day import Day, days_of
from protocols.bitsum import RandomizedResponse
from protocols.local.labels import LabelRandomizedResponse

RR = RandomizedResponse(9, 0.25)


def test_entries_are_days_in_their_order() -> None:
    assert days_of([RR, (RR, 3), (RR, 2, 5), Day(RR, 1, 4)]) == (Day(RR), Day(RR, 3), Day(RR, 2, 5), Day(RR, 1, 4))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ((RR, 0), r"instances=0 must be an integer in \[1, inf\)"),
        ((RR, 1, 10), r"honest=10 must be an integer in \[1, 9\]"),
        ((RR, 1, 2, 3), r"^schedule\[0\]=.* must be \(protocol, instances\) or \(protocol, instances, honest\)"),
        ((LabelRandomizedResponse(3, 1.0), 1, 2), r"honest=2 must be omitted: .* is private without other users"),
    ],
)
def test_what_is_no_entry_is_refused(entry: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        days_of([entry])


def test_an_event_is_the_days_of_its_steps() -> None:
    events = pytest.importorskip("dp_accounting")
    training = events.SelfComposedDpEvent(events.PoissonSampledDpEvent(0.1, events.GaussianDpEvent(1.0)), 5)
    counted = events.ComposedDpEvent([training, events.LaplaceDpEvent(3.0)])
    step = dpverify.NoisyStep(1.0, 0.1)
    laplace = dpverify.NoisyStep(3.0, law="laplace")  # type: ignore[arg-type]
    assert days_of([(counted, 2), RR]) == (Day(step, 10), Day(laplace, 2), Day(RR))
    assert days_of([training]) == (Day(step, 5),)
