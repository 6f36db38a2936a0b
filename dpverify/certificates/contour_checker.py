"""Accept or refuse a certificate of what a joint change of one user's bits reveals, without binary floats.

    python contour_checker.py FILE        exits with 0: accepted, 1: refused, 2: not a certificate

This file needs Python's standard library and nothing else. It accepts only if, whatever the data, replacing one user's
input as is said after "Accepted" changes the probability of every event S of what the adversary sees from P(S) to some
Q(S) with P(S) <= e^epsilon Q(S) + delta: by rules that are proved, by number, in docs/contour_certificates.md.

Probabilities are integers over 2^bits; what helps the claim is rounded down, what hurts it up. A pair (P, Q), the views
of a bit 1 and a bit 0, is listed as atoms (p, q): lower bounds on what P and Q have of disjoint events, all of Q, while
what P has besides is lost. Node k is b^k, b = 1 + 2^-grid. Masses m_k at nodes stand for G(a) = sum_k m_k max(0, 1 - a
b^-k), and dominate a pair if G(a) + lost >= sum_y max(0, P(y) - a Q(y)) for every a >= 0. Their modulus at the height s
is |sum_k m_k b^((tilt + i s) k)|. Moduli and what follows from them are decimals of 50 digits, rounded up.
"""

import decimal
import json
import re
import sys
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import accumulate, count, pairwise, product, repeat
from math import isqrt, lcm
from operator import mul

FORMAT, PI = "dpverify contour certificate 1", Decimal("3.14159265358979323846")  # rounded down
MOST_BYTES, MOST_VALUES, MOST_WORK, MOST_KEPT = 10**6, 2**19, 6 * 10**8, 2**22
EXACT = Context(decimal.MAX_PREC, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[decimal.Inexact])
UP, DOWN, DEEP = (
    Context(digits, way, -(10**8), 10**8, traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow])
    for digits, way in ((50, decimal.ROUND_CEILING), (50, decimal.ROUND_FLOOR), (400, decimal.ROUND_FLOOR))
)


class Refused(Exception):
    """The claim is not shown, or takes too much work."""


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

    def __init__(self, bits, grid, tail, top, window, heights, tilt, spacing, smoothing):
        self.bits, self.one, self.grid, self.tail, self.window, self.top = bits, 1 << bits, grid, tail, window, top
        self.tilt, self.spacing, self.heights, self.smoothing = tilt, spacing, heights, smoothing
        self.left, self.room, self.largest = MOST_WORK, MOST_KEPT, self.one
        self.at = cache(lambda exponent: Grid(self, exponent))  # that of b = 1 + 2^-exponent
        # Far heights go together, with the largest of their moduli.
        self.groups = [*pairwise([*range(min(32, heights)), *range(32, heights, 16), heights])]
        self.weights = [sum(self.weight(spacing * j) for j in range(*group)) for group in self.groups]
        last = spacing * (heights - 1)  # and all beyond it
        self.weights[0] = self.weights[0] / 2 + exp(-smoothing * (last * last) / 2) / DOWN.multiply(PI, last)

    def spend(self, steps, kept=0):
        self.left, self.room = self.left - steps * (self.bits + 160) // 256, self.room - kept
        if self.left < 0 or self.room < 0:
            raise Refused("To check this takes more work, or memory, than the checker uses.")

    def weight(self, s):
        """Return w / pi e^(-v s^2 / 2) / |z (z - 1)|, z = 1 + tilt + i s: rule 1. No square has more than 50 digits."""
        squares = (x * x + s * s for x in (self.tilt, self.tilt + 1))
        root = DOWN.next_minus(DOWN.sqrt(DOWN.multiply(*squares)))
        return self.spacing / DOWN.multiply(root, PI) * exp(-self.smoothing * (s * s) / 2)

    def delta(self, logarithm, epsilon):
        """Return an upper bound on the divergence at e^epsilon, given the logarithm of the sum."""
        return exp(logarithm + self.smoothing * self.tilt * (self.tilt + 1) / 2 + -self.tilt * epsilon)

    def multiplied(self, ours, theirs):
        """Return lower bounds on the product of two polynomials, as digits of a number where none is carried."""
        digits = len(str(max(ours) * max(theirs) * min(len(ours), len(theirs))))
        terms = len(ours) + len(theirs) - 1
        self.spend(terms * (2 + digits // 8))
        numbers = (Decimal("".join(format(mass, f"0{digits}d") for mass in masses)) for masses in (ours, theirs))
        text = format(EXACT.multiply(*numbers), "f").zfill(terms * digits)
        return [int(text[at : at + digits]) >> self.bits for at in range(0, terms * digits, digits)]

    def counts(self, a, b=Fraction(0)):
        """Return lower bounds on the law on 0, 1, ... with f(y + 1) / f(y) = (a + b y) / (y + 1), as far as it matters.

        That is Poisson(a) for b = 0, NB(a / b, b) for b > 0, binomial of size -a / b with odds -b for b < 0.
        """
        start, m = max(0, int((a - b) // (1 - b))), lcm(a.denominator, b.denominator)  # f is largest at the start
        c, d = int(m * a), int(m * b)
        right = ((c + d * y, m * (y + 1)) for y in count(start))
        left = ((m * (y + 1), c + d * y) for y in range(start - 1, -1, -1))  # f(y) / f(y + 1)
        first = total = 1 << self.bits + 64
        sides = [], []
        for side, ratios in zip(sides, (left, right), strict=True):
            up = down = first
            for numerator, denominator in ratios:
                self.spend(4 + denominator.bit_length() // 128 if len(side) < MOST_VALUES else MOST_WORK)
                up, down = over(up * numerator, denominator), down * numerator // denominator
                side.append(down)
                total += up
                if up >> self.bits + 64 - self.tail == 0 and (rest := max(Fraction(numerator, denominator), b)) < 1:
                    total += over(up * rest.numerator, rest.denominator - rest.numerator)
                    break
        return [(f << self.bits) // total for f in (*sides[0][::-1], first, *sides[1])]

    def pair(self, atoms):
        """Return the atoms up to the top and the rest of Q, and what P has besides."""
        highest = self.at(self.grid).node(self.top)
        kept = [(p, q) for p, q in atoms if p << self.bits <= highest * q]
        return [*kept, (0, self.one - sum(q for _, q in kept))], self.one - sum(p for p, _ in kept)

    def response(self, p, ones, zeros):
        """Return the atoms of a 1 against a 0 among hidden others, each bit flipped with probability p."""
        (u, w), odds = p.as_integer_ratio(), p / (1 - p)
        flipped, kept = (self.counts(number * odds, -odds) for number in (zeros, ones))
        law = self.multiplied(flipped, kept[::-1])
        pairs = zip([0, *law], [*law, 0], strict=True)
        return [(((w - u) * a + u * b) // w, (u * a + (w - u) * b) // w) for a, b in pairs]


class Grid:
    """The nodes of the window, and the waves e^(i s ln(b) k) on them: rule 3."""

    def __init__(self, line, exponent):
        self.line, self.one, self.bits, (self.low, high) = line, line.one, line.bits, line.window
        self.top, self.bottom, self.powers = (1 << exponent) + 1, 1 << exponent, ([self.one], [self.one])  # b: a ratio
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
            powers.append(powers[-1] * self.top // self.bottom if k >= 0 else powers[-1] * self.bottom // self.top)
        return powers[abs(k)]

    def split(self, masses, atoms):
        """Add atoms (p, q) to the masses, p from above; return how much of P lies above all their nodes."""
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
            masses.append(max(0, (height - total + over(weighted * self.bottom, self.top)) * self.top))
            total, weighted = total + masses[-1], over((weighted + masses[-1]) * self.bottom, self.top)
        nodes = enumerate([max(0, self.one - total), *reversed(masses)], self.low)
        atoms = [(m, m * self.node(-k) >> self.bits) for k, m in nodes]
        return [*atoms, (0, max(0, self.one - sum(q for _, q in atoms)))], heights[0]

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

    def moved(self, pair, kind, t):
        """Return masses, and what is lost, of a 1 with probability t instead of 0, or 1 instead of 1 - t: rule 5."""
        (atoms, lost), (u, w), masses = pair, Fraction(t).as_integer_ratio(), [0] * len(self.nodes)
        self.line.spend(3 * len(atoms) + len(masses) // 4)
        if kind == 0:
            moves, lost = [(over((w - u) * q + u * p, w), q) for p, q in atoms], over(u * lost, w)
        else:
            moves = [(p, ((w - u) * p + u * q) // w) for p, q in atoms if p]
        lost += self.split(masses, moves)
        self.line.largest = max(self.line.largest, sum(masses) + lost)
        return masses, lost


def jointly(line, pairs, times, square, sizes, finest, price):
    """Return those of moves by t of bits, whose squares add up to at most T^2, by cells of t: rule 6."""
    crowd, parts, losses = [Decimal(0)] * len(line.weights), [], ([], [])
    for pair, kind in product(pairs, (0, 1)):
        low, ours, lost, before = Decimal(0), [Decimal(1)] * len(line.weights), [], None
        for size in sizes:
            grid = line.at(min(finest, line.grid + (1 // Fraction(size)).bit_length() - 1))
            if low and grid is not before:  # both ends of a cell on one grid: a jump would look steep
                ours = grid.moduli(grid.moved(pair, kind, low)[0])
            before, (masses, missing) = grid, grid.moved(pair, kind, size)
            theirs = grid.moduli(masses)
            line.spend(120 * len(line.weights), 2 * len(line.weights))
            rates, crowd = zip(*(cell(low, size, *at) for at in zip(ours, theirs, crowd, strict=True)), strict=True)
            parts.append((rates, price * (times / square - DOWN.divide(1, size * size))))
            low, ours, lost = size, theirs, [*lost, missing]
        losses[kind].append(lost)
    found = (([square * r + times * c for r, c in zip(rates, crowd, strict=True)], p) for rates, p in parts)
    moved = UP.next_plus(UP.sqrt(times * square))  # no less than sum t
    worst = ([max(lost) for lost in zip(*kind, strict=True)] for kind in losses)
    return found, sum(min(times * max(lost), moved * max(map(UP.divide, lost, sizes))) for lost in worst)


def cell(low, high, ours, theirs, crowd):
    """Return R and C with ln|phi| <= R t^2 + C between two sizes: rule 6. C is the crowd's, or more from size 0 on."""
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
    return (rate + max(0, constant - crowd) / (low * low), crowd) if low else (rate, max(crowd, constant))


DECIMAL = "a decimal in a string, inside the ends,", re.compile(r"[0-9]{1,40}([.][0-9]{1,80})?(e[-+]?[0-9]{1,2})?")
SHORT = "a short decimal in a string, inside the ends,", re.compile(r"[0-9]{1,6}([.][0-9]{1,12})?")
WHOLE, CHANCE, SIZE = ("an integer", None), (DECIMAL, 0, 1), (DECIMAL, 0, 10**18)
LINE = {"bits": (WHOLE, 32, 256), "grid": (WHOLE, 1, 24), "tail": (WHOLE, 16, 256), "top": (WHOLE, -(2**17), 2**17)}
LINE |= {"window": (WHOLE, -(2**17), 2**17, 2, 2), "heights": (WHOLE, 2, 4096)}
LINE |= dict.fromkeys(["tilt", "spacing", "smoothing"], (SHORT, 0, 10**6))
MOVES = {"squared_change": (DECIMAL, 0, 10**12), "sizes": (SHORT, Decimal("1e-6"), 2, 1, 2000)}
MOVES |= {"finest": (WHOLE, 1, 32), "price": (SHORT, -1, 10**6)}
FIELDS = {"epsilon": (DECIMAL, 0, 1000), "instances": (WHOLE, 1, 10**12), "mean": SIZE, "shape": SIZE} | LINE | MOVES
FIELDS |= dict.fromkeys(["users", "honest"], (WHOLE, 1, 10**18)) | {"p": CHANCE, "delta": CHANCE}
FIELDS |= dict.fromkeys(["cells", "pieces"], (WHOLE, 0, 10**18, 1, 10**4)) | {"flip_probability": CHANCE}


def values(given, names):
    """Return the values of a certificate's fields, those of decimals exactly; it must have two words besides."""
    if given.keys() != {"format", "protocol", *names}:
        raise ValueError(f"There must be exactly these fields: format, protocol, {', '.join(names)}.")
    found = {}
    for name in names:
        (what, typed), low, high, *sizes = FIELDS[name]
        (least, most), listed = sizes or (1, 1), given[name] if sizes else [given[name]]
        valid = isinstance(listed, list) and least <= len(listed) <= most
        valid = valid and {*map(type, listed)} <= {str if typed else int}
        if valid and typed:
            valid, listed = all(map(typed.fullmatch, listed)), [Decimal(one) for one in listed if typed.fullmatch(one)]
        ends = (low, high) if typed else (low - 1, high + 1)
        if not (valid and all(one < other for one, other in pairwise([ends[0], *listed, ends[1]]))):
            said = f", {most if least == most else f'{least} to {most}'} of them, increasing" if sizes else ""
            raise ValueError(f"{name} must be {what} from {low} to {high}{said}.")
        found[name] = listed if sizes else listed[0]
    return found


def one_sum(line, users, honest, shape=0, p=Fraction(0), mean=0):
    law = line.counts((shape * p + mean) * honest / users, p)
    return [line.pair(zip(*sides, strict=True)) for sides in (([0, *law], [*law, 0]), ([*law, 0], [0, *law]))]


def randomized_response(line, users, honest, flip_probability, cells, pieces):
    """Return the worst pair of each piece, cells of k to k + c ones among the others, c of whom are revealed: rule 4.

    With all bits and all reports flipped, the reverse pair is that of another number of ones.
    """
    found, ours, grid, starts = [], [], line.at(line.grid), {0, *pieces, honest}
    for low, high in pairwise([*cells, honest]):
        pair = line.pair(line.response(flip_probability, low, honest - high))
        heights = grid.heights(*grid.moved(pair, 0, 1))
        ours = heights if low in starts else list(map(max, ours, heights))
        if high in starts:
            found.append(pair if low in starts else grid.dots(ours))
    return found


PROTOCOLS = {
    "rr": (randomized_response, ["users", "honest", "flip_probability", "cells", "pieces"]),
    "nb": (one_sum, ["users", "honest", "shape", "p"]),
    "poisson": (one_sum, ["users", "honest", "mean"]),
}
SAID = """Accepted: {}, all messages shuffled, if one user's inputs, fixed beforehand, are replaced by any other,
the squares of the changes of her bits' probabilities adding up to at most squared_change"""


def bounded(given):
    """Return the line of a certificate, the logarithms of its sums, what is lost, and what the certificate says."""
    name = given.get("protocol") if isinstance(given, dict) else None
    if not isinstance(name, str) or name not in PROTOCOLS or given.get("format") != FORMAT:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, and format {FORMAT!r}.")
    make, own = PROTOCOLS[name]
    found = values(given, ["epsilon", "delta", "instances", *own, *MOVES, *LINE])
    cells, times, square = found.get("cells", [0]), found["instances"], found["squared_change"]
    if not 0 == cells[0] <= cells[-1] < found["honest"] <= found["users"]:
        raise ValueError("honest must be at most users, and cells from 0 to honest - 1.")
    if (last := found["sizes"][-1]) > 1 or square > (times if last == 1 else min(times, last * last)):
        raise ValueError("squared_change must be at most instances, and the last size 1, or less but not its root.")
    with localcontext(UP):
        line = Line(**{name: found[name] for name in LINE})
        exact = {name: Fraction(found[name]) if FIELDS[name][0] is DECIMAL else found[name] for name in own}
        parts, lost = jointly(line, make(line, **exact), times, *(found[name] for name in MOVES))
        sums = [ln(sum(map(mul, line.weights, map(exp, part)))) + paid for part, paid in parts]
        whole = lost * exp(Decimal(times) * (line.largest - line.one) / line.one) / line.one
    shown = ["epsilon", "delta", "protocol", "instances", *own, "squared_change"]
    words = ", ".join(f"{field} {given[field]}" for field in shown if not isinstance(given[field], list))
    return line, sums, whole, SAID.format(words)


def checked(given):
    """Return what an accepted certificate says in words, or raise Refused or ValueError."""
    line, sums, lost, said = bounded(given)
    with localcontext(UP):
        found = line.delta(max(sums), Decimal(given["epsilon"])) + lost
    if found > Decimal(given["delta"]):
        raise Refused(f"delta is shown to be at most {found:.4e} at this epsilon, no less.")
    return said


def main(path):
    """Check a file; say what was found, and return the exit status."""
    try:
        with open(path, encoding="ascii") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES or re.search(r"(?<![0-9])[0-9]{600}", text):
            raise ValueError(f"It has more than {MOST_BYTES} characters, or a number of 600 digits or more.")
        # A number with a fraction or an exponent is a Decimal, which no field takes.
        pairs = json.loads(text, object_pairs_hook=tuple, parse_float=Decimal, parse_constant=Decimal)
        if not isinstance(pairs, tuple) or len(dict(pairs)) < len(pairs):
            raise ValueError("It must be an object in which no name occurs twice.")
        return print(checked(dict(pairs))) or 0
    except (Refused, OSError, ValueError, ArithmeticError, RecursionError) as reason:
        own = {RecursionError: "It is nested too deeply.", UnicodeDecodeError: "It has bytes that are not ASCII."}
        own |= {json.JSONDecodeError: f"It is no JSON: {reason}.", IsADirectoryError: "It is a folder."}
        print(f"{'Refused' if isinstance(reason, Refused) else 'Not a certificate'}: {own.get(type(reason), reason)}")
        return 1 if isinstance(reason, Refused) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else print(__doc__) or 2)
