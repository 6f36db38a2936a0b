import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpverify.privacy_loss.shuffling import mixed_excess as module
from dpverify.privacy_loss.shuffling.excess import Variable
from dpverify.privacy_loss.shuffling.mixed_excess import mixed_excess

Atoms = list[tuple[float, float]]
COPIES = 5
MIXES: dict[str, list[Atoms]] = {
    "both skews": [[(0.25, 1.5), (0.5, -1.0)], [(0.5, 1.0), (0.25, -3.0)], [(0.5, 0.75), (0.5, -1.0)]],
    "rare and large": [[(0.5, 1.0), (0.25, -2.5), (0.0078125, 24.0)], [(0.5, 0.75), (0.5, -1.0)]],
    # The rest is so far below that two jumps are needed, or three.
    "two jumps": [[(0.5, -0.5), (0.25, 2.0)]],
    "three jumps": [[(0.75, -1.0), (0.125, 1.5)], [(0.75, -1.25)]],
}


def variables(mix: list[Atoms]) -> list[Variable]:
    rows = [np.array(atoms).T for atoms in mix]
    return [Variable(weights, values, 0.0, np.zeros(values.size)) for weights, values in rows]


def exact(mix: list[Atoms], copies: int = COPIES) -> Fraction:
    """Return the largest excess over all choices of a law for every copy, in rationals."""
    worst = Fraction(0)
    for chosen in itertools.combinations_with_replacement(mix, copies):
        law = {Fraction(0): Fraction(1)}
        for atoms in chosen:
            grown: dict[Fraction, Fraction] = {}
            rest = 1 - sum(Fraction(weight) for weight, _ in atoms)
            for total, mass in law.items():
                for weight, value in [*atoms, (rest, 0.0)]:
                    place = total + Fraction(value)
                    grown[place] = grown.get(place, Fraction(0)) + mass * Fraction(weight)
            law = grown
        worst = max(worst, sum((mass * total for total, mass in law.items() if total > 0), Fraction(0)))
    return worst


@pytest.mark.parametrize("name", MIXES)
def test_no_choice_of_laws_exceeds_the_bound(name: str) -> None:
    truth = float(exact(MIXES[name]))
    assert truth <= mixed_excess(variables(MIXES[name]), COPIES) <= 1.5 * truth + 0.05


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("top", [0.9, 1.2, 1.75, 5.0])
def test_whatever_counts_as_a_jump_is_charged(name: str, top: float) -> None:
    made = variables(MIXES[name])
    most = max(float(each.values.max()) for each in made)
    assert float(exact(MIXES[name])) <= module._with_jumps(made, made, COPIES, min(top, most), most, 2.0)


@pytest.mark.parametrize(("weight", "value"), [(0.005, 5.0), (0.02, 2.5)])
def test_two_jumps_or_three_are_charged(weight: float, value: float) -> None:
    """All else is so far below 0 that one of these, or two, is not enough."""
    mix: list[Atoms] = [[(1.0 - weight, -1.0), (weight, value)]]
    made = variables(mix)
    truth, found = float(exact(mix, 8)), module._with_jumps(made, made, 8, 0.5, value, 3.0)
    assert truth <= found <= 8.0 * truth


def test_few_nodes_prove_a_bound_too() -> None:
    made = variables(MIXES["both skews"][:1])[0]
    truth = float(exact(MIXES["both skews"][:1]))
    for tilt in (0.05, 0.3, 1.0):
        scale = made.log_mgf(tilt, COPIES)
        few, many = (module._bound(made, COPIES, tilt, scale, most) for most in (3, 2**14))
        assert truth <= many <= few


def test_two_copies_less_are_covered() -> None:
    """With a mean below 0 fewer copies have the larger excess: that of a jump and the others."""
    mix: list[Atoms] = [[(0.75, -1.0), (0.125, 1.0)]]
    made = variables(mix)
    for tilt in (0.3, 0.6, 0.9):
        base = module._base(made, COPIES, tilt)
        for copies in range(COPIES - 2, COPIES + 1):
            assert float(exact(mix, copies)) <= base
        laws = variables([*MIXES["two jumps"], *mix, *MIXES["both skews"]])
        each = [module._bound(law, COPIES, tilt, law.log_mgf(tilt, COPIES), 2**14) for law in laws]
        assert module._base(laws, COPIES, tilt) == max(each)
    mean, variance = module._moments(made, COPIES)
    assert mean >= (COPIES - 2) * -0.625
    assert variance >= COPIES * (0.875 - 0.625**2)


def test_nothing_above_zero_has_no_excess() -> None:
    assert mixed_excess(variables([[(0.5, -1.0)], [(0.25, -0.5)]]), COPIES) == 0.0


def test_a_law_without_gains_may_leave_those_of_another() -> None:
    """One copy of the first among others that hardly ever lose: no number of the first alone has so much."""
    laws = variables([[(0.1, 3.0), (0.9, -1.0)], [(1e-6, -6e5)]])
    for copies in (30, 100):
        assert mixed_excess(laws, copies) >= 0.3 * (1.0 - 1e-6) ** (copies - 1)
        assert mixed_excess(laws[:1], copies) < 0.04
    assert mixed_excess(laws[1:], 30) == 0.0
