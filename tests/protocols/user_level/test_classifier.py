"""The learner as a scikit-learn estimator, in every model."""

import doctest

import numpy as np
import pytest
from sklearn.base import clone

import protocols.user_level.classifier
from protocols.bitsum.negative_binomial import Estimate, NegativeBinomial
from protocols.selection import Selection
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.classifier import UserLevelClassifier
from protocols.user_level.local_selection import HadamardSelection
from protocols.user_level.representations import DecisionLists, HashedPoints, Thresholds
from protocols.user_level.stable_learner import WeighingLearner
from protocols.user_level.statistical_queries import Bisection, QueryLearner
from tests.refusals import refused


def central(users: int, candidates: int) -> ExponentialSelection:
    return ExponentialSelection(users, candidates, 1.0)


def local(users: int, candidates: int) -> HadamardSelection:
    return HadamardSelection(candidates, 2.0)


def shuffled(users: int, candidates: int) -> Selection:
    return Selection(NegativeBinomial(users, 6.0, 0.5, estimate=Estimate.UNDER), candidates)


def thresholds(rng: np.random.Generator, users: int, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.integers(0, 16, (users * samples, 1))
    return X, (X[:, 0] >= 5).astype(int), np.repeat(np.arange(users), samples)


@pytest.mark.parametrize("selection", [None, central, local, shuffled])
@pytest.mark.parametrize("learner", [WeighingLearner(Thresholds(16), 100.0), QueryLearner(Bisection(16, 0.05))])
def test_thresholds_are_learned_in_every_model(learner: object, selection: object) -> None:
    X, y, users = thresholds(np.random.default_rng(1), 120, 500)
    model = UserLevelClassifier(learner, selection, random_state=2)
    assert model.fit(X, y, groups=users).score(X, y) >= 0.9
    assert (model.n_users_, model.n_features_in_) == (120, 1)


def test_points_are_learned_on_a_large_domain() -> None:
    rng = np.random.default_rng(3)
    X = np.where(rng.random((40_000, 1)) < 0.5, 777, rng.integers(0, 10**4, (40_000, 1)))
    y = (X[:, 0] == 777).astype(int)
    model = UserLevelClassifier(WeighingLearner(HashedPoints(10**4, 64), 60.0), central, random_state=4)
    assert model.fit(X, y, groups=np.arange(40_000) % 60).score(X, y) >= 0.95


def test_decision_lists_are_learned() -> None:
    X = np.random.default_rng(5).integers(0, 2, (60_000, 3))
    y = np.where(X[:, 1] == 1, 0, np.where(X[:, 2] == 0, 1, X[:, 0]))
    model = UserLevelClassifier(WeighingLearner(DecisionLists(3), 90.0), central, random_state=6)
    assert model.fit(X, y, groups=np.arange(60_000) % 100).score(X, y) == 1.0


def test_one_user_runs_her_own_learner() -> None:
    X, y, _ = thresholds(np.random.default_rng(7), 1, 2000)
    learner = WeighingLearner(Thresholds(16), 100.0)
    alone = UserLevelClassifier(learner, public_random_state=8).fit(X, y)
    assert alone.hypothesis_ == learner.drawn(np.random.default_rng(8)).learn(X[:, 0], y)


def test_users_are_told_apart_in_any_order() -> None:
    X, y, users = thresholds(np.random.default_rng(9), 30, 40)
    learner = WeighingLearner(Thresholds(16), 300.0)
    order = np.random.default_rng(10).permutation(users.size)
    names = np.array([f"user {user}" for user in users])
    seen: list[np.ndarray] = []

    class Recorded(ExponentialSelection):
        def run(self, values: object, rng: object) -> int:
            seen.append(np.sort(np.asarray(values)))
            return 0

    for rows, groups in ((slice(None), users), (order, users), (order, names)):
        UserLevelClassifier(learner, lambda n, k: Recorded(n, k, 1.0)).fit(X[rows], y[rows], groups=groups[rows])
    assert (seen[0] == seen[1]).all()
    assert (seen[0] == seen[2]).all()
    assert len(set(seen[0].tolist())) > 1
    public = learner.drawn(np.random.default_rng(0))
    own = [public.learn(X[users == user, 0], y[users == user]) for user in range(30)]
    assert (seen[0] == np.sort(own)).all()


def test_it_is_an_estimator() -> None:
    model = UserLevelClassifier(WeighingLearner(Thresholds(4), 9.0), central, random_state=1)
    assert clone(model).get_params() == model.get_params()
    assert set(model.get_params()) == {"learner", "selection", "random_state", "public_random_state"}
    X, y, users = thresholds(np.random.default_rng(11), 9, 20)
    first, second = (clone(model).set_params(learner=WeighingLearner(Thresholds(16), 9.0)) for _ in range(2))
    assert first.fit(X, y, groups=users).hypothesis_ == second.fit(X, y, groups=users).hypothesis_


def test_private_and_public_randomness_are_two_streams() -> None:
    X, y, users = thresholds(np.random.default_rng(12), 9, 20)
    rngs = []

    class Recorded(ExponentialSelection):
        def run(self, values: object, rng: np.random.Generator) -> int:
            rngs.append(rng.random())
            return 0

    learner = WeighingLearner(Thresholds(16), 9.0)
    UserLevelClassifier(learner, lambda n, k: Recorded(n, k, 1.0), random_state=0).fit(X, y, groups=users)
    assert rngs[0] != np.random.default_rng(0).random()


@pytest.mark.parametrize(
    ("X", "y", "groups", "message"),
    [
        ([[16]], [0], None, r"^X\[0, 0\]=16 must be an integer in \[0, 16\)\.$"),
        ([[1]], [2], None, r"^y\[0\]=2 must be 0 or 1\.$"),
        ([[1]], [0, 1], None, r"^y has shape \(2,\), but must have shape \(1,\)"),
        ([[1], [2]], [0, 1], [0], r"^groups has shape \(1,\), but must have shape \(2,\), not empty\.$"),
        (np.zeros((0, 1)), [], None, r"^y has shape \(0,\), but must have shape \(0,\), not empty\.$"),
    ],
)
def test_examples_are_checked(X: object, y: object, groups: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UserLevelClassifier(WeighingLearner(Thresholds(16), 9.0)).fit(X, y, groups=groups)


def test_the_learner_is_checked() -> None:
    with refused("learner=None", TypeError):
        UserLevelClassifier(None).fit([[0]], [0])


def test_the_example_runs() -> None:
    found = doctest.testmod(protocols.user_level.classifier)
    assert (found.failed, found.attempted >= 9) == (0, True)
