import itertools
import math
import re
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

from protocols.bitsum import ExactSum, RandomizedResponse, ThreeNB
from protocols.kde import KernelDensity, KernelDensityProtocol
from protocols.lsq import (
    ExponentialTessellation,
    FourierPairs,
    GaussianFeatures,
    Identity,
    LaplacianBinning,
    LSQFeatures,
    RandomSigns,
)
from protocols.shuffler import shuffle
from protocols.streaming import count_bits
from tests.refusals import refused
from tests.samples import assert_law, assert_mean, assert_same_law, sphere


def by_messages(protocol: KernelDensityProtocol, points: np.ndarray, rng: np.random.Generator) -> KernelDensity:
    return protocol.analyze(shuffle(protocol.randomize(points, rng), rng))


def poisson_binomial(probabilities: np.ndarray) -> np.ndarray:
    pmf = np.ones(1)
    for q in probabilities:
        pmf = np.convolve(pmf, [1 - q, q])
    return pmf


@pytest.mark.long
@pytest.mark.parametrize(
    ("features", "points"),
    [
        (GaussianFeatures(2).sample(2, np.random.default_rng(1)), sphere(3, 2, 2)),
        (Identity(2).sample(1, np.random.default_rng(1)), np.array([[0.6, 0.8], [1.0, 0.0], [0.0, -1.0]])),
        (LaplacianBinning(2, buckets=2).sample(1, np.random.default_rng(1)), sphere(3, 2, 2)),
        (LaplacianBinning(2, buckets=2, signed=True).sample(1, np.random.default_rng(3)), sphere(3, 2, 2)),
    ],
    ids=["I=2,Q=1", "I=1,Q=2 with zero features", "one-hot", "one-hot with signs"],
)
def test_both_paths_have_the_exact_law(features: LSQFeatures, points: np.ndarray) -> None:
    p, n = 0.15, 3
    protocol = KernelDensityProtocol(RandomizedResponse(n, p), features)
    # For fixed features each report is a Bernoulli variable, so each count of ones is Poisson-binomial.
    bit = 0.5 * (1 + features.f(points).reshape(n, 2) / features.family.R)
    first, second = (poisson_binomial(column) for column in (bit * (1 - p) + (1 - bit) * p).T)
    pmf = {(i, j): float(first[i] * second[j]) for i, j in itertools.product(range(n + 1), repeat=2)}

    def reports(density: KernelDensity) -> tuple[int, ...]:
        counts = (density.published.ravel() / features.family.R + n) / 2 * (1 - 2 * p) + n * p
        np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
        return tuple(counts.round().astype(int).tolist())

    rng = np.random.default_rng(3)
    assert_law([reports(by_messages(protocol, points, rng)) for _ in range(2000)], pmf)
    assert_law([reports(protocol.simulate(points, rng, chunk_size=2)) for _ in range(2000)], pmf)


@pytest.mark.long
def test_both_paths_agree_for_many_messages_per_user() -> None:
    features = GaussianFeatures(2).sample(1, np.random.default_rng(4))
    protocol = KernelDensityProtocol(ThreeNB(2, p=0.4, flood_shape=1.0, flood_p=0.3), features)
    points, rng = sphere(2, 2, 5), np.random.default_rng(6)
    sums = [
        [round(float(run(points, rng).published[0, 0] / features.family.R)) for _ in range(3000)]
        for run in (lambda x, r: by_messages(protocol, x, r), protocol.simulate)
    ]
    assert_same_law(*sums)


@pytest.mark.parametrize("family", [GaussianFeatures(3, 0.8), RandomSigns(3)], ids=repr)
def test_mean_and_variance_of_the_estimate(family: GaussianFeatures | RandomSigns) -> None:
    # Instances are independent runs with I = 1, so their contributions give the law of one.
    instances, p = 60_000, 0.2
    x, y = sphere(5, 3, 7), 0.9 * sphere(1, 3, 8)
    n = len(x)
    features = family.sample(instances, np.random.default_rng(9))
    density = KernelDensityProtocol(RandomizedResponse(n, p), features).simulate(x, np.random.default_rng(10))
    contributions = (density.published * features.g(y)[0]).sum(axis=1) / n
    assert density(y)[0] == pytest.approx(contributions.mean(), rel=1e-9)

    kernel = family.kernel(x, y)[:, 0]
    square = float(y[0] @ y[0])
    if isinstance(family, GaussianFeatures):
        scale = family.bandwidth**2
        sums = np.square(x[:, None] + x[None] - 2 * y[0]).sum(axis=2)
        fourth, g_square = family.kernel(x, x) + 0.5 * np.exp(-sums / scale), 1.0  # E[f_u f_v g^2], E[g^2]
    else:
        fourth = square * (x @ x.T) + 2 * np.outer(kernel, kernel) - 2 * (x * y[0] ** 2) @ x.T
        g_square = square
    bitsum_variance = n * p * (1 - p) / (1 - 2 * p) ** 2
    rounding = (family.R**2 * g_square - np.diag(fourth)).sum() / n**2
    variance = fourth.sum() / n**2 - kernel.mean() ** 2 + rounding + 4 * family.R**2 * g_square * bitsum_variance / n**2
    assert_mean(contributions, kernel.mean(), variance)
    assert_mean((contributions - kernel.mean()) ** 2, variance)


def test_query_is_the_published_formula() -> None:
    features = Identity(3).sample(1, np.random.default_rng(11))
    published = np.array([[2.0, -1.0, 4.0]])
    y = np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]])
    np.testing.assert_allclose(KernelDensity(published, 10, features)(y), [1.2, 0.3])
    np.testing.assert_allclose(KernelDensity(published, 10, features)(y, chunk_size=1), [1.2, 0.3])
    assert KernelDensity(published, 10, features)(np.empty((0, 3))).shape == (0,)


def test_chunks_change_nothing() -> None:
    features = GaussianFeatures(4).sample(7, np.random.default_rng(12))
    protocol, points = KernelDensityProtocol(RandomizedResponse(50, 0.1), features), sphere(50, 4, 13)
    whole = protocol.simulate(points, np.random.default_rng(14))
    for source, size in ((points, 1), (points, 7), (iter([points[:20], points[20:21], points[21:]]), 6)):
        np.testing.assert_array_equal(
            protocol.simulate(source, np.random.default_rng(14), chunk_size=size).published, whole.published
        )


@pytest.mark.parametrize(
    "family",
    [
        GaussianFeatures(40),
        RandomSigns(40),
        Identity(40),
        LaplacianBinning(40, 40.0, buckets=50),
        ExponentialTessellation(40, 4.0, buckets=50),
    ],
    ids=repr,
)
def test_memory_does_not_grow_with_the_users(
    family: GaussianFeatures | RandomSigns | Identity | LaplacianBinning | ExponentialTessellation,
) -> None:
    features = family.sample(1 if family.deterministic else 60, np.random.default_rng(15))
    chunk_size, peaks = 256, []
    block = sphere(100, 40, 16).astype(np.float32)

    def users(count: int) -> Iterator[np.ndarray]:
        for _ in range(count // 100):
            yield np.repeat(block, 5, axis=0)[::5]

    for n in (1000, 4000):
        protocol = KernelDensityProtocol(ExactSum(n), features)
        tracemalloc.start()
        protocol.simulate(users(n), np.random.default_rng(17), chunk_size=chunk_size)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] + 20_000

    # The stated need covers one array in full chunks, and is not a wild overestimate.
    points = sphere(2000, 40, 18)
    protocol = KernelDensityProtocol(ExactSum(2000), features)
    tracemalloc.start()
    protocol.simulate(points, np.random.default_rng(19), chunk_size=chunk_size)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= protocol.memory_needed(chunk_size) <= 4 * peak


def test_clipped_fraction_is_reported() -> None:
    features = Identity(2, limit=0.5).sample(1, np.random.default_rng(21))
    protocol = KernelDensityProtocol(ExactSum(2), features)
    points = np.array([[0.1, 0.9], [0.2, 0.3]])
    assert protocol.simulate(points, np.random.default_rng(22), chunk_size=1).clipped_fraction == 0.25
    assert by_messages(protocol, points, np.random.default_rng(22)).clipped_fraction is None


def test_clipped_users_send_the_bit_of_the_range() -> None:
    features = Identity(2, limit=0.5).sample(1, np.random.default_rng(23))
    density = KernelDensityProtocol(ExactSum(1), features).simulate(np.array([[9.0, -9.0]]), np.random.default_rng(24))
    np.testing.assert_array_equal(density.published, [[0.5, -0.5]])


def test_determinism() -> None:
    protocol = KernelDensityProtocol(
        ThreeNB(4, 0.4, 1.0, 0.3), GaussianFeatures(2).sample(3, np.random.default_rng(25))
    )
    points = sphere(4, 2, 26)
    for run in (lambda rng: protocol.simulate(points, rng), lambda rng: by_messages(protocol, points, rng)):
        first, second = (run(np.random.default_rng(27)).published for _ in range(2))
        np.testing.assert_array_equal(first, second)


def test_bad_inputs() -> None:
    features = GaussianFeatures(2).sample(3, np.random.default_rng(28))
    protocol, rng = KernelDensityProtocol(ExactSum(4), features), np.random.default_rng(29)
    for wrong in (3, 5):
        for run in (protocol.simulate, protocol.randomize):
            with pytest.raises(
                ValueError, match=rf"^points holds {wrong} users, but must hold exactly bitsum\.users=4"
            ):
                run(sphere(wrong, 2, 30), rng)
    points = sphere(4, 2, 31)
    points[3, 1] = math.inf
    with pytest.raises(ValueError, match=r"^points\[2:\]\[1, 1\]=inf must be a finite number"):
        protocol.simulate(points, rng, chunk_size=2)
    with pytest.raises(ValueError, match=r"^points has a part of shape \(2,\)"):
        protocol.simulate([[1.0, 2.0]], rng)
    with refused("chunk_size=0"):
        protocol.simulate(points, rng, chunk_size=0)
    with pytest.raises(TypeError, match=r"^rng=None must be"):
        protocol.simulate(points, None)
    with pytest.raises(ValueError, match=r"^shuffled has shape \(3,\)"):
        protocol.analyze([1, 0, 1])
    with pytest.raises(TypeError, match=r"^shuffled has dtype float64"):
        protocol.analyze([[1.0, math.nan]])
    with pytest.raises(ValueError, match=r"^shuffled has the tag 3, which must be in \[0, 3\)\.$"):
        protocol.analyze([[1, 0], [0, 3]])
    with pytest.raises(ValueError, match=r"^symbols contains 2"):
        protocol.analyze([[2, 0]])
    with pytest.raises(ValueError, match=r"^queries\[0, 1\]=nan must be a finite number"):
        KernelDensity(np.ones((3, 1)), 4, features)(np.array([[0.0, math.nan]]))


def test_counts_must_fit_the_protocol() -> None:
    features = GaussianFeatures(3).sample(6, np.random.default_rng(0))
    protocol = KernelDensityProtocol(RandomizedResponse(60, 0.1), features)
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match=r"holds 20 users, but must hold exactly bitsum\.users=60"):
        protocol.publish(count_bits(features, sphere(20, 3, 1), rng), rng)
    fewer = GaussianFeatures(3).sample(5, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"^counts has 5 bitsums, but must have the 6 of the features\.$"):
        protocol.publish(count_bits(fewer, sphere(60, 3, 1), rng), rng)


def test_what_is_no_protocol_is_one_sentence() -> None:
    features = FourierPairs(3).sample(8, np.random.default_rng(0))
    bitsum = RandomizedResponse(4, 0.1)
    for call, said in (
        (lambda: KernelDensityProtocol(None, features), "bitsum=None must be a BitsumProtocol."),
        (lambda: KernelDensityProtocol(bitsum, FourierPairs(3)), "features=FourierPairs("),
        (
            lambda: KernelDensityProtocol(bitsum, features).publish(None, np.random.default_rng(0)),
            "counts=None must be BitCounts, as count_bits returns them.",
        ),
    ):
        with pytest.raises(TypeError, match=rf"^{re.escape(said)}"):
            call()
