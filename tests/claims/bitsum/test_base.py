import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from dpverify.claims.bitsum import claims_of
from dpverify.claims.bitsum.baselines import CentralGaussianClaims
from dpverify.claims.bitsum.pure import PureClaims
from dpverify.claims.bitsum.randomized_response import RandomizedResponseClaims
from dpverify.claims.bitsum.three_nb import ThreeNBClaims
from dpverify.guarantee import CapacityError
from dpverify.laws.discrete import NoLawError
from dpverify.planning.account import account
from dpverify.privacy_loss.losses import pairs
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.statistics.conformance import choose_bins, g_test
from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.baselines import (
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    CentralGaussian,
    LocalRandomizedResponse,
)
from protocols.bitsum.negative_binomial import Estimate, NegativeBinomial
from protocols.bitsum.poisson import Poisson
from protocols.bitsum.pure import Pure
from protocols.bitsum.randomized_response import RandomizedResponse
from protocols.bitsum.three_nb import ThreeNB
from tests.refusals import refused
from tests.samples import FALSE_ALARM

PROTOCOLS = [
    RandomizedResponse(20, 0.2),
    ThreeNB(10, 0.6, 2.5, 0.7),
    ThreeNB(10, 0.6, 2.5, 0.7, shape=2.0),
    NegativeBinomial(10, 3.5, 0.4),
    NegativeBinomial(10, 3.5, 0.4, estimate=Estimate.UNDER),
    Poisson(10, 4.0, estimate=Estimate.OVER),
    Pure(10, 0.5, 0.1, 1.5, 0.3),
    CentralDiscreteLaplace(10, 0.5),
    CentralDiscreteGaussian(10, 2.0),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: type(protocol).__name__)
@pytest.mark.parametrize("participants", [None, 6])
def test_views_and_estimates_follow_their_laws(protocol: BitsumProtocol, participants: int | None) -> None:
    rng, trials, ones = np.random.default_rng(61), 20_000, 4
    claims = claims_of(protocol)
    views = protocol.sample_view(np.full(trials, ones), rng, participants=participants)
    for law, samples in (
        (claims.view_law(protocol, ones, participants), views),
        (claims.estimate_law(protocol, ones, participants), protocol.analyze(views)),
    ):
        # Simulated p-values do not reach 1e-6: look at G itself, with room for its law not being chi-square.
        result = g_test(samples, choose_bins(law, trials, most=40), rng, simulations=1)
        assert result.details["unlisted"] == 0
        freedom = result.details["cells"] - 1
        assert result.details["statistic"] <= stats.chi2.isf(FALSE_ALARM / 100, freedom)
        assert law.outside < 1e-15


@pytest.mark.parametrize(
    "protocol",
    [p for p in PROTOCOLS if getattr(p, "estimate", None) not in {Estimate.OVER, Estimate.UNDER}],
    ids=lambda protocol: type(protocol).__name__,
)
def test_moments_are_those_that_the_twins_claim(protocol: BitsumProtocol) -> None:
    law = claims_of(protocol).estimate_law(protocol, protocol.users)
    assert law.mean == pytest.approx(protocol.users, rel=1e-9)
    assert math.sqrt(law.variance) == pytest.approx(claims_of(protocol).rmse(protocol), rel=1e-9)


def test_two_count_views_have_the_divergence_of_the_exact_pairs() -> None:
    protocol = ThreeNB(10, 0.6, 2.5, 0.7)
    one, zero = (claims_of(protocol).view_law(protocol, ones) for ones in (1, 0))
    points = np.unique(np.concatenate([one.points, zero.points]), axis=0)
    p, q = one.probabilities(points), zero.probabilities(points)
    exact = pairs.three_nb(0.6, 2.5, 0.7)
    for epsilon in (0.0, 0.3, 0.55):
        for pair, engine in (((p, q), exact.up), ((q, p), exact.down)):
            mine = PrivacyLossDistribution.from_pmfs(*pair, relative_error=1e-9).delta(epsilon).midpoint
            assert mine == pytest.approx(engine.delta(epsilon).midpoint, rel=1e-6)


def test_what_has_no_law_here_is_refused() -> None:
    with refused("protocol", NoLawError):
        CentralGaussianClaims().estimate_law(CentralGaussian(5, 1.0), 2)
    with refused("ones=11"):
        ThreeNBClaims().estimate_law(PROTOCOLS[1], 11)
    with pytest.raises(ValueError, match=r"cells, but at most 4194304 are allowed\.$"):
        ThreeNBClaims().view_law(ThreeNB(10, 0.999, 1.0, 0.9), 0)


def test_laplace_difference_matches_two_geometrics() -> None:
    direct = ThreeNBClaims().estimate_law(ThreeNB(10, 0.6, 2.5, 0.7), 3)
    geometric = 0.4 * 0.6 ** np.arange(200)
    both = np.convolve(geometric, geometric[::-1])
    assert_allclose(direct.probabilities(np.arange(-20, 21) + 3.0), both[199 - 20 : 199 + 21], rtol=1e-12)


def test_rare_flips_and_drops_keep_their_probability() -> None:
    """Bin(k, 1-p) at the rounded 1-p would flip with a probability that is off by 1e-16 / p, relatively."""
    p = 1e-13
    law = RandomizedResponseClaims().view_law(RandomizedResponse(3, p), 3)
    for row, mass in zip(law.points.tolist(), law.pmf.tolist(), strict=True):
        exact = math.comb(3, row[0]) * Fraction(p) ** row[0] * (1 - Fraction(p)) ** row[1]
        assert mass == pytest.approx(float(exact), rel=1e-13, abs=0)
    # Without any noise: the counts of +1 are those of the undropped bits.
    quiet, drop = Pure(4, 0.0, 1e-15, 1.0, 0.0), Fraction(1e-15)
    for found in (
        PureClaims().marginals(quiet, 4)["count of +1"].pmf,
        PureClaims().view_law(quiet, 4).pmf,
        PureClaims().estimate_law(quiet, 4).pmf,
    ):
        assert found[-2:] == pytest.approx(
            [float(4 * drop * (1 - drop) ** 3), float((1 - drop) ** 4)], rel=1e-13, abs=0
        )


def test_users_send_as_many_messages_as_their_twin_allows() -> None:
    rng = np.random.default_rng(17)
    for protocol in PROTOCOLS:
        fewest, most = claims_of(protocol).messages_range(protocol)
        if protocol.alphabet:
            bits = np.arange(protocol.users) % 2
            sent = np.bincount(protocol.randomize(bits, rng).senders, minlength=protocol.users)
            assert fewest <= sent.min() <= sent.max() <= most
    assert RandomizedResponseClaims().messages_range(RandomizedResponse(20, 0.2)) == (1, 1)


NOISELESS = [
    RandomizedResponse(10, 0.0),
    Poisson(10, 0.0),
    NegativeBinomial(10, 1.0, 0.0),
    ThreeNB(10, 0.0, 1.0, 0.5),
    Pure(10, 0.0),
    CentralDiscreteLaplace(10, 0.0),
    LocalRandomizedResponse(10, 0.0),
]


@pytest.mark.parametrize("protocol", NOISELESS, ids=lambda protocol: type(protocol).__name__)
def test_without_noise_all_is_revealed(protocol: BitsumProtocol) -> None:
    found = account(protocol, epsilon=3.0)
    assert (found.delta.lower, found.delta.upper) == (1.0, 1.0)
    for delta in (0.0, 0.5):
        assert account(protocol, delta=delta).epsilon.lower == math.inf
    with pytest.raises(CapacityError, match=r"=0\.0 must be positive"):
        account(protocol, instances=2, squared_change=0.5, delta=1e-6)
