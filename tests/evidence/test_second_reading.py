"""What a second reading of the documents added, looked at by other means than its evidence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, RandomizedResponsePair
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.evidence.theorems import find, theorems
from dpverify.papers.figures import recorded
from dpverify.papers.theorem import Verdict
from protocols.vector_sum import VectorSum

FOUND = {theorem.name: theorem for theorem in theorems()}


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("wagner2025-theorem-3.3-efficiency", Verdict.HOLDS_WITH_CONDITION),
        ("wagner2025 equation 2", Verdict.HOLDS),
        ("wagner2025 equation 3", Verdict.HOLDS),
        ("ghazi2021 equation 4", Verdict.HOLDS),
        ("wagner2025-b2", Verdict.HOLDS_WITH_CONDITION),
        ("scott2022-corollary-4.7", Verdict.FAILS),
        ("footnote-4", Verdict.PROOF_WRONG),
        ("4.6-existence", Verdict.HOLDS_WITH_CONDITION),
    ],
)
def test_what_was_missing_is_found(words: str, verdict: Verdict) -> None:
    assert verdict in {theorem.verdict for theorem in find(words)}


def test_the_estimate_of_corollary_4_7_has_the_mean_of_the_vectors() -> None:
    # Algorithm 3, which divides by no t/d. False alarm: five standard errors, below 1e-6.
    n, d, t, rng = 40, 5, 2, np.random.default_rng(3)
    protocol = VectorSum(n, d, 3, 0.3, sampled=t)
    vectors = np.tile(np.linspace(0.2, 1.0, d), (n, 1))
    z = np.stack([protocol.run(vectors, rng) * t / d for _ in range(4000)])
    estimates = d / n * z
    errors = 5.0 * estimates.std(axis=0) / math.sqrt(len(z))
    assert (abs(estimates.mean(axis=0) - t * vectors.mean(axis=0)) < errors).all()
    assert (abs(estimates.mean(axis=0) - d * vectors.mean(axis=0)) > errors).all()


def test_the_messages_at_the_least_error_are_those_of_the_twin() -> None:
    n, delta = 10**4, 1e-6
    root = math.sqrt(math.log(1 / delta))
    for name, alpha in (("least", root / n), ("tenth", 0.1)):
        protocol = BITSUM_CLAIMS["3nb"].published(n, alpha / root, delta / (2 * math.ceil(alpha**-2)))
        stated = recorded("bitsum:cost_at_least_error")[f"{name}_messages"]
        assert BITSUM_CLAIMS["3nb"].messages_per_user(protocol) == pytest.approx(float(stated), rel=1e-6)


def test_no_level_gives_theorem_4_1_a_probability_where_the_entry_says_so() -> None:
    d, n, epsilon, delta = 100, 50_000, 0.95, 0.01
    gammas = [56 * d * k * math.log(1 / delta) * math.log(2 / delta) / ((n - 1) * epsilon**2) for k in (1, 2, 3)]
    assert min(gammas) == pytest.approx(3.03, abs=0.005)
    assert "needs gamma 3.03" in FOUND["scott2022-theorem-4.6-existence"].finding


def test_the_constant_of_theorem_9_6_is_between_six_and_eight() -> None:
    # In balls, for the dataset without ones: a lower end for all datasets.
    n, delta = 13_257, 1e-16
    shares = []
    for constant in (6, 8):
        pair = RandomizedResponsePair(n, constant * math.log(1 / delta) / n / 2, 0)
        shares.append(max(hockey_stick(pair, 1, way, digits=6).upper for way in Direction) / delta)
    assert shares[0] > 1.0 > shares[1]
    theorem = FOUND["wang_lecture9-theorem-9.6-parameter"]
    assert theorem.failed_hypotheses(c=6, n=n, epsilon=1.0, delta=delta)
    assert not theorem.failed_hypotheses(c=8, n=n, epsilon=1.0, delta=delta)


def test_a_third_is_enough_for_theorem_3_3_only_with_enough_instances() -> None:
    def total(log: float, instances: int) -> float:
        each = log / (3 * math.sqrt(instances * log))  # eps = ln(1/delta)
        return instances * each * math.expm1(each) + each * math.sqrt(2 * instances * (log + math.log(2)))

    assert max(total(log, math.ceil(log)) / log for log in np.geomspace(math.log(2), 1e4, 500)) < 0.8
    assert total(100.0, 1) / 100.0 == pytest.approx(1.374, abs=1e-3)


def test_figures_of_the_error_include_that_of_sampling() -> None:
    # For x = 1 and gamma = 0 a coordinate that one of d users samples has the error d - 1 per user.
    assert "with the power 2.11 from" in FOUND["scott2022-figure-2-dimension"].finding
    assert "falls 77 times" in FOUND["scott2022-figure-2-users"].finding
    assert FOUND["scott2022-figure-2-users"].verdict is Verdict.OPEN
