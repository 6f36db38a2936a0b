"""The bound for joint changes: exact products never exceed it, and no charge of it may be missing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.changes import L2Bounded
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.family import FamilyComposition
from dpverify.privacy_loss.grid import connect_the_dots, dominating_grid
from dpverify.privacy_loss.joint_change import JointChange, _FullChange, _over_changes
from dpverify.privacy_loss.mixture import bit_probability_change
from dpverify.privacy_loss.pairs import approximate_dp, binomial_randomized_response, mixed_reports, negative_binomial
from dpverify.privacy_loss.transform import Composition

Floats = NDArray[np.float64]


def reports(users: int, ones: int, p: float) -> tuple[Floats, Floats]:
    """Return the laws of the sum of all reports when her bit is 0 and when it is 1."""
    others = np.ones(1)
    for user in range(users - 1):
        q = 1.0 - p if user < ones else p
        others = np.convolve(others, [1.0 - q, q])
    return np.convolve(others, [1.0 - p, p]), np.convolve(others, [p, 1.0 - p])


def on_the_sphere(rng: np.random.Generator, coordinates: int, square: float) -> Floats:
    """Draw changes in [0, 1] whose squares add up to `square`, some of them far from equal."""
    t = np.abs(rng.standard_normal(coordinates)) ** rng.choice([0.3, 1.0, 3.0])
    for _ in range(100):
        t = np.minimum(t * math.sqrt(square / float(np.sum(t * t))), 1.0)
    return t * (1.0 - 1e-9)


def product(laws: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    p, q = np.ones(1), np.ones(1)
    for one, other in laws:
        p, q = np.outer(p, one).ravel(), np.outer(q, other).ravel()
    return p, q


@pytest.mark.parametrize(
    ("users", "p", "square", "coordinates"),
    [(2, 0.1, 1.0, 2), (3, 0.3, 0.4, 4), (4, 0.2, 2.5, 3), (1, 0.25, 1.0, 1), (5, 0.05, 1.0, 4)],
)
def test_no_change_in_the_ball_exceeds_the_bound(users: int, p: float, square: float, coordinates: int) -> None:
    pairs = [mixed_reports(users, ones, p, 1e-42) for ones in range(users)]
    groups = [[pair.up for pair in pairs], [pair.down for pair in pairs]]
    joint = JointChange(groups, L2Bounded(square, coordinates), reference_delta=1e-3)
    epsilons = math.log((1.0 - p) / p) * math.sqrt(square) * np.array([-0.2, 0.1, 0.8])
    bounds, largest = [joint.delta_upper(float(epsilon)) for epsilon in epsilons], np.zeros(3)
    rng = np.random.default_rng(11)
    for _ in range(60):
        laws = []
        for t in on_the_sphere(rng, coordinates, square):
            zero, one = reports(users, int(rng.integers(users)), p)
            first = float(rng.choice([0.0, 1.0 - t, rng.uniform(0.0, 1.0 - t)]))
            ends = np.array([first, first + t])[:: rng.choice([-1, 1])]
            laws.append(((1 - ends[0]) * zero + ends[0] * one, (1 - ends[1]) * zero + ends[1] * one))
        p_law, q_law = product(laws)
        exact = [float(np.maximum(p_law - math.exp(epsilon) * q_law, 0.0).sum()) for epsilon in epsilons]
        largest = np.maximum(largest, exact)
    assert (largest <= np.array(bounds) + 1e-14).all()
    assert (largest > 0.0).all()
    for epsilon, delta in zip(epsilons, largest, strict=True):
        assert epsilon <= joint.epsilon_upper(float(delta) * (1.0 - 1e-9)) + 1e-12


@pytest.mark.parametrize("largest", [1e-12, 1.0])
@pytest.mark.parametrize("square", [1e-40, 1e-180, 1e-298, 5e-324])
@pytest.mark.filterwarnings("error")
def test_a_change_whose_square_leaves_the_floats_has_a_bound(square: float, largest: float) -> None:
    pair = approximate_dp(largest, 0.0)
    joint = JointChange([pair], L2Bounded(square, 2), attained=[pair])
    t = math.sqrt(square)
    assert t * pair.delta(0.0).lower <= joint.delta(0.0).upper <= 1e-15
    assert 0.0 <= joint.epsilon(1e-6).upper <= 1e-12


@pytest.mark.parametrize("fraction", [0.3, 0.6, 0.97])
@pytest.mark.parametrize("epsilon", [-3.0, -0.2, 0.0, 0.7])
def test_outcomes_that_one_law_cannot_produce_are_charged(fraction: float, epsilon: float) -> None:
    zero, one = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.0, 0.3, 0.5, 0.2])
    pairs = [PrivacyLossDistribution.from_pmfs(*laws) for laws in ((one, zero), (zero, one))]
    joint = JointChange(pairs, L2Bounded(2.0 * fraction**2, 2))
    t = fraction * (1.0 - 1e-12)
    ends = [zero, (1 - t) * zero + t * one, (1 - t) * one + t * zero, one]
    for p, q in [(0, 1), (1, 0), (2, 3), (3, 2)]:
        p_law, q_law = product([(ends[p], ends[q])] * 2)
        exact = float(np.maximum(p_law - math.exp(epsilon) * q_law, 0.0).sum())
        assert exact <= joint.delta_upper(epsilon) + 1e-14


ROWS = [
    (1_600, 25.0, 384, 0.15, 1e-5, 0.003),
    (30_000, 25.0, 768, 0.01, 1e-6, 0.003),
    (30_000, 384.0, 768, 0.05, 1e-6, 0.003),
    (1_600, 4.0, 384, 0.1, 1e-5, 0.01),
    (1_600, 1.0, 384, 0.05, 1e-5, 0.02),
    # The tilt is large, and so are the moments of what was trimmed.
    (1_000_000, 4.0, 768, 0.01, 1e-6, 0.01),
]


@pytest.mark.parametrize(("users", "square", "coordinates", "p", "delta", "width"), ROWS)
def test_the_bound_is_near_what_is_attained(
    users: int, square: float, coordinates: int, p: float, delta: float, width: float
) -> None:
    pair = binomial_randomized_response(users, p, 1e-42)
    change = L2Bounded(square, coordinates)
    found = JointChange(list(pair), change, attained=pair, reference_delta=delta).epsilon(delta)
    assert 0.0 < found.width < width * found.lower


def test_the_lower_end_is_that_of_whole_coordinates() -> None:
    pair = binomial_randomized_response(200, 0.2, 1e-42)
    joint = JointChange(list(pair), L2Bounded(2.9, 8), attained=pair, reference_delta=1e-4)
    two = [Composition([(connect_the_dots(one, 1e-3), 2)]) for one in pair]
    for epsilon in (-0.3, 0.1, 1.0):
        attained = max(composition.delta(epsilon).midpoint for composition in two)
        assert joint.delta(epsilon).lower == pytest.approx(attained, rel=1e-3)
    assert joint.epsilon(1e-4).lower == pytest.approx(max(one.epsilon(1e-4).lower for one in two), rel=1e-3)
    less = JointChange(list(pair), L2Bounded(0.9, 8), attained=pair, reference_delta=1e-4)
    assert less.epsilon(1e-4).lower == 0.0


def test_a_change_of_everything_is_charged_no_more_than_in_full() -> None:
    pair = binomial_randomized_response(200, 0.2, 1e-42)
    joint = JointChange(list(pair), L2Bounded(8.0, 8), attained=pair, reference_delta=1e-4)
    full = FamilyComposition(list(pair), 8, relative_width=1e-4, reference_delta=1e-4)
    assert joint.epsilon_upper(1e-4) == full.epsilon_upper(1e-4)
    assert joint.delta(0.5).upper == full.delta(0.5).upper


def test_the_bound_is_that_of_the_gaussian_mechanism_in_the_limit() -> None:
    # chi^2 = (1-2p)^2 / (n p (1-p)), and a normal shift of T chi: here 1.
    users, p = 10**4, 0.3
    square = users * p * (1 - p) / (1 - 2 * p) ** 2
    pair = binomial_randomized_response(users, p, 1e-42)
    joint = JointChange(list(pair), L2Bounded(square, 10**5), reference_delta=1e-6)

    def normal(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2.0))

    for epsilon in (0.5, 2.0, 4.5):
        exact = normal(0.5 - epsilon) - math.exp(epsilon) * normal(-0.5 - epsilon)
        assert 0.97 * exact < joint.delta_upper(epsilon) < 1.06 * exact


def small(**errors: float) -> JointChange:
    losses, masses = np.array([-0.5, 0.5]), np.array([1.0, math.exp(0.5)]) / (1.0 + math.exp(0.5))
    pair = PrivacyLossDistribution(losses, masses, **errors)  # type: ignore[arg-type]
    return JointChange([pair], L2Bounded(1.0, 6))


def test_errors_of_a_listing_count_in_every_coordinate() -> None:
    # A mass error counts as unlisted mass, too, which hides the growth of the masses: each is looked at by itself.
    assert small(relative_error=0.01)._log_growth >= 6 * 0.01
    assert 6 * 0.02 <= small(loss_error=0.02)._loss_error <= 6 * 0.021
    for epsilon in (0.4, 0.9, 1.5):
        exact, grown, shifted = small(), small(), small()
        grown._log_growth += 0.5
        shifted._loss_error += 0.1
        delta = exact.delta_upper(epsilon)
        assert grown.delta_upper(epsilon) == pytest.approx(delta * math.exp(0.5), rel=1e-6)
        assert shifted.epsilon_upper(delta) == pytest.approx(small().epsilon_upper(delta) + 0.1, abs=1e-6)


def test_mass_that_the_second_law_may_lack_keeps_the_total() -> None:
    # At epsilon = ln(1 - t) or below, every divergence is 1 - e^epsilon: nothing of the second law may be left out.
    pair = PrivacyLossDistribution.from_pmfs([0.0, 0.9, 0.1], [0.8, 0.1, 0.1])
    (first, _), (second, _) = _FullChange(dominating_grid([pair], 0.1)).mixtures(0.5, 0.0)
    assert float(np.sum(np.exp(first.log_masses))) == pytest.approx(1.0, abs=1e-9)
    assert first.losses.min() == pytest.approx(math.log(0.5))
    assert float(np.sum(np.exp(second.log_masses))) == pytest.approx(1.0, abs=1e-9)
    joint = JointChange([pair], L2Bounded(0.25, 1))
    for epsilon in (-0.7, -1.0, -3.0):
        assert joint.delta_upper(epsilon) >= -math.expm1(epsilon)


def test_missing_mass_counts_for_as_much_change_as_there_is() -> None:
    listed, tiny = negative_binomial(4.0, 0.9).up, 1e-4
    pair = PrivacyLossDistribution(listed.losses, listed.masses * (1.0 - tiny), 0.0, tiny + listed.missing_mass)
    # Losses of more than ln 2 on it count as infinite: sixteen changes by 1/2 meet sixteen times the mass,
    joint = JointChange([pair], L2Bounded(4.0, 16))
    assert 15.9 * tiny <= joint.delta_upper(50.0) <= 16.1 * tiny
    assert joint.epsilon_upper(15.9 * tiny) == math.inf
    # and a hundred by 0.04 four times the mass, as infinite loss of the first of both pairs.
    joint = JointChange([pair], L2Bounded(0.16, 100))
    assert 3.9 * tiny <= joint.delta_upper(50.0) <= 4.1 * tiny
    # Where all of it is nothing beside delta, all of it is charged.
    joint = JointChange([pair], L2Bounded(0.16, 100), reference_delta=0.9)
    assert 99.0 * tiny <= joint.delta_upper(50.0) <= 101.0 * tiny


class TestOverChanges:
    """The supremum over all changes, against changes that are drawn."""

    @staticmethod
    def total(changes: Floats, log_moduli: Floats, t: Floats) -> float:
        """Return sum_j F(t_j)."""
        moduli = np.interp(t, np.append(0.0, changes), np.append(1.0, np.exp(log_moduli)))
        return float(np.sum(np.log(moduli)))

    @pytest.mark.parametrize("rate", [3.0, 0.2, -0.1, -5.0])
    @pytest.mark.parametrize("ratio", [1.3, 2.0])
    def test_in_the_middle_of_cells_and_of_the_first(self, rate: float, ratio: float) -> None:
        changes = ratio ** np.arange(-6.0, 1.0)
        log_moduli = rate * changes**2
        middles = 0.5 * (changes + np.append(0.0, changes[:-1]))
        for middle in middles:
            crowd = L2Bounded(50.0 * middle**2, 50)
            exact = self.total(changes, log_moduli, np.full(50, middle))
            assert exact <= _over_changes(changes, log_moduli[:, None], crowd)[0]

    def test_of_any_moduli(self) -> None:
        rng = np.random.default_rng(3)
        for _ in range(300):
            changes = np.cumsum(rng.uniform(0.01, 0.3, rng.integers(1, 6)))
            changes /= max(changes[-1], 1.0)
            log_moduli = rng.normal(size=changes.size) * changes**2 * rng.choice([0.1, 1.0, 10.0])
            t = changes[-1] * rng.uniform(size=20) ** rng.choice([0.5, 1.0, 4.0])
            crowd = L2Bounded(float(np.sum(t * t)), 20)
            assert self.total(changes, log_moduli, t) <= _over_changes(changes, log_moduli[:, None], crowd)[0]

    def test_is_sharp_on_a_fine_grid(self) -> None:
        changes = 1.01 ** np.arange(-400.0, 1.0)
        found = _over_changes(changes, 2.0 * changes[:, None] ** 2, L2Bounded(9.0, 100))[0]
        assert 18.0 <= found <= 18.0 * 1.002


def test_a_pair_at_t_is_dominated_by_a_mixture_of_its_neighbours() -> None:
    # What the interpolation in t rests on: all four pairs' profiles are convex in t.
    full = binomial_randomized_response(20, 0.2).up
    for zero, one in [(0.0, 1.0), (1.0, -1.0)]:
        for swap in (False, True):

            def profile(t: float, epsilon: float, zero: float = zero, one: float = one, swap: bool = swap) -> float:
                ends = (zero, zero + one * t) if swap else (zero + one * t, zero)
                return bit_probability_change(full, *ends).delta(epsilon).midpoint

            for epsilon in (-0.5, 0.05, 0.4):
                mixed = 0.25 * profile(0.2, epsilon) + 0.75 * profile(0.6, epsilon)
                assert profile(0.5, epsilon) <= mixed + 1e-12


def test_losses_never_exceed_those_of_full_changes() -> None:
    # Reports of one user that is alone: four times ln 9 at most.
    pair = binomial_randomized_response(1, 0.1, 1e-42)
    joint = JointChange(list(pair), L2Bounded(1.0, 4))
    assert joint.epsilon_upper(1e-6) <= 4.0 * math.log(9.0) * (1.0 + 1e-9)
    assert joint.delta_upper(4.0 * math.log(9.0) * 1.001) < 1e-300
    # A factor of e^300 in likelihood is more than any moment holds.
    assert JointChange([approximate_dp(300.0, 0.0)], L2Bounded(3.0, 4)).epsilon_upper(1e-6) <= 1200.0 * (1.0 + 1e-9)


def test_equal_laws_reveal_nothing_and_disjoint_ones_all_they_may() -> None:
    equal, disjoint = (
        PrivacyLossDistribution(np.zeros(1), np.ones(1)),
        PrivacyLossDistribution(np.zeros(0), np.zeros(0), 1.0),
    )
    assert JointChange([equal], L2Bounded(3.0, 10)).epsilon_upper(1e-6) == pytest.approx(0.0, abs=1e-9)
    assert JointChange([disjoint], L2Bounded(3.0, 10)).delta_upper(5.0) == 1.0
    assert JointChange([disjoint], L2Bounded(3.0, 10)).epsilon_upper(0.5) == math.inf


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="pairs is empty"):
        JointChange([], L2Bounded(1.0, 2))
    joint = JointChange([approximate_dp(1.0, 0.0)], L2Bounded(1.0, 2))
    with pytest.raises(ValueError, match="delta=0"):
        joint.epsilon_upper(0.0)
    with pytest.raises(ValueError, match="epsilon=nan"):
        joint.delta_upper(math.nan)
