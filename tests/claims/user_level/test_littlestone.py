"""What is claimed of tournaments and thresholds, against exact laws of what is found and against simulated runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpverify.claims.user_level.littlestone import (
    enough_batch,
    enough_examples,
    enough_runs,
    frequencies_of_law,
    stable_share,
)
from protocols.user_level.littlestone import FrequentHypotheses, FrequentLearner, VersionSpaces
from protocols.user_level.representations import DecisionLists, FiniteClass, Representation, Thresholds
from tests.samples import assert_law

POINTS = FiniteClass(np.eye(6, dtype=int))
CUBE = FiniteClass(list(itertools.product([0, 1], repeat=3)))
CLASSES = [Thresholds(3), Thresholds(7), POINTS, CUBE, DecisionLists(2)]


def random_law(representation: Representation, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Some law of examples, and the errors of what may be predicted under it."""
    weights = rng.dirichlet(np.full(representation.domain, 0.4))
    target = representation.concepts[rng.integers(len(representation.concepts))]
    law = np.zeros((representation.domain, 2))
    law[np.arange(representation.domain), target] = weights
    return law, (VersionSpaces(representation.concepts).table != target) @ weights


@pytest.mark.parametrize("representation", CLASSES, ids=str)
@pytest.mark.parametrize("batch", [1, 3, 10])
def test_some_hypothesis_is_frequent_and_no_frequent_one_is_bad(representation: Representation, batch: int) -> None:
    spaces, rng = VersionSpaces(representation.concepts), np.random.default_rng(batch)
    for _ in range(5):
        law, errors = random_law(representation, rng)
        found = frequencies_of_law(spaces, law, batch)
        assert found.max() >= 0.5**spaces.dimension
        assert found.mean(axis=0).max() >= 2.0 * stable_share(spaces.dimension)
        assert (found.mean(axis=0) <= (1.0 - errors) ** batch + 1e-12).all()


def test_the_bound_of_frequency_is_nearly_attained() -> None:
    # All labellings of three points, equally likely points and one example at a time: everything is guessed.
    law = np.zeros((3, 2))
    law[:, 1] = 1.0 / 3.0
    assert frequencies_of_law(VersionSpaces(CUBE.concepts), law, 1).max() < 4.0 * 0.5**3


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_runs_have_the_exact_law(rounds: int) -> None:
    learner, rng = FrequentLearner(Thresholds(3), share=0.3, batch=2, runs=1), np.random.default_rng(rounds)
    law = np.zeros((3, 2))
    law[[0, 1, 2], [0, 1, 1]] = 0.2, 0.3, 0.5
    exact = frequencies_of_law(learner.spaces, law, 2)[rounds]
    found = []
    for seed in range(3_000):
        # So many examples that a run never lacks any.
        points = rng.choice(3, 600, p=[0.2, 0.3, 0.5])
        public = FrequentHypotheses(learner.spaces, 2, 0.3, np.array([rounds]), np.array([seed]))
        found.append(int(public.frequencies(points, (points >= 1).astype(int)).argmax()))
    assert_law(found, dict(enumerate(exact / exact.sum())))


@pytest.mark.parametrize("representation", [Thresholds(7), POINTS], ids=str)
def test_few_runs_lack_examples(representation: Representation) -> None:
    batch, rng = 3, np.random.default_rng(2)
    spaces = VersionSpaces(representation.concepts)
    law, _ = random_law(representation, rng)
    flat = law.ravel()
    each = enough_examples(spaces.dimension, batch)
    runs = 300
    learner = FrequentLearner(representation, share=0.3, batch=batch, runs=runs)
    drawn = rng.choice(flat.size, runs * each, p=flat)
    found = learner.drawn(np.random.default_rng(7)).frequencies(drawn // 2, drawn % 2)
    assert found.max() >= stable_share(spaces.dimension)


def test_a_random_threshold_is_seldom_near_a_frequency() -> None:
    # The bound 8 s / (eta^2 (1 - 2 s / eta)) against the exact measure of thresholds that are within s of one.
    rng = np.random.default_rng(4)
    for share in (0.125, 0.3):
        for unstable in (0.1, 0.5):
            near = 7.0 / 128.0 * unstable * share**2
            for _ in range(50):
                frequencies = rng.dirichlet(np.full(rng.integers(2, 60), 0.3))
                frequencies = np.append(frequencies[:3] * 0.5, np.full(int(1 / share), 0.6 * share * rng.random()))
                cuts = np.clip(np.sort(np.concatenate([frequencies - near, frequencies + near])), share / 2, share)
                middles, widths = 0.5 * (cuts[1:] + cuts[:-1]), np.diff(cuts)
                bad = (np.abs(middles[:, np.newaxis] - frequencies).min(axis=1) <= near) @ widths
                assert bad / (share / 2) <= 0.5 * unstable + 1e-12


def test_a_sample_leads_where_its_law_does() -> None:
    # All that is proved, at once: frequencies from t runs and from the law choose the same for most thresholds.
    share, unstable, rng = 0.5, 0.5, np.random.default_rng(6)
    runs = enough_runs(share, unstable)
    learner = FrequentLearner(POINTS, share=share, batch=3, runs=1)
    disagreed = 0
    for seed in range(400):
        law, _ = random_law(POINTS, rng)
        exact = frequencies_of_law(learner.spaces, law, 3).mean(axis=0)
        assert exact.max() >= share
        public = learner.drawn(np.random.default_rng(seed))
        disagreed += public.chosen(rng.multinomial(runs, exact / exact.sum()) / runs) != public.chosen(exact)
    assert disagreed <= unstable * 400


def test_what_is_enough_are_closed_forms() -> None:
    assert [stable_share(d) for d in range(3)] == [0.5, 0.125, 1.0 / 24.0]
    for share, alpha in ((0.125, 0.1), (0.5, 0.01)):
        batch = enough_batch(share, alpha)
        assert (1.0 - alpha) ** batch <= share / 2.0 < (1.0 - alpha) ** (batch - 1)
    assert [enough_examples(d, 3) for d in range(3)] == [3, 3 + 64, 3 + 512]
    near = 7.0 / 128.0 * 0.1 * 0.125**2
    runs = enough_runs(0.125, 0.1)
    assert 2.0 * math.exp(-runs * near**2 / 2.0) <= 0.05 < 2.0 * math.exp(-(runs - 1) * near**2 / 2.0)
    for call in (
        lambda: stable_share(-1),
        lambda: enough_batch(0.0, 0.1),
        lambda: enough_batch(0.1, 1.0),
        lambda: enough_examples(1, 0),
        lambda: enough_runs(0.5, 0.0),
    ):
        with pytest.raises(ValueError, match=r"must be"):
            call()
