"""Different families composed: never below the truth of any choice, in exact arithmetic, and never above the worst."""

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.certificates.rationals import RationalInterval
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.composing.several import SeveralComposition, SeveralLaws
from dpverify.privacy_loss.datasets.covers import Branch, Covers, tied
from dpverify.privacy_loss.losses.pairs import mixed_reports
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth


@pytest.mark.long
@given(
    st.lists(st.lists(rational_pairs(4), min_size=1, max_size=2), min_size=2, max_size=3),
    st.lists(st.integers(1, 2), min_size=3, max_size=3),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.3, 1.0, 2.5]),
)
@settings(deadline=None, max_examples=30)
def test_no_choice_of_at_most_so_many_instances_exceeds_it(
    families: list[list[RationalPair]], counts: list[int], most: int, epsilon: float
) -> None:
    counts = counts[: len(families)]
    most = min(most, sum(counts))
    listed = [[floats(pair) for pair in family] for family in families]
    laws = SeveralLaws(listed, listed, counts, relative_width=1e-3, reference_delta=1e-3)
    found = SeveralComposition(laws, counts, counts, most).delta(epsilon)
    instances = [family for family, count in zip(families, counts, strict=True) for _ in range(count)]
    truths = [
        truth(choice, [1] * most, epsilon)
        for chosen in itertools.combinations(instances, most)
        for choice in itertools.product(*chosen)
    ]
    assert max(each.lower for each in truths) <= found.upper
    assert found.lower <= max(each.upper for each in truths)


def test_the_step_suits_every_pair_of_a_family() -> None:
    # What reveals nothing comes first in both, and would ask for the finest grid.
    nothing = floats(([Fraction(1)], [Fraction(1)]))
    half = floats(([Fraction(0), Fraction(1)], [Fraction(1, 2), Fraction(1, 2)]))
    families = [[nothing], [nothing, half]]
    found = SeveralComposition(SeveralLaws(families, families, [1, 1]), [1, 1], [1, 1], 1).delta(0.0)
    assert found.lower <= 0.5 <= found.upper < 0.5 + 1e-6


def test_a_guess_of_the_worst_instances_that_is_wrong_stays_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [list(mixed_reports(users, 0, 0.2)) for users in (5, 20, 60)]
    laws = SeveralLaws(listed, listed, [2, 2, 2])
    right = SeveralComposition(laws, [2, 2, 2], [2, 2, 2], 2).delta(0.5)
    worst = SeveralComposition(laws, [2, 0, 0], [2, 0, 0]).delta(0.5)
    assert worst.lower <= right.upper <= laws.upper([2, 0, 0], 2)[0].delta(0.5).upper * 1.001
    monkeypatch.setattr(SeveralLaws, "_rankings", lambda self, grids, most: [list(range(len(grids)))])
    wrong = SeveralComposition(laws, [2, 2, 2], [2, 2, 2], 2).delta(0.5)
    assert wrong.upper >= worst.lower > wrong.lower
    # All instances together bound any of them, whatever the guess.
    rare = floats(([Fraction(1, 100), Fraction(99, 100)], [Fraction(1, 9900), Fraction(9899, 9900)]))
    common = floats(([Fraction(3, 5), Fraction(2, 5)], [Fraction(2, 5), Fraction(3, 5)]))
    mixed = SeveralLaws([[common], [rare]], [[common], [rare]], [1, 3])
    whole = SeveralComposition(mixed, [1, 3], [1, 3]).delta(0.2)
    assert SeveralComposition(mixed, [1, 3], [1, 3], 3).delta(0.2).upper <= whole.upper < 1.001 * whole.lower


def test_what_is_left_out_of_a_lower_bound_only_adds() -> None:
    listed = [list(mixed_reports(users, 0, 0.2)) for users in (5, 20)]
    whole = SeveralComposition(SeveralLaws(listed, listed, [1, 1]), [1, 1], [1, 1]).epsilon(1e-3)
    part = SeveralComposition(SeveralLaws(listed, [listed[0], []], [1, 1]), [1, 1], [1, 1]).epsilon(1e-3)
    none = SeveralComposition(SeveralLaws(listed, [[], []], [1, 1]), [1, 1], [1, 1]).epsilon(1e-3)
    assert none.lower == 0.0 < part.lower < whole.lower
    assert none.upper == pytest.approx(whole.upper, rel=1e-4)


def response(up: int, down: int, of: int = 50) -> RationalPair:
    """Return the pair of an event that has these chances."""
    return tuple([Fraction(ones, of), Fraction(of - ones, of)] for ones in (up, down))  # type: ignore[return-value]


WEAK, STRONG = [response(2, 7), response(5, 2)], [response(40, 25), response(30, 45)]
EPSILONS = (0.0, 0.2, 0.7)


def worst(families: list[list[RationalPair]], epsilon: float) -> RationalInterval:
    """Return the largest divergence of all choices of one pair for each instance."""
    every = [truth(choice, [1] * len(families), epsilon) for choice in itertools.product(*families)]
    return max(every, key=lambda found: found.lower)


def several(families: list[list[RationalPair]], **given: Any) -> SeveralComposition:
    listed = [[floats(pair) for pair in family] for family in families]
    laws = SeveralLaws(listed, listed, [2] * len(families), relative_width=1e-3, reference_delta=1e-2)
    return SeveralComposition(laws, **given)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("most", [1, 2])
def test_one_law_bounds_from_above_and_another_from_below(epsilon: float, most: int) -> None:
    found = several([WEAK, STRONG], upper=[0, 2], lower=[2, 0], most=most)
    low, high = worst([WEAK] * most, epsilon), worst([STRONG] * most, epsilon)
    interval = found.delta(epsilon)
    assert 0.5 * float(low.lower) <= interval.lower <= low.upper < high.lower <= interval.upper
    assert found.epsilon(float(high.lower) * (1.0 - 1e-9)).upper >= epsilon
    assert found.epsilon(float(low.upper) * (1.0 + 1e-9)).lower <= epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_is_surely_met_may_be_less_than_what_may_be_met(epsilon: float) -> None:
    found = several([STRONG], upper=[2], lower=[2], attained=1)
    interval, once = found.delta(epsilon), worst([STRONG], epsilon)
    assert interval.lower <= once.upper < worst([STRONG] * 2, epsilon).lower <= interval.upper
    assert found.epsilon(float(once.upper) * (1.0 + 1e-9)).lower <= epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("group", [STRONG, STRONG[::-1]])
def test_every_pair_of_a_group_counts(epsilon: float, group: list[RationalPair]) -> None:
    weak, some = floats(WEAK[0]), [floats(pair) for pair in group]
    laws = SeveralLaws([[weak, some]], [[weak]], [2], relative_width=1e-3, reference_delta=1e-2)
    assert worst([STRONG] * 2, epsilon).lower <= SeveralComposition(laws, [2], [2]).delta(epsilon).upper


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_an_instance_beside_the_guessed_ones_is_below_them_though_of_the_same_law(
    monkeypatch: pytest.MonkeyPatch, epsilon: float
) -> None:
    # The guess takes the weak one and one of the two strong ones: the other strong one is left.
    monkeypatch.setattr(SeveralLaws, "_rankings", lambda self, grids, most: [[1, 0]])
    found = several([WEAK, STRONG], upper=[1, 2], lower=[1, 2], most=2).delta(epsilon)
    assert worst([STRONG] * 2, epsilon).lower <= found.upper


def test_what_is_tied_attains_no_mix_of_its_pairs() -> None:
    # Two families, of three instances and of one, whose pairs are those of the same point of each user.
    pairs = [mixed_reports(4, ones, 0.29707).up for ones in range(4)]
    whole = tied(Covers(pairs, (), single=lambda: [Branch(pair, attained=True) for pair in pairs]))
    laws = SeveralLaws([whole] * 2, [pairs] * 2, [3, 1], reference_delta=0.35)
    alone = max(FamilyComposition([pair], 4).delta(0.007).upper for pair in pairs)
    found = SeveralComposition(laws, [3, 1], [3, 1]).delta(0.007)
    assert found.lower <= alone < 0.354 < found.upper


def test_numbers_that_do_not_fit_are_refused() -> None:
    listed = [list(mixed_reports(5, 0, 0.2))]
    laws = SeveralLaws(listed, listed, [2])
    with pytest.raises(ValueError, match=r"upper and lower add up to 2 and 1, but must add up to the same\."):
        SeveralComposition(laws, [2], [1])
    with pytest.raises(ValueError, match=r"most=3 must be "):
        SeveralComposition(laws, [2], [2], 3)
    with pytest.raises(ValueError, match=r"families, attained and counts have 1, 1 and 2 entries"):
        SeveralLaws(listed, listed, [1, 1])
