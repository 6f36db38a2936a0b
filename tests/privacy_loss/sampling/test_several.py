"""A record in several of the steps: what is attained, against enumeration in rationals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.privacy_loss.sampling import allocation, several
from dpverify.privacy_loss.sampling import ratios as grids
from tests.privacy_loss.sampling.test_allocation import EPSILONS, MASSES, RATIOS, divergence, of_one


def outcomes(steps: int, chosen: int) -> list[tuple[Fraction, Fraction]]:
    """Return the probabilities of all outcomes, with the record in so many of the steps, and without."""
    found = []
    for seen in itertools.combinations_with_replacement(range(3), steps):
        orders = math.factorial(steps) // math.prod(math.factorial(seen.count(at)) for at in range(3))
        gone = orders * math.prod(MASSES[at] for at in seen)
        sums = [Fraction(1)] + [Fraction(0)] * chosen  # elementary symmetric polynomials
        for at in seen:
            sums = [sums[0]] + [sums[j] + RATIOS[at] * sums[j - 1] for j in range(1, chosen + 1)]
        found.append((gone * sums[chosen] / math.comb(steps, chosen), gone))
    return found


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize(("steps", "chosen"), [(2, 2), (3, 2), (5, 2), (5, 3), (6, 3), (7, 4), (6, 6)])
def test_both_ends_hold(steps: int, chosen: int, coarse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if coarse:
        monkeypatch.setattr(grids, "_DIGITS", 3)
        monkeypatch.setattr(grids, "_PER_DEVIATION", 4)
    one, exact = of_one(), outcomes(steps, chosen)
    above = allocation._of_all(one, steps, 1e-9, allocation._spread, chosen)
    below = several.attained_by_several(one.ratios, one.masses, 0.0, steps, chosen)
    for epsilon in EPSILONS:
        for direction, pairs in (("up", exact), ("down", [(q, p) for p, q in exact])):
            truth = divergence(pairs, epsilon)
            assert getattr(below, direction).delta(epsilon).lower <= truth + Fraction(1, 10**14)
            assert getattr(above, direction).delta(epsilon).upper >= truth - Fraction(1, 10**14)
            if not coarse:
                # The groups tell a little more; cells tell all but a little, of few outcomes, and all if k = t.
                assert getattr(below, direction).delta(epsilon).lower >= truth * Fraction(99, 100) - Fraction(1, 10**9)
                if chosen == steps:
                    assert getattr(above, direction).delta(epsilon).upper <= truth + Fraction(1, 1000)
                told = [pair if direction == "up" else pair[::-1] for pair in outcomes(chosen, chosen)]
                assert divergence(told, epsilon) >= truth  # of who is told which steps


def test_every_number_of_chosen_steps_has_a_law_and_its_error_is_charged() -> None:
    generator = np.random.default_rng(5)
    ratios = np.sort(generator.uniform(0.2, 3.0, 400))
    masses = generator.uniform(0.1, 1.0, 400)
    masses /= masses.sum()
    ratios /= (masses * ratios).sum()
    laws = np.zeros((1, 4, 400))
    laws[0, 0], laws[0, 1] = masses, masses * ratios
    found = one = several._Cells(1, ratios, laws, 1e-9)
    for steps in range(2, 6):
        found = several._merged(found, one, 0)
        possible = min(steps, 3) + 1
        np.testing.assert_allclose(found.laws[0, :possible].sum(axis=1), 1.0, rtol=1e-11)
        assert not found.laws[0, possible:].any()
        assert steps * 1e-9 <= found.error <= steps * 1.001e-9
        assert (np.diff(found.ratios) > 0.0).all()
    # One after the other, 10^5 floats err by more than a sum in pairs does.
    many = several._Cells(1, np.full(300, 1.0001), np.full((1, 2, 300), 0.1), 0.0)
    merged = several._merged(many, many, 0)
    assert merged.laws.shape[2] == 1
    assert 1e-15 < abs(merged.laws[0, 0, 0] / (9e4 * 0.1 * 0.1) - 1.0) <= merged.error


def test_errors_of_a_step_and_of_fewer_cells_are_charged() -> None:
    one = of_one()
    found = several.attained_by_several(one.ratios, one.masses, 1e-9, 4, 2)
    assert 4e-9 <= found.up.relative_error == found.down.relative_error <= 4.01e-9
    many = several._Cells(1, np.full(10**5, 1.0001), np.full((1, 2, 10**5), 0.1), 1e-14).fewer(0)
    assert many.laws.shape == (1, 2, 1)
    assert 1e-13 < abs(many.laws[0, 0, 0] / 1e4 - 1.0) <= many.error - 1e-14


def test_products_that_are_no_floats_are_left_out() -> None:
    rare = 1e-80
    ratios, masses = np.array([0.5, 1.5, 1e70]), np.array([0.5, 0.5 - rare, rare])
    found = several.attained_by_several(ratios, masses, 1e-15, 4, 2)
    for law in found:
        assert law.infinite_mass == 0.0
        assert float(law.masses.min()) >= several._LEAST


def test_what_is_next_to_nothing_is_left_out_and_missing() -> None:
    ratios, masses = np.array([1e-150, 0.5, 1.5]), np.array([0.2, 0.4, 0.4])
    ratios[2] = (1.0 - 0.2 - 1e-150 * 0.2) / 0.4
    found = several.attained_by_several(ratios, masses, 1e-15, 2, 2)
    assert found.up.masses.size < 6
    assert 1.0 - 0.8**2 <= found.down.missing_mass <= 1.0 - 0.8**2 + 1e-12
