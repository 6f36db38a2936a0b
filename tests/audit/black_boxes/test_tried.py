"""How many outputs teach and decide, and which events of them are tried."""

import numpy as np
import pytest

from dpverify.audit.black_boxes.tried import allowed, chosen_on, decisive, held_out, learned_on, surest_point
from dpverify.statistics.outputs.learned import NamedScore


def test_few_outputs_decide_nothing() -> None:
    assert not decisive(1_000, 1.0, 0.0, 0.1)
    assert decisive(15_000, 1.0, 0.0, 0.1)
    assert decisive(1_000, 1.0, 0.0, 0.5)
    # An event of the first input's half time shows (.05, .09) as it would epsilon .25.
    assert decisive(15_000, 1.0, 1e-6, 0.1)
    assert [decisive(trials, 0.05, 0.09, 0.1) for trials in (50_000, 120_000)] == [False, True]
    assert [decisive(trials, 0.05, 0.0, 0.1) for trials in (120_000, 520_000)] == [False, True]
    assert decisive(100, 0.0, 0.5, 0.1)
    assert allowed(2.0, 0.1) == pytest.approx(2.2)
    assert allowed(0.0, 0.5) == pytest.approx(0.05)
    assert [held_out(trials) for trials in (100, 1_400, 8_000, 10**7)] == [14, 200, 1_000, 50_000]
    # Of wide outputs fewer, which take as much memory.
    assert [held_out(10**7, columns) for columns in (20, 200, 10**6)] == [50_000, 5_242, 200]


def test_scores_see_the_first_half_and_events_are_chosen_on_the_second() -> None:
    rng = np.random.default_rng(0)
    # Only the second half tells the inputs apart: what is learned from the first shows nothing of it.
    first, second = rng.integers(0, 4, (2, 2_000, 1)).astype(float)
    half = first.copy()
    half[1_000:] = 9.0
    scores = [learned_on(rows, second, 1.0, 0) for rows in (first, half)]
    assert [score.name for score in scores[0]] == [score.name for score in scores[1]]
    np.testing.assert_array_equal(*(np.stack([score.of(second) for score in found]) for found in scores))
    given = {"epsilon": 1.0, "delta": 0.0, "trials": 10_000, "detect": 0.1}
    expected = [chosen_on(x, second, scores=scores[0], **given).expected for x in (first, half)]
    assert expected[0].max() < 1.0
    assert np.log(expected[1][:, 0] / expected[1][:, 1]).max() > 3.0


def test_the_point_that_is_broken_most_surely_counts_deviations() -> None:
    first, second = np.zeros((2, 2_000, 1))
    first[1_000:1_050], first[1_050:1_550], second[1_000:1_450] = 2.0, 1.0, 1.0
    scores = [NamedScore("value", lambda rows: rows[:, 0])]
    # Above 0 it is .55 against .45, .05 more than delta; above 1 .05 against nothing, by more of its deviations.
    points = ((0.0, 0.05), (2.0, 0.0))
    assert surest_point(first, second, scores, points) == surest_point(second, first, scores, points) == points[1]
    assert surest_point(first, first, scores, points[::-1]) == points[1]
