"""Mixes on grids: steps that suit the accuracy, exact mixes within, and constants that may cost width but no truth."""

import itertools
import math
from typing import Any

import pytest

from dpverify.privacy_loss.composing import grid_mixes
from dpverify.privacy_loss.composing.grid_mixes import GridMixes, Steps, choose_steps, few_blocks, level_above
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import negative_binomial, three_nb
from dpverify.privacy_loss.windows import step
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.composing.test_any_mix import FLAT, RARE, STEEP, mixed, mixes

GROUPS = ([FLAT, RARE], [STEEP])


def largest(groups: tuple[list[PrivacyLossDistribution], ...], instances: int, epsilon: float) -> float:
    parts = [(one, other) for one in groups[0] for other in groups[1]]
    return max(
        mixed([one] * m + [other] * (instances - m), epsilon) for one, other in parts for m in range(instances + 1)
    )


def test_contours_are_for_losses_that_no_window_resolves() -> None:
    groups = [[pair] for pair in negative_binomial(40.0, 0.8)]
    every = [pair for group in groups for pair in group]
    # Cells wider than a hundredth of one loss's deviation, and as narrow as was asked.
    for instances, width in ((16, 1e-3), (768, 1e-4), (768, 1e-6)):
        assert not choose_steps(groups, every, instances, width, 1e-4).along_contours
    assert choose_steps(groups, every, 10**7, 1e-6, 1e-5).along_contours


@pytest.mark.parametrize("factor", [0.25, 4.0])
@pytest.mark.parametrize("name", ["_CUT", "_FINER", "_USELESS", "_CELLS_PER_DEVIATION", "_NEXT_TO_NOTHING"])
def test_constants_cost_time_or_width_and_never_truth(
    monkeypatch: pytest.MonkeyPatch, name: str, factor: float
) -> None:
    module = step if name == "_CUT" else grid_mixes
    monkeypatch.setattr(module, name, getattr(module, name) * factor)
    steps = choose_steps(GROUPS, [FLAT, STEEP], 4, 1e-4, 1e-3)
    found = GridMixes(GROUPS, [FLAT, STEEP], 4, steps, 1e-4, 1e-3)
    for epsilon in (0.0, 0.3, 1.2, 2.5):
        exact = largest(GROUPS, 4, epsilon)
        assert exact <= found.upper_delta(epsilon, 1.0) * (1.0 + 1e-12)
        assert found.lower_delta(epsilon) <= max(mixed([one] * 4, epsilon) for one in (FLAT, STEEP)) * (1.0 + 1e-9)
        if epsilon >= 0.0 and 1e-6 < exact < 1.0:
            assert found.upper_epsilon(exact * (1.0 - 1e-6)) >= epsilon


EARLY = PrivacyLossDistribution.from_pmfs([0.04, 0.96], [0.14, 0.86])
LATE = PrivacyLossDistribution.from_pmfs([0.1, 0.9], [0.04, 0.96])
"""Of five instances two with the first and three with the second are worse by half than either in all, at 0.7."""


def check(groups: tuple[list[PrivacyLossDistribution], ...], steps: Steps, gap: float, delta: float) -> None:
    """No exact mix of five exceeds what is found at any epsilon, nor at its own divergence."""
    found = GridMixes(groups, [EARLY, LATE], 5, steps, gap, delta)
    for epsilon in (0.3, 0.5, 0.7, 0.9):
        exact = max(mixed(mix, epsilon) for mix in mixes([pair for group in groups for pair in group], 5))
        assert exact <= found.upper_delta(epsilon, 1.0)
        assert epsilon <= found.upper_epsilon(exact * (1.0 - 1e-6))


@pytest.mark.long
@pytest.mark.parametrize("groups", [([EARLY], [LATE]), ([LATE], [EARLY])])
@pytest.mark.parametrize("gap", [1e-4, 0.1, 0.4, 0.7, 2.0])
@pytest.mark.parametrize("along_contours", [False, True])
def test_a_mix_that_is_worse_than_both_ends_is_bounded(
    groups: tuple[list[PrivacyLossDistribution], ...], gap: float, along_contours: bool
) -> None:
    # Whatever the gap, which every way out of the search has to add to the ends.
    check(groups, Steps(0.01, 0.01, along_contours=along_contours), gap, 0.1)


@pytest.mark.parametrize("groups", [([EARLY], [LATE]), ([LATE], [EARLY])])
@pytest.mark.parametrize("cut", [1, 4])
def test_every_block_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, groups: tuple[list[PrivacyLossDistribution], ...], cut: int
) -> None:
    monkeypatch.setattr(grid_mixes, "few_blocks", lambda *_: ([(0, cut), (cut, 5)], 1e-4))
    check(groups, Steps(0.01, 0.01), 1e-4, 0.1)


@pytest.mark.parametrize("block", [(0, 2), (1, 3), (2, 3), (2, 4), (3, 5)])
def test_a_block_is_above_all_its_mixes(monkeypatch: pytest.MonkeyPatch, block: tuple[int, int]) -> None:
    # That would be hidden by its halves, which are looked at where it is not.
    monkeypatch.setattr(grid_mixes, "few_blocks", lambda *_: ([block], 1e-4))
    monkeypatch.setattr(grid_mixes, "level_above", lambda level, blocks, exceeds, reached: reached(blocks[0]))
    found = GridMixes(([EARLY], [LATE]), [EARLY, LATE], 5, Steps(0.01, 0.01), 1e-4, 0.1)
    for epsilon in (0.3, 0.7, 0.9):
        exact = max(mixed([EARLY] * m + [LATE] * (5 - m), epsilon) for m in range(block[0], block[1] + 1))
        assert exact <= found.upper_delta(epsilon, 1.0)


@pytest.mark.parametrize("place", range(3))
def test_of_three_groups_each_counts(place: int) -> None:
    groups = [[EARLY], [EARLY]]
    groups.insert(place, [STEEP])
    check(tuple(groups), Steps(0.02, 0.02), 1e-4, 0.1)


def test_a_smaller_delta_is_trimmed_less() -> None:
    found = GridMixes([[RARE]], [RARE], 4, choose_steps([[RARE]], [RARE], 4, 1e-4, 0.5), 1e-4, 0.5)
    for delta in (0.1, 1e-9, 1e-12):
        upper = found.upper_epsilon(delta)
        assert mixed([RARE] * 4, upper * (1.0 + 1e-9)) <= delta
    assert upper > 11.0


def test_given_steps_are_kept() -> None:
    steps = Steps(0.5, 0.5, chosen=False)
    assert steps.trimmed([RARE], 1.0) == [RARE]
    assert Steps(0.5, 0.5).trimmed([RARE], 1e-3)[0].missing_mass > 0.0
    assert GridMixes([[RARE]], [RARE], 4, steps, 1e-4, 1e-3).upper_epsilon(1e-6) < math.inf


def test_blocks_cover_every_mix_and_are_few() -> None:
    for gap in (1e-1, 1e-4, 1e-9):
        blocks, reached = few_blocks(768, [0.011, 0.013, 0.015], 20.0, gap)
        assert blocks[0][0] == 0
        assert blocks[-1][1] == 768
        assert all(first[1] == second[0] for first, second in itertools.pairwise(blocks))
        assert len(blocks) <= 48
        assert reached >= gap
    assert few_blocks(5, [0.2, 0.2, 0.2], 1.0, 1e-3) == ([(0, 5)], 1e-3)


def test_a_level_is_raised_to_what_some_mix_reaches() -> None:
    # Mix 5 of 0 to 8 reaches 2, and a block with it looks as large as 3 while it is wide.
    def reached(block: tuple[int, int]) -> float:
        low, high = block
        return 0.0 if not low <= 5 <= high else 2.0 if low == high else 3.0

    assert level_above(1.0, [(0, 8)], lambda block, level: reached(block) > level, reached) == 2.0
    assert level_above(2.5, [(0, 4), (4, 8)], lambda block, level: reached(block) > level, reached) == 2.5
    assert level_above(1.0, [(0, 4)], lambda block, level: reached(block) > level, reached) == 1.0


@pytest.mark.parametrize("worst", range(10))
def test_no_half_of_a_block_is_left_unproved(worst: int) -> None:
    # One mix is worse than all others, wherever it is; a block exceeds a level if any of its mixes does.
    found = level_above(
        1.0,
        [(0, 4), (4, 9)],
        lambda block, level: block[0] <= worst <= block[1] and level < 8.0,
        lambda block: 12.0,
    )
    assert found == 12.0


def test_a_grid_ends_where_the_losses_do() -> None:
    # A step off that once cost a hundredth of epsilon, at a width of 3e-4, however large the flood.
    pair = three_nb(0.7111798, 14.0, 0.998, 1e-19).up
    steps = choose_steps([[pair]], [pair], 4, 3e-4, 1.2e-9)
    coarse = GridMixes([[pair]], [pair], 4, steps, 1e-4, 1.2e-9).upper_epsilon(1.2e-9)
    fine = GridMixes([[pair]], [pair], 4, Steps(steps.mixed / 100.0, steps.mixed / 100.0), 1e-4, 1.2e-9)
    assert fine.lower_epsilon(1.2e-9)[0] <= coarse <= 4.0 * pair.losses[-1] * (1.0 + 1e-9)
    assert coarse <= 1.004 * fine.upper_epsilon(1.2e-9)


def test_what_dominates_and_is_attained_is_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, transform = list[float](), Composition._transform

    def counted(self: Composition, tilt: float) -> Any:
        made.append(tilt)
        return transform(self, tilt)

    monkeypatch.setattr(Composition, "_transform", counted)
    pair = negative_binomial(20.0, 0.5)[:1]
    grids = GridMixes([pair], pair, 8, Steps(1e-3, 1e-3), 1e-4, 1e-6)
    assert grids.lower_epsilon(1e-6)[0] <= grids.upper_epsilon(1e-6)
    assert len(made) == len(set(made))
