"""The distance of shuffled shares from what their sum tells: enumerated, in exact rationals, for tiny cases."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from dpverify.claims.shared.shares import exact_components, split_distance

View = dict[tuple[int, ...], Fraction]


def shuffled(inputs: tuple[int, ...], shares: int, modulus: int) -> View:
    """The law of how many shares have each value."""
    found: Counter[tuple[int, ...]] = Counter({(0,) * modulus: 1})
    for value in inputs:
        grown: Counter[tuple[int, ...]] = Counter()
        for first in itertools.product(range(modulus), repeat=shares - 1):
            sent = Counter((*first, (value - sum(first)) % modulus))
            for view, ways in found.items():
                grown[tuple(count + sent[s] for s, count in enumerate(view))] += ways
        found = grown
    total = modulus ** ((shares - 1) * len(inputs))
    return {view: Fraction(ways, total) for view, ways in found.items()}


def told_by_the_sum(total: int, messages: int, modulus: int) -> View:
    """The law of the counts of uniform messages of that sum."""
    found: View = {}
    for cuts in itertools.combinations_with_replacement(range(modulus), messages):
        if sum(cuts) % modulus == total % modulus:
            counts = Counter(cuts)
            ways = math.factorial(messages) // math.prod(map(math.factorial, counts.values()))
            found[tuple(counts[s] for s in range(modulus))] = Fraction(ways, modulus ** (messages - 1))
    return found


def apart(first: View, second: View) -> Fraction:
    return sum((abs(first.get(v, Fraction(0)) - second.get(v, Fraction(0))) for v in first | second), Fraction(0)) / 2


CASES = [(2, 2, 2), (2, 3, 2), (3, 2, 2), (2, 3, 3), (2, 4, 3), (3, 3, 2), (3, 3, 3), (2, 3, 5), (4, 3, 2), (2, 5, 2)]


@pytest.mark.parametrize(("users", "shares", "modulus"), CASES)
def test_no_inputs_are_farther_from_what_the_sum_tells(users: int, shares: int, modulus: int) -> None:
    excess = exact_components(users, shares, modulus) / modulus - 1
    worst = max(
        apart(shuffled(inputs, shares, modulus), told_by_the_sum(sum(inputs), users * shares, modulus))
        for inputs in itertools.combinations_with_replacement(range(modulus), users)
    )
    assert 4 * worst**2 <= excess
    assert worst <= Fraction(split_distance(users, shares, modulus))
    # It is no idle bound: the truth is within a factor of 3 (a half of it, or of the leading term, would be too small).
    assert worst * 3 >= Fraction(math.sqrt(excess) / 2)


@pytest.mark.parametrize(("users", "shares", "modulus"), [(2, 2, 4), (5, 3, 3), (8, 4, 9), (12, 3, 3), (30, 5, 50)])
def test_the_bound_is_above_the_exact_number_of_components(users: int, shares: int, modulus: int) -> None:
    exact = math.sqrt(exact_components(users, shares, modulus) / modulus - 1) / 2
    assert exact <= split_distance(users, shares, modulus) <= 1.5 * exact


def test_the_formula_counts_components() -> None:
    # All ways to join two nodes of degree 2 with two others: 8 of 24 leave two components.
    assert exact_components(2, 2, 7) == Fraction(8 * 49 + 16 * 7, 24)


@pytest.mark.parametrize(("users", "shares", "modulus"), [(300, 4, 16), (10_000, 6, 2**16), (10**6, 8, 2**24)])
def test_many_users_cost_about_the_leading_term_and_never_less(users: int, shares: int, modulus: int) -> None:
    first = math.sqrt((modulus - 1) * users * (users - 1) / math.comb(users * shares, shares)) / 2
    assert first <= split_distance(users, shares, modulus) <= 1.05 * first


def test_many_users_go_on_from_few_without_a_jump() -> None:
    # The induction beyond the nodes that are summed over, against the sum over all of them.
    found = [split_distance(users, 5, 40) for users in range(8, 41)]
    assert all(0.5 * before < after < before for before, after in itertools.pairwise(found))
    exact = math.sqrt(exact_components(40, 5, 40) / 40 - 1) / 2
    assert exact <= found[-1] <= 1.1 * exact


def test_few_shares_prove_nothing() -> None:
    assert split_distance(10**4, 2, 2**16) == split_distance(10**4, 1, 2) == 1.0
    assert split_distance(10**4, 6, 2**16, enough=1e-7) == 1.0
    assert split_distance(1, 1, 9) == split_distance(5, 1, 1) == 0.0
