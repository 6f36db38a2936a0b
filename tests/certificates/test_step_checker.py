"""Every bound of the checker of steps against mpmath and exact rationals; and without each of its charges."""

from __future__ import annotations

import importlib
import itertools
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import mpmath
import pytest

from tests.certificates.test_roundings import above, both, exact, module_of, near, profile

checker: Any = importlib.import_module("dpverify.certificates.step_checker")
SOURCE = Path(checker.__file__).read_text(encoding="utf-8")
CERTIFICATE = json.loads((Path(__file__).parents[2] / "docs/certificates/steps.json").read_text(encoding="ascii"))


def real(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def divergence(law: str, noise: Any, rate: Any, a: Any, way: str) -> Any:
    """Return H(a) of one step by where its set of outputs begins and its two laws: no formula of the checker's."""
    if way == "back" or (way == "either" and a < 1):
        return 1 - a + a * divergence(law, noise, rate, 1 / a, "there") if a else mpmath.mpf(1)
    density = (
        (lambda y: mpmath.npdf(y, 0, noise))
        if law == "gaussian"
        else (lambda y: mpmath.exp(-abs(y) / noise) / noise / 2)
    )

    def beyond(y: Any) -> Any:
        if law == "gaussian":
            return mpmath.erfc(y / noise / mpmath.sqrt(2)) / 2
        return density(y) * noise if y >= 0 else 1 - density(y) * noise

    moved = -1 if way == "opposite" else 0

    def ratio(y: Any) -> Any:
        return (1 - rate + rate * density(y - 1) / density(y)) / (1 - rate + rate * density(y - moved) / density(y))

    low, high = -40 * noise - 1, 40 * noise + 2
    if ratio(low) >= a:
        return 1 - a
    if ratio(high) <= a:
        return mpmath.mpf(0)
    for _ in range(90):  # the divergence is flat there: what is left of the place counts squared
        middle = (low + high) / 2
        low, high = (middle, high) if ratio(middle) < a else (low, middle)
    return (1 - a) * (1 - rate) * beyond(high) + rate * (beyond(high - 1) - a * beyond(high - moved))


def checks(module: Any) -> Iterator[tuple[str, bool]]:
    """Yield each bound by name, and whether it holds, and is not far off."""
    draw = random.Random(3)
    grid = module.Checker(48, 4, (-20, 20))
    one, whole, base = grid.one, grid.whole, Fraction(17, 16)
    allowed = Fraction(whole >> 51)
    yield "node", all(grid.node(k) <= base**k * one for k in range(-60, 61))
    with mpmath.workdps(180):
        for x in (Fraction(1, 7), Fraction(3), Fraction(40), Fraction(0)):
            least, most = grid.exponential(x)
            yield "exponential", least <= exact(mpmath.exp(real(x)) * one) <= most and most - least < 4
        for x in (Fraction(1), Fraction(2, 3), Fraction(3, 2), Fraction(10**9, 7), Fraction(3, 10**20), base**90):
            least, most = grid.logarithm(x)
            yield "logarithm", least <= exact(mpmath.log(real(x)) * whole) <= most and most - least <= 1 << 33
        for x in (0, 1, whole // 3, whole, 3 * whole + 7, 8 * whole, 15 * whole, 16 * whole, 40 * whole):
            for y in (x, -x):
                least, most = grid.tail(y)
                truth = exact(mpmath.erfc(mpmath.mpf(y) / whole / mpmath.sqrt(2)) / 2 * whole)
                yield "tail", least <= truth <= most and most - least <= allowed
        finest = module.Checker(176, 4, (-20, 20))
        for x in (16, 17, -16, -17):
            least, most = finest.tail(x * finest.whole)
            yield "tail", least <= exact(mpmath.erfc(x / mpmath.sqrt(2)) / 2 * finest.whole) <= most
    with mpmath.workdps(50):
        for law, noise, rate in itertools.product(("gaussian", "laplace"), ("0.3", "7.5"), ("0.1", "1")):
            own = module.LAWS[law], Fraction(noise), Fraction(rate)
            for way in ("there", "back", "either"):
                turn = {"there": module.THERE, "back": module.BACK, "either": module.EITHER}[way]
                for k in (-70, -2, 0, 1, 30):
                    a = Fraction(grid.node(k), one)
                    found, truth = grid.height(a, turn, own), divergence(law, *map(real, own[1:]), real(a), way)
                    gap = exact(mpmath.mpf(real(Fraction(found))) - truth)
                    yield "height", -Fraction(1, 10**39) <= gap <= (1 + a) * Fraction(1, 2**45)
    with mpmath.workdps(50):
        for noise, rate, k in itertools.product(("0.3", "7.5"), ("0.1", "0.9"), (0, 1, 9, 30)):
            a = Fraction(grid.node(k), one)
            found = grid.opposite(Fraction(rate), a, Fraction(noise))
            truth = divergence("gaussian", real(Fraction(noise)), real(Fraction(rate)), real(a), "opposite")
            gap = exact(mpmath.mpf(real(Fraction(found))) - truth)
            yield "opposite", -Fraction(1, 10**39) <= gap <= (1 + a) * Fraction(1, 2**43)
    for law, noise, cells in (
        ("gaussian", "0.8", [-40, -9, -3, 0, 1, 2, 5, 11, 40]),
        ("laplace", "2", [-30, -8, -7, -1, 0, 3, 8]),
        ("laplace", "2", [-6, -2, 0, 4]),
    ):
        own = module.LAWS[law], Fraction(noise), Fraction(1, 3)
        for turn in (module.THERE, module.BACK, module.EITHER):
            measure = grid.step(turn, own, cells)
            for a in near(grid, cells[0] - 2, cells[-1] + 3):
                yield (
                    "step",
                    profile(grid, measure, a) + 1 >= one * max(grid.height(a, turn, own) - Fraction(2, 2**49), 0),
                )
            heights = [over_of(grid, grid.height(Fraction(grid.node(k), one), turn, own)) for k in cells]
            yield "cells", all(profile(grid, measure, base**k) >= h for k, h in zip(cells, heights, strict=True))
            yield "cells", profile(grid, measure, Fraction(0)) >= one and measure[2] >= heights[-1]
    for _ in range(3):
        some = [(-5 + i, [draw.randint(1, one // 9) for _ in range(9)], draw.randint(0, one // 1000)) for i in range(2)]
        for window in ((-20, 20), (-7, 3), (0, 20), (-40, -12)):
            small = module.Checker(48, 4, window)
            points = near(grid, -12, 12)
            yield (
                "product",
                above(grid, small.product(*some), [both(*some)], 1, points)
                or all(profile(grid, small.product(*some), a) * one >= profile(grid, both(*some), a) for a in points),
            )
        wide, cube = module.Checker(48, 4, (-60, 60)), both(both(some[0], some[0]), some[0])
        yield "power", above(grid, wide.power({1: some[0]}, 3, wide.product), [cube], one**2, near(grid, -16, 16))
        for epsilon in (Fraction(0), Fraction(3, 10), Fraction(draw.randint(0, 300), 1000)):
            with mpmath.workdps(60):
                point = exact(mpmath.exp(real(epsilon)))
            for measure in (some[0], (8, [9 * one + 1], 0), (1, [9 * one], 0)):
                yield "delta", grid.delta(measure, epsilon) >= profile(grid, measure, point)


def over_of(grid: Any, h: Fraction) -> int:
    return -(-(h.numerator << grid.bits) // h.denominator)


def given(steps: int, epsilon: float, delta: float, **own: Any) -> dict[str, Any]:
    """Return a certificate of some steps, of full cells."""
    entry = {"law": "gaussian", "noise": "1", "sensitivity": "1", "sampling": "poisson", "rate": "1", "steps": steps}
    entry |= {"cells": [*range(-1500, 1501, 5)]}
    claim = {"format": checker.FORMAT, "epsilon": repr(epsilon), "delta": repr(delta), "adjacency": "add-remove"}
    claim |= {name: own.pop(name) for name in [*own] if name in claim}
    return claim | {"bits": 80, "grid": 8, "window": [-3000, 3000], "together": [entry | own]}


def refused(module: Any, certificate: Any) -> bool:
    try:
        module.checked(certificate)
    except module.Refused:
        return True
    return False


def cases() -> Iterator[tuple[dict[str, Any], float, float]]:
    """Yield claims but for epsilon and delta, an epsilon, and the least delta that holds there, from closed forms."""

    def normal(deviation: float, epsilon: float) -> float:
        return float(divergence("gaussian", mpmath.mpf(deviation), 1, mpmath.exp(epsilon), "there"))

    yield {"noise": "2", "sensitivity": "1", "steps": 1}, 0.5, normal(2, 0.5)
    yield {"noise": "3", "sensitivity": "2", "steps": 4}, 0.7, normal(0.75, 0.7)
    yield {"noise": "6", "steps": 4, "adjacency": "replace-one"}, 0.6, normal(1.5, 0.6)
    yield {"noise": "6", "steps": 4, "sampling": "fixed-size"}, 0.6, normal(1.5, 0.6)
    for noise, rate, way, adjacency in (
        ("0.8", "0.1", "there", "add-remove"),
        ("0.8", "0.9", "there", "zero-out"),
        ("2", "0.3", "there", "add-remove"),
    ):
        worst = divergence("gaussian", mpmath.mpf(noise), mpmath.mpf(rate), mpmath.exp(0.3), way)
        yield {"noise": noise, "rate": rate, "steps": 1, "adjacency": adjacency}, 0.3, float(worst)
    worst = divergence("laplace", mpmath.mpf(2), mpmath.mpf("0.4"), mpmath.exp(0.1), "there")
    yield {"law": "laplace", "noise": "2", "rate": "0.4", "steps": 1}, 0.1, float(worst)
    worst = divergence("gaussian", mpmath.mpf(1), mpmath.mpf("0.2"), mpmath.exp(0.3), "there")
    moved = {"noise": "2", "rate": "0.2", "steps": 1, "sampling": "fixed-size"}
    yield moved, 0.3, float(worst)
    yield moved | {"adjacency": "replace-one"}, 0.3, float(worst)
    worst = divergence("gaussian", mpmath.mpf(2), mpmath.mpf("0.2"), mpmath.exp(0.2), "opposite")
    yield moved | {"adjacency": "replace-one", "sampling": "poisson"}, 0.2, float(worst)


def claims(module: Any) -> Iterator[tuple[str, bool]]:
    """Yield whether claims that are not true, if by little, are refused, and others are accepted."""
    for own, epsilon, worst in cases():
        steps = own["steps"]
        rest = {name: value for name, value in own.items() if name != "steps"}
        yield f"{own} false", refused(module, given(steps, epsilon, 0.9995 * worst, **rest))
        yield f"{own} true", not refused(module, given(steps, epsilon, 1.005 * worst, **rest))
    both_kinds = given(1, 0.7, 1.0, noise="2")
    both_kinds["together"] += given(1, 0.7, 1.0, noise="4")["together"]
    worst = float(divergence("gaussian", 1 / mpmath.sqrt(mpmath.mpf("0.3125")), 1, mpmath.exp(0.7), "there"))
    yield "several", refused(module, both_kinds | {"delta": repr(0.9995 * worst)})


MUTANTS: list[tuple[str, str]] = [
    ("return -(-numerator // denominator)", "return numerator // denominator"),
    ("93993751", "93993752"),
    ("(powers[-1] >> self.grid) if", "(powers[-1] >> self.grid) + 1 if"),
    ("powers[-1] * self.bottom // self.top", "over(powers[-1] * self.bottom, self.top)"),
    ("(total >> 2000) + 2", "(total >> 2000)"),
    ("found - (1 << 32), found", "found, found"),
    ("found + (1 << 32)", "found"),
    ("+ shift * self.two", "+ 0 * self.two"),
    ("while abs(term) > 1:", "while abs(term) > self.one:"),
    ("min(abs(x), 16 * self.whole)", "min(abs(x), 4 * self.whole)"),
    ("parts[n % 2] +=", "parts[0] +="),
    ("found - (self.whole >> self.bits + 4), found", "found, found"),
    ("found + (self.whole >> self.bits + 4)", "found"),
    ("if x >= 0 else (self.whole >> 1) + area", "if x >= 0 else (self.whole >> 1) - area"),
    ("self.tail(floor(low * noise - middle))[1]", "self.tail(floor(low * noise - middle))[0]"),
    ("(high * noise + middle))[0]", "(high * noise + middle))[1]"),
    ("max(Fraction(0), 1 - a, 1 - root", "max(Fraction(0), 1 - root"),
    ("self.exponential(1 / (2 * noise))[1]", "self.exponential(1 / (2 * noise))[0]"),
    ("isqrt(floor((half**2 + a) * self.whole**2)) + side", "isqrt(floor((half**2 + 1) * self.whole**2)) + side"),
    ("self.logarithm(half + root)[side] * noise", "self.logarithm(half + root)[0] * noise * Fraction(1 + side, 1)"),
    ("for d in (0, step))", "for d in (0, 2 * step))"),
    ("- (a - 1) * (1 - rate) * under)", "- a * (1 - rate) * under)"),
    ("(beyond - a * less)", "(beyond - a * a * less)"),
    ("inner = 1 + (a - 1) / rate", "inner = a"),
    ("return rate * law(", "return law("),
    ("if inner > 0 else 1 - a", "if inner > 0 else Fraction(0)"),
    ("1 - a + a * self.sampled(1 / a, *own)", "a * self.sampled(1 / a, *own)"),
    ("way == BACK or (", "("),
    ("(way == EITHER and a < 1)", "False"),
    ("over(h.numerator << self.bits, h.denominator)", "(h.numerator << self.bits) // h.denominator"),
    ("less = over(self.one**2, self.node(after - k))", "less = self.one**2 // self.node(after - k) - 1"),
    ("+ weighted * less, self.one - less)", "+ weighted * less, self.one)"),
    ("over((weighted + mass) * less, self.one)", "weighted"),
    ("masses[0] = max(0, self.one - total)\n        return", "return"),
    ("return cells[0], masses, heights[0][1]", "return cells[0], masses, 0"),
    ("infinite = lost * (sum(theirs) + gone) + gone * sum(ours)", "infinite = lost * sum(theirs) + gone * sum(ours)"),
    ("gone * sum(ours) + sum(masses[above:])", "gone * sum(ours)"),
    ("kept[0] += sum(masses[: min(below, above)])", "pass"),
    ("[1]), [over(mass, self.one) for mass in kept]", "[1]), [mass // self.one for mass in kept]"),
    ("over(infinite, self.one)\n\n    def power", "infinite // self.one\n\n    def power"),
    ("self.power(known, times - part, product))", "self.power(known, part, product))"),
    ("return infinite + over(sum(kept), self.one)", "return infinite + sum(kept) // self.one"),
    ("k, m in enumerate(masses, first)", "k, m in enumerate(masses, first - 1)"),
    ("(factor, _) = measure, self", "(_, factor) = measure, self"),
]
WRONG: list[tuple[str, str]] = [
    ("        return 2\n", "        return 1\n"),
    ('and found["rate"] < 1:\n', 'and found["rate"] > 1:\n'),
    ('return 1 if sampling == "poisson" else 2', "return 1"),
    ('found["noise"] / found["sensitivity"] / moves', 'found["noise"] / moves'),
    (
        "grid.power({1: grid.step(way, own, cells)}, steps, ",
        "grid.power({1: grid.step(way, own, cells)}, 1, ",
    ),
    ("totals.append(reduce(grid.product, parts))", "totals.append(next(parts))"),
    ("totals.append(reduce(grid.product, parts))", "totals.append([*parts][-1])"),
    ("else [THERE, BACK]:", "else [BACK]:"),
    (') > claim["delta"]', ') > 2 * claim["delta"]'),
]
"""What would let a claim pass that is not true, beyond roundings."""


def test_every_bound_holds_against_exact_numbers() -> None:
    found = list(checks(checker))
    assert not [name for name, holds in found if not holds]
    assert len(found) > 400


@pytest.mark.long
def test_false_claims_are_refused_and_true_ones_accepted() -> None:
    assert not [name for name, holds in claims(checker) if not holds]


@pytest.mark.parametrize("share", [1.0, pytest.param(0.999, marks=pytest.mark.long)])
def test_the_certificate_of_the_repository_is_accepted(share: float) -> None:
    shown = CERTIFICATE | {"epsilon": repr(share * float(CERTIFICATE["epsilon"]))}
    assert refused(checker, shown) is (share < 1.0)


def test_a_wide_window_is_counted_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "MOST_WORK", 40_000_000)
    with pytest.raises(checker.Refused, match="work"):
        checker.Checker(80, 16, (-9, 9)).step(
            checker.THERE, (checker.Checker.laplace, Fraction(4), Fraction(1)), [-131_072, 131_072]
        )


def test_small_numbers_and_small_products_are_work_too() -> None:
    """Nodes of 64 bits counted nothing once, and products of few masses next to nothing: files took minutes."""
    for made in (
        lambda grid: grid.node(1000),
        lambda grid: grid.product((0, [1], 0), (0, [1], 0)),
        lambda grid: grid.exponential(Fraction(1, 3)),
        lambda grid: grid.near(grid.whole * 3 // 2),
        lambda grid: grid.tail(grid.whole),
    ):
        grid = checker.Checker(32, 20, (-9, 9))
        before = grid.left
        made(grid)
        assert before - grid.left > 3_000  # 2 ns each


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (json.dumps(CERTIFICATE).replace("1000,", f"{'9' * 5001},"), "a number of 600 digits or more."),
        (json.dumps(CERTIFICATE | {"window": [5]}), "window must be a list of 2 increasing integers from -131072"),
        (json.dumps(CERTIFICATE | {"grid": 21}), "grid must be an integer from 1 to 20."),
        (json.dumps(CERTIFICATE | {"delta": "1e-100"}), "80 more behind the point and an exponent of two."),
        ("{", "It is no JSON: "),
    ],
)
def test_what_is_wrong_is_said(data: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(data, encoding="ascii")
    for given, words in ((file, said), (tmp_path, "It is a folder.")):
        assert checker.main(given) == 2
        told = capsys.readouterr().out
        assert told.startswith("Not a certificate: ")
        assert words in told


@pytest.mark.long
@pytest.mark.parametrize(("line", "mutated"), MUTANTS, ids=[mutated[:40] for _, mutated in MUTANTS])
def test_every_charge_is_needed(line: str, mutated: str) -> None:
    assert SOURCE.count(line) == 1

    def sound() -> bool:
        module = module_of(SOURCE.replace(line, mutated))
        try:
            return all(holds for _, holds in checks(module))
        except (module.Refused, ArithmeticError, ValueError):
            return False

    assert not sound()


@pytest.mark.long
@pytest.mark.parametrize(("line", "mutated"), WRONG, ids=[mutated[:40] for _, mutated in WRONG])
def test_what_is_left_out_would_let_a_false_claim_pass(line: str, mutated: str) -> None:
    assert SOURCE.count(line) == 1
    assert not all(holds for _, holds in claims(module_of(SOURCE.replace(line, mutated))))


def test_the_schema_has_the_fields_that_the_checker_reads_and_no_others() -> None:
    schema = json.loads((Path(__file__).parents[2] / "docs/certificates/step_schema.json").read_text())
    known, entries = schema["$defs"], schema["properties"]["together"]["items"]["oneOf"]
    assert known.keys() == {"decimal", *checker.FIELDS}
    for name, (kind, *ends) in checker.FIELDS.items():
        shown = known[name]
        if kind is checker.WORD:
            assert shown == {"enum": [*ends[0]]}
        elif kind is checker.DECIMAL:
            assert shown == {"$ref": "#/$defs/decimal", "description": f"in ({ends[0]}, {ends[1]}]"}
        else:
            whole = shown["items"] if len(ends) > 2 else shown
            sizes = [shown[end] for end in ("minItems", "maxItems") if len(ends) > 2]
            assert [whole["type"], whole["minimum"], whole["maximum"], *sizes] == ["integer", *ends]
    assert schema["properties"]["format"]["const"] == checker.FORMAT
    assert known["decimal"]["pattern"] == f"^{checker.TYPED.__self__.pattern}$"
    required = [fields["required"] for fields in (*entries, schema)]
    assert required == [checker.ENTRY, checker.ONCE, ["format", *checker.CLAIM, "together"]]
    for fields in (schema, *entries):
        assert fields["additionalProperties"] is False
        assert fields["required"] == [*fields["properties"]]
        for name, field in fields["properties"].items():
            assert name in ("format", "together") or field == {"$ref": f"#/$defs/{name}"}
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(CERTIFICATE)
    for change in ({"delta": "-1"}, {"bits": 177}, {"window": [5]}, {"adjacency": "x"}, {"together": []}, {"more": 1}):
        assert not validator.is_valid(CERTIFICATE | change)
