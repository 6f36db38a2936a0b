import math
from fractions import Fraction
from statistics import NormalDist

import pytest

from dpverify.guarantee import InfeasibleBudgetError, Interval
from dpverify.planning.account import account
from dpverify.planning.amplify import RANDOMIZERS, Amplified, amplify, largest_epsilon0
from dpverify.privacy_loss.shuffling.amplification import pure, randomized_response, reports, variation_ratio
from dpverify.privacy_loss.shuffling.amplified_curve import Amplification
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from protocols.bitsum import RandomizedResponse


def test_any_mechanism() -> None:
    found = amplify(epsilon0=4, users=100_000, delta="1e-6")
    assert (found.epsilon.lower, found.epsilon.upper) == pytest.approx((0.1170248, 0.1181531), abs=2e-7)
    closed, numerical = found.published.values()
    assert numerical == pytest.approx(0.1697697, abs=1e-7)
    assert closed == pytest.approx(0.534634, abs=1e-6)
    # 1e-6 is between two floats: an upper bound holds at the one below, a lower bound at the one above.
    assert Fraction(found.delta) < Fraction("1e-6")
    assert found.epsilon.upper == pure(4.0, 100_000).epsilon(found.delta).upper


@pytest.mark.parametrize("randomizer", RANDOMIZERS)
def test_every_randomizer_has_an_interval(randomizer: str) -> None:
    if randomizer == "gaussian":
        found = amplify(randomizer, users=10_000, delta=1e-6, sigma=2.0)
        assert found.published == {}
    else:
        found = amplify(randomizer, users=10_000, delta=1e-6, epsilon0=1.0)
        assert found.epsilon.upper <= amplify("adaptive", users=10_000, delta=1e-6, epsilon0=1.0).epsilon.upper
        assert found.epsilon.upper < 1.0
    assert 0.0 < found.epsilon.lower < found.epsilon.upper
    assert found.to_dict()["epsilon"]["upper"] >= found.epsilon.upper
    assert found.index.lower <= found.index.upper
    assert found.to_dict()["covered"] == found.covered
    assert ("anywhere in [0, 1]" in found.covered) == (randomizer in ("laplace", "gaussian"))
    assert f"The upper end holds for {found.covered};" in " ".join(str(found).split())


def test_one_user_s_noise_has_the_closed_form_of_its_law() -> None:
    delta = 1e-3
    found = amplify("laplace", users=1, delta=delta, epsilon0=1.5).epsilon
    assert found.lower <= 1.5 + 2.0 * math.log1p(-delta) <= found.upper < 1.001 * found.lower
    found = amplify("gaussian", users=1, delta=delta, sigma=2.0).epsilon
    for end, side in ((found.lower, 1.0), (found.upper, -1.0)):
        tails = (NormalDist().cdf(sign * 0.25 - 2.0 * end) for sign in (1.0, -1.0))
        assert side * (next(tails) - math.exp(end) * next(tails) - delta) >= 0.0
    assert found.upper < 1.001 * found.lower


def test_rounds_of_two_classes_and_a_delta0_of_one_report_count() -> None:
    once, twice = (amplify("k-rr", classes=2, users=20, delta=1e-3, epsilon0=1.0, rounds=rounds) for rounds in (1, 2))
    assert twice.epsilon.lower > 1.2 * once.epsilon.upper
    assert amplify(users=20, delta=1e-3, epsilon0=1.0, delta0=1e-9).published == {}
    assert len(amplify(users=20, delta=1e-3, epsilon0=1.0).published) == 2


def test_what_the_leading_pair_meets_is_met_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, meets = largest_epsilon0(1.0, users=20, delta=1e-3), Amplification.meets

    def misled(self: Amplification, epsilon: float, delta: float, *, leading: bool = False) -> bool:
        return leading or meets(self, epsilon, delta)

    monkeypatch.setattr(Amplification, "meets", misled)
    assert largest_epsilon0(1.0, users=20, delta=1e-3).lower == pytest.approx(usual.lower, rel=1e-3)


def test_outside_of_the_hypothesis_the_reason_is_told() -> None:
    found = amplify(epsilon0=9.0, users=1000, delta=1e-6)
    assert "epsilon0=9 is outside of its hypothesis: epsilon0 <= ln(n / (16 ln(2/delta)))" in str(found.published)
    assert found.epsilon.upper < 9.0
    assert "outside of its hypothesis" in str(found)


def test_it_shows_itself() -> None:
    found = amplify("k-rr", users=100_000, delta=1e-3, epsilon0=1.0, classes=4)
    assert "k-rr, epsilon0 = 1, classes = 4, n = 100,000 users" in str(found)
    assert found._repr_html_().startswith("<pre>")
    axes = found.plot()
    assert axes.get_ylabel() == r"$\delta$"
    assert "curve" not in repr(found)


@pytest.mark.long
@pytest.mark.parametrize(("randomizer", "classes"), [("any", None), ("k-rr", 5), ("laplace", None)])
def test_the_inverse_meets_its_target(randomizer: str, classes: int | None) -> None:
    found = largest_epsilon0(0.05, users=10_000, delta=1e-6, randomizer=randomizer, classes=classes)

    def at(epsilon0: float) -> Amplified:
        return amplify(randomizer, users=10_000, delta=1e-6, epsilon0=epsilon0, classes=classes)

    assert at(found.lower).epsilon.upper <= 0.05
    assert at(found.upper * (1.0 + 1e-5)).epsilon.lower > 0.05
    if randomizer == "k-rr":
        assert found.width <= 1e-4 * found.upper


def test_many_users_hide_whatever_is_asked() -> None:
    found = largest_epsilon0(400.0, users=10, delta=0.5)
    assert found.lower == found.upper == 300.0


def test_few_users_leave_epsilon0_nearly_as_it_is() -> None:
    assert largest_epsilon0(1.0, users=1, delta=1e-9).lower == pytest.approx(1.0, abs=1e-5)


def test_small_targets_are_found_as_sharply_as_large_ones() -> None:
    found = largest_epsilon0(1e-6, users=2, delta=1e-12)
    assert 1e-6 <= found.lower < found.upper <= 1.00001e-6


@pytest.mark.parametrize(
    ("users", "delta", "epsilon0", "least"), [(1000, 1e-12, 5.0, 4.999), (10**12, 1e-6, 300.0, 272.0)]
)
def test_hard_requests_are_answered_by_the_largest_loss(
    users: int, delta: float, epsilon0: float, least: float
) -> None:
    found = amplify(users=users, delta=delta, epsilon0=epsilon0).epsilon
    assert least < found.lower < found.upper <= epsilon0


def test_the_privacy_of_one_report_needs_no_crowd() -> None:
    assert amplify(users=1000, delta=1e-6, epsilon0=4.0, delta0=1e-7).epsilon.upper <= 4.0 + 1e-9


def test_many_classes_cost_no_more_than_few() -> None:
    for classes in (4, 7):
        found = amplify("k-rr", users=5, delta=0.1, epsilon0=1.0, classes=classes).curve.delta(0.2)
        listed = reports(randomized_response(1.0, classes), 5).delta(0.2)
        assert (found.lower, found.upper) == pytest.approx((listed.lower, listed.upper), rel=1e-9)
    assert amplify("k-rr", users=10_000, delta=1e-6, epsilon0=4.0, classes=10**12).epsilon.upper < 0.01


@pytest.mark.long
def test_the_inverse_is_as_good_as_the_forward_account() -> None:
    # Far in the tail the expectation is out of reach: what is left before is a bound there, too.
    assert amplify("k-rr", users=180_000, delta=1e-8, epsilon0=2.0, classes=10_000).curve.delta(0.5).upper < 1e-100
    found = largest_epsilon0(0.5, users=180_000, delta=1e-8, randomizer="k-rr", classes=10_000)
    assert amplify("k-rr", users=180_000, delta=1e-8, epsilon0=8.2, classes=10_000).epsilon.upper <= 0.5
    assert found.lower >= 8.2
    assert found.width <= 1e-4 * found.upper


def test_the_inverse_for_two_classes_is_that_of_the_exact_law() -> None:
    found = largest_epsilon0(1.0, users=50, delta=1e-3, randomizer="k-rr", classes=2)
    assert found.width <= 1e-3 * found.upper
    assert amplify("k-rr", users=50, delta=1e-3, epsilon0=found.lower, classes=2).epsilon.upper <= 1.0
    assert amplify("k-rr", users=50, delta=1e-3, epsilon0=found.upper * 1.001, classes=2).epsilon.lower > 1.0


@pytest.mark.long
@pytest.mark.parametrize("what", ["laplace", "variation ratio"])
def test_what_few_users_tell_next_to_the_largest_loss_is_found_by_few_evaluations(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated, delta = [], HiddenReport._delta

    def counted(report: HiddenReport, epsilon: float) -> Interval:
        evaluated.append(epsilon)
        return delta(report, epsilon)

    monkeypatch.setattr(HiddenReport, "_delta", counted)
    if what == "laplace":
        found = amplify("laplace", users=3, epsilon0=4.0958, delta=3.8e-8).epsilon
        assert len(evaluated) <= 40
        assert 4.095795 < found.lower < found.upper <= 4.0958
    else:
        p = math.exp(8.0)
        found = variation_ratio(p, (p - 1.0) / (p + 1.0), p, 10_000).epsilon(1e-6)
        assert len(evaluated) <= 120
        assert 7.9999 < found.lower < found.upper <= 8.00001


def test_delta0_may_be_too_much() -> None:
    with pytest.raises(InfeasibleBudgetError, match="is met by no epsilon0"):
        largest_epsilon0(0.1, users=1000, delta=1e-6, delta0=1e-3)
    assert amplify(epsilon0=1.0, delta0=1e-3, users=1000, delta=1e-6).epsilon.upper == math.inf


def test_the_chosen_matrix_is_that_of_randomized_response() -> None:
    found = amplify("k-rr", users=500, delta=0.01, epsilon0=0.5, classes=3)
    assert found.epsilon == reports(randomized_response(0.5, 3), 500).epsilon(0.01)


@pytest.mark.long
@pytest.mark.parametrize(("epsilon0", "users", "rounds"), [(1.0, 10_000, 1), (3.0, 1000, 1), (1.0, 1000, 8)])
def test_two_classes_have_the_exact_law_of_the_bitsum(epsilon0: float, users: int, rounds: int) -> None:
    """The blanket alone is up to 39 % above it."""
    found = amplify("k-rr", users=users, delta="1e-6", epsilon0=epsilon0, classes=2, rounds=rounds).epsilon
    flip = 1.0 / (1.0 + math.exp(epsilon0))
    expected = account(RandomizedResponse(users, flip), delta=1e-6, instances=rounds).epsilon
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper), rel=2e-4)
    assert found.width <= 2e-3 * found.upper
    if rounds == 1:
        coarse = reports(randomized_response(epsilon0, 2), users).epsilon(1e-6)
        assert coarse.lower <= found.upper
        assert found.lower <= coarse.upper


@pytest.mark.parametrize("epsilon0", [1e-9, 100.0])
def test_two_classes_are_known_at_extremes(epsilon0: float) -> None:
    found = amplify("k-rr", users=100, delta=1e-6, epsilon0=epsilon0, classes=2).epsilon
    assert 0.0 <= found.lower <= found.upper <= epsilon0


def test_bad_arguments_are_told() -> None:
    with pytest.raises(ValueError, match="randomizer='rappor' must be"):
        amplify("rappor", users=10, delta=0.1)
    with pytest.raises(ValueError, match="epsilon0=None must be given"):
        amplify(users=10, delta=0.1)
    with pytest.raises(ValueError, match="delta='1' must be in"):
        amplify(users=10, delta="1", epsilon0=1.0)
    with pytest.raises(ValueError, match=r"delta0=0\.1 must be 0 for the randomizer 'k-rr'"):
        amplify("k-rr", users=10, delta=0.1, epsilon0=1.0, delta0=0.1)
    with pytest.raises(ValueError, match="classes=5 must not be given for the randomizer 'any'"):
        amplify(users=10, delta=0.1, epsilon0=1.0, classes=5)
    with pytest.raises(ValueError, match=r"epsilon0=1\.0 must not be given for the randomizer 'gaussian'"):
        amplify("gaussian", users=10, delta=0.1, epsilon0=1.0, sigma=1.0)
    with pytest.raises(ValueError, match="epsilon0=1e-300 must be"):
        amplify(users=10, delta=0.1, epsilon0=1e-300)
    with pytest.raises(ValueError, match="users=0"):
        amplify(users=0, delta=0.1, epsilon0=1.0)


def test_rounds_compose() -> None:
    one, many = (amplify("k-rr", users=10_000, delta=1e-6, epsilon0=1.0, rounds=rounds) for rounds in (1, 16))
    # How often one value is reported, in each round, tells all but a factor of sqrt(2).
    assert 2.5 * one.epsilon.lower < many.epsilon.lower
    assert 3.5 * one.epsilon.upper < many.epsilon.upper < 5.0 * one.epsilon.upper
    assert "16 rounds" in str(many)
    assert many.published == {}
    with pytest.raises(ValueError, match="rounds=0"):
        amplify(users=10, delta=0.1, epsilon0=1.0, rounds=0)
