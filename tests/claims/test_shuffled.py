import math
from dataclasses import replace

import numpy as np
import pytest

from dpverify import account
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.shuffled import ShuffledClaims
from dpverify.guarantee import ThreatModel
from dpverify.planning.amplify import amplify
from protocols.bitsum import RandomizedResponse
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.shuffled import ShuffledReports
from tests.privacy_loss.shuffled_views import divergence, rationals

THREE = ShuffledReports(LabelRandomizedResponse(3, 1.0), users=1000)


def test_it_is_registered() -> None:
    assert isinstance(mechanism_claims_of(THREE), ShuffledClaims)


def test_account_takes_it() -> None:
    found = account(THREE, delta=1e-6)
    expected = amplify("k-rr", users=1000, delta=1e-6, epsilon0=1.0, classes=3).epsilon
    assert found.epsilon.lower == pytest.approx(expected.lower, rel=1e-5)
    assert found.epsilon.upper == pytest.approx(expected.upper, rel=1e-5)
    assert found.epsilon.upper < 0.5
    assert "all others hold one input" in str(found)


def test_fewer_honest_users_are_a_smaller_crowd() -> None:
    half = account(THREE, delta=1e-6, honest=500)
    alone = account(ShuffledReports(THREE.local, 500), delta=1e-6)
    assert half.epsilon == alone.epsilon


@pytest.mark.long
def test_rounds_are_instances() -> None:
    one, four = (account(THREE, delta=1e-6, instances=instances).epsilon for instances in (1, 4))
    assert one.upper < four.upper < 4.0 * one.upper
    assert account(THREE, delta=0, instances=4).epsilon.upper == pytest.approx(4.0)


@pytest.mark.long
def test_it_composes_with_other_days() -> None:
    fewer = replace(THREE, users=500)
    twice = account(THREE, delta=1e-6, instances=2).epsilon
    mixed = account([(THREE, 1), (fewer, 1)], delta=1e-6).epsilon
    most = account(fewer, delta=1e-6, instances=2).epsilon
    assert twice.upper < mixed.upper < most.upper
    assert twice.lower < mixed.lower
    assert 0.6 * mixed.upper < mixed.lower
    noisy = account([(THREE, 2), (RandomizedResponse(1000, 0.2), 1)], delta=1e-6).epsilon
    assert twice.upper < noisy.upper


def test_shuffled_laplace_noise_is_known_for_all_values() -> None:
    protocol = ShuffledReports(LaplaceMean(epsilon=1.0, largest=7.0), users=10_000)
    found = account(protocol, delta=1e-6).epsilon
    expected = amplify("laplace", users=10_000, delta=1e-6, epsilon0=1.0).epsilon
    # Both leave out so little of delta that next to nothing is between them.
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper), rel=1e-3)
    assert account(protocol, delta=0).epsilon.upper == pytest.approx(1.0)
    with pytest.raises(ValueError, match="epsilon=200"):
        account(ShuffledReports(LaplaceMean(epsilon=200.0, largest=7.0), users=10), delta=1e-6)


def test_the_exact_divergence_of_every_dataset_is_within() -> None:
    protocol = ShuffledReports(LabelRandomizedResponse(3, 1.0), users=4)
    laws = [rationals(row) for row in protocol.local.transition]
    curve = mechanism_claims_of(protocol).one(protocol)
    truth = max(
        divergence([laws[0], *crowd], [laws[1], *crowd], 0.2)
        for crowd in ([a, b, c] for a in laws for b in laws for c in laws)
    )
    assert truth in curve.delta(0.2)


def test_reports_that_are_not_listed_count_as_seen() -> None:
    protocol = ShuffledReports(DiscreteLaplaceMean(epsilon=3.0, largest=1.0, steps=1), users=2000)
    found = account(protocol, delta=1e-5)
    assert 0.0 < found.epsilon.lower < found.epsilon.upper < 1.0


def test_the_view_forgets_the_order_only() -> None:
    protocol = ShuffledReports(LabelRandomizedResponse(3, 9.0), users=4)
    rng = np.random.default_rng(3)
    views = [protocol.run([0, 1, 2, 2], rng) for _ in range(200)]
    assert sum(sorted(view.tolist()) == [0, 1, 2, 2] for view in views) > 190
    first = np.mean([view[0] == 0 for view in views])
    assert abs(first - 0.25) < 4.0 * math.sqrt(0.25 * 0.75 / 200)


def test_what_it_cannot_know_is_told() -> None:
    with pytest.raises(TypeError, match="must be a mechanism with a method randomize"):
        ShuffledReports(object(), 3)
    with pytest.raises(ValueError, match="must have one entry for each of users=4"):
        ShuffledReports(THREE.local, 4).run([0, 1], np.random.default_rng(0))
    bitsum = ShuffledReports(RandomizedResponse(10, 0.25), 10)
    with pytest.raises(TypeError, match="must be a local mechanism"):
        ShuffledClaims().pure_epsilon(bitsum, ThreatModel.COMMUNICATION)
