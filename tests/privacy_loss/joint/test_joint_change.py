"""The bound for joint changes: no charge of it may be missing. Exact products never exceed it: `joint_hunt`."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.changes import L2Ball, L2Bounded
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.joint import change_rates, joint_change
from dpverify.privacy_loss.joint.attained_change import composed
from dpverify.privacy_loss.joint.change_rates import looseness
from dpverify.privacy_loss.joint.joint_change import JointChange
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.mixture import bit_probability_change
from dpverify.privacy_loss.losses.pairs import (
    approximate_dp,
    binomial_randomized_response,
    discrete_laplace,
    negative_binomial,
    poisson,
    three_nb,
)
from protocols.bitsum import RandomizedResponse

Floats = NDArray[np.float64]


def product(laws: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    p, q = np.ones(1), np.ones(1)
    for one, other in laws:
        p, q = np.outer(p, one).ravel(), np.outer(q, other).ravel()
    return p, q


@pytest.mark.long
@pytest.mark.parametrize("largest", [1e-12, 1.0])
@pytest.mark.parametrize("square", [1e-40, 1e-180, 1e-298, 5e-324])
@pytest.mark.filterwarnings("error")
def test_a_change_whose_square_leaves_the_floats_has_a_bound(square: float, largest: float) -> None:
    pair = approximate_dp(largest, 0.0)
    joint = JointChange([pair], L2Bounded(square, 2), attained=[pair])
    t = math.sqrt(square)
    assert t * pair.delta(0.0).lower <= joint.delta(0.0).upper <= 1e-15
    assert 0.0 <= joint.epsilon(1e-6).upper <= 1e-12


def laplace(epsilon: float) -> list[PrivacyLossDistribution]:
    return [approximate_dp(epsilon, 0.0)]


ROWS = {
    "rr": (lambda: binomial_randomized_response(1_600, 0.15, 1e-42), 25.0, 384, 1e-5, 0.003),
    "rr-many": (lambda: binomial_randomized_response(30_000, 0.05, 1e-42), 384.0, 768, 1e-6, 0.003),
    "rr-one": (lambda: binomial_randomized_response(1_600, 0.05, 1e-42), 1.0, 384, 1e-5, 0.02),
    # Between whole numbers: as many full changes as fit, and one of the rest.
    "rr-and-a-half": (lambda: binomial_randomized_response(1_600, 0.05, 1e-42), 1.5, 384, 1e-5, 0.02),
    # The tilt is large, and so are the moments of what was trimmed.
    "rr-large": (lambda: binomial_randomized_response(1_000_000, 0.01, 1e-42), 4.0, 768, 1e-6, 0.01),
    "rr-small": (lambda: binomial_randomized_response(50, 0.2, 1e-42), 4.0, 64, 1e-6, 0.01),
    # Where m changes of the same size are the worst.
    "laplace": (lambda: laplace(0.09), 25.0, 768, 1e-6, 0.003),
    "laplace-strong": (lambda: laplace(0.5), 25.0, 768, 1e-6, 0.003),
    "discrete-laplace": (lambda: discrete_laplace(0.4), 25.0, 768, 1e-6, 0.003),
    "3nb": (lambda: three_nb(0.9, 10.0, 0.99), 25.0, 768, 1e-6, 0.003),
    "nb": (lambda: negative_binomial(40.0, 0.9), 25.0, 768, 1e-6, 0.003),
    "poisson": (lambda: poisson(100.0), 25.0, 768, 1e-6, 0.003),
    # Heavy tails, where few changes are the worst.
    "nb-one": (lambda: negative_binomial(40.0, 0.9), 1.0, 768, 1e-6, 0.01),
    "rr-rarely": (lambda: binomial_randomized_response(30_000, 0.001, 1e-42), 25.0, 768, 1e-6, 0.003),
    "below-one": (lambda: binomial_randomized_response(1_600, 0.05, 1e-42), 0.25, 384, 1e-5, 0.03),
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("row", "kind"),
    [*((row, L2Ball) for row in ROWS), *((row, L2Bounded) for row in ("rr-one", "laplace", "nb-one"))],
)
def test_the_bound_is_near_what_is_attained(row: str, kind: type[L2Bounded]) -> None:
    pairs, square, coordinates, delta, width = ROWS[row]
    pair = pairs()
    found = JointChange(list(pair), kind(square, coordinates), attained=pair, reference_delta=delta).epsilon(delta)
    assert 0.0 < found.width < width * found.lower


@pytest.mark.parametrize("square", [4.0, pytest.param(25.0, marks=pytest.mark.long)])
def test_two_directions_cost_no_more_than_the_worse_one_and_no_less_than_both(square: float) -> None:
    pairs = list(binomial_randomized_response(1000, 0.009))
    bound = JointChange(pairs, L2Bounded(square, 64)).epsilon_upper(1e-6)
    alone = [JointChange([pair], L2Bounded(square, 64)).epsilon_upper(1e-6) for pair in pairs]
    # What the smallest moves add is that of either pair.
    assert max(alone) <= bound <= max(alone) * (1.0 + 1e-5)
    for count in (1, int(square) // 2, int(square) - 1):
        assert composed(((pairs[0], int(square) - count), (pairs[1], count)), 1e-6).epsilon(1e-6).lower < bound


def test_a_ball_allows_for_less() -> None:
    # By 3 % where a bit that is sure before or after is the worst, as under strong noise of two losses.
    bounds = [JointChange(laplace(0.5), kind(25.0, 768)).epsilon_upper(1e-6) for kind in (L2Bounded, L2Ball)]
    assert bounds[1] < 0.97 * bounds[0]


@pytest.mark.long
def test_what_is_attained_does_not_exceed_the_bound_at_any_epsilon() -> None:
    pair = binomial_randomized_response(200, 0.2, 1e-42)
    for change in (L2Bounded(2.9, 8), L2Ball(0.3, 8)):
        joint = JointChange(list(pair), change, attained=pair, reference_delta=1e-4)
        for epsilon in (-0.3, 0.1, 1.0):
            found = joint.delta(epsilon)
            assert 0.0 < found.lower < found.upper


def test_a_change_of_everything_is_charged_no_more_than_in_full() -> None:
    pair = binomial_randomized_response(200, 0.2, 1e-42)
    joint = JointChange(list(pair), L2Bounded(8.0, 8), attained=pair, reference_delta=1e-4)
    full = FamilyComposition(list(pair), 8, relative_width=1e-4, reference_delta=1e-4)
    assert joint.epsilon_upper(1e-4) == full.epsilon(1e-4, quick=True).upper
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


def rare() -> tuple[Floats, Floats]:
    """Return two laws of which the second has a large loss against the first, rarely."""
    return np.array([0.5, 0.4999, 0.0001]), np.array([0.45, 0.53, 0.02])


def test_what_fades_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_FADED_SHARE", "_MOST_FADED"):
        monkeypatch.setattr(joint_change, name, 0.5)
    zero, one = rare()
    pairs = [PrivacyLossDistribution.from_pmfs(*laws) for laws in ((one, zero), (zero, one))]
    joint = JointChange(pairs, L2Bounded(2.0, 2), reference_delta=0.08)
    assert 0.04 <= joint._faded <= 0.08
    p_law, q_law = product([(one, zero)] * 2)
    for epsilon in (1.0, 3.0, 5.0):
        exact = float(np.maximum(p_law - math.exp(epsilon) * q_law, 0.0).sum())
        assert joint.delta_upper(epsilon) - joint._faded < exact <= joint.delta_upper(epsilon)
        assert epsilon <= joint.epsilon_upper(exact)


def test_what_fades_of_moves_below_the_grid_is_charged() -> None:
    # A share of the smallest move each: as many as m moves whose squares add up to T^2 may be.
    made = JointChange(list(discrete_laplace(0.4)), L2Bounded(4.0, 400), reference_delta=1e-3)
    share = min(joint_change._FADED_SHARE * looseness(made.change) ** 4, joint_change._MOST_FADED)
    assert made._faded >= share * 1e-3 * (1.0 + float(made._grid.sizes[0]) * 20.0 / 2.0)


def test_what_fades_counts_at_an_epsilon_as_at_a_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_FADED_SHARE", "_MOST_FADED"):
        monkeypatch.setattr(joint_change, name, 0.5)
    joint = JointChange(list(discrete_laplace(0.4)), L2Bounded(4.0, 400), reference_delta=1e-3)
    assert joint._faded > 5e-4
    assert joint.delta_upper(joint.epsilon_upper(1e-3)) <= 1e-3 * (1.0 + 1e-6)


def test_no_divergence_exceeds_the_total_variation() -> None:
    joint = JointChange([approximate_dp(5.0, 0.0)], L2Bounded(1e-8, 4))
    assert joint.delta_upper(0.0) <= 2e-4 * (1.0 + 1e-9)
    assert joint.epsilon_upper(2.01e-4) == 0.0
    assert joint.delta_upper(-0.5) >= -math.expm1(-0.5)


def small(**errors: float) -> JointChange:
    losses, masses = np.array([-0.5, 0.5]), np.array([1.0, math.exp(0.5)]) / (1.0 + math.exp(0.5))
    pair = PrivacyLossDistribution(losses, masses, **errors)  # type: ignore[arg-type]
    return JointChange([pair], L2Bounded(1.5, 6))


def test_errors_of_a_listing_count_in_every_coordinate() -> None:
    # A mass error counts as unlisted mass, too, which hides the growth of the masses: each is looked at by itself.
    assert small(relative_error=0.01)._log_growth >= 6 * 0.01
    assert 6 * 0.02 <= small(loss_error=0.02)._loss_error <= 6 * 0.021
    for epsilon in (0.4, 1.5):
        exact, grown, shifted = small(), small(), small()
        grown._log_growth += 0.5
        shifted._loss_error += 0.1
        delta = exact.delta_upper(epsilon)
        listed = (delta - exact._faded) * math.exp(0.5)
        assert grown.delta_upper(epsilon) - grown._faded == pytest.approx(listed, rel=1e-6)
        assert shifted.epsilon_upper(delta) == pytest.approx(small().epsilon_upper(delta) + 0.1, abs=1e-6)


def test_errors_count_where_the_largest_move_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of a heavy tail: what bounds changes without a large move is smaller, and what bounds all is larger.
    laws = [0.5, 0.4, 0.09, 0.009, 0.001], [0.6, 0.39, 0.0095, 0.00049, 0.00001]

    def made() -> JointChange:
        return JointChange([PrivacyLossDistribution.from_pmfs(*laws)], L2Bounded(1.0, 9), reference_delta=1e-2)

    exact, grown, shifted, epsilon = made(), made(), made(), 0.5
    grown._log_growth += 0.5
    shifted._loss_error += 0.1
    delta = exact.delta_upper(epsilon)
    listed = (delta - exact.left_out) * math.exp(0.5)
    # What bounds the other moves is charged for all, too.
    assert grown.delta_upper(epsilon) - exact.left_out >= listed * (1.0 - 1e-6)
    assert shifted.delta_upper(epsilon + 0.1) >= delta * (1.0 - 1e-6)
    # What bounds the largest move by itself, too: here what bounds the others in its place is less.
    for joint in (exact, shifted):
        assert joint._largest_move is not None
        monkeypatch.setattr(joint._largest_move, "divergence", lambda at, among: 0.22 * math.exp(-1.1 * (at - epsilon)))
    assert shifted.delta_upper(epsilon + 0.1) >= exact.delta_upper(epsilon) * (1.0 - 1e-6) > 0.2199
    # A search ends within a few of ten thousandths.
    found = exact.epsilon_upper(delta)
    assert grown.epsilon_upper(listed + exact.left_out) >= found * (1.0 - 1e-3)
    assert shifted.epsilon_upper(delta) >= (found + 0.1) * (1.0 - 1e-3)


def test_unlisted_mass_counts_for_as_many_moves_as_there_may_be() -> None:
    for change in (L2Ball(4.0, 400), L2Bounded(4.0, 400)):
        joint = JointChange(list(discrete_laplace(0.4)), change, reference_delta=1e-3)
        sizes = joint._grid.sizes
        # Of moves in the cell beyond a size up to which losses are finite T^2 over its square,
        for size in sizes[[-2, sizes.size // 2]]:
            assert joint._infinite_mass(1e-4, float(size)) >= 1e-4 * min(4.0 / size**2, 400.0)
        # and of bits that are sure before as much as all changes together: m moves of T / sqrt(m) each.
        if joint._grid.has_sure_bits:
            assert joint._infinite_mass(1e-4, 1.0) >= 1e-4 * math.sqrt(4.0 * 400.0)


def test_moves_smaller_than_the_grid_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a grid of full changes alone: 400 bits that move by 0.1 each reveal more than four of them.
    monkeypatch.setattr(change_rates, "_INTERPOLATION", 100.0)
    p, m = 0.2, 400
    pair = PrivacyLossDistribution.from_pmfs([p, 1.0 - p], [1.0 - p, p])
    joint = JointChange([pair], L2Bounded(4.0, m))
    assert joint._grid.sizes.tolist() == [1.0]
    before, after = p, p + 0.1 * (1.0 - 2.0 * p)
    ones = np.arange(m + 1)
    copies = np.array([math.comb(m, int(k)) for k in ones], dtype=np.float64)
    first, second = (copies * q**ones * (1.0 - q) ** (m - ones) for q in (after, before))
    for epsilon in (0.5, 2.0, 5.0, 9.0):
        assert float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum()) <= joint.delta_upper(epsilon)


def test_what_a_move_in_the_first_cell_adds_counts_in_every_coordinate(monkeypatch: pytest.MonkeyPatch) -> None:
    charged = small()
    rates = charged._grid.rates
    monkeypatch.setattr(charged._grid, "rates", lambda moduli: (rates(moduli)[0], rates(moduli)[1] + 0.05))
    listed = (small().delta_upper(1.5) - charged._faded) * math.exp(0.3)
    assert charged.delta_upper(1.5) - charged._faded == pytest.approx(listed, rel=1e-6)


def test_mass_that_the_second_law_may_lack_keeps_the_total() -> None:
    # At epsilon = ln(1 - t) or below, every divergence is 1 - e^epsilon: nothing of the second law may be left out.
    pair = PrivacyLossDistribution.from_pmfs([0.0, 0.9, 0.1], [0.8, 0.1, 0.1])
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
    assert joint.delta_upper(joint.epsilon_upper(20.0 * tiny)) <= 20.0 * tiny * (1.0 + 1e-6)
    # and a hundred by 0.04 four times the mass, as infinite loss of the first of both pairs.
    joint = JointChange([pair], L2Bounded(0.16, 100))
    assert 3.9 * tiny <= joint.delta_upper(50.0) <= 4.1 * tiny
    # Where all of it is nothing beside delta, all of it is charged.
    joint = JointChange([pair], L2Bounded(0.16, 100), reference_delta=0.9)
    assert 99.0 * tiny <= joint.delta_upper(50.0) - joint._faded <= 101.0 * tiny


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


@pytest.mark.long
@pytest.mark.parametrize("p", [4.4e-18, 1e-300])
def test_one_loss_that_has_all_of_the_mass_is_no_division_by_zero(p: float) -> None:
    found = account(RandomizedResponse(3, p), instances=4, squared_change=1.0, delta=1e-7).epsilon
    assert math.log((1.0 - p) / p) * (1.0 - 1e-6) <= found.lower <= found.upper <= 4.0 * math.log((1.0 - p) / p)


def test_a_bound_of_0_need_not_be_any_less() -> None:
    response = RandomizedResponse(4, 0.28430336511492144)
    assert account(response, instances=2, squared_change=1.0, delta=0.3452708195707).epsilon.upper == 0.0


def test_a_quick_bound_tells_what_is_far_below() -> None:
    change, delta = L2Bounded(2.0, 100), 1e-9
    pairs = poisson(60.0, 1e-25)
    sharp = JointChange(pairs, change, reference_delta=delta).epsilon_upper(delta)
    far, near = (
        JointChange(pairs, change, reference_delta=delta).epsilon_upper(delta, decide=factor * sharp)
        for factor in (10.0, 1.5)
    )
    # A bound, from moments alone, up to half of what is to be decided; and else the same as without. Two full changes
    # are among those of T^2 = 2.
    full = FamilyComposition(pairs, 2, attained=pairs, reference_delta=delta).epsilon(delta).lower
    assert full <= sharp < far < 2.0 * sharp
    assert near == sharp


@pytest.mark.long
def test_a_bound_that_is_too_much_need_not_be_the_least() -> None:
    change, delta = L2Bounded(0.5, 100), 1e-6

    def bound(most: float) -> float:
        made = JointChange(binomial_randomized_response(30_000, 1e-3, 1e-42), change, reference_delta=delta)
        return made.epsilon_upper(delta, most=most)

    sharp = bound(math.inf)
    assert bound(1.2 * sharp) == bound(sharp) == sharp
    # One move may be most of the change here: the sharp bound looks at it by itself.
    assert sharp < bound(0.5 * sharp) < 1.2 * sharp


def test_what_is_infinite_takes_no_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    # No noise at all has a chance of e^-5.
    bound = JointChange(poisson(5.0, 1e-25), L2Bounded(2.0, 100), reference_delta=1e-9)
    monkeypatch.setattr(joint_change.FullChange, "all_moved", None)
    assert bound.epsilon_upper(1e-9) == math.inf


@pytest.mark.parametrize("kind", [L2Bounded, L2Ball])
def test_what_fades_adds_up_over_all_moves(kind: type[L2Bounded], monkeypatch: pytest.MonkeyPatch) -> None:
    # A move is a mixture of the corners of its cell, so the least that it may cost is what its larger corner goes by.
    for name in ("_FADED_SHARE", "_MOST_FADED"):
        monkeypatch.setattr(joint_change, name, 0.5)
    pairs = list(binomial_randomized_response(300, 0.05, 1e-42))
    joint = JointChange(pairs, kind(4.0, 40), reference_delta=0.9)
    sizes = joint._grid.sizes
    allowed = joint._fades / 4.0 * np.append(sizes[0], sizes[:-1]) ** 2
    lost = [
        max(
            math.fsum(np.exp(before.log_masses)) - math.fsum(np.exp(after.log_masses))
            for level in whole
            for before, after in zip(whole[level], faded[level], strict=True)
        )
        for whole, faded in zip(joint._moved[0], joint._atoms, strict=True)
    ]
    assert (np.array(lost) <= allowed * (1.0 + 1e-9) + 1e-14).all()
    # Nearly all that is allowed is lost somewhere, so that no more is.
    assert (np.array(lost) > 0.97 * allowed).any()


@pytest.mark.long
def test_what_all_bits_in_full_have_contradicts_no_cover() -> None:
    # The pieces of randomized response's cover are above the pairs that bound all of it in full.
    protocol, delta = RandomizedResponse(41, 0.21465635194333965), 0.009016416530871556
    joint = account(protocol, instances=2, squared_change=2, delta=delta).epsilon
    full = account(protocol, instances=2, delta=delta).epsilon
    assert full.lower <= joint.upper <= full.upper * 1.0002
    assert plan("rr", (full.upper, delta), users=41, instances=2, squared_change=2).protocol.users == 41


@pytest.mark.parametrize(
    ("users", "flip_probability", "instances", "squared_change", "delta"),
    [(13, 0.13508634985179911, 2, 1.5, 0.2722775), pytest.param(138, 0.066, 1, 0.75, 7.8e-4, marks=pytest.mark.long)],
)
def test_few_bits_are_charged_in_full_where_that_is_less(
    users: int, flip_probability: float, instances: int, squared_change: float, delta: float
) -> None:
    protocol = RandomizedResponse(users, flip_probability)
    joint = account(protocol, instances=instances, squared_change=squared_change, delta=delta).epsilon
    assert joint.upper <= account(protocol, instances=instances, delta=delta).epsilon.upper * 1.0002
