"""dp-accounting's events: its numbers beside ours, for each adjacency, and what is refused."""

from fractions import Fraction
from typing import Any

import pytest

dp_accounting = pytest.importorskip("dp_accounting", reason="the optional dependency dp-accounting is not installed")

from dp_accounting import dp_event  # noqa: E402
from dp_accounting.pld import PLDAccountant  # noqa: E402
from dp_accounting.rdp import RdpAccountant  # noqa: E402

import dpverify  # noqa: E402
from dpverify.planning.steps.events import is_event, steps_of_event  # noqa: E402
from dpverify.planning.steps.listed import ResponseStep  # noqa: E402
from dpverify.planning.steps.renyi import ConcentratedStep  # noqa: E402
from dpverify.planning.steps.sampling import Sampling  # noqa: E402
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


@pytest.mark.long
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


def test_batches_and_concentrated_events() -> None:
    event = dp_event.ComposedDpEvent(
        [
            dp_event.SelfComposedDpEvent(dp_event.SampledWithoutReplacementDpEvent(9, 3, SAMPLED.event), 4),
            dp_event.SampledWithoutReplacementDpEvent(9, 0, SAMPLED.event),
            dp_event.ZCDpEvent(0.1, 0.02),
        ]
    )
    ((batches, count), (known, once)) = steps_of_event(event)
    assert (count, once) == (4, 1)
    assert isinstance(batches, NoisyStep)
    assert batches == NoisyStep(1.0, batches.rate, sampling=Sampling.FIXED_SIZE)
    assert 0 < Fraction(batches.rate) - Fraction(1, 3) < Fraction(1, 10**16)
    assert known == ConcentratedStep(0.1, 0.02)
    with pytest.raises(ValueError, match=r"^sample_size=9 must be an integer in \[1, 8\]"):
        dpverify.account(dp_event.SampledWithoutReplacementDpEvent(9, 9, SAMPLED.event), delta=1e-5)


def test_replacing_a_record_of_a_batch_beside_its_renyi_accountant() -> None:
    # dp-accounting 0.6.0 takes noise relative to the change by a replaced record there, and to one record's norm in its
    # accountant of losses, as we do. Its bound, of Renyi divergences alone, is above ours.
    def batches(noise: float) -> Any:
        of_ten = dp_event.SampledWithoutReplacementDpEvent(1000, 10, dp_event.GaussianDpEvent(noise))
        return dp_event.SelfComposedDpEvent(of_ten, 500)

    theirs = RdpAccountant(neighboring_relation=RELATIONS["replace-one"]).compose(batches(2.0)).get_epsilon(1e-5)
    ours = dpverify.account(batches(4.0), delta=1e-5, adjacency="replace-one", relative_width=1e-3)
    assert ours.epsilon.lower < ours.epsilon.upper < theirs
    concentrated = dp_event.SelfComposedDpEvent(dp_event.ZCDpEvent(0.01), 30)
    theirs = RdpAccountant(neighboring_relation=RELATIONS["replace-one"]).compose(concentrated).get_epsilon(1e-5)
    found = dpverify.account(concentrated, delta=1e-5, adjacency="replace-one").epsilon
    assert found.lower == 0.0
    assert 0.98 * theirs < found.upper <= theirs * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (dp_event.NonPrivateDpEvent(), "NonPrivateDpEvent is not covered: it is not private at all"),
        (
            dp_event.SampledWithoutReplacementDpEvent(9, 3, dp_event.ZCDpEvent(0.1)),
            "SampledWithoutReplacementDpEvent of ZCDpEvent is not covered: no pair",
        ),
        (dp_event.SampledWithReplacementDpEvent(9, 3, SAMPLED.event), "SampledWithReplacementDpEvent is not covered"),
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


def test_mixtures_of_gaussians_are_steps_without_what_never_happens() -> None:
    mixed = dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 3.0], [0.75, 0.25, 0.0])
    assert steps_of_event(mixed) == [(dpverify.MixtureStep(2.0, (0.0, 1.0), (0.75, 0.25)), 1)]
    nothing = dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0], [1.0])
    with pytest.raises(ValueError, match="must hold at least one step"):
        steps_of_event(nothing)
