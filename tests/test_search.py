"""Searches: which side is returned, that it was tried, and what happens where nothing holds."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.search import (
    before_first,
    bisected,
    crossing,
    crossing_height,
    galloped,
    largest_float,
    largest_integer,
    least_argument,
    least_integer,
    smallest,
    smallest_at_level,
)


@given(st.integers(0, 10**12), st.integers(1, 100))
def test_galloping_brackets_the_first_integer_that_holds(first: int, start: int) -> None:
    bracket = galloped(lambda value: value >= first, -1, start)
    assert bracket[0] < first <= bracket[1]
    assert least_integer(lambda value: value >= first, *bracket) == first


def test_nothing_at_or_beyond_the_ceiling_is_tried() -> None:
    asked: list[float] = []

    def never(value: float) -> bool:
        asked.append(value)
        return False

    assert galloped(never, 0.0, 1.0, grow=lambda value: 3.0 * value, ceiling=27.0) is None
    assert asked == [1.0, 3.0, 9.0]


@given(st.integers(-50, 50), st.integers(1, 2000), st.data())
def test_the_ends_of_a_range_of_integers_are_not_asked(low: int, length: int, data: st.DataObject) -> None:
    high = low + length
    first = data.draw(st.integers(low + 1, high))

    def holds(value: int) -> bool:
        assert low < value < high
        return value >= first

    assert least_integer(holds, low, high) == first
    roughly = least_integer(holds, low, high, tolerance=0.05)
    assert first <= roughly <= max(first, first + 0.05 * abs(roughly))


@given(st.integers(0, 10**6), st.integers(-5, 2 * 10**6), st.integers(1, 10**6))
def test_the_largest_integer_is_found_from_any_guess(last: int, guess: int, beyond: int) -> None:
    assert largest_integer(lambda value: value <= last, guess, 0, last + beyond) == last


@given(st.floats(min_value=5e-324, max_value=1e308), st.floats(min_value=0.0, max_value=1e308))
def test_largest_float_finds_the_boundary_from_anywhere(boundary: float, guess: float) -> None:
    assert largest_float(lambda value: value <= boundary, guess) == boundary
    assert largest_float(lambda value: False, guess) == 0.0


@given(st.floats(min_value=1e-150, max_value=1e6), st.booleans())
def test_bisection_without_tolerance_ends_at_neighbouring_floats(boundary: float, geometric: bool) -> None:
    low, high = bisected(lambda value: value >= boundary, 0.25 * boundary, 2e6, geometric=geometric)
    assert low < boundary <= high
    assert high <= math.nextafter(low, math.inf) * (1.0 + 4e-16)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [({"relative": 1e-3}, 1e-3 * 3.1), ({"absolute": 0.01}, 0.01), ({"relative": 1e-3, "geometric": True}, 1e-3 * 3.1)],
)
def test_bisection_stops_at_its_tolerance(options: dict[str, float], allowed: float) -> None:
    low, high = bisected(lambda value: value >= 3.0, 1.0, 8.0, **options)  # type: ignore[arg-type]
    assert low < 3.0 <= high
    assert allowed / 4.0 < high - low <= allowed


def test_bisection_counts_its_steps_and_may_return_the_ends_unasked() -> None:
    asked: list[float] = []

    def never(value: float) -> bool:
        asked.append(value)
        return False

    assert bisected(never, 0.0, 1.0, steps=3) == (0.875, 1.0)
    assert asked == [0.5, 0.75, 0.875]


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e7), st.floats(1e-6, 0.1))
def test_smallest_is_tried_and_within_its_tolerance(boundary: float, start: float, tolerance: float) -> None:
    asked: set[float] = set()

    def holds(value: float) -> bool:
        asked.add(value)
        return value >= boundary

    found = smallest(holds, start, 1e7, tolerance)
    assert found in asked
    assert boundary <= found <= boundary * (1.0 + tolerance) * (1.0 + 1e-15)


def test_smallest_says_when_nothing_holds_up_to_the_ceiling() -> None:
    assert smallest(lambda value: value > 5.0, 1.0, 5.0, 1e-3) is None
    assert smallest(lambda value: value >= 5.0, 1.0, 5.0, 1e-3) == pytest.approx(5.0, rel=1e-3)
    assert smallest(lambda value: True, 1.0, 5.0, 1e-3) == pytest.approx(1e-12, rel=1.0)


@given(st.floats(1e-3, 1e6), st.floats(0.2, 60.0), st.floats(-4.0, 4.0), st.floats(0.0, 0.9))
def test_the_smallest_at_a_level_was_tried_and_is_the_smallest(
    boundary: float, power: float, shift: float, undefined: float
) -> None:
    asked: dict[float, float] = {}

    def value(argument: float) -> float:
        inside = argument > undefined * boundary
        asked[argument] = 3.0 * (boundary / argument) ** power if inside else math.inf
        return asked[argument]

    found = smallest_at_level(value, 3.0, boundary * 10.0**shift, 1e300, 1e-3)
    assert asked[found] <= 3.0
    assert boundary <= found * (1.0 + 1e-15)
    assert found <= boundary * 1.00101
    assert len(asked) <= 25


def test_the_smallest_at_a_level_takes_few_evaluations_of_nearly_a_power() -> None:
    asked: list[float] = []

    def value(argument: float) -> float:
        asked.append(argument)
        return 7.0 / argument + 0.3 / argument**2

    found = smallest_at_level(value, 0.01, 100.0, 1e9, 1e-6)
    assert value(found) <= 0.01 < value(found * (1.0 - 2e-6))
    assert len(asked) <= 7


@pytest.mark.parametrize("seed", range(100))
def test_rounding_does_not_decide_where_a_search_for_a_level_goes(seed: int) -> None:
    """Else the answer, which is known to the tolerance only, would be another one on another processor."""
    rng = np.random.default_rng(seed)
    power, share, inner = rng.uniform(0.3, 6.0), 10.0 ** rng.uniform(-2.0, 1.0), rng.uniform(0.3, 3.0)
    level, start, tolerance = (10.0 ** rng.uniform([-1.0, -2.0, -5.0], [1.0, 2.0, -2.0])).tolist()

    def exact(x: float) -> float:
        return float(x**-power + math.expm1(min(share / x**inner, 600.0)))

    def rounded(x: float) -> float:
        return exact(x) * (1.0 + rng.uniform(-2e-15, 2e-15))

    found = [smallest_at_level(value, level, start, 1e9, tolerance) for value in (exact, rounded)]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_the_smallest_at_a_level_may_jump_over_it() -> None:
    def value(argument: float) -> float:
        return 2.0 if argument < 5.0 else 0.0

    assert smallest_at_level(value, 1.0, 1.0, 100.0, 1e-3) == pytest.approx(5.0, rel=1e-3)
    assert smallest_at_level(value, 1.0, 50.0, 100.0, 1e-3) == pytest.approx(5.0, rel=1e-3)
    assert smallest_at_level(value, 1.0, 1.0, 4.0, 1e-3) is None
    assert smallest_at_level(lambda _: 0.5, 1.0, 1.0, 4.0, 1e-3) == pytest.approx(1e-12, rel=1.0)


@pytest.mark.parametrize(("above", "below", "power", "start"), [(2.0, 0.8, 1.1, 3.0), (20.0, 0.9, 1.2, 7.0)])
def test_the_smallest_at_a_level_does_not_creep_towards_a_jump(
    above: float, below: float, power: float, start: float
) -> None:
    asked: list[float] = []

    def value(argument: float) -> float:
        asked.append(argument)
        before = 1.0 + (above - 1.0) * (5.0 - argument) / 5.0
        return (before if argument < 5.0 else below) * (5.0 / argument) ** power

    found = smallest_at_level(value, 1.0, start, 1e9, 1e-3)
    assert found == pytest.approx(5.0, rel=2e-3)
    assert len(asked) <= 13  # by slopes alone 16 and 19


@pytest.mark.parametrize("delta", [0.5, 0.09, 1e-3, 1e-9])
@pytest.mark.parametrize("above", [True, False])
def test_a_crossing_is_on_the_safe_side_of_a_jump(delta: float, above: bool) -> None:
    asked: list[float] = []

    def profile(epsilon: float) -> float:
        asked.append(epsilon)
        smooth = 0.6 * math.exp(-3.0 * epsilon)
        return 0.7 * smooth if epsilon > 0.7 else smooth

    found = crossing(profile, delta, 0.1, slope=lambda _: 2.0, above=above, scale=0.01)
    assert found in asked or found == 0.0
    if above:
        assert profile(found) <= delta < profile(found - 1e-8)
    else:
        assert profile(found) > delta >= profile(found + 1e-8)


@pytest.mark.parametrize("above", [True, False])
def test_a_crossing_at_a_cliff_is_soon_found(above: bool) -> None:
    asked: list[float] = []

    def cliff(epsilon: float) -> float:
        asked.append(epsilon)
        return 5e-5 if epsilon < 24.3 else 1e-62

    found = crossing(cliff, 1e-9, 24.2, slope=lambda e: 2.5 if e < 24.3 else 3200.0, above=above, scale=3e-4)
    assert abs(found - 24.3) < 1e-6
    assert len(asked) <= 60


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("start", [0.5, 0.6])
def test_a_crossing_of_a_smooth_profile_takes_few_evaluations(above: bool, start: float) -> None:
    asked: list[float] = []

    def profile(epsilon: float) -> float:
        asked.append(epsilon)
        return 0.5 * math.erfc(6.0 * epsilon + 1.0)

    found = crossing(profile, 1e-6, start, slope=lambda e: 72.0 * e, above=above, scale=1e-3)
    assert (profile(found) <= 1e-6) == above
    assert len(asked) <= 9


def test_a_crossing_that_is_never_reached_is_infinite() -> None:
    assert crossing(lambda _: 0.5, 0.1, 1.0, slope=lambda _: 1.0, above=True, scale=0.01) == math.inf
    assert crossing(lambda _: 0.05, 0.1, 1.0, slope=lambda _: 1.0, above=False, scale=0.01) == 0.0


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("guess", [1.0, 7.0])
def test_no_slope_is_asked_for_where_nothing_is_left(above: bool, guess: float) -> None:
    asked: list[float] = []

    def ends(epsilon: float) -> float:
        asked.append(epsilon)
        return 0.5 if epsilon < 3.0 else 0.0

    def slope(epsilon: float) -> float:
        assert epsilon < 3.0
        return 1e-3

    found = crossing(ends, 1e-200, guess, slope=slope, above=above, scale=1e-2)
    assert abs(found - 3.0) < 1e-8
    assert len(asked) <= 60


def test_golden_sections_find_the_valley() -> None:
    assert least_argument(lambda x: (x - 0.3) ** 2, -5.0, 5.0) == pytest.approx(0.3, abs=1e-3)


LARGEST = 20.0


def falls_at_the_end(epsilon: float) -> float:
    """The profile of an atom at the largest loss: its logarithm falls ever faster, and is 0 beyond."""
    return 1e-20 * -math.expm1(epsilon - LARGEST) if epsilon < LARGEST else 0.0


def kinked(epsilon: float) -> float:
    return math.exp(-0.01 * epsilon - 300.0 * max(epsilon - 7.0, 0.0))


@pytest.mark.parametrize(
    ("profile", "slope", "delta"),
    [(falls_at_the_end, 0.4, 1e-24), (falls_at_the_end, 3.0, 1e-33), (kinked, 0.01, 0.5), (kinked, 300.0, 0.94)],
)
@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("guess", [0.0, 6.0, 19.0])
def test_few_evaluations(
    profile: Callable[[float], float], slope: float, delta: float, above: bool, guess: float
) -> None:
    asked: list[float] = []

    def counted(epsilon: float) -> float:
        asked.append(epsilon)
        return profile(epsilon)

    found = crossing(counted, delta, guess, slope=lambda _: slope, above=above, scale=1e-3)
    assert found in asked
    assert (profile(found) <= delta) == above
    # The other side is near.
    assert (profile(found * (1.0 + (-1e-9 if above else 1e-9))) <= delta) != above
    assert len(asked) <= 90


def test_a_known_power_takes_one_evaluation_or_two() -> None:
    asked: list[float] = []

    def value(point: float) -> float:
        asked.append(point)
        return 7.0 * point**-1.7

    truth = 7.0 ** (1.0 / 1.7)
    for start, most in ((truth * (1 + 2e-4), 1), (2.0 * truth, 2), (truth / 9.0, 2)):
        asked.clear()
        found = smallest_at_level(value, 1.0, start, 1e9, 1e-3, slope=1.7)
        assert truth <= found <= truth * (1 + 1e-3)
        assert len(asked) <= most


def test_the_first_end_is_found_behind_which_a_predicate_fails_again() -> None:
    asked: list[float] = []

    def holds(value: float) -> bool:
        asked.append(value)
        return 1.9 <= value <= 2.1 or value >= 5.0

    found = before_first(holds, [0.5, 1.0, 2.0, 3.0, 6.0], 0.7, 1e-4)
    assert found == pytest.approx(1.9, rel=1e-4)
    assert found >= 1.9
    assert min(asked) > 0.7
    assert before_first(holds, [3.0, 4.0], 0.7, 1e-4) is None


def test_a_crossing_far_below_the_largest_float_is_found_by_its_height() -> None:
    """As where roundings leave a bound at e^1000: the profile itself would be inf, and tell nothing."""
    asked = list[float]()

    def height(epsilon: float) -> float:
        asked.append(epsilon)
        return 1500.0 - 2.0 * epsilon

    found = crossing_height(height, 0.5, slope=lambda _: 2.0, above=True, scale=1e-3)
    assert 750.0 <= found <= 750.0 * (1.0 + 3e-10)
    assert len(asked) <= 5
