"""An inverse is bracketed by proved changes of sign."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.formulas.catalogue import Formula, find_formulas
from dpverify.formulas.inverse import NoSolutionError, solved
from dpverify.formulas.precise import value
from tests.refusals import refused


def only(text: str) -> Formula:
    (found,) = find_formulas(text)
    return found


@pytest.mark.long
@given(st.fractions(Fraction(1, 1000), Fraction(999, 1000)))
def test_the_noise_parameter_is_inverted_as_a_logarithm(p: Fraction) -> None:
    found = solved(only("three-nb.noise-p"), "epsilon0", p, {}, digits=60)
    with mpmath.mp.workdps(80):
        truth = -mpmath.log(mpmath.mpf(p.numerator) / p.denominator) * 100 / 99
        low, high = (mpmath.mpf(end.numerator) / end.denominator for end in (found.lower, found.upper))
        assert low <= truth * (1 + mpmath.mpf(10) ** -75)
        assert truth <= high * (1 + mpmath.mpf(10) ** -75)
        assert high - low <= mpmath.mpf(10) ** -60 * low


@pytest.mark.parametrize("error", [Fraction(1, 10**9), Fraction(62), Fraction(10**12)])
def test_it_agrees_with_an_inverse_in_closed_form_up_to_the_ends_of_the_range(error: Fraction) -> None:
    found = solved(only("randomized-response.rmse"), "p", error, {"n": 30_000}, digits=40)
    (closed,) = value(only("flip-probability-at-rmse"), {"n": 30_000, "error": error}, 60)
    assert found.lower <= closed.upper
    assert closed.lower <= found.upper


def test_theorem_3_2_is_inverted_in_its_first_value() -> None:
    advanced = only("composition.advanced")
    others = {"delta0": 0, "instances": 768, "sparsity": 1, "delta_slack": Fraction(1, 10**6)}
    found = solved(advanced, "epsilon0", Fraction(2), others, which=1)
    low, high = (value(advanced, {**others, "epsilon0": end}, 30)[0] for end in (found.lower, found.upper))
    assert low.upper < 2 < high.lower
    for which in (None, 3):
        with pytest.raises(ValueError, match=r"which.* must be .*\[1, 2\]"):
            solved(advanced, "epsilon0", Fraction(2), others, which=which)


def test_a_solution_that_is_a_short_fraction_is_found_beside_the_middle() -> None:
    found = solved(only("laplace-variance"), "epsilon", Fraction(2, 9), {}, digits=50)
    assert found.lower < 3 < found.upper
    assert str(found) in {"3", f"2.{'9' * 49}"}


def test_what_has_no_solution_or_several_is_refused() -> None:
    with pytest.raises(NoSolutionError, match=r"must come to 1\.5 once, and does not come to it for epsilon0 in \["):
        solved(only("three-nb.noise-p"), "epsilon0", Fraction(3, 2), {})
    bit = only("one-bit-variance")
    with pytest.raises(NoSolutionError, match="and comes to it 2 times for value in"):
        solved(bit, "value", Fraction(1), {"epsilon": 1})
    left = solved(bit, "value", Fraction(1), {"epsilon": 1}, high=Fraction(1, 2))
    right = solved(bit, "value", Fraction(1), {"epsilon": 1}, low=Fraction(1, 2))
    assert left.upper < Fraction(1, 2) < right.lower
    assert abs(left.lower + right.lower - 1) < Fraction(1, 10**15)


def test_a_target_beyond_all_floats_is_named() -> None:
    samples = only("published-samples")
    with pytest.raises(NoSolutionError, match=r"must come to 1e\+400 once"):
        solved(samples, "beta", Fraction(10**400), {"sharpness": 1, "bits": 1})


def test_a_jump_is_no_solution() -> None:
    # The constant is 56 below epsilon = 1 and 2016 from there on.
    values = {"delta": Fraction(1, 10**6), "d": 10, "k": 1, "n": 10**7, "t": 1}
    with pytest.raises(NoSolutionError, match=r"jumps over 0\.1 at epsilon = 1\."):
        solved(only("gamma-theorem"), "epsilon", Fraction(1, 10), values, low=Fraction(1, 2), high=Fraction(3, 2))


def test_arguments_are_named_rightly() -> None:
    noise = only("three-nb.noise-p")
    with refused("epsilon0"):
        solved(noise, "epsilon0", Fraction(1, 2), {"epsilon0": 1})
    with pytest.raises(ValueError, match="'epsilon' must be an argument"):
        solved(noise, "epsilon", Fraction(1, 2), {})
    with refused("mechanisms"):
        solved(only("composition.basic"), "mechanisms", Fraction(2), {"epsilon0": 1, "delta0": 0}, which=1)
