"""Algorithm 3 draws by the weights it says."""

import numpy as np
import pytest

from protocols.user_level.representations import HashedPoints, Thresholds
from protocols.user_level.stable_learner import WeighingLearner
from tests.contracts import StableLearnerContract
from tests.samples import assert_law


class TestWeighingLearner(StableLearnerContract):
    learner = WeighingLearner(Thresholds(8), 60.0)


@pytest.mark.long
def test_hypotheses_have_the_weights_of_their_errors() -> None:
    learner, rng = WeighingLearner(Thresholds(2), 3.0), np.random.default_rng(5)
    points, labels = [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]
    # "x >= 0" errs on two of five, "x >= 1" on one, "never" on three.
    weights = np.exp(-3.0 * np.array([2, 1, 3]) / 5)
    drawn = [learner.drawn(rng).learn(points, labels) for _ in range(20_000)]
    assert_law(drawn, dict(enumerate((weights / weights.sum()).tolist())))


def test_counts_and_examples_are_one() -> None:
    public = WeighingLearner(HashedPoints(6, 3), 20.0).drawn(np.random.default_rng(6))
    points, labels = np.array([0, 3, 3, 5]), np.array([0, 1, 1, 0])
    counts = np.zeros((6, 2))
    np.add.at(counts, (points, labels), 1)
    assert public.learn(points, labels) == public.learn_counts(counts)
    errors = [(public.table[h][points] != labels).mean() for h in range(3)]
    assert public.errors(counts).tolist() == errors
    assert public.learn_counts(np.stack([counts, counts])).shape == (2,)
