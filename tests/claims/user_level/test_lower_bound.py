"""Algorithm 6 and group privacy: what runs on fixed data are worth."""

import math

import numpy as np
import pytest
from mpmath import fp

from dpverify.claims.user_level.lower_bound import enough_runs, hit_probability, least_users
from dpverify.formulas.protocols import user_level as formulas
from dpverify.guarantee import InfeasibleBudgetError
from dpverify.papers.entries import stated
from dpverify.papers.theorem import Verdict
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.lower_bound import LearnedRepresentation
from protocols.user_level.representations import Thresholds
from protocols.user_level.stable_learner import WeighingLearner
from tests.refusals import refused

LEARNER_LOWER_BOUND = stated("ghazi2021/user_level", "learner_lower_bound")

FOUND = {theorem.name: theorem for theorem in LEARNER_LOWER_BOUND}


def test_group_privacy_is_the_chain_of_single_steps() -> None:
    probability, epsilon, delta = 0.01, 0.3, 1e-3
    for users in range(6):
        found = float(formulas.group_privacy(fp, 0.01, epsilon, delta, users))
        assert found == pytest.approx(probability, rel=1e-12)
        probability = math.exp(epsilon) * probability + delta


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
    success = min(np.mean([error(selected(law, rng), law) <= alpha for _ in range(60)]) for law in laws)
    assert success >= 0.5
    runs = enough_runs(epsilon, 0.0, users, failure)
    representation = LearnedRepresentation(Thresholds(size), lambda rng: selected(None, rng), runs)
    drawn = [representation.draw(rng) for _ in range(20)]
    for law in laws:
        missed = sum(min(error(row, law) for row in each) > alpha for each in drawn)
        assert missed <= 14  # 20 draws at 1/4 each: more with probability below 1e-6


@pytest.mark.parametrize("users", [1, 10, 40])
def test_fewer_runs_than_the_source_are_enough(users: int) -> None:
    epsilon = 0.25
    printed = 100 * math.ceil(math.exp(epsilon * users))
    assert enough_runs(epsilon, 0.0, users, 0.25) <= 2.8 * math.exp(epsilon * users) + 1 < printed
    # The source's own: 10 / T per run, so e^-10 of missing with T runs.
    assert hit_probability(epsilon, 0.0, users) >= 10.0 / printed
    assert math.exp(-10.0) < 0.01


def test_the_proof_needs_epsilon_above_delta() -> None:
    (hypothesis,) = FOUND["ghazi2021-lemma-4"].hypotheses
    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-3), (1e-5, 1e-7)):
        users = math.floor(float(formulas.lower_bound_users(fp, epsilon, delta)))
        assert hypothesis.holds(epsilon, delta)
        if users:
            printed = 100 * math.ceil(math.exp(epsilon * users))
            assert hit_probability(epsilon, delta, users) >= 10.0 / printed
    epsilon, delta = 1e-9, 0.01
    users = math.floor(float(formulas.lower_bound_users(fp, epsilon, delta)))
    assert not hypothesis.holds(epsilon, delta)
    assert hit_probability(epsilon, delta, users) == 0.0
    # The counterexample: each user's data is published with probability delta, which is (0, delta)-DP.
    enough = math.ceil(0.7 / delta)
    assert 1.0 - (1.0 - delta) ** enough >= 0.5
    assert enough < users / 1000
    with refused("delta=0.01", InfeasibleBudgetError):
        enough_runs(epsilon, delta, users, 0.25)
    assert FOUND["ghazi2021-lemma-4"].verdict is Verdict.HOLDS_WITH_CONDITION


@pytest.mark.parametrize("bits", [1.0, 6.0, 200.0])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_fewer_users_would_make_a_smaller_representation(bits: float, epsilon: float) -> None:
    users = least_users(bits, epsilon)
    if users > 1:
        assert math.log2(math.log(4) * math.exp((users - 1) * epsilon) / 0.5 + 1) < bits
    if bits < 100:
        assert math.log2(enough_runs(epsilon, 0.0, users, 0.25)) >= bits - 1e-9
    assert least_users(0.0, epsilon) == 1


def test_arguments_are_checked() -> None:
    for arguments in ((0.0, 0.0, 1), (1.0, 1.0, 1), (1.0, 0.0, 0)):
        with pytest.raises(ValueError, match=r"^(epsilon|delta|users)=.* must be"):
            hit_probability(*arguments)
    with pytest.raises(ValueError, match=r"^bits=-1\.0 must be"):
        least_users(-1.0, 1.0)
    with pytest.raises(ValueError, match=r"^failure=0\.0 must be"):
        enough_runs(1.0, 0.0, 3, 0.0)
