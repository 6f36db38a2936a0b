"""dp-accounting's events: its numbers beside ours, for each adjacency, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

dp_accounting = pytest.importorskip("dp_accounting", reason="the optional dependency dp-accounting is not installed")

from dp_accounting import dp_event  # noqa: E402
from dp_accounting.pld import PLDAccountant  # noqa: E402

import dpverify  # noqa: E402
from dpverify.planning.steps.events import is_event, steps_of_event  # noqa: E402
from dpverify.planning.steps.listed import ResponseStep  # noqa: E402
from dpverify.planning.steps.step import NoisyStep, Step  # noqa: E402

RELATIONS = {
    "add-remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
    "zero-out": dp_accounting.NeighboringRelation.REPLACE_SPECIAL,
    "replace-one": dp_accounting.NeighboringRelation.REPLACE_ONE,
}
SAMPLED = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(1.0))
COVERED: list[tuple[str, Any]] = [
    ("add-remove", dp_event.SelfComposedDpEvent(SAMPLED, 100)),
    ("zero-out", dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(2.0)), 100)),
    ("zero-out", dp_event.ComposedDpEvent([SAMPLED, dp_event.GaussianDpEvent(3.0), dp_event.LaplaceDpEvent(2.0)])),
    ("add-remove", dp_event.SelfComposedDpEvent(dp_event.DiscreteLaplaceDpEvent(0.1, 3), 20)),
    ("replace-one", dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(9.0), 30)),
    ("replace-one", dp_event.SelfComposedDpEvent(SAMPLED, 50)),
    ("replace-one", dp_event.ComposedDpEvent([dp_event.RandomizedResponseDpEvent(0.5, 5)] * 4)),
]


@pytest.mark.parametrize(("adjacency", "event"), COVERED)
def test_its_numbers_are_next_to_ours(adjacency: str, event: Any) -> None:
    theirs = PLDAccountant(RELATIONS[adjacency]).compose(event).get_epsilon(1e-4)
    ours = dpverify.account(event, delta=1e-4, adjacency=adjacency, relative_width=1e-4)
    assert ours.epsilon.lower * (1.0 - 1e-6) <= theirs <= ours.epsilon.upper * (1.0 + 1e-3)
    assert ours.guarantee.adjacency.value == adjacency


def test_its_accountant_takes_many_answers_for_one() -> None:
    # dp-accounting 0.6.0 forgets how often randomized response is composed with itself.
    event = dp_event.RandomizedResponseDpEvent(0.5, 2)
    theirs = PLDAccountant(RELATIONS["replace-one"]).compose(dp_event.SelfComposedDpEvent(event, 20)).get_epsilon(1e-6)
    ours = dpverify.account(dp_event.SelfComposedDpEvent(event, 20), delta=1e-6, adjacency="replace-one")
    assert theirs < 1.1
    assert ours.epsilon.lower > 19.0


def test_an_event_is_read_part_by_part() -> None:
    event = dp_event.ComposedDpEvent(
        [
            dp_event.SelfComposedDpEvent(dp_event.ComposedDpEvent([SAMPLED, dp_event.NoOpDpEvent()]), 7),
            dp_event.PoissonSampledDpEvent(0.0, dp_event.GaussianDpEvent(1.0)),
            dp_event.RandomizedResponseDpEvent(1.0, 3),
            dp_event.RandomizedResponseDpEvent(0.5, 3),
        ]
    )
    assert is_event(event)
    assert not is_event(NoisyStep(1.0))
    expected: list[tuple[Step, int]] = [(NoisyStep(1.0, 0.1), 7), (ResponseStep(0.5, 3), 1)]
    assert steps_of_event(event) == expected


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (dp_event.NonPrivateDpEvent(), "NonPrivateDpEvent is not covered: it is not private at all"),
        (dp_event.SampledWithoutReplacementDpEvent(9, 3, SAMPLED.event), "SampledWithoutReplacementDpEvent is not"),
        (dp_event.ZCDpEvent(0.1), "ZCDpEvent is not covered: it says nothing but Renyi"),
        (
            dp_event.PoissonSampledDpEvent(0.1, dp_event.SelfComposedDpEvent(SAMPLED, 2)),
            "PoissonSampledDpEvent of SelfComposedDpEvent is not covered: no pair",
        ),
        (dp_event.NoOpDpEvent(), r"NoOpDpEvent\(\) must hold at least one step"),
    ],
)
def test_what_is_not_covered_is_refused_by_name(event: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^event={words}"):
        dpverify.account(event, delta=1e-5)
    with pytest.raises(ValueError, match=r"^noise=0\.0 must be"):
        dpverify.account(dp_event.GaussianDpEvent(0.0), delta=1e-5)
