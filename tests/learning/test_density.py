"""The density that is asked for a budget."""

import math
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import dpverify
from dpverify.learning.density import PrivateDensity
from dpverify.learning.guarantee import PrivacyWarning
from dpverify.planning.kernels.rungs import kernels
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")


def points(users: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal([1.0, 0.0, 0.0], 0.3, (users, 3))


@pytest.mark.parametrize("kernel", kernels())
def test_scikit_learn_conventions(kernel: str) -> None:
    checks = check_estimator(PrivateDensity(epsilon=math.inf, kernel=kernel), on_skip=None)
    assert {check["status"] for check in checks if check["check_name"] != "check_array_api_input"} == {"passed"}


@pytest.mark.long
def test_it_estimates_within_its_noise_and_budget() -> None:
    X = points(3000)
    model = PrivateDensity(epsilon=1, kernel="gaussian", public_scale=2.0, random_state=1).fit(X)
    queries = np.array([[1.0, 0, 0], [-1, 0.5, 0], [0, 0, 0]])
    features = model.protocol_.features
    exact = features.family.kernel(model.scale_(X), model.scale_(queries)).mean(axis=0)
    # Its own error, of 512 pairs, besides the noise: six deviations of both.
    assert np.abs(model.density(queries) - exact).max() < 6 * math.hypot(model.noise_, 1 / math.sqrt(1024))
    assert model.guarantee_.point_and_label is None
    assert 0.99 < model.guarantee_.epsilon <= 1
    found = dpverify.account(model, delta=1e-6, relative_width=1e-3).epsilon
    assert found.upper <= 1.001
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).density(queries), model.density(queries))
    assert model.users_ == 3000


@pytest.mark.long
def test_parts_are_the_same_for_the_same_parts() -> None:
    X = points(300)
    made = PrivateDensity(bits=32, random_state=2)
    stream = made.fit_chunks(iter([X[:100], X[100:]])).density(X)
    sums = made.partial_sums(X[100:], part=1) + made.partial_sums(X[:100], part=0)
    np.testing.assert_array_equal(made.fit_sums(sums).density(X), stream)
    with refused("part='1'", TypeError):
        made.partial_sums(X, part="1")
    with refused("sums"):
        PrivateDensity(bits=64).fit_sums(sums)


def test_warnings() -> None:
    with pytest.warns(PrivacyWarning, match=r"^Nothing protects the users' points"):
        PrivateDensity(epsilon=math.inf).fit(points(30))
    with pytest.warns(PrivacyWarning, match=r"^The estimate has 30 users, and noise .* about [\d,]+ users are needed"):
        PrivateDensity(bits=32).fit(points(30))


def test_what_is_clipped_is_not_told_and_all_must_be_there_who_were_planned_for() -> None:
    with pytest.warns(PrivacyWarning):
        made = PrivateDensity(epsilon=math.inf, bits=8).fit(points(30))
    assert made.estimate_.clipped_fraction is None
    sent: Any = SimpleNamespace(dimension=3, plan=SimpleNamespace(protocol=SimpleNamespace(users=4)))
    sums: Any = SimpleNamespace(users=3)
    with pytest.raises(ValueError, match=r"^sums has 3 users, but must have the users=4 "):
        PrivateDensity()._publish_vectors(sums, sent)


def test_there_is_no_logarithm_of_an_estimate_that_may_be_negative() -> None:
    made = PrivateDensity(kernel="inner-product", bits=64, random_state=0).fit(points(200))
    assert made.density(-points(50)).min() < 0.0
    assert not hasattr(made, "score_samples")
    assert "score_samples" in (PrivateDensity.__doc__ or "")
