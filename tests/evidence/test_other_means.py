"""What evidence shows, looked at by other means."""

import math

import flint
import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, RandomizedResponsePair
from dpverify.changes import Full
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.evidence.flood import published_bound
from dpverify.evidence.theorems import find
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import three_nb
from dpverify.guarantee import CapacityError, Interval, ThreatModel
from dpverify.papers.figures import recorded
from dpverify.privacy_loss.losses import pairs as laws
from protocols.vector_sum import VectorSum


@pytest.mark.parametrize("epsilon0", [1e-3, 0.1, 1.27, 6.0, 40.0])
@pytest.mark.parametrize("delta0", [0.5, 3.6e-7, 1e-12])
def test_the_bound_on_the_published_flood_is_above_what_is_exact(epsilon0: float, delta0: float) -> None:
    rest = math.log(1.0 / delta0)
    t, u = epsilon0 / (epsilon0 + rest), epsilon0 + rest
    found = [published_bound(flint.arb(t), flint.arb(u), flint.arb(y), flint.arb(0.2)) for y in (0.5, 0.8, 0.94, 0.99)]
    bounds = [math.exp(float(bound.upper())) for bound, holds in found if holds]
    assert len(bounds) >= 2
    try:
        protocol = BITSUM_CLAIMS["3nb"].published(1, epsilon0, delta0)
        exact = BITSUM_CLAIMS["3nb"].curve(protocol, Full(1), ThreatModel.COMMUNICATION).delta(epsilon0)
    except CapacityError:
        exact = Interval(0.0, 0.0)  # of a flood that is too wide to list
    assert exact.lower / delta0 <= min(bounds)
    if (epsilon0, delta0) == (1.27, 3.6e-7):
        assert 0.05 < exact.upper / delta0 < min(bounds) < 1.0


def test_a_bound_on_the_published_flood_grows_beyond_one_with_the_rate() -> None:
    t, u = 1.27 / (1.27 + 14.84), 1.27 + 14.84  # where 0.2515 is not private: no bound may be below 1 there
    for y in (0.9, 0.94, 0.96, 0.98):
        bound, _ = published_bound(flint.arb(t), flint.arb(u), flint.arb(y), flint.arb("0.2515"))
        assert bound > 0


@settings(max_examples=60)
@given(
    epsilon=st.floats(0.05, 4.0),
    share=st.floats(0.05, 0.95),
    width=st.floats(0.2, 1.0),
    log_delta=st.floats(-30.0, -1.0),
)
def test_floods_of_the_closed_form_suffice(epsilon: float, share: float, width: float, log_delta: float) -> None:
    p, delta = math.exp(-share * epsilon), math.exp(log_delta)
    flood_p = max(math.exp(-width * min(epsilon * (1.0 - share), 2.0 * share * epsilon)), p * p)  # at width 1 rounded
    shape = float(three_nb.sufficient_flood_shape(FLOATS, epsilon, delta, epsilon + math.log(p), flood_p))
    try:
        found = [pair.delta(epsilon) for pair in laws.three_nb(p, shape, flood_p)]
    except CapacityError:
        reject()
    assert max(each.lower for each in found) <= delta


def test_a_third_of_the_published_budget_is_within_the_stated_share_of_epsilon() -> None:
    # The fewest instances and the largest delta that the entry allows are the worst, not many instances.
    stated = recorded("density:composed_parameters")["repaired_factor"]
    for instances in range(1, 5):
        epsilon = math.log(2.0)  # delta = 1/2
        each = epsilon / (3.0 * math.sqrt(instances * math.log(2.0)))
        total = instances * each * math.expm1(each) + each * math.sqrt(2 * instances * math.log(4.0))
        assert total <= stated * epsilon


def test_the_noise_of_the_public_code_of_pure_has_its_own_epsilon() -> None:
    claims, figures = BITSUM_CLAIMS["pure"], recorded("bitsum:code_of_pure")
    for name, epsilon0 in (("one", 1.0), ("least", 2.0 / 768.0)):
        protocol = claims.published(30_000, epsilon0, 1e-6)
        assert math.sqrt(2.0 * protocol.p) / (1.0 - protocol.p) == pytest.approx(figures[f"noise_{name}"], rel=1e-9)


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
    assert min(gammas) == pytest.approx(recorded("vector_sum:one_level")["gamma"], rel=1e-9)


def test_the_constant_of_theorem_9_6_is_between_six_and_eight() -> None:
    # In balls, for the dataset without ones: a lower end for all datasets.
    n, delta = 13_257, 1e-16
    shares = []
    for constant in (6, 8):
        pair = RandomizedResponsePair(n, constant * math.log(1 / delta) / n / 2, 0)
        shares.append(max(hockey_stick(pair, 1, way, digits=6).upper for way in Direction) / delta)
    assert shares[0] > 1.0 > shares[1]
    (theorem,) = find("wang_lecture9-theorem-9.6-parameter")
    assert theorem.failed_hypotheses(c=6, n=n, epsilon=1.0, delta=delta)
    assert not theorem.failed_hypotheses(c=8, n=n, epsilon=1.0, delta=delta)


def test_a_third_is_enough_for_theorem_3_3_only_with_enough_instances() -> None:
    def total(log: float, instances: int) -> float:
        each = log / (3 * math.sqrt(instances * log))  # eps = ln(1/delta)
        return instances * each * math.expm1(each) + each * math.sqrt(2 * instances * (log + math.log(2)))

    assert max(total(log, math.ceil(log)) / log for log in np.geomspace(math.log(2), 1e4, 500)) < 0.8
    assert total(100.0, 1) / 100.0 == pytest.approx(1.374, abs=1e-3)
