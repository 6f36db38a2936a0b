"""Algorithm 5 repaired: how often answers agree, and what the printed one does."""

import math

import numpy as np
import pytest
from mpmath import fp
from scipy import stats

from dpverify.claims.user_level.statistical_queries import bisection_agreement, enough_samples
from dpverify.formulas.protocols import user_level as formulas
from dpverify.papers.entries import stated
from dpverify.papers.theorem import Verdict
from protocols.user_level.statistical_queries import Bisection, QueryLearner, rounded_answer
from tests.refusals import refused

QUERIES = stated("ghazi2021/user_level", "queries")

FOUND = {theorem.name: theorem for theorem in QUERIES}


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


def test_the_printed_rounding_is_far_off() -> None:
    # Read literally: l = floor(u) + 1 with probability u - floor(u), on the grid {0, 1/I, ..., 1}.
    tau, u = 0.25, 0.5
    steps = math.ceil(3 / tau)
    answers = {0.0: 1.0 - u, 1.0 / steps: u}
    assert all(abs(answer - u) > tau for answer in answers)
    assert not set(range(steps + 1)) & {math.floor(-0.5)}  # a mean of -1/2 is rounded to what is not on the grid
    assert FOUND["ghazi2021-algorithm-5"].verdict is Verdict.FAILS
    offsets = np.random.default_rng(3).random(200)
    assert all(abs(rounded_answer(u, steps, t) - u) <= tau for t in offsets)


def test_the_printed_samples_miss_the_deviation_for_small_beta() -> None:
    queries, tau, beta = 1, 0.1, 0.001
    samples = formulas.published_query_samples(fp, queries, tau, beta)
    asked = beta**2 / (3 * queries * math.ceil(3 / tau))
    deviation = 1.0 / math.sqrt(samples)  # of the mean of fair signs
    missed = 2.0 * stats.norm.sf(asked / deviation)
    assert samples == pytest.approx(3.2e15, rel=0.01)
    assert (deviation, asked) == (pytest.approx(1.76e-8, rel=0.01), pytest.approx(1.11e-8, rel=0.01))
    assert missed == pytest.approx(0.53, abs=0.01)
    assert missed > 1e6 * beta**2 / (3 * queries)
    # The step asks for that, and has it where beta is not so small.
    beta = 0.1
    samples = formulas.published_query_samples(fp, queries, tau, beta)
    asked = beta**2 / (3 * queries * math.ceil(3 / tau))
    assert 2.0 * math.exp(-samples * asked**2 / 2.0) <= beta**2 / (3 * queries)
    assert FOUND["ghazi2021-lemma-32-samples"].verdict is Verdict.PROOF_WRONG


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
