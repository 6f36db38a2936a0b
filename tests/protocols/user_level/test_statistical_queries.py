"""Answers are on the grid, unbiased and near; bisection finds the threshold from any answers within the tolerance."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from protocols.user_level.representations import Thresholds
from protocols.user_level.statistical_queries import (
    Bisection,
    DecisionListSearch,
    QueryAlgorithm,
    QueryLearner,
    rounded_answer,
)
from tests.contracts import StableLearnerContract
from tests.samples import assert_law


class TestQueryLearner(StableLearnerContract):
    learner = QueryLearner(Bisection(8, 0.1))


@pytest.mark.parametrize("mean", [-1.0, -0.83, -0.2, 0.0, 0.45, 1.0])
def test_answers_are_next_to_the_mean_and_unbiased(mean: float) -> None:
    offsets = np.random.default_rng(1).random(20_000)
    answers = [rounded_answer(mean, 4, offset) for offset in offsets]
    below = np.floor(4 * mean) / 4
    law = {below: 1 - (mean - below) * 4, below + 0.25: (mean - below) * 4}
    assert_law(answers, {answer: chance for answer, chance in law.items() if chance > 0})
    assert max(answers) <= 1.0
    assert min(answers) >= -1.0


def law(size: int, target: int) -> np.ndarray:
    """Return uneven masses, labelled by a threshold."""
    masses = np.random.default_rng(size).random(size) ** 3
    table = np.zeros((size, 2))
    table[np.arange(size), (np.arange(size) >= target).astype(int)] = masses / masses.sum()
    return table


@pytest.mark.parametrize("size", [1, 2, 7, 8, 30])
def test_bisection_errs_by_twice_the_tolerance_at_most(size: int) -> None:
    algorithm, rng = Bisection(size, 0.07), np.random.default_rng(2)
    for target in range(size + 1):
        table = law(size, target)
        for worst in (-0.07, 0.07, None):
            asked = 0

            def ask(query: np.ndarray, table: np.ndarray = table, worst: float | None = worst) -> float:
                nonlocal asked
                asked += 1
                return float((query * table).sum()) + (rng.uniform(-0.07, 0.07) if worst is None else worst)

            found = algorithm.run(ask)
            assert asked <= algorithm.queries
            assert table[np.arange(size), 1 - algorithm.representation.concepts[found]].sum() <= 0.14 + 1e-12


@pytest.mark.parametrize("variables", [1, 2, 3])
def test_decision_lists_are_found_from_any_answers_within_the_tolerance(variables: int) -> None:
    tolerance, rng = 0.01, np.random.default_rng(variables)
    algorithm = DecisionListSearch(variables, tolerance)
    concepts = algorithm.representation.concepts
    domain, least = 1 << variables, 0.0
    for target, worst in itertools.product(concepts, (-tolerance, tolerance, None, None, None)):
        table = np.zeros((domain, 2))
        table[np.arange(domain), target] = rng.dirichlet(np.full(domain, 0.1))
        asked = 0

        def ask(query: np.ndarray, table: np.ndarray = table, worst: float | None = worst) -> float:
            nonlocal asked
            asked += 1
            shift = rng.uniform(-tolerance, tolerance) if worst is None else worst
            return float((query * table).sum()) + shift * (1.0 - 1e-9)

        found = algorithm.run(ask)
        assert asked <= algorithm.queries
        error = table[np.arange(domain), 1 - concepts[found]].sum()
        assert error <= 2 * (variables + 1) * tolerance + 1e-12
        least = max(least, error)
    assert least > 0  # rules of some error are taken: the bound is not empty


def test_answers_of_no_decision_list_lead_to_one_too() -> None:
    algorithm = DecisionListSearch(2, 0.05)
    assert 0 <= algorithm.run(lambda query: 1.0) < 14


def test_exact_means_lead_to_small_errors_for_every_offset() -> None:
    learner, rng = QueryLearner(Bisection(20, 0.05)), np.random.default_rng(3)
    for target in range(21):
        public = learner.drawn(rng)
        table = law(20, target)
        found = public.learn_law(table)
        assert table[np.arange(20), 1 - public.table[found]].sum() <= 0.1 + 1e-12


@dataclass(frozen=True)
class Odd(QueryAlgorithm):
    asks: int
    value: float
    tolerance: float = 0.5
    queries: int = 1

    @property
    def representation(self) -> Thresholds:
        return Thresholds(3)

    def run(self, ask) -> int:
        return int(sum(ask(np.full((3, 2), self.value)) for _ in range(self.asks)) * 0) + (7 if not self.asks else 0)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (Odd(2, 1.0), r"asks more than queries=1 queries\.$"),
        (Odd(1, 1.5), r"^a query has shape \(3, 2\), but must have shape \(3, 2\) and values in \[-1, 1\]\.$"),
        (Odd(1, float("nan")), r"^a query has shape"),
        (Odd(0, 1.0), r"^concept=7 must be an integer in \[0, 3\]\.$"),
    ],
)
def test_algorithms_are_watched(odd: Odd, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QueryLearner(odd).drawn(np.random.default_rng(0)).learn([0, 1], [0, 1])


def test_every_query_needs_an_example() -> None:
    public = QueryLearner(Bisection(8, 0.1)).drawn(np.random.default_rng(0))
    with pytest.raises(
        ValueError, match=r"^points has shape \(3,\), but must hold an example or more for each of the 4"
    ):
        public.learn([0, 1, 2], [0, 0, 1])


def test_queries_have_parts_of_their_own() -> None:
    # The first query sees every other example, those at 0 or those at 2, and the second the rest.
    public = QueryLearner(Bisection(3, 0.4)).drawn(np.random.default_rng(4))
    points, labels = np.array([0, 2] * 40), np.array([1, 0] * 40)
    assert public.learn(points, labels) == 1
    assert public.learn(points[::-1], labels[::-1]) == 2
