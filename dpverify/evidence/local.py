"""What backs the verdicts on what users run by themselves: local means, their limits, and RAPPOR."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import numpy as np
import scipy

from dpverify.claims.rappor.response import RapporClaims, change_seen
from dpverify.claims.shared.lower_bound import failure_probability, least_squared_error
from dpverify.evidence import require
from dpverify.formulas.contexts import upper_float
from dpverify.guarantee import ThreatModel
from dpverify.privacy_loss.losses.two_valued import composed_epsilon
from dpverify.search import smallest
from protocols.rappor.response import Rappor


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


def central_sensitivity() -> dict[str, str]:
    """Divide the densities of Lap(1/(n eps)) around two means that differ by 1/n: e^eps where both are on one side."""
    import sympy

    n, e, x = sympy.symbols("n e x", positive=True)
    ratio = sympy.exp(-(x + 0) * n * e) / sympy.exp(-(x + 1 / n) * n * e)
    require(sympy.simplify(ratio - sympy.exp(e)) == 0, "The ratio is another.")
    return {"ratio": "e^eps"}


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

    def one_bit(e: float) -> float:
        return 1.0 / math.tanh(e / 2.0) ** 2 / 4.0

    crossing = smallest(lambda e: 2.0 / e**2 <= one_bit(e), 1.0, 100.0, 1e-6)
    require(crossing is not None, "Laplace noise is never better.")
    return {"constant": one_bit(1.0), "floor": one_bit(700.0), "crossing": float(crossing or 0.0)}


def least_error_of_local_means() -> dict[str, float]:
    """Bound from below how often every local estimator errs, and how often randomized response does not."""
    often, oftener = (failure_probability(10_000, 1.0, radius / 100) for radius in (0.1, 0.05))
    deviation = 1.0 / (2.0 * math.sinh(0.5))
    within = 1.0 - 2.0 * float(scipy.stats.norm.sf(0.1 / deviation))
    require(often > 0.5 and within > 0.0, "No constant probability of an error is shown.")
    return {
        "at_tenth": often,
        "at_twentieth": oftener,
        "response_within": within,
        "factor": deviation**2 / least_squared_error(1, 1.0),
    }


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
    found = {}
    for name, reports in (("one", 1), ("ten", 10), ("hundred", 100)):
        found[f"change_{name}"] = change_seen(Rappor(128, 2, f=0.5, p=0.5, q=0.75, reports=reports)).upper
    require(found["change_hundred"] > found["change_ten"] > found["change_one"] > 4.0 * math.log(3.0), "It is bounded.")
    return found


def single_report() -> dict[str, float]:
    """Enclose the loss of one, two and ten reports for k = 128, h = 2, f = p = 1/2, q = 3/4."""
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
    log = flint.arb(101).lgamma() - flint.arb(76).lgamma() - flint.arb(26).lgamma()
    found = float((log + 25 * flint.arb(3).log() - 100 * flint.arb(4).log()).exp())
    require(not 1.3e-24 < found < 1.5e-24, "The printed number is right.")
    return {"by_logarithms": found}


def hundred_rounds() -> dict[str, float]:
    """Compose 100 rounds at ln 3: 100 ln 3 at delta = 0, and the two-valued law's epsilon at delta = 1e-6."""
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


def sample_sizes() -> dict[str, str]:
    """Solve 1/(n eps) = alpha and 1/(eps sqrt(n)) = alpha for n: the central and the local number of samples."""
    import sympy

    n, e, a = sympy.symbols("n e a", positive=True)
    central, local = sympy.solve(1 / (n * e) - a, n), sympy.solve(1 / (e * sympy.sqrt(n)) - a, n)
    require(central == [1 / (a * e)] and local == [1 / (a**2 * e**2)], "The numbers of samples are others.")
    gap = sympy.simplify((1 / (e * sympy.sqrt(n))) / (1 / (n * e)))
    require(sympy.simplify(gap - sympy.sqrt(n)) == 0, "The gap is not sqrt(n).")
    return {"gap": "sqrt(n)"}


def gap_of_risks() -> dict[str, Any]:
    """Divide the local rates of empirical risk by the central ones, as printed, for both kinds of losses."""
    import sympy

    n, d, e, log = sympy.symbols("n d epsilon log", positive=True)
    strong = sympy.simplify((d / (n * e**2)) / (d * log / (n**2 * e**2)))
    general = sympy.simplify((sympy.sqrt(d) / (e * sympy.sqrt(n))) / (sympy.sqrt(d * log) / (n * e)))
    require(strong == n / log and sympy.simplify(general - sympy.sqrt(n / log)) == 0, "Other gaps.")
    return {"strong": "n / log(1/delta)", "general": "sqrt(n / log(1/delta))"}


def bayes_interval() -> dict[str, float]:
    """Enclose 1/(e + 1) and e/(e + 1) in balls: a bit given the transcript of a 1-LDP protocol, within [1/4, 3/4]."""
    e = flint.arb(1).exp()
    low, high = 1 / (e + 1), e / (e + 1)
    require(low > flint.arb("0.25") and high < flint.arb("0.75"), "The interval exceeds [1/4, 3/4].")
    return {"low": float(low), "high": float(high)}


def log_three() -> dict[str, float]:
    """Evaluate the budget at which randomized response is right with probability 3/4, and wrong with 1/4."""
    right = Fraction(3, 4)
    require(right / (1 - right) == 3, "The ratio is not 3.")
    return {"epsilon": math.log(3.0)}


def collisions_of_hashes() -> dict[str, float]:
    """Compute, in fractions, how often k values collide under one uniformly random hash function to k places.

    Where no two values share a place, each has one of its own: B is the one-hot encoding of the place.
    """
    found = {k: 1 - Fraction(math.factorial(k), k**k) for k in (5, 16, 128)}
    require(min(found.values()) > Fraction(9, 10), "Collisions are rare.")
    return {"five": float(found[5]), "many": float(found[128])}


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
