"""What users who send what they like can add: the attack reaches the bound, and nothing exceeds it."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dpverify.claims.attacks.manipulation import Manipulation, density_manipulation, honest_norm, manipulation
from protocols.bitsum import (
    BitsumProtocol,
    CentralGaussian,
    Estimate,
    LocalRandomizedResponse,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.histogram import Histogram
from protocols.kde import KernelDensityProtocol
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from protocols.lsq import GaussianFeatures
from protocols.rappor.decoder import BitCounts
from protocols.rappor.response import Rappor
from protocols.shuffler import shuffle
from protocols.sums import AugmentedSum, PoissonSum, SplitAndMix
from protocols.sums.vectors import UnaryVectorSum
from protocols.vector_sum import VectorSum
from tests.samples import sphere

USERS, MALICIOUS = 30, 4
BITSUMS = (
    RandomizedResponse(USERS, 0.3),
    LocalRandomizedResponse(USERS, 0.45),
    NegativeBinomial(USERS, 9.0, 0.5),
    NegativeBinomial(USERS, 9.0, 0.5, estimate=Estimate.UNDER),
    Poisson(USERS, 20.0, estimate=Estimate.OVER),
    ThreeNB(USERS, 0.5, 3.0, 0.7),
    Pure(USERS, 0.5, 0.2, 3.0, 0.7),
)


@pytest.mark.parametrize("protocol", BITSUMS, ids=repr)
@pytest.mark.parametrize("cap", [1, 5])
def test_the_attack_moves_a_sum_by_the_bound_and_no_messages_by_more(protocol: BitsumProtocol, cap: int) -> None:
    rng = np.random.default_rng(1)
    found = manipulation(protocol, MALICIOUS, cap)
    bits = np.arange(USERS - MALICIOUS) % 3 == 0
    honest = shuffle(protocol.randomize(bits, rng), rng)
    alone = float(protocol.analyze(protocol.view(honest)))

    def added(forged: list[int]) -> float:
        together = np.concatenate([honest, np.array(forged, dtype=honest.dtype)])
        return float(protocol.analyze(protocol.view(together))) - alone

    each = 1 if isinstance(protocol, RandomizedResponse) else cap
    attacks = [added([symbol] * each * MALICIOUS) for symbol in protocol.alphabet] + [0.0]
    assert_allclose([min(attacks), max(attacks)], [found.lower, found.upper], rtol=1e-12, atol=1e-11)
    for _ in range(200):
        size = rng.integers(0, each * MALICIOUS + 1)
        moved = added(rng.choice(protocol.alphabet, size).tolist())
        assert found.lower - 1e-11 <= moved <= found.upper + 1e-11
    with pytest.raises(ValueError, match="symbols contains 9"):  # reports outside the alphabet are refused
        added([9])


def test_randomized_response_is_moved_by_the_factor_of_its_debiasing() -> None:
    p = 0.3
    found = manipulation(RandomizedResponse(USERS, p), 1)
    assert (found.lower, found.upper) == pytest.approx((-p / (1 - 2 * p), (1 - p) / (1 - 2 * p)))
    # A cap does not matter: one report is all that the shuffler accepts.
    assert manipulation(RandomizedResponse(USERS, p), 1, cap=7) == found


def test_without_a_cap_nothing_bounds_noise_messages() -> None:
    three = manipulation(ThreeNB(USERS, 0.5, 3.0, 0.7), 1)
    assert (three.lower, three.upper) == (-math.inf, math.inf)
    single = manipulation(Poisson(USERS, 20.0), 1)
    assert (single.lower, single.upper) == (0.0, math.inf)
    assert manipulation(Poisson(USERS, 20.0), 0).to_dict() == {"malicious": 0, "lower": 0.0, "upper": 0.0}
    # A curator takes one bit of each.
    assert manipulation(CentralGaussian(USERS, 3.0), 5).upper == 5.0


def test_a_histogram_falls_in_one_bucket() -> None:
    protocol = Histogram(NegativeBinomial(USERS, 9.0, 0.5, estimate=Estimate.UNDER), 3)
    found = manipulation(protocol, 2, cap=6)
    assert (found.lower, found.upper) == (-12.0, 0.0)
    before = protocol.estimates(np.array([4, 5, 6]))
    assert (protocol.estimates(np.array([4, 5, 6 + 12])) - before).tolist() == [0.0, 0.0, found.lower]


@pytest.mark.parametrize("centre", [0.0, 0.5])
def test_a_vector_sum_is_moved_in_one_coordinate(centre: float) -> None:
    protocol = VectorSum(USERS, 5, 3, 0.2, sampled=2, centre=centre)
    found = manipulation(protocol, 3)
    view = np.ones((5, 4), dtype=np.int64)
    before = protocol.analyze(view)
    moved = []
    for value in range(4):
        forged = view.copy()
        forged[1, value] += 3 * protocol.sampled
        moved.append(float((protocol.analyze(forged) - before)[1]))
    assert_allclose([min(moved), max(moved)], [found.lower, found.upper], rtol=1e-9)


def test_a_density_is_moved_at_a_query_by_the_bound() -> None:
    rng = np.random.default_rng(3)
    features = GaussianFeatures(2, 1.0).sample(6, rng)
    queries = rng.normal(size=(4, 2))
    for bitsum, cap, low, high in ((RandomizedResponse(USERS, 0.3), None, 0, 1), (Poisson(USERS, 20.0), 4, None, 1)):
        protocol = KernelDensityProtocol(bitsum, features)
        least, most = density_manipulation(protocol, 2, queries, cap)
        each = 1 if cap is None else cap
        kept = rng.integers(0, USERS - 2, features.coordinates)
        honest = bitsum.sample_view(kept, np.random.default_rng(4), participants=USERS - 2)
        before = protocol._publish(honest)(queries)
        for sign, bound in ((1.0, most), (-1.0, least)):
            for at, query in enumerate(queries):
                wanted = sign * features.g(query[np.newaxis]).ravel() > 0.0
                forged = honest.copy()
                if low is None:
                    forged[:, 0] += 2 * each * wanted
                else:
                    forged[:, high] += 2 * wanted
                    forged[:, low] += 2 * ~wanted
                moved = (protocol._publish(forged)(queries) - before)[at]
                assert moved == pytest.approx(bound[at], rel=1e-9, abs=1e-12)
    unbounded = density_manipulation(KernelDensityProtocol(Poisson(USERS, 20.0), features), 1, queries)[1]
    assert (unbounded == math.inf).any()
    assert not np.isnan(unbounded).any()


def test_what_cannot_be_asked_is_refused() -> None:
    for call, kind, said in (
        (lambda: manipulation(BITSUMS[0], 31), ValueError, r"^malicious=31 must be an integer in \[0, 30\]\.$"),
        (
            lambda: manipulation(BITSUMS[0], 1, cap=0),
            ValueError,
            r"^cap=0 must be an integer in \[1, 9007199254740992\]\.$",
        ),
        (
            lambda: manipulation(7, 1),
            TypeError,
            r"^protocol=7 must be a BitsumProtocol, SumProtocol, BucketSums, VectorSum, UnaryVectorSum, "
            r"LabelRandomizedResponse, LocalMean or Rappor\.$",
        ),
    ):
        made: Any = call
        with pytest.raises(kind, match=said):
            made()


def test_one_cheat_makes_a_sum_modulo_q_anything_and_a_cap_holds_unary_messages() -> None:
    protocol, rng = SplitAndMix(5, 3, 64, 4, 0.5), np.random.default_rng(4)
    honest = protocol.randomize([1, 2, 3, 0], rng).symbols
    before = protocol.analyze(protocol.view(honest))
    moved = {float(protocol.analyze(protocol.view([*honest, 0, 0, 0, share])) - before) for share in range(64)}
    assert len(moved) == 64
    found = [manipulation(protocol, m, cap) for m, cap in ((0, None), (1, None), (3, 4))]
    assert [(each.malicious, each.lower, each.upper) for each in found] == [
        (0, 0.0, 0.0),
        (1, -63.0, 63.0),
        (3, -63.0, 63.0),
    ]
    assert all(found[1].lower <= move <= found[1].upper for move in moved)
    # From one end of the estimates to the other.
    ends = protocol.analyze(np.arange(64))
    assert ends.max() - ends.min() == found[1].upper
    unary = PoissonSum(5, 3, 9.0)
    assert manipulation(unary, 2).upper == math.inf
    assert manipulation(unary, 2, cap=7) == Manipulation(2, 0.0, 14.0)


@pytest.mark.parametrize(("cap", "per_count"), [(5, 2), (7, 3), (3, 4), (9, 1), (None, 2), (4, None)])
def test_cheats_move_the_norm_of_a_sum_of_vectors_no_farther(cap: int | None, per_count: int | None) -> None:
    protocol = UnaryVectorSum(Poisson(5, 3.0), 3, 1.7, seed=4)
    zero = protocol.analyze(np.zeros((3, 2), dtype=np.int64))
    counts = np.array(list(itertools.product(range((per_count or 4) + 1), repeat=6)))
    sent = counts[counts.sum(axis=1) <= (24 if cap is None else cap)].reshape(-1, 3, 2)
    most = float(np.linalg.norm(protocol.analyze(sent) - zero, axis=1).max())
    found = manipulation(protocol, 2, cap, per_count=per_count)
    assert (found.lower, found.upper) == (0.0, pytest.approx(2.0 * most, rel=1e-12))
    assert manipulation(protocol, 2).upper == math.inf
    with pytest.raises(TypeError, match=r"^per_count=2 must be omitted but for a UnaryVectorSum\.$"):
        manipulation(BITSUMS[0], 1, per_count=2)


def test_a_proved_norm_is_what_a_cheat_adds_and_refuses_no_honest_user() -> None:
    protocol = UnaryVectorSum(Poisson(5, 3.0), 4, 1.7, seed=4)
    norm = honest_norm(protocol)
    integers = np.array(list(itertools.product(range(-4, 5), repeat=4)))
    passing = integers[np.square(integers).sum(axis=1) <= (norm * 1.7) ** 2]
    # However her vector is rounded it passes; some of one that is as long as it may be comes near.
    rng = np.random.default_rng(2)
    vectors = sphere(3000, 4, 3)
    rounded = np.ceil(np.abs(protocol.scaled(vectors)))
    assert np.linalg.norm(rounded, axis=1).max() / 1.7 < norm
    views = np.stack([np.maximum(passing, 0), np.maximum(-passing, 0)], axis=-1)
    moved = np.linalg.norm(protocol.analyze(views), axis=1)
    found = manipulation(protocol, 2, norm=norm)
    assert (found.lower, found.upper) == (0.0, pytest.approx(2.0 * moved.max(), rel=1e-12))
    # Neither does an estimate of one coordinate, in whichever basis, move by more.
    assert np.abs(protocol.analyze(views) @ rng.normal(size=4)).max() <= moved.max() * 10
    assert manipulation(protocol, 0, norm=norm).upper == 0.0
    # The finer the steps, the nearer to one honest user's worth.
    assert manipulation(UnaryVectorSum(Poisson(9, 1.0), 384, 2.0**16), 1, norm=1.0003).upper == pytest.approx(1.0003)
    assert 1.0 < honest_norm(UnaryVectorSum(Poisson(9, 1.0), 384, 2.0**16)) < 1.0003
    for call, kind, said in (
        (lambda: manipulation(protocol, 1, 3, norm=1.0), ValueError, r"^norm=1\.0 must be omitted where cap=3"),
        (lambda: manipulation(protocol, 1, norm=0.0), ValueError, r"^norm=0\.0 must be"),
        (lambda: manipulation(BITSUMS[0], 1, norm=1.0), TypeError, r"^norm=1\.0 must be omitted but for a Unary"),
    ):
        with pytest.raises(kind, match=said):
            call()


def test_one_per_cent_of_cheats_before_and_after() -> None:
    """The table of docs/crowds.md: 300 of 30,000 users attack, whoever the honest are, and none gets farther."""
    users, cheats, rng = 30_000, 300, np.random.default_rng(8)
    honest = users - cheats

    def moved(protocol: Any, view: Any, forged: Any) -> float:
        difference = protocol.analyze(view + forged) - protocol.analyze(view)
        return float(np.linalg.norm(difference))

    # A bit, at (2, 1e-6) for 768 sums: before, by messages of her own and by a flipped bit; after, by what she holds.
    poisson = Poisson(users, 3829.2)
    before = poisson.sample_view(np.array(14_000), rng, participants=honest)
    assert moved(poisson, before, cheats * 11) == manipulation(poisson, cheats, 11).upper == 3300.0
    flipped = RandomizedResponse(users, 0.0934)
    view = flipped.sample_view(np.array(14_000), rng, participants=honest)
    most = manipulation(flipped, cheats).upper
    assert moved(flipped, view, np.array([0, cheats])) == pytest.approx(most)
    assert 334 < most < 335
    for protocol in (AugmentedSum(users, 1, 483, 0.833, 64.0), AugmentedSum(users, 5, 88, 0.7788, smallest=1)):
        held = protocol.smallest + rng.integers(0, protocol.levels + 1, honest)
        messages, levels = protocol.randomize(held, rng).symbols, protocol.levels
        views, dummies = [], protocol.dummies()
        for ones in (0, 1):  # the shuffler hands on as many messages of hers as of anybody, and the same dummies
            sent = [*messages, *[ones] * (cheats * levels)]
            views.append(protocol.view([*sent, *dummies]))
        low, high = (float(protocol.analyze(each)) for each in views)
        assert high - low == manipulation(protocol, cheats).upper == cheats * levels
    # A vector of norm 1, at (1, 1e-6): 384 coordinates.
    vectors = UnaryVectorSum(Poisson(users, 9331.0), 384, 16.0887)
    view = vectors.sample_view(np.tile(sphere(1, 384, 1), (2000, 1)), rng)
    for cap, each, worth in ((1017, 17, 8.2), (656, 5, 3.6)):
        forged = np.zeros((384, 2), dtype=np.int64)
        full, rest = divmod(cap, each)
        forged[:full, 0] = cheats * each
        forged[full, 0] = cheats * rest
        found = manipulation(vectors, cheats, cap, per_count=each).upper
        assert moved(vectors, view, forged) == pytest.approx(found)
        assert found / cheats == pytest.approx(worth, rel=0.02)
        # Not if both signs are sent, nor fewer messages of one.
        assert moved(vectors, view, np.repeat(forged[:, :1] // 2, 2, axis=1)) < 1e-6 < found
    norm = honest_norm(vectors)
    forged[:] = 0
    forged[0, 0] = cheats * math.floor(norm * vectors.scale)
    found = manipulation(vectors, cheats, norm=norm).upper
    assert 0.97 * found < moved(vectors, view, forged) <= found
    assert found / cheats == pytest.approx(2.22, rel=0.01)


LOCAL: tuple[Any, ...] = (
    LabelRandomizedResponse(4, 1.5),
    LabelRandomizedResponse(1, 1.5),
    RandomizedResponseMean(1.5, levels=5),
    OneBitMean(0.7, largest=3.0),
    Rappor(6, 2, cohorts=2, f=0.5, p=0.25, q=0.75),
)


@pytest.mark.parametrize("protocol", LOCAL, ids=repr)
def test_no_reports_of_local_mechanisms_move_an_estimate_by_more(protocol: Any) -> None:
    """Every multiset of reports of two cheats, beside honest ones."""
    rng = np.random.default_rng(2)

    def estimate(reports: list[int]) -> float:
        if isinstance(protocol, LabelRandomizedResponse):
            return float(protocol.debias(np.bincount(reports, minlength=protocol.classes))[0])
        if isinstance(protocol, Rappor):
            bits = np.zeros((len(reports), 6), dtype=bool)
            bits[:, 3] = reports
            return float(BitCounts.of(protocol, np.zeros(len(reports), dtype=int), bits).debiased[0, 3])
        return protocol.estimate(reports) * len(reports)

    known = range(protocol.classes if isinstance(protocol, LabelRandomizedResponse) else 2)
    known = range(protocol.levels) if isinstance(protocol, RandomizedResponseMean) else known
    honest = rng.choice(known, 20).tolist()
    moves = [
        estimate(honest + list(forged)) - estimate(honest)
        for size in range(3)
        for forged in itertools.combinations_with_replacement(known, size)
    ]
    found = manipulation(protocol, 2)
    assert_allclose([min(moves), max(moves)], [found.lower, found.upper], rtol=1e-11, atol=1e-11)
    with pytest.raises(TypeError, match="per_count=2 must be omitted"):
        manipulation(protocol, 2, per_count=2)


def test_local_ends_are_those_of_the_closed_forms() -> None:
    epsilon = 1.5
    rest = math.expm1(epsilon)
    labels = manipulation(LabelRandomizedResponse(4, epsilon), 3)
    assert_allclose([labels.lower, labels.upper], [-3 / rest, 3 * (math.exp(epsilon) + 2) / rest])
    bit = manipulation(OneBitMean(epsilon, largest=2.0), 3)
    assert_allclose([bit.lower, bit.upper], [-6 / rest, 6 * math.exp(epsilon) / rest])
    for noisy in (LaplaceMean(epsilon), DiscreteLaplaceMean(epsilon)):
        assert manipulation(noisy, 1) == Manipulation(1, -math.inf, math.inf)
        assert manipulation(noisy, 0) == Manipulation(0, 0.0, 0.0)
