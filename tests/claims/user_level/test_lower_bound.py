"""Algorithm 6 and group privacy: what runs on fixed data are worth."""

import math

import numpy as np
import pytest

from dpverify.claims.user_level.lower_bound import enough_runs, hit_probability, least_users
from dpverify.guarantee import InfeasibleBudgetError
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.lower_bound import LearnedRepresentation
from protocols.user_level.representations import Thresholds
from protocols.user_level.stable_learner import WeighingLearner
from tests.refusals import refused


def test_runs_on_fixed_data_are_a_representation() -> None:
    """Every law of thresholds has a good hypothesis among the runs, as often as is promised."""
    size, users, epsilon, alpha, failure = 6, 4, 0.8, 0.2, 0.25
    learner = WeighingLearner(Thresholds(size), 25.0)
    selection = ExponentialSelection(users, size + 1, epsilon)
    table = Thresholds(size).concepts

    def selected(law: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        public = learner.drawn(rng)
        if law is None:  # fixed data: every user has one negative example
            found = [public.learn([0], [0]) for _ in range(users)]
        else:
            found = [
                int(public.learn_counts(rng.multinomial(4000, law.ravel()).reshape(law.shape))) for _ in range(users)
            ]
        return public.table[selection.run(np.array(found), rng)]

    rng = np.random.default_rng(1)
    laws = []
    for target in range(size + 1):
        law = np.zeros((size, 2))
        law[np.arange(size), table[target]] = rng.dirichlet(np.ones(size))
        laws.append(law)

    def error(labels: np.ndarray, law: np.ndarray) -> float:
        return float(law[np.arange(size), 1 - labels].sum())

    # What the learner does on data of each law: the success q of the theorem.
    success = min(np.mean([error(selected(law, rng), law) <= alpha for _ in range(30)]) for law in laws)
    assert success >= 0.5
    runs = enough_runs(epsilon, 0.0, users, failure)
    representation = LearnedRepresentation(Thresholds(size), lambda rng: selected(None, rng), runs)
    drawn = [representation.draw(rng) for _ in range(20)]
    for law in laws:
        missed = sum(min(error(row, law) for row in each) > alpha for each in drawn)
        assert missed <= 14  # 20 draws at 1/4 each: more with probability below 1e-6


@pytest.mark.parametrize("bits", [1.0, 6.0, 200.0])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_fewer_users_would_make_a_smaller_representation(bits: float, epsilon: float) -> None:
    users = least_users(bits, epsilon)
    if users > 1:
        assert math.log2(math.log(4) * math.exp((users - 1) * epsilon) / 0.5 + 1) < bits
    if bits < 100:
        assert math.log2(enough_runs(epsilon, 0.0, users, 0.25)) >= bits - 1e-9
    assert least_users(0.0, epsilon) == 1


def test_each_replaced_user_costs_a_delta() -> None:
    # Two steps with e^epsilon = 2 from none: 2 (2 0 + 1/8) + 1/8 = 3/8, and a quarter of what is left to 1/2.
    assert hit_probability(math.log(2.0), 0.125, 2, 0.5) == pytest.approx(1 / 32, rel=1e-12)
    assert enough_runs(math.log(2.0), 0.125, 2, 0.25, 0.5) == math.ceil(math.log(0.25) / math.log1p(-1 / 32)) == 44


def test_arguments_are_checked() -> None:
    for arguments in ((0.0, 0.0, 1), (1.0, 1.0, 1), (1.0, 0.0, 0)):
        with pytest.raises(ValueError, match=r"^(epsilon|delta|users)=.* must be"):
            hit_probability(*arguments)
    with refused("delta=0.01", InfeasibleBudgetError):
        enough_runs(1e-9, 0.01, 10**6, 0.25)
    with pytest.raises(ValueError, match=r"^bits=-1\.0 must be"):
        least_users(-1.0, 1.0)
    with pytest.raises(ValueError, match=r"^failure=0\.0 must be"):
        enough_runs(1.0, 0.0, 3, 0.0)
