"""The recursion over datasets against all mixes, in exact rationals."""

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import dpverify.privacy_loss.composing.ordered_mixes as recursion
from dpverify import account
from dpverify.privacy_loss.composing.ordered_mixes import (
    OrderedMixes,
    _Bounds,
    _Family,
    _Lattice,
    on_lattice,
    ordered_mixes,
)
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, connect_the_dots
from dpverify.rounding import UNIT
from protocols.bitsum import NegativeBinomial, Poisson, RandomizedResponse

Law = tuple[list[Fraction], list[Fraction]]
"""The masses of all outcomes under P and Q."""


def _exp(epsilon: float) -> Fraction:
    with mpmath.workdps(60):
        return Fraction(int(mpmath.floor(mpmath.exp(mpmath.mpf(epsilon)) * 10**50)), 10**50)


def _divergence(laws: Sequence[Law], epsilon: float) -> Fraction:
    """Return the divergence of a product, at a hair below epsilon: exactly, up to 1e-49."""
    power = _exp(epsilon)
    outcomes = {(Fraction(1), Fraction(1)): 1}
    for p, q in laws:
        made: dict[tuple[Fraction, Fraction], int] = {}
        for (a, b), times in outcomes.items():
            for x, y in zip(p, q, strict=True):
                made[a * x, b * y] = made.get((a * x, b * y), 0) + times
        outcomes = made
    return sum((times * max(a - power * b, Fraction(0)) for (a, b), times in outcomes.items()), Fraction(0))


def _worst(families: Sequence[tuple[Sequence[Law], int]], epsilon: float) -> Fraction:
    every = [itertools.combinations_with_replacement(laws, count) for laws, count in families]
    return max(_divergence([law for part in parts for law in part], epsilon) for parts in itertools.product(*every))


def _responses(users: int, p: Fraction) -> list[Law]:
    """Return the pair of shuffled randomized response for each number of ones among the others."""
    found = list[Law]()
    for ones in range(users):
        others = [Fraction(1)]
        for other in range(users - 1):
            one = 1 - p if other < ones else p
            others = [(1 - one) * low + one * high for low, high in zip([*others, 0], [0, *others], strict=True)]
        sums = [
            [(1 - one) * low + one * high for low, high in zip([*others, 0], [0, *others], strict=True)]
            for one in (1 - p, p)
        ]
        found.append((sums[0], sums[1]))
    return found


def _random_law(source: random.Random) -> Law:
    """Return masses of few outcomes, in 64ths, of which Q may lack one."""
    size = source.randint(2, 4)
    p, q = ([1] * size for _ in range(2))
    for law in (p, q):
        for _ in range(64 - size):
            law[source.randrange(size)] += source.choice([1, 1, 1, 3])
    if source.random() < 0.3:
        q[source.randrange(size)] = 0
    return [Fraction(mass, sum(p)) for mass in p], [Fraction(mass, sum(q)) for mass in q]


def _listed(law: Law) -> PrivacyLossDistribution:
    return PrivacyLossDistribution.from_pmfs(
        [float(x) for x in law[0]], [float(y) for y in law[1]], relative_error=4e-16
    )


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_no_mix_exceeds_the_bound_whatever_the_window_the_tilt_and_the_order(seed: int) -> None:
    source = random.Random(seed)
    families = [
        ([_random_law(source) for _ in range(source.randint(1, 3))], source.randint(1, 2))
        for _ in range(source.randint(1, 2))
    ]
    step = source.choice([0.01, 0.05, 0.3])
    low, high = -source.choice([0.0, 0.2, 2.0, 12.0]), source.choice([0.1, 0.7, 3.0, 12.0])
    parts = [([connect_the_dots(_listed(law), step) for law in laws], count) for laws, count in families]
    apart = source.random() < 0.5
    found = on_lattice(parts, source.choice([0.0, 0.4, 3.0]), low, high, most=source.choice([1, 2, 8]), apart=apart)
    for epsilon in (0.0, 0.3 * high, 0.61 * high, high, 2.0 * high):
        truth = _worst(families, epsilon)
        assert Fraction(found.delta(epsilon)) >= truth - Fraction(1, 10**45)
        if 0 < truth < 1:
            least = found.epsilon(float(truth))
            assert least == math.inf or Fraction(found.delta(least)) <= Fraction(float(truth))


@pytest.mark.parametrize(
    ("users", "p", "instances", "epsilon"),
    [
        (2, Fraction(1, 8), 3, 1.1),
        (3, Fraction(1, 4), 4, 0.3),
        (4, Fraction(19, 64), 4, 0.01),
        (5, Fraction(31, 64), 3, 0.02),
    ],
)
def test_is_the_worst_mix_next_to_exactly(users: int, p: Fraction, instances: int, epsilon: float) -> None:
    laws = _responses(users, p)
    truth = _worst([(laws, instances)], epsilon)
    pairs = [_listed(law) for law in laws]
    for quick, within in ((True, 0.1), (False, 1e-4)):
        found = ordered_mixes([(pairs, instances)], epsilon, float(truth), quick=quick)
        assert found is not None
        assert truth <= Fraction(found.delta(epsilon)) <= truth * Fraction(1.0 + within)


def _sums(masses: Sequence[Fraction], instances: int) -> list[Fraction]:
    found = [Fraction(1)]
    for _ in range(instances):
        made = [Fraction(0)] * (len(found) + len(masses) - 1)
        for i, x in enumerate(found):
            for j, y in enumerate(masses):
                made[i + j] += x * y
        found = made
    return found


def test_charges_the_rounding_of_transforms() -> None:
    # On its own lattice, where nothing is split: what falls short of the truth does so by rounding alone.
    masses = [Fraction(1, 64), Fraction(3, 64), Fraction(20, 64), Fraction(24, 64), Fraction(16, 64)]
    step, instances = 0.125, 8
    grid = GridPrivacyLoss(step, np.arange(-2, 3), np.array([float(x) for x in masses]), 0.0, 0.0, 0.0, 0.0, 0.0)
    found = on_lattice([([grid], instances)], 0.5, -3.0, 4.0)
    sums = _sums(masses, instances)
    with mpmath.workdps(60):
        for place in range(2 * instances):
            truth = mpmath.fsum(
                mpmath.mpf(mass.numerator) / mass.denominator * (1 - mpmath.exp(mpmath.mpf(step) * (place - total)))
                for total, mass in enumerate(sums, start=-2 * instances)
                if total > place
            )
            assert mpmath.exp(mpmath.mpf(found.log_deltas[place - found.first])) >= truth
            assert found.delta(place * step) <= truth * (1 + 1e-7) + 1e-12


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(
    ("relative", "off", "infinite", "missing"),
    [
        (0.01, 0.0, 0.0, 0.0),
        (0.0, 0.03, 0.0, 0.0),
        (0.0, 0.0, 0.1, 0.0),
        (0.0, 0.0, 0.0, 0.1),
        (0.01, 0.03, 0.02, 0.08),
    ],
)
def test_charges_errors_of_losses_and_masses_and_what_is_left_out(
    relative: float, off: float, infinite: float, missing: float, apart: bool
) -> None:
    large = 0.9 - infinite - missing
    law = PrivacyLossDistribution(
        np.array([-0.5, 0.5]), np.array([0.1, large]), infinite, missing, relative_error=relative, loss_error=off
    )
    found = on_lattice([([connect_the_dots(law, 0.05)], 3)], 0.7, -4.0, 4.0, apart=apart)
    # The larger loss has all the mass it may have.
    worst = [(0.5 + off, min(large / (1.0 - relative), 1.0)), (-0.5 + off, 0.1 * (1.0 - 8.0 * relative))]
    worst.append((math.inf, (infinite + missing) * (1.0 - relative)))
    for epsilon in (0.0, 0.5, 1.3, 1.5):
        truth = 0.0
        for parts in itertools.product(worst, repeat=3):
            loss = sum(part[0] for part in parts)
            truth += math.prod(part[1] for part in parts) * max(-math.expm1(epsilon - loss), 0.0)
        assert found.delta(epsilon) >= truth * (1.0 - 1e-12)


@pytest.mark.long
@pytest.mark.parametrize(
    ("users", "p", "instances", "delta", "width"),
    [
        (10, 0.49, 8, 1e-6, 6e-4),
        (25, 0.49, 8, 1e-6, 6e-4),
        (40, 0.49, 4, 1e-6, 6e-4),
        (12, 0.45, 8, 1e-6, 6e-4),
        (22, 0.19, 16, 0.3, 6e-4),
        (22, 0.19, 16, 0.5, 1e-3),
        (4, 0.29707, 4, 0.35392, 1e-2),
    ],
)
def test_few_users_are_accounted_closely(users: int, p: float, instances: int, delta: float, width: float) -> None:
    found = account(RandomizedResponse(users, p), instances=instances, delta=delta).epsilon
    assert found.upper <= found.lower * (1.0 + width)


@pytest.mark.long
@pytest.mark.parametrize("seed", [3, 5])
def test_the_last_bits_of_labels_choose_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # On another processor they differ: of eight random changes of them four widened this interval, to .2 to 3 %.
    rng, moment = np.random.default_rng(seed), recursion._third_moment
    monkeypatch.setattr(recursion, "_third_moment", lambda grid: moment(grid) * (1.0 + 1e-14 * rng.normal()))
    found = account(RandomizedResponse(22, 0.19), instances=16, delta=0.5).epsilon
    assert found.upper <= found.lower * 1.001


def test_the_mix_that_is_worst_next_to_epsilon_0_is_tried() -> None:
    # (0, 3, 3, 3) of the four datasets, by exact enumeration.
    laws = _responses(4, Fraction(0.29707))
    found = account(RandomizedResponse(4, 0.29707), instances=4, delta=0.35392).epsilon
    assert _divergence([laws[0], laws[3], laws[3], laws[3]], found.lower) >= Fraction(0.35392) * (
        1 - Fraction(1, 10**9)
    )
    assert _worst([(laws, 4)], found.upper) <= Fraction(0.35392)
    assert found.lower > 0.0073


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [("delta", 0.2, 5e-4), pytest.param("delta", 0.5, 1e-3, marks=pytest.mark.long), ("epsilon", 0.7234, 1e-3)],
)
def test_days_of_few_users_are_accounted_closely(asked: str, least: float, most: float) -> None:
    days = [(RandomizedResponse(3, 0.0864), 2), (Poisson(5, 2.0), 1), (RandomizedResponse(5, 0.214), 2)]
    result = account(days, **{asked: least})
    found = result.epsilon if asked == "delta" else result.delta
    assert found.upper <= found.lower * (1.0 + most)
    truth = _worst_of_days(found.upper if asked == "delta" else least)
    assert truth <= (least if asked == "delta" else found.upper) * (1.0 + 1e-12)
    truth = _worst_of_days(found.lower if asked == "delta" else least)
    assert truth >= (least if asked == "delta" else found.lower) * (1.0 - 1e-12)


def _worst_of_days(epsilon: float) -> float:
    """Return the largest divergence of all mixes of those days."""
    responses = [
        [tuple(np.array([float(x) for x in law]) for law in pair) for pair in _responses(users, Fraction(p))]
        for users, p in ((3, 0.0864), (5, 0.214))
    ]
    noise = np.array([math.exp(-2.0) * 2.0**k / math.factorial(k) for k in range(50)])
    ups = np.append(0.0, noise), np.append(noise, 0.0)
    every = [
        itertools.combinations_with_replacement(responses[0], 2),
        [(ups,), (ups[::-1],)],
        itertools.combinations_with_replacement(responses[1], 2),
    ]
    worst = 0.0
    for parts in itertools.product(*every):
        p, q = np.ones(1), np.ones(1)
        for pair in itertools.chain(*parts):
            p, q = np.multiply.outer(p, pair[0]).ravel(), np.multiply.outer(q, pair[1]).ravel()
        worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()))
    return worst


def test_noise_beside_randomized_response_is_accounted_closely() -> None:
    found = account([(RandomizedResponse(1000, 0.1), 8), (NegativeBinomial(100, 20.0, 0.9), 8)], delta=1e-6).epsilon
    assert found.upper <= found.lower * (1.0 + 3e-4)


@pytest.mark.parametrize("tilt", [30.0, 400.0, 3000.0])
def test_no_steep_tilt_makes_it_less_than_the_divergence(tilt: float) -> None:
    # Far left of the loss that the tilt is for, e^(t x - K) is 0 in floats, and V is not.
    pair = PrivacyLossDistribution.from_pmfs([0.9, 0.1], [0.1, 0.9])
    grid = connect_the_dots(pair, 0.01)
    bound = on_lattice([([grid], 2)], tilt, -3.0, 5.0)
    most = math.log(9.0)
    for epsilon in np.linspace(0.0, 5.0, 101):
        # Losses 2 most, 0 and -2 most, of probabilities .81, .18 and .01.
        exact = 0.81 * max(-math.expm1(epsilon - 2.0 * most), 0.0)
        assert bound.delta(float(epsilon)) >= exact
    assert bound.delta(0.0) >= 0.8


def test_what_lies_right_of_the_window_may_be_as_large_as_a_tilted_divergence_can_be() -> None:
    # A sure loss of 2 and then one of -1: next to the right end of the window V is that of 1 further on, and W there
    # is the largest that there is, `t^t / (1 + t)^(1 + t)`.
    grids = [GridPrivacyLoss(0.1, np.array([place]), np.ones(1), 0.0, 0.0, 0.0, 0.0, 0.0) for place in (20, -10)]
    found = on_lattice([([grids[0]], 1), ([grids[1]], 1)], 0.7, -4.0, 0.1)
    for epsilon in (-0.1, 0.0, 0.1):
        assert -math.expm1(epsilon - 1.0) <= found.delta(epsilon) <= -math.expm1(epsilon - 1.0) * 1.05


@pytest.mark.parametrize("asked", [{"epsilon": 191.0}, {"delta": 0.3}])
def test_losses_none_of_which_is_negative_when_trimmed_are_no_fault(asked: dict[str, float]) -> None:
    days = [(RandomizedResponse(6, 0.44), 1), (RandomizedResponse(1, 2.5e-259), 1), (Poisson(1, 2.0), 1)]
    found = account(days, **asked)
    # That of the second alone: ln((1 - p) / p), next to surely.
    assert found.epsilon.upper >= 595.0 or found.delta.upper >= 0.999


def test_a_window_of_no_width_is_none() -> None:
    # A loss of 68 that comes with a probability of 1e-34, which is nothing beside the rest, and one that is infinite.
    law = [2.8e-44, 1.0907343582733881e-34, 1.0, 6.29e-43], [0.0, 3.7e-17, 1.0, 2.22e-53]
    assert ordered_mixes([([PrivacyLossDistribution.from_pmfs(*law)], 3)], 68.74036325074275, 1e-43, quick=True) is None


def test_left_of_the_window_a_divergence_is_taken_for_1() -> None:
    grid = connect_the_dots(PrivacyLossDistribution.from_pmfs([0.6, 0.4], [0.4, 0.6]), 0.1)
    found = on_lattice([([grid], 1)], 0.5, 0.0, 1.0)
    # No loss is below -0.41: there it is 1 - e^epsilon.
    assert found.delta(-3.0) >= -math.expm1(-3.0) > found.delta(0.0)


def test_no_step_is_asked_for_that_floats_do_not_tell_from_0() -> None:
    # Hardly any mass is lost, and that at a loss of -81.
    law = [3.2e-136, 1.1e-84, 1.0, 3.5e-163], [2.5e-130, 1.9e-49, 1.0, 0.0]
    assert ordered_mixes([([PrivacyLossDistribution.from_pmfs(*law)], 2)], 0.0, 1e-80, quick=True) is None


@pytest.mark.parametrize(("step", "first"), [(0.1, -7), (0.3, -7), (1e-3, -60000)])
def test_between_nodes_and_next_to_them_it_is_no_less_than_the_chord(step: float, first: int) -> None:
    # So steep that the last digit of epsilon shows, and of how far it is from the first node.
    log_deltas = np.zeros(12 - first)
    log_deltas[-19:] = -30.0 * np.arange(1, 20)
    bound = OrderedMixes(step, first, log_deltas, 0.0, 0.0)
    for place in range(-7, 12):
        for epsilon in (place * step, math.nextafter(place * step, -9.0), (place + 0.3) * step):
            with mpmath.workdps(60):
                exact = mpmath.mpf(epsilon) / mpmath.mpf(step)
                below = int(mpmath.floor(exact))
                share = mpmath.expm1((exact - below) * mpmath.mpf(step)) / mpmath.expm1(mpmath.mpf(step))
                low, high = (mpmath.exp(min(-30 * (each + 8), 0)) for each in (below, below + 1))
                assert mpmath.mpf(bound.delta(epsilon)) >= min(low - share * (low - high), 1)


def test_a_divergence_is_rounded_up_from_its_logarithm() -> None:
    for log_delta in np.random.default_rng(3).uniform(-600.0, 0.0, 100):
        with mpmath.workdps(60):
            exact = mpmath.exp(mpmath.mpf(float(log_delta)))
            assert mpmath.mpf(OrderedMixes(0.1, 0, np.full(4, log_delta), 0.0, 0.0).delta(0.1)) >= exact


def test_what_little_is_finite_hides_no_infinite_mass() -> None:
    # The moment generating function of 100 instances is 1e-400.
    grid = GridPrivacyLoss(0.1, np.array([1]), np.array([1e-4]), 1.0 - 1e-4, 0.0, 0.0, 0.0, 0.0)
    found = on_lattice([([grid], 100)], 1.0, -1.0, 2.0, apart=False)
    assert found.delta(1.0) >= 1.0 - 1e-12


@pytest.mark.parametrize("log_scale", [-1e5 / 3.0, 1e7 / 3.0])
def test_logarithms_are_rounded_up(log_scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    grid, scaled = connect_the_dots(_listed(_random_law(random.Random(0))), 0.1), np.geomspace(1e-300, 1.0, 7)[None]
    for tilt in np.linspace(0.3, 40.0, 20):
        monkeypatch.setattr(_Family, "composed", lambda self, *_: _Bounds(scaled, np.zeros(1), log_scale))
        monkeypatch.setattr(_Lattice, "between", lambda *_, tilt=tilt: _Lattice(0.1, tilt, -3, 7))
        found = on_lattice([([grid], 1)], tilt, -1.0, 1.0)
        for place, value in enumerate(scaled[0]):
            with mpmath.workdps(40):
                exact = mpmath.log(mpmath.mpf(float(value))) + mpmath.mpf(log_scale)
                exact -= mpmath.mpf(tilt) * mpmath.mpf(0.1) * (place - 3)
                assert mpmath.mpf(float(found.log_deltas[place])) >= exact


@pytest.mark.parametrize(("tilt", "log_scale"), [(0.7, 0.0), (40.0, 3.3), (900.0, 250.1)])
def test_what_is_computed_on_a_lattice_is_rounded_up(tilt: float, log_scale: float) -> None:
    lattice = _Lattice(0.01, tilt, -60, 100)
    ones, payoff = lattice.ones(-60, 100, log_scale), lattice.payoff
    grid = GridPrivacyLoss(0.01, np.arange(-30, 34), np.full(64, 2.0**-6), 0.0, 0.0, 0.0, 0.0, 0.0)
    family = _Family(lattice, [grid], apart=True)
    kernel = np.fft.irfft(family._transforms[0], family._length)
    rounded = 30.0 * UNIT * float(np.abs(kernel).max())
    with mpmath.workdps(60):
        for place in range(100):
            loss = mpmath.mpf(0.01) * (place - 60)
            exact = mpmath.exp(mpmath.mpf(tilt) * loss - mpmath.mpf(log_scale))
            assert mpmath.mpf(ones[place]) >= min(exact, mpmath.exp(700))
            assert mpmath.mpf(payoff[place]) >= mpmath.exp(mpmath.mpf(tilt) * loss) * max(1 - mpmath.exp(loss), 0)
        for place, mass in zip(grid.indices.tolist(), grid.masses, strict=True):
            exact = mpmath.mpf(float(mass)) * mpmath.exp(mpmath.mpf(tilt) * mpmath.mpf(0.01) * place)
            scaled = exact * mpmath.exp(-mpmath.mpf(family._log_scale))
            assert mpmath.mpf(kernel[place + family._right]) >= scaled - rounded
