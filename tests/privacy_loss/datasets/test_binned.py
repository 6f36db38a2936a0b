"""What is said of a pair known by the masses of bins, against the pair itself in exact rationals."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.datasets.binned import BinnedPairs
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions

N = 12


def laws(p: Fraction, q: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """Two binomial laws: their ratio is monotone."""

    def binomial(p: Fraction) -> list[Fraction]:
        return [math.comb(N, k) * p**k * (1 - p) ** (N - k) for k in range(N + 1)]

    return binomial(p), binomial(q)


PAIRS = [laws(Fraction(1, 3), Fraction(2, 5)), laws(Fraction(1, 2), Fraction(9, 16))]


def binned(edges: list[int], error: float = 2.0**-52) -> BinnedPairs:
    """The bins between these edges, with an honest bound on the rounding of each number."""
    rows = []
    for zero, one in PAIRS:
        masses = [(sum(zero[a:b]), sum(one[a:b]) - sum(zero[a:b])) for a, b in pairwise(edges)]
        ratio = [one[min(edge, N)] / zero[min(edge, N)] - 1 for edge in edges]
        rows.append(([float(m) for m, _ in masses], [float(g) for _, g in masses], [float(r) for r in ratio]))
    zero, gain, ratio = (np.array(column) for column in zip(*rows, strict=True))
    return BinnedPairs(
        zero, error * zero, gain, error * np.abs(gain) + 1e-300, ratio, error * np.abs(ratio), np.zeros(2), 5.0
    )


def excess(pair: tuple[list[Fraction], list[Fraction]], loss: float) -> Fraction:
    """`H_eps(P1||P0) - max(1 - e^eps, 0)`, but for the rounding of e^eps."""
    zero, one = pair
    odds = Fraction(math.exp(loss))
    return sum(max(b - odds * a, 0) for a, b in zip(zero, one, strict=True)) - max(1 - odds, 0)


LOSSES = np.concatenate([np.linspace(-2.0, 2.0, 81), [-1e-9, 1e-9]])
LOSSES.sort()


EDGES = [list(range(N + 2)), [0, 2, 3, 4, 5, 6, 8, N + 1], [0, 5, N + 1]]


@pytest.mark.parametrize("edges", EDGES)
def test_the_excess_is_never_below_the_truth(edges: list[int]) -> None:
    found = binned(edges).excess(LOSSES)
    for row, pair in enumerate(PAIRS):
        for loss, value in zip(LOSSES, found[row], strict=True):
            assert excess(pair, loss) <= Fraction(value) * (1 + Fraction(1, 10**14))


def test_the_excess_is_the_truth_where_a_bin_begins() -> None:
    edges = [0, 2, 3, 4, 5, 6, 8, N + 1]
    pairs = binned(edges)
    for row, pair in enumerate(PAIRS):
        losses = np.log1p(pairs.ratio[row, :-1])
        for loss, value in zip(losses, pairs.excess(losses)[row], strict=True):
            assert value == pytest.approx(float(excess(pair, loss)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("field", ["zero", "gain", "ratio"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("edges", EDGES[:2])
def test_every_error_is_charged(field: str, sign: float, edges: list[int]) -> None:
    off = 1e-3
    exact = binned(edges)
    moved = off * np.abs(getattr(exact, field))
    # Alternating, too: neighbours that err towards each other.
    for pattern in (1.0, np.where(np.arange(moved.shape[1]) % 2, 1.0, -1.0)):
        wrong = replace(
            exact, **{field: getattr(exact, field) + 0.99 * sign * pattern * moved, f"{field}_error": 1.001 * moved}
        )
        # Where a chord is no slack, too: next to the knots.
        knots = [np.log1p(wrong.ratio + side * wrong.ratio_error).ravel() for side in (-1.0, 0.0, 1.0)]
        losses = np.unique(np.concatenate([LOSSES, *knots]))
        found = wrong.excess(losses)
        for row, pair in enumerate(PAIRS):
            for loss, value in zip(losses, found[row], strict=True):
                assert excess(pair, loss) <= Fraction(value) * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("edges", EDGES)
def test_errors_of_p0_are_charged_at_every_knot(sign: float, edges: list[int]) -> None:
    exact, off = binned(edges), 1e-3
    wrong = replace(exact, zero=exact.zero * (1.0 + 0.99 * sign * off), zero_error=1.001 * off * exact.zero)
    knots = exact.ratio.shape[1]
    found = wrong._above(exact.ratio, 0), wrong._below(exact.ratio, knots - 1)
    for row, (zero, one) in enumerate(PAIRS):
        for i, ratio in enumerate(exact.ratio[row]):
            gains = [
                sum(b - (1 + Fraction(ratio)) * a for a, b in zip(zero[j:k], one[j:k], strict=True))
                for j, k in pairwise(edges)
            ]
            assert sum(gains[i:]) <= Fraction(float(found[0][row, i])) + Fraction(1, 10**15)
            assert -sum(gains[:i]) <= Fraction(float(found[1][row, i])) + Fraction(1, 10**15)


def test_terms_and_sums_are_rounded_up() -> None:
    rng = np.random.default_rng(0)
    zero, ratio = rng.uniform(0.0, 1.0, (1, 300)), rng.uniform(-0.5, 2.0, (1, 300))
    # Nearly all of a term cancels.
    gain = ratio * zero * (1.0 + rng.uniform(-4e-16, 4e-16, 300))
    pairs = replace(binned([0, 5, N + 1]), zero=zero, gain=gain, zero_error=0.0 * zero, gain_error=0.0 * zero)
    for sign in (-1, 1):
        terms = pairs._terms(ratio, slice(None), sign)
        exact = [
            sign * (Fraction(g) - Fraction(r) * Fraction(z)) for g, r, z in zip(gain[0], ratio[0], zero[0], strict=True)
        ]
        assert all(one <= Fraction(float(term)) for one, term in zip(exact, terms[0], strict=True))
    total = Fraction(0)
    for term, found in zip(zero[0], pairs._sums(zero)[0, 1:], strict=True):
        total += Fraction(float(term))
        assert total <= Fraction(float(found))


@pytest.mark.parametrize("name", ["masses of one", "masses of zero", "losses"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_errors_of_listed_pairs_are_charged(name: str, sign: float) -> None:
    off = 5e-4
    for pattern in (np.ones(N + 1), np.where(np.arange(N + 1) % 2, 1.0, -1.0)):
        moved = sign * 0.99 * off * pattern
        pairs = []
        for law in PAIRS:
            zero, one = (np.array([float(mass) for mass in masses]) for masses in law)
            losses = np.log(one / zero)
            one = one * (1.0 + moved) if name == "masses of one" else one
            zero = zero * (1.0 + moved) if name == "masses of zero" else zero
            losses = losses + moved if name == "losses" else losses
            errors = {"loss_error" if name == "losses" else "relative_error": off}
            up = PrivacyLossDistribution(losses, one, **errors)
            pairs.append(Directions(up, PrivacyLossDistribution(-losses[::-1], zero[::-1], **errors)))
        found = BinnedPairs.listed(pairs).excess(LOSSES)
        for row, pair in enumerate(PAIRS):
            for loss, value in zip(LOSSES, found[row], strict=True):
                assert excess(pair, loss) <= Fraction(value) * (1 + Fraction(1, 10**12))


def test_of_two_directions_the_larger_missing_mass_is_missing() -> None:
    whole = PrivacyLossDistribution.from_pmfs([0.6, 0.4], [0.4, 0.6])
    part = replace(whole, masses=0.9 * whole.masses, missing_mass=0.1)
    for up, down in ((whole, part), (part, whole)):
        assert BinnedPairs.listed([Directions(up, down)]).missing.tolist() == [0.1]


@pytest.mark.parametrize("field", ["zero", "gain"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("edges", [[0, 3, 5, 8, N + 1], [0, 5, N + 1]])
def test_bins_as_outcomes_charge_every_error(field: str, sign: float, edges: list[int]) -> None:
    exact = binned(edges)
    moved = 1e-3 * np.abs(getattr(exact, field))
    for pattern in (1.0, np.where(np.arange(moved.shape[1]) % 2, 1.0, -1.0)):
        off = {field: getattr(exact, field) + 0.99 * sign * pattern * moved, f"{field}_error": 1.001 * moved}
        wrong = replace(exact, **off)
        for row, (zero, one) in enumerate(PAIRS):
            masses = [(sum(zero[a:b]), sum(one[a:b])) for a, b in pairwise(edges)]
            for found, pairs in zip(wrong.merged(row), ([(b, a) for a, b in masses], masses), strict=True):
                # At the largest loss an error of masses takes a share of nothing.
                for epsilon in (-0.4, 0.0, 0.1, 0.4, found.largest_loss):
                    odds, interval = Fraction(math.exp(epsilon)), found.delta(epsilon)
                    assert interval.lower <= sum(max(a - odds * b, 0) for a, b in pairs) <= interval.upper


def test_bins_as_outcomes_are_never_above_the_truth() -> None:
    edges = [0, 3, 5, 8, N + 1]
    for row, (zero, one) in enumerate(PAIRS):
        up, down = binned(edges).merged(row)
        masses = [(sum(zero[a:b]), sum(one[a:b])) for a, b in pairwise(edges)]
        for epsilon in (0.0, 0.1, 0.4):
            odds = Fraction(math.exp(epsilon))
            for found, pairs in ((up, [(b, a) for a, b in masses]), (down, masses)):
                interval = found.delta(epsilon)
                post_processed = sum(max(a - odds * b, 0) for a, b in pairs)
                assert interval.lower <= post_processed * (1 + Fraction(1, 10**12))
                assert interval.upper * (1 + 1e-12) >= post_processed
                assert interval.width <= 1e-12


def test_empty_bins_are_no_outcomes_and_missing_mass_stays_missing() -> None:
    pairs = binned([0, 3, 5, 8, N + 1])
    empty = np.zeros((2, 1))
    wider = replace(
        pairs,
        zero=np.hstack([empty, pairs.zero]),
        gain=np.hstack([empty, pairs.gain]),
        zero_error=np.hstack([empty, pairs.zero_error]),
        gain_error=np.hstack([empty, pairs.gain_error]),
        missing=np.array([0.0, 0.125]),
    )
    for row in (0, 1):
        np.testing.assert_array_equal(wider.merged(row)[0].losses, pairs.merged(row)[0].losses)
    assert wider.merged(1)[0].missing_mass >= 0.125


def test_a_window_on_one_side_of_no_loss_is_refused() -> None:
    pairs = binned([0, 5, N + 1])
    for ratio in (np.abs(pairs.ratio) + 1e-6, -np.abs(pairs.ratio) - 1e-6):
        with pytest.raises(CapacityError, match=r"^losses next to 0 are lost in what bins of them leave out"):
            replace(pairs, ratio=ratio).excess(LOSSES)
