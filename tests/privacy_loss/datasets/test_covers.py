"""Choices of covers: the least bound is taken for one instance, and the likeliest for many."""

import functools

from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.datasets.covers import Branch, Covers, Made, members
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import approximate_dp

WEAK, STRONG = approximate_dp(0.5, 0.0), approximate_dp(1.0, 0.0)


def test_members_of_a_pair_and_of_a_group() -> None:
    assert members(WEAK) == [WEAK]
    assert members((WEAK, STRONG)) == [WEAK, STRONG]


def test_every_choice_is_a_bound_and_the_least_is_taken() -> None:
    for covers in (Covers([STRONG], [[WEAK]]), Covers([WEAK], [[STRONG]])):
        assert FamilyComposition(covers, 1, attained=[WEAK]).delta(0.2) == FamilyComposition([WEAK], 1).delta(0.2)
        many = FamilyComposition(covers, 40, attained=[WEAK]).epsilon(1e-6)
        alone = FamilyComposition([WEAK], 40).epsilon(1e-6)
        assert many.lower <= alone.upper
        assert many.upper <= alone.upper * (1.0 + 1e-3)


def test_what_is_attained_once_is_no_bound_for_many() -> None:
    covers = Covers([STRONG], [], once=[STRONG])
    assert FamilyComposition(covers, 1, attained=[WEAK]).delta(0.2).lower > WEAK.delta(0.2).upper
    assert FamilyComposition(covers, 2, attained=[WEAK]).delta(0.2).lower <= (
        FamilyComposition([WEAK], 2).delta(0.2).upper
    )


def test_a_choice_whose_pairs_are_nearly_equal_is_left_for_few_instances() -> None:
    covers = Covers([STRONG], [[WEAK, WEAK]])
    assert covers.likeliest(8, lambda pair: pair.largest_loss) == (WEAK, WEAK)
    # Of pairs 0.7 % apart the search over 768 mixes once took 21 s.
    close = Covers([STRONG], [[WEAK, WEAK]])
    estimates = iter([1.0, 0.992, 0.986])
    assert close.likeliest(768, lambda pair: next(estimates)) is close
    near = Covers([STRONG], [[STRONG, STRONG]])
    assert near.likeliest(768, lambda pair: pair.largest_loss) is near


def test_of_many_covers_the_best_is_found_by_few_estimates() -> None:
    # What precedes the last pair grows from one cover to the next, and the last one falls.
    rising, falling = ([approximate_dp(0.1 * (i + 1), 0.0) for i in range(15)] for _ in range(2))
    covers = Covers([approximate_dp(3.0, 0.0)], list(zip(rising, falling[::-1], strict=True)))
    asked: list[float] = []

    def estimate(pair: PrivacyLossDistribution) -> float:
        asked.append(pair.largest_loss)
        return pair.largest_loss

    assert covers.likeliest(8, estimate) is covers.others[7]
    assert len(asked) <= 1 + 2 * 4


def test_a_branch_has_no_parts_unless_it_is_told() -> None:
    assert Branch(WEAK).split() == ()


def test_what_is_made_when_asked_for_is_made_once() -> None:
    asked: list[int] = []

    def maker(number: int) -> tuple[PrivacyLossDistribution, ...]:
        asked.append(number)
        return (WEAK, STRONG)

    made = Made([functools.partial(maker, number) for number in range(3)])
    covers = Covers([STRONG], made)
    assert (len(covers.others), asked) == (3, [])
    assert covers.others[1] is covers.others[1]
    assert asked == [1]
    assert covers.others[-1:] == [(WEAK, STRONG)]
    assert asked == [1, 2]
