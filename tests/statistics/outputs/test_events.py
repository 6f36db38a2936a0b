"""Events that tell two laws apart, known or searched."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.statistics.outputs import events
from dpverify.statistics.outputs.events import classifier_score, likelihood_ratio_events
from tests.refusals import refused


def binomial_neighbours(trials: int, p: float) -> tuple[DiscreteLaw, DiscreteLaw]:
    """A binomial noise, which is not pure: Z + 1 against Z."""
    noise = DiscreteLaw.from_integer_law(laws.binomial(trials, p))
    return DiscreteLaw(noise.points + 1, noise.pmf.copy(), noise.outside), noise


def test_the_first_event_attains_the_divergence() -> None:
    first, second = binomial_neighbours(30, 0.3)
    everything = np.union1d(first.points, second.points)
    p, q = first.probabilities(everything), second.probabilities(everything)
    for epsilon in (0.0, 0.2, 0.6):
        events = likelihood_ratio_events(first, second, epsilon, 10**9, masses=())
        assert events.upward.tolist() == [True, False]
        gaps = events.expected[:, 0] - math.exp(epsilon) * events.expected[:, 1]
        exact = [PrivacyLossDistribution.from_pmfs(*pair).delta(epsilon).midpoint for pair in ((p, q), (q, p))]
        assert_allclose(gaps, exact, rtol=1e-9)
        # And the events are what they expect to be.
        members = events.members(everything)
        assert_allclose([p @ members[:, 0], q @ members[:, 1]], events.expected[:, 0], rtol=1e-12)


def test_rare_events_give_way_to_those_that_the_trials_meet() -> None:
    events = likelihood_ratio_events(*binomial_neighbours(1000, 0.3), 1.0, 2000, masses=(0.1,))
    assert (events.expected[:, 0] >= 10 / 2000).all()
    assert (events.expected[:, 0] > events.expected[:, 1]).all()


def test_a_classifier_finds_what_one_coordinate_does_not_show() -> None:
    # Only the parity of two counts tells the datasets apart.
    rng = np.random.default_rng(38)

    def draw(flip: float) -> np.ndarray:
        bits = rng.integers(0, 2, (4000, 2))
        bits[:, 1] = bits[:, 0] ^ (rng.random(4000) < flip)
        return bits

    score = classifier_score(draw(0.9), draw(0.1))
    assert [np.mean(score(draw(flip)) > 0) for flip in (0.9, 0.1)] == pytest.approx([0.9, 0.1], abs=0.03)


def test_counts_are_the_sums_of_the_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = binomial_neighbours(8, 0.3)
    found = likelihood_ratio_events(first, second, 0.3, 1_000)
    rng = np.random.default_rng(2)
    samples = first.sample(1_000, rng), second.sample(1_000, rng)
    likely, other = (members.sum(axis=0) for members in found.pairs(*samples))
    monkeypatch.setattr(events, "_AT_ONCE", 300)
    counts = found.counts(*samples)
    assert [counts.likely.tolist(), counts.other.tolist(), counts.trials] == [likely.tolist(), other.tolist(), 1_000]
    for many, few in (samples, (samples[0][:0], samples[1])):
        with refused("first and second"):
            found.counts(many, few[:10])
