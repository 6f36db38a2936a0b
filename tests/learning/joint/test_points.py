"""The mean of points by one sum of vectors: its error, and when it is taken."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpverify
from dpverify.guarantee import Budget
from dpverify.learning.density import PrivateDensity
from dpverify.learning.features import PublicFeatures
from dpverify.learning.files.counters import vectors_counted
from dpverify.learning.joint import points
from dpverify.learning.joint.points import MeanDensity, PointPlan, better_points
from protocols.bitsum import NegativeBinomial
from protocols.kde import KernelDensityProtocol
from protocols.sums.vectors import UnaryVectorSum
from tests.refusals import refused
from tests.samples import sphere

USERS, DIMENSION = 20_000, 12


@pytest.fixture(scope="module")
def learned() -> PrivateDensity:
    return PrivateDensity(epsilon="1", random_state=0).fit(sphere(USERS, DIMENSION, 0))


@pytest.mark.long
def test_a_sum_of_vectors_errs_as_its_plan_says(learned: PrivateDensity) -> None:
    X, queries = sphere(USERS, DIMENSION, 0), sphere(40, DIMENSION, 1)
    assert isinstance(learned.protocol_, UnaryVectorSum)
    assert isinstance(learned.estimate_, MeanDensity)
    assert 0.99 < learned.guarantee_.epsilon <= 1.0
    assert dpverify.account(learned, delta=1e-6).epsilon.upper == learned.guarantee_.epsilon
    exact = queries @ X.mean(axis=0)
    made = PrivateDensity(epsilon="1")
    errors = [made.fit(X).density(queries) - exact for _ in range(30)]
    # 360 normal numbers: to 11 %, at 3 deviations. Bits err by the rounding of so many users, too.
    assert math.sqrt(float(np.mean(np.square(errors)))) == pytest.approx(learned.noise_, rel=0.13)
    sigma = 4.2247 / USERS
    assert 2.0 * sigma < learned.noise_ < 2.0 * sigma * 1.2
    bits = PrivateDensity(epsilon="1", sums="bits", random_state=0).fit(X[:USERS])
    assert isinstance(bits.protocol_, KernelDensityProtocol)


@pytest.mark.long
def test_parts_bring_their_noise_and_none_may_be_missing(learned: PrivateDensity) -> None:
    X, made = sphere(USERS, DIMENSION, 0), PrivateDensity(epsilon="1", random_state=0)
    groups = [X[:9_000], X[9_000:]]
    streamed = made.fit_chunks(groups, users=USERS)
    parts = [made.partial_sums(one, part=part, users=USERS) for part, one in enumerate(groups)]
    np.testing.assert_array_equal(made.fit_sums(parts[::-1]).estimate_.mean, streamed.estimate_.mean)
    assert streamed.guarantee_ == learned.guarantee_
    heard: list[tuple[int, int]] = []
    made.plan_for(parts[0], lambda *each: heard.append(each))
    assert heard == [(0, 0)]
    with pytest.raises(ValueError, match=r"^sums has 9,000 users, but must have the users=20000 it was told of\.$"):
        made.fit_sums(parts[:1])
    with refused("users=8"):
        made.partial_sums(X[:9], part=0, users=8)
    with pytest.raises(ValueError, match="same parameters"):
        PrivateDensity(epsilon="1", public_scale=2.0).fit_sums(parts)


def test_parts_of_few_users_bring_their_parts_of_the_noise() -> None:
    def planned(users: int, p: float, scale: float) -> PointPlan:
        noise: Any = NegativeBinomial(users, 3000.0, p)
        rmse = math.sqrt(3 * 2 * 3000.0 * p) / (1.0 - p) / scale
        return PointPlan(3, SimpleNamespace(protocol=UnaryVectorSum(noise, 3, scale), rmse=rmse))  # type: ignore[arg-type]

    found, X, rng = planned(300, 0.04, 15.0), sphere(300, 3, 0), np.random.default_rng(1)
    sums = (
        [vectors_counted(found.plan.protocol, None, part, None, rng) for part in (X[:100], X[100:])] for _ in range(300)
    )
    errors = [found.density(first + second).mean - X.mean(axis=0) for first, second in sums]
    # 900 numbers: to 12 %, at 5 deviations; and they are rounded, which adds 14 % at most.
    assert 0.88 < math.sqrt(float(np.mean(np.square(errors)))) / found.rmse < 1.26
    exact = planned(3, 0.0, 1e6)
    counts = vectors_counted(exact.plan.protocol, None, X[:3], None, rng)
    np.testing.assert_allclose(exact.density(counts).mean, X[:3].mean(axis=0), atol=1e-5)


def test_who_is_asked_for_vectors_needs_their_number() -> None:
    with refused("users=None"):
        PrivateDensity(sums="vectors").fit_chunks([np.ones((3, 2))])
    for settings in ({"kernel": "gaussian"}, {"epsilon": math.inf}):
        with refused("sums='vectors'"):
            PrivateDensity(sums="vectors", **settings).fit(np.ones((3, 2)))  # type: ignore[arg-type]
    with refused("sums='sums'"):
        PrivateDensity(sums="sums").fit(np.ones((3, 2)))  # type: ignore[arg-type]


@pytest.mark.long
def test_the_better_of_two_plans_is_taken_for_no_more_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    public, budget = PublicFeatures("inner-product", DIMENSION, None), Budget("1", "1e-6")
    found = better_points(public, "rr", budget, USERS)
    assert found is not None
    assert found.plan.messages_per_user <= public.drawn.coordinates
    for factor, better in ((1.001, True), (0.999, False)):
        monkeypatch.setattr(points, "rmse_of_spread_points", lambda *given, error=factor * found.rmse: error)
        assert (better_points(public, "rr", budget, USERS) is found) is better
