import tracemalloc

import numpy as np
import pytest
from scipy import stats

from dpverify.planning.account import account
from protocols.bitsum.negative_binomial import Estimate, NegativeBinomial, SingleNoise
from protocols.bitsum.poisson import Poisson
from protocols.bitsum.randomized_response import RandomizedResponse
from protocols.histogram import Histogram
from protocols.shuffler import shuffle
from tests.refusals import refused
from tests.samples import assert_law, assert_mean, assert_same_law, rows

VALUES = np.array([0, 2, 2, 1, 2])
COUNTS = np.bincount(VALUES, minlength=4)
BITSUMS = [NegativeBinomial(5, 2.0, 0.4, estimate=Estimate.UNDER), Poisson(5, 1.3, estimate=Estimate.UNDER)]


@pytest.mark.long
@pytest.mark.parametrize("bitsum", BITSUMS)
def test_messages_and_aggregates_have_one_law(bitsum: SingleNoise) -> None:
    rng, protocol = np.random.default_rng(1), Histogram(bitsum, 4)
    sent = np.stack([protocol.view(shuffle(protocol.randomize(VALUES, rng), rng)) for _ in range(3000)])
    sampled = protocol.sample_view(np.tile(COUNTS, (6000, 1)), rng)
    for bucket in range(4):
        assert_same_law(sent[:, bucket].tolist(), sampled[:, bucket].tolist())
    # Two buckets at once would show a dependence between them.
    assert_same_law(rows(sent[:, :2] > 4), rows(sampled[:, :2] > 4))


@pytest.mark.parametrize("bitsum", BITSUMS)
def test_never_overestimates_and_never_negative(bitsum: SingleNoise) -> None:
    rng, protocol = np.random.default_rng(2), Histogram(bitsum, 4)
    views = protocol.sample_view(np.tile(COUNTS, (5000, 1)), rng)
    estimates = protocol.analyze(views)
    assert (estimates <= COUNTS).all()
    assert (estimates >= 0.0).all()
    assert (estimates[:, 3] == 0.0).all()
    # Below zero it is the clipped noise only: unclipped, the shortfall is the noise itself.
    assert_mean(COUNTS - protocol.estimates(views), np.full(4, bitsum.noise_mean))


def test_shortfall_is_the_negative_binomial() -> None:
    protocol = Histogram(NegativeBinomial(5, 2.0, 0.4, estimate=Estimate.UNDER), 4)
    views = protocol.sample_view(np.tile(COUNTS, (20_000, 1)), np.random.default_rng(3))
    shortfall = (COUNTS[2] - protocol.estimates(views)[:, 2]).astype(int)
    pmf = {z: float(stats.nbinom.pmf(z, 2.0, 0.6)) for z in range(12)}
    pmf[12] = 1.0 - sum(pmf.values())
    assert_law(np.minimum(shortfall, 12).tolist(), pmf)


def test_run_without_noise_is_exact() -> None:
    protocol = Histogram(NegativeBinomial(5, 2.0, 0.0, estimate=Estimate.UNDER), 4)
    assert protocol.run(VALUES, np.random.default_rng(4)).tolist() == COUNTS.tolist()


@pytest.mark.parametrize("bitsum", [RandomizedResponse(5, 0.1), NegativeBinomial(5, 2.0, 0.4), None])
def test_bitsum_must_underestimate(bitsum: object) -> None:
    with refused("bitsum"):
        Histogram(bitsum, 4)


def test_arguments_are_checked() -> None:
    protocol, rng = Histogram(BITSUMS[0], 4), np.random.default_rng(5)
    with refused("buckets=1"):
        Histogram(BITSUMS[0], 1)
    with pytest.raises(ValueError, match=r"^values\[1\]=4 must be in \[0, 4\)\.$"):
        protocol.randomize([0, 4, 1, 1, 1], rng)
    with pytest.raises(ValueError, match=r"^values has shape \(2,\), but must have shape \(5,\)\.$"):
        protocol.randomize([0, 1], rng)
    with pytest.raises(TypeError, match=r"^values has dtype float64"):
        protocol.randomize([0.0] * 5, rng)
    with pytest.raises(ValueError, match=r"^counts sums to 4, but must sum to bitsum\.users=5\.$"):
        protocol.sample_view([1, 1, 1, 1], rng)
    with pytest.raises(ValueError, match=r"^counts has shape"):
        protocol.sample_view([5], rng)
    with pytest.raises(ValueError, match=r"^view has shape \(3,\)"):
        protocol.analyze([1, 2, 3])
    with pytest.raises(ValueError, match=r"^symbols contains \[1, 4\]"):
        protocol.view([[1, 4]])


def test_messages_are_counted_bucket_by_bucket() -> None:
    """All of them at once would be 100 times as many; the counts are those of all, shuffled."""
    users, buckets = 2_000, 200
    protocol = Histogram(NegativeBinomial(users, 2.0, 0.4, estimate=Estimate.UNDER), buckets)
    values = np.arange(users) % buckets
    sent = protocol.randomize(values, np.random.default_rng(8))
    expected = protocol.analyze(protocol.view(shuffle(sent, np.random.default_rng(9))))
    tracemalloc.start()
    found = protocol.run(values, np.random.default_rng(8))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found, expected)
    assert peak < sent.symbols.nbytes / 10


def test_the_example_has_an_account() -> None:
    assert 'NegativeBinomial(users=1000, shape=40.0, p=0.5, estimate="under"), buckets=3' in str(Histogram.__doc__)
    example = Histogram(NegativeBinomial(users=1000, shape=40.0, p=0.5, estimate=Estimate.UNDER), buckets=3)
    assert account(example, delta=1e-6).epsilon.upper < 10
