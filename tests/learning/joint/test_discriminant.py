"""One budget for labels, points and second moments: what is learned, its noise, and what it says."""

import math
import pickle

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import dpverify
from dpverify.guarantee import InfeasibleBudgetError
from dpverify.learning.files import counters
from dpverify.learning.guarantee import PrivacyWarning
from dpverify.learning.joint import discriminant
from dpverify.learning.joint.discriminant import PrivateDiscriminant, second_moment_users
from dpverify.planning.sums.vectors import plan_vectors
from tests.refusals import refused

USERS = 40_000


def points(users: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of three classes that differ where they spread least."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, users, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(users, 4)) * [1.0, 0.5, 0.2, 0.2]
    X[:, 3] += 0.3 * y
    X[:, 2] -= 0.3 * (y == 1)
    return X, np.array(["a", "b", "c"])[y]


def _halves() -> tuple[slice, slice]:
    return slice(0, 30_000), slice(30_000, USERS)


@pytest.fixture(scope="module")
def learned() -> PrivateDiscriminant:
    return PrivateDiscriminant(epsilon="1", classes=["a", "b", "c"], public_scale=4.0, random_state=1).fit(
        *points(USERS, 0)
    )


def test_it_is_next_to_the_rule_without_noise(learned: PrivateDiscriminant) -> None:
    test, labels = points(4000, 1)
    clean = LinearDiscriminantAnalysis().fit(*points(USERS, 0)).score(test, labels)
    assert learned.moments_.second is not None
    assert learned.score(test, labels) > clean - 0.02
    again = pickle.loads(pickle.dumps(learned))
    np.testing.assert_array_equal(again.predict(test), learned.predict(test))
    assert learned.decision_function(test).shape == (4000, 3)


@pytest.mark.long
def test_without_second_moments_it_is_further_from_it(learned: PrivateDiscriminant) -> None:
    test, labels = points(4000, 1)
    nearest = PrivateDiscriminant(classes=["a", "b", "c"], public_scale=4.0, second_moment=False, random_state=1)
    assert nearest.fit(*points(USERS, 0)).score(test, labels) < learned.score(test, labels) - 0.06
    assert nearest.moments_.second is None


def test_one_guarantee_covers_labels_and_points(learned: PrivateDiscriminant) -> None:
    promised = learned.guarantee_
    assert promised.point == promised.point_and_label
    assert 0.99 < promised.epsilon <= 1.0
    assert (promised.point.adjacency.value, promised.point.threat_model.value) == ("replace-one", "communication")
    assert promised.notes == (discriminant.FIXED_SEED,)
    found = dpverify.account(learned, delta=1e-6)
    assert found.epsilon.upper == promised.epsilon
    assert found.parameters["dimension"] == 3 * 5 + 10


def test_groups_of_users_are_as_all_at_once(learned: PrivateDiscriminant) -> None:
    X, y = points(USERS, 0)
    made = PrivateDiscriminant(epsilon=1, classes=["a", "b", "c"], public_scale=4.0, random_state=1)
    parts = [made.partial_sums(X[here], y[here], part=n, users=USERS) for n, here in enumerate(_halves())]
    again = made.fit_sums(parts[::-1])
    assert again.guarantee_ == learned.guarantee_
    assert again.planned(4, USERS) is again.plan_
    test, labels = points(4000, 1)
    assert abs(again.score(test, labels) - learned.score(test, labels)) < 0.02
    streamed = PrivateDiscriminant(**made.get_params()).fit_chunks(
        [(X[here], y[here]) for here in _halves()], users=USERS
    )
    np.testing.assert_array_equal(streamed.published_, again.published_)
    # Where some are missing, so is their noise: nothing is published. No part counts twice.
    for wrong, said in (
        (parts[:1], r"^sums has 30,000 users, but must have the users=40000 it was told of\.$"),
        ([*parts, parts[0]], r"^part=0 is in both"),
    ):
        with pytest.raises(ValueError, match=said):
            made.fit_sums(wrong)
    with refused("users=7"):
        made.partial_sums(X[:8], y[:8], part=0, users=7)
    with refused("classes=None"):
        PrivateDiscriminant().fit_chunks([(X, y)], users=USERS)
    with pytest.raises(ValueError, match="same parameters"):
        PrivateDiscriminant(epsilon=2, classes=["a", "b", "c"], public_scale=4.0).fit_sums(parts)


def test_blocks_of_users_bring_all_of_the_noise(learned: PrivateDiscriminant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "_BLOCK_ENTRIES", 25 * 10_000)
    X, y = points(USERS, 0)
    made, scaled = learned.map_, learned.scale_(X)
    exact = made.moments(made.vectors(scaled, np.searchsorted(["a", "b", "c"], y)).sum(axis=0), USERS)
    one = PrivateDiscriminant(classes=["a", "b", "c"], public_scale=4.0)
    errors = np.array([one.fit(X, y).moments_.sums - exact.sums for _ in range(12)]).ravel()
    # noise_ is at most what it is: rounding is charged with its largest variance.
    rms = math.sqrt(float(np.mean(errors**2)))
    assert 0.8 * learned.noise_ < rms < 1.2 * learned.noise_
    assert np.abs(np.mean(errors)) < 5.0 * learned.noise_ / 12.0


@pytest.mark.parametrize("second", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_class_that_nobody_has_is_not_predicted(second: bool) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4_000)
    X = rng.normal(size=(4_000, 2)) + np.array([[0, 3]])
    X[:, 0] += 3 * (2 * y - 1)
    learned = PrivateDiscriminant(epsilon=1, classes=[0, 1, 2, 3], second_moment=second, random_state=0)
    with pytest.warns(UserWarning, match="2 of 4 classes have no more users than noise has"):
        learned.fit(X, y)
    assert learned.predicted_.tolist() == [True, True, False, False]
    assert learned.score(X, y) > 0.98
    assert np.isfinite(learned.decision_function(X)).all()


def test_from_how_many_users_on() -> None:
    assert second_moment_users((1, 1e-6), 64) < 5_000 < second_moment_users((0.5, 1e-6), 64)
    assert second_moment_users((1, 1e-6), 384, ratio=1.2) > second_moment_users((1, 1e-6), 384)
    with pytest.raises(InfeasibleBudgetError, match="delta=0"):
        second_moment_users((1, 0), 3)
    with refused("ratio=1"):
        second_moment_users((1, 1e-6), 3, ratio=1)


def test_what_cannot_be_planned_is_refused() -> None:
    X, y = points(30, 0)
    with refused("second_moment='yes'"):
        PrivateDiscriminant(second_moment="yes").fit(X, y)
    with refused("delta=0"):
        PrivateDiscriminant(delta=0).fit(X, y)
    with refused("clip=None and l1=3.0"):
        plan_vectors((1, 1e-6), users=10, dimension=4, l1=3.0)


@pytest.mark.long
def test_too_few_users_are_warned_of() -> None:
    X, y = points(30, 0)
    with pytest.warns(
        PrivacyWarning, match=r"^The noise of a class's mean is longer .* about [\d,]+ users are needed at"
    ):
        few = PrivateDiscriminant(second_moment=True, public_scale=4.0).fit(X, y)
    assert few.guarantee_.notes == ("the set of labels was taken from y, and so is public",)


@pytest.mark.parametrize(("classes", "said"), [(["a", "a", "b"], "each label once"), (["a"], "at least 2")])
def test_labels_that_tell_nothing_are_refused(classes: list[str], said: str) -> None:
    made = PrivateDiscriminant(classes=classes)
    with pytest.raises(ValueError, match=rf"^classes.*{said}"):
        made.fit(np.eye(3), np.array(["a"] * 3))
    with pytest.raises(ValueError, match=rf"^classes.*{said}"):
        made.planned(8, 100)


def test_more_users_than_can_be_planned_for_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^users=1000000000000 must be an integer in \[1, 1e\+09\]\.$"):
        PrivateDiscriminant(classes=[0, 1]).planned(8, 10**12)
