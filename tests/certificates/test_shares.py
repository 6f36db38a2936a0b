"""Sums by shares: what certificates of them show, against exact rationals and many digits that share no code."""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest

from dpverify.planning.certificate import checker
from tests.certificates.hunt import status_of

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
