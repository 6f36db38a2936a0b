"""Linear separators, and the perceptron that finds one from means."""

import numpy as np
import pytest

from protocols.user_level.separators import Separators, SeparatorSearch, augmented
from protocols.user_level.stable_learner import check_examples
from protocols.user_level.statistical_queries import QueryLearner


@pytest.mark.parametrize(
    ("variables", "functions"), [(1, 4), (2, 14), (3, 104), pytest.param(4, 1882, marks=pytest.mark.long)]
)
def test_as_many_functions_are_separable_as_is_known(variables: int, functions: int) -> None:
    assert Separators(variables).concepts.shape == (functions, 1 << variables)


def test_every_function_has_the_margin() -> None:
    # Vectors are not kept: a perceptron finds one of half of the margin at least, with (2 R / m)^2 updates.
    separators, points = Separators(3), augmented(3)
    for labels in separators.concepts[::5]:
        signed = points * (2.0 * labels - 1.0)[:, np.newaxis]
        weights = np.zeros(4)
        for _ in range(int(16.0 / separators.margin**2) + 1):
            at = int((signed @ weights).argmin())
            if signed[at] @ weights > 0.5 * separators.margin * np.linalg.norm(weights):
                break
            weights += signed[at]
        assert (signed @ weights > 0.0).all()


@pytest.mark.parametrize("variables", [1, 2, 3])
@pytest.mark.parametrize("alpha", [0.3, 0.05])
def test_the_stable_separator_is_accurate_on_every_law(variables: int, alpha: float) -> None:
    algorithm, rng = SeparatorSearch(variables, alpha), np.random.default_rng(variables)
    concepts, learner = Separators(variables).concepts, QueryLearner(SeparatorSearch(variables, alpha))
    assert algorithm.tolerance < alpha
    for target in concepts if variables < 3 else concepts[rng.integers(0, len(concepts), 30)]:
        weights = rng.dirichlet(np.full(1 << variables, 0.5))
        law = np.zeros((1 << variables, 2))
        law[np.arange(1 << variables), target] = weights
        # More queries than are stated would be an error.
        found = concepts[learner.drawn(rng).learn_law(law)]
        assert (found != target) @ weights <= alpha


def test_worst_answers_within_the_tolerance_end_in_time() -> None:
    algorithm, rng = SeparatorSearch(2, 0.2), np.random.default_rng(4)
    concepts = Separators(2).concepts
    for target in concepts:
        weights = rng.dirichlet(np.ones(4))
        law = np.zeros((4, 2))
        law[np.arange(4), target] = weights
        asked = 0

        def answer(query: np.ndarray, law: np.ndarray = law) -> float:
            nonlocal asked
            asked += 1
            return float((query * law).sum()) + algorithm.tolerance * float(rng.choice([-1.0, 1.0]))

        assert (concepts[algorithm.run(answer)] != target) @ weights <= 0.2
        assert asked <= algorithm.queries


def test_a_sample_leads_to_a_separator() -> None:
    algorithm = SeparatorSearch(1, 0.4)
    rng = np.random.default_rng(2)
    points = rng.integers(0, 2, 400 * algorithm.queries)
    labels = 1 - points
    check_examples(points, labels, 2)
    learner = QueryLearner(algorithm)
    assert learner.drawn(rng).table[learner.drawn(rng).learn(points, labels)].tolist() == [1, 0]
