import itertools
import math
from fractions import Fraction

import pytest

from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.blanket import report_in_blanket
from dpverify.privacy_loss.shuffling.amplification import Amplification, adaptive, randomized_response, reports
from dpverify.privacy_loss.shuffling.repeated_amplification import RepeatedAmplification
from tests.privacy_loss.shuffled_views import rationals, view


def test_one_round_is_the_curve_itself() -> None:
    one = adaptive(1.0, 200)
    assert RepeatedAmplification(one, 1).epsilon(1e-4) == one.epsilon(1e-4)
    assert RepeatedAmplification(one, 1).delta(0.2) == one.delta(0.2)


@pytest.mark.long
@pytest.mark.parametrize("rounds", [2, 30])
def test_rounds_compose_like_listed_losses(rounds: int) -> None:
    """The clones' losses, listed one by one by another module, and composed by the engine."""
    epsilon0, users = 1.0, 300
    high = 1.0 / (1.0 + math.exp(-epsilon0))
    listed = report_in_blanket(users - 1, math.exp(-epsilon0), high, 1.0 - high, cells=users)
    truth = FamilyComposition([listed], rounds).epsilon(1e-6)
    found = RepeatedAmplification(adaptive(epsilon0, users), rounds).epsilon(1e-6)
    assert truth.lower <= found.upper <= truth.upper * 1.01
    assert found.lower <= truth.upper


@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0])
def test_two_rounds_are_what_a_dataset_attains(epsilon: float) -> None:
    """All others hold a third value: every pair of views, one by one, in rationals."""
    users, matrix = 5, randomized_response(1.0, 3)
    views = [view([rationals(matrix[row]), *[rationals(matrix[2])] * (users - 1)]) for row in (0, 1)]
    power, truth = Fraction(math.exp(epsilon)), Fraction(0)
    for one, other in itertools.product(views[0], repeat=2):
        truth += max(views[0][one] * views[0][other] - power * views[1][one] * views[1][other], Fraction(0))
    found = RepeatedAmplification(reports(matrix, users), 2).delta(epsilon)
    assert 0.98 * truth < found.lower <= truth <= found.upper


def test_pure_rounds_add_up() -> None:
    found = RepeatedAmplification(reports(randomized_response(0.5, 3), 20), 4)
    assert found.epsilon(0.0).upper == pytest.approx(2.0)
    assert found.delta(2.1).upper == 0.0
    assert found.epsilon(1e-9).upper <= 2.0 * (1.0 + 1e-12)
    assert found.delta(0.3).lower <= found.delta(0.3).upper


@pytest.mark.parametrize("rounds", [pytest.param(10, marks=pytest.mark.long), 10**18])
def test_points_end_where_next_to_nothing_is_left(monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    """Each costs an expectation for every pair of a cover."""
    asked = list[float]()
    bound = Amplification.delta_upper

    def counted(one: Amplification, epsilon: float, *, enough: float) -> float:
        asked.append(epsilon)
        return bound(one, epsilon, enough=enough)

    monkeypatch.setattr(Amplification, "delta_upper", counted)
    pair = RepeatedAmplification(adaptive(1.0, 10_000), rounds).pair
    assert 0.0 < pair.infinite_mass + pair.missing_mass <= 1e-15 / rounds
    assert len(asked) <= 170
