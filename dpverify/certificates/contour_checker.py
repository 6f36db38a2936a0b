"""Accept or refuse a certificate of differential privacy that is a sum along a contour, without binary floats.

    python contour_checker.py FILE        exits with 0: accepted, 1: refused, 2: not a certificate

This file is all there is to trust: it needs Python's standard library and nothing else. The proofs of its rules are in
docs/contour_certificates.md, numbered as here. It accepts only if, whatever the data, replacing one user's input as is
said after "Accepted" changes the probability of every event S of what the adversary sees from P(S) to some Q(S) with
P(S) <= e^epsilon Q(S) + delta.

Probabilities are integers over 2^bits; what helps the claim is rounded down, what hurts it up. Losses lie on nodes:
node k is ln b^k, b = 1 + 2^-grid. Masses m_k at nodes stand for G(a) = sum_k m_k max(0, 1 - a b^-k), and dominate a
pair (P, Q), what is lost apart, if G(a) + lost >= sum_y max(0, P(y) - a Q(y)) for every a >= 0. Their modulus at the
height s is |sum_k m_k b^((tilt + i s) k)|. Moduli and what follows from them are decimals of 50 digits, rounded up.
"""

import json
import re
import sys
from decimal import (
    MAX_EMAX,
    MAX_PREC,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    Inexact,
    InvalidOperation,
    Overflow,
    Rounded,
    localcontext,
)
from fractions import Fraction
from itertools import accumulate, count, pairwise, product, repeat
from math import isqrt
from operator import mul

FORMAT = "dpverify contour certificate 1"
MOST_BYTES, MOST_NODES, MOST_VALUES, MOST_WORK, MOST_KEPT = 10**6, 2**17, 2**19, 6 * 10**8, 2**22
EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact, Rounded, InvalidOperation])
UP, DOWN, DEEP = (
    Context(digits, rounding, -(10**8), 10**8, traps=[InvalidOperation, DivisionByZero, Overflow])
    for digits, rounding in ((50, ROUND_CEILING), (50, ROUND_FLOOR), (400, ROUND_FLOOR))
)
PI = Decimal("3.14159265358979323846")  # rounded down


class Refused(Exception):
    """The claim is not shown, or takes too much work."""


class Malformed(Exception):
    """Nothing is claimed here in the way that certificates claim it."""


def over(numerator, denominator):
    """Return the quotient, rounded up."""
    return -(-numerator // denominator)


def exp(x):
    """Return an upper bound on e^x, which decimal rounds to the nearest."""
    return UP.next_plus(UP.exp(x))


def ln(x):
    return UP.next_plus(UP.ln(x))


class Line:
    """The heights s = 0, w, 2 w, ... of a sum and their weights, its precision, and how much work is left."""

    def __init__(self, bits, grid, tail, window, top, tilt, spacing, heights, smoothing):
        self.bits, self.one, self.grid, self.tail, self.window, self.top = bits, 1 << bits, grid, tail, window, top
        self.tilt, self.spacing, self.heights, self.smoothing = tilt, spacing, heights, smoothing
        self.left, self.room, self.largest, self.grids = MOST_WORK, MOST_KEPT, self.one, {}
        # Far heights go together, with the largest of their moduli.
        self.groups = [
            (j, min(j + (1 if j < 32 else 16), heights)) for j in (*range(32), *range(32, heights, 16)) if j < heights
        ]
        self.weights = [sum(self.weight(spacing * j) for j in range(*group)) for group in self.groups]
        last = spacing * (heights - 1)
        self.weights[0] = self.weights[0] / 2 + self.fading(last) / DOWN.multiply(PI, last)  # and all beyond the last

    def spend(self, steps, kept=0):
        self.left, self.room = self.left - steps * (self.bits + 160) // 256, self.room - kept
        if self.left < 0 or self.room < 0:
            raise Refused("To check this takes more work, or memory, than the checker uses.")

    def at(self, exponent):
        """Return the grid of b = 1 + 2^-exponent."""
        if exponent not in self.grids:
            self.grids[exponent] = Grid(self, exponent)
        return self.grids[exponent]

    def fading(self, s):
        """Return e^(-v s^2 / 2)."""
        return exp(-self.smoothing * (s * s) / 2)

    def weight(self, s):
        """Return w / pi e^(-v s^2 / 2) / |z (z - 1)|, z = 1 + tilt + i s: rule 1. No square has more than 50 digits."""
        squares = (x * x + s * s for x in (self.tilt, self.tilt + 1))
        root = DOWN.next_minus(DOWN.sqrt(DOWN.multiply(*squares)))
        return self.spacing / DOWN.multiply(root, PI) * self.fading(s)

    def summed(self, exponents):
        """Return the logarithm of the weighted sum of all e^exponent."""
        self.spend(60 * len(self.weights))
        return ln(sum(map(mul, self.weights, map(exp, exponents))))

    def delta(self, logarithm, epsilon):
        """Return an upper bound on the divergence at e^epsilon, given the logarithm of the sum."""
        return exp(logarithm + self.smoothing * self.tilt * (self.tilt + 1) / 2 + -self.tilt * epsilon)

    def multiplied(self, ours, theirs):
        """Return the coefficients of a product of polynomials with whole coefficients of at least 0, exactly.

        They are digits of numbers so large that nothing is carried from one coefficient to the next.
        """
        digits = len(str(max(ours) * max(theirs) * min(len(ours), len(theirs))))
        terms = len(ours) + len(theirs) - 1
        self.spend(terms * (2 + digits // 8))
        numbers = (Decimal("".join(format(mass, f"0{digits}d") for mass in masses)) for masses in (ours, theirs))
        text = format(EXACT.multiply(*numbers), "f").zfill(terms * digits)
        return [int(text[at : at + digits]) for at in range(0, terms * digits, digits)]

    def branch(self, ratios, limit=0):
        """Return bounds on f(start + 1), f(start + 2), ..., f(start) = 2^(bits + 64), and on the sum of the rest.

        A ratio is an exact fraction (numerator, denominator); none that follows exceeds it and the limit.
        """
        up, down, found = 1 << self.bits + 64, 1 << self.bits + 64, []
        for numerator, denominator in ratios:
            self.spend(4 + denominator.bit_length() // 128 if len(found) < MOST_VALUES else MOST_WORK)
            up, down = over(up * numerator, denominator), down * numerator // denominator
            found.append((up, down))
            if up >> self.bits + 64 - self.tail == 0 and (rest := max(Fraction(numerator, denominator), limit)) < 1:
                return found, over(up * rest.numerator, rest.denominator - rest.numerator)
        return found, 0

    def counts(self, kind, size, p=Fraction(0)):
        """Return bounds on the law of Poisson (its mean), negative binomial (shape, p) or binomial noise.

        Upper ones, and lower ones; probabilities sum up to 1.
        """
        (c, d), (u, w), limit = size.as_integer_ratio(), p.as_integer_ratio(), p if kind == "nb" else 0
        if kind == "poisson":
            start, ratio = c // d, lambda y: (c, d * (y + 1))
        elif kind == "nb":
            start, ratio = max(0, (c - d) * u // (d * (w - u))), lambda y: ((c + d * y) * u, d * (y + 1) * w)
        else:
            start, ratio = min(c, (c + 1) * u // w), lambda y: ((c - y) * u, (y + 1) * (w - u))
        right = (ratio(y) for y in (range(start, c) if kind == "binomial" else count(start)))
        left = (ratio(y)[::-1] for y in range(start - 1, -1, -1))  # f(y) / f(y + 1)
        left, right = (self.branch(ratios, limit) for ratios in (left, right))
        values = [*left[0][::-1], (1 << self.bits + 64,) * 2, *right[0]]
        most, least = sum(up for up, _ in values) + left[1] + right[1], sum(down for _, down in values)
        return [over(up << self.bits, least) for up, _ in values], [(down << self.bits) // most for _, down in values]

    def pair(self, atoms):
        """Return (P from above, Q from above, Q from below) of atoms up to the top and of the rest, and what is lost.

        The atoms are an upper and a lower bound on P, and on Q.
        """
        highest = self.at(self.grid).node(self.top)
        kept = [atom for atom in atoms if atom[0] << self.bits <= highest * atom[3]]
        _, least, *others = (sum(side) for side in zip((0,) * 4, *kept, strict=True))
        rest = 0, *(max(0, self.one - other) for other in reversed(others))
        return [*((p, *qs) for p, _, *qs in kept), rest], max(0, self.one - least)

    def shifted(self, law):
        """Return the atoms of noise with this law, Z + 1 against Z."""
        up, down = law
        return list(zip([0, *up], [0, *down], [*up, 0], [*down, 0], strict=True))

    def response(self, p, ones, zeros):
        """Return the atoms of a 1 against a 0 among hidden others, each bit flipped with probability p."""
        laws, others = (self.counts("binomial", Fraction(number), p) for number in (zeros, ones))
        up, down = (self.multiplied(flipped, kept[::-1]) for flipped, kept in zip(laws, others, strict=True))
        (u, w), one = p.as_integer_ratio(), self.one
        v = w - u
        return [
            (over(v * a + u * c, w), (v * b + u * d) // w, over(u * a + v * c, w), (u * b + v * d) // w)
            for a, b, c, d in self.shifted(([over(m, one) for m in up], [m >> self.bits for m in down]))
        ]


class Grid:
    """The nodes of the window, and the waves e^(i s ln(b) k) on them: rule 3."""

    def __init__(self, line, exponent):
        self.line, self.one, self.bits, (self.low, high) = line, line.one, line.bits, line.window
        self.top, self.bottom, self.powers = (
            (1 << exponent) + 1,
            1 << exponent,
            ([self.one], [self.one]),
        )  # b: a quotient
        line.spend(10 * (high - self.low) + 20_000, 3 * (high - self.low))
        self.nodes, deep = [self.node(k) for k in range(self.low, high + 1)], 1 << self.bits + 64
        log = DEEP.ln(DEEP.divide(self.top, self.bottom))  # what it is off by is far below the last digit of others
        if max(abs(self.low), abs(high)) * line.tilt * log > 2000 or line.spacing * log > 1:
            raise Refused("The window is too wide for this tilt, or the spacing for this grid.")
        first, factor = (exp(UP.next_plus(UP.multiply(line.tilt * k, log))) for k in (self.low, 1))
        first, factor = (int(EXACT.multiply(x, deep)) + 1 for x in (first, factor))
        steps = repeat(factor, high - self.low)
        self.tilted = list(accumulate(steps, lambda x, step: over(x * step, deep), initial=first))  # above b^(tilt k)
        self.turn, self.turned = self.wave(int(EXACT.multiply(DEEP.multiply(line.spacing, log), deep))), (deep, 0)
        self.waves = []

    def node(self, k):
        """Return a lower bound on b^k, over 2^bits."""
        powers = self.powers[k >= 0]
        while len(powers) <= abs(k):
            last = powers[-1]
            powers.append(last * self.top // self.bottom if k >= 0 else last * self.bottom // self.top)
        return powers[abs(k)]

    def split(self, masses, atoms):
        """Add atoms (P from above, Q from below) to the masses; return how much of P lies above all their nodes."""
        nodes, lost, k, last = self.nodes, 0, 0, len(masses) - 1
        for p, q in atoms:
            scaled = p << self.bits
            while k and scaled <= nodes[k - 1] * q:
                k -= 1
            while k <= last and scaled > nodes[k] * q:
                k += 1
            if k > last:
                lost, k = lost + p, last
                continue
            upper = min(p, over((scaled - nodes[k - 1] * q) * self.top, self.one)) if k else p  # top is b / (b - 1)
            masses[k] += upper
            masses[k - 1] += p - upper
        return lost

    def heights(self, masses, total):
        """Return upper bounds on G, and what is lost, at the nodes, the last one first."""
        self.line.spend(6 * len(masses), len(masses))
        heights, weighted = [], 0  # what is lost and the masses m_j above node k, and the sum of m_j b^(k - j)
        for mass in reversed(masses):
            heights.append(total - weighted)
            total, weighted = total + mass, (weighted + mass) * self.bottom // self.top
        return heights

    def dots(self, heights):
        """Return a pair whose G, and what is lost, are at least so high at the nodes, the last one first: rule 4."""
        masses, total, weighted = [], heights[0], 0
        for height in heights[1:]:
            # With a mass m on the node above, G is total + m - (weighted + m) / b here.
            carried = over(weighted * self.bottom, self.top)
            masses.append(max(0, (height - total + carried) * self.top))
            total, weighted = total + masses[-1], over((weighted + masses[-1]) * self.bottom, self.top)
        nodes = enumerate([max(0, self.one - total), *reversed(masses)], self.low)
        atoms = [(m, over(m * self.one, self.node(k)), m * self.node(-k) >> self.bits) for k, m in nodes]
        rest = (max(0, self.one - sum(atom[i] for atom in atoms)) for i in (2, 1))
        return [*atoms, (0, *rest)], heights[0]

    def wave(self, angle):
        """Return cosine and sine of an angle from 0 to 1, all over 2^(bits + 64), off by less than 2^9."""
        term, parts, n = 1 << self.bits + 64, [0, 0, 0, 0], 0
        while term:
            parts[n % 4] += term
            n += 1
            term = (term * angle >> self.bits + 64) // n
        return parts[0] - parts[2], parts[1] - parts[3]

    def rows(self, length):
        """Return the waves at so many successive nodes, those of all heights in one number each, 1 added to all."""
        heights, deep, size = self.line.heights, self.bits + 64, self.bits // 4 + 6
        while len(self.waves) < length:
            self.line.spend(2 * heights, heights * self.bits // 64)
            (u, v), (x, y), rows = self.turned, (1 << deep, 0), ([], [])
            for _ in range(heights):
                for row, value in zip(rows, (x, y), strict=True):
                    row.append(max(0, self.one + (value >> 64)).to_bytes(size, "little"))
                x, y = x * u - y * v >> deep, x * v + y * u >> deep
            self.waves.append([int.from_bytes(b"".join(row), "little") for row in rows])
            x, y = self.turn
            self.turned = u * x - v * y >> deep, u * y + v * x >> deep
        return self.waves

    def moduli(self, masses):
        """Return upper bounds on the moduli at all heights, in order: rule 3."""
        used, heights, size = [at for at, mass in enumerate(masses) if mass], self.line.heights, self.bits // 4 + 6
        self.line.largest = max(self.line.largest, sum(masses))
        tilted = [masses[at] * self.tilted[at] for at in range(used[0], used[-1] + 1)] if used else [0]
        shift = max(0, sum(tilted).bit_length() - self.bits)
        tilted = [over(mass, 1 << shift) for mass in tilted]
        self.line.spend(len(tilted) * (2 + heights // 40) + 5 * heights)
        total, rows, sides = sum(tilted), self.rows(len(tilted)), []
        for part in (0, 1):
            packed = sum(mass * row[part] for mass, row in zip(tilted, rows, strict=False) if mass)
            text = packed.to_bytes(size * heights, "little")
            values = (int.from_bytes(text[at : at + size], "little") for at in range(0, len(text), size))
            sides.append([value - total * self.one for value in values])
        scale = UP.divide(1 << shift, 1 << 3 * self.bits + 64)
        # A cosine and a sine are off by less than 2 together, over 2^bits.
        found = [isqrt(x * x + y * y) + 1 + 2 * total for x, y in zip(*sides, strict=True)]
        return [max(found[low:high]) * scale for low, high in self.line.groups]

    def moved(self, pair, kind, t, spared=0):
        """Return masses, and what is lost, of a 1 with probability t instead of 0, or 1 instead of 1 - t: rule 5.

        The pair is of a 1 against a 0. Up to spared what it lost has the loss of a bit that is seen.
        """
        (atoms, lost), (u, w), masses = pair, Fraction(t).as_integer_ratio(), [0] * len(self.nodes)
        self.line.spend(3 * len(atoms) + len(masses) // 4)
        if kind == 0:
            moves, lost = [(over((w - u) * most + u * p, w), least) for p, most, least in atoms], over(u * lost, w)
        else:
            seen, lost = (lost, 0) if t <= spared else (0, lost)
            moves = [(p, ((w - u) * p + u * least) // w) for p, _, least in [*atoms, (seen, 0, 0)] if p]
        return masses, lost + self.split(masses, moves)


# --- Exponents at all heights, for each part that changes may consist of, and what is lost ----------------------------


def in_full(line, pairs, times):
    """Return the exponents of pairs any of which may be met in any instance: rule 6."""
    grid, parts, most = line.at(line.grid), [], 0
    for pair in pairs:
        masses, lost = grid.moved(pair, 0, 1)
        line.spend(40 * len(line.weights), 2 * len(line.weights))
        parts.append(([times * ln(x) for x in grid.moduli(masses)], 0))
        most = max(most, lost)
    return parts, times * most


def jointly(line, pairs, times, square, sizes, finest, spared, price):
    """Return those of moves by t of bits, whose squares add up to at most T^2, by cells of t: rule 7."""
    crowd, parts, losses = [Decimal(0)] * len(line.weights), [], ([], [])
    for pair, kind in product(pairs, (0, 1)):
        low, ours, lost, before = Decimal(0), [Decimal(1)] * len(line.weights), [], None
        for size in sizes:
            grid = line.at(min(finest, line.grid + (1 // Fraction(size)).bit_length() - 1))
            if low and grid is not before:  # both ends of a cell on one grid: a jump would look steep
                ours = grid.moduli(grid.moved(pair, kind, low, spared)[0])
            before, (masses, missing) = grid, grid.moved(pair, kind, size, spared)
            theirs = grid.moduli(masses)
            line.spend(60 * len(line.weights), 2 * len(line.weights))
            rates, crowd = zip(*(cell(low, size, *at) for at in zip(ours, theirs, crowd, strict=True)), strict=True)
            parts.append((rates, price * (times / square - DOWN.divide(1, size * size))))
            low, ours, lost = size, theirs, [*lost, missing]
        losses[kind].append(lost)
    found = (([square * r + times * c for r, c in zip(rates, crowd, strict=True)], p) for rates, p in parts)
    moved = UP.next_plus(UP.sqrt(times * square))  # no less than sum t
    worst = ([max(lost) for lost in zip(*kind, strict=True)] for kind in losses)
    return found, sum(min(times * max(lost), moved * max(map(UP.divide, lost, sizes))) for lost in worst)


def cell(low, high, ours, theirs, crowd):
    """Return R and C with ln|phi| <= R t^2 + C between two sizes, given the moduli there: rule 7.

    C is what is given, or more where the lower size is 0.
    """
    if theirs < ours:
        right = (ln(ours) + (theirs - ours) / ours) / (high * high)
        return max(right, ln(ours) / (low * low)) if low else right, crowd
    if theirs < 1:
        return ln(theirs) / (high * high), crowd
    middle, sides, width = (ours + theirs) / 2, low + high, high - low
    rate = (theirs - ours) / middle / (width * sides)
    least = DOWN.divide(DOWN.divide(DOWN.subtract(theirs, ours), middle), 4 * width)
    constant = ln(middle) - DOWN.multiply(least, sides)
    if constant < 0:
        return rate + constant / (high * high), crowd
    if not low:
        return rate, max(crowd, constant)
    return rate + max(0, constant - crowd) / (low * low), crowd


# --- Certificates: which numbers are typed, and what each protocol is -------------------------------------------------

WHOLE = {"bits": (32, 256), "grid": (1, 24), "finest": (1, 32), "top": (-MOST_NODES, MOST_NODES), "tail": (16, 256)}
WHOLE |= {"heights": (2, 4096), "instances": (1, 10**12), "users": (1, 10**18), "honest": (1, 10**18)}
DECIMALS = {"epsilon": (0, 1000), "squared_change": (0, 10**12), "mean": (0, 10**18), "shape": (0, 10**18)}
DECIMALS |= dict.fromkeys(("delta", "p", "flip_probability"), (0, 1))
SHORT = dict.fromkeys(("tilt", "spacing", "smoothing"), (0, 10**6)) | {"price": (-1, 10**6), "spared": (-1, 2)}
LISTS = {"window": (-MOST_NODES, MOST_NODES, 2, 2), "cells": (0, 10**18, 1, 10**4), "pieces": (0, 10**18, 1, 10**4)}
TYPED = re.compile(r"[0-9]{1,40}([.][0-9]{1,80})?(e[-+]?[0-9]{1,2})?").fullmatch
SHORTLY = re.compile(r"[0-9]{1,6}([.][0-9]{1,12})?").fullmatch


def value(name, given):
    """Return a field's value, a Decimal for a decimal, if it is valid."""
    low, high, *lengths = (WHOLE | DECIMALS | SHORT | LISTS).get(name, (0, 0))
    if name in WHOLE:
        valid, what = type(given) is int and low <= given <= high, f"an integer from {low} to {high}"
    elif name in DECIMALS or name in SHORT:
        typed = TYPED if name in DECIMALS else SHORTLY
        valid = isinstance(given, str) and typed(given) and low < (given := Decimal(given)) < high
        what = f"a decimal in a string, in ({low}, {high})" + " with at most 12 decimals" * (name in SHORT)
    elif name in LISTS:
        valid = isinstance(given, list) and lengths[0] <= len(given) <= lengths[1]
        valid = valid and all(type(one) is int for one in given)
        valid = valid and all(one < other for one, other in pairwise([low - 1, *given, high + 1]))
        what = f"a list of {lengths[0]} to {lengths[1]} increasing integers from {low} to {high}"
    elif name == "sizes":
        valid = isinstance(given, list) and 0 < len(given) <= 2000
        valid = valid and all(isinstance(one, str) and SHORTLY(one) for one in given)
        given = [Decimal(one) for one in given] if valid else []
        valid = valid and given[-1] <= 1 and all(one < other for one, other in pairwise([Decimal("1e-6"), *given]))
        what = "a list of 1 to 2000 increasing decimals in strings, above 1e-6 and up to 1"
    else:
        valid, what = isinstance(given, str) and given in (FORMAT, *PROTOCOLS), f"{FORMAT!r} or one of {[*PROTOCOLS]}"
    if not valid:
        raise Malformed(f"{name} must be {what}.")
    return given


def values(given, names):
    """Return the values of an object's fields, which must be these, and how they were typed."""
    if not isinstance(given, dict) or given.keys() != set(names):
        raise Malformed(f"There must be an object with exactly these fields: {', '.join(names)}.")
    found = {name: value(name, given[name]) for name in names}
    return found, ", ".join(f"{name} {given[name]}" for name in found if name not in (*LISTS, *HINTS))


# A protocol is some pairs, any of which may be met in any instance.


def one_sum(line, kind, users, honest, size, p=Fraction(0)):
    atoms = line.shifted(line.counts(kind, size * Fraction(honest, users), p))
    return [line.pair(atoms), line.pair([(c, d, a, b) for a, b, c, d in atoms])]


def negative_binomial(line, users, honest, shape, p):
    return one_sum(line, "nb", users, honest, shape, p)


def poisson(line, users, honest, mean):
    return one_sum(line, "poisson", users, honest, mean)


def randomized_response(line, users, honest, flip_probability, cells, pieces):
    """Return the worst pair of each piece, cells of k to k + c ones among the others, c of whom are revealed: rule 4.

    With all bits and all reports flipped, the reverse pair is that of another number of ones.
    """
    found, ours, grid, starts = [], [], line.at(line.grid), {*pieces, honest}
    for low, high in pairwise([*cells, honest]):
        pair = line.pair(line.response(flip_probability, low, honest - high))
        if {low, high} <= starts:
            found.append(pair)
            continue
        heights = grid.heights(*grid.moved(pair, 0, 1))
        ours = heights if low in starts else list(map(max, ours, heights))
        if high in starts:
            found.append(grid.dots(ours))
    return found


PROTOCOLS = {
    "rr": (randomized_response, ["users", "honest", "flip_probability", "cells", "pieces"]),
    "nb": (negative_binomial, ["users", "honest", "shape", "p"]),
    "poisson": (poisson, ["users", "honest", "mean"]),
}
LINE = ["bits", "grid", "tail", "window", "top", "tilt", "spacing", "heights", "smoothing"]
MOVES = ["squared_change", "sizes", "finest", "spared", "price"]
HINTS = {"format", *LINE, *MOVES[1:]}
JOINT = ", the squares of the changes of her bits' probabilities adding up to at most squared_change"


def bounded(given):
    """Return the line of a certificate, the logarithm of its sum, what is lost, and what the certificate says."""
    name = value("protocol", given.get("protocol") if isinstance(given, dict) else None)
    make, own = PROTOCOLS.get(name, (None, []))
    moves = MOVES if "squared_change" in given else []
    fields, typed = values(given, ["format", "epsilon", "delta", "protocol", "instances", *own, *moves, *LINE])
    times, honest, cells = fields["instances"], fields.get("honest", 0), fields.get("cells", [0])
    if fields["format"] != FORMAT or make is None or honest > fields["users"] or cells[0] or cells[-1] >= honest:
        raise Malformed(f"format must be {FORMAT!r}, honest at most users, and cells from 0 to less than honest.")
    if not {0} <= {*fields.get("pieces", [0])} <= {*cells}:
        raise Malformed("pieces must be 0 and other cells.")
    if moves and not fields["squared_change"] <= min(
        times, fields["sizes"][-1] ** 2 if fields["sizes"][-1] < 1 else times
    ):
        raise Malformed("squared_change must be at most instances, and the last size 1 or no less than its root.")
    with localcontext(UP):
        line = Line(*(fields[name] for name in LINE))
        exact = {name: Fraction(found) if name in DECIMALS else found for name, found in fields.items()}
        pairs = make(line, **{name: exact[name] for name in own})
        parts, lost = (jointly if moves else in_full)(line, pairs, times, *(fields[name] for name in moves))
        most = max(line.summed(part) + paid for part, paid in parts)
        growth = exp(Decimal(times) * (line.largest - line.one) / line.one)
    said = (
        f"Accepted: {typed}, all messages shuffled, if one user's inputs, fixed beforehand, are replaced by any other"
    )
    return line, most, lost * growth / line.one, said + JOINT * bool(moves)


def checked(given):
    """Return what an accepted certificate says in words, or raise Refused or Malformed."""
    line, logarithm, lost, said = bounded(given)
    with localcontext(UP):
        found = line.delta(logarithm, Decimal(given["epsilon"])) + lost
    if found > Decimal(given["delta"]):
        raise Refused(f"delta is shown to be at most {found:.4e} at this epsilon, no less.")
    return said


def once(pairs):
    """Return an object, no name of which may occur twice."""
    if len(dict(pairs)) < len(pairs):
        raise Malformed("A name occurs twice in an object.")
    return dict(pairs)


def main(path):
    """Check a file; say what was found, and return the exit status."""
    try:
        with open(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise Malformed(f"It has more than {MOST_BYTES} bytes.")
        # A number with a fraction or an exponent is a Decimal, which no field takes.
        given = json.loads(text, object_pairs_hook=once, parse_float=Decimal, parse_constant=Decimal)
        print(checked(given))
        return 0
    except Refused as reason:
        print(f"Refused: {reason}")
        return 1
    except (Malformed, OSError, ValueError, ArithmeticError, RecursionError) as reason:
        print(f"Not a certificate: {reason}")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else print(__doc__) or 2)
