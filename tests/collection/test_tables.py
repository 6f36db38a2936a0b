"""Tables against their laws, which are computed another way and to more digits; and what they cost, by enumeration."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx, fmpq

from dpverify.collection import tables
from dpverify.collection.tables import MOST, Table, coin, negative_binomial, others, poisson, uniform_charge
from dpverify.guarantee import CapacityError

ONE = 2**128
TAIL = Fraction(1, 10**20)


@pytest.fixture(autouse=True)
def _more_digits() -> Iterator[None]:
    with ctx.workprec(768):
        yield


def exact(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


def poisson_mass(mean: Fraction, k: int) -> arb:
    return (k * exact(mean).log() - exact(mean) - arb(k + 1).lgamma()).exp()


def binomial_mass(shape: Fraction, p: Fraction, k: int) -> arb:
    r = exact(shape)
    coefficient = ((r + k).lgamma() - r.lgamma() - arb(k + 1).lgamma()).exp()
    return coefficient * exact(p) ** k * (1 - exact(p)) ** r


NOISES = [
    (poisson(mean, TAIL), lambda k, mean=mean: poisson_mass(mean, k))
    for mean in (Fraction(1, 7), Fraction(0.2), Fraction(30), Fraction(1, 10**9))
] + [
    (negative_binomial(shape, p, TAIL), lambda k, shape=shape, p=p: binomial_mass(shape, p, k))
    for shape, p in (
        (Fraction(1, 50), Fraction(0.9)),
        (Fraction(40, 3), Fraction(0.5)),
        (Fraction(1, 2000), Fraction(0.99)),
    )
]


@pytest.mark.parametrize(("table", "mass"), NOISES)
def test_noise_is_its_law_in_proportion_within_a_unit_and_never_above(table: Table, mass: Callable[[int], arb]) -> None:
    weights, s = table.weights, exact(table.charge)
    masses = [mass(k) for k in range(len(weights))]
    assert sum(weights) == ONE
    assert list(table.thresholds) == list(itertools.accumulate(weights[:-1]))
    above = [true / (1 - s) * ONE - weight for true, weight in zip(masses, weights, strict=True)]
    # (1 - s) r <= q, proved, and apart from the likeliest outcome a unit in the last place loses all of the rest.
    assert all(rest >= 0 for rest in above)
    likeliest = max(range(len(weights)), key=lambda k: (float(masses[k]), -k))
    assert all(rest < 1 for k, rest in enumerate(above) if k != likeliest)
    assert above[likeliest] < 2 * len(weights) + 2
    # The tail is what was asked for, and one outcome less would have left more.
    left = 1 - sum(masses, arb(0))
    assert left <= exact(TAIL)
    assert left + masses[-1] > exact(TAIL)
    assert s <= left + exact(Fraction(2 * len(weights) + 2, ONE))


@pytest.mark.parametrize("p", [0.0, 0.1, 1 / 3, 0.5, 1 - 2**-53, 2.0**-75])
def test_coins_of_floats_are_exact(p: float) -> None:
    table = coin(Fraction(p))
    assert table.charge == 0
    assert Fraction(ONE - sum(table.weights[:1]), ONE) == Fraction(p)
    assert len(table.thresholds) == (p > 0)


def test_a_coin_that_is_none_of_128_bits_is_charged() -> None:
    for p in (Fraction(1, 3), Fraction(1, 3 * 2**120), Fraction(5e-324)):
        table = coin(p)
        weights = [*table.weights, 0][:2]
        for weight, true in zip(weights, (1 - p, p), strict=True):
            assert Fraction(weight, ONE) * (1 - table.charge) <= true
        assert 0 < table.charge <= Fraction(4, ONE)


@pytest.mark.parametrize("choices", [2, 3, 65_537])
def test_reports_are_those_of_a_response_with_less_epsilon(choices: int) -> None:
    for epsilon in (0.1, 1.0, 100.0):
        other = 1 / (arb(epsilon).exp() + (choices - 1))
        weights = others(choices, other).weights
        assert len(set(weights[1:])) == 1
        assert len(weights) == choices
        assert 0 <= weights[1] - other * ONE < 1
        assert arb(weights[0]) / weights[1] <= arb(epsilon).exp()


def test_a_flip_probability_that_128_bits_do_not_hold_is_rounded_up() -> None:
    assert others(2, Fraction(5e-324)).weights == [ONE - 1, 1]
    assert others(2, Fraction(0.1)).weights[1] == Fraction(0.1) * ONE
    assert others(2, Fraction(0)).thresholds == ()


@pytest.mark.parametrize("choices", [1, 2, 3, 10, 12_345])
def test_no_uniform_choice_is_likelier_than_charged(choices: int) -> None:
    ends = [-(-k * ONE // choices) for k in range(choices + 1)]
    s = uniform_charge(choices)
    assert all((1 - s) * Fraction(b - a, ONE) * choices <= 1 for a, b in itertools.pairwise(ends))
    assert (s == 0) == (choices in (1, 2))


def test_what_is_too_long_is_refused() -> None:
    for make in (
        lambda: poisson(Fraction(10**6), TAIL),
        lambda: poisson(Fraction(1), Fraction(0)),
        lambda: others(MOST + 2, Fraction(0)),
    ):
        with pytest.raises(CapacityError, match=rf"at most {MOST} are made\.$"):
            make()


def rational(mass: arb) -> Fraction:
    """Return a probability, less 2e-40 at most."""
    found = (mass * 10**40).lower().floor().unique_fmpz()
    assert found is not None
    return Fraction(int(found), 10**40)


def hockey_stick(law: Counter[Any], other: Counter[Any], factor: Fraction) -> Fraction:
    return sum((max(mass - factor * other[view], Fraction(0)) for view, mass in law.items()), Fraction(0))


def views(noise: list[Fraction], bits: tuple[int, ...]) -> Counter[int]:
    """Return the law of the number of messages."""
    found: Counter[int] = Counter()
    for drawn in itertools.product(range(len(noise)), repeat=len(bits)):
        found[sum(bits) + sum(drawn)] += math.prod((noise[k] for k in drawn), start=Fraction(1))
    return found


def test_the_charge_is_enough_where_draws_have_few_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three users with noise from tables of 6 bits, where the rounding is coarse: every dataset and direction."""
    monkeypatch.setattr(tables, "BITS", 6)
    monkeypatch.setattr(tables, "_ONE", 64)
    monkeypatch.setattr(tables, "_FINE", 64 << 64)
    shape, p, users, factor = Fraction(2, 3), Fraction(1, 2), 3, Fraction(3)
    table = negative_binomial(shape, p, Fraction(1, 20))
    r = [Fraction(weight, 64) for weight in table.weights]
    q = [rational(binomial_mass(shape, p, k)) for k in range(40)]
    assert all((1 - table.charge) * a <= b + Fraction(1, 10**39) for a, b in zip(r, q, strict=False))
    kept = 1 - (1 - table.charge) ** users
    worst = spent = Fraction(0)
    whole = [rational(binomial_mass(shape * users, p, k)) for k in range(200)]
    for one, other in ((0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)):
        laws = [Counter({ones + k: mass for k, mass in enumerate(whole)}) for ones in (one, other)]
        delta = hockey_stick(*laws, factor)
        bits = [(1,) * ones + (0,) * (users - ones) for ones in (one, other)]
        drawn = hockey_stick(views(r, bits[0]), views(r, bits[1]), factor)
        assert drawn <= (delta + factor * kept) / (1 - kept) + Fraction(1, 10**30)
        worst, spent = max(worst, drawn - delta), max(spent, factor * kept)
    # The charge is one: without it the claim is wrong.
    assert 0 < worst < spent
