"""E-processes: mean one under the null, growth under faults."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.bounds.eprocess import ConformanceProcess, log_evidence_path
from dpverify.statistics.conformance import Bins, choose_bins
from tests.samples import FALSE_ALARM

SMALL = DiscreteLaw.from_mapping({0: 0.5, 1: 0.3, 2: 0.2})


def noise(epsilon: float) -> DiscreteLaw:
    return DiscreteLaw.from_integer_law(laws.discrete_laplace(epsilon, 1e-18))


def test_the_e_value_has_mean_one() -> None:
    bins = Bins(SMALL, np.arange(3))
    total = 0.0
    for sequence in product(range(3), repeat=4):
        process = ConformanceProcess(bins, concentrations=(2.0, 50.0))
        total += math.prod(SMALL.pmf[list(sequence)]) * math.exp(process.update(list(sequence)))
    assert total == pytest.approx(1.0, rel=1e-12)


def test_the_path_is_that_of_the_process() -> None:
    bins, rng = choose_bins(noise(0.5), 500), np.random.default_rng(7)
    samples = noise(0.6).sample(500, rng)
    process, path = ConformanceProcess(bins), log_evidence_path(samples, bins)
    one_by_one = [process.update([sample]) for sample in samples]
    assert_allclose(path, one_by_one, atol=1e-9)
    assert process.result().p_value == pytest.approx(math.exp(-max(0.0, path.max())), rel=1e-8)
    process.update([0.5])
    assert process.result().p_value < 1e-12
    assert log_evidence_path([0.0, 0.5, 0.0], bins)[1:].tolist() == [math.inf, math.inf]


def test_the_e_process_stops_on_faults_and_seldom_else() -> None:
    bins, rng = choose_bins(noise(0.5), 5000), np.random.default_rng(8)
    alarms = sum(log_evidence_path(noise(0.5).sample(400, rng), bins).max() >= math.log(20.0) for _ in range(400))
    assert alarms <= stats.binom.isf(FALSE_ALARM, 400, 0.05)
    assert log_evidence_path(noise(0.4).sample(5000, rng), bins).max() >= math.log(1e6)
