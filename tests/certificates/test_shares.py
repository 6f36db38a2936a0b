"""Sums by shares: what certificates of them show, against exact rationals and many digits that share no code."""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest

from dpverify.planning.certificate import checker
from tests.certificates import test_checker as brute
from tests.certificates.hunt import status_of
from tests.certificates.test_roundings import SOURCE, exact, module_of, refused

CERTIFICATE = json.loads((Path(__file__).parents[2] / "docs/certificates/shares.json").read_text(encoding="ascii"))


@functools.cache
def excess(users: int, shares: int, modulus: int) -> Fraction:
    """Return the sum over all sizes, nested, that rule 9 bounds: at least E q^(C - 1) - 1, C the components."""
    most = [Fraction(1)]
    for n in range(1, users + 1):
        chances = (
            Fraction(math.comb(n - 1, j) * math.comb(n, j), math.comb(shares * n, shares * j)) for j in range(1, n)
        )
        most.append(modulus * (1 + sum((c * g for c, g in zip(chances, most[1:], strict=False)), Fraction(0))))
    return most[users] / modulus - 1


def delta(entry: dict[str, Any], epsilon: Fraction) -> Any:
    """Return what one instance costs: by the law of the noise, of which below 2^-60 is cut off, and the distance."""
    part = Fraction(entry["shape"]) * entry["honest"] / entry["users"]
    r, p, e = (mpmath.mpf(x.numerator) / x.denominator for x in (part, Fraction(entry["p"]), epsilon))
    one = [(1 - p) ** r]
    while len(one) < 140:
        one.append(one[-1] * p * (r + len(one) - 1) / len(one))
    law = {z: mpmath.fsum(a * b for a, b in zip(one[abs(z) :], one, strict=False)) for z in range(-139, 140)}
    moved = (law[z] - mpmath.exp(e) * law[z - entry["levels"]] for z in range(entry["levels"] - 139, 140))
    apart = excess(entry["honest"], entry["shares"], entry["modulus"])
    cost = mpmath.sqrt(mpmath.mpf(apart.numerator) / apart.denominator) / 2 * (1 + mpmath.exp(e))
    return mpmath.fsum(max(x, 0) for x in moved) + cost


@pytest.mark.parametrize("number", [8, pytest.param(200, marks=pytest.mark.long)])
def test_no_small_case_is_shown_to_cost_less_than_it_does_and_hardly_more(number: int) -> None:
    draw = random.Random(number)
    for _ in range(number):
        honest, shares = draw.randint(10, 14), draw.randint(12, 24)
        entry = {"instances": draw.randint(1, 3), "users": honest + draw.randint(0, 5), "honest": honest}
        entry |= {"levels": draw.randint(1, 4), "modulus": draw.randint(2, 60), "shares": shares}
        typed = {"shape": repr(draw.choice([0.6, 1.0, draw.uniform(0.5, 6)])), "p": repr(draw.uniform(0.2, 0.6))}
        epsilon = Fraction(draw.randint(1, 1500), 1000)
        grid, window = checker.Checker(100, 10, 60, (-9000, 9000)), (-9000, 9000)
        exact = entry | {field: Fraction(value) for field, value in typed.items()}
        ((measure,),) = checker.factors(grid, "split-and-mix", window, exact)
        grid.apart = Fraction(grid.apart, entry["instances"])
        with mpmath.workdps(40):
            least = delta(entry | typed, epsilon) * (1 << 100)
            found = grid.delta(measure, epsilon)
            assert least - 2**40 <= found <= 1.01 * least + mpmath.mpf(2) ** 70, (entry, typed, epsilon)


def test_the_distance_is_never_below_the_sum_over_all_sizes_and_one_where_it_is_not_proved() -> None:
    grid = checker.Checker(200, 4, 20, (-20, 20))
    for users, shares, modulus in itertools.product((7, 8, 12, 25, 40), (4, 5, 6, 9, 20), (2, 3, 50, 4000, 2**24)):
        found = Fraction(grid.distance(users, shares, modulus), grid.one)
        assert found == 1 or 4 * found**2 >= excess(users, shares, modulus)
        assert (found == 1) == (2 * (users - 2) ** (shares - 2) < 5 * 4 ** (shares - 2) * modulus)
        if found < 1e-7:  # where it is small enough to be of use it is sharp
            assert 4 * found**2 <= Fraction(5, 4) * excess(users, shares, modulus)
    assert grid.distance(1, 1024, 2) == grid.distance(2, 4, 2) == grid.one


def test_shares_that_are_told_apart_are_charged_in_both_directions_and_each_time() -> None:
    assert checker.checked(CERTIFICATE).startswith("Accepted: ")
    grid = checker.Checker(100, 11, 60, (-20, 20))
    entry = {"users": 9000, "honest": 8000, "levels": 4, "modulus": 2**16, "shares": 6}
    entry |= {"instances": 7, "shape": Fraction(1), "p": Fraction(1, 2)}
    for _ in range(2):
        checker.factors(grid, "split-and-mix", (-20, 20), entry)
    assert grid.apart == 14 * grid.distance(8000, 6, 2**16)


def test_no_forgery_is_accepted(tmp_path: Path, capsys: Any) -> None:
    """Less epsilon, delta, noise, shares or users, more levels or instances, a larger modulus: each says too much."""
    forged, draw = [], random.Random(5)
    entry = CERTIFICATE["together"][0]
    for _ in range(6):
        less = draw.uniform(0.3, 0.9)
        forged += [{"epsilon": repr(less * float(CERTIFICATE["epsilon"]))}, {"delta": repr(less * 1e-6)}]
        fewer = {"honest": int(less * 10_000)}
        changes = [{"p": repr(less * float(entry["p"]))}, {"shape": repr(less * float(entry["shape"]))}, fewer]
        changes += [{"instances": draw.randint(2, 3)}, {"levels": draw.randint(5, 40)}]
        changes += [{"modulus": int(2**16 * draw.uniform(4, 9))}, {"shares": draw.randint(4, 5)}]
        forged += [{"together": [entry | change]} for change in changes]
    assert len(forged) == 54
    for change in forged:
        status, _ = status_of(json.dumps(CERTIFICATE | change).encode(), tmp_path / "forged.json")
        assert status == 1, change
        assert capsys.readouterr().out.startswith("Refused: delta is shown to be at most")
    for change in ({"shares": 3}, {"shares": 1025}, {"modulus": 0}, {"modulus": "65536"}, {"shares": None}):
        given = CERTIFICATE | {"together": [entry | change]}
        assert status_of(json.dumps(given).encode(), tmp_path / "forged.json")[0] == 2


def checks(module: Any) -> Iterator[bool]:
    """Yield whether the distance, and what it costs, are at least what rule 9 says, and untrue claims are refused."""
    grid = module.Checker(64, 4, 20, (-20, 20))
    for users, shares, modulus in ((40, 8, 2**16), (40, 20, 2**16), (12, 5, 2)):
        bound = Fraction(users**2, math.comb(users * shares, shares))
        bound += Fraction(10 * modulus + 3 * 2 ** (shares - 2), (users * (users - 1)) ** (shares - 2))
        yield 4 * grid.distance(users, shares, modulus) ** 2 >= modulus * bound * grid.one**2
    yield grid.distance(100, 4, 240) < grid.one == grid.distance(100, 4, 241)
    grid.apart = 5 * grid.one
    with mpmath.workdps(60):
        cost = 5 * grid.one * (1 + exact(mpmath.exp(mpmath.mpf(3) / 10)))
    yield 0 <= grid.delta((0, [0], 0), Fraction(3, 10)) - cost < 20
    # Two sums by so few shares that their distance is much of delta.
    given = brute.given("split-and-mix", 2, 0.7, 1.0, [], grid=8)
    given["together"][0] |= {"shares": 5, "modulus": 32}
    worst = brute.worst_mix("split-and-mix")[1] + (1 + math.exp(0.7)) * math.sqrt(excess(20, 5, 32))
    for entries in (given["together"], [given["together"][0] | {"instances": 1}] * 2):
        yield refused(module, given | {"together": entries, "delta": repr(0.9995 * worst)})


MUTANTS: list[tuple[str, str]] = [
    ("over(sum(kept) + self.apart * (self.one + most), self.one)", "over(sum(kept), self.one)"),
    ("self.apart * (self.one + most)", "self.apart * most"),
    ("self.apart * (self.one + most)", "self.apart * self.one"),
    ("self.apart * (self.one + most)", "self.apart * (self.one + least)"),
    ("k, unit, choices = shares - 2,", "k, unit, choices = shares - 1,"),
    ("** (shares - 2) or 1", "** (shares - 1) or 1"),
    ("over(unit * honest**2, comb", "over(unit * honest * (honest - 1) * (modulus - 1) // modulus, comb"),
    ("comb(shares * honest, shares)) +", "comb(shares * honest + 1, shares)) +"),
    ("+ over(unit * (10 * modulus + 3 * 2**k), choices)", ""),
    ("return over(isqrt(square) + 1, 2) if", "return isqrt(square) // 2 if"),
    ("if 2 * (honest - 2) ** k >= 5 * 4**k * modulus else self.one", ""),
    ("law[::-1], self.bits) if shared else law", "law, self.bits) if shared else law"),
    ('given["instances"] * grid.distance', "grid.distance"),
    ("grid.apart += given", "grid.apart = given"),
    ("grid.distance(**given)", 'grid.distance(**{**given, "honest": given["users"]})'),
    ("grid.distance(**given)", 'grid.distance(**{**given, "modulus": given["levels"]})'),
]


def test_what_is_charged_is_at_least_what_is_proved() -> None:
    assert all(checks(checker))


@pytest.mark.parametrize(("line", "mutated"), MUTANTS, ids=[mutated[:40] for _, mutated in MUTANTS])
def test_every_charge_is_needed(line: str, mutated: str) -> None:
    assert SOURCE.count(line) == 1
    assert not all(checks(module_of(SOURCE.replace(line, mutated))))
