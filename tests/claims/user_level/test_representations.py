"""How often draws hold nothing good, against enumeration of all hash functions."""

import itertools
from fractions import Fraction

import pytest

from dpverify.claims.user_level.representations import miss_bound, size_bits
from protocols.user_level.lower_bound import LearnedRepresentation
from protocols.user_level.representations import DecisionLists, HashedPoints, Repeated, Thresholds
from tests.refusals import refused


def enumerated(weights: list[int], buckets: int, target: int, alpha: Fraction, every: bool) -> Fraction:
    """Go through all hash functions: that of the target's bucket, or of all."""
    points, bad = range(len(weights)), 0
    for hashed in itertools.product(range(buckets), repeat=len(weights)):
        errors = [
            sum(weights[x] for x in points if (hashed[x] == bucket) != (x == target))
            for bucket in (range(buckets) if every else [hashed[target]])
        ]
        bad += min(errors) > alpha * sum(weights)
    return Fraction(bad, buckets ** len(weights))


@pytest.mark.parametrize("weights", [[5, 1, 1, 1, 2], [0, 3, 3, 1, 1], [1, 0, 0, 0, 9]])
@pytest.mark.parametrize("alpha", [Fraction(1, 10), Fraction(1, 4)])
def test_collisions_of_all_hash_functions_are_bounded(weights: list[int], alpha: Fraction) -> None:
    for target, buckets in itertools.product(range(5), (2, 3)):
        found = enumerated(weights, buckets, target, alpha, every=False)
        none = enumerated(weights, buckets, target, alpha, every=True)
        assert none <= found <= miss_bound(HashedPoints(5, buckets), alpha)


def test_copies_all_miss_with_the_power() -> None:
    points = HashedPoints(9, 10)
    assert miss_bound(points, "0.25") == Fraction(2, 5)
    assert miss_bound(Repeated(points, 3), "0.25") == Fraction(8, 125)
    assert miss_bound(HashedPoints(9, 2), "0.25") == 1


def test_classes_miss_nothing() -> None:
    assert miss_bound(Thresholds(5), "0.01") == 0 == miss_bound(Repeated(DecisionLists(2), 2), "0.01")


def test_sizes() -> None:
    assert size_bits(Thresholds(7)) == 3.0
    assert size_bits(Repeated(HashedPoints(10**6, 8), 4)) == 5.0


def test_arguments_are_checked() -> None:
    for alpha in (0, 1, "1.5"):
        with refused("alpha"):
            miss_bound(Thresholds(3), alpha)
    learned = LearnedRepresentation(Thresholds(5), lambda rng: Thresholds(5).concepts[0], 3)
    with refused("representation", TypeError):
        miss_bound(learned, "0.1")
