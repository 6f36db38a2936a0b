"""Two counts in cells of the plane: against exact rationals, without each of its parts, and false claims of it."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpverify.planning.certificate import checker
from tests.certificates import test_checker as brute
from tests.certificates.agreement import found
from tests.certificates.test_roundings import SOURCE, module_of


def concave(draw: random.Random, size: int, one: int, steep: int) -> list[int]:
    """Return a list of integers that is log-concave, of at most one together."""
    ratio, law = Fraction(draw.randint(8, 30), 10), [one]
    for _ in range(size - 1):
        ratio *= Fraction(draw.randint(steep, 10), 10)
        law.append(int(law[-1] * ratio))
    whole = sum(law)
    scaled = [one * mass // whole for mass in law]
    return (
        scaled if all(b * b >= a * c > 0 for a, b, c in zip(scaled, scaled[1:], scaled[2:], strict=False)) else law[:0]
    )


def views(own: list[int], flood: list[int]) -> dict[tuple[int, int], list[int]]:
    """Return (P, Q) of every difference and smaller count, exactly, over one^3."""
    found: dict[tuple[int, int], list[int]] = {}
    for (i, a), (j, b), (z, c) in itertools.product(enumerate(own), enumerate(own), enumerate(flood)):
        for x, side in ((1, 0), (0, 1)):
            found.setdefault((x + i - j, min(x + i, j) + z), [0, 0])[side] += a * b * c
    return found


def profile(atoms: Iterable[Sequence[int]], a: Sequence[int]) -> int:
    """Return the divergence at a ratio and what is lost, less one, times the ratio's denominator."""
    return sum(max(-a[1] * p, -a[0] * q) for p, q in atoms)


def checks(module: Any) -> Iterator[bool]:
    """Yield whether cells have all that is in them and corners on either side, and what is made of them is no less."""
    draw = random.Random(5)
    grid = module.Checker(48, 4, 30, (-20, 20))
    for _ in range(12):
        module.ROWS, module.COLUMNS = draw.randint(1, 5), draw.randint(1, 5)
        own, flood = (concave(draw, draw.randint(3, 7), grid.one, draw.randint(3, 9)) for _ in "ab")
        if not own or not flood:
            continue
        parts, cuts, every = grid.parted, [], views(own, flood)
        grid.parted = lambda *given, parts=parts, cuts=cuts: cuts.append(parts(*given)) or cuts[-1]
        grid.spread = lambda *given: [given]
        found = [cell for block in grid.in_cells(own, flood) for cell in block]
        del grid.parted, grid.spread
        rows, columns = (itertools.pairwise(cut) for cut in cuts)
        yield len(found) == 2 * (len(cuts[0]) - 1) * (len(cuts[1]) - 1)
        halves = [(d, e, sign) for d, e in rows for sign in (1, -1)]
        left = len(every)
        for ((d, e, sign), (k, m)), (p, q, *corners) in zip(itertools.product(halves, columns), found, strict=False):
            (a, b), (c, g) = corners[:2], corners[2:]
            inside = [every.get((i + 1 if sign > 0 else -i, j), [0, 0]) for i in range(d, e) for j in range(k, m)]
            left -= sum(any(point) for point in inside)
            yield (p, q) == tuple(map(sum, zip(*inside, strict=True)))
            yield all(one * b >= other * a for one, other in inside if a or b)
            yield all(one * g <= other * c for one, other in inside if c or g)
        yield left == 0
    for _ in range(300):
        low, high = sorted(([draw.randint(0, 9), draw.randint(0, 9)] for _ in "ab"), key=lambda x: x[0] / (x[1] + 1e-9))
        low, high = low if draw.random() < 0.8 else [0, 0], high if draw.random() < 0.8 else [0, 0]
        (a, b), (c, g) = low if any(low) else (0, 1), high if any(high) else (1, 0)
        shares = [(draw.randint(0, grid.one), draw.randint(0, grid.one)) for _ in range(3)]
        points = [((s * a + t * c) * grid.one, (s * b + t * g) * grid.one) for s, t in shares]
        p, q = map(sum, zip(*points, strict=True))
        found = [(x * grid.one**2, y * grid.one**2) for x, y in grid.spread(p, q, *low, *high)]
        yield all(0 <= one - sum(x) < 2 * grid.one**2 for one, x in zip((p, q), zip(*found, strict=True), strict=True))
        for at in (*points, (1, 1), (1, 3), (2, 1), (a + c, b + g)):
            for turn in (1, -1):
                yield profile((x[::turn] for x in found), at) >= profile((x[::turn] for x in points), at)
    # Noise or a flood of a shape below 1 has other corners, and is listed whole; so much work is counted.
    module.MOST_EACH, grid.in_cells = 1, lambda own, flood: [[(grid.one, 0)]]
    for shape, flood_shape in ((Fraction(1, 2), 2), (2, Fraction(1, 2)), (2, 2)):
        own = Fraction(shape), Fraction(3, 5), Fraction(flood_shape), Fraction(7, 10)
        yield ([*grid.two_counts(1, 1, *own)] == [[(grid.one, 0)]]) is (shape == flood_shape)
    del grid.in_cells
    before = grid.left
    yield len(list(grid.in_cells([grid.one >> 9] * 500, [grid.one]))) > 9 and before - grid.left > 500 * 9 * 9


MUTANTS: list[tuple[str, str]] = [
    ("if a or b else (0, 1)", "if a or b else (1, 1)"),
    ("if c or g else (1, 0)", "if c or g else (1, 1)"),
    ("(q * c - p * g, a, b)", "(p * b - q * a, a, b)"),
    ("[(q * c - p * g, a, b), (p * b - q * a, c, g)] if b * c > a * g", "[(1, p, q)] if b * c > a * g"),
    ("[(q * c - p * g, a, b), (p * b - q * a, c, g)] if b * c > a * g", "[(q * c - p * g, a, b)] if b * c > a * g"),
    ("(share * x // whole, share * y // whole)", "(over(share * x, whole), over(share * y, whole))"),
    ("whole *= max(1, b * c - a * g)", "whole *= max(1, b * c - a * g) * 2"),
    ("below[k - late - z] << slot", "below[k - z] << slot"),
    ("own, beyond[d + move :]", "own, beyond[d:]"),
    ("(0, 1, near, far), (2, 0, far, near)", "(0, 1, near, far), (0, 1, near, far)"),
    ("(0, 1, near, far), (2, 0, far, near)", "(0, 1, near, near), (2, 0, far, near)"),
    ("(0, 1, near, far), (2, 0, far, near)", "(0, 1, far, far), (2, 0, far, near)"),
    ("(0, 1, near, far), (2, 0, far, near)", "(0, 1, near, far), (2, 0, near, near)"),
    ("(0, 1, near, far), (2, 0, far, near)", "(0, 1, near, far), (2, 0, far, far)"),
    ("(0, 1, near, far), (2, 0, far, near)", "(0, 1, near, far), (2, 0, near, far)"),
    ("high[x + 3][1:], high[y + 3][1:]", "high[x + 3], high[y + 3]"),
    ("low[x + 3], low[y + 3]", "low[x + 3][1:], low[y + 3][1:]"),
    ("starts.union([0, len(law) + 1]", "starts.union([1, len(law) + 1]"),
    ("starts.union([0, len(law) + 1]", "starts.union([0, len(law) - 1]"),
    ("concave and len(own) > MOST_EACH", "len(own) > MOST_EACH"),
    ("for x in (own, flood) for", "for x in (own,) for"),
    ("for x in (own, flood) for", "for x in (flood,) for"),
    ("self.work(size * len(rows) * len(columns) * slot // 256)", "pass"),
    ("slot, less = len(own), 3 * self.bits + 64", "slot, less = len(own), self.bits + 64"),
]


def test_no_cell_is_less_than_what_is_in_it() -> None:
    held = list(checks(module_of(SOURCE)))
    assert all(held)
    assert len(held) > 1000


@pytest.mark.parametrize(("line", "mutated"), MUTANTS, ids=[mutated[-40:] for _, mutated in MUTANTS])
def test_every_part_of_a_cell_is_needed(line: str, mutated: str) -> None:
    assert SOURCE.count(line) == 1

    def sound() -> bool:
        try:
            return all(checks(module_of(SOURCE.replace(line, mutated))))
        except (IndexError, ZeroDivisionError):
            return False

    assert not sound()


def false_claims(number: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield certificates of two counts, each of a claim that a listing of the views refutes."""
    draw, made = random.Random(seed), 0
    while made < number:
        honest = draw.randint(2, 5)
        p, flood_p = (f"{draw.uniform(0.3, 0.6):.3f}" for _ in "ab")
        shape, flood_shape = (f"{draw.uniform(1.01, top) * 5 / honest:.4f}" for top in (8, 4))
        own = {"users": 5, "honest": honest, "shape": shape, "p": p, "flood_shape": flood_shape, "flood_p": flood_p}
        part, dropped = honest / 5, draw.choice([0.0, 0.0, 0.1, 0.3])
        pairs = brute.two_counts(float(shape) * part, float(p), float(flood_shape) * part, float(flood_p), dropped)
        if dropped:
            own["drop_probability"] = repr(dropped)
        for _ in range(10):
            epsilon = round(draw.uniform(0.01, 1.5), 6)
            truth = max(brute.divergence(pair, epsilon) for pair in pairs)
            grid, bits = draw.randint(2, 12), draw.choice([40, 64, 100])
            reach = min(2 ** (grid + draw.randint(0, 3)), 4000)
            low, high = sorted(draw.sample(range(-reach, reach + 2), 2))
            entry = {"protocol": "pure" if dropped else "3nb", "instances": 1, **own, "cuts": []}
            entry["window"] = draw.choice([[-reach, reach], [low, high]])
            delta = repr(truth * (1 - 10 ** draw.uniform(-5, -0.5)))
            sizes = {"bits": bits, "grid": grid, "tail": draw.randint(16, 32), "window": [-2 * reach, 2 * reach]}
            if truth > 1e-6:
                made += 1
                yield {"format": checker.FORMAT, "epsilon": repr(epsilon), "delta": delta, "together": [entry], **sizes}


def listed_in_cells(monkeypatch: pytest.MonkeyPatch, draw: random.Random) -> None:
    """Have small laws in cells, too, and few or many of these."""
    monkeypatch.setattr(checker, "MOST_EACH", 1)
    monkeypatch.setattr(checker, "ROWS", draw.choice([1, 4, 16]))
    monkeypatch.setattr(checker, "COLUMNS", draw.choice([1, 4, 16]))


@pytest.mark.long
def test_no_false_claim_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, cells, met = random.Random(1), checker.Checker.in_cells, []
    monkeypatch.setattr(checker.Checker, "in_cells", lambda *given: met.append(1) or cells(*given))
    for claim in false_claims(300, 3):
        listed_in_cells(monkeypatch, draw)
        assert not brute.accepted(claim), json.dumps(claim)
    assert len(met) > 150  # the others' lists, of so few digits, are not log-concave


@pytest.mark.long
@pytest.mark.parametrize("name", ["3nb", "3nb, in part", "pure"])
def test_true_claims_are_accepted_in_cells(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("MOST_EACH", "ROWS", "COLUMNS"):
        monkeypatch.setattr(checker, number, 1 if number == "MOST_EACH" else 400)
    worst = max(brute.divergence(pair, 0.7) for pair in brute.CASES[name][1])
    assert brute.accepted(brute.given(name, 1, 0.7, 1.1 * worst, []))
    assert not brute.accepted(brute.given(name, 1, 0.7, 0.9995 * worst, []))


@pytest.mark.long
def test_no_certificate_in_cells_is_below_the_lower_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.planning.certificate._NODES", 512)
    monkeypatch.setattr(checker, "MOST_EACH", 8)
    settings = [one for one in found(4, 23, ["3nb", "pure"]) if one.certified is not None]
    assert settings
    for one in settings:
        assert one.certified is not None
        assert one.lower <= one.certified <= 1.2 * one.upper, one.setting
