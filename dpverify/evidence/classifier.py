"""What backs the verdicts on the classifier: its labels, its counts, and the experiments with it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from dpverify.changes import Full
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.classifier import counts_reveal
from dpverify.evidence import require
from dpverify.formulas.protocols.randomized_response import HYPOTHESES
from dpverify.guarantee import ThreatModel
from dpverify.search import smallest


def labels() -> dict[str, float]:
    """Divide the probabilities of m-ary randomized response symbolically: the largest ratio is e^eps."""
    import sympy

    e, m = sympy.symbols("e m", positive=True)  # e: e^eps
    keep = e / (e - 1 + m)
    other = (1 - keep) / (m - 1)
    require(sympy.simplify(keep / other - e) == 0, "The largest ratio is another.")
    return {"attained": 1.0}


def labels_enumerated() -> dict[str, float]:
    """Enumerate all pairs of five labels, in fractions: every two attain e^eps, and some reports have no loss."""
    e, m = Fraction(3), 5
    keep = e / (e - 1 + m)
    law = [[keep if a == b else (1 - keep) / (m - 1) for b in range(m)] for a in range(m)]
    for a, b in product(range(m), repeat=2):
        ratios = [x / y for x, y in zip(law[a], law[b], strict=True)]
        require(a == b or max(ratios) == e, "Two labels do not attain eps.")
    return {"without_loss": float(m - 2)}


def code_of_labels() -> dict[str, float]:
    """Compare the program's label randomizer, kept or uniform over all m labels, with the text's, in fractions."""
    for e, m in product((Fraction(3), Fraction(20)), (2, 5, 14)):
        kept = (e - 1) / (e - 1 + m)
        require(kept + (1 - kept) / m == e / (e - 1 + m), "The laws differ.")
        require((1 - kept) / m == (1 - e / (e - 1 + m)) / (m - 1), "The laws differ.")
    return {"same": 1.0}


def one_user_classes() -> dict[str, float]:
    """Enumerate, for one user and two classes, what the corollary's two adversaries see, in floats that are exact laws.

    Bits by randomized response at eps, labels at eps_lbl: the view is the reported label and the reported bit.
    """
    epsilon, label = 0.7, 1.1
    keep, right = math.exp(label) / (math.exp(label) + 1), math.exp(epsilon) / (math.exp(epsilon) + 1)

    def view(bit: int, own: int) -> dict[tuple[int, int], float]:
        return {
            (r, y): (keep if r == own else 1 - keep) * (right if y == bit else 1 - right)
            for r, y in product((0, 1), repeat=2)
        }

    def divergence(first: dict[tuple[int, int], float], second: dict[tuple[int, int], float], at: float) -> float:
        return sum(max(mass - math.exp(at) * second[key], 0.0) for key, mass in first.items())

    users = list(product((0, 1), repeat=2))
    both = max(divergence(view(*u), view(*v), epsilon + label) for u in users for v in users)
    point = max(divergence(view(*u), view(*v), epsilon) for u in users for v in users if u[1] == v[1])
    require(max(both, point) < 1e-12, "The communication-threat guarantee fails for one user.")
    return {"point_and_label": both, "point": point}


def counts_are_labels() -> dict[str, float]:
    """Evaluate what the reported counts alone give away with one user: keep (1 - e^(eps - eps_lbl))."""
    found = counts_reveal(0.5, 2.0, 2)
    keep = math.exp(2.0) / (math.exp(2.0) + 1.0)
    require(abs(found - keep * (1.0 - math.exp(-1.5))) < 1e-12, "The counts reveal another delta.")
    return {"delta_of_counts": found}


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


def collected_vocabulary() -> dict[str, float]:
    """Enumerate two neighbouring datasets whose vocabulary is the users' own words: the outputs never agree."""
    first, second = {"common", "rare"}, {"common"}
    outputs = [sorted(words) for words in (first, second)]
    require(outputs[0] != outputs[1], "The vocabulary tells nothing.")
    return {"delta": 1.0}


def code_of_central() -> dict[str, float]:
    """Compare the noise of the program's central baseline with what replacing one user's features changes.

    Features in [-1, 1] average over n users: replacing one moves each by 2/n, so the 2-norm of I of them moves by
    2 sqrt(I)/n, and the program's noise is for sqrt(I)/n. The exact epsilon of Gaussian noise of that size, at eps = 2.
    """
    epsilon, delta = 2.0, 1e-6
    sigma = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon  # in units of sqrt(I)/n

    def exact(eps: float, shift: float) -> float:
        def phi(x: float) -> float:
            return math.erfc(-x / math.sqrt(2.0)) / 2.0

        mu = shift / sigma
        return phi(mu / 2 - eps / mu) - math.exp(eps) * phi(-mu / 2 - eps / mu)

    found = smallest(lambda eps: exact(eps, 2.0) <= delta, 0.1, 50.0, 1e-6)
    require(found is not None and found > epsilon, "The program's baseline keeps to its epsilon.")
    return {"exact_epsilon": float(found or 0.0), "one_sided": exact(epsilon, 1.0)}


def deltas_of_experiments() -> dict[str, float]:
    """Multiply delta by the number of training examples, for the four data sets of section 4."""
    sizes = {"dbpedia": (560_000, 1e-6), "ag_news": (120_000, 1e-6), "sst2": (67_300, 1e-5), "cifar": (50_000, 1e-5)}
    found = {name: users * delta for name, (users, delta) in sizes.items()}
    require(max(found.values()) < 1.0, "A delta is above 1/n.")
    return found


RUNS = {
    "DBPedia-14": (560_000 // 14, 768, 1e-6, (2.0, 4.5, 7.0)),
    "AG News": (120_000 // 4, 768, 1e-6, (2.0, 4.5, 7.0)),
    "SST2": (67_300 // 2, 768, 1e-5, (2.0, 4.5, 7.0)),
    "CIFAR-10": (50_000 // 10, 6144, 1e-5, (1.5, 3.0, 4.7)),
}
"""Of wagner2025, Tables 2 to 5: users of a class, instances I = d, delta, and the epsilons of RR."""


def _each(epsilon: float, instances: int, delta: float) -> float:
    """Return the eps0 at which Theorem 3.2 with delta' = delta/2 and S = 1 gives epsilon."""
    root = math.sqrt(2 * instances * math.log(2.0 / delta))
    found = smallest(lambda each: instances * each * math.expm1(each) + each * root >= epsilon, 1e-3, 1.0, 1e-9)
    return float(found or 0.0)


def runs_of_response() -> dict[str, float]:
    """Compare eps0 of Theorem 3.2 with Lemma 4.8's range in the twelve settings of RR, and account for each.

    delta0 = delta / (2 I), as section 4 says, with S = 1 and as many users as a class has.
    """
    claims, outside, worst, found = BITSUM_CLAIMS["rr"], 0, 0.0, {}
    (bound,) = (each for each in HYPOTHESES if "3456" in each.statement)
    for n, instances, delta, epsilons in RUNS.values():
        delta0 = delta / (2 * instances)
        for epsilon in epsilons:
            each = _each(epsilon, instances, delta)
            values = {"epsilon0": each, "delta0": delta0, "n": n}
            outside += not bound.holds(*(values[name] for name in bound.parameters))
            curve = claims.curve(claims.published(n, each, delta0), Full(1), ThreatModel.COMMUNICATION)
            worst = max(worst, curve.delta(each).upper / delta0)
            if (n, epsilon) == (30_000, 2.0):
                found = {"ag_news": each, "needed": math.sqrt(3456.0) * math.log(4.0 / delta0) / n}
    require(outside > 0 and worst <= 1.0, "All runs are inside the range, or one is not private.")
    return found | {"outside": outside, "runs": 12, "worst": worst}


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


TABLE_2_INNER_PRODUCT = (
    ("RR", 2.0, (27.0, 27.3, 23.0, 15.4, 7.8)),
    ("RR", 4.5, (50.5, 51.3, 46.2, 30.0, 10.7)),
    ("RR", 7.0, (65.4, 66.7, 63.0, 45.2, 12.0)),
    ("3NB", 2.0, (92.7, 92.8, 92.5, 91.0, 58.9)),
    ("3NB", 4.5, (93.1, 93.1, 93.1, 92.5, 72.2)),
    ("3NB", 7.0, (93.1, 93.1, 93.1, 92.6, 72.9)),
)
"""Accuracies in percent on DBPedia-14, by bitsum, epsilon and label budget, as printed in wagner2025, Table 2, IP."""


TABLE_4_INNER_PRODUCT = (
    ("RR", 2.0, (27.0, 27.3, 23.0, 15.4, 7.8)),
    ("RR", 4.5, (50.5, 51.3, 46.2, 30.0, 10.7)),
    ("RR", 7.0, (65.4, 66.7, 63.0, 45.2, 12.0)),
    ("3NB", 2.0, (92.7, 92.8, 92.5, 91.0, 58.9)),
    ("3NB", 4.5, (93.1, 93.1, 93.1, 92.5, 72.2)),
    ("3NB", 7.0, (93.1, 93.1, 93.1, 92.6, 72.9)),
)
"""The same on SST2, which has two classes, as printed in Table 4."""


def copied_rows() -> dict[str, int]:
    """Compare the printed rows of two tables, which are about different data."""
    same = sum(
        a == b
        for (_, _, first), (_, _, second) in zip(TABLE_2_INNER_PRODUCT, TABLE_4_INNER_PRODUCT, strict=True)
        for a, b in zip(first, second, strict=True)
    )
    require(same == 30, "The rows differ.")
    return {"equal_entries": same}


def flipped_labels() -> dict[str, float]:
    """Bound how likely two classes at chance give 7.8 % of 1,820 test examples: a binomial tail, in fractions.

    A classifier of two classes that is right so seldom is right in 92.2 % if its answers are exchanged.
    """
    right, least = math.floor(0.078 * 1820), 7.8
    tail = Fraction(sum(math.comb(1820, k) for k in range(right + 1)), 2**1820)
    require(tail < Fraction(1, 10**100), "Chance explains the accuracy.")
    return {
        "least_accuracy": least,
        "log10_chance": round(math.log10(tail.numerator) - math.log10(tail.denominator), 1),
    }
