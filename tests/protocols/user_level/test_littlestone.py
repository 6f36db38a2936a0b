"""The standard optimal algorithm, and the learner that is made of it, against their definitions."""

import itertools
import math

import numpy as np
import pytest

from dpverify import account
from dpverify.claims.shared.buckets import least_shape, under_estimating
from dpverify.claims.user_level.classifier import least_users
from protocols.selection import Selection
from protocols.user_level.classifier import UserLevelClassifier
from protocols.user_level.littlestone import FrequentLearner, VersionSpaces
from protocols.user_level.representations import DecisionLists, FiniteClass, Representation, Thresholds

POINTS = FiniteClass(np.eye(6, dtype=int))
CUBE = FiniteClass(list(itertools.product([0, 1], repeat=3)))


@pytest.mark.parametrize(
    ("representation", "dimension"),
    [
        (FiniteClass([[0, 1, 1]]), 0),
        (Thresholds(1), 1),
        (Thresholds(6), 2),
        (Thresholds(7), 3),
        (Thresholds(15), 4),
        (POINTS, 1),
        (CUBE, 3),
        (DecisionLists(2), 3),
    ],
)
def test_the_dimension_is_that_of_the_deepest_shattered_tree(representation: Representation, dimension: int) -> None:
    assert VersionSpaces(representation.concepts).dimension == dimension


@pytest.mark.parametrize("representation", [Thresholds(6), POINTS, CUBE, DecisionLists(2)], ids=str)
def test_no_target_makes_more_mistakes_than_the_dimension(representation: Representation) -> None:
    spaces = VersionSpaces(representation.concepts)

    def most(space: int, seen: frozenset[int]) -> int:
        """The most mistakes from here, over all targets and orders of points: each step tries both labels."""
        predicted = spaces.table[spaces.predicts(space, space)]
        worst = 0
        for point in set(range(representation.domain)) - seen:
            wrong = spaces.after(space, point, 1 - int(predicted[point]))
            if wrong:
                assert spaces._dimensions[wrong] < spaces._dimensions[space]
                worst = max(worst, 1 + most(wrong, seen | {point}))
        return worst

    assert most(spaces.full, frozenset()) <= spaces.dimension


def test_what_contradicts_itself_is_predicted_from_the_last_batch() -> None:
    spaces = VersionSpaces(POINTS.concepts)
    at_2 = spaces.after(spaces.full, 2, 1)
    nothing = spaces.after(at_2, 3, 1)
    assert nothing == 0
    assert spaces.table[spaces.predicts(nothing, at_2)].tolist() == POINTS.concepts[2].tolist()
    assert spaces.predicts(0, 0) == spaces.predicts(spaces.full, 0)


def test_the_first_mistake_of_many_decides_and_every_first_one_is_guessed() -> None:
    spaces = VersionSpaces(CUBE.concepts)
    first, second = spaces.after(spaces.full, 0, 0), spaces.after(spaces.full, 1, 1)
    assert spaces.table[spaces.predicts(first, first)].tolist() == [0, 0, 0]
    ones = np.ones(3, dtype=np.uint8)
    asked = [0, 2, 1]
    assert spaces.tournament(spaces.full, second, asked, ones) == spaces.after(spaces.full, 0, 1)
    assert spaces.tournament(spaces.full, second, asked[1:], ones) == spaces.after(spaces.full, 2, 1)
    assert asked == [0, 2, 1]
    # Point 0 is known to the first; it may be wrong at 2, and at 1 one of the two is.
    expected = {spaces.after(first, 2, 1), spaces.after(first, 1, 1), spaces.after(second, 1, 0)} - {0}
    assert set(spaces.guesses(first, second, [0, 2])) == expected
    assert spaces.guesses(first, first, []) == []


def test_a_run_is_consistent_with_its_last_batch_and_uses_no_example_twice() -> None:
    rng = np.random.default_rng(3)
    learner = FrequentLearner(Thresholds(7), share=0.1, batch=4, runs=1)
    for _ in range(200):
        target = rng.integers(0, 8)
        points = rng.integers(0, 7, 60)
        labels = (points >= target).astype(int)
        (row,) = np.flatnonzero(learner.drawn(rng).frequencies(points, labels))
        hypothesis = learner.spaces.table[row]
        assert (hypothesis[points[-4:]] == labels[-4:]).all()


def test_the_threshold_is_uniform_and_shared() -> None:
    learner = FrequentLearner(POINTS, share=0.2, batch=2, runs=3)
    thresholds = [learner.drawn(np.random.default_rng(seed)).threshold for seed in range(300)]
    assert 0.1 <= min(thresholds) < 0.102
    assert 0.198 < max(thresholds) <= 0.2
    assert learner.drawn(np.random.default_rng(5)).threshold == thresholds[5]


def test_the_first_frequent_hypothesis_is_chosen() -> None:
    public = FrequentLearner(POINTS, share=0.4, batch=2, runs=3).drawn(np.random.default_rng(0))
    frequent = np.zeros(len(public.table))
    frequent[[2, 4]] = 0.45, 0.55
    assert public.chosen(frequent) == 2
    frequent[[2, 4]] = 0.1, 0.19
    assert public.chosen(frequent) == 4


def test_a_shuffle_learner_needs_as_many_users_for_any_class_and_finds_the_target() -> None:
    # Theorem 35: users who share randomness find the same of the points' functions, and noisy counts select it.
    p = math.exp(-0.2)
    shape = least_shape((0.99, 1e-6), p, tolerance=1e-3)

    def selection(users: int, candidates: int) -> Selection:
        return Selection(under_estimating(users, shape, p), candidates)

    users = least_users(lambda n: selection(n, 7), share=0.9, failure=0.03)
    assert users <= least_users(lambda n: selection(n, 10**6), share=0.9, failure=0.03) <= 110
    rng = np.random.default_rng(8)
    each = 60 * 40
    X = rng.integers(0, 6, (users * each, 1))
    model = UserLevelClassifier(FrequentLearner(POINTS, share=0.5, batch=12, runs=60), selection, random_state=1)
    model.fit(X, (X[:, 0] == 4).astype(int), groups=np.repeat(np.arange(users), each))
    assert model.score(X, (X[:, 0] == 4).astype(int)) == 1.0
    assert account(model, delta=1e-6).epsilon.upper <= 0.99


def test_arguments_are_checked() -> None:
    public = FrequentLearner(POINTS, share=0.1, batch=4, runs=3).drawn(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"^points has shape \(35,\), but must hold 12 or more for each of 3 runs"):
        public.learn(np.zeros(35, dtype=int), np.zeros(35, dtype=int))
    with pytest.raises(ValueError, match=r"^concepts has more than 32768 version spaces"):
        VersionSpaces(np.eye(17, dtype=np.uint8))
