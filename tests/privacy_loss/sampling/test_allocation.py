"""Random allocation: laws against enumeration in rationals, and what is charged against what it has to cover."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling import allocation
from dpverify.privacy_loss.sampling import ratios as grids
from dpverify.privacy_loss.sampling.allocation import _Group, _Missing, allocated
from dpverify.privacy_loss.sampling.line import NoiseLine
from dpverify.privacy_loss.sampling.ratios import RatioGrid

EPSILONS = (-1.0, -0.2, 0.0, 0.1, 0.4, 0.9, 1.3)
RATIOS, MASSES = (Fraction(3, 5), Fraction(1), Fraction(9, 5)), (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))


NONE = _Missing(0.0, 0.0)


def of_one(missing: _Missing = NONE, mass_error: float = 0.0, ratio_error: float = 0.0) -> _Group:
    ratios, masses = (np.array([float(each) for each in values]) for values in (RATIOS, MASSES))
    return _Group(1, ratios, masses, mass_error, ratio_error, missing)


def divergence(pairs: list[tuple[Fraction, Fraction]], epsilon: float) -> Fraction:
    a = Fraction(math.exp(epsilon))
    return sum((max(p - a * q, Fraction(0)) for p, q in pairs), Fraction(0))


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 6, 8])
def test_both_ends_hold_for_every_number_of_steps(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "_DIGITS", 3)  # so coarse that both ends are apart
    monkeypatch.setattr(grids, "_PER_DEVIATION", 4)
    outcomes = []
    for chosen in itertools.combinations_with_replacement(range(3), steps):
        orders = math.factorial(steps) // math.prod(math.factorial(chosen.count(at)) for at in range(3))
        gone = orders * math.prod(MASSES[at] for at in chosen)
        outcomes.append((gone * sum(RATIOS[at] for at in chosen) / steps, gone))
    above, below = (
        allocation._of_all(of_one(), steps, 1e-9, how) for how in (allocation._spread, allocation._together)
    )
    apart = 0.0
    for epsilon in EPSILONS:
        for direction, pairs in (("up", outcomes), ("down", [(q, p) for p, q in outcomes])):
            truth = divergence(pairs, epsilon)
            upper = getattr(above, direction).delta(epsilon).upper
            lower = getattr(below, direction).delta(epsilon).lower
            assert lower <= truth + Fraction(1, 10**14)  # of ratios and e^epsilon as floats
            assert upper >= truth - Fraction(1, 10**14)
            assert upper - lower < 0.01
            apart = max(apart, upper - lower)
    assert apart > 1e-4 or steps == 1


def test_every_adaptive_mechanism_is_covered() -> None:
    # Two steps of randomized response, the second of which is garbled as the first one's output says.
    keep = Fraction(3, 4)
    base = ([keep, 1 - keep], [1 - keep, keep])  # with the record, and without
    generator = np.random.default_rng(31)

    def channel() -> list[list[Fraction]]:
        rows = [[Fraction(int(each)) for each in generator.integers(0, 5, 3)] for _ in range(2)]
        return [[each / sum(row) if sum(row) else Fraction(1, 3) for each in row] for row in rows]

    def through(kernel: list[list[Fraction]], law: list[Fraction]) -> list[Fraction]:
        return [sum(law[at] * kernel[at][to] for at in range(2)) for to in range(3)]

    ideal = []
    for first, second in itertools.product(range(2), repeat=2):
        gone = base[1][first] * base[1][second]
        there = (base[0][first] * base[1][second] + base[1][first] * base[0][second]) / 2
        ideal.append((there, gone))
    reached = False
    for _ in range(60):
        opening, following = channel(), [channel() for _ in range(3)]
        outcomes = []
        for first, second in itertools.product(range(3), repeat=2):
            a, b = (
                [through(kernel, law)[at] for law in base]
                for kernel, at in ((opening, first), (following[first], second))
            )
            outcomes.append(((a[0] * b[1] + a[1] * b[0]) / 2, a[1] * b[1]))
        for epsilon in EPSILONS:
            for turn in (False, True):
                made, most = ([pair[::-1] for pair in pairs] if turn else pairs for pairs in (outcomes, ideal))
                assert divergence(made, epsilon) <= divergence(most, epsilon)
                reached |= 0 < divergence(made, epsilon) > divergence(most, epsilon) * Fraction(9, 10)
    assert reached


def excess(noise: str, ratio: mpmath.mpf) -> mpmath.mpf:
    """Return the mean of (L - ratio)_+, L that of two steps, to 15 digits."""
    s = 1 / mpmath.mpf(noise)

    def second(first: mpmath.mpf) -> mpmath.mpf:
        least = 2 * ratio - first
        if least <= 0:
            return (1 - least) / 2
        away = -mpmath.log(least) / s
        return (mpmath.ncdf(away + s / 2) - least * mpmath.ncdf(away - s / 2)) / 2

    kink = mpmath.log(2 * ratio) / s + s / 2
    points = [-14, -6, -2, 0, 2, kink, kink + 2, kink + 6, kink + 20]
    return mpmath.quad(lambda z: second(mpmath.exp(s * z - s * s / 2)) * mpmath.npdf(z), sorted(points))


@pytest.mark.parametrize("noise", ["0.6", "2"])
def test_two_steps_of_normal_noise(noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if noise == "0.6":  # so coarse that each end shows which way it is rounded
        monkeypatch.setattr(grids, "_DIGITS", 3)
        monkeypatch.setattr(grids, "_PER_DEVIATION", 4)
    line = NoiseLine.gaussian(float(noise), 1e-30)
    above, below = (allocated(line, 2, 1e-20, attained=attained) for attained in (False, True))
    with mpmath.workdps(18):
        for epsilon in ("0.2", "2.5"):
            a = mpmath.exp(mpmath.mpf(epsilon))
            remove, add = excess(noise, a), a * (excess(noise, 1 / a) + 1 / a - 1)
            for direction, truth in (("up", remove), ("down", add)):
                upper = getattr(above, direction).delta(float(epsilon)).upper
                lower = getattr(below, direction).delta(float(epsilon)).lower
                assert lower <= truth <= upper
                assert upper - lower <= (0.2 if noise == "0.6" else 1e-3) * upper


def test_what_is_left_out_is_charged() -> None:
    for steps in (2, 3, 11):
        for how in (allocation._spread, allocation._together):
            found = allocation._of_all(of_one(_Missing(1e-4, 3e-5), 1e-9, 1e-10), steps, 1e-7, how)
            # The record is in one step, and the others leave out what they do without it.
            assert 1e-4 + (steps - 1) * 3e-5 <= found.up.missing_mass <= 1e-4 + (steps - 1) * 3e-5 + 1.1e-7
            assert steps * 3e-5 <= found.down.missing_mass <= steps * 3e-5 + 1.1e-7
            assert steps * 1e-9 <= found.down.relative_error <= 1.1 * steps * 1e-9
            assert steps * 1e-9 + 1e-10 <= found.up.relative_error
            assert 1e-10 <= found.up.loss_error == found.down.loss_error <= 1.2e-10


def test_what_groups_leave_out_is_charged() -> None:
    for steps, chosen in ((4, 2), (5, 2), (11, 3)):
        found = allocation._of_all(of_one(_Missing(1e-4, 3e-5), 1e-9, 1e-10), steps, 1e-7, allocation._spread, chosen)
        there = chosen * 1e-4 + (steps - chosen) * 3e-5
        assert there <= found.up.missing_mass <= there + 1.1e-7
        assert steps * 3e-5 <= found.down.missing_mass <= steps * 3e-5 + 1.1e-7
        assert steps * 1e-9 <= found.down.relative_error <= 1.1 * steps * 1e-9
        assert chosen * 1e-10 <= found.up.loss_error == found.down.loss_error <= 1.2 * chosen * 1e-10
    rough = allocation._both(
        of_one(), of_one(), 1e-9, lambda grid, pairs: (*allocation._together(grid, pairs)[:2], 1e-3, 1e-4)
    )
    assert rough.mass_error >= 1e-3
    assert rough.ratio_error >= 1e-4


def test_masses_that_are_left_out_count_as_missing() -> None:
    # Under a tail of a tenth most pairs are: nothing of both laws is lost.
    for how in (allocation._spread, allocation._together):
        found = allocation._of_all(of_one(), 9, 0.1, how)
        for law in (found.up, found.down):
            assert float(law.masses.sum()) < 1.0 - 1e-4
            assert 1.0 - float(law.masses.sum()) <= law.missing_mass <= 0.1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Group, "trimmed", lambda group, spare: group)
        patch.setattr(allocation, "_BLOCK", 1)
        one = of_one()
        merged, both = (each(one, one, 3.2, allocation._together) for each in (allocation._merged, allocation._both))
    for made in (merged, both):
        for missing, power in ((made.missing.there, 1), (made.missing.gone, 0)):
            kept = float((made.masses * made.ratios**power).sum())
            assert 0.05 < 1.0 - kept <= missing  # pairs of small weights
    trimmed = of_one().trimmed(1.8)
    assert trimmed.masses.size < 3
    lost = _Missing(
        *(
            float(
                sum(m * r**power for m, r in zip(MASSES, RATIOS, strict=True))
                - (trimmed.masses * trimmed.ratios**power).sum()
            )
            for power in (1, 0)
        )
    )
    assert trimmed.missing.there == pytest.approx(lost.there, rel=1e-12)
    assert trimmed.missing.there >= lost.there - 1e-16
    assert trimmed.missing.gone == pytest.approx(lost.gone, rel=1e-12)


def test_sums_of_many_masses_err_as_charged() -> None:
    ratios, masses = np.full(10**6, 1.0001), np.full(10**6, 0.1)
    grid = RatioGrid.over(0.5, 2.0, 1.0)
    for how in (allocation._spread, allocation._together):
        _, found, charged, _ = how(grid, [(ratios, masses)])
        assert 3e-12 < abs(math.fsum(found) / math.fsum(masses) - 1.0) <= charged  # one after the other, floats err


def test_too_little_noise_is_refused() -> None:
    with pytest.raises(CapacityError, match=r"one step has losses of .*, and random allocation takes up to 300"):
        allocated(NoiseLine.gaussian(0.05, 1e-20), 3, 1e-9)


def test_one_step_is_that_step() -> None:
    line = NoiseLine.laplace(0.7)
    for attained, own in enumerate(line.listed(1.0)):
        made = allocated(line, 1, 1e-9, attained=bool(attained))
        assert isinstance(made, Directions)
        for mine, other in zip(made, own, strict=True):
            assert mine.delta(0.4).midpoint == pytest.approx(other.delta(0.4).midpoint, rel=1e-12)
