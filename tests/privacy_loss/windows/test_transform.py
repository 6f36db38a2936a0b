"""Composition: intervals that are narrow where it matters; `test_hunt` has exact products of random pairs in them."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dpverify import account
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import approximate_dp, poisson
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.transform import Composition
from protocols.bitsum import CentralDiscreteGaussian, RandomizedResponse
from tests.privacy_loss.exact import RationalPair, binomial_sum, floats, rational_pairs, truth

RARELY_INFINITE = [Fraction(59, 100), Fraction(2, 5), Fraction(1, 100)], [Fraction(2, 5), Fraction(3, 5), Fraction(0)]


@settings(max_examples=20, deadline=None)
@given(rational_pairs(5), st.integers(2, 4), st.sampled_from([1e-2, 1e-4, 1e-7]))
@example(RARELY_INFINITE, 2, 0.01)
@example(RARELY_INFINITE, 2, 0.0199)
@example(RARELY_INFINITE, 2, 0.02)
def test_epsilon_brackets_the_crossing(pair: RationalPair, count: int, delta: float) -> None:
    distribution = floats(pair)
    assume(distribution.losses.size)
    found = Composition([(connect_the_dots(distribution, 0.01), count)]).epsilon(delta)
    if math.isfinite(found.upper):
        assert truth([pair], [count], found.upper).lower <= Fraction(delta)
    else:
        # Only if the infinite mass alone exceeds delta, up to its rounding.
        assert truth([pair], [count], 1e3).upper > Fraction(delta) * Fraction(999, 1000)
    if found.lower > 0:
        assert truth([pair], [count], min(found.lower, 1e3)).upper > Fraction(delta)


def test_many_fold_pure_mechanism_against_an_exact_binomial_sum() -> None:
    k, epsilon0 = 500, 0.05
    found = Composition([(connect_the_dots(approximate_dp(epsilon0, 0.0), 1e-4), k)])
    for epsilon in (-1.0, 0.0, 0.5, 2.0, 5.0, 9.0, 14.0):
        interval, exact = found.delta(epsilon), binomial_sum(k, epsilon0, epsilon)
        assert interval.lower <= exact <= interval.upper
        # Losses on the grid are exact, so nothing but rounding is left: relative, down to 1e-60 and beyond.
        assert interval.width <= 1e-6 * float(exact)
    for delta in (1e-6, 1e-15, 1e-30):
        ends = found.epsilon(delta)
        assert binomial_sum(k, epsilon0, ends.upper) <= delta <= binomial_sum(k, epsilon0, ends.lower)
        assert ends.width <= 2e-6 * ends.upper


def test_one_sided_noise_keeps_its_two_directions_apart() -> None:
    pair = poisson(400.0)
    up, down = (Composition([(connect_the_dots(direction, 1e-4), 100)]).epsilon(1e-6) for direction in pair)
    assert up.upper < down.lower


def test_infinite_and_missing_mass_add_up_over_instances() -> None:
    pair = PrivacyLossDistribution.from_atoms(np.array([0.0]), np.array([0.999 - 1e-5]), 1e-3, 1e-5)
    found = Composition([(connect_the_dots(pair, 0.1), 10)]).delta(5.0)
    assert found.lower == pytest.approx(-math.expm1(10 * math.log1p(-1e-3)), rel=1e-9)
    assert found.upper == pytest.approx(-math.expm1(10 * math.log1p(-1.01e-3)), rel=1e-9)


def test_a_query_below_delta_of_infinite_mass_is_infinite() -> None:
    pair = PrivacyLossDistribution.from_atoms(np.array([0.0]), np.array([0.999]), 1e-3)
    assert Composition([(connect_the_dots(pair, 0.1), 10)]).epsilon(1e-3).upper == math.inf


def test_bad_input_is_refused() -> None:
    grid = connect_the_dots(approximate_dp(0.1, 0.0), 1e-3)
    other = connect_the_dots(approximate_dp(0.1, 0.0), 2e-3)
    with pytest.raises(ValueError, match="factors is empty"):
        Composition([])
    with pytest.raises(ValueError, match=r"count=0 must be an integer in \[1, inf\)"):
        Composition([(grid, 0)])
    with pytest.raises(ValueError, match="must share one"):
        Composition([(grid, 1), (other, 1)])
    composed = Composition([(grid, 5)])
    for delta in (0.0, 1.0, math.nan, -1.0):
        with pytest.raises(ValueError, match="delta="):
            composed.epsilon(delta)
    with pytest.raises(ValueError, match="epsilon=inf"):
        composed.delta(math.inf)


def test_memory_is_refused_before_it_is_taken_and_a_step_that_fits_is_named() -> None:
    distribution = approximate_dp(0.1, 0.0)
    small = {"max_bytes": 2**20}
    with pytest.raises(ValueError, match="is too small, and") as caught:
        Composition([(connect_the_dots(distribution, 1e-5), 10_000)], **small).delta(1.0)
    fitting = float(str(caught.value).split("is too small, and ")[1].split(" ")[0])
    assert 0 < Composition([(connect_the_dots(distribution, fitting), 10_000)], **small).delta(1.0).upper <= 1


@pytest.fixture
def transforms(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The tilts at which a transform was made."""
    made, transform = list[float](), Composition._transform

    def counted(self: Composition, tilt: float) -> object:
        made.append(tilt)
        return transform(self, tilt)

    monkeypatch.setattr(Composition, "_transform", counted)
    return made


def test_a_tilt_that_reaches_no_further_is_transformed_once(transforms: list[float]) -> None:
    # Next to the largest total loss each of 362 queries once made the same transform again: 17 s.
    found = account(RandomizedResponse(556, 0.00168), instances=48, delta=1e-30).epsilon
    assert found.lower <= found.upper <= found.lower * (1.0 + 1e-5)
    assert len(transforms) < 100


def reports(users: int, flip: float, ones: int) -> list[RationalPair]:
    """Return both directions of the number of reported ones when so many of the other users hold 1."""
    p = Fraction(flip)
    laws = [[Fraction(1)], [Fraction(1)]]
    for mine, chance in [(bit, p) for bit in (0,) * (users - 1 - ones) + (1,) * ones]:
        for i, law in enumerate(laws):
            one = 1 - chance if mine else chance
            laws[i] = [(1 - one) * a + one * b for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    for i, one in enumerate((p, 1 - p)):
        laws[i] = [
            (1 - one) * a + one * b for a, b in zip([*laws[i], Fraction(0)], [Fraction(0), *laws[i]], strict=True)
        ]
    return [(laws[1], laws[0]), (laws[0], laws[1])]


@pytest.mark.parametrize(
    ("users", "flip", "instances", "delta", "relative_width"),
    [(2, 6.9e-5, 3, 3.9e-275, 1e-9), (4, 1e-12, 6, 0.9, 1e-6)],
    ids=["next to the largest total", "below the window"],
)
def test_losses_of_a_few_values_are_soon_enclosed(
    users: int, flip: float, instances: int, delta: float, relative_width: float, transforms: list[float]
) -> None:
    # Once 120 transforms, as slopes were sought where nothing is left; and [0, 163.48].
    protocol = RandomizedResponse(users, flip)
    found = account(protocol, instances=instances, delta=delta, relative_width=relative_width).epsilon
    assert found.upper <= found.lower * (1.0 + 1e-5)
    assert len(transforms) <= 40
    exact = [
        [truth([pair], [instances], end) for pair in reports(users, flip, 0)] for end in (found.lower, found.upper)
    ]
    assert max(each.upper for each in exact[0]) > Fraction(delta)
    assert max(each.lower for each in exact[1]) <= Fraction(delta)


def test_a_gap_between_losses_is_stepped_over_from_the_end() -> None:
    # The loss of two instances is a multiple of 83.46: the lower end was that of the multiple before, 166.23.
    found = account(CentralDiscreteGaussian(1, 0.0774), instances=2, delta=3.9e-118).epsilon
    with mp.workdps(400):
        sigma, places = mp.mpf(0.0774), range(-8, 9)
        mass = {z: mp.exp(-(z**2) / (2 * sigma**2)) for z in places}
        total = sum(mass.values())
        exact = [
            sum(
                max(mass[a] * mass[b] - mp.exp(end) * mass.get(a + 1, 0) * mass.get(b + 1, 0), 0) / total**2
                for a in places
                for b in places
            )
            for end in (found.lower, found.upper)
        ]
    assert exact[1] <= 3.9e-118 < exact[0]
    assert found.upper <= found.lower * (1.0 + 1e-5)


def test_masses_that_may_be_larger_are_so_below_all_losses() -> None:
    # Listed is .9 of the mass, all of which has the loss 1/2: far below that the divergence is nearly all of it.
    grid = connect_the_dots(PrivacyLossDistribution(np.array([0.5]), np.array([0.9]), relative_error=0.12), 0.1)
    for copies in (1, 3):
        for epsilon in (-30.0, -8.0):
            found = Composition([(grid, copies)]).delta(epsilon)
            assert found.upper >= -math.expm1(epsilon - 0.5 * copies)
