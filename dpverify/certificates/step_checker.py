"""Accept or refuse a certificate of what noisy steps reveal, as those of DP-SGD, with integers alone.

    python step_checker.py FILE        exits with 0: accepted, 1: refused, 2: not a certificate

It needs Python's standard library alone, and accepts only if P(S) <= e^epsilon Q(S) + delta of every event S of what
all steps release, on any two neighbouring datasets, each step chosen by what earlier ones released, as
docs/step_certificates.md proves, rule by rule. Node k is b^k, b = 1 + 2^-grid. A measure is (first node, masses, mass
at infinity) and stands for G(a) = infinite + sum of m_k max(0, 1 - a b^-k), in place of a pair (P, Q) of which
H(a) = sum max(0, P - a Q) <= G(a). Numbers are over 2^bits, rounded down where they help the claim, up where they hurt;
logarithms and the normal law are over 2^deep, with what they may be off by.
"""

import json
import re
import sys
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation, Rounded
from fractions import Fraction
from functools import cache, reduce
from itertools import accumulate, pairwise
from math import ceil, floor, isqrt

FORMAT, MOST_BYTES, MOST_NODES, MOST_WORK = "dpverify step certificate 1", 10**6, 2**17, 2 * 10**10
EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact, Rounded, InvalidOperation])
PI = 314159265358979323846264338327950288419716939937510582097494  # over 10^59, rounded down


class Refused(Exception):
    """The claim is not shown, or takes too much work."""


def over(numerator, denominator):
    return -(-numerator // denominator)


class Checker:
    """How numbers are rounded, and how much work is left; all that is computed of steps and their measures."""

    def __init__(self, bits, grid, window):
        self.bits, self.grid, self.window, self.left, self.deep = bits, grid, window, MOST_WORK, bits + 256
        self.one, self.top, self.bottom = 1 << bits, (1 << grid) + 1, 1 << grid  # b = top / bottom
        self.powers, self.whole = ([self.one], [self.one]), 1 << self.deep
        self.root = isqrt((10**59 << 2 * self.deep) // (2 * PI))  # 1 / sqrt(2 pi)
        self.two, self.exponential = self.near(2 * self.whole), cache(self.exponential)

    def work(self, steps):
        self.left -= steps * (self.bits + 160)  # some 2 ns each
        if self.left < 0:
            raise Refused("To check this takes more work than the checker does.")

    def node(self, k):
        """Return a lower bound on b^k, over 2^bits; no claim needs one of 2^4096."""
        powers = self.powers[k >= 0]
        while len(powers) <= abs(k):
            powers.append(powers[-1] + (powers[-1] >> self.grid) if k >= 0 else powers[-1] * self.bottom // self.top)
            self.work(2 * MOST_WORK if powers[-1] >> self.bits + 4096 else 1)
        return powers[abs(k)]

    def exponential(self, x):
        """Return a lower and an upper bound on e^x, over 2^bits, for a fraction x from 0 to 1000."""
        term, total, i = 1 << self.bits + 2000, 0, 0
        while term or i < 2 * x:
            total, i = total + term, i + 1
            term = term * x.numerator // (x.denominator * i)
        self.work(4 * i)
        return total >> 2000, (total >> 2000) + 2  # all that was rounded, and what is left, is below 2^2000

    def near(self, m):
        """Return about ln m, for m from 1/2 to 2, all over 2^deep: 2 artanh((m - 1) / (m + 1))."""
        term, total, n = (m - self.whole << self.deep) // (m + self.whole), 0, 1
        square = term * term >> self.deep
        while abs(term) > 1:
            total, term, n = total + term // n, term * square >> self.deep, n + 2
        self.work(n)
        return 2 * total

    def logarithm(self, x):
        """Return a lower and an upper bound on ln x, over 2^deep: rule 2."""
        n, d = x.as_integer_ratio()
        shift = n.bit_length() - d.bit_length()
        found = self.near((n << self.deep + max(0, -shift)) // (d << max(0, shift))) + shift * self.two
        return found - (1 << 32), found + (1 << 32)

    def tail(self, x):
        """Return a lower and an upper bound on what the normal law has beyond x, all over 2^deep: rule 2."""
        size, n, parts = min(abs(x), 16 * self.whole), 0, [0, 0]
        term, half = size, size * size >> self.deep + 1
        while term:  # of the series of sqrt(2 pi) (Phi(size) - 1/2), whose signs alternate
            parts[n % 2] += term // (2 * n + 1)
            n += 1
            term = (term * half >> self.deep) // n
        self.work(2 * n)
        area = (parts[0] - parts[1]) * self.root >> self.deep
        found = (self.whole >> 1) - area if x >= 0 else (self.whole >> 1) + area
        return found - (self.whole >> self.bits + 4), found + (self.whole >> self.bits + 4)

    def gaussian(self, a, noise):
        """Return an upper bound on H(a) of normal noise that moves by 1: rule 3."""
        self.work(150)
        (low, high), middle = self.logarithm(a), self.whole / (2 * noise)
        beyond, under = self.tail(floor(low * noise - middle))[1], self.tail(ceil(high * noise + middle))[0]
        return (beyond - a * under) / self.whole

    def laplace(self, a, noise):
        """Return an upper bound on H(a) of Laplace noise that moves by 1: rule 3."""
        self.work(150)
        root = Fraction(isqrt(int(a * self.whole**2)), self.whole)
        return max(Fraction(0), 1 - a, 1 - root * self.one / self.exponential(1 / (2 * noise))[1])

    def opposite(self, rate, a, noise):
        """Return an upper bound on H(a), a >= 1, of normal noise that moves by 1 or by -1 with this rate: rule 4."""
        self.work(300)
        logs, step = [], self.whole / noise
        for side, factor in enumerate(self.exponential(1 / (2 * noise**2))):
            half = (a - 1) * (1 - rate) * factor / (2 * rate * self.one)
            root = Fraction(isqrt(floor((half**2 + a) * self.whole**2)) + side, self.whole)
            logs.append(self.logarithm(half + root)[side] * noise)
        beyond = self.tail(floor(logs[0] - step))[1]
        under, less = (self.tail(ceil(logs[1] + d))[0] for d in (0, step))
        return (rate * (beyond - a * less) - (a - 1) * (1 - rate) * under) / self.whole

    def sampled(self, a, law, noise, rate):
        """Return an upper bound on H(a) of noise that moves with this probability against noise: rule 4."""
        inner = 1 + (a - 1) / rate
        return rate * law(self, inner, noise) if inner > 0 else 1 - a

    def height(self, a, way, own):
        """Return an upper bound on H(a) of one step in this direction, or of both where a record is replaced."""
        if a and (way == BACK or (way == EITHER and a < 1)):
            return 1 - a + a * self.sampled(1 / a, *own)
        return self.sampled(a, *own)

    def step(self, way, own, cells):
        """Return a measure of one step by its heights where cells begin and end: rule 5."""
        self.work(10 * len(cells) + cells[-1] - cells[0])
        found = ((k, self.height(Fraction(self.node(k), self.one), way, own)) for k in reversed(cells))
        heights = [(k, over(h.numerator << self.bits, h.denominator)) for k, h in found]
        masses, total, weighted = [0] * (cells[-1] - cells[0] + 1), heights[0][1], 0
        for (after, _), (k, height) in pairwise(heights):
            less = over(self.one**2, self.node(after - k))  # b^-(after - k), from above
            mass = max(0, over((height - total) * self.one + weighted * less, self.one - less))
            total, weighted = total + mass, over((weighted + mass) * less, self.one)
            masses[after - cells[0]] = mass
        masses[0] = max(0, self.one - total)
        return cells[0], masses, heights[0][1]

    def multiplied(self, ours, theirs):
        """Return the product of two polynomials, as digits of a number where none is carried."""
        digits, terms = len(str(max(ours) * max(theirs) * min(len(ours), len(theirs)))), len(ours) + len(theirs) - 1
        self.work((terms + 8) * (2 + digits // 8))
        numbers = (Decimal("".join(format(mass, f"0{digits}d") for mass in masses)) for masses in (ours, theirs))
        text = format(EXACT.multiply(*numbers), "f").zfill(terms * digits)
        return [int(text[at : at + digits]) for at in range(0, terms * digits, digits)]

    def allocated(self, law, noise, steps, fine, ratios, top):
        """Return bounds on H of so many steps, in one of which the record is, whichever: rule 7.

        They are (c, first, n_j, s_j): c + s_j - n_j x bounds E (y_1 + ... + y_steps - x)+ from node j - 1 to j.
        """
        scale = self.one << fine
        found = ((j, self.height(Fraction(j, 1 << fine), THERE, (law, noise, Fraction(1)))) for j in reversed(ratios))
        heights = [(j, over(h.numerator * scale, h.denominator)) for j, h in found]
        masses, total, value = [0] * (ratios[-1] - ratios[0] + 1), 0, heights[0][1]
        for (after, _), (j, height) in pairwise(heights):
            masses[after - ratios[0]] = mass = max(0, over(height - value, after - j) - total)
            total, value = total + mass, value + (total + mass) * (after - j)
        masses[0] = max(0, self.one - total)
        one = ratios[0], masses, heights[0][1]
        first, masses, lost = self.power({1: one}, steps, lambda one, other: self.added(one, other, top))
        self.work(len(masses))
        parts = masses, [j * mass for j, mass in enumerate(masses, first)]
        return lost, first, *([*accumulate(reversed(part), initial=0)][::-1] for part in parts)

    def added(self, one, other, top):
        """Return a measure that dominates the sum of two ratios, up to a largest node: rule 7."""
        (first, ours, lost), (second, theirs, gone) = one, other
        masses, first = self.multiplied(ours, theirs), first + second
        size = max(1, top + 1 - first)
        kept, beyond = masses[:size], masses[size:]
        kept[-1] += sum(beyond)
        gone = gone * sum(ours) + sum(k * mass for k, mass in enumerate(beyond, 1))
        return first, [over(mass, self.one) for mass in kept], lost + over(gone, self.one)

    def once(self, a, found, steps, fine):
        """Return an upper bound on H(a) of steps, in one of which the record is, by what `allocated` found: rule 7."""
        lost, first, least, terms = found
        x = a * (steps << fine)
        j = min(max(floor(x) + 1 - first, 0), len(least) - 1)
        return (lost + terms[j] - least[j] * x) / (self.one * steps << fine)

    def product(self, one, other):
        """Return a measure that dominates two together, inside the window: rule 6."""
        (first, ours, lost), (second, theirs, gone) = one, other
        masses, first = self.multiplied(ours, theirs), first + second
        low = max(self.window[0], first)
        below, above = low - first, max(self.window[1] + 1 - first, 0)
        infinite = lost * (sum(theirs) + gone) + gone * sum(ours) + sum(masses[above:])
        kept = masses[below:above] or [0]
        kept[0] += sum(masses[: min(below, above)])
        if infinite >= self.one**2 or sum(kept) > 2 * self.one**2:
            raise Refused("All is lost: the window, or the numbers, are too small for so many steps.")
        return min(low, self.window[1]), [over(mass, self.one) for mass in kept], over(infinite, self.one)

    def power(self, known, times, product):
        """Return a measure that dominates so many together, from those that are known by how many, and so is then."""
        if times not in known:
            most = max(number for number in known if number <= times)
            part = times // 2 if 2 * most <= times else most
            known[times] = product(self.power(known, part, product), self.power(known, times - part, product))
        return known[times]

    def delta(self, measure, epsilon):
        """Return an upper bound on a measure's G(e^epsilon), over 2^bits."""
        (first, masses, infinite), (factor, _) = measure, self.exponential(epsilon)
        kept = (m * max(0, self.one - (factor * self.node(-k) >> self.bits)) for k, m in enumerate(masses, first))
        return infinite + over(sum(kept), self.one)


LAWS = {"gaussian": Checker.gaussian, "laplace": Checker.laplace}
THERE, BACK, EITHER = "with the record against without it", "without it against with it", "whichever is worse"
CHANGES = {
    "add-remove": "is added or removed",
    "zero-out": "becomes one that adds nothing",
    "replace-one": "is replaced",
}
SAMPLES = {"poisson": "each record by itself", "fixed-size": "batches without replacement"}
WHOLE, DECIMAL, WORD = "an integer", "a decimal in a string", "a word"
FIELDS = {
    "epsilon": (DECIMAL, 0, 1000),
    "delta": (DECIMAL, 0, 1),
    "rate": (DECIMAL, 0, 1),
    "adjacency": (WORD, CHANGES),
}
FIELDS |= {"bits": (WHOLE, 32, 176), "grid": (WHOLE, 1, 20), "window": (WHOLE, -MOST_NODES, MOST_NODES, 2, 2)}
FIELDS |= {"pass": (WHOLE, 1, MOST_NODES), "fine": (WHOLE, 0, 40), "top": (WHOLE, 1, MOST_NODES)}
FIELDS |= {"ratios": (WHOLE, 0, MOST_NODES, 2, 50_000)}
FIELDS |= {"law": (WORD, LAWS), "sampling": (WORD, SAMPLES), "cells": (WHOLE, -MOST_NODES, MOST_NODES, 2, 50_000)}
FIELDS |= {"steps": (WHOLE, 1, 10**9)} | dict.fromkeys(["noise", "sensitivity"], (DECIMAL, 0, 10**18))
CLAIM = ["epsilon", "delta", "adjacency", "bits", "grid", "window"]
ENTRY = ["law", "noise", "sensitivity", "sampling", "rate", "steps", "cells"]
ONCE = ["law", "noise", "sensitivity", "pass", "steps", "fine", "top", "ratios", "cells"]
TYPED = re.compile(r"[0-9]{1,40}([.][0-9]{1,80})?(e[-+]?[0-9]{1,2})?").fullmatch
FORM = "of at most 40 digits, 80 more behind the point and an exponent of two"


def values(given, words, names):
    """Return the values of an object's fields, those of decimals as fractions; it must have these words besides."""
    if not isinstance(given, dict) or given.keys() != {*words, *names}:
        raise ValueError(f"There must be an object with exactly these fields: {', '.join([*words, *names])}.")
    found = {name: given[name] for name in names}
    for name, typed in found.items():
        kind, *ends = FIELDS[name]
        if kind is WORD:
            valid, kind = isinstance(typed, str) and typed in ends[0], f"one of {', '.join(ends[0])}"
        elif kind is DECIMAL:
            valid, kind = isinstance(typed, str) and TYPED(typed), f"{kind} in ({ends[0]}, {ends[1]}], {FORM}"
            found[name] = Fraction(typed) if valid else None
            valid = valid and ends[0] < found[name] <= ends[1]
        else:
            low, high, least, most = (*ends, 1, 1)[:4]
            many = f"{least} to {most}" if least < most else least
            listed, kind = (typed, f"a list of {many} increasing integers") if len(ends) > 2 else ([typed], kind)
            kind += f" from {low} to {high}"
            valid = isinstance(listed, list) and least <= len(listed) <= most and {*map(type, listed)} <= {int}
            valid = valid and all(one < other for one, other in pairwise([low - 1, *listed, high + 1]))
        if not valid:
            raise ValueError(f"{name} must be {kind}.")
    return found


def moves(adjacency, law, sampling, rate):
    """Return how often the sum moves by its sensitivity where the record is in the sample: rule 1."""
    if adjacency == "replace-one" and (sampling == "fixed-size" or rate == 1):
        return 2
    if adjacency == "add-remove" or (adjacency == "zero-out" and sampling == "poisson"):
        return 1 if sampling == "poisson" else 2
    if adjacency == "replace-one" and law == "gaussian":
        return 1  # either way
    raise ValueError(f"adjacency={adjacency!r} has no certificate with {law} noise where sampling is {sampling}.")


def entry_of(given, adjacency):
    """Return the law of a step, its noise and its rate; its cells; how many there are; and what is said of them."""
    once = isinstance(given, dict) and "pass" in given
    found = values(given, [], ONCE if once else ENTRY)
    if once and adjacency == "replace-one":
        raise ValueError("adjacency='replace-one' has no certificate where each record is in one step of a pass.")
    how = (found.get("law"), "poisson", Fraction(1)) if once else [found[name] for name in ("law", "sampling", "rate")]
    noise = found["noise"] / found["sensitivity"] / moves(adjacency, *how)
    if not Fraction(1, 40) <= noise <= 10**9:
        raise ValueError("noise over sensitivity, and over what it moves by, must be from 1/40 to 10^9.")
    said = ", ".join(f"{name} {given[name]}" for name in (ONCE[:5] if once else ENTRY[:-1]))
    own = LAWS[found["law"]], noise, found.get("rate", Fraction(1))
    if once:
        steps, fine, top, ratios = (found[name] for name in ONCE[3:4] + ONCE[5:8])
        made = cache(lambda grid: grid.allocated(LAWS[found["law"]], noise, steps, fine, ratios, top))
        own = (lambda grid, a, noise: grid.once(a, made(grid), steps, fine)), noise, Fraction(1)
        return own, found["cells"], found["steps"], f"  {said} (each record in one step of a pass, at random)"
    if adjacency == "replace-one" and found["sampling"] == "poisson" and found["rate"] < 1:
        own = (lambda grid, a, noise: grid.opposite(found["rate"], a, noise)), noise, Fraction(1)
    return own, found["cells"], found["steps"], f"  {said} ({SAMPLES[found['sampling']]})"


def composed(given):
    """Return the checker, measures of all steps together, one of which is worst, the claim, and what is said of it."""
    claim = values(given, ["format", "together"], CLAIM)
    together, adjacency = given["together"], claim["adjacency"]
    if given["format"] != FORMAT or not isinstance(together, list) or not together:
        raise ValueError(f"format must be {FORMAT!r}, and together a list of one or more.")
    grid = Checker(claim["bits"], claim["grid"], claim["window"])
    entries = [entry_of(one, adjacency) for one in together]
    said = [f"Accepted: epsilon {given['epsilon']}, delta {given['delta']}, if one record {CHANGES[adjacency]}, for"]
    totals = []
    for way in [EITHER] if adjacency == "replace-one" else [THERE, BACK]:
        parts = (grid.power({1: grid.step(way, own, cells)}, steps, grid.product) for own, cells, steps, _ in entries)
        totals.append(reduce(grid.product, parts))
    return grid, totals, claim, "\n".join([*said, *(words for *_, words in entries)])


def checked(given):
    """Return what an accepted certificate says in words, or raise Refused or ValueError."""
    grid, totals, claim, said = composed(given)
    if (found := max(grid.delta(total, claim["epsilon"]) for total in totals)) > claim["delta"] * grid.one:
        raise Refused(f"delta is shown to be at most {Decimal(found) / grid.one:.4e} at this epsilon, no less.")
    return said


def main(path):
    try:
        with open(path, encoding="ascii") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES or re.search(r"(?<![0-9])[0-9]{600}", text):
            raise ValueError(f"It has more than {MOST_BYTES} characters, or a number of 600 digits or more.")
        once = {"object_pairs_hook": lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else None}
        print(checked(json.loads(text, **once, parse_float=Decimal, parse_constant=Decimal)))
        return 0
    except (Refused, OSError, ValueError, ArithmeticError, RecursionError) as reason:
        own = {RecursionError: "It is nested too deeply.", UnicodeDecodeError: "It has bytes that are not ASCII."}
        own |= {json.JSONDecodeError: f"It is no JSON: {reason}.", IsADirectoryError: "It is a folder."}
        print(f"{'Refused' if isinstance(reason, Refused) else 'Not a certificate'}: {own.get(type(reason), reason)}")
        return 1 if isinstance(reason, Refused) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else print(__doc__) or 2)
