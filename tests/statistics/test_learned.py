"""Learned scores: high where the first input is likelier."""

from __future__ import annotations

import numpy as np

from dpverify.statistics.aspects import Aspect
from dpverify.statistics.learned import learned_scores, table_score

RNG = np.random.default_rng(5)


def values(rows: np.ndarray) -> np.ndarray:
    return rows[:, 0].astype(np.int64)


def test_a_table_holds_the_log_ratios_of_frequencies() -> None:
    first, second = np.repeat([0.0, 1.0], [75, 25])[:, None], np.repeat([0.0, 1.0], [25, 75])[:, None]
    table = table_score(Aspect("values", values), first, second)
    assert table is not None
    scores = table(np.array([[0.0], [1.0], [7.0]]))
    cautious = np.log((75.5 - 75.5**0.5) / (25.5 + 25.5**0.5))
    np.testing.assert_allclose(scores, [cautious, -cautious, 0.0])
    assert table.excess > 40
    same = table_score(Aspect("values", values), first, first)
    assert same is not None
    assert same.excess < 0
    assert table_score(Aspect("values", values), np.arange(9.0)[:, None], np.arange(9.0, 18.0)[:, None]) is None


def test_scores_are_higher_on_the_first_input() -> None:
    def draw(flip: float) -> np.ndarray:
        bits = RNG.integers(0, 2, (3000, 2)).astype(float)
        bits[:, 1] = np.where(RNG.random(3000) < flip, 1 - bits[:, 0], bits[:, 0])
        return bits

    scores = learned_scores(draw(0.1), draw(0.9))
    fresh = draw(0.1), draw(0.9)
    best = max(scores, key=lambda score: score.of(fresh[0]).mean() - score.of(fresh[1]).mean())
    assert best.of(fresh[0]).mean() - best.of(fresh[1]).mean() > 2
    assert "a gradient-boosted classifier" in [score.name for score in scores]
    assert len({score.name for score in scores}) == len(scores)
