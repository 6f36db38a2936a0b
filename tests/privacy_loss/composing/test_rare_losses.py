"""Losses in classes: nothing is lost between them, the largest come first, and moments are bounds."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.privacy_loss.composing.rare_losses import Classes, OneRare, Others, Sums, backwards, log_moments
from dpverify.privacy_loss.datasets.covers import Branch
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.characteristic import LossAtoms
from dpverify.privacy_loss.windows.contour import Contour
from dpverify.rounding import UNIT


def pair(*masses: float) -> PrivacyLossDistribution:
    """Return a pair with losses -1, 0, 1, ... of these masses, which need not add up to 1."""
    losses = np.arange(len(masses), dtype=np.float64) - 1.0
    return PrivacyLossDistribution(losses, np.array(masses), missing_mass=max(1.0 - sum(masses), 0.0))


def by_loss(*classes: LossAtoms) -> dict[float, float]:
    found = dict[float, float]()
    for atoms in classes:
        for loss, log_mass in zip(atoms.losses, atoms.log_masses, strict=True):
            found[float(loss)] = found.get(float(loss), 0.0) + math.exp(log_mass)
    return found


def mass(atoms: LossAtoms) -> float:
    return float(np.sum(np.exp(atoms.log_masses)))


@given(
    st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=6),
    st.lists(st.floats(1e-9, 0.9), min_size=1, max_size=3),
)
def test_the_classes_add_up_to_what_is_listed(weights: list[float], masses: list[float]) -> None:
    listed = pair(*(weight / sum(weights) for weight in weights))
    common, *rare = Classes(tuple(masses), 0.0).of(listed)
    found = by_loss(common, *rare)
    for loss, own in zip(listed.losses, listed.masses, strict=True):
        assert found.get(float(loss), 0.0) == pytest.approx(own, rel=1e-12, abs=1e-300)
    left = 1.0
    for wanted, atoms in zip(masses, rare, strict=True):
        # As much as was asked for, or all that is left.
        assert mass(atoms) == pytest.approx(min(wanted, left), rel=1e-9, abs=1e-15)
        left = max(left - wanted, 0.0)


def test_the_largest_losses_come_first() -> None:
    common, first, second = Classes((0.15, 0.1), 0.0).of(pair(0.5, 0.3, 0.1, 0.1))
    assert by_loss(first) == {1.0: pytest.approx(0.05), 2.0: pytest.approx(0.1)}
    assert by_loss(second) == {0.0: pytest.approx(0.05), 1.0: pytest.approx(0.05)}
    assert by_loss(common) == {-1.0: pytest.approx(0.5), 0.0: pytest.approx(0.25)}


def test_the_smallest_losses_count_as_larger_ones() -> None:
    listed = pair(0.1, 0.2, 0.3, 0.4)
    common, _ = Classes((0.4,), 0.25).of(listed)
    assert by_loss(common) == {0.0: pytest.approx(0.3), 1.0: pytest.approx(0.3)}


def test_what_was_divided_is_kept() -> None:
    listed, classes = pair(0.5, 0.5), Classes((0.1,), 0.0)
    assert classes.of(listed) is classes.of(listed)


def test_moments_are_those_of_each_and_not_below() -> None:
    every = [LossAtoms.of(np.array([-1.0, 0.5]), np.array([0.3, 0.1])), LossAtoms.of(np.array([7.0]), np.array([1e-9]))]
    for tilt in (0.0, 0.7, 12.0):
        exact = [math.log(0.3 * math.exp(-tilt) + 0.1 * math.exp(0.5 * tilt)), 7.0 * tilt + math.log(1e-9)]
        found = log_moments(every, tilt)
        assert found == pytest.approx(exact, rel=1e-12)
        assert (found >= np.array(exact) - 1e-15).all()


def divergence(mix: tuple[LossAtoms, ...], y: float) -> float:
    """Return E[(1 - e^(y - L))+] of the total loss, under the measure of these atoms."""
    total = 0.0
    for outcome in itertools.product(*(zip(atoms.losses, np.exp(atoms.log_masses), strict=True) for atoms in mix)):
        total += math.prod(mass for _, mass in outcome) * max(-math.expm1(y - sum(loss for loss, _ in outcome)), 0.0)
    return total


NARROW = LossAtoms.of(np.array([-0.4, 0.1, 0.3]), np.array([0.1, 0.4, 0.5]))
# Both of mass 1 under either law.
FLAT = LossAtoms.of(np.array([-2.0, 2.0]), np.array([1.0, math.exp(2.0)]) / (1.0 + math.exp(2.0)))
OTHERS = [NARROW, LossAtoms.of(np.array([-1.5, 0.3]), np.array([0.2, 0.79])), LossAtoms.of(np.zeros(1), np.ones(1))]


@pytest.mark.parametrize("largest", [0.0, 7.0])
@pytest.mark.parametrize("every", [OTHERS, OTHERS[:1], OTHERS[1:2], [FLAT, OTHERS[2]]])
@pytest.mark.parametrize("back", [None, Contour(0.8, 0.1, 200, 1e-3), Contour(3.0, 0.4, 60, 0.02)])
def test_what_others_have_is_above_that_of_every_mix(
    largest: float, every: list[LossAtoms], back: Contour | None
) -> None:
    others = Others.of(every, 3, largest, back)
    for y in (-6.0, -3.0, -1.5, -0.5, -0.01, 0.5):
        found = math.exp(others.log_share(y + largest))
        assert max(divergence(mix, y) for mix in itertools.combinations_with_replacement(every, 3)) <= found <= 1.0


def test_what_others_have_is_sharp_where_few_losses_are_below() -> None:
    for y in (-1.5, -3.0):
        exact, found = divergence((NARROW,) * 3, y), math.exp(Others.of([NARROW], 3, 5.0).log_share(5.0 + y))
        assert exact < found <= 0.7 * exact + 0.3


def test_a_contour_backwards_is_sharp_where_moments_are_not() -> None:
    # 60 coins of a loss of .2 or -.2, of mass 1 under either law.
    up, count, y = 1.0 / (1.0 + math.exp(-0.2)), 60, -1.5
    coin = LossAtoms.of(np.array([-0.2, 0.2]), np.array([1.0 - up, up]))
    exact = 0.0
    for heads in range(count + 1):
        mass = math.comb(count, heads) * up**heads * (1.0 - up) ** (count - heads)
        exact += mass * max(-math.expm1(y - 0.2 * (2 * heads - count)), 0.0)
    back = Contour.at(0.7, 0.2 * math.sqrt(count), 1e-4, period=7.0)
    rough, sharp = (math.exp(Others.of([coin], count, 0.0, one).log_share(y)) - exact for one in (None, back))
    assert 0.0 < sharp < 0.015 * (1.0 - exact)
    assert rough > 0.25 * (1.0 - exact)


def test_the_largest_sum_need_not_be_that_of_the_largest_moment() -> None:
    # The moduli of the second hardly fall off: its sum is the largest, and the last two stand before and after it.
    narrow = LossAtoms.of(np.array([-0.05, 0.05]), np.array([0.4, 0.51]))
    wide, next_to_narrow = (LossAtoms.of(np.array([-0.5, 0.5]), share * np.array([0.3, 0.6])) for share in (1.0, 0.981))
    back = Contour(0.5, 0.1, 400, 1e-3)

    def moment(atoms: LossAtoms) -> float:
        return float(log_moments([backwards(atoms)], 0.5)[0])

    def largest(*every: LossAtoms) -> float:
        return dict(Others.of(every, 20, 0.0, back).powers)[1.5]

    assert moment(wide) > moment(narrow) > moment(next_to_narrow)
    assert max(largest(wide), largest(next_to_narrow)) < largest(narrow)
    assert largest(wide, narrow, next_to_narrow) == largest(next_to_narrow, wide, narrow) == largest(narrow)


@given(st.floats(-700.0, 700.0), st.floats(-700.0, -1e-16))
def test_masses_of_the_other_law_are_rounded_up(loss: float, log_mass: float) -> None:
    found = backwards(LossAtoms(np.array([loss]), np.array([log_mass])))
    assert found.losses[0] == -loss
    # Of which the logarithm of a mass is rounded already.
    exact = Fraction(log_mass) + 2 * Fraction(UNIT) * abs(Fraction(log_mass)) - Fraction(loss)
    assert exact <= Fraction(float(found.log_masses[0])) <= exact + 16 * Fraction(UNIT) * (abs(Fraction(loss)) + 800)


@given(st.floats(-500.0, 500.0), st.floats(-500.0, -1e-16), st.integers(1, 10**12))
def test_what_a_single_loss_has_in_all_is_rounded_outwards(loss: float, log_mass: float, count: int) -> None:
    found = Others.of([LossAtoms(np.array([loss]), np.array([log_mass]))], count, 0.0)
    assert Fraction(found.log_mass) >= count * Fraction(log_mass)
    assert Fraction(found.log_other) <= count * (Fraction(log_mass) - Fraction(loss))


@given(st.floats(-20.0, -10.0), st.floats(-3.0, -0.01))
def test_digits_that_a_steep_line_loses_are_charged(y: float, above: float) -> None:
    steep = 3e7
    factor = above - steep * y
    found = float(Others(0.0, -800.0, -800.0, ((steep, factor),)).shares(np.array([y]))[0])
    exact = float(Fraction(factor) + Fraction(steep) * Fraction(y))
    assert math.exp(exact) * (1.0 + 3.0 * UNIT * steep * abs(y)) <= found


@given(st.floats(-20.0, 20.0), st.floats(1.0, 40.0), st.floats(-3.0, -0.01))
def test_digits_that_a_steep_line_loses_beside_a_rare_loss_are_charged(x: float, loss: float, above: float) -> None:
    steep = 3e7
    log_sum = above + steep * (x - loss)
    alone = OneRare(np.array([loss]), np.ones((1, 1)), Others(0.0, 0.0, -800.0, ((2.0, 800.0),)), ((steep, log_sum),))
    away = Fraction(x) - Fraction(loss)
    exact = float(Fraction(log_sum) - Fraction(steep) * away)
    assert math.exp(exact) * (1.0 + 3.0 * UNIT * steep * abs(float(away))) <= float(alone.at(x)[0])


# Common losses, and those of an instance with a rare one: more mass is at lower losses.
BESIDE = [
    (NARROW, LossAtoms.of(np.array([5.0, 6.0]), np.array([1e-3, 2e-3]))),
    (OTHERS[1], LossAtoms.of(np.array([4.0, 4.5]), np.array([6e-3, 2e-3]))),
    (OTHERS[2], LossAtoms.of(np.array([2.0, 7.3]), np.array([2e-2, 1e-4]))),
]


def with_one(mix: tuple[tuple[LossAtoms, LossAtoms], ...], x: float) -> float:
    """Return the divergence of the sets of one instance with a rare loss."""
    pairs = [[common for common, _ in mix] for _ in mix]
    for place, (_, rare) in enumerate(mix):
        pairs[place][place] = rare
    return sum(divergence(tuple(one), x) for one in pairs)


@pytest.mark.parametrize("x", [0.5, 2.0, 4.2, 5.5, 7.0])
@pytest.mark.parametrize("step", [1e-6, 0.3])
def test_one_rare_loss_in_a_mix_is_an_average_over_its_pairs(x: float, step: float) -> None:
    instances = 4
    common = [one for one, _ in BESIDE]
    lines = []
    for contour in (Contour(0.8, 0.1, 200, 1e-3), Contour(4.0, 0.1, 200, 1e-3)):
        moduli = [atoms.along(contour.nodes).log_moduli for atoms in common]
        lines.append((contour.tilt, max(float(contour.log_integral((instances - 1) * one)) for one in moduli)))
    others = Others.of(common, instances - 1, 0.0)
    found = OneRare.of([[rare] for _, rare in BESIDE], instances, step, others, lines).at(x)
    for mix in itertools.combinations_with_replacement(range(3), instances):
        exact = with_one(tuple(BESIDE[place] for place in mix), x)
        assert exact <= np.mean(found[list(mix)])


@given(st.floats(-700.0, 700.0), st.floats(1e-6, 1.0))
def test_a_rare_loss_is_rounded_up(anywhere: float, step: float) -> None:
    # The quotient of the second, just above a multiple, may round to it.
    for loss in (anywhere, math.nextafter(round(anywhere / step) * step, math.inf)):
        rare = LossAtoms(np.array([loss]), np.zeros(1))
        found = OneRare.of([[rare]], 3, step, Others.of([rare], 2, 0.0), [])
        assert Fraction(loss) <= Fraction(float(found.losses[0]))
        assert found.losses[0] <= loss + step + 1e-12
        assert 3.0 <= found.masses[0, 0] <= 3.0 + 1e-9


def test_a_pair_has_the_losses_of_its_classes_only() -> None:
    others = Others.of([LossAtoms.of(np.zeros(1), np.ones(1))], 2, 0.0)
    one, other = LossAtoms.of(np.array([5.0]), np.array([0.01])), LossAtoms.of(np.array([3.0]), np.array([0.02]))
    # The last has two losses that are rounded to one.
    near = LossAtoms.of(np.array([4.6, 4.9]), np.array([0.01, 0.03]))
    found = OneRare.of([[one], [other], [one, other], [near, one]], 3, 0.5, others, [(1.0, 100.0)])
    first, second, both, three = found.at(-30.0)
    # Nearly their masses, in each of three instances.
    assert 0.03 * (1.0 - math.exp(-35.0)) <= first
    assert first == pytest.approx(0.03, rel=1e-6)
    assert second == pytest.approx(0.06, rel=1e-6)
    assert both == pytest.approx(first + second, rel=1e-12)
    assert three == pytest.approx(5.0 * first, rel=1e-12)
    # Along the line e^(100 - y) is next to nothing.
    assert found.at(160.0)[0] == pytest.approx(0.03 * math.exp(100.0 - 155.0), rel=1e-9)


def test_masses_and_their_sums_are_rounded_up() -> None:
    rng, others = np.random.default_rng(0), Others(0.0, 0.0, 0.0, ((2.0, 800.0),))
    for size in (1, 500):
        masses = 1e-290 * rng.uniform(1.0, 2.0, size)
        rare = LossAtoms.of(np.arange(1.0, size + 1.0), masses)
        found = OneRare.of([[rare]], 1, 1.0, others, [(1.0, 1e4)])
        assert (found.masses[0] >= masses).all()
        # Each counts in full so far to the left.
        assert Fraction(float(found.at(-1e3)[0])) >= sum(map(Fraction, found.masses[0].tolist()))


@given(st.floats(-1e-3, -1e-12))
def test_a_difference_of_masses_is_rounded_up(y: float) -> None:
    found = float(Others(0.0, 0.0, 0.0, ((2.0, -800.0),)).shares(np.array([y]))[0])
    with mpmath.workdps(40):
        assert mpmath.mpf(found) >= -mpmath.expm1(mpmath.mpf(y))


def test_a_coarser_bound_of_a_sum_is_not_below_it() -> None:
    members = [pair(0.5, 0.3, 0.19, 0.01), pair(0.2, 0.79, 0.005, 0.005)]
    sums = Sums(Contour(0.7, 0.2, 60, 1e-3), 5, Classes((0.01,), 0.0))
    for one, above in zip(members, sums.above([Branch(one) for one in members]), strict=True):
        assert sums.of(one) <= above


def test_rare_losses_of_any_branch_are_as_large_as_those_of_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    def atoms(*losses: float) -> LossAtoms:
        return LossAtoms(np.array(losses), np.zeros(len(losses)))

    # Of each pair the common losses, and two classes of rare ones; by number. Three times .7 is rounded down.
    made = {0: [atoms(0.1), atoms(0.2, 0.3), atoms(7.0)], 1: [atoms(0.2), atoms(0.7), atoms(5.0, 6.0)]}
    totals = list[float]()
    monkeypatch.setattr(Others, "of", lambda common, count, total, back: totals.append(total))
    sums = Sums(Contour(1.0, 0.1, 9, 1e-3), 5, SimpleNamespace(of=made.__getitem__))  # type: ignore[arg-type]
    branches = [SimpleNamespace(pair=number) for number in (0, 1)]
    for order in (branches, branches[::-1]):
        sums.others(order, (3, 1))  # type: ignore[arg-type]
        sums.others(order, (3, 0))  # type: ignore[arg-type]
    for total, rest in zip(totals, (7, 0, 7, 0), strict=True):
        assert 0 <= Fraction(total) - 3 * Fraction(0.7) - rest <= 100 * UNIT
