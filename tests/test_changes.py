import itertools
import math
import random
from fractions import Fraction

import pytest

from dpverify.changes import Full, L2Ball, L2Bounded, Sparse
from dpverify.guarantee import Budget
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from protocols.bitsum import ThreeNB
from protocols.lsq import LaplacianBinning
from tests.claims.kde.densities import account_kde
from tests.refusals import refused


@pytest.mark.parametrize(("squared", "coordinates"), [(0.0, 3), (3.1, 3), (float("nan"), 3), (-1.0, 3)])
def test_a_squared_change_outside_its_range_is_refused(squared: float, coordinates: int) -> None:
    with refused("squared_change"):
        L2Bounded(squared, coordinates)


def test_a_number_of_coordinates_below_one_is_refused() -> None:
    with refused("coordinates=0"):
        L2Bounded(0.5, 0)


def test_all_coordinates_may_change_fully() -> None:
    assert L2Bounded(3.0, 3) == L2Bounded(squared_change=3.0, coordinates=3)


# What replacing one user costs where her bits are fair coins but for a few.

Law = list[Fraction]
COIN = Fraction(1, 2)


def random_law(rng: random.Random, size: int) -> Law:
    weights = [rng.choice([0, 0, 1, 2, 5, 40]) for _ in range(size)]
    weights[rng.randrange(size)] += 1
    return [Fraction(weight, sum(weights)) for weight in weights]


def view(bitsum: tuple[Law, Law], one: Fraction) -> Law:
    """The law of the view of a bitsum, given as its laws for 0 and 1, where the bit is 1 with a probability."""
    return [(1 - one) * zero + one * full for zero, full in zip(*bitsum, strict=True)]


def joint(*laws: Law) -> Law:
    return [math.prod(masses) for masses in itertools.product(*laws)]


def divergence(first: Law, second: Law, ratio: Fraction) -> Fraction:
    return sum((max(a - ratio * b, Fraction(0)) for a, b in zip(first, second, strict=True)), start=Fraction(0))


RATIOS = [Fraction(1, 9), Fraction(1, 2), Fraction(1), Fraction(5, 4), Fraction(3), Fraction(20)]


@pytest.mark.long
def test_one_that_leaves_and_one_that_enters_cost_an_average_of_full_changes() -> None:
    rng = random.Random(8)
    tight = 0
    for _ in range(400):
        here, there = ((random_law(rng, 3), random_law(rng, 3)) for _ in range(2))
        for leaving, entering in itertools.product((Fraction(0), Fraction(1)), repeat=2):
            first = joint(view(here, leaving), view(there, COIN))
            second = joint(view(here, COIN), view(there, entering))
            for ratio in RATIOS:
                full = divergence(view(here, leaving), view(here, 1 - leaving), ratio)
                full += divergence(view(there, 1 - entering), view(there, entering), ratio)
                found = divergence(first, second, ratio)
                assert found <= full / 2
                tight += 0 < found == full / 2
    assert tight > 10


def test_features_inside_the_range_cost_no_more() -> None:
    rng = random.Random(9)
    for _ in range(200):
        here, there = ((random_law(rng, 3), random_law(rng, 3)) for _ in range(2))
        leaving, entering = (Fraction(rng.randrange(9), 8) for _ in range(2))
        first = joint(view(here, leaving), view(there, COIN))
        second = joint(view(here, COIN), view(there, entering))
        for ratio in RATIOS[2:]:
            full = max(divergence(law[bit], law[1 - bit], ratio) for law in (here, there) for bit in (0, 1))
            assert divergence(first, second, ratio) <= full


@pytest.mark.parametrize(("nonzeros", "coordinates"), [(1, 2), (1, 3), (2, 3), (2, 2)])
def test_no_replacement_costs_more_than_its_full_changes_and_some_cost_as_much(nonzeros: int, coordinates: int) -> None:
    rng = random.Random(10)
    change = Sparse(nonzeros, coordinates)
    values = [Fraction(0), COIN, Fraction(1)]
    points = [
        point
        for point in itertools.product(values, repeat=coordinates)
        if sum(value != COIN for value in point) <= nonzeros
    ]
    for _ in range(4):
        bitsum = random_law(rng, 2), random_law(rng, 2)
        for ratio in RATIOS[2:5]:
            worst = max(
                divergence(joint(*(view(bitsum, a) for a in x)), joint(*(view(bitsum, b) for b in y)), ratio)
                for x in points
                for y in points
            )
            full = max(
                divergence(joint(*(bitsum[bit] for bit in bits)), joint(*(bitsum[1 - bit] for bit in bits)), ratio)
                for bits in itertools.product((0, 1), repeat=change.full_changes)
            )
            assert worst == full
    most_changed = max(sum(a != b for a, b in zip(x, y, strict=True)) for x in points for y in points)
    assert most_changed == change.changed_bits


def test_a_sparsity_out_of_range_is_refused() -> None:
    with refused("nonzeros=3"):
        Sparse(3, 2)
    with refused("coordinates=0"):
        Sparse(1, 0)


def test_every_account_uses_the_same_number() -> None:
    bitsum, family, instances = ThreeNB(50, 0.9, 5.0, 0.95), LaplacianBinning(2), 5
    change = Sparse(family.S, family.Q)
    found = account_kde(bitsum, family, instances, delta=1e-6).epsilon.upper
    full = account(bitsum, instances=instances * change.full_changes, delta=1e-6, relative_width=1e-4).epsilon
    assert found <= full.upper
    row = plan("3nb", Budget(2, "1e-6"), users=50, instances=instances, sparsity=change.full_changes)
    assert account_kde(row.protocol, family, instances, delta=1e-6).epsilon.upper <= 2.0


@pytest.mark.parametrize("instances", [0, -1])
def test_a_change_of_no_instance_is_refused(instances: int) -> None:
    with refused("instances"):
        Full(instances)


def test_a_change_says_what_it_is() -> None:
    assert Full(3).to_dict() == {"kind": "full", "instances": 3}
    joint = L2Bounded(1.5, 4)
    assert joint.to_dict() == {"kind": "joint", "squared_change": 1.5, "coordinates": 4}
    assert L2Ball(1.5, 4).to_dict() == {"kind": "ball", "squared_change": 1.5, "coordinates": 4}
    assert joint.instances == 4
    assert (joint.full, Full(3).full) == (1.5, 3.0)
