"""Algorithm 5 repaired: how often answers agree, and what the printed one does."""

import math

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.user_level.statistical_queries import bisection_agreement, enough_samples
from protocols.user_level.statistical_queries import Bisection, QueryLearner, rounded_answer
from tests.refusals import refused


@pytest.mark.parametrize(("first", "second"), [(0.1, 0.13), (-0.02, 0.04), (0.9, 1.0), (0.1, 0.5), (-1.0, 1.0)])
def test_answers_differ_as_often_as_that(first: float, second: float) -> None:
    offsets, steps = np.random.default_rng(1).random(20_000), 10
    differ = sum(rounded_answer(first, steps, t) != rounded_answer(second, steps, t) for t in offsets.tolist())
    assert stats.binomtest(differ, 20_000, min(1.0, steps * abs(first - second))).pvalue > 1e-6


def law(size: int, target: int) -> np.ndarray:
    table = np.zeros((size, 2))
    table[np.arange(size), (np.arange(size) >= target).astype(int)] = 1.0 / size
    return table


@pytest.mark.long
@pytest.mark.parametrize("samples", [9, 40, 203])
def test_the_exact_agreement_is_what_samples_do(samples: int) -> None:
    learner, rng = QueryLearner(Bisection(7, 0.3)), np.random.default_rng(samples)
    trials = 1500
    for _ in range(3):
        public, table = learner.drawn(rng), law(7, 2)
        exact = bisection_agreement(public, table, samples)
        drawn = rng.integers(0, 7, (trials, samples))
        same = sum(public.learn(points, (points >= 2).astype(int)) == public.learn_law(table) for points in drawn)
        assert stats.binomtest(same, trials, min(1.0, exact)).pvalue > 1e-6


def test_enough_samples_are_enough() -> None:
    algorithm, rng = Bisection(7, 0.2), np.random.default_rng(2)
    learner = QueryLearner(algorithm)
    for unstable in (0.3, 0.05):
        samples = enough_samples(algorithm, unstable)
        agreements = [bisection_agreement(learner.drawn(rng), law(7, target), samples) for target in range(8)] * 5
        assert 1.0 - float(np.mean(agreements)) <= unstable


def test_outputs_are_few() -> None:
    algorithm = Bisection(40, 0.2)
    learner = QueryLearner(algorithm)
    answers = 2 * learner.steps + 1
    rng = np.random.default_rng(4)
    found = {learner.drawn(rng).learn_law(law(40, target)) for target in range(41) for _ in range(10)}
    assert len(found) <= answers**algorithm.queries
    assert math.ceil(3 / 0.2) > learner.steps


def test_arguments_are_checked() -> None:
    public = QueryLearner(Bisection(7, 0.2)).drawn(np.random.default_rng(0))
    with refused("samples=2"):
        bisection_agreement(public, law(7, 2), 2)
    with pytest.raises(ValueError, match=r"^unstable=1\.0 must be"):
        enough_samples(Bisection(7, 0.2), 1.0)
