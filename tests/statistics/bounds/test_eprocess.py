"""E-processes: mean one under the null, growth under faults."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.bounds import eprocess
from dpverify.statistics.bounds.eprocess import ConformanceProcess
from dpverify.statistics.conformance import Bins, choose_bins
from tests.samples import FALSE_ALARM

SMALL = DiscreteLaw.from_mapping({0: 0.5, 1: 0.3, 2: 0.2})


def noise(epsilon: float) -> DiscreteLaw:
    return DiscreteLaw.from_integer_law(laws.discrete_laplace(epsilon, 1e-18))


def test_the_e_value_has_mean_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eprocess, "_CONCENTRATIONS", np.array([2.0, 50.0]))
    bins = Bins(SMALL, np.arange(3))
    total = 0.0
    for sequence in product(range(3), repeat=4):
        process = ConformanceProcess(bins)
        total += math.prod(SMALL.pmf[list(sequence)]) * math.exp(process.update(list(sequence)))
    assert total == pytest.approx(1.0, rel=1e-12)


def evidence(epsilon: float, rng: np.random.Generator, trials: int) -> float:
    """The largest log e-value over looks after every ten samples; the claim is 0.5."""
    process = ConformanceProcess(choose_bins(noise(0.5), 5000))
    return max(process.update(piece) for piece in np.split(noise(epsilon).sample(trials, rng), trials // 10))


def test_pieces_add_up_and_an_outcome_that_is_not_listed_refutes() -> None:
    bins, sample = choose_bins(noise(0.5), 500), noise(0.6).sample(500, np.random.default_rng(7))
    process, whole = ConformanceProcess(bins), ConformanceProcess(bins)
    values = [process.update(piece) for piece in np.split(sample, 50)]
    assert whole.update(sample) == pytest.approx(values[-1], abs=1e-9)
    assert process.result().p_value == pytest.approx(math.exp(-max(0.0, *values)), rel=1e-8)
    assert process.update([0.5]) == math.inf
    assert process.result().p_value < 1e-12


@pytest.mark.long
def test_the_e_process_stops_on_faults_and_seldom_else() -> None:
    rng = np.random.default_rng(8)
    alarms = sum(evidence(0.5, rng, 400) >= math.log(20.0) for _ in range(200))
    assert alarms <= stats.binom.isf(FALSE_ALARM, 200, 0.05)
    assert evidence(0.4, rng, 5000) >= math.log(1e6)
