"""Stability and accuracy of Algorithm 3: exact by enumeration, measured, and what the proofs promise."""

import math

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.user_level.correlated_sampling import total_variation
from dpverify.claims.user_level.stable_learner import (
    agreement,
    enough_samples,
    enough_sharpness,
    mean_disagreement,
    measured_stability,
    sample_counts,
)
from dpverify.guarantee import CapacityError
from protocols.user_level.correlated_sampling import CorrelatedSampler
from protocols.user_level.representations import Thresholds
from protocols.user_level.stable_learner import WeighedHypotheses, WeighingLearner
from tests.refusals import refused

LAW = np.array([[0.5, 0.0], [0.0, 0.2], [0.0, 0.3]])
"""Three points, of which the last two are positive."""


def test_listed_samples_have_their_law() -> None:
    counts, masses = sample_counts(LAW, 4)
    assert len(counts) == math.comb(6, 2)
    assert masses.sum() == pytest.approx(1.0, abs=1e-14)
    for count, mass in zip(counts, masses, strict=True):
        cells = count[LAW > 0]
        assert count.sum() == cells.sum() == 4
        assert mass == pytest.approx(stats.multinomial.pmf(cells, 4, LAW[LAW > 0]), rel=1e-12)
    assert len(sample_counts([[1.0, 0.0]], 5)[0]) == 1


def test_exact_stability_is_what_is_measured() -> None:
    learner, rng = WeighingLearner(Thresholds(3), 12.0), np.random.default_rng(1)
    measured = measured_stability(learner, LAW, 20, rng, draws=600, trials=40)
    public = learner.drawn(rng)
    exact = mean_disagreement(public, LAW, 20)
    # A mean over independent draws of something in [0, 1].
    rates = 1.0 - measured.agreements / 40
    assert abs(measured.disagreement - exact) <= 5.0 * rates.std() / math.sqrt(600)
    given = [agreement(learner.drawn(rng), LAW, 20) for _ in range(300)]
    assert abs(1.0 - float(np.mean(given)) - exact) <= 5.0 * np.std(given) / math.sqrt(300)


@pytest.mark.parametrize("sharpness", [1.0, 10.0, 60.0])
@pytest.mark.parametrize("samples", [1, 10, 60])
def test_the_proved_bound_covers_the_exact_stability(sharpness: float, samples: int) -> None:
    public = WeighingLearner(Thresholds(3), sharpness).drawn(np.random.default_rng(2))
    exact = mean_disagreement(public, LAW, samples)
    assert exact <= sharpness * math.sqrt(math.log(8) / (2 * samples))


def test_enough_samples_are_enough() -> None:
    for sharpness, unstable in ((0.5, 0.1), (2.0, 0.3)):
        samples = enough_samples(4, sharpness, unstable)
        assert sharpness * math.sqrt(math.log(8) / (2 * samples)) <= unstable
        assert sharpness * math.sqrt(math.log(8) / (2 * (samples - 1))) > unstable
        public = WeighingLearner(Thresholds(3), sharpness).drawn(np.random.default_rng(3))
        assert mean_disagreement(public, LAW, samples) <= unstable


@pytest.mark.parametrize("sharpness", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("deviation", [0.01, 0.1])
def test_tilts_are_no_further_apart_than_the_hyperbolic_tangent(sharpness: float, deviation: float) -> None:
    rng = np.random.default_rng(4)
    errors = rng.random((300, 6))
    moved = errors + rng.choice([-deviation, deviation], errors.shape)
    weights = [np.exp(-sharpness * each) for each in (errors, moved)]
    laws = [each / each.sum(axis=1, keepdims=True) for each in weights]
    furthest = total_variation(*laws).max()
    assert furthest <= math.tanh(sharpness * deviation / 2.0) * (1 + 1e-9)
    # Attained by two hypotheses of odds e^(-gamma t), moved apart.
    odds = math.exp(-sharpness * deviation)
    p, q = odds / (1 + odds), 1 / (1 + odds)
    assert total_variation([p, 1 - p], [q, 1 - q]) == pytest.approx(math.tanh(sharpness * deviation / 2.0))


def test_enough_sharpness_makes_it_accurate_whatever_the_law() -> None:
    learner_table = Thresholds(3).concepts
    for alpha, failure in ((0.1, 0.05), (0.25, 0.01)):
        sharpness = enough_sharpness(4, alpha, failure, reached=0.0)
        public = WeighedHypotheses(learner_table, CorrelatedSampler(np.zeros(4)), sharpness)
        for masses in np.random.default_rng(5).dirichlet([0.3, 0.3, 0.3], 200):
            law = np.zeros((3, 2))
            law[np.arange(3), [0, 1, 1]] = masses
            errors = public.errors(law)
            weights = np.exp(-sharpness * errors)
            assert weights[errors > alpha].sum() / weights.sum() <= failure
    # With three hypotheses just beyond alpha and one without error the bound is attained.
    weights = np.exp(-sharpness * np.array([0.0, alpha, alpha, alpha]))
    assert weights[1:].sum() / weights.sum() >= 0.9 * failure
    assert enough_sharpness(4, 0.1, 0.05) == pytest.approx(2.0 * enough_sharpness(4, 0.1, 0.05, reached=0.0))


def test_arguments_are_checked() -> None:
    with refused("samples=10000", CapacityError):
        sample_counts(LAW, 10_000)
    for law in ([0.5, 0.5], [[0.5, 0.6]], [[-0.5, 1.5]]):
        with pytest.raises(ValueError, match=r"^law .*must "):
            sample_counts(law, 2)
    with refused("hypotheses=1"):
        enough_sharpness(1, 0.1, 0.1)
    with pytest.raises(ValueError, match=r"^unstable=0\.0 must be"):
        enough_samples(4, 1.0, 0.0)
    with pytest.raises(ValueError, match=r"^reached=0\.2 must be"):
        enough_sharpness(4, 0.1, 0.1, reached=0.2)
