import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.losses.blanket import report_in_blanket, report_in_view
from dpverify.privacy_loss.shuffling.amplification import clones
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.shuffled_views import divergence, rationals

EPSILONS = (0.0, 0.1, 0.4, 1.0)


def hidden(users: int, others: list[float], first: list[float], second: list[float], **more: float) -> HiddenReport:
    return HiddenReport(users, np.array(others), np.array(first), np.array(second), **more)  # type: ignore[arg-type]


LAWS = [
    ([0.25, 0.25], [0.75, 0.25], [0.25, 0.75]),
    ([0.125, 0.25, 0.375], [0.5, 0.25, 0.25], [0.125, 0.5, 0.375]),
    ([0.5, 0.5], [0.75, 0.25], [0.25, 0.75]),
    ([0.0625, 0.0625, 0.875], [0.5, 0.125, 0.375], [0.125, 0.5, 0.375]),
]


def exact(users: int, others: list[float], first: list[float], second: list[float], epsilon: float) -> Fraction:
    """By brute force: what the others report apart from the rest is one more report."""
    rest = 1 - sum(map(Fraction, others))
    crowd = [rationals([*others, float(rest)])] * (users - 1)
    return divergence([rationals([*first, 0.0]), *crowd], [rationals([*second, 0.0]), *crowd], epsilon)


@pytest.mark.parametrize(("others", "first", "second"), LAWS)
@pytest.mark.parametrize("users", [1, 2, 5])
def test_the_divergence_is_that_of_the_counts(
    users: int, others: list[float], first: list[float], second: list[float]
) -> None:
    report = hidden(users, others, first, second)
    for epsilon in EPSILONS:
        truth = exact(users, others, first, second, epsilon)
        found = report.delta(epsilon)
        assert truth in found
        assert found.width <= 1e-10
        assert exact(users, others, second, first, epsilon) in report.reversed().delta(epsilon)


def test_reports_that_only_she_makes_are_added() -> None:
    # A fifth of her reports under the first input are made by nobody else: seen to be hers.
    others, first, second = [0.5, 0.5], [0.375, 0.375], [0.75, 0.25]
    truth = divergence(
        [rationals([*[0.25, *first, 0.0][1:], 0.25]), *[rationals([*others, 0.0, 0.0])] * 3],
        [rationals([*second, 0.0, 0.0]), *[rationals([*others, 0.0, 0.0])] * 3],
        0.2,
    )
    found = HiddenReport(4, np.array(others), np.array(first), np.array(second), seen=0.25).delta(0.2)
    assert truth in found
    assert found.width < 1e-10
    missing = HiddenReport(4, np.array(others), np.array(first), np.array(second), missing=0.25).delta(0.2)
    assert truth in missing
    assert missing.upper == pytest.approx(found.upper)
    assert missing.lower == pytest.approx(found.lower - 0.25)


@pytest.mark.parametrize("law", [*LAWS, ([2.0**-20, 2.0**-20], [0.75, 0.25], [0.25, 0.75])])
@pytest.mark.parametrize("users", [1, 2, 5])
def test_simple_bounds_stand_where_the_expectation_is_out_of_reach(
    users: int, law: tuple[list[float], list[float], list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise CapacityError("too many nodes.")

    monkeypatch.setattr("dpverify.privacy_loss.shuffling.hidden_report.expected_excess", refuse)
    for epsilon in EPSILONS:
        found, truth = hidden(users, *law).delta(epsilon), exact(users, *law, epsilon)
        assert truth in found
        if law not in LAWS:
            assert found.width <= 2e-5


def test_moved_views_are_charged_for_both_laws() -> None:
    plain, moved = (hidden(3, *LAWS[0], replaced=moved).delta(1.0) for moved in (0.0, 1e-3))
    assert moved.upper - plain.upper == pytest.approx(1e-3 * (1.0 + math.e))
    assert moved.lower == plain.lower
    assert hidden(3, *LAWS[0], replaced=1e-3).epsilon_upper(1.9e-3) == math.inf


def test_epsilon_is_where_delta_is_crossed() -> None:
    report = hidden(1000, *LAWS[1])
    found = report.epsilon(1e-5)
    assert found.width <= 1e-6 * found.upper
    assert report.delta(found.upper).upper <= 1e-5 < report.delta(found.lower * (1.0 - 1e-9)).upper


@pytest.mark.parametrize(("epsilon0", "users"), [(1.0, 200), (4.0, 3000)])
def test_clones_agree_with_balls_of_any_precision(epsilon0: float, users: int) -> None:
    """The divergence as a double sum in Arb, which shares nothing with the contour."""
    n = users - 1
    with ctx.workprec(160):
        coin = (-arb(epsilon0)).exp()
        high, low = 1 / (1 + (-arb(epsilon0)).exp()), 1 / (1 + arb(epsilon0).exp())
        for epsilon in (0.05, 0.3):
            total, power = arb(0), arb(epsilon).exp()
            mean = float(n * coin)
            chance = (1 - coin) ** n
            for coins in range(n + 1):
                if coins <= mean + 14.0 * math.sqrt(mean) + 20.0 and coins >= mean - 14.0 * math.sqrt(mean):
                    fair = chance / arb(2) ** (coins + 1)
                    for heads in range(coins + 2):
                        # Bin(coins + 1, 1/2) of heads, her report among them in proportion.
                        gain = (heads * (high - power * low) + (coins + 1 - heads) * (low - power * high)) * 2
                        if gain > 0:
                            total += fair * gain / (coins + 1)
                        fair = fair * (coins + 1 - heads) / (heads + 1)
                chance = chance * (n - coins) / (coins + 1) * coin / (1 - coin)
            found = clones(epsilon0, users).delta(epsilon)
            truth = float(total)
            assert found.lower * (1.0 - 1e-12) <= truth <= found.upper * (1.0 + 1e-12)
            assert found.width <= 3e-6 * truth


def test_clones_agree_with_the_engine_of_listed_losses() -> None:
    high = 1.0 / (1.0 + math.exp(-4.0))
    listed = report_in_blanket(4999, math.exp(-4.0), high, 1.0 - high, cells=10**6)
    composition = Composition([(connect_the_dots(listed, 1e-4), 1)])
    mine, theirs = clones(4.0, 5000).delta(0.4), composition.delta(0.4)
    assert mine.lower <= theirs.upper
    assert theirs.lower <= mine.upper


def test_two_counts_among_third_values_agree_with_the_engine_of_listed_losses() -> None:
    other = 1.0 / (math.e + 2.0)
    listed = report_in_view(499, 2.0 * other, math.e * other, other)
    report = hidden(500, [other, other, math.e * other], [math.e * other, other, other], [other, math.e * other, other])
    theirs, mine = Composition([(connect_the_dots(listed, 1e-4), 1)]).delta(0.2), report.delta(0.2)
    assert theirs.lower <= mine.upper
    assert mine.lower <= theirs.upper


@pytest.mark.parametrize(("users", "epsilon0", "delta"), [(10**5, 0.1, 1e-6), (10**9, 4.0, 1e-6), (10**9, 8.0, 1e-30)])
def test_the_interval_is_narrow_at_any_number_of_users(users: int, epsilon0: float, delta: float) -> None:
    found = clones(epsilon0, users).epsilon(delta)
    assert found.lower > 0.0
    assert found.width <= 1e-6 * found.upper


def test_the_clone_value_that_published_scripts_bracket() -> None:
    assert clones(4.0, 10**5).epsilon(1e-6).midpoint == pytest.approx(0.16976974, abs=2e-8)


def test_the_index_is_the_first_order() -> None:
    report = clones(1.0, 10**8)
    deviation = 1.0 / (report.index * math.sqrt(10**8))
    epsilon = 3.0 * deviation
    z = epsilon / deviation
    normal = 0.5 * math.erfc((z - deviation / 2) / math.sqrt(2)) - math.exp(epsilon) * 0.5 * math.erfc(
        (z + deviation / 2) / math.sqrt(2)
    )
    assert report.delta(epsilon).midpoint == pytest.approx(normal, rel=1e-3)


def test_bad_arguments_are_told() -> None:
    with pytest.raises(ValueError, match="must all be"):
        HiddenReport(3, np.array([0.5]), np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="positive probabilities"):
        hidden(3, [0.0, 0.5], [0.5, 0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="first adds up to 1"):
        hidden(3, [0.5, 0.5], [0.5, 1.0], [0.5, 0.5])
    with pytest.raises(CapacityError, match=r"^users=\d+ must be at most 2\^52"):
        hidden(2**53, [0.5, 0.5], [0.5, 0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="epsilon=-1"):
        hidden(3, *LAWS[0]).delta(-1.0)
