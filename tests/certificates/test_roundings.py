"""Every bound of the checker against exact rationals, at so few bits that one rounding shows; and without each of them.

A mutant is the checker with one charge taken away: each must violate some bound that the checker itself keeps.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import random
import types
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest

from dpverify.planning.certificate import checker
from tests.certificates import test_checker as brute

Atom = tuple[int, int]
SOURCE = Path(checker.__file__).read_text(encoding="utf-8")


def exact(number: Any) -> Fraction:
    """Return an mpf as a fraction."""
    sign, mantissa, exponent, _ = number._mpf_
    return (-1) ** sign * mantissa * Fraction(2) ** exponent


@functools.cache
def powers(top: int, bottom: int, most: int = 200) -> tuple[list[int], list[int], int]:
    """Return base^k and base^-k for k from -most to most, all as integers over one denominator."""
    ups = [top ** (most + k) * bottom ** (most - k) for k in range(-most, most + 1)]
    return ups, ups[::-1], (top * bottom) ** most


def profile(grid: Any, measure: Any, a: Fraction) -> Fraction:
    """Return infinite + sum of m (1 - a / base^k)_+, in integers but for the last division."""
    first, masses, infinite = measure
    ups, downs, whole = powers(grid.top, grid.bottom)
    at = first + len(ups) // 2
    start = bisect.bisect_right(ups, a.numerator * whole // a.denominator, at, at + len(masses)) - at
    near = sum(m * down for m, down in zip(masses[start:], downs[at + start :], strict=False))
    return infinite + sum(masses[start:]) - a * Fraction(near, whole)


def truth(atoms: Iterable[Atom], lost: int, a: Fraction) -> Fraction:
    return lost + Fraction(sum(max(0, p * a.denominator - q * a.numerator) for p, q in atoms), a.denominator)


def near(grid: Any, low: int, high: int) -> list[Fraction]:
    nodes = [Fraction(grid.top, grid.bottom) ** k for k in range(low, high + 1)]
    return [Fraction(0), *nodes, *((one + other) / 2 for one, other in itertools.pairwise(nodes))]


def below(law: Sequence[int], truths: Iterable[Any], one: int) -> bool:
    """Whether these are lower bounds, not by more than two units and the share of the law that is not listed."""
    return all(low <= exact(p * one) < low * (1 + Fraction(1, 2**16)) + 2 for low, p in zip(law, truths, strict=False))


def checks(module: Any) -> Iterator[tuple[str, bool]]:
    """Yield each bound by name, and whether it holds."""
    draw = random.Random(3)
    grid = module.Checker(32, 4, 20, (-20, 20))
    one, base = grid.one, Fraction(grid.top, grid.bottom)
    yield "node", all(grid.node(k) <= base**k * one for k in range(-60, 61))
    third = [(2, 2, 3)] * 90
    law, before = grid.law(third[:1], third)
    sharp = [Fraction(2, 11), *(Fraction(3, 11) * Fraction(2, 3) ** i for i in range(len(law) - 1))]
    yield "law", before == 1 and len(law) > 30
    yield "law", all(low <= p * one < low * (1 + Fraction(1, 2**16)) + 2 for p, low in zip(sharp, law, strict=True))
    # Probabilities that are below a whole number of units by 2^-80 of one: the first's, and the second's.
    half, most = one // 2, one - one // 2 << 80
    yield "sum", grid.law([], [(most + 1, most + 1, (half << 80) - 1)])[0][0] == half - 1
    yield "value", grid.law([], [(most - 1, most - 1, (half << 80) + 1)])[0][1] == one - half - 1
    # Of a support that ends, with ratios that are enclosed, not known: lower bounds of f over an upper one of the sum.
    scale = 1 << grid.bits + 64
    up, down = module.over(scale * 3, 7), scale * 2 // 7
    total = scale + up + module.over(up * 2, 7)
    enclosed = [(f << grid.bits) // total for f in (scale, down, down // 7)]
    yield "enclosed", grid.law([], [(2, 3, 7), (1, 2, 7)]) == (enclosed, 0)
    yield "enclosed", grid.law([(2, 3, 7), (1, 2, 7)], []) == (enclosed[::-1], 2)
    with mpmath.workdps(80):
        for x in (Fraction(1, 7), Fraction(3), Fraction(40), Fraction(0)):
            least, most = grid.exponential(x)
            e = exact(mpmath.exp(mpmath.mpf(x.numerator) / x.denominator) * one)
            yield "exponential", least <= e <= most and most - least < 4
        for c in (Fraction(1, 2), Fraction(7, 2), Fraction(30)):
            law, first = grid.counts(c)
            mean = mpmath.mpf(c.numerator) / c.denominator
            yield (
                "poisson",
                below(law, (mpmath.exp(-mean) * mean**y / mpmath.factorial(y) for y in range(first, first + 999)), one),
            )
        for r, p in (
            (Fraction(1, 2), Fraction(3, 5)),
            (Fraction(5, 2), Fraction(4, 5)),
            (Fraction(9), Fraction(1, 10)),
        ):
            law, first = grid.counts(r * p, p)
            size, ratio = mpmath.mpf(r.numerator) / r.denominator, mpmath.mpf(p.numerator) / p.denominator
            pmf = (
                mpmath.gamma(size + y) / mpmath.gamma(size) / mpmath.factorial(y) * (1 - ratio) ** size * ratio**y
                for y in range(first, first + len(law))
            )
            yield "nb", below(law, pmf, one)
        law, first = grid.counts(Fraction(40), Fraction(-1, 2))
        yield (
            "binomial",
            below(
                law,
                (mpmath.binomial(80, y) * mpmath.mpf(2) ** (80 - y) / mpmath.mpf(3) ** 80 for y in range(first, 81)),
                one,
            ),
        )
        ratios = grid.gaussian_ratios(Fraction(3))
        yield (
            "gaussian",
            all(
                low <= exact(mpmath.exp(-(2 * y + 1) / mpmath.mpf(18)) * d) <= high
                for y, (low, high, d) in zip(range(60), ratios, strict=False)
            ),
        )
    for _ in range(2):
        atoms = [(draw.randint(1, one // 12), draw.randint(1, one // 12)) for _ in range(10)]
        for window in ((-40, 40), (-6, 6), (3, 9)):
            found = grid.measures([atoms[:4], atoms[4:]], window)
            for pair, measure in zip((atoms, [(q, p) for p, q in atoms]), found, strict=True):
                lost = one - sum(p for p, _ in pair)
                points = near(grid, -42, 42)
                yield "measures", all(profile(grid, measure, a) >= truth(pair, lost, a) for a in points)
        # Masses as of measures, at random: heights, the worst, the product and delta are of what they stand for.
        some = [
            (-5 + i, [draw.randint(0, one // 40) for _ in range(9)], draw.randint(0, one // 1000)) for i in range(2)
        ]
        raised = [draw.randint(0, one // 30) for _ in range(9)], draw.randint(0, one // 900)
        heights = [grid.heights(measure) for measure in some]
        for measure, listed in zip(some, heights, strict=True):
            nodes = range(measure[0] + len(measure[1]) - 1, measure[0] - 1, -1)
            yield "heights", all(h >= profile(grid, measure, base**k) for h, k in zip(listed, nodes, strict=True))
        worst, points = grid.worst(some), near(grid, -8, 8)
        yield "worst", all(profile(grid, worst, a) >= max(profile(grid, m, a) for m in some) for a in points[1:])
        yield "worst at 0", profile(grid, worst, Fraction(0)) >= one
        cells = [(Fraction(0), some[0]), (Fraction(1), (-5, *some[1][1:])), (Fraction(1, 3), (-5, *raised))]
        low, high = grid.chord(-5, iter(cells))
        for share, measure in cells:
            between = ((1 - share) * profile(grid, low, a) + share * profile(grid, high, a) for a in points[1:])
            yield "chord", all(g >= profile(grid, measure, a) for g, a in zip(between, points[1:], strict=True))
        yield "chord at 0", min(profile(grid, end, Fraction(0)) for end in (low, high)) >= one
        for window in ((-20, 20), (-7, 3), (0, 20)):
            small = module.Checker(32, 4, 20, window)
            together, exactly = small.product(*some), both(*some)
            yield (
                "product",
                all(profile(grid, together, a) * one >= profile(grid, exactly, a) for a in near(grid, -12, 12)),
            )
        wide = module.Checker(32, 4, 20, (-60, 60))
        full = [grid.worst([measure]) for measure in some]  # of at least all mass, as what dominates a pair has
        powers = [[(0, [one], 0)] for _ in full]  # exactly, over one to the number of factors
        for measure, found in zip(full, powers, strict=True):
            for _ in range(3):
                found.append(both(found[-1], measure))
        for m, found in zip(full, powers, strict=True):
            yield "power", above(grid, wide.power({1: m}, 3), found[3:], one**3, points)
        every = [both(powers[0][j], powers[1][3 - j]) for j in range(4)]
        for cuts, order in itertools.product(([1], [2], [1, 2]), (1, -1)):
            yield "mixes", above(grid, wide.followed(full[::order], 3, cuts, None), every, one**4, points[1:])
        # One of two, whichever it is, and then what is later; and three alike, and then that.
        for ways, times, mixes in ((full, 1, [powers[0][1], powers[1][1]]), (full[:1], 3, powers[0][3:])):
            every = [both(mix, full[1]) for mix in mixes]
            yield (
                "followed",
                above(grid, wide.followed(ways, times, [], full[1]), every, one ** (times + 1), points[1:]),
            )
        epsilon = Fraction(draw.randint(0, 300), 1000)
        with mpmath.workdps(60):
            point = exact(mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator))
        for measure in (some[0], (8, [9 * one], 0)):
            yield "delta", grid.delta(measure, epsilon) >= profile(grid, measure, point)
        share = Fraction(draw.randint(1, 98), 99)
        law = [a for a, _ in atoms]
        for (p0, q0), a, c in zip(grid.moved(law, share), [0, *law], [*law, 0], strict=True):
            yield "moved", 0 <= (1 - share) * a + share * c - p0 < 1 and 0 <= share * a + (1 - share) * c - q0 < 1
        yield "moved", grid.moved(law) == list(zip([0, *law], [*law, 0], strict=True))
    order = [share for share, _ in grid.responses(12, 12, Fraction(1, 5), [0, 3, 4, 7])]
    yield "cells", order == [0, 1, Fraction(3, 11), Fraction(4, 9)]
    own, flood = [one // 3, one // 5, one // 7], [one // 2, one // 9]
    found = sorted(atom for block in of_lists(module, own, flood) for atom in block)
    views: dict[tuple[int, int], list[Fraction]] = {}
    for x, side in ((1, 0), (0, 1)):
        for i, a in enumerate(own):
            for j, b in enumerate(own):
                for z, c in enumerate(flood):
                    views.setdefault((x + i + z, j + z), [Fraction(0)] * 2)[side] += Fraction(a * b * c, one**2)
    exactly = sorted((Fraction(8, 9) * p + Fraction(1, 9) * q, q) for p, q in views.values())
    yield (
        "two counts",
        len(found) == len(exactly)
        and all(0 <= p - a < 5 and 0 <= q - b < 5 for (a, b), (p, q) in zip(found, exactly, strict=True)),
    )
    share, atoms = next(itertools.islice(grid.responses(12, 12, Fraction(1, 5), [0, 4, 7]), 2, None))
    yield "share", share == Fraction(4, 9)
    atoms = [atom for atom in atoms if any(atom)]
    law = [Fraction(1)]
    for flip in [Fraction(4, 5)] * 4 + [Fraction(1, 5)] * 5:
        law = [a * (1 - flip) + b * flip for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    sides = list(zip([Fraction(0), *law], [*law, Fraction(0)], strict=True))
    yield (
        "response",
        len(atoms) == 11
        and all(
            0 <= (a * 4 + b) * one / 5 - p < 9 and 0 <= (a + b * 4) * one / 5 - q < 9
            for (p, q), (a, b) in zip(atoms, sides, strict=True)
        ),
    )


def both(one: Any, other: Any) -> Any:
    """Return the product of two measures, exactly."""
    (first, ours, lost), (second, theirs, gone) = one, other
    masses = [0] * (len(ours) + len(theirs) - 1)
    for (i, m), (j, n) in itertools.product(enumerate(ours), enumerate(theirs)):
        masses[i + j] += m * n
    return first + second, masses, lost * (sum(theirs) + gone) + gone * sum(ours)


def above(grid: Any, measure: Any, exactly: Iterable[Any], scale: int, points: Iterable[Fraction]) -> bool:
    """Whether a measure is at least some exact products, over so much."""
    return all(profile(grid, measure, a) * scale >= profile(grid, m, a) for m in exactly for a in points)


def claims(module: Any, names: Iterable[str] = (*brute.CASES, "several")) -> Iterator[tuple[str, bool]]:
    """Yield whether claims that are not true, if by little, are refused."""
    for name in (name for name in brute.CASES if name in names):
        instances, worst = brute.worst_mix(name)
        given = brute.given(name, instances, 0.7, 0.9995 * worst, [1] * (instances - 1))
        yield name, refused(module, given)
    if "several" not in names:
        return
    several = brute.given("poisson", 1, 0.7, 1.0, [])
    several["together"] += brute.given("nb", 1, 0.7, 1.0, [])["together"]
    for one, other in (several["together"], several["together"][::-1]):
        worst = max(brute.chosen(first, brute.CASES[other["protocol"]][1]) for first in brute.CASES[one["protocol"]][1])
        yield "several", refused(module, several | {"together": [one, other], "delta": repr(0.9995 * worst)})


def refused(module: Any, certificate: Any) -> bool:
    try:
        module.checked(certificate)
    except module.Refused:
        return True
    return False


def of_lists(module: Any, own: list[int], flood: list[int]) -> Iterator[list[Atom]]:
    """Return the atoms of two counts whose noise has these laws, with one of nine ones dropped."""
    lists = iter([(own, 0), (flood, 0)])

    class Listed(module.Checker):  # type: ignore[misc]
        def counts(self, *_: Any) -> Any:
            return next(lists)

    grid = Listed(32, 4, 20, (-20, 20))
    half = Fraction(1, 2)
    found: Iterator[list[Atom]] = grid.two_counts(1, 1, half, half, half, half, Fraction(1, 9))
    return found


MUTANTS: list[tuple[str, str]] = [
    ("return -(-numerator // denominator)", "return numerator // denominator"),
    ("(powers[-1] >> self.grid) if", "(powers[-1] >> self.grid) + 1 if"),
    ("powers[-1] * self.bottom // self.top", "over(powers[-1] * self.bottom, self.top)"),
    ("if scaled <= nodes[k] * q:", "if True:"),
    ("[0] * len(nodes), self.one] for", "[0] * len(nodes), 0] for"),
    ("over((scaled - nodes[k - 1] * q) * self.top, self.one)", "(scaled - nodes[k - 1] * q) * self.top // self.one"),
    ("masses[k - 1] += p - upper", "masses[k - 1] += 0"),
    ("(weighted + mass) * self.bottom // self.top", "over((weighted + mass) * self.bottom, self.top) + 1"),
    ("total + over(weighted * self.bottom, self.top))", "total + weighted * self.bottom // self.top - 1)"),
    ("max(0, max(self.one, whole) - total), *masses", "0, *masses"),
    ("infinite = lost * (sum(theirs) + gone) + gone * sum(ours)", "infinite = lost * sum(theirs) + gone * sum(ours)"),
    ("gone * sum(ours) + sum(masses[above:])", "gone * sum(ours)"),
    ("kept[0] += sum(masses[: min(below, above)])", "pass"),
    ("[over(mass, self.one) for mass in kept]", "[mass // self.one for mass in kept]"),
    ("over(infinite, self.one)\n\n    def power", "infinite // self.one\n\n    def power"),
    ("infinite + over(sum(kept) + self.apart * (self.one + most), self.one)", "infinite + sum(kept) // self.one"),
    ("(total >> 2000) + 2", "(total >> 2000)"),
    ("up, down = over(up * most, denominator)", "up, down = up * most // denominator"),
    ("total += up", "total += down"),
    ("down * least // denominator\n", "over(down * least, denominator)\n"),
    ("total += over(up * rest.numerator, rest.denominator - rest.numerator)", "pass"),
    ("[(f << self.bits) // total for", "[over(f << self.bits, total) for"),
    ("start = total = 1 << self.bits + 64", "start, total = 1 << self.bits + 64, 0"),
    ("self.law(left, right, b)", "self.law(left, right, 0)"),
    ("self.one**2 // low + 1", "self.one**2 // low - 1"),
    ("(r[0] * down >> self.bits, over", "((r[0] * down >> self.bits) + 1, over"),
    ("over(r[1] * up, self.one)", "r[1] * up // self.one"),
    ("(((w - u) * a + u * b) // w,", "(over((w - u) * a + u * b, w),"),
    ("(u * a + (w - u) * b) // w)", "over(u * a + (w - u) * b, w))"),
    ("over(w * height - (w - u) * one - u * other, w)", "(w * height - (w - u) * one - u * other) // w"),
    ("*map(add, end, lift)", "*end"),
    ("(((w - u) * a + u * c) // w, c)", "(over((w - u) * a + u * c, w), c)"),
    ("a * b >> self.bits for", "over(a * b, self.one) for"),
    ("digits]) >> shift for", "digits]) + 2**shift - 1 >> shift for"),
]


WRONG: list[tuple[str, str, str]] = [
    ("histogram", "[[measure] for measure in found] if how is BOTH", "[found[:1]] if how is BOTH"),
    ("histogram", "[[measure] for measure in found] if how is BOTH", "[found[1:]] if how is BOTH"),
    ("nb", "if how is BOTH else [found]", "if how is BOTH else [found[:1]]"),
    ("histogram", "for _ in range(1 + both)", "for _ in range(1)"),
    ("histogram", "atoms = [(q, p) for p, q in atoms]", "pass"),
    ("nb, in part", "(shape * p + mean) * honest / users", "(shape * p + mean)"),
    ("3nb, in part", "((shape, p), (flood_shape", "((shape * users / honest, p), (flood_shape"),
    ("3nb, in part", "(flood_shape, flood_p)))", "(flood_shape * users / honest, flood_p)))"),
    ("pure", "(((w - u) * a + u * c) // w, c)", "((u * a + (w - u) * c) // w, c)"),
    ("vector-sum", "self.counts(Fraction(low), Fraction(-1))", "self.counts(Fraction(high), Fraction(-1))"),
    ("vector-sum", "self.counts((honest - 1) * odds, -odds)", "self.counts(honest * odds, -odds)"),
    ("vector-sum", "Fraction(-1))[0]], wrong / told)", "Fraction(-1))[0]], 2 * wrong / told)"),
    ("labels", "((classes - 2) * other,) * 2", "((classes - 1) * other,) * 2"),
    ("local-rr", "else law, flip_probability, levels)", "else law, 2 * flip_probability, levels)"),
    ("poisson-sum", "else law, flip_probability, levels)", "else law, flip_probability)"),
    ("central-discrete-gaussian", "self.exponential(1 / (2 * sigma**2))", "self.exponential(1 / (4 * sigma**2))"),
    ("central-discrete-laplace", "p.numerator, *p.as_integer_ratio()", "*[1 + p.numerator] * 2, 1 + p.denominator"),
    ("local-rr", 'grid.followed(measures, entry["instances"]', "grid.followed(measures, 1"),
    ("histogram", 'entry["cuts"], total)', 'entry["cuts"], None)'),
    ("histogram", "total = grid.followed(", "total = total or grid.followed("),
    ("pure", "return self.worst(ways) if len(ways) > 1 else ways[0]", "return ways[0]"),
    ("several", "return self.worst(ways) if len(ways) > 1 else ways[0]", "return ways[-1]"),
    ("local-rr", ")) > claim", ")) > 2 * claim"),
]
"""What would let a false claim pass, and which: a direction, a bucket, a cell, an entry left out, and no rounding."""
STRUCTURE: list[tuple[str, str]] = [
    ("(powers[-1] >> self.grid) if", "(powers[-1] >> self.grid - 1) if"),
    ("if k else p  # top", "if False else p // 2  # top"),
    ("[0] * (at - low) + kept + [0] * (high - at - len(kept))", "kept + [0] * (high - low - len(kept))"),
    ("*map(max, repeat(0), *map", "*map(min, repeat(1 << 32), *map"),
    ("islice(cells, 2)], repeat(0)", "islice(cells, 3)][:2], repeat(0)"),
    ("w * height - (w - u) * one - u * other", "w * height - u * one - (w - u) * other"),
    ("w * height - (w - u) * one - u * other", "w * height - w * one - w * other"),
    ("return min(first + below, self.window[1]), [over", "return min(first, self.window[1]), [over"),
    ("self.power(known, times - part))", "self.power(known, part))"),
    ("part = times // 2 if 2 * most <= times else most", "part = 1; times = 2"),
    ("[self.product(way, later) for way in ways] if later", "ways if later"),
    ("return self.worst(ways) if len(ways) > 1", "return self.worst(ways[1:]) if len(ways) > 1"),
    ("(*measures, self.worst(measures))", "(*measures, measures[0])"),
    ("(*measures, self.worst(measures))", "(*measures, measures[1])"),
    ("pairwise([0, *cuts, times])", "pairwise([0, *cuts])"),
    ("pairwise([0, *cuts, times])", "pairwise([*cuts, times])"),
    ("(low, times - high, high - low)", "(high, times - high, 0)"),
    ("(low, times - high, high - low)", "(low, times - low, 0)"),
    ("enumerate(masses, first)", "enumerate(masses, first - 1)"),
    ("spans[:1] + spans[-1:] + spans[1:-1]", "spans[:1] + spans[-1:] + spans[2:-1]"),
    ("spans[:1] + spans[-1:] + spans[1:-1]", "spans"),
    ("self.counts((honest - high) * odds, -odds)", "self.counts((honest - low) * odds, -odds)"),
    ("c + d * y, c + d * y, m * (y + 1)", "c + d * y, c + d * y, m * (y + 2)"),
    ("(m * (y + 1), m * (y + 1), c + d * y)", "(m * (y + 1), m * (y + 1), c + d * y + d)"),
    ("([0, *far], near)", "(far, near)"),
    ("for d in range(len(own)))", "for d in range(1, len(own)))"),
    ("chain((self.multiplied", "chain([[]], (self.multiplied"),
]
"""What `checks` sees, and is no rounding: a node, a window, a block of mixes or a difference of counts left out."""


def module_of(source: str) -> Any:
    made = types.ModuleType("mutant")
    exec(compile(source, "mutant", "exec"), made.__dict__)
    return made


def test_every_bound_of_the_checker_holds_against_exact_numbers() -> None:
    found = list(checks(checker))
    assert not [name for name, holds in found if not holds]
    assert len(found) > 80


@pytest.mark.parametrize(("line", "mutated"), [*MUTANTS, *STRUCTURE], ids=lambda text: text[:40])
def test_every_charge_and_every_part_is_needed(line: str, mutated: str) -> None:
    assert SOURCE.count(line) == 1
    assert not all(holds for _, holds in checks(module_of(SOURCE.replace(line, mutated))))


@pytest.mark.parametrize(("claim", "line", "mutated"), WRONG, ids=lambda text: text[:40])
def test_what_is_left_out_would_let_a_false_claim_pass(claim: str, line: str, mutated: str) -> None:
    assert SOURCE.count(line) == 1
    assert not all(holds for _, holds in claims(module_of(SOURCE.replace(line, mutated)), [claim]))


def test_false_claims_are_refused() -> None:
    assert not [name for name, holds in claims(checker) if not holds]
