"""What narrows the interval of all mixes."""

import math

from dpverify.guarantee import Interval
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.composing.mixes import Mixes, branches_of, narrowed
from dpverify.privacy_loss.datasets.covers import Branch, Covers, tied
from dpverify.privacy_loss.losses.pairs import approximate_dp, mixed_reports

PAIRS = [mixed_reports(4, ones, 0.29707).up for ones in range(4)]


def _mixes(*, attained: bool) -> Mixes:
    def made() -> list[Branch]:
        return [Branch(pair, attained=attained) for pair in PAIRS]

    return Mixes([(made, 4)], [(made, PAIRS[:1], 4)])


def test_steps_are_taken_while_they_are_needed() -> None:
    halved = narrowed(
        Interval(0.0, 8.0),
        lambda found: found.upper > 3.0,
        lambda found: Interval(0.0, 4.0),
        lambda found: Interval(1.0, found.upper - 2.0),
        lambda found: Interval(9.0, 9.0),
    )
    assert halved == Interval(1.0, 2.0)


def test_epsilon_is_narrowed_from_both_sides() -> None:
    found = Interval(0.0, 0.06)
    above = _mixes(attained=True).epsilon_above(0.35392, found, quick=True)
    sharper = _mixes(attained=True).epsilon_above(0.35392, above, quick=False)
    both = _mixes(attained=True).epsilon_below(0.35392, sharper)
    assert found.upper > above.upper > 5.0 * sharper.upper
    assert 0.0 == sharper.lower < both.lower < both.upper < both.lower * 1.01


def test_only_attained_pairs_are_mixed_from_below() -> None:
    found = Interval(1e-9, 1.0)
    one = FamilyComposition(PAIRS[:1], 4).delta(0.007)
    assert _mixes(attained=False).delta_below(0.007, found).lower <= one.upper
    assert _mixes(attained=True).delta_below(0.007, found).lower > one.upper
    assert _mixes(attained=True).delta_above(0.007, Interval(0.3, 0.4), quick=False).upper < 0.3545


def test_pairs_that_are_attained_in_all_instances_are_not_mixed() -> None:
    def made() -> list[Branch]:
        return [Branch(pair) for pair in PAIRS]

    alone = max(FamilyComposition([pair], 4).delta(0.007).upper for pair in PAIRS)
    found = Mixes([(made, 4)], [(made, PAIRS, 4)]).delta_below(0.007, Interval(1e-9, 1.0))
    assert 0.35 < found.lower <= alone


def test_families_that_are_met_once_count() -> None:
    def whole(strong: int) -> float:
        families = [(branches_of(PAIRS[:2]), 4 - strong), (branches_of([approximate_dp(1.0, 0.0)]), strong)]
        return Mixes(families, []).delta_above(0.5, Interval(0.0, 1.0), quick=True).upper

    assert whole(1) >= FamilyComposition([approximate_dp(1.0, 0.0)], 1).delta(0.5).lower > 1.2 * whole(0)


def test_every_pair_of_a_group_is_a_branch() -> None:
    assert [branch.pair for branch in branches_of([PAIRS[:2], PAIRS[3]])()] == [*PAIRS[:2], PAIRS[3]]


def test_nothing_is_asked_where_nothing_is_mixed() -> None:
    alone = Mixes([(branches_of(PAIRS[:1]), 4)], [(branches_of(PAIRS[:1]), PAIRS[:1], 4)])
    found = Interval(0.0, 0.06)
    assert alone.epsilon_above(0.35, found, quick=False) == alone.epsilon_below(0.35, found) == found
    everything = Interval(0.0, math.inf)
    assert _mixes(attained=True).epsilon_above(0.35, everything, quick=True) == everything


def test_what_points_tie_together_attains_no_mix() -> None:
    # A density's bits are those of one point for each user: what one instance attains fixes all others.
    free = Covers(PAIRS[:1], (), single=lambda: [Branch(pair, attained=True) for pair in PAIRS])
    found = Interval(0.0, 0.06)
    lower = [
        Mixes([(branches_of(covers), 4)], [(branches_of(covers), PAIRS[:1], 4)]).epsilon_below(0.35392, found).lower
        for covers in (free, tied(free))
    ]
    assert lower[0] > 0.0 == lower[1]
    assert [branch.pair for branch in branches_of(tied(free))()] == PAIRS
