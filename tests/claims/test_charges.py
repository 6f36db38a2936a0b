"""Every charge of the claims, made loud: windows that lack a per cent, few and wide cells, few users."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import dpverify.claims.bitsum.negative_binomial as negative_binomial
import dpverify.claims.bitsum.randomized_response as randomized_response
import dpverify.claims.kde.privacy as kde_privacy
import dpverify.claims.vector_sum.privacy as vector_sum
from dpverify.changes import Full
from dpverify.claims.bitsum import claims_of
from dpverify.claims.classifier import counts_reveal
from dpverify.claims.histogram import HistogramClaims
from dpverify.claims.selection import SelectionClaims
from dpverify.claims.shared.buckets import under_estimating
from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.guarantee import Interval, ThreatModel
from dpverify.laws import noise as laws
from dpverify.laws import views
from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.composing.bounds import LargestLossCurve
from protocols.bitsum import (
    BitsumProtocol,
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.histogram import Histogram
from protocols.lsq import LaplacianBinning
from protocols.selection import Selection
from protocols.vector_sum import VectorSum
from tests.claims.kde.densities import account_kde
from tests.claims.kde.test_privacy import worst_delta
from tests.claims.vector_sum.test_privacy import TINY, worst


@pytest.mark.long
@pytest.mark.parametrize("tail", [1e-3, 0.03])
@pytest.mark.parametrize("participants", [6, 4])
@pytest.mark.parametrize(
    "protocol",
    [
        RandomizedResponse(6, 0.3),
        NegativeBinomial(6, 9.0, 0.7),
        Poisson(6, 12.0),
        ThreeNB(6, 0.7, 20.0, 0.8),
        Pure(6, 0.7, 0.3, 20.0, 0.8),
        CentralDiscreteGaussian(6, 2.0),
        CentralDiscreteLaplace(6, 0.6),
    ],
)
def test_laws_of_views_say_how_much_they_leave_out(
    monkeypatch: pytest.MonkeyPatch, protocol: BitsumProtocol, participants: int, tail: float
) -> None:
    claims = claims_of(protocol)
    exact = {law: law(protocol, 3, participants) for law in (claims.view_law, claims.estimate_law)}
    monkeypatch.setattr(views, "TAIL", tail)
    for law, whole in exact.items():
        cut = law(protocol, 3, participants)
        listed = {tuple(np.atleast_1d(point)) for point in cut.points.tolist()}
        left_out = sum(
            mass
            for point, mass in zip(whole.points.tolist(), whole.pmf.tolist(), strict=True)
            if tuple(np.atleast_1d(point)) not in listed
        )
        assert left_out <= cut.outside + 1e-12
        assert 1.0 - float(cut.pmf.sum()) <= cut.outside + 1e-12
    for count in claims.marginals(protocol, 3, participants).values():
        assert 1.0 - float(count.pmf.sum()) <= count.outside + 1e-12


def test_labels_that_are_private_enough_need_no_delta() -> None:
    for epsilon in (0.5, 1.0, 3.0):
        assert counts_reveal(epsilon, 0.5, 3) == 0.0
    assert counts_reveal(0.4, 0.5, 3) > 0.0


@pytest.mark.parametrize(("users", "buckets"), [(6, 2), (6, 4), (7, 3), (4, 9)])
def test_histogram_counts_every_crowded_bucket(users: int, buckets: int) -> None:
    noise = under_estimating(users, 2.0, 0.6)
    protocol = Histogram(noise, buckets)
    datasets = [c for c in itertools.product(range(users + 1), repeat=buckets) if sum(c) == users and sorted(c) == [*c]]
    for error in range(users + 1):
        within = float(stats.nbinom.cdf(error, 2.0, 0.4))
        worst_case = max(1.0 - within ** sum(count > error for count in counts) for counts in datasets)
        found = HistogramClaims().failure_probability(protocol, error)
        assert worst_case - 1e-13 <= found <= worst_case * (1.0 + 1e-12) + 1e-13


def selection_truth(buckets: int, error: int) -> float:
    pmf, y = stats.nbinom.pmf(np.arange(300), 2.0, 0.4), np.arange(300)
    above = stats.nbinom.sf(y - error - 1, 2.0, 0.4) ** (buckets - 1)
    return float(np.sum((pmf * (1.0 - above))[error + 1 :]))


@pytest.mark.parametrize("buckets", [2, 5])
@pytest.mark.parametrize("error", [0, 3, 9, 14])
def test_selection_charges_the_tails(monkeypatch: pytest.MonkeyPatch, buckets: int, error: int) -> None:
    exact, truth = laws.negative_binomial, selection_truth(buckets, error)
    monkeypatch.setattr(negative_binomial, "negative_binomial", lambda r, p, tail: exact(r, p, 0.02))
    assert SelectionClaims().failure_probability(Selection(under_estimating(90, 2.0, 0.6), buckets), error) >= truth


@pytest.mark.parametrize("buckets", [2, 5])
@pytest.mark.parametrize("error", [0, 3, 9, 30])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_selection_charges_the_errors_of_its_law(
    monkeypatch: pytest.MonkeyPatch, buckets: int, error: int, sign: float
) -> None:
    exact = laws.negative_binomial(2.0, 0.6, 1e-30)
    # The upper half of the window too large, or too small: the smallest of the rivals' noises is the more sensitive.
    scale = 1.0 + 0.01 * sign * (exact.support > 5)
    listed = IntegerLaw(exact.start, exact.pmf * scale, 0.011, exact.tail_below, exact.tail_above)
    monkeypatch.setattr(negative_binomial, "negative_binomial", lambda r, p, tail: listed)
    truth = selection_truth(buckets, error)
    assert SelectionClaims().failure_probability(Selection(under_estimating(90, 2.0, 0.6), buckets), error) >= truth


@pytest.mark.parametrize("shortage", [0.3, 0.05])
@pytest.mark.parametrize(("users", "dimension", "sampled"), [(20, 4, 2), (9, 3, 2), (40, 5, 4)])
def test_vector_sum_charges_the_chance_of_too_few_reports(
    monkeypatch: pytest.MonkeyPatch, users: int, dimension: int, sampled: int, shortage: float
) -> None:
    monkeypatch.setattr(vector_sum, "_SHORTAGE", shortage)
    monkeypatch.setattr(vector_sum, "_SHORTAGE_SHARE", math.inf)
    protocol, claims = VectorSum(users, dimension, 1, 0.6, sampled=sampled), VectorSumClaims()
    # At this epsilon whoever is hidden by the others at all is hidden well: what is left is their absence.
    counted_on, charged = claims._others(protocol, shortage)
    fewer = float(stats.binom.cdf(counted_on - 1, users - 1, claims._alone(protocol))) * (1.0 - 1e-12)  # scipy rounds
    assert charged >= sampled * fewer
    assert counted_on > 0
    largest = claims.pure_epsilon(protocol, ThreatModel.COMMUNICATION).lower
    # Next to its largest loss delta is bounded by that alone, which would hide the charge.
    monkeypatch.setattr(VectorSumClaims, "pure_epsilon", lambda *_: Interval(math.inf, math.inf))
    for epsilon in (0.8 * largest, 0.999 * largest):
        assert claims.delta(protocol, epsilon).upper >= sampled * fewer
        assert claims.delta_upper(protocol, epsilon) >= sampled * fewer


def test_vector_sum_covers_the_enumerated_views_whatever_it_counts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol, epsilons = TINY["two-of-three"], (0.1, 0.5, 1.2)
    for shortage in (1e-14, 0.5, 0.99):
        monkeypatch.setattr(vector_sum, "_SHORTAGE", shortage)
        monkeypatch.setattr(vector_sum, "_SHORTAGE_SHARE", math.inf)
        for i, epsilon in enumerate(epsilons):
            truth = max(values[i] for values in worst(protocol, epsilons).values())
            assert truth <= VectorSumClaims().delta(protocol, epsilon).upper + 1e-12
            assert truth <= VectorSumClaims().delta_upper(protocol, epsilon) + 1e-12


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize(("users", "buckets"), [(2, 2), (3, 2), (4, 2), (5, 2), (3, 3)])
def test_density_estimation_covers_every_dataset_with_wide_cells(
    monkeypatch: pytest.MonkeyPatch, users: int, buckets: int, cells: int
) -> None:
    monkeypatch.setattr(randomized_response, "_COIN_CELLS", cells)
    for p in (0.05, 0.2):
        bitsum, family = RandomizedResponse(users, p), LaplacianBinning(2, buckets=buckets, signed=False)
        # Without what full and joint changes cost, which hide a wrong cell where they are less.
        most = LargestLossCurve(Interval(0.0, math.inf), Full(1))
        curve = kde_privacy._SparseCurve(kde_privacy.kde_pairs(bitsum, family), most, 1, 1e-4, 1e-3)
        for epsilon in (0.0, 0.5, 1.0, math.log((1 - p) / p) - 0.3):
            exact = worst_delta(users, buckets, False, p, epsilon)
            assert exact <= curve.delta(epsilon).upper * (1 + 1e-9)


@pytest.mark.long
def test_a_coarse_account_of_density_estimation_claims_no_more_than_a_fine_one() -> None:
    bitsum, family = RandomizedResponse(30, 0.2), LaplacianBinning(2, buckets=2, signed=False)
    coarse, fine = (account_kde(bitsum, family, 4, delta=1e-3, relative_width=width).epsilon for width in (0.3, 1e-4))
    assert 0.0 < coarse.lower <= fine.lower * (1.0 + 1e-3)
    point = account_kde(bitsum, family, 4, epsilon=1.0, relative_width=0.3).delta
    assert point.lower <= account_kde(bitsum, family, 4, epsilon=1.0).delta.lower * (1.0 + 1e-3)


def reports(p: float, ones: int, zeros: int, coins: int, own: float) -> np.ndarray:
    """The law of the ones reported by users with these bits, and by one whose bit is 1 with probability `own`."""
    law = np.ones(1)
    for bit in [1.0] * ones + [0.0] * zeros + [0.5] * coins + [own]:
        report = bit * (1.0 - p) + (1.0 - bit) * p
        law = np.convolve(law, [1.0 - report, report])
    return law


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("users", [5, 8])
def test_every_dataset_of_density_estimation_lies_in_some_cell(
    monkeypatch: pytest.MonkeyPatch, users: int, cells: int
) -> None:
    # m other users have sure bits in the bitsum that one leaves, the rest in the one that she enters: one alternative
    # must dominate both, whatever the sure bits are.
    monkeypatch.setattr(randomized_response, "_COIN_CELLS", cells)
    p, epsilons = 0.2, (-1.0, -0.1, 0.0, 0.02, 0.3, 0.9)
    found = kde_privacy.kde_pairs(RandomizedResponse(users, p), LaplacianBinning(2, buckets=3, signed=False))

    def dominated(factor: kde_privacy.Factor, sure: int, ends: tuple[float, float]) -> bool:
        for ones in range(sure + 1):
            first, second = (reports(p, ones, sure - ones, users - 1 - sure, end) for end in ends)
            for epsilon in epsilons:
                exact = float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())
                if exact > max(pair.delta(epsilon).upper for pair in factor) + 1e-12:
                    return False
        return True

    for sure in range(users):
        assert any(
            dominated(leave, sure, (1.0, 0.5)) and dominated(enter, users - 1 - sure, (0.5, 1.0))
            for leave, enter in found.alternatives
        )
