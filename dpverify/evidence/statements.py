"""What backs the verdicts on numbered statements that no protocol of this project is about alone."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from dpverify.evidence import require

__all__ = [
    "advanced_beside_optimal",
    "advanced_budget",
    "bits_of_a_density",
    "blanket_report",
    "chernoff_beyond_one",
    "constants_of_errors",
    "copied_rows",
    "defaults_of_section_5",
    "errors_over_users",
    "exponents_of_figures",
    "features_by_definition",
    "flipped_labels",
    "levels_by_definition",
    "overestimates",
    "pseudo_stable_budget",
    "refined_constants",
    "rounded_means",
    "statistical_queries",
    "steps_of_appendix",
    "two_step_moments",
    "variance_of_reports",
    "views_by_definition",
    "worst_case_curve",
]

_VALUES = [x / 12 for x in range(13)]
"""Values of a coordinate among which are the worst at k = 3."""

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


def advanced_beside_optimal() -> dict[str, float]:
    """Compare Theorem 4.2 with optimal composition, which is exact, in Arb balls on a grid of (r, eps', delta)."""
    from dpverify.formulas.contexts import upper_float
    from dpverify.privacy_loss.losses.two_valued import composed_epsilon

    worst, points = 0.0, 0
    for r, each, delta in product((1, 3, 10, 100, 1000), (0.001, 0.01, 0.1, 0.5, 1.0), (0.5, 1e-3, 1e-9)):
        advanced = math.sqrt(2 * r * math.log(1 / delta)) * each + r * each * math.expm1(each)
        worst, points = max(worst, upper_float(composed_epsilon(each, r, delta)) / advanced), points + 1
    require(worst <= 1.0, "Optimal composition exceeds Theorem 4.2 somewhere on the grid.")
    return {"points": points, "worst_share": worst}


def advanced_budget() -> dict[str, float]:
    """Find where Corollary 4.3 keeps Theorem 4.2 below epsilon, for epsilon near 1 and near 6, and any r.

    With eps' = eps / (2 sqrt(2 r L)), L = ln(1/delta), the first term is eps/2, and the second `r eps' (e^eps' - 1)` is
    largest for r = 1, as (e^x - 1) / x grows; it is at most eps/2 if and only if L is large enough.
    """
    from dpverify.search import smallest

    def least_log(epsilon: float, divisor: float) -> float:
        def kept(log: float) -> bool:
            each = epsilon / (divisor * math.sqrt(2.0 * log))
            return math.sqrt(2.0 * log) * each + each * math.expm1(each) <= epsilon

        found = smallest(kept, 0.1, 100.0, 1e-9)
        require(found is not None, "No delta is small enough.")
        return float(found or 0.0)

    return {"largest_delta": math.exp(-least_log(1.0, 2.0)), "largest_delta_six": math.exp(-least_log(6.0, 12.0))}


def variance_of_reports() -> dict[str, float]:
    """Bound Var(y/k) by (1-gamma)/(4k^2) + gamma/2 in fractions, on a grid of x, k and gamma."""
    worst = Fraction(0)
    for k, g, x in product((1, 2, 5), (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)), range(21)):
        value, gamma = Fraction(x, 20), g
        low = min(int(value * k), k - 1)
        rounded = {low: 1 - (value * k - low), low + 1: value * k - low}
        law = [(1 - gamma) * rounded.get(j, Fraction(0)) + gamma / (k + 1) for j in range(k + 1)]
        mean = sum((m * Fraction(j, k) for j, m in enumerate(law)), Fraction(0))
        variance = sum((m * Fraction(j, k) ** 2 for j, m in enumerate(law)), Fraction(0)) - mean**2
        worst = max(worst, variance / ((1 - gamma) / (4 * k**2) + gamma / 2))
    require(worst <= 1, "The bound on the variance fails.")
    return {"worst_share": float(worst)}


def constants_of_errors() -> dict[str, str]:
    """Derive the constants of Theorem 4.6 from gamma's: (4c)^(2/3)/2 at c = A d L L2 / (n eps^2), A = 28 and 1008."""
    import sympy

    for half, front, inner in ((28, 2, 14), (1008, 8, 63)):
        derived = sympy.Integer(4 * half) ** sympy.Rational(2, 3) / 2
        printed = front * sympy.Integer(inner) ** sympy.Rational(2, 3)
        require(sympy.simplify(derived - printed) == 0, f"The constant for A = {half} is another.")
    require(56 * 36 == 2016, "Six squared times 56 is not 2016.")
    return {"constants": "2 14^(2/3) and 8 63^(2/3)"}


def refined_constants() -> dict[str, str]:
    """Derive the constants of section 4.5: k = (4c)^(-1/3) and (4c)^(2/3)/2 for c of 7, 27/2, 40 and 18/11."""
    import sympy

    third = sympy.Rational(1, 3)
    cases = (
        (sympy.Integer(7), 28, sympy.Integer(98) ** third),
        (sympy.Rational(27, 2), 54, 18 / sympy.Integer(4) ** (2 * third)),
        (sympy.Integer(40), 160, 2 * sympy.Integer(20) ** (2 * third)),
        (sympy.Rational(18, 11), sympy.Rational(72, 11), 2 * (sympy.Rational(9, 11)) ** (2 * third)),
    )
    for c, inverse, printed in cases:
        require(4 * c == inverse, "The printed k is another.")
        require(sympy.simplify((4 * c) ** (2 * third) / 2 - printed) == 0, "The printed error is another.")
    return {"cases": "98^(1/3), 18/4^(2/3), 2 20^(2/3), 2 (9/11)^(2/3)"}


def chernoff_beyond_one() -> dict[str, float]:
    """Evaluate a binomial tail beyond the Chernoff bound exp(-c d^2 / 3) at d > 1, as in section 4.5.

    Bin(10^5, 2 10^-5) has mean c = 2; N + 1 >= c e^3 asks for 40 and more. One term of the sum is enough.
    """
    import flint

    n, c, most = 10**5, 2, 40
    p = flint.arb(c) / n
    term = (flint.arb(n + 1).lgamma() - flint.arb(most + 1).lgamma() - flint.arb(n - most + 1).lgamma()).exp()
    tail = float(term * p**most * (1 - p) ** (n - most))
    printed = math.exp(-c / 3.0 * (math.exp(3.0) - 1.0 - 1.0 / c) ** 2)
    require(tail > 1e10 * printed, "The printed Chernoff bound holds.")
    # What is concluded does hold: with the right exponent, c (e^x (x - 1) + 1) at x = eps'/2, it is at least c x^2 / 3.
    for number in range(1, 301):
        x = number / 100.0
        require(math.exp(x) * (x - 1.0) + 1.0 >= x * x / 3.0, "The conclusion fails.")
    return {"tail": tail, "printed_bound": printed}


def steps_of_appendix() -> dict[str, float]:
    """Check the elementary inequalities of Appendix A and section 4.5 by Arb balls at the ends of concave functions.

    1 - e^(-x/2) is concave and vanishes at 0, so that it is at least its chord: it is enough to compare at the end.
    """
    import flint

    half = 1 - (-flint.arb(1) / 2).exp()
    require(half > 1 / flint.arb(7).sqrt(), "1 - e^(-1/2) < 1/sqrt 7.")
    slope = 1 - (-flint.arb(2) / (3 * flint.arb(15).sqrt())).exp()
    require(slope > 1 / (2 * flint.arb(10).sqrt()), "The slope for eps' < 6 is below 1/(2 sqrt 10).")
    require(1 - (-flint.arb(3)).exp() > 6 * slope, "The chord at eps' = 6 is above.")
    # e^(x/2) - 1 >= x/2 + x^2/8, and 1/c <= x^2 / (14 log(2t/delta)) is at most x^2/8 where 14 log 2 >= 8.
    require(14 * flint.arb(2).log() > 8, "14 log 2 < 8.")
    return {"slope": float(slope)}


def defaults_of_section_5() -> dict[str, float]:
    """Evaluate the printed gamma and k at the defaults d = 100, k = 3, n = 50,000, t = 1, eps = 0.95, delta = 0.5."""
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import vector_sum as formulas

    gamma = float(formulas.gamma_refined(FLOATS, 0.95, 0.5, 100, 3, 50_000))
    levels = float(formulas.levels_refined(FLOATS, 0.95, 0.5, 100, 50_000))
    small = 14.0 * 100 * 3 * math.log(2e6) / (49_999 * 0.95**2)
    printed = float(formulas.levels_theorem(FLOATS, 0.95, 0.5, 100, 50_000, 1))
    require(0.0 < gamma < 1.0 < small, "gamma is another.")
    require(max(levels, printed ** (1 / 3)) < 3.0 < printed, "k = 3 is not between the printed choices.")
    found = {"gamma": gamma, "levels": levels, "gamma_small": small}
    return found | {"printed_levels": printed, "rooted_levels": printed ** (1 / 3)}


def exponents_of_figures() -> dict[str, float]:
    """Raise 10 to the exponents in n that section 5 states for one figure: 5/3 by the theorem, 7/6 as fitted."""
    theorem, fitted = 10 ** (5 / 3), 10 ** (7 / 6)
    require(max(theorem, fitted) < 100.0, "One of the exponents gives two orders of magnitude.")
    return {"by_theorem": theorem, "by_fit": fitted}


def errors_over_users() -> dict[str, float]:
    """Evaluate the error of the mean at the printed gamma, k = 3, d = 100, n from 10^4 to 10^7: all, and as counted."""
    from dpverify.claims.vector_sum.privacy import VectorSumClaims

    claims = VectorSumClaims()
    found: dict[str, float] = {}
    protocols = {power: claims.published(10**power, 100, 3, 0.95, 0.5) for power in (4, 5, 6, 7)}
    for name, errors in (
        ("falls", {power: claims.worst_mse(each) / each.users**2 for power, each in protocols.items()}),
        ("counted", {power: claims.sampled_mse(each, _VALUES) for power, each in protocols.items()}),
    ):
        found |= {f"{name}_from_few": errors[4] / errors[5], f"{name}_from_many": errors[6] / errors[7]}
        require(found[f"{name}_from_few"] > 46.5 > found[f"{name}_from_many"], "One power of n fits.")
    return found


def worst_case_curve() -> dict[str, float]:
    """Fit the exponent in d of the exact worst-case error at the printed gamma, with and without that of sampling."""
    from dpverify.claims.vector_sum.privacy import VectorSumClaims

    claims = VectorSumClaims()
    few, many = (claims.published(50_000, d, 3, 0.95, 0.5) for d in (50, 150))
    exponent = math.log(claims.worst_mse(many) / claims.worst_mse(few)) / math.log(3.0)
    counted = math.log(claims.sampled_mse(many, _VALUES) / claims.sampled_mse(few, _VALUES)) / math.log(3.0)
    require(2.0 < exponent < 8 / 3 < counted, "The error grows otherwise with d.")
    return {"exponent": exponent, "counted_exponent": counted}


def blanket_report() -> dict[str, float]:
    """Enumerate Algorithm 1's report for k = 4, gamma = 1/3, in fractions: truthful with 1 - gamma + gamma/k."""
    k, gamma = 4, Fraction(1, 3)
    law = [(1 - gamma) * (y == 1) + gamma / k for y in range(k)]
    require(sum(law) == 1 and law[1] == 1 - gamma + gamma / k, "The report has another law.")
    return {"truthful": float(law[1])}


def rounded_means() -> dict[str, float]:
    """Enumerate Algorithm 2's rounding for k = 3 in fractions: its mean is x, its variance at most 1/(4 k^2)."""
    k, largest = 3, Fraction(0)
    for number in range(31):
        x = Fraction(number, 30)
        low = int(x * k)
        up = x * k - low
        require(Fraction(low, k) + up / k == x, "The rounding is biased.")
        largest = max(largest, up * (1 - up) / k**2)
    require(largest <= Fraction(1, 4 * k**2), "The variance exceeds 1/(4 k^2).")
    return {"largest_variance": float(largest)}


def levels_by_definition() -> dict[str, float]:
    """Enumerate all events of a report of three outcomes: single ones decide only for delta = 0."""
    first = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    second = [Fraction(1, 5), Fraction(1, 5), Fraction(3, 5)]
    events = [[i for i in range(3) if mask >> i & 1] for mask in range(1, 8)]

    def excess(event: list[int], power: Fraction) -> Fraction:
        return sum((first[i] - power * second[i] for i in event), Fraction(0))

    power = max(a / b for a, b in zip(first, second, strict=True))
    require(max(excess(event, power) for event in events) == 0, "Single outcomes do not decide at delta = 0.")
    alone = [event for event in events if len(event) == 1]
    whole, single = (max(excess(event, Fraction(1)) for event in chosen) for chosen in (events, alone))
    require(whole > single, "Single outcomes decide at delta > 0 as well.")
    return {"all_events": float(whole), "single_outcomes": float(single)}


def views_by_definition() -> dict[str, float]:
    """Enumerate two users of randomized response: the order of the messages tells nothing that their counts do not."""
    p = Fraction(1, 4)
    for bits in product((0, 1), repeat=2):
        law: dict[tuple[int, ...], Fraction] = {}
        for reports in product((0, 1), repeat=2):
            mass = math.prod((p if r != b else 1 - p for r, b in zip(reports, bits, strict=True)), start=Fraction(1))
            for order in (reports, reports[::-1]):
                law[order] = law.get(order, Fraction(0)) + mass / 2
        require(law[0, 1] == law[1, 0], "The order depends on the data.")
    return {"orders_alike": 1.0}


def features_by_definition() -> dict[str, float]:
    """Check Definition 2.1 for every family here: the range R, S non-zero entries, and beta, on random points."""
    import numpy as np

    from protocols.lsq import GaussianFeatures, Identity, LaplacianBinning, RandomSigns

    rng, worst = np.random.default_rng(0), 0.0
    for family in (GaussianFeatures(3), LaplacianBinning(3, 4), RandomSigns(3), Identity(3)):
        x = rng.standard_normal((5, 3))
        x /= np.linalg.norm(x, axis=1)[:, np.newaxis]
        features = family.sample(1 if isinstance(family, Identity) else 7, rng).f(x)
        worst = max(worst, float(np.abs(features).max()) / family.R)
        require(int((features != 0).sum(axis=-1).max()) <= family.S, "Too many entries are not 0.")
    require(worst <= 1.0 + 1e-12, "A feature exceeds R.")
    return {"largest": worst}


def bits_of_a_density() -> dict[str, float]:
    """Enumerate Algorithm 1's rounding in fractions: (2b - 1) R has the mean f for b ~ Bern((1 + f/R)/2)."""
    for f, r in ((Fraction(0), Fraction(3, 2)), (Fraction(1, 3), Fraction(1)), (Fraction(-3, 2), Fraction(3, 2))):
        chance = (1 + f / r) / 2
        require(chance * r + (1 - chance) * -r == f, "The rounding is biased.")
        require(0 <= chance <= 1, "The chance is none.")
    return {"coin_for_zero": 0.5}


def two_step_moments() -> dict[str, float]:
    """Enumerate F = (2B - n) R for an unbiased B of error E = 2 in fractions: the moments of its error."""
    n, r, errors = 7, Fraction(3, 2), (Fraction(-2), Fraction(2))
    moved = [((2 * (3 + e) - n) * r) - ((2 * Fraction(3) - n) * r) for e in errors]
    mean, square = sum(moved, Fraction(0)) / 2, sum((m * m for m in moved), Fraction(0)) / 2
    require(mean == 0 and square == (2 * r * 2) ** 2, "The moments are others.")
    return {"share": float(square / (2 * r * 2) ** 2)}


def statistical_queries() -> dict[str, float]:
    """Check that every answer of the repaired oracle is within tau/3 of the mean, at many means and offsets."""
    from protocols.user_level.statistical_queries import rounded_answer

    worst = 0.0
    for tau in (0.5, 0.1, 0.03):
        steps = math.ceil(3 / tau)
        for number, offset in product(range(-20, 21), (0.0, 0.25, 0.999)):
            worst = max(worst, abs(rounded_answer(number / 20, steps, offset) - number / 20) / tau)
    require(worst <= 1.0 / 3.0 + 1e-9, "An answer is off by more than tau/3.")
    return {"worst_in_tau": worst}


def pseudo_stable_budget() -> dict[str, float]:
    """Evaluate m = gamma^2 ln(2 |H|) / (2 beta^4) for growing d at alpha = beta = 0.1: it grows like d^3."""
    from dpverify.claims.user_level.stable_learner import enough_samples
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import user_level as formulas

    def samples(d: int) -> float:
        return enough_samples(2**d, formulas.published_sharpness(FLOATS, float(d), 0.1, 0.1), 0.01)

    exponent = math.log(samples(800) / samples(400)) / math.log(2.0)
    require(2.5 < exponent <= 3.0, "It grows with another power.")
    return {"exponent": exponent}


def overestimates() -> dict[str, float]:
    """Enumerate Algorithm 8 for three users with noise up to 4: the count is never below the sum."""
    least = min(
        sum(bit + z for bit, z in zip(bits, noise, strict=True)) - sum(bits)
        for bits in product((0, 1), repeat=3)
        for noise in product(range(5), repeat=3)
    )
    require(least == 0, "The count is below the sum.")
    return {"least_excess": float(least)}
