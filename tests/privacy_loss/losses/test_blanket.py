"""The pair of one report in a blanket, against direct enumeration of the counts."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.privacy_loss.losses.blanket import report_in_blanket, report_in_view
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from protocols.vector_sum import VectorSum


def counts(trials: int, cover: float) -> dict[tuple[int, int], float]:
    """The law of (N, N'), multinomial with probabilities cover/2 each."""
    return {
        (a, b): math.comb(trials, a)
        * math.comb(trials - a, b)
        * (cover / 2.0) ** (a + b)
        * (1.0 - cover) ** (trials - a - b)
        for a in range(trials + 1)
        for b in range(trials + 1 - a)
    }


def enumerated(trials: int, cover: float, kept: float, swapped: float, epsilon: float, *, revealed: bool) -> float:
    """H_eps of the counts with the report added; `revealed` tells whether the report lies elsewhere."""
    first: dict[tuple[int, int, bool], float] = {}
    second: dict[tuple[int, int, bool], float] = {}
    for (a, b), mass in counts(trials, cover).items():
        for law, one, other in ((first, kept, swapped), (second, swapped, kept)):
            for cell, probability in (
                ((a + 1, b, False), one),
                ((a, b + 1, False), other),
                ((a, b, revealed), 1.0 - kept - swapped),
            ):
                law[cell] = law.get(cell, 0.0) + mass * probability
    return sum(max(first[cell] - math.exp(epsilon) * second[cell], 0.0) for cell in first)


CASES = [(6, 0.5, 0.7, 0.3), (9, 0.25, 0.6, 0.1), (5, 0.9, 1.0, 0.0), (12, 0.02, 0.9, 0.05)]


@pytest.mark.parametrize(("trials", "cover", "kept", "swapped"), CASES)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
def test_pair_is_the_enumerated_one(trials: int, cover: float, kept: float, swapped: float, epsilon: float) -> None:
    truth = enumerated(trials, cover, kept, swapped, epsilon, revealed=True)
    upper = report_in_blanket(trials, cover, kept, swapped).delta(epsilon)
    assert upper.lower - 1e-14 <= truth <= upper.upper + 1e-14
    assert upper.width < 1e-12
    truth = enumerated(trials, cover, kept, swapped, epsilon, revealed=False)
    view = report_in_view(trials, cover, kept, swapped).delta(epsilon)
    assert view.lower - 1e-14 <= truth <= view.upper + 1e-14
    assert view.width < 1e-12


@pytest.mark.parametrize(("kept", "swapped"), [(0.8, 0.05), (1.0, 0.0)])
def test_cells_dominate_and_converge(kept: float, swapped: float) -> None:
    exact = report_in_blanket(2000, 0.1, kept, swapped, cells=10_000)
    for epsilon in (0.1, 0.5):
        deltas = [report_in_blanket(2000, 0.1, kept, swapped, cells=cells).delta(epsilon) for cells in (3, 32, 512)]
        truth = exact.delta(epsilon)
        assert all(coarse.upper >= truth.lower for coarse in deltas)
        assert deltas[0].lower > truth.upper
        assert deltas[2].upper < truth.upper * 1.001


def test_the_shuffled_view_is_below_the_enlarged_one() -> None:
    for epsilon in (0.05, 0.3, 0.8):
        enlarged = report_in_blanket(800, 0.2, 0.7, 0.1).delta(epsilon).upper
        assert report_in_view(800, 0.2, 0.7, 0.1).delta(epsilon).lower < enlarged


@pytest.mark.parametrize(("trials", "cover", "kept", "swapped"), [*CASES, (40, 0.5, 0.7, 0.1), (40, 0.3, 0.3, 0.1)])
def test_a_view_with_coins_added_is_below_the_exact_one(
    trials: int, cover: float, kept: float, swapped: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = report_in_view(trials, cover, kept, swapped)
    monkeypatch.setattr("dpverify.privacy_loss.losses.blanket._MOST_ATOMS", 1)
    for fewer, near in ((1e9, 1 - 1e-12), (20.0 * trials * math.sqrt(trials + 1) / 3, 0.7 * (trials == 40)), (20.0, 0)):
        monkeypatch.setattr("dpverify.privacy_loss.losses.blanket._FEWER_ATOMS", fewer)
        cells = report_in_view(trials, cover, kept, swapped)
        assert total(cells) == pytest.approx(1.0, abs=1e-12)
        for epsilon in (-0.7, 0.0, 0.2, 0.7):
            found, truth = cells.delta(epsilon), pair.delta(epsilon)
            assert near * truth.lower <= found.upper + 1e-6
            assert found.lower <= truth.upper


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"^kept=0\.8 and swapped=0\.5 must sum to at most 1\.$"):
        report_in_blanket(5, 0.1, 0.8, 0.5)
    with pytest.raises(ValueError, match=r"^swapped=0\.5 must be"):
        report_in_blanket(5, 0.1, 0.4, 0.5)
    with pytest.raises(ValueError, match=r"need more than \d+ atoms"):
        report_in_view(10**8, 0.5, 0.9, 0.05)


def total(pair: PrivacyLossDistribution) -> float:
    """The divergence at an epsilon below every loss: all of the mass, what is missing included."""
    return pair.delta(-60.0).upper


@pytest.mark.parametrize("tail", [0.002, 0.1])
@pytest.mark.parametrize(
    ("trials", "cover", "kept", "swapped"),
    # Certain coins; so few that theirs is the only window that is cut; a report that mostly lies elsewhere.
    [(12, 1.0, 0.7, 0.3), (12, 1.0, 0.6, 0.1), (60, 0.03, 0.9, 0.1), (60, 0.03, 0.3, 0.1), (30, 0.5, 0.1, 0.02)],
)
def test_what_the_windows_cut_is_charged(trials: int, cover: float, kept: float, swapped: float, tail: float) -> None:
    assert total(report_in_blanket(trials, cover, kept, swapped, tail)) >= 1.0 - 1e-13
    if cover < 1.0:
        assert total(report_in_view(trials, cover, kept, swapped, tail)) >= 1.0 - 1e-13
    for epsilon in (-1.0, 0.0, 0.3, 1.0, 2.5):
        truth = enumerated(trials, cover, kept, swapped, epsilon, revealed=True)
        found = report_in_blanket(trials, cover, kept, swapped, tail, cells=trials + 1).delta(epsilon)
        assert found.lower - 1e-13 <= truth <= found.upper + 1e-13
        if cover < 1.0:
            truth = enumerated(trials, cover, kept, swapped, epsilon, revealed=False)
            found = report_in_view(trials, cover, kept, swapped, tail).delta(epsilon)
            assert found.lower - 1e-13 <= truth <= found.upper + 1e-13


def test_rare_random_reports_keep_their_digits() -> None:
    """Of kept = 1 - gamma + gamma / (k+1), rounded, 1 - kept - swapped keeps few digits if gamma is small."""
    users, levels, gamma = 10**6, 2, 1e-6
    rate = Fraction(gamma) / (levels + 1)
    right, wrong, neither = 1 - 2 * rate, rate, rate
    (pair,) = VectorSumClaims().attained_pairs(VectorSum(users, 1, levels, gamma))

    def others(count: int) -> Fraction:
        """The chance of `count` reports of one value and none of the other, all truths being a third value."""
        return math.comb(users - 1, count) * rate**count / (1 - 2 * rate) ** count

    for count in range(1, 6):
        first = others(count - 1) * right + others(count) * neither
        second = others(count - 1) * wrong + others(count) * neither
        exact = math.log(first / second)
        assert np.abs(pair.losses - exact).min() <= pair.loss_error + 2.0**-53 * exact


def test_elsewhere_must_be_what_is_left() -> None:
    with pytest.raises(ValueError, match=r"^elsewhere=0\.3 must be what kept=0\.5 and swapped=0\.1 leave\.$"):
        report_in_view(5, 0.1, 0.5, 0.1, elsewhere=0.3)
