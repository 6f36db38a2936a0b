"""Rounding for print, against exact rationals."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.digits import counted, rounded, rounded_down, rounded_toward, rounded_up, shortest, unrounded
from dpverify.guarantee import enclosing_floats
from tests.refusals import refused

floats = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0.0, exclude_min=True, allow_infinity=False)
fractions = st.fractions(min_value=-(10**40), max_value=10**40)
digits = st.integers(1, 20)


def significant(text: str) -> int:
    return len(text.lstrip("-").partition("e")[0].replace(".", "").strip("0")) or 1


def size(value: Fraction) -> Fraction:
    """The power of ten of the leading digit of a positive number, by comparisons only."""
    power = Fraction(10) ** int(math.log10(value.numerator) - math.log10(value.denominator))
    while power > value:
        power /= 10
    while 10 * power <= value:
        power *= 10
    return power


@given(value=st.one_of(floats, fractions), digits=digits)
def test_bounds_are_rounded_outwards_by_less_than_a_unit(value: float | Fraction, digits: int) -> None:
    exact = value if isinstance(value, Fraction) else Fraction(repr(value))
    up, down = rounded_up(value, digits), rounded_down(value, digits)
    assert rounded(value, digits) in (up, down)
    assert Fraction(down) <= exact <= Fraction(up)
    assert max(significant(up), significant(down)) <= digits
    if exact:
        assert Fraction(up) - Fraction(down) <= size(abs(exact)) / Fraction(10) ** (digits - 1)
    # One that fits is left alone.
    assert rounded_up(Fraction(up), digits) == up == rounded_down(Fraction(up), digits)


@given(value=floats, digits=digits)
def test_what_is_read_again_is_on_the_same_side(value: float, digits: int) -> None:
    assert float(rounded_down(value, digits)) <= value <= float(rounded_up(value, digits))
    assert float(unrounded(value)) == value


@given(value=positive, digits=st.integers(1, 12), room=st.integers(0, 20))
def test_an_upper_bound_stays_within_what_it_must_not_pass(value: float, digits: int, room: int) -> None:
    within = value
    for _ in range(room):
        within = math.nextafter(within, math.inf)
    if within == math.inf:
        return
    assert value <= float(rounded_up(value, digits, within=within)) <= within


def test_digits_are_added_only_where_the_bound_would_be_passed() -> None:
    assert rounded_up(1.2345671, 5) == "1.2346"
    assert rounded_up(1.23456712, 5, within=1.2345678) == "1.2345672"
    assert rounded_up(1.2345671, 5, within=2.0) == "1.2346"
    assert rounded_up(0.9999999, 5, within=1.0) == "1"


@given(value=st.floats(min_value=0.0, max_value=1.0, exclude_max=True), digits=st.integers(1, 12))
def test_a_probability_moves_towards_one_and_keeps_its_distance(value: float, digits: int) -> None:
    exact, moved = Fraction(repr(value)), Fraction(rounded_toward(value, 1.0, digits))
    assert exact <= moved < 1
    assert value <= float(rounded_toward(value, 1.0, digits)) < 1.0
    rest = min(exact, 1 - exact)
    assert moved - exact <= (size(rest) / Fraction(10) ** (digits - 1) if rest else 0)


@given(value=st.floats(min_value=0.0, max_value=0.5, exclude_max=True), digits=st.integers(1, 12))
def test_a_flip_probability_stays_below_one_half(value: float, digits: int) -> None:
    assert value <= float(rounded_toward(value, 0.5, digits)) < 0.5


@given(value=positive, digits=st.integers(1, 12))
def test_what_grows_without_limit_grows_by_less_than_a_unit(value: float, digits: int) -> None:
    exact, moved = Fraction(repr(value)), Fraction(rounded_toward(value, math.inf, digits))
    assert 0 <= moved - exact < size(exact) / Fraction(10) ** (digits - 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rounded_up(105.866056, 7), "105.8661"),
        (rounded_up(math.inf, 3), "inf"),
        (rounded_up(0.0, 3), "0"),
        (rounded_down(-1.25, 2), "-1.3"),
        (rounded_down(123456.0, 2), "120000"),
        (rounded_down(1e-6, 3), "1e-06"),
        (rounded_up(1.2345e-7, 3), "1.24e-07"),
        (rounded_up(1.5e300, 1), "2e+300"),
        (rounded_toward(1.0, math.inf, 8), "1"),
        (rounded_toward(0.0, 1.0, 8), "0"),
        (rounded_toward(0.99999912345, 1.0, 3), "0.999999124"),
        (unrounded(0.1), "0.1"),
        (unrounded(Fraction(1, 10)), "0.1"),
        (unrounded(Fraction(1, 3)), "0.33333333333333333"),
        (unrounded(1e22), "1e+22"),
    ],
)
def test_how_it_reads(text: str, expected: str) -> None:
    assert text == expected


@given(st.integers(1, 10**14), st.integers(-300, 285))
def test_a_short_decimal_comes_back_from_its_rounded_float(digits: int, power: int) -> None:
    typed = Decimal(digits).scaleb(power)
    below, above = enclosing_floats(Fraction(typed))
    assert Fraction(shortest(below, downwards=True)) == Fraction(typed) == Fraction(shortest(above, downwards=False))


@given(st.floats(0.0, 1e300), st.booleans())
def test_the_shortest_decimal_is_rounded_to_the_float(value: float, downwards: bool) -> None:
    text = shortest(value, downwards=downwards)
    assert enclosing_floats(Fraction(text))[0 if downwards else 1] == value


def test_one_style_for_small_numbers() -> None:
    assert [unrounded(10.0**-k) for k in (4, 5, 6)] == ["0.0001", "1e-05", "1e-06"]
    with refused("value=inf"):
        shortest(math.inf, downwards=True)


def test_bad_arguments() -> None:
    with refused("digits=0"):
        rounded_up(1.0, 0)
    with refused("value=0.5"):
        rounded_toward(0.5, 0.5, 3)
    with refused("value=inf"):
        rounded_toward(math.inf, math.inf, 3)
    with pytest.raises(ValueError, match="nan"):
        rounded_up(math.nan, 3)


def test_what_is_counted_is_in_the_plural_unless_it_is_one() -> None:
    assert [counted(number, "user") for number in (0, 1, 2_000)] == ["0 users", "1 user", "2,000 users"]
    assert counted(2, "class", "classes") == "2 classes"
