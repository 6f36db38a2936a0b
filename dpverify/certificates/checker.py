"""Accept or refuse a certificate of differential privacy, with integers alone.

    python checker.py FILE        exits with 0: accepted, 1: refused, 2: not a certificate

It needs Python's standard library alone, and accepts only if, however one user's input is replaced in all that she
takes part in, P(S) <= e^epsilon Q(S) + delta of every event S of what is seen, as docs/certificates.md proves. Numbers
are over 2^bits, rounded down where they help the claim, up where they hurt. Node k is b^k, b = 1 + 2^-grid. Atoms (p,
q) are lower bounds of disjoint events. A measure is (first node, masses, mass at infinity), in place of a pair.
"""

import json
import re
import sys
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation, Rounded
from fractions import Fraction
from functools import reduce
from itertools import accumulate, chain, count, islice, pairwise, product, repeat, zip_longest
from math import comb, isqrt, lcm
from operator import add, mul, sub

FORMAT, MOST_EACH, ROWS, COLUMNS = "dpverify certificate 2", 256, 128, 48
MOST_BYTES, MOST_NODES, MOST_VALUES, MOST_WORK = 10**6, 2**17, 2**19, 6 * 10**8
EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact, Rounded, InvalidOperation])


class Refused(Exception):
    """The claim is not shown, or takes too much work."""


def over(numerator, denominator):
    return -(-numerator // denominator)


class Checker:
    """How numbers are rounded, how far laws are listed, and how much work is left; all that is computed of measures."""

    def __init__(self, bits, grid, tail, window):
        self.bits, self.grid, self.tail, self.window, self.left = bits, grid, tail, window, MOST_WORK
        self.one, self.top, self.bottom = 1 << bits, (1 << grid) + 1, 1 << grid  # b = top / bottom
        self.powers, self.apart = ([self.one], [self.one]), 0

    def work(self, steps):
        self.left -= steps * (self.bits + 160) // 256
        if self.left < 0:
            raise Refused("To check this takes more work than the checker does.")

    def node(self, k):
        """Return a lower bound on b^k, over 2^bits; no claim needs one of 2^4096."""
        powers = self.powers[k >= 0]
        while len(powers) <= abs(k):
            powers.append(powers[-1] + (powers[-1] >> self.grid) if k >= 0 else powers[-1] * self.bottom // self.top)
            self.work(2 * MOST_WORK if powers[-1] >> self.bits + 4096 else 1)
        return powers[abs(k)]

    def measures(self, blocks, window, both=True):
        """Return the measures of a pair, at nodes low, ..., high, and of its reverse if both, from blocks of atoms."""
        self.work(2000 + 4 * (window[1] - window[0]))
        nodes = [self.node(k) for k in range(window[0], window[1] + 1)]
        found = [[window[0], [0] * len(nodes), self.one] for _ in range(1 + both)]
        for atoms in blocks:
            self.work(6 * len(atoms) * len(found))
            for measure in found:
                measure[2] -= self.split(nodes, measure[1], atoms)
                atoms = [(q, p) for p, q in atoms]
        return found

    def split(self, nodes, masses, atoms):
        """Add atoms by rule 1, each to the nodes around p / q, and return how much of P: not what is above them all."""
        added, k, last = 0, 0, len(nodes) - 1
        for p, q in atoms:
            scaled = p << self.bits
            while k and scaled <= nodes[k - 1] * q:
                k -= 1
            while k < last and scaled > nodes[k] * q:
                k += 1
            if scaled <= nodes[k] * q:
                upper = min(p, over((scaled - nodes[k - 1] * q) * self.top, self.one)) if k else p  # top is b / (b - 1)
                masses[k] += upper
                masses[k - 1] += p - upper
                added += p
        return added

    def heights(self, measure):
        """Return upper bounds on a measure's G at its nodes, the last one first."""
        heights, weighted, (_, masses, total) = [], 0, measure  # m_inf + all m_j above node k; the sum of m_j b^(k - j)
        self.work(3 * len(masses))
        for mass in reversed(masses):
            heights.append(total - weighted)
            total, weighted = total + mass, (weighted + mass) * self.bottom // self.top
        return heights

    def dots(self, low, heights, whole=0):
        """Return a measure whose G is at least these heights at its nodes, the last one first, and 1 or whole at 0."""
        masses, total, weighted = [], heights[0], 0
        for height in heights[1:]:
            masses.append(max(0, (height - total + over(weighted * self.bottom, self.top)) * self.top))
            total, weighted = total + masses[-1], over((weighted + masses[-1]) * self.bottom, self.top)
        return low, [max(0, max(self.one, whole) - total), *masses[::-1]], heights[0]

    def worst(self, measures):
        """Return a measure that is at least any of these everywhere: rule 2."""
        low, high = min(first for first, *_ in measures), max(first + len(masses) for first, masses, _ in measures)
        padded = [(low, [0] * (at - low) + kept + [0] * (high - at - len(kept)), lost) for at, kept, lost in measures]
        return self.dots(low, [*map(max, repeat(0), *map(self.heights, padded))], max(sum(m) + g for _, m, g in padded))

    def chord(self, low, cells):
        """Return two measures that each cell is between: those of the first two cells, lifted until the rest are."""
        ends, lift = [self.heights(measure) for _, measure in islice(cells, 2)], repeat(0)
        for share, measure in cells:
            rows, (u, w) = zip(lift, self.heights(measure), *ends, strict=False), share.as_integer_ratio()
            lift = [max(most, over(w * height - (w - u) * one - u * other, w)) for most, height, one, other in rows]
        return [self.dots(low, [*map(add, end, lift)]) for end in ends]

    def multiplied(self, ours, theirs, shift=0):
        """Return the product of two polynomials, as digits of a number where none is carried; then over 2^shift."""
        digits, terms = len(str(max(ours) * max(theirs) * min(len(ours), len(theirs)))), len(ours) + len(theirs) - 1
        self.work(terms * (2 + digits // 8))
        numbers = (Decimal("".join(format(mass, f"0{digits}d") for mass in masses)) for masses in (ours, theirs))
        text = format(EXACT.multiply(*numbers), "f").zfill(terms * digits)
        return [int(text[at : at + digits]) >> shift for at in range(0, terms * digits, digits)]

    def product(self, one, other):
        """Return a measure that dominates two together, inside the window, by rules 3 and 4."""
        (first, ours, lost), (second, theirs, gone) = one, other
        masses, first = self.multiplied(ours, theirs), first + second
        below, above = max(self.window[0] - first, 0), max(self.window[1] + 1 - first, 0)
        infinite = lost * (sum(theirs) + gone) + gone * sum(ours) + sum(masses[above:])
        kept = masses[below:above] or [0]
        kept[0] += sum(masses[: min(below, above)])
        if infinite >= self.one**2 or sum(kept) > 2 * self.one**2:
            raise Refused("All is lost: the window, or the numbers, are too small for so many instances.")
        return min(first + below, self.window[1]), [over(mass, self.one) for mass in kept], over(infinite, self.one)

    def power(self, known, times):
        """Return a measure that dominates so many together, from those that are known by how many, and so is then."""
        if times not in known:
            most = max(number for number in known if number <= times)
            part = times // 2 if 2 * most <= times else most
            known[times] = self.product(self.power(known, part), self.power(known, times - part))
        return known[times]

    def followed(self, measures, times, cuts, later):
        """Return a measure that dominates so many, each a mixture of these one or two, and then what is later."""
        ways = measures if len(measures) > 1 else [self.power({1: measures[0]}, times)]
        if len(measures) > 1 < times:
            known = [{1: measure} for measure in (*measures, self.worst(measures))]
            ways = [self.worst([self.block(known, low, high, times) for low, high in pairwise([0, *cuts, times])])]
        ways = [self.product(way, later) for way in ways] if later else ways
        return self.worst(ways) if len(ways) > 1 else ways[0]

    def block(self, known, low, high, times):
        """Return a measure of low of the first, all but high of the second, and the rest of the worst of both."""
        parts = zip(known, (low, times - high, high - low), strict=True)
        return reduce(self.product, (self.power(powers, number) for powers, number in parts if number))

    def delta(self, measure, epsilon):
        """Return an upper bound on a measure's G(e^epsilon), and on what views that are apart from it cost: rule 9."""
        (first, masses, infinite), (least, most) = measure, self.exponential(epsilon)
        kept = (m * max(0, self.one - (least * self.node(-k) >> self.bits)) for k, m in enumerate(masses, first))
        return infinite + over(sum(kept) + self.apart * (self.one + most), self.one)

    def distance(self, honest, shares, modulus, **_):
        """Return an upper bound on how far shuffled shares are from what their sum tells, over 2^bits: rule 9."""
        k, unit, choices = shares - 2, self.one**2 * modulus, (honest * (honest - 1)) ** (shares - 2) or 1
        square = over(unit * honest**2, comb(shares * honest, shares)) + over(unit * (10 * modulus + 3 * 2**k), choices)
        return over(isqrt(square) + 1, 2) if 2 * (honest - 2) ** k >= 5 * 4**k * modulus else self.one

    def exponential(self, x):
        """Return a lower and an upper bound on e^x, over 2^bits, for a fraction x from 0 to 1000."""
        self.work(20_000)
        term, total, i = 1 << self.bits + 2000, 0, 0
        while term or i < 2 * x:
            total, i, term = total + term, i + 1, term * x.numerator // (x.denominator * (i + 1))
        return total >> 2000, (total >> 2000) + 2  # all that was rounded, and what is left, is below 2^2000

    def law(self, left, right, limit=0):
        """Return lower bounds on a law, by ratios of (least, most, denominator), and how many are left of its start."""
        start = total = 1 << self.bits + 64
        for side, ratios in zip(sides := ([], []), (left, right), strict=True):
            up = down = start
            for least, most, denominator in ratios:
                self.work(4 + denominator.bit_length() // 128 if len(side) < MOST_VALUES else MOST_WORK)
                up, down = over(up * most, denominator), down * least // denominator
                side.append(down)
                total += up
                if up >> self.bits + 64 - self.tail == 0 and (rest := max(Fraction(most, denominator), limit)) < 1:
                    total += over(up * rest.numerator, rest.denominator - rest.numerator)
                    break
        return [(f << self.bits) // total for f in (*sides[0][::-1], start, *sides[1])], len(sides[0])

    def counts(self, a, b=Fraction(0)):
        """Return NB(a / b, b), Poisson(a) or a binomial, f(y + 1) / f(y) = (a + b y) / (y + 1), and its first count."""
        start, m = max(0, int((a - b) // (1 - b))), lcm(a.denominator, b.denominator)  # f is largest at the start
        c, d = int(m * a), int(m * b)
        right = ((c + d * y, c + d * y, m * (y + 1)) for y in count(start))
        left = ((m * (y + 1), m * (y + 1), c + d * y) for y in range(start - 1, -1, -1))  # f(y) / f(y + 1)
        law, before = self.law(left, right, b)
        return law, start - before

    def gaussian_ratios(self, sigma):
        """Return the f(y + 1) / f(y) = e^(-(2 y + 1) / (2 sigma^2)) for y = 0, 1, ..."""
        low, high = self.exponential(1 / (2 * sigma**2))
        first = self.one**2 // high, self.one**2 // low + 1, self.one
        down, up = first[0] ** 2 >> self.bits, over(first[1] ** 2, self.one)
        return accumulate(repeat(first), lambda r, _: (r[0] * down >> self.bits, over(r[1] * up, self.one), self.one))

    def moved(self, law, share=0, by=1):
        """Return the atoms of Z + X against Z + by - X, by the law of Z, X being `by` but 0 with this probability."""
        (u, w), shifted = share.as_integer_ratio(), zip([0] * by + law, law + [0] * by, strict=True)
        return [(((w - u) * a + u * b) // w, (u * a + (w - u) * b) // w) for a, b in shifted]

    def one_sum(self, users=1, honest=1, shape=0, p=Fraction(0), mean=0, flip_probability=0, levels=1, **shared):
        self.work(64 * levels)
        law, _ = self.counts((shape * p + mean) * honest / users, p)
        yield self.moved(self.multiplied(law, law[::-1], self.bits) if shared else law, flip_probability, levels)

    def two_counts(self, users, honest, shape, p, flood_shape, flood_p, drop_probability=Fraction(0)):
        """Yield the atoms of (x + Z1 + Z3, Z2 + Z3), x = 1 unless dropped, against x = 0, while all others hold 0."""
        own, flood = (self.counts(r * q * honest / users, q)[0] for r, q in ((shape, p), (flood_shape, flood_p)))
        (u, w), floor = drop_probability.as_integer_ratio(), self.one >> self.tail + 12
        concave = all(b * b >= a * c > 0 for x in (own, flood) for a, b, c in zip(x, x[1:], x[2:], strict=False))
        for atoms in (self.in_cells if concave and len(own) > MOST_EACH else self.each)(own, flood):
            yield [(((w - u) * a + u * c) // w, c) for a, c in atoms if a > floor or c > floor]

    def each(self, own, flood):
        """Yield them for x = 1. If x = 0 the smaller of counts that differ by d or -d has the same law."""
        together = ([a * b >> self.bits for a, b in zip(own[d:], own, strict=False)] for d in range(len(own)))
        for near, far in pairwise(chain((self.multiplied(row, flood, self.bits) for row in together), [[]])):
            yield from (zip_longest(*pair, fillvalue=0) for pair in ((near, far), ([0, *far], near)))  # d + 1, and -d

    def in_cells(self, own, flood):
        """Yield them in cells of d = |u - v| and the smaller count, with the ratios of two corners: rule 8."""
        size, slot, less = len(own), 3 * self.bits + 64, [*accumulate(own[::-1], initial=0)][::-1]
        rows = self.parted(self.multiplied(own[::-1], own, self.bits)[size - 1 :], ROWS)
        columns = [size + 1 + k for k in self.parted(self.multiplied(own, flood, self.bits), COLUMNS)]
        self.work(size * len(rows) * len(columns) * slot // 256)
        law, table = [*[0] * (size + 1), *flood, *[0] * (size + 1)], [[] for _ in rows]
        of_all, at = (less, [*accumulate(law, initial=0)]), (own, law)  # from d on and below a count; at both
        for (beyond, below), (move, late) in product((of_all, at), ((0, 0), (1, 0), (1, 1))):
            packed = [sum(below[k - late - z] << slot * i for i, k in enumerate(columns)) for z in range(size)]
            for d, row in zip(rows, table, strict=True):
                total = sum(map(mul, map(mul, own, beyond[d + move :]), packed))
                row.append([total >> slot * i & (1 << slot) - 1 for i in range(len(columns))])
        for near, far in pairwise(table):
            for x, y, low, high in ((0, 1, near, far), (2, 0, far, near)):  # the first count is larger, or is not
                p, q = ([b - a for a, b in pairwise(map(sub, near[side], far[side]))] for side in (x, y))
                yield chain(*map(self.spread, p, q, low[x + 3], low[y + 3], high[x + 3][1:], high[y + 3][1:]))

    def parted(self, law, number):
        """Return where about so many cells begin, by how likely and how near to 0, or double; and the end."""
        sums = [*accumulate(isqrt(isqrt(isqrt(mass << self.bits)) // k) for k, mass in enumerate(law, 1))]
        starts = {k for k, (a, b) in enumerate(pairwise(sums), 1) if a * number // sums[-1] < b * number // sums[-1]}
        return sorted(starts.union([0, len(law) + 1], (1 << k for k in range(len(law).bit_length()))))

    def spread(self, p, q, a, b, c, g):
        """Return what p and q are together, over one^2: atoms of the ratios a / b <= c / g, where these differ."""
        (a, b), (c, g), whole = (a, b) if a or b else (0, 1), (c, g) if c or g else (1, 0), self.one**2
        parts = [(q * c - p * g, a, b), (p * b - q * a, c, g)] if b * c > a * g else [(1, p, q)]
        whole *= max(1, b * c - a * g)
        return [(share * x // whole, share * y // whole) for share, x, y in parts]

    def responses(self, users, honest, flip_probability, cells):
        """Yield the atoms of a 1 against a 0 if low to high - 1 others hold 1, after what share: both ends first."""
        odds, spans = flip_probability / (1 - flip_probability), [*pairwise([*cells, honest])]
        for low, high in spans[:1] + spans[-1:] + spans[1:-1]:
            (ones, _), (zeros, _) = self.counts(low * odds, -odds), self.counts((honest - high) * odds, -odds)
            atoms = self.moved(self.multiplied(zeros, ones[::-1], self.bits), flip_probability)
            yield Fraction(low, max(1, low + honest - high)), atoms

    def vector_sum(self, users, honest, levels, blanket_probability, cells):
        """Yield the atoms of a report of one of two values, if low to high - 1 random ones of others say either."""
        wrong = blanket_probability / (levels + 1)
        told, odds = 1 - blanket_probability + 2 * wrong, 2 * wrong / (1 - 2 * wrong)
        yield [(int((1 - told) * self.one),) * 2]
        law, first = self.counts((honest - 1) * odds, -odds)
        for low, high in pairwise([*cells, honest]):
            mass = int(told * sum(law[max(low - first, 0) : max(high - first, 0)]))
            yield self.moved([c * mass >> self.bits for c in self.counts(Fraction(low), Fraction(-1))[0]], wrong / told)

    def two_sided(self, p=None, sigma=None):
        """Yield the atoms of noise on all whole numbers z, as likely as p^|z|, or Gaussian."""
        ratios = [repeat((p.numerator, *p.as_integer_ratio())) if p else self.gaussian_ratios(sigma) for _ in "+-"]
        yield self.moved(self.law(*ratios)[0])

    def labels(self, epsilon, classes):
        """Yield the atoms of one label, told with probability e^s / (e^s + m - 1); the others share the rest."""
        (least, most), others = self.exponential(epsilon), (classes - 1) * self.one
        keep, other = self.one * least // (least + others), self.one**2 // (most + others)
        yield [(keep, other), (other, keep), ((classes - 2) * other,) * 2]


WHOLE, DECIMAL = "an integer", "a decimal in a string, inside the ends,"
FIELDS = {"bits": (WHOLE, 32, 1024), "grid": (WHOLE, 1, 16), "tail": (WHOLE, 16, 1024), "levels": (WHOLE, 1, 10**9)}
FIELDS |= {"classes": (WHOLE, 2, 10**9), "epsilon": (DECIMAL, 0, 1000), "sigma": (DECIMAL, Fraction(1, 20), 10**9)}
FIELDS |= {"window": ("two increasing integers", -MOST_NODES, MOST_NODES, 2, 2), "shares": (WHOLE, 4, 1024)}
FIELDS |= {"cuts": ("at most 1000 increasing integers", 1, 10**18, 0, 1000)}
FIELDS |= {"cells": ("1 to 5000 increasing integers", 0, 10**18, 1, 5000)}
FIELDS |= dict.fromkeys(["instances", "users", "honest", "modulus"], (WHOLE, 1, 10**18))
ODDS = ["delta", "p", "flood_p", "flip_probability", "drop_probability", "blanket_probability"]
FIELDS |= dict.fromkeys(["mean", "shape", "flood_shape"], (DECIMAL, 0, 10**18)) | dict.fromkeys(ODDS, (DECIMAL, 0, 1))
TYPED = re.compile(r"[0-9]{1,40}([.][0-9]{1,80})?(e[-+]?[0-9]{1,2})?").fullmatch


def values(given, words, names):
    """Return the values of an object's fields, those of decimals as fractions; it must have these words besides."""
    if not isinstance(given, dict) or given.keys() != {*words, *names}:
        raise ValueError(f"There must be an object with exactly these fields: {', '.join([*words, *names])}.")
    found = {name: given[name] for name in names}
    for name, typed in found.items():
        kind, low, high, least, most = (*FIELDS[name], 1, 1)[:5]
        if kind is DECIMAL:
            found[name] = valid = isinstance(typed, str) and TYPED(typed) and low < (x := Fraction(typed)) < high and x
        else:
            listed = [typed] if kind is WHOLE else typed
            valid = isinstance(listed, list) and least <= len(listed) <= most and {*map(type, listed)} <= {int}
            valid = valid and all(one < other for one, other in pairwise([low - 1, *listed, high + 1]))
        if not valid:
            raise ValueError(f"{name} must be {kind} from {low} to {high}.")
    return found


def factors(grid, name, window, given):
    """Return measures of one instance for each count that changes: one, or two either of which may be met."""
    make, own, how, _ = PROTOCOLS[name]
    blocks = make(grid, **{field: given[field] for field in own})
    grid.apart += given["instances"] * grid.distance(**given) if "shares" in own else 0
    if how is CELLS:
        return [grid.chord(window[0], ((share, grid.measures([atoms], window, False)[0]) for share, atoms in blocks))]
    found = grid.measures(blocks, window, how is not ALIKE)
    return [[measure] for measure in found] if how is BOTH else [found]


ALL, FLOOD = ["users", "honest"], ["shape", "p", "flood_shape", "flood_p"]
SHUFFLED, CENTRAL, LOCAL = "all messages, shuffled", "what a trusted curator publishes", "each user's own messages"
EITHER, BOTH, ALIKE, CELLS = "a pair, its reverse", "both at once", "its own reverse", "reversed as another cell"
PROTOCOLS = {
    "rr": (Checker.responses, [*ALL, "flip_probability", "cells"], CELLS, SHUFFLED),
    "nb": (Checker.one_sum, [*ALL, "shape", "p"], EITHER, SHUFFLED),
    "poisson": (Checker.one_sum, [*ALL, "mean"], EITHER, SHUFFLED),
    "nb-sum": (Checker.one_sum, [*ALL, "levels", "shape", "p"], EITHER, SHUFFLED),
    "poisson-sum": (Checker.one_sum, [*ALL, "levels", "mean"], EITHER, SHUFFLED),
    "split-and-mix": (Checker.one_sum, [*ALL, "levels", "shape", "p", "modulus", "shares"], ALIKE, SHUFFLED),
    "3nb": (Checker.two_counts, [*ALL, *FLOOD], EITHER, SHUFFLED),
    "pure": (Checker.two_counts, [*ALL, *FLOOD, "drop_probability"], EITHER, SHUFFLED),
    **dict.fromkeys(["histogram", "selection"], (Checker.one_sum, [*ALL, "shape", "p"], BOTH, SHUFFLED)),
    "vector-sum": (Checker.vector_sum, [*ALL, "levels", "blanket_probability", "cells"], ALIKE, SHUFFLED),
    "central-discrete-laplace": (Checker.two_sided, ["p"], ALIKE, CENTRAL),
    "central-discrete-gaussian": (Checker.two_sided, ["sigma"], ALIKE, CENTRAL),
    "local-rr": (Checker.one_sum, ["flip_probability"], ALIKE, LOCAL),
    "labels": (Checker.labels, ["epsilon", "classes"], ALIKE, LOCAL),
}


def entry_of(given):
    """Return a protocol's name, the values of its fields, and what is said of it."""
    name = given.get("protocol") if isinstance(given, dict) else None
    if not isinstance(name, str) or name not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}.")
    found = values(given, ["protocol"], ["instances", *PROTOCOLS[name][1], "window", "cuts"])
    cells, cuts, honest = found.get("cells", [0]), found["cuts"], found.get("honest", 1)
    if not 0 == cells[0] <= cells[-1] < honest <= found.get("users", 1) or max(cuts, default=0) >= found["instances"]:
        raise ValueError("honest must be at most users, cells from 0 to honest - 1, and cuts less than instances.")
    words = ", ".join(f"{field} {given[field]}" for field in ("protocol", *found) if type(given[field]) is not list)
    return name, found, f"  {words}: {PROTOCOLS[name][-1]}"


def checked(given):
    """Return what an accepted certificate says in words, or raise Refused or ValueError."""
    claim = values(given, ["format", "together"], ["epsilon", "delta", "bits", "grid", "tail", "window"])
    together, late = given["together"], claim["tail"] > claim["bits"] + 64
    if given["format"] != FORMAT or not isinstance(together, list) or not together or late:
        raise ValueError(f"format must be {FORMAT!r}, together a list of one or more, and tail at most bits + 64.")
    said = [f"Accepted: epsilon {given['epsilon']}, delta {given['delta']}, if one user's input is replaced, for"]
    grid, total = Checker(*(claim[name] for name in ("bits", "grid", "tail", "window"))), None
    for name, entry, words in reversed([*map(entry_of, together)]):  # all are read before any is computed
        said.insert(1, words)
        for measures in factors(grid, name, entry["window"], entry):
            total = grid.followed(measures, entry["instances"], entry["cuts"], total)
    if (found := grid.delta(total, claim["epsilon"])) > claim["delta"] * grid.one:
        raise Refused(f"delta is shown to be at most {Decimal(found) / grid.one:.4e} at this epsilon, no less.")
    return "\n".join(said)


def main(path):
    try:
        with open(path, encoding="ascii") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES or re.search(r"(?<![0-9])[0-9]{600}", text):
            raise ValueError(f"It has more than {MOST_BYTES} characters, or a number of 600 digits or more.")
        once = {"object_pairs_hook": lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else None}
        return print(checked(json.loads(text, **once, parse_float=Decimal, parse_constant=Decimal))) or 0
    except (Refused, OSError, ValueError, ArithmeticError, RecursionError) as reason:
        own = {RecursionError: "It is nested too deeply.", UnicodeDecodeError: "It has bytes that are not ASCII."}
        own |= {json.JSONDecodeError: f"It is no JSON: {reason}.", IsADirectoryError: "It is a folder."}
        print(f"{'Refused' if isinstance(reason, Refused) else 'Not a certificate'}: {own.get(type(reason), reason)}")
        return 1 if isinstance(reason, Refused) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else print(__doc__) or 2)
