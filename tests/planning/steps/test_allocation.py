"""Passes by random allocation: beside steps that are known, and what is refused."""

from __future__ import annotations

import itertools
import math

import pytest

import dpverify
import dpverify.cli
from dpverify.planning.steps.step import Steps
from tests.cli.words import Run, runner


def test_a_pass_of_one_step_is_that_step() -> None:
    found, step = (
        dpverify.account(each, instances=3, delta="1e-6", relative_width=1e-4).epsilon
        for each in (dpverify.RandomAllocation(2.0, 1), dpverify.NoisyStep(2.0))
    )
    assert found.lower <= step.upper <= found.upper * (1.0 + 1e-9)
    assert found.width <= 1e-4 * found.upper


def test_one_of_four_steps_costs_less_than_one_chosen_in_public_and_more_than_the_sum() -> None:
    allocated, one, four = (
        Steps([(step, 1)]).curve().epsilon(1e-5)
        for step in (
            dpverify.RandomAllocation(1.0, 4),
            dpverify.NoisyStep(1.0),  # who sees the step in which the record is
            dpverify.NoisyStep(2.0),  # who sees the sum of all steps, of four times the variance
        )
    )
    assert four.upper < allocated.lower <= allocated.upper < one.lower
    assert allocated.width <= 1e-4 * allocated.upper


def test_passes_compose_with_other_steps_and_say_what_is_assumed() -> None:
    passes = dpverify.RandomAllocation(1.0, 4, law="laplace")  # type: ignore[arg-type]
    found = dpverify.account([(passes, 2), (dpverify.NoisyStep(3.0, 0.1), 5)], delta="1e-5", adjacency="zero-out")
    alone = dpverify.account(passes, instances=2, delta="1e-5")
    assert alone.epsilon.upper < found.epsilon.lower
    assert found.notes[1].startswith("random allocation is assumed: in every pass each record is in exactly as many of")
    assert "which is a share 0.25 of them" in found.notes[1]
    assert passes.largest_loss(alone.guarantee.adjacency).upper == pytest.approx(1.0)
    assert dpverify.account(passes, delta=0).epsilon.upper == pytest.approx(1.0)
    assert str(passes) == "laplace noise of 1, 4 steps with each record in one of them"


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"steps=0 must be an integer in \[1, 1e\+06\]"):
        dpverify.RandomAllocation(1.0, 0)
    with pytest.raises(ValueError, match=r"noise=1e-160 must be a finite number in \[1e-100, 1e\+150\]"):
        dpverify.RandomAllocation(1e-160, 2)
    little = dpverify.account(dpverify.RandomAllocation(0.001, 2, "laplace"), delta="1e-6")
    assert little.epsilon.upper == pytest.approx(1000.0)  # the losses are too large for lists: who is told the step
    assert "has losses of 1000, and floats hold up to 700" in little.notes[-1]
    with pytest.raises(ValueError, match=r"sampling='random-allocation' is of many steps together"):
        dpverify.NoisyStep(1.0, 0.1, sampling="random-allocation")  # type: ignore[arg-type]


@pytest.mark.long
def test_simpler_steps_hold_where_they_are_sharper_or_nothing_else_does() -> None:
    # In each of the steps: that is all of them.
    all_of_them = dpverify.RandomAllocation(3.0, 4, chosen=4)
    assert all_of_them.told == all_of_them.summed == (dpverify.NoisyStep(3.0), 4)
    found, plain = (
        dpverify.account(step, instances=count, delta="1e-5").epsilon
        for step, count in ((all_of_them, 1), (dpverify.NoisyStep(3.0), 4))
    )
    assert found == plain
    # Losses that no list holds, and a delta below what lists leave out: who is told the step, who sees the sum.
    little = dpverify.account(dpverify.RandomAllocation(0.05, 4), delta="1e-5")
    assert little.notes[1].startswith("left out: one step has losses of")
    one, four = (dpverify.account(dpverify.NoisyStep(noise), delta="1e-5").epsilon for noise in (0.05, 0.1))
    assert little.epsilon.upper == one.upper
    assert 0.0 <= four.lower - little.epsilon.lower < 1e-9 * four.lower
    rare = dpverify.account(dpverify.RandomAllocation(100.0, 4), instances=1_000, delta="1e-300").epsilon
    assert 5.0 < rare.lower < rare.upper < 11.73
    # Beside other steps these stay, and of Laplace noise the sum has another law.
    numbers = dpverify.RandomAllocation(0.5, 4, law="laplace", chosen=3)  # type: ignore[arg-type]
    assert numbers.summed is None
    assert numbers.told == (dpverify.NoisyStep(0.5, law="laplace"), 3)  # type: ignore[arg-type]
    beside, told = (
        dpverify.account([passes, dpverify.NoisyStep(9.0)], delta="1e-20", relative_width=0.01).epsilon
        for passes in ((numbers, 2), (numbers.told[0], 6))
    )
    assert 0.0 < beside.upper <= told.upper < math.inf


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    run: Run = runner(capsys)
    words = "account steps --noise 2 --steps 3 --passes 2 --sampling random-allocation --delta 1e-5"
    made = dpverify.account(dpverify.RandomAllocation(2.0, 3), instances=2, delta="1e-5")
    assert run(*words.split(), "--json") == made.to_dict()
    assert str(made).startswith("2 passes of 3 noisy steps, add-remove")
    mixed = dpverify.account([(dpverify.RandomAllocation(2.0, 1), 1), (dpverify.NoisyStep(2.0), 5)], delta="1e-5")
    assert str(mixed).startswith("5 noisy steps, 1 pass of 1 noisy step, add-remove")
    wrongs = {
        f"{words} --rate .1": "--rate=0.1 must be left out",
        "account steps --noise 1 --passes 2 --delta 1e-5": "--passes=2 must be 1",
        "account steps --noise 1 --chosen 2 --delta 1e-5": "--chosen=2 must be 1",
        f"{words} --chosen 4": "--chosen=4 must be at most --steps=3",
    }
    for wrong, said in wrongs.items():
        assert dpverify.cli.main(wrong.split()) == 2
        assert capsys.readouterr().err.startswith(said)


def test_several_of_the_steps() -> None:
    found = dpverify.account(dpverify.RandomAllocation(2.0, 9, chosen=2), delta="1e-5", relative_width=1e-3)
    parts = [(dpverify.RandomAllocation(2.0, steps), 1) for steps in (4, 5)]
    assert found.epsilon.upper == pytest.approx(dpverify.account(parts, delta="1e-5").epsilon.upper, rel=1e-3)
    assert 0.0 < found.epsilon.width < 0.1 * found.epsilon.upper
    assert "9 steps with each record in 2 of them" in str(found)
    laplace = dpverify.RandomAllocation(1.0, 4, law="laplace", chosen=3)  # type: ignore[arg-type]
    assert dpverify.account(laplace, delta=0).epsilon.upper == pytest.approx(3.0)


@pytest.mark.long
def test_more_steps_reveal_less() -> None:
    found = [Steps([(dpverify.RandomAllocation(1.0, steps), 1)]).curve().epsilon(1e-6) for steps in (1, 2, 3, 7, 8)]
    assert all(after.upper < before.lower for before, after in itertools.pairwise(found))
    assert math.isfinite(found[0].upper)


def test_a_record_that_is_replaced() -> None:
    both = dpverify.account(dpverify.RandomAllocation(2.0, 2), delta="1e-6", adjacency="replace-one").epsilon
    # Two steps have the pair of both records in either: integrated apart from all this, below.
    assert both.lower <= 3.4 <= both.upper
    assert both.width < 0.06 * both.upper
    gone = dpverify.account(dpverify.RandomAllocation(2.0, 2), delta="1e-6").epsilon
    told = dpverify.account(dpverify.NoisyStep(2.0), delta="1e-6", adjacency="replace-one").epsilon
    assert gone.upper < both.lower < both.upper < told.lower
    numbers = dpverify.RandomAllocation(2.0, 3, law="laplace")  # type: ignore[arg-type]
    passes = dpverify.account(numbers, instances=2, delta="1e-5", adjacency="replace-one").epsilon
    assert 0.0 < passes.width < 0.2 * passes.upper
    # Beside a protocol, which a record that comes has none of.
    days = [(dpverify.RandomizedResponse(9, 0.5 - 1e-9), 1), (numbers, 2)]
    beside = dpverify.account(days, delta="1e-5", adjacency="replace-one").epsilon
    assert beside.upper == pytest.approx(passes.upper, rel=1e-3)


@pytest.mark.parametrize(
    ("noise", "law", "steps", "chosen", "adjacency"),
    [
        (0.2, "gaussian", 21, 20, "replace-one"),  # masses without the record are no floats, which count with it
        (0.05, "laplace", 21, 20, "replace-one"),
        (0.0266, "laplace", 70, 64, "replace-one"),  # the least ratio is 0
        (0.0266, "laplace", 21, 20, "add-remove"),
    ],
)
def test_groups_of_steps_of_losses_beyond_floats_leave_the_answer_to_simpler_steps(
    noise: float, law: str, steps: int, chosen: int, adjacency: str
) -> None:
    allocated = dpverify.RandomAllocation(noise, steps, law, chosen)  # type: ignore[arg-type]
    step = dpverify.NoisyStep(noise, law=law)  # type: ignore[arg-type]
    found, told = (
        dpverify.account(each, instances=times, delta="1e-7", adjacency=adjacency, relative_width=1e-3).epsilon
        for each, times in ((allocated, 1), (step, chosen))
    )
    assert found.lower <= told.upper
    assert found.upper == pytest.approx(told.upper, rel=1e-3)
