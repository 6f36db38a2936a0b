"""What backs the verdicts on remarks: what the texts say in passing about mechanisms, kernels, tables and noise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from dpverify.evidence import require

__all__ = [
    "accuracy_of_lemma_38",
    "amplified_without_logarithm",
    "bits_of_the_example",
    "central_sensitivity",
    "composed_reports",
    "divided_noise",
    "empty_buckets",
    "error_of_theorem_3_3",
    "features_of_algorithm_2",
    "flips_over_users",
    "frequencies_of_algorithm_2",
    "majority_is_selected",
    "mean_as_classifier",
    "mean_of_kernels",
    "messages_of_three_nb",
    "noise_of_corollary_40",
    "processed_views",
    "repeated_answers",
    "reported_counts",
    "resilient_kernel",
    "shared_prefix_of_bits",
    "sum_of_three_noises",
    "two_buckets",
]

ACCURACY = {
    "DBPedia-14": (
        ((75.5, 76.1, 73.6, 57.1, 15.2), (27.0, 27.3, 23.0, 15.4, 7.8)),
        ((79.7, 79.3, 76.1, 61.9, 15.9), (50.5, 51.3, 46.2, 30.0, 10.7)),
        ((79.5, 79.1, 77.4, 63.6, 17.6), (65.4, 66.7, 63.0, 45.2, 12.0)),
    ),
    "AG News": (
        ((60.5, 60.4, 61.7, 57.2, 36.3), (30.3, 33.5, 35.7, 31.1, 25.4)),
        ((66.8, 66.7, 66.8, 61.8, 37.1), (45.5, 41.4, 42.2, 43.6, 28.9)),
        ((67.7, 67.9, 67.9, 62.9, 40.7), (50.5, 48.8, 50.9, 41.9, 31.5)),
    ),
    "CIFAR-10": (
        ((24.1, 21.6, 21.4, 16.9, 11.6), (11.4, 10.7, 10.6, 12.0, 10.3)),
        ((34.8, 34.0, 36.1, 27.5, 11.3), (11.1, 9.1, 10.6, 9.3, 10.0)),
        ((46.7, 45.2, 44.3, 36.8, 16.7), (12.0, 8.6, 10.7, 8.7, 9.8)),
    ),
}
"""Percent by RR, as printed in wagner2025, Tables 2, 3 and 5: by epsilon, Gaussian and inner product, label budgets."""
THREE_NB_CIFAR = (
    ((73.4, 71.3, 72.9, 67.8, 39.3), (18.8, 19.6, 17.9, 13.8, 12.3)),
    ((73.1, 72.2, 71.9, 67.7, 42.8), (30.4, 28.7, 26.6, 24.4, 12.2)),
    ((71.5, 73.3, 72.8, 70.4, 40.8), (36.8, 37.1, 37.8, 25.3, 13.2)),
)


def resilient_kernel() -> dict[str, float]:
    """Count in how many printed entries the Gaussian kernel has the larger accuracy by RR; and chance on CIFAR-10."""
    better = total = 0
    for rows in ACCURACY.values():
        for gaussian, inner in rows:
            better += sum(a > b for a, b in zip(gaussian, inner, strict=True))
            total += len(inner)
    require(better == total, "The inner product is more accurate somewhere.")
    three = sum(a > b for g, i in THREE_NB_CIFAR for a, b in zip(g, i, strict=True))
    chance = [value for _, inner in ACCURACY["CIFAR-10"] for value in inner]
    return {
        "better": better,
        "total": total,
        "by_three_nb": three,
        "least_by_chance": min(chance),
        "most_by_chance": max(chance),
    }


def mean_of_kernels() -> dict[str, float]:
    """Evaluate in fractions the mean of inner products and the inner product with the mean, which are equal."""
    x, y = [(Fraction(3, 5), Fraction(4, 5)), (Fraction(0), Fraction(1))], (Fraction(5, 13), Fraction(12, 13))
    mean = sum((sum((a * b for a, b in zip(p, y, strict=True)), Fraction(0)) for p in x), Fraction(0)) / 2
    other = sum((sum((p[j] for p in x), Fraction(0)) / 2 * y[j] for j in range(2)), Fraction(0))
    require(mean == other, "They differ.")
    return {"value": float(mean)}


def mean_as_classifier() -> dict[str, float]:
    """Search, in fractions, for points whose nearest mean and whose largest inner product with a mean differ.

    |y - a|^2 < |y - b|^2 is <y, a> - |a|^2/2 > <y, b> - |b|^2/2: the means' lengths count for the distance only.
    """
    long, short = (Fraction(1), Fraction(0)), (Fraction(1, 2), Fraction(1, 10))
    y = (Fraction(3, 5), Fraction(1, 5))
    inner = [sum((a * b for a, b in zip(y, m, strict=True)), Fraction(0)) for m in (long, short)]
    square = [sum(((a - b) ** 2 for a, b in zip(y, m, strict=True)), Fraction(0)) for m in (long, short)]
    require(inner[0] > inner[1] and square[0] > square[1], "Both rules agree.")
    return {"inner_long": float(inner[0]), "inner_short": float(inner[1])}


def features_of_algorithm_2() -> dict[str, str]:
    """Put R = sqrt 2, f = sqrt 2 cos and g = sqrt 2 cos into Algorithm 1's query: the factor 2 of Algorithm 2."""
    import sympy

    b, n, phase = sympy.symbols("b n phase", real=True)
    r = sympy.sqrt(2)
    first = (2 * b - n) * r * (sympy.sqrt(2) * sympy.cos(phase))
    require(sympy.simplify(first - 2 * (2 * b - n) * sympy.cos(phase)) == 0, "The factor is another.")
    return {"factor": "2"}


def frequencies_of_algorithm_2() -> dict[str, str]:
    """Integrate cos(sqrt 2 w v) over a normal w: e^(-v^2), the kernel of bandwidth 1."""
    import sympy

    w, v = sympy.symbols("w v", positive=True)
    density = sympy.exp(-(w**2) / 2) / sympy.sqrt(2 * sympy.pi)
    mean = 2 * sympy.integrate(sympy.cos(sympy.sqrt(2) * w * v) * density, (w, 0, sympy.oo))
    require(sympy.simplify(mean - sympy.exp(-(v**2))) == 0, "The kernel is another.")
    return {"kernel": "exp(-|x - y|^2)"}


def processed_views() -> dict[str, float]:
    """Enumerate, in fractions, all maps of four views to two outputs: no divergence grows."""
    first, second = [Fraction(k, 10) for k in (4, 3, 2, 1)], [Fraction(k, 10) for k in (1, 2, 3, 4)]

    def divergence(p: list[Fraction], q: list[Fraction], power: Fraction) -> Fraction:
        return sum((max(a - power * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))

    largest = Fraction(0)
    for power in (Fraction(1), Fraction(3, 2), Fraction(3)):
        whole = divergence(first, second, power)
        for mapped in product((0, 1), repeat=4):
            one, other = (
                [sum((m for m, to in zip(law, mapped, strict=True) if to == y), Fraction(0)) for y in (0, 1)]
                for law in (first, second)
            )
            largest = max(largest, divergence(one, other, power) - whole)
    require(largest == 0, "Processing increases a divergence.")
    return {"largest_increase": float(largest)}


def messages_of_three_nb() -> dict[str, float]:
    """Evaluate the expected messages of 3NB for a bitsum of an experiment's kind, for three constants c.

    n = 40,000 (a class of DBPedia-14), 768 instances, eps = 7 by Theorem 3.2, delta0 = delta / (2 I).
    """
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import three_nb as formulas
    from dpverify.search import smallest

    instances, delta, n = 768, 1e-6, 40_000
    log = math.log(2.0 / delta)

    def exceeds(each: float) -> bool:
        return instances * each * math.expm1(each) + each * math.sqrt(2 * instances * log) >= 7.0

    each = float(smallest(exceeds, 0.01, 10.0, 1e-6) or 0.0)
    delta0 = delta / 2 / instances
    found = {"epsilon0": each}
    for name, c in (("fifth", 0.2), ("half", 0.5), ("one", 1.0)):
        p, shape = formulas.noise_p(FLOATS, each), formulas.flood_shape(FLOATS, each, delta0)
        flood = formulas.flood_p(FLOATS, each, delta0, c)
        found[f"messages_{name}"] = float(formulas.expected_messages_per_user(FLOATS, n, p, shape, flood, 0.5, 1))
    require(found["messages_fifth"] > found["messages_one"], "A smaller constant sends fewer messages.")
    return found


def central_sensitivity() -> dict[str, str]:
    """Divide the densities of Lap(1/(n eps)) around two means that differ by 1/n: e^eps where both are on one side."""
    import sympy

    n, e, x = sympy.symbols("n e x", positive=True)
    ratio = sympy.exp(-(x + 0) * n * e) / sympy.exp(-(x + 1 / n) * n * e)
    require(sympy.simplify(ratio - sympy.exp(e)) == 0, "The ratio is another.")
    return {"ratio": "e^eps"}


def repeated_answers() -> dict[str, float]:
    """Enumerate a remembered answer that is told three times, in fractions: the ratio is that of one telling."""
    p = Fraction(3, 4)
    fresh = max((p / (1 - p)) ** yes * ((1 - p) / p) ** (3 - yes) for yes in range(4))
    require(fresh == (p / (1 - p)) ** 3, "Three fresh answers have another ratio.")
    return {"remembered": float(p / (1 - p)), "fresh": float(fresh)}


def shared_prefix_of_bits() -> dict[str, str]:
    """Compose both steps of RAPPOR for a bit that is 0 and one that is 1: p* and q*."""
    import sympy

    f, p, q = sympy.symbols("f p q", positive=True)
    one = (1 - f / 2) * q + f / 2 * p
    zero = f / 2 * q + (1 - f / 2) * p
    require(sympy.simplify(zero - (f * (p + q) / 2 + (1 - f) * p)) == 0, "p* is another.")
    require(sympy.simplify(one - (f * (p + q) / 2 + (1 - f) * q)) == 0, "q* is another.")
    return {"zero": "f (p+q)/2 + (1-f) p", "one": "f (p+q)/2 + (1-f) q"}


def bits_of_the_example() -> dict[str, float]:
    """Compute, in fractions, how often two of four set bits survive at f = 1/2, and both are reported at q = 3/4."""
    kept = Fraction(3, 4)  # 1 - f/2
    two = 6 * kept**2 * (1 - kept) ** 2
    both = two * Fraction(3, 4) ** 2
    require(Fraction(1, 100) < both < Fraction(1, 2), "The example is no typical one.")
    return {"two": float(two), "both": float(both)}


def noise_of_corollary_40() -> dict[str, float]:
    """Enclose (1 - e^(-0.2 eps)) / eps at eps = 1, its least on (0, 1]: T = 2r / (1-p) is at most 11.1 r / eps."""
    import flint

    least = 1 - (-flint.arb("0.2")).exp()  # concave in eps and 0 at 0: at least its chord
    require(least > flint.arb("0.18"), "The quotient is below 0.18.")
    return {"constant": float(2 / least)}


def divided_noise() -> dict[str, float]:
    """Convolve, in fractions, four laws NB(1/2, p), to 30 terms: NB(2, p), term by term."""
    p, terms = Fraction(1, 3), 30

    def law(shape: Fraction) -> list[Fraction]:
        """Return the pmf without its factor (1-p)^shape."""
        found = [Fraction(1)]
        for z in range(1, terms):
            found.append(found[-1] * p * (z + shape - 1) / z)
        return found

    total, piece = [Fraction(1)] + [Fraction(0)] * (terms - 1), law(Fraction(1, 2))
    for _ in range(4):
        total = [sum((total[k] * piece[z - k] for k in range(z + 1)), Fraction(0)) for z in range(terms)]
    require(total == law(Fraction(2)), "The sum has another law.")
    return {"terms": terms}


def two_buckets() -> dict[str, float]:
    """Compose two of the worst (eps/2, delta/2) mechanisms, in fractions: at most (eps, delta) for e^(eps/2) = 3/2."""
    power, delta = Fraction(3, 2), Fraction(1, 100)
    # The worst mechanism: it fails outright with delta/2, else it is randomized response at eps/2 (kairouz2015).
    lie = 1 / (1 + power)
    outcomes = [(delta / 2, Fraction(0)), ((1 - delta / 2) * (1 - lie), (1 - delta / 2) * lie)]
    outcomes += [((1 - delta / 2) * lie, (1 - delta / 2) * (1 - lie)), (Fraction(0), delta / 2)]
    total = sum(
        (max(a * c - power**2 * b * d, Fraction(0)) for (a, b), (c, d) in product(outcomes, repeat=2)), Fraction(0)
    )
    require(total <= delta, "Two buckets cost more.")
    return {"share": float(total / delta)}


def majority_is_selected() -> dict[str, float]:
    """Check that a count of 0.8 n and a selection within 0.1 n leave no other choice, for all counts of ten users."""
    for counts in product(range(11), repeat=3):
        if sum(counts) == 10 and counts[0] >= 8:
            chosen = [k for k in range(3) if counts[k] >= max(counts) - 1]
            require(chosen == [0], "Another hypothesis may be selected.")
    return {"least_lead": 0.6}


def composed_reports() -> dict[str, float]:
    """Compose ten pure mechanisms of eps = 0.1 by the two-valued law: below the sum, and next to it at delta = 0."""
    from dpverify.formulas.contexts import upper_float
    from dpverify.privacy_loss.losses.two_valued import composed_epsilon

    pure, small = upper_float(composed_epsilon(0.1, 10, 0.0)), upper_float(composed_epsilon(0.1, 10, 1e-6))
    require(small < pure <= 1.0 + 1e-12, "Pure composition exceeds the sum.")
    return {"pure": pure, "small": small}


def error_of_theorem_3_3() -> dict[str, str]:
    """Put I = 1/alpha^2, R = sqrt 2 and E = sqrt(log) / (alpha eps) into Theorem 3.2's error."""
    import sympy

    a, e, n, log = sympy.symbols("a e n log", positive=True)
    noise = sympy.sqrt(log) / (a * e)
    squared = 16 * 4 * (1 + (noise / n) ** 2) * a**2
    require(sympy.simplify(squared - 64 * a**2 * (1 + log / (a * e * n) ** 2)) == 0, "The error is another.")
    return {"error": "8 alpha sqrt(1 + log(1/delta) / (alpha eps n)^2)"}


def sum_of_three_noises() -> dict[str, float]:
    """Enumerate b + z1 + z3 - (z2 + z3) over small noises, and compare the error with that at p = e^-eps0."""
    require(
        all(b + z1 + z3 - (z2 + z3) == b + z1 - z2 for b, z1, z2, z3 in product((0, 1), range(4), range(4), range(4))),
        "The flood does not cancel.",
    )

    def error(p: float) -> float:
        return math.sqrt(2.0 * p) / (1.0 - p)

    return {
        f"more_{name}": error(math.exp(-0.99 * e)) / error(math.exp(-e)) - 1.0
        for name, e in (("small", 0.01), ("one", 1.0))
    }


def flips_over_users() -> dict[str, float]:
    """Differentiate both branches of Lemma 4.8's flip probability by n: both fall."""
    import sympy

    e, n, log = sympy.symbols("e n L", positive=True)
    first = 32 * log / (e**2 * n)
    second = sympy.Rational(1, 2) - e * sympy.sqrt(n) / (2 * sympy.sqrt(432 * log))
    require(sympy.diff(first, n).is_negative and sympy.diff(second, n).is_negative, "A branch grows.")
    return {"branches": 2.0}


def reported_counts() -> dict[str, float]:
    """Enumerate the counts of two users' reported labels, in fractions: their ratio is at most e^eps."""
    e, m = Fraction(3), 3
    keep, other = e / (e - 1 + m), 1 / (e - 1 + m)

    def counts(labels: tuple[int, int]) -> dict[tuple[int, ...], Fraction]:
        law: dict[tuple[int, ...], Fraction] = {}
        for reports in product(range(m), repeat=2):
            mass = math.prod(
                (keep if a == b else other for a, b in zip(labels, reports, strict=True)), start=Fraction(1)
            )
            seen = tuple(sorted(reports))
            law[seen] = law.get(seen, Fraction(0)) + mass
        return law

    largest = Fraction(0)
    for a, b, c in product(range(m), repeat=3):
        first, second = counts((a, c)), counts((b, c))
        largest = max(largest, *(first[seen] / second[seen] for seen in first))
    require(largest <= e, "The counts lose more than eps.")
    return {"largest_ratio": float(largest)}


def amplified_without_logarithm() -> dict[str, float]:
    """Account for epsilon0 = 1/2 and n = 10^5 at delta = 1e-5 and 1e-12, in units of epsilon0 / sqrt(n)."""
    from dpverify.privacy_loss.shuffling.amplification import pure

    found = {}
    for name, delta in (("large", 1e-5), ("small", 1e-12)):
        found[f"at_{name}"] = pure(0.5, 10**5).epsilon(delta).lower / (0.5 / math.sqrt(1e5))
    require(found["at_small"] > 1.5 * found["at_large"] > 0.0, "The constant does not depend on delta.")
    return found


def empty_buckets() -> dict[str, float]:
    """Enumerate a bucket that none of three users holds: n minus the count of zeros is never above 0."""
    outputs = {max(3 - sum(1 + z for z in noise), 0) for noise in product(range(5), repeat=3)}
    require(outputs == {0}, "An empty bucket gets a count.")
    return {"output": 0.0}


def accuracy_of_lemma_38() -> dict[str, float]:
    """Evaluate the exact quantile of the noise of Theorem 39's least shape beside log(1/(delta beta)) / eps."""
    from scipy import stats

    worst = 0.0
    for epsilon, delta, beta in product((0.1, 0.5, 0.99), (0.1, 1e-3, 1e-9), (0.3, 1e-2, 1e-6)):
        p, shape = math.exp(-0.2 * epsilon), 3.0 * (1.0 + math.log(1 / delta))
        quantile = float(stats.nbinom.isf(beta, shape, 1 - p))
        worst = max(worst, quantile * epsilon / math.log(1 / (delta * beta)))
    require(worst < 50.0, "The constant is 50 or more.")
    return {"constant": worst}
