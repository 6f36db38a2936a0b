"""How many messages a user sends: the exact law against an inverted generating function, and against simulation."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.bitsum import BITSUM_CLAIMS, claims_of
from dpverify.claims.histogram import HistogramClaims
from dpverify.claims.shared.buckets import under_estimating
from dpverify.claims.shared.communication import communication, message_bits
from dpverify.laws.messages import MessagesLaw
from protocols.bitsum import (
    BitsumProtocol,
    CentralGaussian,
    Estimate,
    ExactSum,
    LocalRandomizedResponse,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.histogram import Histogram
from tests.refusals import refused
from tests.samples import FALSE_ALARM

USERS = 6
SILENT = [NegativeBinomial(USERS, 3.5, 0.4), Poisson(USERS, 4.0), ThreeNB(USERS, 0.6, 2.5, 0.7, shape=2.0)]
PROTOCOLS: list[BitsumProtocol] = [
    *SILENT,
    NegativeBinomial(USERS, 3.5, 0.4, estimate=Estimate.UNDER),
    Pure(USERS, 0.5, 0.3, 1.5, 0.6),
    Pure(USERS, 0.5, 0.3),
    RandomizedResponse(USERS, 0.2),
]


def generating_function(protocol: BitsumProtocol, s: np.ndarray, bit: float) -> np.ndarray:
    """E s^(messages of one user in one instance) from the protocol's description."""

    def nb(shape: float, p: float, at: np.ndarray) -> np.ndarray:
        return ((1 - p) / (1 - p * at)) ** (shape / USERS)

    if isinstance(protocol, NegativeBinomial):
        return (1 - bit + bit * s) * nb(protocol.shape, protocol.p, s)
    if isinstance(protocol, Poisson):
        return (1 - bit + bit * s) * np.exp(protocol.mean / USERS * (s - 1))
    if isinstance(protocol, Pure):
        return generating_function(protocol.noise, s, bit * (1 - protocol.drop_probability))
    if isinstance(protocol, ThreeNB):
        own = nb(protocol.shape, protocol.p, s) ** 2
        return (1 - bit + bit * s) * own * nb(protocol.flood_shape, protocol.flood_p, s**2)
    return s


def assert_chances(law: MessagesLaw, counts: np.ndarray) -> None:
    """Independent counts have this law: a binomial test of how many exceed each number, Bonferroni."""
    numbers = range(-1, int(counts.max()) + 1)
    for number in numbers:
        chance = law.chance_above(number).midpoint
        p_value = stats.binomtest(int((counts > number).sum()), len(counts), chance).pvalue
        assert p_value > FALSE_ALARM / len(numbers), (number, chance, p_value)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
@pytest.mark.parametrize(("instances", "bit"), [(1, 0.0), (1, 1.0), (3, 0.5), (40, 1.0)])
def test_law_against_the_inverted_generating_function(protocol: BitsumProtocol, instances: int, bit: float) -> None:
    law = claims_of(protocol).messages_law(protocol, instances, bit)
    points = np.exp(-2j * np.pi * np.arange(2048) / 2048)
    pmf = np.fft.ifft(generating_function(protocol, points, bit) ** instances).real
    for count in range(-1, 120):
        chance = law.chance_above(count)
        assert chance.lower - 1e-13 <= pmf[count + 1 :].sum() <= chance.upper + 1e-13
        assert chance.width <= 1e-11 * chance.upper + 1e-17
    mean = instances * claims_of(protocol).messages_per_user(protocol, bit)
    assert law.mean == pytest.approx(mean, rel=1e-12)
    assert mean == pytest.approx(pmf @ np.arange(2048), rel=1e-9, abs=1e-8)
    assert law.variance == pytest.approx(pmf @ (np.arange(2048) - mean) ** 2, rel=1e-9, abs=1e-7)


@pytest.mark.long
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_law_against_simulated_users(protocol: BitsumProtocol) -> None:
    rng, runs, instances, bit = np.random.default_rng(71), 1500, 3, 0.3
    counts = np.array(
        [
            sum(
                protocol.randomize((rng.random(USERS) < bit).astype(int), rng).per_user(USERS) for _ in range(instances)
            )
            for _ in range(runs)
        ]
    ).ravel()
    counted = 1 - bit if getattr(protocol, "estimate", None) is Estimate.UNDER else bit
    assert_chances(claims_of(protocol).messages_law(protocol, instances, counted), counts)


def test_histogram_users_send_one_message_per_other_bucket_and_noise() -> None:
    protocol, rng = Histogram(under_estimating(USERS, 2.0, 0.5), 4), np.random.default_rng(72)
    law = HistogramClaims().messages_law(protocol)
    assert law.mean == pytest.approx(HistogramClaims().messages_per_user(protocol), rel=1e-12)
    values = [0, 1, 1, 3, 2, 0]
    assert_chances(law, np.concatenate([protocol.randomize(values, rng).per_user(USERS) for _ in range(800)]))


def test_a_likely_most_is_the_least() -> None:
    for protocol in SILENT:
        law = claims_of(protocol).messages_law(protocol, 10)
        most = law.exceeded_with_chance(1e-7)
        assert law.chance_above(most).upper <= 1e-7 < law.chance_above(most - 1).upper


def test_wide_floods_are_fast_and_heavy() -> None:
    # Parameters of wagner2025 at eps = 2 for 768 instances: windows of 10^5 and more.
    protocol = BITSUM_CLAIMS["3nb"].published(30_000, 0.0134, 6.5e-10)
    row = communication(protocol, 768)
    assert row.expected_messages == pytest.approx(768 * claims_of(protocol).messages_per_user(protocol), rel=1e-12)
    assert row.deviation > 0.2 * row.expected_messages
    assert row.likely_most > row.expected_messages + 5 * row.deviation
    assert row.bits_per_message == 11


def test_rows_and_bits() -> None:
    for protocol in (RandomizedResponse(9, 0.2), LocalRandomizedResponse(9, 0.2), CentralGaussian(9, 1.0)):
        row = communication(protocol, 7)
        assert (row.expected_messages, row.deviation, row.likely_most, row.expected_bits) == (7.0, 0.0, 7, 28.0)
        assert row.silence.upper < 1e-13
        assert json.loads(json.dumps(row.to_dict()))["bits_per_message"] == 4
    for name in ("rr", "3nb", "pure"):
        protocol = next(p for p in PROTOCOLS if claims_of(p).name == name)
        for d in (1, 2, 3, 384, 768, 1024):
            assert message_bits(protocol, d) == math.ceil(math.log2(d)) + 1
    # Messages without content carry the tag alone, and cannot be shorter than a bit.
    assert [message_bits(SILENT[0], d) for d in (1, 2, 768)] == [1, 1, 10]
    row = communication(SILENT[1], 2, fraction_of_ones=0.0)
    assert row.silence.midpoint == pytest.approx(math.exp(-2 * 4.0 / USERS), rel=1e-12)


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match=r"has no claims"):
        communication(ExactSum(3))
    with refused("instances=0"):
        communication(SILENT[0], 0)
    with refused("fraction_of_ones=1.5"):
        communication(SILENT[0], fraction_of_ones=1.5)
    for chance in (0.0, 1.0):
        with refused("chance"):
            communication(SILENT[0], chance=chance)
