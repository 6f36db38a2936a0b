"""Every bound of the second checker against exact numbers: a check raises where a module of it breaks one."""

from __future__ import annotations

import itertools
import math
import operator
import random
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import mpmath

from dpverify.planning.contours.contour_certificate import checker
from tests.certificates import contour_hunt as hunt

__all__ = ["CHECKS", "POISSON", "RESPONSE"]

D = Decimal
POISSON = {
    "format": checker.FORMAT,
    "epsilon": "1",
    "delta": "0.1",
    "protocol": "poisson",
    "instances": 2,
    "users": 5,
    "honest": 5,
    "mean": "8",
    "bits": 64,
    "tail": 40,
    "grid": 5,
    "window": [-100, 100],
    "top": 80,
    "tilt": "1.5",
    "spacing": "0.4",
    "heights": 50,
    "smoothing": "0.02",
    "squared_change": "1.3",
    "sizes": ["0.2", "0.4", "0.7", "1"],
    "finest": 7,
    "price": "0",
}
RESPONSE = {name: POISSON[name] for name in POISSON if name != "mean"}
RESPONSE |= {"protocol": "rr", "flip_probability": "0.2", "cells": [0, 1, 2, 3, 4], "pieces": [0, 2]}


def line(ck: Any = checker, **changes: Any) -> Any:
    own = ck.PROTOCOLS["poisson"][1]
    found = ck.values(POISSON | changes, ["epsilon", "delta", "instances", *own, *ck.MOVES, *ck.LINE])
    return ck.Line(**{name: found[name] for name in ck.LINE})


def check_false_claims(ck: Any = checker, seed: int = 1, number: int = 24) -> None:
    """Attained deltas are never shown to be less."""
    chance = random.Random(seed)
    for _ in range(number):
        for given, truth in hunt.claims(chance):
            assert hunt.shown(given, ck) > truth * (1 - 1e-7), given


def check_laws(ck: Any = checker) -> None:
    """Lower bounds on laws and on a 1 against a 0, by exact fractions, to a unit or two."""
    with localcontext(ck.UP), mpmath.workdps(60):
        made = line(ck, bits=32, tail=16)
        one, sharp = made.one, 1 + Fraction(1, 2**15)
        for ones in range(5):
            exact = [(p, q) for p, q in zip(*hunt.response(5, Fraction(1, 5), ones), strict=True) if p]
            atoms = [atom for atom in made.response(Fraction(1, 5), ones, 4 - ones) if any(atom)]
            for atom, truth in zip(atoms, exact, strict=True):
                assert all(0 <= number * one - low < 9 for low, number in zip(atom, truth, strict=True))
        assert made.multiplied([one - 1, 3], [one - 1, 5]) == [one - 2, 7, 0]
        # Of one coin, whose probabilities are just below a whole number of units, or above one, by less than 2^-64.
        for half, u, v in itertools.product((one // 2, one // 3), (-1, 0, 1), (-1, 0, 1)):
            odds = Fraction(((one - half) << 80) + u, (half << 80) + v)
            law = [low for low in made.counts(odds, -odds) if low]
            truth = [1 / (1 + odds), odds / (1 + odds)]
            assert all(0 <= p * one - low < 1 + Fraction(1, 2**60) for low, p in zip(law, truth, strict=True))
        # NB(1, 2 / 3): what is not listed is a share of 2^-15 at most.
        law = made.counts(Fraction(2, 3), Fraction(2, 3))
        assert len(law) > 25
        for low, p in zip(law, (Fraction(1, 3) * Fraction(2, 3) ** y for y in range(99)), strict=False):
            assert low <= p * one < low * sharp + 2
        for mean in map(mpmath.mpf, (0.5, 3.5, 30)):
            law = made.counts(Fraction(float(mean)))
            pmf = [mpmath.exp(-mean) * mean**y / mpmath.factorial(y) * one for y in range(99)]
            first = min(range(60), key=lambda at: abs(pmf[at] - law[0]))
            assert all(low <= p < low * float(sharp) + 2 for low, p in zip(law, pmf[first:], strict=False))
        law, pmf = made.counts(Fraction(3, 10), Fraction(3, 5)), mpmath.sqrt(mpmath.mpf(2) / 5) * one  # NB(1/2, 3/5)
        for y, low in enumerate(law):
            assert low <= pmf < low * float(sharp) + 2
            pmf *= (2 * y + 1) * mpmath.mpf(3) / (10 * (y + 1))


def check_nodes(ck: Any = checker) -> None:
    """Nodes from below; atoms on them, heights and what is connected from above, each to its last unit."""
    chance = random.Random(4)
    with localcontext(ck.UP):
        for window in ([-12, 12], [-6, 4], [3, 9]):
            grid = line(ck, bits=32, window=window).at(4)
            one, base, ends = grid.one, Fraction(17, 16), range(window[0], window[1] + 1)
            assert all(grid.node(k) <= base**k * one for k in range(-60, 61))

            def profile(masses: Any, a: Fraction, grid: Any = grid, base: Any = base) -> Fraction:
                return sum((m * max(Fraction(0), 1 - a / base**k) for k, m in enumerate(masses, grid.low)), Fraction(0))

            for _ in range(8):
                atoms, masses = [(chance.randint(1, 99), chance.randint(1, 99)) for _ in range(3)], [0] * len(ends)
                lost = grid.split(masses, atoms)
                for a in (Fraction(0), *(base**k for k in range(-14, 15))):
                    assert lost + profile(masses, a) >= sum(max(0, p - a * q) for p, q in atoms)
                masses = [chance.randint(0, one // 40) for _ in ends]
                heights = grid.heights(masses, lost)
                pair, infinite = grid.dots(heights)
                for k, height in zip(reversed(ends), heights, strict=True):
                    assert profile(masses, base**k) + lost <= height
                    assert height <= profile([p for p, _ in pair[:-1]], base**k) + infinite
                assert all(q <= p / base**k for (p, q), k in zip(pair, ends, strict=False))
                assert sum(q for _, q in pair) >= one


def check_dominates(ck: Any = checker) -> None:
    """Moves' measures, and what they lose, lie above the exact profile at all sizes, kinds and cuts; all is counted."""
    with localcontext(ck.UP):
        for top, ones, sup, high in (
            (150, 0, False, 200),
            (150, 2, False, 20),
            (3, 4, False, 200),
            (150, 1, True, 200),
        ):
            made = line(ck, bits=32, tail=30, top=top, window=[-200, high])
            grid = made.at(made.grid)
            pair = made.pair(made.response(Fraction(1, 5), ones, 4 - ones))
            if sup:
                pair = grid.dots(grid.heights(*grid.moved(pair, 0, 1)))
            one, zero = hunt.response(5, Fraction(1, 5), ones)
            seen: list[Any] = []
            split, grid.split = grid.split, lambda _, atoms, seen=seen: seen.extend(atoms) or 0
            grid.moved(pair, 1, Fraction(1, 7))
            for (p, before), (after, q) in zip((atom for atom in pair[0] if atom[0]), seen, strict=True):
                assert after == p
                assert q <= p - Fraction(p - before, 7)
            grid.split = split
            for kind in (0, 1):
                for t in (Fraction(1, 10), Fraction(1, 2), Fraction(1)):
                    masses, lost = grid.moved(pair, kind, t)
                    assert made.largest >= sum(masses) + lost
                    assert kind or lost >= t * pair[1]
                    after = one if kind else (1 - t) * zero + t * one
                    before = (1 - t) * one + t * zero if kind else zero
                    base = Fraction(2**made.grid + 1, 2**made.grid)
                    for a in (0, *(base ** (k / Fraction(1)) if k > 0 else 1 / base**-k for k in range(-60, 61, 7))):
                        true = sum(max(0, p - Fraction(a) * q) for p, q in zip(after, before, strict=True))
                        nodes = enumerate(masses, grid.low)
                        shown = lost + sum(m * max(0, 1 - Fraction(a) * base**-k) for k, m in nodes if m)
                        assert shown >= true * made.one, (top, kind, t, float(a))
                        assert min(top, high) < 99 or shown <= true * made.one * Fraction(101, 100) + made.one // 200


def check_datasets(ck: Any = checker) -> None:
    """A piece is no lower than any of the datasets in its cells, above its nodes and below them."""
    with localcontext(ck.UP):
        for low in (-150, -8):
            made = line(ck, bits=40, window=[low, 150], top=140)
            grid = made.at(made.grid)
            pairs = ck.randomized_response(made, 9, 5, Fraction(1, 5), [0, 1, 3], [0, 1])
            base = Fraction(2**made.grid + 1, 2**made.grid)
            assert len(pairs) == 2
            for ones in range(5):
                masses, lost = grid.moved(pairs[ones > 0], 0, 1)
                after, before = hunt.response(5, Fraction(1, 5), ones)
                for k in (None, *range(-100, 101, 10)):
                    a = Fraction(0) if k is None else base**k
                    true = sum(max(0, p - a * q) for p, q in zip(after, before, strict=True))
                    shown = lost + sum(m * max(0, 1 - a / base**j) for j, m in enumerate(masses, grid.low) if m)
                    assert shown >= true * made.one, (ones, k)


def check_moduli(ck: Any = checker) -> None:
    """Moduli lie above exact ones, by little, at all heights and in groups."""
    with localcontext(ck.UP), mpmath.workdps(40):
        made = line(ck, bits=40, window=[-20, 30])
        grid, chance = made.at(made.grid), random.Random(3)
        masses = [chance.choice((0, 0, 1, 2**20, chance.randrange(2**40))) for _ in grid.nodes]
        log = mpmath.log1p(mpmath.mpf(2) ** -made.grid)
        found = grid.moduli(masses)
        # More mass is another measure that dominates, whose moduli these are.
        tilted = [mass * power for mass, power in zip(masses, grid.tilted, strict=True)]
        shift = max(0, sum(tilted).bit_length() - made.bits)
        tilted = [-(-mass >> shift) for mass in tilted]
        with mpmath.workdps(130):
            fine = line(ck, bits=256, window=[-20, 30], heights=2).at(5)
            for bits, some in ((104, grid), (320, fine)):
                powers = (mpmath.exp(mpmath.mpf(k) * 3 / 2 * mpmath.log(mpmath.mpf(33) / 32)) for k in range(-20, 31))
                assert all(a >= power * 2**bits for a, power in zip(some.tilted, powers, strict=True))
        for (low, high), one in zip(made.groups, found, strict=True):
            waves = ((mpmath.exp(mpmath.mpc(0, "0.4") * j * log * k) for k in range(51)) for j in range(low, high))
            exact = max(abs(sum(map(operator.mul, tilted, wave))) for wave in waves) * mpmath.mpf(2) ** (shift - 144)
            assert exact <= mpmath.mpf(str(one)) <= exact + 8 * mpmath.mpf(str(found[0])) / made.one
        # As precise as decimals are, and more: what is rounded are they alone.
        with mpmath.workdps(130):
            for _ in range(20):
                masses = [chance.randrange(2**250) for _ in fine.nodes]
                tilted = [mass * power for mass, power in zip(masses, fine.tilted, strict=True)]
                exact = mpmath.mpf(sum(tilted)) * mpmath.mpf(2) ** -576
                assert exact <= mpmath.mpf(str(fine.moduli(masses)[0]))
        # A crowd of equal masses, each of which is rounded up.
        masses = [1] * len(grid.nodes)
        exact = sum(mpmath.exp(mpmath.mpf("1.5") * log * k) for k in range(-20, 31))
        assert mpmath.mpf(str(grid.moduli(masses)[0])) * made.one >= exact


def check_weights(ck: Any = checker) -> None:
    """The weights are those of both signs of s, and the first one has all beyond the last."""
    with localcontext(ck.UP), mpmath.workdps(90):
        made = line(ck)

        def exact(j: int) -> Any:
            s = mpmath.mpf("0.4") * j
            kernel = mpmath.sqrt((mpmath.mpf("1.5") ** 2 + s * s) * (mpmath.mpf("2.5") ** 2 + s * s))
            return mpmath.mpf("0.4") / mpmath.pi * mpmath.exp(-mpmath.mpf("0.02") * s * s / 2) / kernel

        for (low, high), found in zip(made.groups[1:], made.weights[1:], strict=True):
            each = sum(exact(j) for j in range(low, high))
            assert each <= mpmath.mpf(str(found)) <= each * (1 + mpmath.mpf(10) ** -18)
        for j in range(50):
            assert exact(j) * mpmath.pi / mpmath.mpf(str(ck.PI)) <= mpmath.mpf(str(made.weight(D("0.4") * j)))
        beyond = mpmath.mpf(str(made.weights[0])) - exact(0) / 2
        rest = sum(exact(j) for j in range(50, 400))
        assert rest <= beyond <= 20 * rest
        found = made.delta(D("0.3"), D("1.1"))
        assert 0 <= float(found) / math.exp(0.3 + 0.02 * 1.5 * 2.5 / 2 - 1.5 * 1.1) - 1 < 1e-12
        for i in range(1, 30):
            epsilon = D(f"{i}.{'7' * 79}")
            assert made.delta(D(i), epsilon) >= ck.DEEP.exp(
                ck.DEEP.subtract(i + D("0.0375"), ck.DEEP.multiply(D("1.5"), epsilon))
            )
        # exp and ln are above the truth, whatever is rounded to the nearest.
        for x in map(D, ("0.1", "0.7", "3.3", "-2.9", "11")):
            truth = ck.DEEP.exp(x)
            assert ck.exp(x) > truth
            assert ck.ln(abs(x)) > ck.DEEP.ln(abs(x))


def check_cells(ck: Any = checker) -> None:
    """In a cell the chord's logarithm lies below R t^2 + C, and hardly so for close sizes."""
    chance = random.Random(5)
    with localcontext(ck.UP):
        deep = Context(prec=90)
        for _ in range(200):
            low = D(str(round(chance.choice((0.0, chance.random())), 6)))
            high = low + D(str(round(10 ** chance.uniform(-3, -0.3), 6)))
            ours = D(1) if not low else D(str(math.exp(chance.gauss(0, 1) * float(low))))
            theirs = D(str(math.exp(chance.choice((0.01, 1, 3)) * chance.gauss(0, 1) * float(high))))
            crowd = D(str(chance.choice((0, 1e-4, 1))))
            rate, constant = ck.cell(low, high, ours, theirs, crowd)
            assert constant == crowd if low else constant >= crowd
            for i in range(1 if not low else 0, 21):
                t = low + (high - low) * i / 20
                with localcontext(deep):
                    chord = ours + (theirs - ours) * i / 20
                    assert rate * t * t + constant >= chord.ln() - D("1e-85"), (low, high, ours, theirs, t)
        rate, constant = ck.cell(D("0.5"), D("0.505"), D("0.5").exp(), (2 * D("0.505") ** 2).exp(), D(0))
        assert 2 <= rate < D("2.001")


def check_parts(ck: Any = checker) -> None:
    """Every pair, kind and size counts; what all lose and what small moves pay is as the page says."""
    with localcontext(ck.UP):
        made = line(ck)
        pairs = ck.one_sum(made, 5, 5, mean=Fraction(8))
        assert len(pairs) == 2
        assert abs(pairs[1][1] / made.one - math.exp(-8)) < 1e-6
        moduli = made.at(5).moduli(made.at(5).moved(pairs[0], 0, 1)[0])
        sizes = [D(size) for size in POISSON["sizes"]]
        found, lost = ck.jointly(made, pairs, 4, D("1.3"), sizes, 7, D("0.1"))
        found = list(found)
        assert len(found) == 2 * 2 * 4
        assert abs(float(found[0][1]) - 0.1 * (4 / 1.3 - 1 / 0.04)) < 1e-12
        # From a sure 0 a move loses t times what is not listed, and to a sure 1 all of it.
        assert float(lost) >= pairs[1][1] * (math.sqrt(4 * 1.3) + 2) * 0.999
        # Bits that all move by less than the first size: their exponents add up to no more than that of its cell.
        small = next(iter(ck.jointly(made, pairs, 4, D("0.1"), sizes, 7, D(0))[0]))[0][0]
        first = float(made.at(7).moduli(made.at(7).moved(pairs[0], 0, sizes[0])[0])[0])
        assert float(small) >= 4 * math.log(1 + (first - 1) * math.sqrt(0.1 / 4) / 0.2)
        # All bits together have the crowd's exponent.
        alone = float(found[3][0][0])
        exact = 1.3 * math.log(float(moduli[0]))
        assert exact <= alone <= exact + 0.5
        # A sum of all heights for each part, and what small moves pay.
        again, sums, whole, _ = ck.bounded(POISSON | {"instances": 4, "price": "0.1"})
        for (exponents, paid), total in zip(found, sums, strict=True):
            each = sum(w * ck.DEEP.exp(e) for w, e in zip(again.weights, exponents, strict=True))
            assert 0 < total - paid - ck.DEEP.ln(each) < D("1e-40")
        assert again.largest > again.one
        assert Fraction(whole) * again.one >= Fraction(lost) * (1 + 4 * Fraction(again.largest - again.one, again.one))
        assert ck.one_sum(made, 8, 4, mean=16) == ck.one_sum(made, 4, 4, mean=8)
        # To the last digit, with few nodes and heights.
        small = {"window": [-40, 40], "top": 30, "grid": 3, "heights": 2}
        made, sizes = line(ck, **small), [D("0.3"), D("0.7"), D("0.9"), D(1)]
        pairs = ck.one_sum(made, 5, 5, mean=Fraction(8))
        for square in map(D, ("0.7", "0.9", "1.1", "1.3", "1.7", "1.9", "2.3", "2.9")):
            found, lost = ck.jointly(made, pairs, 3, square, sizes, 3, D("0.1"))
            for (_, paid), size in zip(found, sizes * 4, strict=True):
                assert Fraction(paid) >= (3 / Fraction(square) - 1 / Fraction(size) ** 2) / 10
            worst = [[max(made.at(3).moved(pair, kind, t)[1] for pair in pairs) for t in sizes] for kind in (0, 1)]
            rates = [max(Fraction(part) / Fraction(t) for part, t in zip(parts, sizes, strict=True)) for parts in worst]
            root = Fraction(math.isqrt(int(3 * square * 10**140)), 10**70)
            most = (min(3 * max(parts), root * rate) for parts, rate in zip(worst, rates, strict=True))
            assert Fraction(lost) >= sum(most)
        given = POISSON | small | {"sizes": ["1"]}
        made, sums, _, _ = ck.bounded(given)
        without = made.delta(max(sums), D(1))
        try:
            ck.checked(given | {"delta": f"{without + D('1e-40'):.60f}"})
        except ck.Refused:
            return
        raise AssertionError("What is lost is left out.")


CHECKS = (
    check_false_claims,
    check_laws,
    check_nodes,
    check_dominates,
    check_datasets,
    check_moduli,
    check_weights,
    check_cells,
    check_parts,
)
