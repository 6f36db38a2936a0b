"""What is guaranteed to points, and to points and labels."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import dpverify
from dpverify.guarantee import Budget
from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.density import PrivateDensity
from dpverify.learning.guarantee import guarantee_of, promised_by
from protocols.bitsum import BitsumProtocol, RandomizedResponse
from protocols.local.labels import LabelRandomizedResponse
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")


def test_the_budget_is_what_holds_and_the_label_comes_on_top() -> None:
    found = guarantee_of(promised_by(Budget("1.5", "1e-6")), 5.0, ("a note",))
    assert (found.point.epsilon, found.point.delta) == (1.5, Budget("1.5", "1e-6").delta)
    assert 6.5 <= found.epsilon <= 6.5 * (1 + 1e-15)
    assert found.delta == found.point.delta
    assert (
        repr(found)
        == str(found)
        == (
            "(1.5, 1e-06)-DP where a user's point is replaced, (6.5, 1e-06)-DP where her label is replaced, too; upper "
            "bound, replace-one, communication threat model; a note"
        )
    )


def test_without_labels() -> None:
    found = guarantee_of(promised_by(Budget(1, "1e-6")), None)
    assert found.point_and_label is None
    assert found.whole is found.point
    assert found.to_dict()["point_and_label"] is None


def test_nothing_private_says_so() -> None:
    found = guarantee_of(None, math.inf)
    assert found.epsilon == math.inf
    assert str(found).startswith("no privacy where a user's point is replaced, no privacy where her label")
    clear = guarantee_of(promised_by(Budget(1, "1e-6")), math.inf)
    assert (clear.point.epsilon, clear.epsilon) == (1.0, math.inf)


# ------------------------------------------------- what holds before the labels are drawn


def of_bits(classifier: PrivateDensityClassifier, users: int) -> RandomizedResponse:
    """What a class of so many users runs."""
    public, _ = classifier._public(1)
    made: BitsumProtocol = classifier._planned(public, [users])(users)
    assert isinstance(made, RandomizedResponse)
    return made


def ones(bits: tuple[int, ...], flip: Fraction) -> list[Fraction]:
    """The exact law of the number of reported ones."""
    law = [Fraction(1)]
    for bit in bits:
        one = 1 - flip if bit else flip
        law = [a * (1 - one) + b * one for a, b in zip([*law, 0], [0, *law], strict=True)]
    return law


def divergence(
    her: tuple[int, int], other: tuple[int, int], rest: tuple[tuple[int, int], ...],
    keep: Fraction, flips: dict[int, Fraction], factor: Fraction,
) -> Fraction:  # fmt: skip
    """Of all reported labels and her class's reports, exactly; the other class has the same law in both worlds."""
    total = Fraction(0)
    for reported in itertools.product((0, 1), repeat=len(rest) + 1):
        chance = math.prod(
            (keep if seen == label else 1 - keep for (_, label), seen in zip(rest, reported[1:], strict=True)),
            start=Fraction(1),
        )
        mates = tuple(bit for (bit, _), seen in zip(rest, reported[1:], strict=True) if seen == reported[0])
        laws = []
        for bit, label in (her, other):
            own = keep if reported[0] == label else 1 - keep
            laws.append([own * mass for mass in ones((bit, *mates), flips[len(mates) + 1])])
        total += chance * sum(max(p - factor * q, Fraction(0)) for p, q in zip(*laws, strict=True))
    return total


def below_exp(epsilon: float) -> Fraction:
    return Fraction(math.exp(epsilon)) * (1 - Fraction(1, 2**50))


@pytest.mark.long
@pytest.mark.parametrize(
    ("epsilon", "delta", "label_epsilon"), [(1.0, "1e-6", 10.0), (0.2, "0.05", 1.0), (0.05, "0.2", 3.0)]
)
@pytest.mark.parametrize("users", [1, 2, 3])
def test_it_holds_for_all_small_datasets(users: int, epsilon: float, delta: str, label_epsilon: float) -> None:
    """Exact rationals, whatever the classes' sizes are: the stated pair is one for every dataset and neighbour."""
    made = PrivateDensityClassifier(
        epsilon=epsilon, delta=delta, label_epsilon=label_epsilon, bits=1, public_scale=1.0, classes=[0, 1],
        random_state=0,
    )  # fmt: skip
    stated = made.fit(np.full((users, 1), 0.5), np.ones(users, dtype=int)).guarantee_
    flips = {size: Fraction(of_bits(made, size).flip_probability) for size in range(1, users + 1)}
    keep = Fraction(LabelRandomizedResponse(2, label_epsilon).keep_probability)
    inputs = list(itertools.product((0, 1), repeat=2))  # (bit, label)
    worst = {True: Fraction(0), False: Fraction(0)}
    factors = {same: below_exp((stated.point if same else stated.whole).epsilon) for same in worst}
    for rest in itertools.combinations_with_replacement(inputs, users - 1):
        for her, other in itertools.permutations(inputs, 2):
            same = her[1] == other[1]
            found = divergence(her, other, rest, keep, flips, factors[same])
            worst[same] = max(worst[same], found)
    slack = Fraction(1, 10**12)
    assert worst[True] <= Fraction(stated.point.delta) + slack
    assert worst[False] <= Fraction(stated.whole.delta) + slack


def alone(made: PrivateDensityClassifier, users: int, epsilon: float) -> float:
    """The divergence, from below, of a user of label 0 among others of label 1: she alone reports 0, and her bit."""
    keep = LabelRandomizedResponse(2, made.label_epsilon).keep_probability
    flip = of_bits(made, 1).flip_probability
    factor = math.exp(epsilon)
    return keep ** (users - 1) * sum(
        max(keep * p - factor * (1 - keep) * q, 0.0) for p, q in ((1 - flip, flip), (flip, 1 - flip))
    )


def test_classes_of_sizes_that_did_not_occur_count() -> None:
    """17 users of one label: all in one class. That of one user, who changed her label, is planned a little worse."""
    made = PrivateDensityClassifier(
        epsilon=1, delta="1e-6", label_epsilon=10.0, bits=1, public_scale=1, classes=[0, 1], random_state=0
    ).fit([[0.5]] * 17, [1] * 17)
    assert made.reported_counts_.tolist() == [17]
    assert alone(made, 17, 10.99993) > 50e-6  # as was stated: the largest of the sizes that occurred
    assert alone(made, 17, made.guarantee_.epsilon) <= 1e-6
    assert made.guarantee_.epsilon == 11.0
    found = dpverify.account(made, delta="1e-6")
    assert alone(made, 17, found.epsilon.upper) <= 1e-6
    assert found.epsilon.lower > 9.9
    assert "a class may have any size up to 17 users" in found.notes[0]
    # Of other points of the curve no more is known than what follows from that one.
    assert dpverify.account(made, delta="1e-7").epsilon.upper == math.inf
    assert 0.0 < dpverify.account(made, epsilon=10.5).delta.upper < 0.3
    with refused("honest=16"):
        dpverify.account(made, delta="1e-6", honest=16)


@pytest.mark.long
def test_the_account_of_a_fitted_density_takes_a_share_of_honest_users() -> None:
    points = np.random.default_rng(0).uniform(size=(400, 2))
    made = PrivateDensity(epsilon=3, delta="1e-6", random_state=0).fit(points)
    every, half = (dpverify.account(made, delta="1e-6", honest=honest) for honest in (None, 0.5))
    assert half == dpverify.account(made.protocol_, delta="1e-6", honest=200)
    assert every.epsilon.upper <= 3.0 < half.epsilon.upper
    assert half.honest == 200
