"""Accept or refuse a certificate of differential privacy, with integers alone.

    python checker.py FILE        exits with 0: accepted, 1: refused, 2: not a certificate

This file is all there is to trust: it needs Python's standard library and nothing else, and uses no floating-point
number. The proofs of its rules are in docs/certificates.md, numbered as here. It accepts only if, whatever the data,
replacing one user's input in all that she takes part in changes the probability of every event S of what the adversary
sees from P(S) to some Q(S) with P(S) <= e^epsilon Q(S) + delta.

Numbers are integers over 2^bits; what helps the claim is rounded down, what hurts it up. Losses lie on the powers of
b = 1 + 2^-grid: node k is b^k. A pair (P, Q) of neighbouring views is listed as atoms (p, q), lower bounds on what P
and Q have of disjoint events; what P has besides is lost to infinity, so that nothing needs an upper bound. A measure
(first node, masses, mass at infinity) stands for the function G(a) = m_inf + sum_k m_k max(0, 1 - a b^-k), and
dominates a pair if, for every a >= 0, G(a) >= H(a), where H(a) = sum_y max(0, P(y) - a Q(y)). An accepted
certificate's last measure dominates everything that was released.
"""

import json
import re
import sys
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation, Rounded
from fractions import Fraction
from functools import partial, reduce
from itertools import count, pairwise, repeat, zip_longest

FORMAT = "dpverify certificate 2"
MOST_BYTES, MOST_NODES, MOST_VALUES, MOST_WORK = 10**6, 2**17, 2**19, 6 * 10**8
EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact, Rounded, InvalidOperation])


class Refused(Exception):
    """The claim is not shown, or takes too much work."""


class Malformed(Exception):
    """Nothing is claimed here in the way that certificates claim it."""


def over(numerator, denominator):
    """Return the quotient, rounded up."""
    return -(-numerator // denominator)


class Grid:
    """The nodes b^k, the precision, how far laws are listed, and how much work is left."""

    def __init__(self, bits, grid, tail, window):
        self.bits, self.grid, self.tail, self.window, self.left = bits, grid, tail, window, MOST_WORK
        self.one, self.top, self.bottom = 1 << bits, (1 << grid) + 1, 1 << grid  # b = top / bottom
        self.powers = [self.one], [self.one]

    def work(self, steps):
        self.left -= steps * (self.bits + 160) // 256
        if self.left < 0:
            raise Refused("To check this takes more work than the checker does.")

    def node(self, k):
        """Return a lower bound on b^k, over 2^bits."""
        powers = self.powers[k >= 0]
        while len(powers) <= abs(k):
            last = powers[-1]
            powers.append(last + (last >> self.grid) if k >= 0 else last * self.bottom // self.top)
        return powers[abs(k)]

    def measures(self, blocks, window, both=True):
        """Return the measures of a pair, at nodes low, ..., high, and of its reverse if both, from blocks of atoms."""
        self.work(2000 + 4 * (window[1] - window[0]))
        nodes = [self.node(k) for k in range(window[0], window[1] + 1)]
        found = [[window[0], [0] * len(nodes), self.one] for _ in range(1 + both)]
        for atoms in blocks:
            self.work(6 * len(atoms) * len(found))
            for measure, sides in zip(found, (atoms, [(q, p) for p, q in atoms]), strict=False):
                measure[2] -= self.split(nodes, measure[1], sides)
        return found

    def split(self, nodes, masses, atoms):
        """Add atoms to the masses by rule 1, and return how much of P was added: what lies above all nodes is not.

        Between its two nodes an atom's own function lies below the chord, which its two masses are.
        """
        added, k, last = 0, 0, len(nodes) - 1
        for p, q in atoms:
            scaled = p << self.bits
            while k and scaled <= nodes[k - 1] * q:
                k -= 1
            while k <= last and scaled > nodes[k] * q:
                k += 1
            if k > last:
                k = last
                continue
            upper = min(p, over((scaled - nodes[k - 1] * q) * self.top, self.one)) if k else p  # top is b / (b - 1)
            masses[k] += upper
            masses[k - 1] += p - upper
            added += p
        return added

    def heights(self, measure):
        """Return upper bounds on a measure's G at its nodes, the last one first."""
        _, masses, total = measure
        self.work(3 * len(masses))
        heights, weighted = [], 0  # m_inf + the masses m_j above node k, and the sum of m_j b^(k - j)
        for mass in reversed(masses):
            heights.append(total - weighted)
            total, weighted = total + mass, (weighted + mass) * self.bottom // self.top
        return heights

    def dots(self, first, heights):
        """Return a measure whose G is at least these heights at its nodes, the last one first, and 1 at 0: rule 2."""
        masses, infinite, total, weighted = [], heights[0], heights[0], 0
        for height in heights[1:]:
            # With a mass m on the node above, G is total + m - (weighted + m) / b here.
            carried = over(weighted * self.bottom, self.top)
            masses.append(max(0, (height - total + carried) * self.top))
            total, weighted = total + masses[-1], over((weighted + masses[-1]) * self.bottom, self.top)
        return first, [max(0, self.one - total), *reversed(masses)], infinite

    def worst(self, measures):
        """Return one measure that dominates all of these, which have the same nodes."""
        low, high = min(first for first, *_ in measures), max(first + len(masses) for first, masses, _ in measures)
        highest = [0] * (high - low)
        for first, masses, infinite in measures:
            masses = [0] * (first - low) + masses + [0] * (high - first - len(masses))
            highest = list(map(max, highest, self.heights((low, masses, infinite))))
        return self.dots(low, highest)

    def multiplied(self, ours, theirs):
        """Return the coefficients of a product of polynomials with whole coefficients of at least 0, exactly.

        They are digits of numbers so large that nothing is carried from one coefficient to the next.
        """
        digits = len(str(max(ours) * max(theirs) * min(len(ours), len(theirs))))
        terms = len(ours) + len(theirs) - 1
        self.work(terms * (2 + digits // 8))
        numbers = (Decimal("".join(format(mass, f"0{digits}d") for mass in masses)) for masses in (ours, theirs))
        text = format(EXACT.multiply(*numbers), "f").zfill(terms * digits)
        return [int(text[at : at + digits]) for at in range(0, terms * digits, digits)]

    def product(self, one, other):
        """Return a measure that dominates two together, inside the window, by rules 3 and 4."""
        (first, ours, lost), (second, theirs, gone) = one, other
        masses, first = self.multiplied(ours, theirs), first + second
        low = max(self.window[0], first)
        below, above = low - first, max(self.window[1] + 1 - first, 0)
        infinite = lost * (sum(theirs) + gone) + gone * sum(ours) + sum(masses[above:])
        kept = masses[below:above] or [0]
        kept[0] += sum(masses[: min(below, above)])
        if infinite >= self.one**2 or sum(kept) > 2 * self.one**2:
            raise Refused("All is lost: the window, or the numbers, are too small for so many instances.")
        return min(low, self.window[1]), [over(mass, self.one) for mass in kept], over(infinite, self.one)

    def power(self, known, times):
        """Return a measure that dominates so many together, from those that are known by how many, and so is then."""
        if times not in known:
            most = max(number for number in known if number <= times)
            part = times // 2 if 2 * most <= times else most
            known[times] = self.product(self.power(known, part), self.power(known, times - part))
        return known[times]

    def mixes(self, measures, times, cuts):
        """Return a measure that dominates so many together, each dominated by either of two measures: rule 4.

        The number of those that are dominated by the first lies between two successive cuts. Then so many as the lower
        one are, all but as many as the upper one are dominated by the second, and the rest by the worst of both.
        """
        if len(measures) == 1:
            return self.power({1: measures[0]}, times)
        known = [{1: measure} for measure in (*measures, self.worst(measures))]
        return self.worst([self.block(known, low, high, times) for low, high in pairwise([0, *cuts, times])])

    def block(self, known, low, high, times):
        """Return a measure that dominates so many together, from low to high of them dominated by the first measure."""
        parts = zip(known, (low, times - high, high - low), strict=True)
        return reduce(self.product, (self.power(powers, number) for powers, number in parts if number))

    def delta(self, measure, epsilon):
        """Return an upper bound on a measure's G(e^epsilon), over 2^bits."""
        first, masses, infinite = measure
        factor, total = self.exponential(epsilon)[0], 0
        for k, mass in enumerate(masses, first):
            total += mass * max(0, self.one - (factor * self.node(-k) >> self.bits))
        return infinite + over(total, self.one)

    def exponential(self, x):
        """Return a lower and an upper bound on e^x, over 2^bits, for a fraction x from 0 to 1000."""
        self.work(20_000)
        term, total, i = 1 << self.bits + 2000, 0, 0
        while term or i < 2 * x:
            total, i = total + term, i + 1
            term = term * x.numerator // (x.denominator * i)
        return total >> 2000, (total >> 2000) + 2  # all that was rounded, and what is left, is below 2^2000

    def branch(self, ratios, limit=0):
        """Return lower bounds on f(start + 1), ..., f(start) = 2^(bits + 64), and an upper bound on their sum.

        A ratio (least, most, denominator) is enclosed by two fractions; none that follows exceeds it and the limit.
        """
        up, down, total, found = 1 << self.bits + 64, 1 << self.bits + 64, 0, []
        for least, most, denominator in ratios:
            self.work(4 + denominator.bit_length() // 128 if len(found) < MOST_VALUES else MOST_WORK)
            up, down = over(up * most, denominator), down * least // denominator
            total += up
            found.append(down)
            if up >> self.bits + 64 - self.tail == 0 and (rest := max(Fraction(most, denominator), limit)) < 1:
                return found, total + over(up * rest.numerator, rest.denominator - rest.numerator)
        return found, total

    def law(self, left, right):
        """Return lower bounds on the probabilities of the law with these branches, which sum up to 1."""
        start = 1 << self.bits + 64
        total = left[1] + start + right[1]
        return [(value << self.bits) // total for value in (*left[0][::-1], start, *right[0])]

    def counts(self, kind, size, p=Fraction(0)):
        """Return the law of Poisson (its mean), negative binomial (shape, p) or binomial noise, and the first count."""
        (c, d), (u, w), limit = size.as_integer_ratio(), p.as_integer_ratio(), p if kind == "nb" else 0
        if kind == "poisson":
            start, ratio = c // d, lambda y: (c, d * (y + 1))
        elif kind == "nb":
            start, ratio = max(0, (c - d) * u // (d * (w - u))), lambda y: ((c + d * y) * u, d * (y + 1) * w)
        else:
            start, ratio = min(c, (c + 1) * u // w), lambda y: ((c - y) * u, (y + 1) * (w - u))
        right = (ratio(y) for y in (range(start, c) if kind == "binomial" else count(start)))
        left = (ratio(y)[::-1] for y in range(start - 1, -1, -1))  # f(y) / f(y + 1)
        branches = [self.branch(((r, r, s) for r, s in ratios), limit) for ratios in (left, right)]
        return self.law(*branches), start - len(branches[0][0])

    def gaussian_ratios(self, sigma):
        """Yield f(y + 1) / f(y) = e^(-(2 y + 1) / (2 sigma^2)) for y = 0, 1, ..."""
        least, most = (self.one**2 // e for e in reversed(self.exponential(1 / (2 * sigma**2))))
        most += 1
        steps = least * least >> self.bits, over(most * most, self.one)
        while True:
            yield least, most, self.one
            least, most = least * steps[0] >> self.bits, over(most * steps[1], self.one)

    def shifted(self, law):
        """Return the atoms of noise with this law, Z + 1 against Z."""
        return list(zip([0, *law], [*law, 0], strict=True))

    def part(self, share, mass):
        """Return a lower bound on a share of a mass."""
        return share.numerator * mass // share.denominator

    def mixed(self, atoms, share):
        """Return the atoms of the laws (1 - s) A + s B against s A + (1 - s) B, if those of A against B are given."""
        (u, w) = share.as_integer_ratio()
        return [(((w - u) * a + u * b) // w, (u * a + (w - u) * b) // w) for a, b in atoms]

    def summed(self, one, other):
        """Return the law of the sum of two independent counts, which are listed in part."""
        return [mass >> self.bits for mass in self.multiplied(one, other)]

    def response(self, p, ones, zeros):
        """Return the atoms of a 1 against a 0 among hidden others, each bit flipped with probability p."""
        flipped, kept = (self.counts("binomial", Fraction(number), p)[0] for number in (zeros, ones))
        return self.mixed(self.shifted(self.summed(flipped, kept[::-1])), p)

    def two_counts(self, own, flood, drop):
        """Yield the atoms of (x + Z1 + Z3, Z2 + Z3), x = 1 unless dropped, against x = 0, one difference at a time.

        Where the counts differ by d for x = 0, the smaller one's law is a sum of the flood and of what both parts of
        the own noise have together, d apart; for x = 1 it is that for d - 1, moved by one. It is the same for -d.
        """
        (u, w), floor = drop.as_integer_ratio(), self.one >> self.tail + 12
        for near, far in pairwise(map(partial(self.row, own, flood), range(len(own) + 1))):
            for moved, row in ((near, far), ([0, *far], near)):  # differences of d + 1, and of -d
                atoms = zip_longest(moved, row, fillvalue=0)
                yield [(((w - u) * a + u * c) // w, c) for a, c in atoms if a > floor or c > floor]

    def row(self, own, flood, d):
        """Return lower bounds on P(the counts are z + d and z) for x = 0, by z."""
        both = [a * b >> self.bits for a, b in zip(own[d:], own, strict=False)]
        return self.summed(both, flood) if both else []


# --- Certificates: which numbers are typed, and what each protocol is -------------------------------------------------

WHOLE = {"bits": (32, 1024), "grid": (1, 16), "tail": (16, 1024), "instances": (1, 10**18), "split": (0, 10**18)}
WHOLE |= {"users": (1, 10**18), "honest": (1, 10**18), "classes": (2, 10**9), "levels": (1, 10**9)}
DECIMALS = {"epsilon": (0, 1000), "sigma": (Fraction(1, 20), 10**9)}
DECIMALS |= dict.fromkeys(("mean", "shape", "flood_shape"), (0, 10**18))
DECIMALS |= dict.fromkeys(
    ("delta", "p", "flood_p", "flip_probability", "drop_probability", "blanket_probability"), (0, 1)
)
LISTS = {"window": (-MOST_NODES, MOST_NODES, 2, 2), "cuts": (1, 10**18, 0, 1000), "cells": (0, 10**18, 1, 5000)}
TYPED = re.compile(r"[0-9]{1,40}([.][0-9]{1,80})?(e[-+]?[0-9]{1,2})?").fullmatch


def value(name, given):
    """Return a field's value, a fraction for a decimal, if it is valid."""
    low, high, *sizes = (WHOLE | DECIMALS | LISTS).get(name, (0, 0))
    if name in WHOLE:
        valid, what = type(given) is int and low <= given <= high, f"an integer from {low} to {high}"
    elif name in DECIMALS:
        valid = isinstance(given, str) and TYPED(given) and low < (given := Fraction(given)) < high
        what = f"a decimal in a string, in ({low}, {high})"
    elif name in LISTS:
        least, most = sizes
        valid = isinstance(given, list) and least <= len(given) <= most and all(type(one) is int for one in given)
        valid = valid and all(one < other for one, other in pairwise([low - 1, *given, high + 1]))
        what = f"a list of {least} to {most} increasing integers from {low} to {high}"
    else:
        valid, what = isinstance(given, str) and given in (FORMAT, *PROTOCOLS), f"{FORMAT!r} or one of {[*PROTOCOLS]}"
    if not valid:
        raise Malformed(f"{name} must be {what}.")
    return given


def values(given, names):
    """Return the values of an object's fields, which must be these, and how they were typed."""
    if not isinstance(given, dict) or given.keys() != set(names):
        raise Malformed(f"There must be an object with exactly these fields: {', '.join(names)}.")
    found = {name: value(name, given[name]) for name in names if name != "together"}
    return found, ", ".join(f"{name} {given[name]}" for name in found if name not in LISTS)


# A protocol is, for each count that changes, one measure, or two either of which may be met in any instance.


def one_sum(grid, window, kind, users, honest, shape=0, p=Fraction(0), mean=0):
    return [grid.measures([grid.shifted(grid.counts(kind, (shape + mean) * Fraction(honest, users), p)[0])], window)]


def buckets(grid, window, **noise):
    """Return a measure for the bucket that a user leaves, and one for that which she joins."""
    return [[measure] for measure in one_sum(grid, window, "nb", **noise)[0]]


def pure(grid, window, users, honest, shape, p, flood_shape, flood_p, drop_probability=Fraction(0)):
    """Return the measures where all others hold 0: their bits would only add to the noise."""
    own, flood = (
        grid.counts("nb", size * Fraction(honest, users), ratio)[0]
        for size, ratio in ((shape, p), (flood_shape, flood_p))
    )
    return [grid.measures(grid.two_counts(own, flood, drop_probability), window)]


def randomized_response(grid, window, users, honest, flip_probability, cells, split):
    """Return measures for datasets with fewer ones than split, and for others; what differs in a cell is revealed.

    With all bits and all reports flipped, the reverse pair is that of another number of ones.
    """
    halves = {}
    for low, high in pairwise([*cells, honest]):  # from low to high - 1 ones among the honest - 1 others
        found = grid.measures([grid.response(flip_probability, low, honest - high)], window, both=False)
        halves[low < split] = grid.worst([halves[low < split], *found]) if (low < split) in halves else found[0]
    return [[*halves.values()]]


def vector_sum(grid, window, users, honest, levels, blanket_probability, cells):
    """Return the measure of one report of one of two values, the truthful reports of others being revealed.

    Their random reports of either value are fair coins; of a cell from low to high - 1, all but low are revealed.
    """
    wrong = blanket_probability / (levels + 1)
    told = 1 - blanket_probability + 2 * wrong
    law, first = grid.counts("binomial", Fraction(honest - 1), 2 * wrong)

    def blocks():
        yield [(grid.part(1 - told, grid.one),) * 2]
        for low, high in pairwise([*cells, honest]):
            share = told * Fraction(sum(law[max(low - first, 0) : max(high - first, 0)]), grid.one)
            coins, _ = grid.counts("binomial", Fraction(low), Fraction(1, 2))
            atoms = grid.mixed(grid.shifted(coins), wrong / told)
            yield [(grid.part(share, p), grid.part(share, q)) for p, q in atoms]

    return [grid.measures(blocks(), window, both=False)]


def two_sided(grid, window, p=None, sigma=None):
    """Return the measure of noise on all whole numbers z, as likely as p^|z|, or Gaussian."""
    side = grid.branch(grid.gaussian_ratios(sigma) if p is None else repeat((p.numerator, *p.as_integer_ratio())))
    return [grid.measures([grid.shifted(grid.law(side, side))], window, both=False)]


def local_response(grid, window, flip_probability):
    return [grid.measures([grid.mixed([(grid.one, 0), (0, grid.one)], flip_probability)], window, both=False)]


def labels(grid, window, epsilon, classes):
    """Return the measure of one label, told with probability e^s / (e^s + m - 1); the others share the rest."""
    (least, most), others = grid.exponential(epsilon), (classes - 1) * grid.one
    keep, other = grid.one * least // (least + others), grid.one**2 // (most + others)
    return [grid.measures([[(keep, other), (other, keep), ((classes - 2) * other,) * 2]], window, both=False)]


ALL, FLOOD = ["users", "honest"], ["shape", "p", "flood_shape", "flood_p"]
SHUFFLED, CENTRAL, LOCAL = "all messages, shuffled", "what a trusted curator publishes", "each user's own messages"
PROTOCOLS = {
    "rr": (randomized_response, [*ALL, "flip_probability", "cells", "split"], SHUFFLED),
    "nb": (partial(one_sum, kind="nb"), [*ALL, "shape", "p"], SHUFFLED),
    "poisson": (partial(one_sum, kind="poisson"), [*ALL, "mean"], SHUFFLED),
    "3nb": (pure, [*ALL, *FLOOD], SHUFFLED),
    "pure": (pure, [*ALL, *FLOOD, "drop_probability"], SHUFFLED),
    "histogram": (buckets, [*ALL, "shape", "p"], SHUFFLED),
    "selection": (buckets, [*ALL, "shape", "p"], SHUFFLED),
    "vector-sum": (vector_sum, [*ALL, "levels", "blanket_probability", "cells"], "a report an instance, shuffled"),
    "central-discrete-laplace": (two_sided, ["p"], CENTRAL),
    "central-discrete-gaussian": (two_sided, ["sigma"], CENTRAL),
    "local-rr": (local_response, ["flip_probability"], LOCAL),
    "labels": (labels, ["epsilon", "classes"], LOCAL),
}


def checked(given):
    """Return what an accepted certificate says in words, or raise Refused or Malformed."""
    names = ["format", "epsilon", "delta", "together", "bits", "grid", "tail", "window"]
    fields, typed = values(given, names)
    if not isinstance(given["together"], list) or not given["together"] or fields["format"] != FORMAT:
        raise Malformed(f"together must be a list that is not empty, and format {FORMAT!r}.")
    if fields["tail"] > fields["bits"] + 64:
        raise Malformed("tail must be at most bits + 64.")
    grid, total = Grid(*(fields[name] for name in names[4:])), None
    said = ["Accepted: " + ", ".join(typed.split(", ")[1:3]) + ", if one user's input is replaced by any other, for"]
    for entry in given["together"]:
        name = value("protocol", entry.get("protocol") if isinstance(entry, dict) else None)
        make, own, seen = PROTOCOLS.get(name, (None, [], ""))
        fields, typed = values(entry, ["protocol", "instances", *own, "window", "cuts"])
        times, cuts = fields["instances"], fields["cuts"]
        honest, cells = fields.get("honest", 0), fields.get("cells", [0, -1])
        if make is None or (cuts and cuts[-1] >= times) or honest > fields.get("users", 0):
            raise Malformed("protocol must be a protocol, cuts less than instances, and honest at most users.")
        if cells[0] or cells[-1] >= honest:
            raise Malformed("cells must begin with 0, and be less than honest.")
        factors = make(grid, fields["window"], **{name: fields[name] for name in own})
        said.append(f"  {typed}: {seen}")
        for mixed in (grid.mixes(measures, times, cuts) for measures in factors):
            total = grid.product(total, mixed) if total else mixed
    found = grid.delta(total, Fraction(given["epsilon"]))
    if found > Fraction(given["delta"]) * grid.one:
        raise Refused(f"delta is shown to be at most {Decimal(found) / grid.one:.4e} at this epsilon, no less.")
    return "\n".join(said)


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
