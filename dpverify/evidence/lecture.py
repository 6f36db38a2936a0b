"""What backs the verdicts on wang_lecture9: local means, the shuffled mean, and the reports of RAPPOR."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from dpverify.evidence import require

__all__ = [
    "averaging_attack",
    "averaging_attack_logarithms",
    "bits_of_a_report",
    "bits_of_a_report_symbolic",
    "example_report",
    "example_report_moments",
    "floating_point_reports",
    "hundred_rounds",
    "laplace_error",
    "laplace_error_sampled",
    "least_error_of_local_means",
    "limit_of_reports",
    "one_bit_variance",
    "one_bit_worst",
    "permanent_loss",
    "response_error",
    "response_error_symbolic",
    "response_variance",
    "shuffled_constant",
    "shuffled_estimate",
    "shuffled_estimate_symbolic",
    "shuffled_parameter",
    "shuffled_parameter_enclosed",
    "shuffled_theorem",
    "single_report",
    "single_report_symbolic",
]


def laplace_error() -> dict[str, float]:
    """Integrate the Laplace density of scale b beyond b: the error 1/(n eps) is exceeded with probability 1/e."""
    import sympy

    x, b = sympy.symbols("x b", positive=True)
    beyond = sympy.simplify(2 * sympy.integrate(sympy.exp(-x / b) / (2 * b), (x, b, sympy.oo)))
    mean = sympy.simplify(2 * sympy.integrate(x * sympy.exp(-x / b) / (2 * b), (x, 0, sympy.oo)))
    require(sympy.simplify(beyond - sympy.exp(-1)) == 0 and sympy.simplify(mean - b) == 0, "Another tail or mean.")
    return {"beyond": float(beyond)}


def laplace_error_sampled() -> dict[str, float]:
    """Draw 10^6 values of Laplace noise, and count those beyond its scale; five standard errors are 0.0025."""
    import numpy as np

    share = float(np.mean(np.abs(np.random.default_rng(0).laplace(size=10**6)) > 1.0))
    require(abs(share - math.exp(-1.0)) < 0.0025, "The share differs from 1/e by more than five standard errors.")
    return {"sampled": share}


def response_variance() -> dict[str, float]:
    """Derive the variance of a debiased report, 1 / (4 sinh^2(eps/2)) for either bit, which is below 1/eps^2.

    The reports' likelihood ratio is e^eps, attained. With p = e^eps / (e^eps + 1) the estimate (Y - (1-p)) / (2p - 1)
    has mean x and variance p (1-p) / (2p-1)^2. As sinh(x) >= x, that is at most 1/eps^2; the ratio tends to 1.
    """
    import sympy

    e = sympy.symbols("e", positive=True)
    p = sympy.exp(e) / (sympy.exp(e) + 1)
    variance = p * (1 - p) / (2 * p - 1) ** 2
    require(sympy.simplify((variance - 1 / (4 * sympy.sinh(e / 2) ** 2)).rewrite(sympy.exp)) == 0, "Another variance.")
    for x in (0, 1):
        require(sympy.simplify((p * x + (1 - p) * (1 - x) - (1 - p)) / (2 * p - 1) - x) == 0, "The estimate is biased.")
    require(sympy.limit(variance * e**2, e, 0) == 1, "The constant is not needed.")
    return {"share_at_one": float(variance.subs(e, 1))}


def response_error() -> dict[str, float]:
    """Evaluate the exact error of randomized response at eps = 0.01 beside 1/sqrt(n eps)."""
    variance = 1.0 / (4.0 * math.sinh(0.005) ** 2)
    ratio = math.sqrt(variance) * math.sqrt(0.01)
    require(ratio > 9.0, "The error is near 1/sqrt(n eps).")
    return {"ratio": ratio}


def response_error_symbolic() -> dict[str, str]:
    """Show that the ratio of the exact error to 1/sqrt(n eps) has no bound: times sqrt(eps) it tends to 1."""
    import sympy

    e = sympy.symbols("e", positive=True)
    squared = e / (4 * sympy.sinh(e / 2) ** 2)
    require(sympy.limit(squared * e, e, 0) == 1, "The ratio grows otherwise.")
    return {"growth": "1/sqrt(eps)"}


def floating_point_reports() -> dict[str, float]:
    """Add noise in floats to the values 0 and 1: a report 2^-60 can come from 0 only.

    By Sterbenz's lemma 1 + l is exact for l in [-2, -1/2], and so a multiple of 2^-53; l outside is not near.
    """
    import numpy as np

    report = 2.0**-60
    near = -1.0
    found = set()
    for _ in range(2000):
        near = float(np.nextafter(near, 0.0))
        found.add(1.0 + near)
    require(0.0 + report == report and report not in found, "The report can come from 1 as well.")
    smallest = min(found)
    require(smallest >= 2.0**-53, "A report from 1 is nearer to 0.")
    return {"smallest_from_one": smallest}


def bits_of_a_report() -> dict[str, float]:
    """Sum the entropy of discrete Laplace noise at eps = 1 on a grid of one step, and its variance in units of m^2."""
    p = math.exp(-1.0)
    law = [(1.0 - p) / (1.0 + p) * p ** abs(z) for z in range(-60, 61)]
    # A value x is rounded to 0 or m with mean x, and the report is the sum; x = m/2 is the worst for both.
    both = [(a + b) / 2.0 for a, b in zip([*law, 0.0], [0.0, *law], strict=True)]
    entropy = -sum(mass * math.log2(mass) for mass in both if mass > 0.0)
    variance = 2.0 * p / (1.0 - p) ** 2 + 0.25
    require(entropy < 3.0, "A report has three bits and more.")
    return {"entropy": entropy, "variance": variance}


def bits_of_a_report_symbolic() -> dict[str, str]:
    """Derive the entropy of a sum of two-sided geometric noise: it depends on eps alone, not on m.

    On the grid of one step, reports are m times an integer of a law with p = e^-eps, whatever m is. Rounded to a fixed
    unit instead, a report Y has H([Y]) = h(Y) - h(Y | [Y]) >= h(Y), as a law on a cell of one unit has at most the
    entropy log2 1 = 0; and h(Y) is at least that of the noise, log2(2 e m / eps): Omega(log m).
    """
    import sympy

    p, z = sympy.symbols("p z", positive=True)
    mass = (1 - p) / (1 + p)
    total = mass * (1 + 2 * p / (1 - p))
    require(sympy.simplify(total - 1) == 0, "The law has another sum.")
    require(not (mass * p**z).free_symbols - {p, z}, "The law depends on something else.")
    x, scale = sympy.symbols("x scale", positive=True)
    size = sympy.integrate(x * sympy.exp(-x / scale) / scale, (x, 0, sympy.oo))  # of the noise; -ln density is affine
    require(sympy.simplify(size / scale) == 1, "The noise has not the entropy ln(2 scale) + 1.")
    return {"depends_on": "eps", "with_unit": "log2(2 e m / eps)"}


def one_bit_variance() -> dict[str, str]:
    """Derive the variance of the one-bit mean, largest at m/2, from its two outcomes."""
    import sympy

    e, x = sympy.symbols("e x", positive=True)  # x: the value in units of m
    chance = 1 / (sympy.exp(e) + 1) + x * (sympy.exp(e) - 1) / (sympy.exp(e) + 1)
    high, low = sympy.exp(e) / (sympy.exp(e) - 1), -1 / (sympy.exp(e) - 1)
    mean = chance * high + (1 - chance) * low
    variance = chance * high**2 + (1 - chance) * low**2 - mean**2
    require(sympy.simplify(mean - x) == 0, "The one-bit mean is biased.")
    half = variance.subs(x, sympy.Rational(1, 2))
    require(sympy.simplify((half - sympy.coth(e / 2) ** 2 / 4).rewrite(sympy.exp)) == 0, "Another variance at m/2.")
    require(sympy.simplify(sympy.diff(variance, x).subs(x, sympy.Rational(1, 2))) == 0, "m/2 is not the worst value.")
    return {"worst_variance": "m^2 coth^2(eps/2) / (4 n)"}


def one_bit_worst() -> dict[str, float]:
    """Evaluate that variance's constant at eps = 1, its floor, and where Laplace noise becomes better."""
    from dpverify.search import smallest

    def one_bit(e: float) -> float:
        return 1.0 / math.tanh(e / 2.0) ** 2 / 4.0

    crossing = smallest(lambda e: 2.0 / e**2 <= one_bit(e), 1.0, 100.0, 1e-6)
    require(crossing is not None, "Laplace noise is never better.")
    return {"constant": one_bit(1.0), "floor": one_bit(700.0), "crossing": float(crossing or 0.0)}


def least_error_of_local_means() -> dict[str, float]:
    """Bound from below how often every local estimator errs, and how often randomized response does not."""
    from scipy import stats

    from dpverify.claims.shared.lower_bound import failure_probability, least_squared_error

    often, oftener = (failure_probability(10_000, 1.0, radius / 100) for radius in (0.1, 0.05))
    deviation = 1.0 / (2.0 * math.sinh(0.5))
    within = 1.0 - 2.0 * float(stats.norm.sf(0.1 / deviation))
    require(often > 0.5 and within > 0.0, "No constant probability of an error is shown.")
    return {
        "at_tenth": often,
        "at_twentieth": oftener,
        "response_within": within,
        "factor": deviation**2 / least_squared_error(1, 1.0),
    }


def shuffled_theorem() -> dict[str, float]:
    """Account for five least coins, and compare their expected error with the stated one of constant 1."""
    from dpverify.changes import Full
    from dpverify.claims.shuffled_mean import ShuffledMeanClaims
    from dpverify.guarantee import ThreatModel
    from protocols.shuffled_mean import ShuffledMean

    claims, worst = ShuffledMeanClaims(), 0.0
    cases = ((1.0, 1e-2, 1000, 0.01369), (1.0, 1e-10, 30_000, 0.004325), (0.3, 1e-6, 1000, 0.25895))
    for epsilon, delta, n, p in (*cases, (1.0, 2.0**-20, 20, 0.53775)):
        mean = ShuffledMean(n, p)
        found = claims.curve(mean, Full(1), ThreatModel.COMMUNICATION).delta(epsilon).upper
        require(found <= delta, f"p={p} is not private at n={n}.")
        worst = max(worst, claims.mean_absolute_error(mean).upper / claims.published_bound(n, epsilon, delta))
    require(worst <= 1.56, "The constant is above 1.56.")
    return {"constant": worst}


def shuffled_parameter() -> dict[str, float]:
    """Account for p = ln(1/delta) / (n eps^2) at (1, 1e-6), n = 30,000."""
    from dpverify.changes import Full
    from dpverify.claims.shuffled_mean import ShuffledMeanClaims
    from dpverify.guarantee import ThreatModel
    from protocols.shuffled_mean import ShuffledMean

    claims = ShuffledMeanClaims()

    def curve(mean: ShuffledMean) -> Any:
        return claims.curve(mean, Full(1), ThreatModel.COMMUNICATION)

    published = claims.published(30_000, 1.0, 1e-6)
    exact = curve(published).epsilon(1e-6).lower
    require(exact > 1.0, "The printed parameter is private.")
    p = 4.93 * published.coin_probability
    require(curve(ShuffledMean(30_000, p)).delta(1.0).upper <= 1e-6, "4.93 times as much is not enough.")
    require(curve(ShuffledMean(30_000, p * 4.91 / 4.93)).delta(1.0).lower > 1e-6, "4.91 times as much is enough.")
    return {"exact_epsilon": exact, "impossible": math.log(1e6) / (1000 * 0.01)}


def shuffled_constant() -> dict[str, float]:
    """Account for p = 8 ln(1/delta) / (n eps^2) wherever that is a probability on a grid of eps, delta and n.

    Below 1e-12, where the engine's rounding shows, in balls and for the dataset without ones: 10^6 users, eps = 1.
    """
    from dpverify.certificates.enclosure import hockey_stick
    from dpverify.certificates.pairs import Direction, RandomizedResponsePair
    from dpverify.changes import Full
    from dpverify.claims.shuffled_mean import ShuffledMeanClaims
    from dpverify.guarantee import ThreatModel
    from protocols.shuffled_mean import ShuffledMean

    claims, worst, points = ShuffledMeanClaims(), 0.0, 0
    for n, epsilon, delta in product((100, 1000, 30_000), (0.1, 0.3, 1.0), (0.5, 1e-2, 1e-6, 1e-12)):
        p = 8.0 * math.log(1.0 / delta) / (n * epsilon**2)
        if p < 1.0 and delta >= 2.0 ** (-epsilon * n):
            curve = claims.curve(ShuffledMean(n, p), Full(1), ThreatModel.COMMUNICATION)
            worst, points = max(worst, curve.delta(epsilon).upper / delta), points + 1
    require(worst <= 1.0, f"The constant 8 gives {worst} delta somewhere on the grid.")

    def without_ones(constant: int, delta: float) -> tuple[float, float]:
        pair = RandomizedResponsePair(10**6, constant * math.log(1.0 / delta) / 10**6 / 2.0, 0)
        found = [hockey_stick(pair, 1, way, digits=6) for way in Direction]
        return max(each.lower for each in found), max(each.upper for each in found)

    for delta in (1e-16, 1e-30, 1e-100):
        require(without_ones(8, delta)[1] <= delta, f"The constant 8 is not private at delta={delta}.")
        require(without_ones(6, delta)[0] > delta, f"The constant 6 is private at delta={delta}.")
    return {"constant": 8, "points": points, "share": worst}


def shuffled_parameter_enclosed() -> dict[str, float]:
    """Enclose the delta at epsilon 1 of the same parameter by binomial tails in Arb balls."""
    from dpverify.certificates.enclosure import hockey_stick
    from dpverify.certificates.pairs import Direction, RandomizedResponsePair

    pair = RandomizedResponsePair(30_000, math.log(1e6) / 30_000 / 2.0, 0)
    found = max(hockey_stick(pair, 1, way, digits=6).lower for way in Direction)
    require(found > 1e-6, "The printed parameter is private.")
    return {"exact_delta": found}


def shuffled_estimate() -> dict[str, float]:
    """Enumerate equation 9.5 for four users in fractions, and evaluate its bias at n = 10,000."""
    n, p, x = 4, Fraction(1, 10), (1, 0, 0, 0)
    mean = Fraction(0)
    for reports in product((0, 1), repeat=n):
        mass = math.prod((1 - p) * (y == b) + p / 2 for y, b in zip(reports, x, strict=True))
        mean += mass * (sum(reports) - p / 2) / (n * (1 - p))
    bias = mean - Fraction(sum(x), n)
    require(bias == (n - 1) * p / (2 * n * (1 - p)), "The bias is another.")
    return {"bias": float(Fraction(9999) * p / (2 * 10_000 * (1 - p)))}


def shuffled_estimate_symbolic() -> dict[str, str]:
    """Derive the bias of equation 9.5 for any n, p and sum."""
    import sympy

    n, p, s = sympy.symbols("n p s", positive=True)
    bias = sympy.factor(((1 - p) * s + n * p / 2 - p / 2) / (n * (1 - p)) - s / n)
    require(sympy.simplify(bias - (n - 1) * p / (2 * n * (1 - p))) == 0, "The bias is another.")
    return {"bias_formula": "(n-1) p / (2 n (1-p))"}


def permanent_loss() -> dict[str, float]:
    """Multiply, in fractions, the likelihood ratios of two patterns of h bits: e^eps is attained, and not exceeded."""
    f = Fraction(1, 2)
    keep, flip = 1 - f / 2, f / 2
    for k, h in ((4, 1), (4, 2), (5, 2)):
        x, y = [i < h for i in range(k)], [i >= k - h for i in range(k)]
        largest = max(
            math.prod(
                (keep if b == i else flip) / (keep if b == j else flip) for b, i, j in zip(bits, x, y, strict=True)
            )
            for bits in product((False, True), repeat=k)
        )
        require(largest == (keep / flip) ** (2 * h), "The largest ratio is another.")
    return {"limit": 2 * 2 * math.log(3.0)}


def limit_of_reports() -> dict[str, float]:
    """Evaluate what any number of reports on one value lose, and what a changed value loses after 1, 10 and 100."""
    from dpverify.claims.rappor.response import change_seen
    from protocols.rappor.response import Rappor

    found = {}
    for name, reports in (("one", 1), ("ten", 10), ("hundred", 100)):
        found[f"change_{name}"] = change_seen(Rappor(128, 2, f=0.5, p=0.5, q=0.75, reports=reports)).upper
    require(found["change_hundred"] > found["change_ten"] > found["change_one"] > 4.0 * math.log(3.0), "It is bounded.")
    return found


def single_report() -> dict[str, float]:
    """Enclose the loss of one, two and ten reports for k = 128, h = 2, f = p = 1/2, q = 3/4."""
    from dpverify.claims.rappor.response import RapporClaims
    from dpverify.guarantee import ThreatModel
    from protocols.rappor.response import Rappor

    found = {}
    for name, reports in (("one", 1), ("two", 2), ("ten", 10)):
        mechanism = Rappor(128, 2, f=0.5, p=0.5, q=0.75, reports=reports)
        found[f"epsilon_{name}"] = RapporClaims().pure_epsilon(mechanism, ThreatModel.LOCAL).upper
    require(found["epsilon_one"] < found["epsilon_two"] < found["epsilon_ten"] < 4.0 * math.log(3.0), "Not increasing.")
    return found


def single_report_symbolic() -> dict[str, str]:
    """Show that the ratio of a bit's report lies strictly inside that of its permanent response for 0 < p < q < 1."""
    import sympy

    f, p, more = sympy.symbols("f p more", positive=True)
    q = p + more
    zero, one = (f * q + (2 - f) * p) / 2, ((2 - f) * q + f * p) / 2
    gap = sympy.factor(sympy.simplify((2 - f) * zero - f * one))  # (2-f)/f > one/zero where this is positive
    require(sympy.simplify(gap - 2 * p * (1 - f)) == 0, "The gap is another.")
    return {"gap": str(gap)}


def averaging_attack() -> dict[str, float]:
    """Compute, in fractions, the chance of 75 yes of 100 at probability 1/4, and of 75 or more."""
    exact = [Fraction(math.comb(100, k) * 3 ** (100 - k), 4**100) for k in range(75, 101)]
    require(not 1.3e-24 < float(exact[0]) < 1.5e-24, "The printed number is right.")
    return {"exactly": float(exact[0]), "or_more": float(sum(exact))}


def averaging_attack_logarithms() -> dict[str, float]:
    """Compute the same by logarithms of gamma functions in balls."""
    import flint

    log = flint.arb(101).lgamma() - flint.arb(76).lgamma() - flint.arb(26).lgamma()
    found = float((log + 25 * flint.arb(3).log() - 100 * flint.arb(4).log()).exp())
    require(not 1.3e-24 < found < 1.5e-24, "The printed number is right.")
    return {"by_logarithms": found}


def hundred_rounds() -> dict[str, float]:
    """Compose 100 rounds at ln 3: 100 ln 3 at delta = 0, and the two-valued law's epsilon at delta = 1e-6."""
    from dpverify.formulas.contexts import upper_float
    from dpverify.privacy_loss.losses.two_valued import composed_epsilon

    exact = upper_float(composed_epsilon(math.log(3.0), 100, 1e-6))
    require(math.ceil(100 * math.log(3.0)) == 110, "100 ln 3 is not 110, rounded up.")
    return {"pure": 100.0 * math.log(3.0), "at_delta": exact}


def _ones(p: float) -> list[float]:
    """Return the law of the number of ones of Figure 9.2's report: 252 bits that are 0, and 4 that are 1."""
    f, q, law = 0.5, 0.75, [1.0]
    zero, one = (f * q + (2 - f) * p) / 2, ((2 - f) * q + f * p) / 2
    for chance in [zero] * 252 + [one] * 4:
        law = [a * (1 - chance) + b * chance for a, b in zip([*law, 0.0], [0.0, *law], strict=True)]
    return law


def example_report() -> dict[str, float]:
    """Convolve the law of the number of ones for Figure 9.2's parameters, and for p = 1/2."""
    stated, other = _ones(0.25), _ones(0.5)
    require(sum(stated[145:]) < 1e-6 < sum(other[145:]), "145 ones are likely.")
    return {
        "mean": sum(k * mass for k, mass in enumerate(stated)),
        "tail": sum(stated[145:]),
        "other_mean": sum(k * mass for k, mass in enumerate(other)),
    }


def example_report_moments() -> dict[str, float]:
    """Bound the same tail by Hoeffding's inequality, from the mean alone: e^(-2 (145 - 97)^2 / 256)."""
    bound = math.exp(-2.0 * (145.0 - 97.0) ** 2 / 256.0)
    require(bound < 1e-7, "The bound leaves 145 ones possible.")
    return {"hoeffding": bound}
