"""Binned pairs of sums of reports, against exact rationals, Arb and closed forms; every charge at its loudest."""

import math
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, RandomizedResponsePair
from dpverify.privacy_loss.datasets import report_sums
from dpverify.privacy_loss.datasets.binned import BinnedPairs
from dpverify.privacy_loss.datasets.report_sums import ReportSums, _Side

Law = list[Fraction]


def convolve(a: Law, b: Law) -> Law:
    out = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def binomial(n: int, p: Fraction) -> Law:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def laws(zeros: int, ones: int, coins: int, p: float) -> tuple[Law, Law]:
    """Return the exact laws of Y for the bits 0 and 1."""
    q = Fraction(p)
    others = convolve(convolve(binomial(zeros, q), binomial(ones, 1 - q)), binomial(coins, Fraction(1, 2)))
    return convolve(others, [1 - q, q]), convolve(others, [q, 1 - q])


def check_bins(found: BinnedPairs, row: int, crowd: tuple[int, int, int], p: float) -> None:
    """Compare the bins of width one that hold mass with the atoms of the exact laws, in order."""
    zero, one = laws(*crowd, p)
    occupied = np.flatnonzero(found.zero[row])
    cut = len(zero) - occupied.size
    assert cut >= 0
    if cut == 0:
        assert found.missing[row] == 0.0
        start = 0
    else:
        # By all of them: the law may be symmetric, so that two places have the same mass.
        held = found.zero[row, occupied]
        listed = np.array([float(mass) for mass in zero])
        start = min(range(cut + 1), key=lambda s: float(np.abs(np.log(listed[s : s + held.size] / held)).max()))
    for law in (zero, one):
        assert sum(law[:start]) + sum(law[start + occupied.size :]) <= Fraction(found.missing[row])
    for y, column in enumerate(occupied, start):
        gain = one[y] - zero[y]
        assert abs(Fraction(found.zero[row, column]) - zero[y]) <= Fraction(found.zero_error[row, column])
        assert abs(Fraction(found.gain[row, column]) - gain) <= Fraction(found.gain_error[row, column])
        ratio = one[y] / zero[y] - 1
        assert abs(Fraction(found.ratio[row, column]) - ratio) <= Fraction(found.ratio_error[row, column])
        assert abs(math.log1p(ratio)) <= found.largest_loss * (1.0 + 1e-12)
        # The bounds mean something, where the sum has a bell's shape.
        if p * sum(crowd) >= 4.0:
            assert found.zero_error[row, column] <= 1e-8 * found.zero[row, column]


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25), st.integers(0, 12)), min_size=1, max_size=3),
    st.floats(math.log(1e-3), math.log(0.499)),
)
def test_masses_gains_and_ratios_are_exact_within_their_errors(
    crowds: list[tuple[int, int, int]], log_p: float
) -> None:
    p = math.exp(log_p)
    zeros, ones, coins = (list(column) for column in zip(*crowds, strict=True))
    found = ReportSums(zeros, ones, coins, p).pairs()
    for row, crowd in enumerate(crowds):
        check_bins(found, row, crowd, p)


def test_bins_of_a_symmetric_law_are_compared_in_their_places() -> None:
    check_bins(ReportSums([20], [21], [11], math.exp(-6.5)).pairs(), 0, (20, 21, 11), math.exp(-6.5))


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 60), st.data(), st.floats(0.02, 0.48), st.floats(-2.5, 2.5), st.sampled_from([50.0, 3.0, 0.7]))
def test_bins_bracket_the_exact_divergence(n: int, data: st.DataObject, p: float, epsilon: float, bins: float) -> None:
    ones = data.draw(st.integers(0, n))
    zero, one = laws(n - ones, ones, 0, p)
    sums = ReportSums([n - ones], [ones], [0], p)
    found = sums.pairs(bins_per_deviation=bins, tail=1e-20)
    growth = Fraction(math.exp(epsilon))
    # e^eps is rounded: the truth lies between the divergences at either side.
    inner, outer = growth * (1 - Fraction(1, 2**50)), growth * (1 + Fraction(1, 2**50))

    def divergence(at: Fraction) -> Fraction:
        return sum((max(b - at * a, Fraction(0)) for a, b in zip(zero, one, strict=True)), Fraction(0))

    floor = max(-math.expm1(epsilon), 0.0)
    excess = float(found.excess(np.array([epsilon]))[0, 0])
    assert Fraction(excess) + Fraction(found.missing[0]) + Fraction(floor) * (1 + Fraction(1, 2**50)) >= divergence(
        outer
    )
    up, down = found.merged(0)
    assert up.delta(epsilon).lower <= divergence(inner)
    swapped = sum((max(a - b / outer, Fraction(0)) for a, b in zip(zero, one, strict=True)), Fraction(0))
    assert down.delta(-epsilon).lower <= swapped


@pytest.mark.parametrize("users", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("p", [0.001, 0.1, 0.45])
def test_a_single_binomial_at_any_size_against_arb(users: int, p: float) -> None:
    # All others hold 0: Y is Bin(n, p), and P1/P0 is affine in y.
    sums = ReportSums([users - 1], [0], [0], p)
    found = sums.pairs()
    total = float(found.zero.sum())
    assert abs(total - 1.0) <= 1e-11
    width = max(1, int(sums.deviation / 50.0))
    with ctx.workprec(160):
        exact = arb(p)
        scale = (1 - 2 * exact) / (exact * (1 - exact) * users)
        first = round((found.ratio[0, 0] / float(scale)) + float(exact * users))
        for column in range(0, found.zero.shape[1], 97):
            y = first + width * column
            ratio = (y - users * exact) * scale
            assert abs(arb(found.ratio[0, column]) - ratio) <= found.ratio_error[0, column]
            assert found.ratio_error[0, column] <= 1e-9 * abs(found.ratio[0, column]) + 1e-15
        # One bin in the middle and one far out, summed term by term.
        for column in (found.zero.shape[1] // 2, found.zero.shape[1] // 8):
            y = first + width * column
            if width > 10_000:
                continue
            log_first = (
                arb(users + 1).lgamma()
                - arb(y + 1).lgamma()
                - arb(users - y + 1).lgamma()
                + y * exact.log()
                + (users - y) * (1 - exact).log()
            )
            term, mass = log_first.exp(), arb(0)
            for z in range(y, y + width):
                mass += term
                term *= (users - z) * exact / ((z + 1) * (1 - exact))
            assert abs(arb(found.zero[0, column]) - mass) <= found.zero_error[0, column]
            assert found.zero_error[0, column] <= 1e-9 * found.zero[0, column]


@pytest.mark.parametrize("direction", list(Direction))
def test_profiles_at_a_billion_users_agree_with_arb(direction: Direction) -> None:
    users, p = 10**9, 0.1
    found = ReportSums([users - 1], [0], [0], p).pairs()
    up, down = found.merged(0)
    for epsilon in (0.0, 1e-4, 4e-4):
        exact = hockey_stick(RandomizedResponsePair(users, p, 0), epsilon, direction)
        merged = (up if direction is Direction.UP else down).delta(epsilon)
        assert merged.lower <= exact.upper
        assert merged.lower >= (1 - 2e-3) * exact.lower
    if direction is Direction.UP:
        excess = found.excess(np.array([0.0, 1e-4, 4e-4]))[0]
        for epsilon, value in zip((0.0, 1e-4, 4e-4), excess, strict=True):
            exact = hockey_stick(RandomizedResponsePair(users, p, 0), epsilon, direction)
            assert exact.lower <= value <= (1 + 2e-3) * exact.upper


def test_many_sums_take_little_more_memory_than_their_bins() -> None:
    users, crowds = 50_000, 200
    ones = [40 * k for k in range(crowds)]
    sums = ReportSums([users - k for k in ones], ones, [0] * crowds, 0.1)
    losses = np.linspace(-0.3, 0.3, 801)
    sums.pairs()  # what is imported or cached on the way does not count
    tracemalloc.start()
    try:
        found = sums.pairs()
        excess = found.excess(losses)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    listed = sum(array.nbytes for array in (*(v for v in vars(found).values() if isinstance(v, np.ndarray)), excess))
    assert peak <= 1.5 * listed


def test_every_mass_outside_the_window_is_charged() -> None:
    crowd, p = (40, 20, 10), 0.2
    found = ReportSums(*([count] for count in crowd), p).pairs(tail=0.05)
    assert 0.0 < found.missing[0] <= 0.11
    check_bins(found, 0, crowd, p)


@pytest.mark.parametrize("charge", ["_ALIASED", "_OMITTED"])
@pytest.mark.parametrize("negligible", [0.5, 2.0])
def test_aliases_and_omitted_frequencies_are_charged(
    charge: str, negligible: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So coarse a rule has visible errors, and only of this kind: the bound must hold all the same.
    monkeypatch.setattr(report_sums, charge, negligible)
    crowd, p = (60, 30, 0), 0.3
    sums = ReportSums(*([count] for count in crowd), p)
    tilted = sums._tilted(0.0)
    knots = np.arange(-6.0, 7.0)
    inversion = sums._inversion(tilted, knots, 0, knots.size, 1, 6.0)
    values, errors, _, scale = sums._inverse(inversion, slice(0, 1), slice(0, knots.size), knots)
    values, errors = values * scale, errors * scale
    others = convolve(binomial(60, Fraction(p)), binomial(30, 1 - Fraction(p)))
    worst = 0.0
    for column, z in enumerate(knots):
        y = round(sums.centres[0] + z)
        truth = (float(others[y]), float(others[y - 1] - others[y]))
        for value, error, exact in zip(values[:, 0, column], errors[:, 0, column], truth, strict=True):
            assert abs(value - exact) <= error
            worst = max(worst, abs(value - exact))
    assert worst > 1e-9


@pytest.mark.parametrize("users", [(9, 6, 4), (40, 0, 6)])
def test_sums_over_nodes_and_their_scales_are_as_near_as_is_said(users: tuple[int, int, int]) -> None:
    p = 0.05
    sums, exact = ReportSums(*([count] for count in users), p), laws(*users, p)
    # The sum of the others' reports is the difference of both laws over 1 - 2p, summed from the left.
    others, mass = list[Fraction](), Fraction(0)
    for zero, one in zip(*exact, strict=True):
        mass += (zero - one) / (1 - 2 * Fraction(p))
        others.append(mass)
    tilts = [sums._tilted(0.0), *(side for sign in (-1.0, 1.0) for side in sums._side(math.log(1e-30), sign).tilts)]
    for tilted in tilts:
        middle, centre = round(float(tilted.mean[0] + sums.rests[0])), int(sums.centres[0])
        knots = np.arange(max(middle - 12, -centre), middle + 12, dtype=np.float64)
        inversion = sums._inversion(tilted, knots, 0, knots.size, 1, 30.0)
        values, errors, most, scale = sums._inverse(inversion, slice(0, 1), slice(0, knots.size), knots)
        for place, knot in enumerate(knots.tolist()):
            with mpmath.workdps(60):
                exponent = mpmath.mpf(float(tilted.log_mgf[0]))
                exponent += mpmath.mpf(tilted.tilt) * (mpmath.mpf(float(sums.rests[0])) - knot)
                held, factor = others[centre + int(knot)] if centre + knot < len(others) else 0, mpmath.exp(exponent)
                value = mpmath.mpf(held.numerator) / held.denominator / factor
                assert abs(mpmath.mpf(float(values[0, 0, place])) - value) <= float(inversion.floor[0, 0])
                share = float((errors[0, 0, 0] - inversion.floor[0, 0]) / most[0, 0, 0])
                assert abs(mpmath.mpf(float(scale[0, place])) / factor - 1) <= share * (1.0 + 1e-6)


@pytest.mark.parametrize("tilt", [-3.0, -0.2, 0.0, 0.7])
@pytest.mark.parametrize("width", [1, 2, 7])
def test_what_is_aliased_counts_with_the_largest_of_its_factors(tilt: float, width: int) -> None:
    grown = [math.exp(-tilt * j) for j in range(-1, width)]
    exact = [sum(grown[1:]), grown[0] + grown[-1], 1.0, grown[0] + 1.0]
    assert (ReportSums._largest_factors(tilt, width) >= np.array(exact) * (1.0 - 1e-12)).all()


@pytest.mark.parametrize("users", range(8, 14))
def test_a_wide_bin_in_which_the_law_ends_holds_its_largest_ratio(users: int) -> None:
    zero, one = laws(users, 0, 0, 0.3)
    losses = np.linspace(0.01, 0.84, 40)
    found = ReportSums([users], [0], [0], 0.3).pairs(bins_per_deviation=0.4).excess(losses)[0]
    for loss, value in zip(losses.tolist(), found.tolist(), strict=True):
        odds = Fraction(math.exp(loss))
        assert sum(max(b - odds * a, Fraction(0)) for a, b in zip(zero, one, strict=True)) <= Fraction(value) * (
            1 + Fraction(1, 10**12)
        )


def test_chernoffs_bound_is_rounded_up() -> None:
    rng = np.random.default_rng(0)
    tilt, edge = rng.uniform(1.0, 50.0, 200), rng.uniform(1e3, 1e9, 200)
    log_mgf = tilt * edge - rng.uniform(0.1, 600.0, 200)
    found = _Side([], tilt, log_mgf, edge, edge > 0.0).chernoff(edge)
    for place, bound in enumerate(found.tolist()):
        with mpmath.workdps(60):
            exponent = mpmath.mpf(float(log_mgf[place])) - mpmath.mpf(float(tilt[place])) * float(edge[place])
            assert bound >= mpmath.exp(exponent)


@pytest.mark.parametrize("bins", [50.0, 1.5])
@pytest.mark.parametrize("pattern", range(1, 5))
def test_what_an_inversion_is_off_by_is_charged(bins: float, pattern: int, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd, p = (60, 30, 0), 0.3
    inverse = ReportSums._inverse
    exact = ReportSums(*([count] for count in crowd), p).pairs(tail=1e-3, bins_per_deviation=bins)

    def off(self: ReportSums, *arguments: Any) -> Any:
        values, errors, most, scale = inverse(self, *arguments)
        errors = np.zeros_like(errors)
        # One of the numbers, or all; D is much smaller than the others.
        for number in range(len(values)) if pattern == 4 else [-1 - pattern % len(values)]:
            errors[number] = 1e-3 * np.abs(values[number]).min()
        sign = np.where(np.arange(values.shape[2]) % 2, 1.0, -1.0)
        return values + 0.999 * sign * errors, errors, most, scale

    monkeypatch.setattr(ReportSums, "_inverse", off)
    found = ReportSums(*([count] for count in crowd), p).pairs(tail=1e-3, bins_per_deviation=bins)
    for name in ("zero", "gain", "ratio"):
        gap = np.abs(getattr(found, name) - getattr(exact, name))
        allowed = getattr(found, f"{name}_error") + getattr(exact, f"{name}_error")
        assert (gap <= allowed).all()
        assert pattern < 4 or gap.max() > 1e-9


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.floats(-2.0, 2.0), st.sampled_from([0.0, 1e-2]))
def test_bounds_hold_for_any_masses_and_ratios_within_their_errors(seed: int, epsilon: float, far: float) -> None:
    crowd, p, size = (12, 5, 3), 0.2, 1e-2
    zero, one = laws(*crowd, p)
    found = ReportSums(*([count] for count in crowd), p).pairs()
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(3, *found.ratio.shape))
    errors = size * found.zero
    noisy = replace(
        found,
        zero=found.zero + signs[0, :, :-1] * errors,
        zero_error=errors * 1.001,
        gain=found.gain + signs[1, :, :-1] * errors * 0.1,
        gain_error=errors * 0.1001,
        ratio=found.ratio + signs[2] * far * (1.0 + found.ratio),
        ratio_error=found.ratio_error + far * 1.001 * (1.0 + found.ratio),
    )
    growth = math.exp(epsilon)
    truth = sum(max(float(b) - growth * float(a), 0.0) for a, b in zip(zero, one, strict=True))
    swapped = sum(max(float(a) - growth * float(b), 0.0) for a, b in zip(zero, one, strict=True))
    assert float(noisy.excess(np.array([epsilon]))[0, 0]) + max(-math.expm1(epsilon), 0.0) >= truth - 1e-13
    up, down = (pair.delta(epsilon) for pair in noisy.merged(0))
    assert up.lower <= truth + 1e-13
    assert down.lower <= swapped + 1e-13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([-1], [0], [0], 0.1), "zeros=-1"),
        (([1], [2**53], [0], 0.1), r"9007199254740992 reports .* at most 2\^52"),
        (([1], [0], [0], 0.5), r"flip_probability=0\.5"),
    ],
)
def test_bad_crowds_are_refused(arguments: tuple[list[int], list[int], list[int], float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ReportSums(*arguments)
