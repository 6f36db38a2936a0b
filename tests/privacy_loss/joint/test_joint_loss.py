"""The largest loss of joint changes: no points of a ball have more, and some have it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.changes import L2Ball, L2Bounded
from dpverify.guarantee import Interval
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.privacy_loss.joint.joint_loss import largest_joint_loss, largest_loss_within
from protocols.bitsum import Poisson, RandomizedResponse

Floats = NDArray[np.float64]
INFINITE = Interval(math.inf, math.inf)


def summed(loss: float, squares: Floats) -> Floats:
    """Return the sum of -ln(1 - k u) over the last axis."""
    u, flipped = np.sqrt(squares), 2.0 / (math.exp(loss) + 1.0) if loss < math.inf else 0.0
    return np.asarray(-np.log((1.0 - u) + flipped * u).sum(axis=-1))


def climbed(loss: float, square: float, coordinates: int) -> float:
    """Return the largest such sum over a ball that many starting points climb to."""
    rng = np.random.default_rng(1)
    squares = np.concatenate([rng.dirichlet(np.full(coordinates, spread), 400) for spread in (0.05, 0.3, 3.0)]) * square
    for _ in range(30):
        over = np.maximum(squares - 1.0, 0.0).sum(axis=1, keepdims=True)
        squares = np.minimum(squares, 1.0)
        squares += over * (1.0 - squares) / np.maximum((1.0 - squares).sum(axis=1, keepdims=True), 1e-300)
    squares = np.minimum(squares, 1.0)
    step = 0.3 * square
    for number in range(4000):
        step *= 0.75 if number % 150 == 0 else 1.0
        first, second = rng.permutation(coordinates)[:2]
        moved, by = squares.copy(), step * rng.random(len(squares))
        by = np.minimum(np.minimum(by, squares[:, first]), 1.0 - squares[:, second])
        moved[:, first] -= by
        moved[:, second] += by
        better = summed(loss, moved) > summed(loss, squares)
        squares[better] = moved[better]
    return float(summed(loss, squares).max())


@pytest.mark.long
@pytest.mark.parametrize(
    ("loss", "square", "coordinates"),
    [
        (math.log(9.0), 0.5, 2),
        (0.4, 3.0, 5),
        # One bit is farther than all others, which are alike: by 38 %, with one or two sure bits by 23 and 11 %.
        (10.846, 0.99874, 2),
        (7.229, 1.98733, 3),
        (9.536, 2.98716, 4),
        (6.175, 0.97538, 4),
        # Some are sure, and the others alike.
        (2.5, 3.7, 9),
        (4.0, 2.0, 7),
        (math.inf, 0.7, 3),
        (math.inf, 0.99, 4),
    ],
)
def test_the_largest_loss_in_a_ball_is_what_its_points_climb_to(loss: float, square: float, coordinates: int) -> None:
    found = largest_joint_loss(Interval(loss, loss), L2Ball(square, coordinates))
    k = math.tanh(0.5 * loss)
    known = climbed(loss, square, coordinates) + coordinates * math.log1p(k * math.sqrt(square / coordinates))
    assert known <= found.upper * (1.0 + 1e-13)
    assert found.lower <= known * (1.0 + 1e-4)
    assert found.width <= 1e-14 * found.upper


def test_ends_of_the_range_of_losses() -> None:
    assert largest_joint_loss(Interval(0.0, 0.0), L2Ball(0.5, 3)) == Interval(0.0, 0.0)
    for change in (L2Ball(1.0, 3), L2Bounded(1e-9, 3)):
        assert largest_joint_loss(INFINITE, change) == INFINITE
    for loss, square in ((5e-324, 0.5), (1e-320, 1e-300), (700.0, 7.0), (1e5, 2.5), (3.0, 6.999999)):
        found = largest_joint_loss(Interval(loss, loss), L2Ball(square, 7))
        assert 0.0 <= found.lower <= found.upper <= 2.1 * 7 * loss
    # All in full, and as many bits that are sure as there are, at any number of them.
    assert largest_joint_loss(Interval(2.0, 2.0), L2Ball(7.0, 7)).upper == pytest.approx(14.0)
    many = largest_joint_loss(Interval(8.0, 8.0), L2Ball(5000.5, 12288))
    few = largest_joint_loss(Interval(8.0, 8.0), L2Ball(50.005, 123))
    assert many.width < 1e-13 * many.upper
    assert many.upper == pytest.approx(100.0 * few.upper, rel=0.01)


def views(users: int, p: Fraction, before: Fraction) -> list[Fraction]:
    """Return the law of the shuffled reports where all others hold 0 and her bit is 1 with some probability."""
    law, own = [Fraction(1)], p + (1 - 2 * p) * before
    for chance in (*[p] * (users - 1), own):
        law = [a * (1 - chance) + b * chance for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


@pytest.mark.parametrize(("users", "p", "square"), [(3, 0.1, 0.5), (2, 1e-3, 0.9), (3, 0.25, 1.5)])
def test_at_delta_0_the_loss_of_a_ball_is_exact(users: int, p: float, square: float) -> None:
    found = account(RandomizedResponse(users, p), instances=2, squared_change=square, ball=True, delta=0).epsilon
    rng, largest = np.random.default_rng(2), 0.0
    for _ in range(400):
        points = rng.standard_normal((2, 2))
        if rng.random() < 0.3:
            points[1] = -points[0]
        points *= math.sqrt(square) / np.linalg.norm(points, axis=1, keepdims=True) * (1.0 - 1e-9)
        chances = [[Fraction(float(0.5 + 0.5 * x)) for x in np.clip(point, -1.0, 1.0)] for point in points]
        laws = [[views(users, Fraction(p), chance) for chance in point] for point in chances]
        ratios = [[a / b for a, b in zip(one, other, strict=True)] for one, other in zip(*laws, strict=True)]
        largest = max(largest, *(math.log(a * b) for a, b in itertools.product(*ratios)))
    assert largest <= found.upper
    assert 0.97 * found.lower < largest
    assert found.width < 1e-14


@pytest.mark.long
def test_no_view_tells_more_than_her_own_bits() -> None:
    # 2 ln 3 is what her bits alone lose at most; less of it counts at a delta.
    found = account(RandomizedResponse(3, 1e-4), instances=2, squared_change=0.5, ball=True, delta=0.05).epsilon
    assert 2.1035 < found.lower <= found.upper <= math.log(9.0 - 0.05 * 10.0)
    found = account(RandomizedResponse(100, 1e-6), instances=4, squared_change=0.25, ball=True, delta=1e-3).epsilon
    assert 2.036 < found.lower <= found.upper < 2.0422
    # Whatever little noise there is, and at no delta at all.
    found = account(Poisson(100, 1e-3), instances=4, squared_change=0.25, ball=True, delta=0).epsilon
    assert found.upper == pytest.approx(4.0 * (math.log1p(0.25) - math.log1p(-0.25)))


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.6])
def test_one_bit_without_noise_is_a_report_that_is_flipped(epsilon: float) -> None:
    # Of chance .65 before and .35 after: the bound is attained.
    found = account(Poisson(5, 1e-6), instances=1, squared_change=0.09, ball=True, epsilon=epsilon).delta
    assert found.upper == pytest.approx(0.65 - math.exp(epsilon) * 0.35, rel=1e-9)
    found = account(Poisson(5, 1e-6), instances=1, squared_change=0.09, ball=True, delta=0.05).epsilon
    assert found.upper == pytest.approx(math.log(0.6 / 0.35), rel=1e-9)


@pytest.mark.parametrize(("square", "coordinates"), [(0.5, 2), (2.5, 7), (0.01, 300)])
@pytest.mark.parametrize("epsilon", ["1e-9", "0.3", "1.5"])
def test_the_largest_loss_within_an_epsilon_uses_all_of_a_ball(square: float, coordinates: int, epsilon: str) -> None:
    change = L2Ball(square, coordinates)
    loss = largest_loss_within(Fraction(epsilon), change)
    assert loss > largest_loss_within(Fraction(epsilon), L2Bounded(square, coordinates))
    largest = largest_joint_loss(Interval(loss, loss), change).upper
    assert float(epsilon) * (1.0 - 1e-12) <= largest <= float(epsilon)


@pytest.mark.long
def test_bits_that_are_private_by_themselves_need_next_to_no_noise() -> None:
    assert largest_loss_within(Fraction(3), L2Ball(0.5, 2)) == 100.0
    row = plan("rr", (3, 1e-9), users=50, instances=2, squared_change=0.5, ball=True)
    assert row.bitsum_rmse < 1e-9
    assert account(row.protocol, instances=2, squared_change=0.5, ball=True, delta=1e-9).epsilon.upper <= 3.0


@pytest.mark.parametrize("square", [1.0, 2.0])
@pytest.mark.parametrize("loss", [100.0, 700.0, 1e4])
def test_sure_bits_that_hardly_any_noise_hides_are_no_fault(square: float, loss: float) -> None:
    # As many sure bits as fit lose L each, to which nothing can be added: the ball around one of them reaches past 1.
    found = largest_joint_loss(Interval(loss, loss), L2Ball(square, 4))
    rest = 4.0 * math.log1p(math.sqrt(square / 4.0))
    assert square * (loss - math.log(2.0)) + rest <= found.upper <= square * loss + rest + 1.0
    assert account(RandomizedResponse(3, 1e-50), instances=4, squared_change=square, ball=True, delta=0).epsilon.upper
