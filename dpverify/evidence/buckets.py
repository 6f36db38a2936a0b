"""What backs the verdicts on bitsums that count messages: histograms and the largest of their counts."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import flint
import scipy

from dpverify.claims.histogram import HistogramClaims
from dpverify.claims.shared.buckets import BucketAccount, least_shape, noise_of
from dpverify.evidence import divergence, require


def small_histograms() -> dict[str, float]:
    """Enumerate the counts of up to six users in four buckets: how many buckets can err by more than alpha."""
    attained = True
    for users, alpha in product(range(1, 7), range(4)):
        most = max(
            sum(count > alpha for count in counts)
            for counts in product(range(users + 1), repeat=4)
            if sum(counts) == users
        )
        attained = attained and most == min(4, users // (alpha + 1))
    require(attained, "Another number of buckets can err.")

    exact = BucketAccount(20.0, 0.85)
    return {"basic_factor": exact.basic_delta(1.0) / exact.delta(1.0).upper}


def small_selections() -> dict[str, float]:
    """Enumerate noises 0..3 of three buckets: the shortfall of the selected one is at most the noise of the largest."""
    worst = -9
    for counts in product(range(4), repeat=3):
        for noise in product(range(4), repeat=3):
            estimates = [c - y for c, y in zip(counts, noise, strict=True)]
            selected = max(range(3), key=lambda v: (estimates[v], -counts[v]))
            largest = max(range(3), key=lambda v: counts[v])
            worst = max(worst, counts[largest] - counts[selected] - noise[largest])
    require(worst <= 0, "A selection falls short by more than one noise.")
    return {"largest_excess": float(worst)}


def tail_parameters() -> dict[str, float]:
    """Evaluate Corollary 40's parameters for a histogram of 10,000 users, beside the least private shape."""
    claims, users = HistogramClaims(), 10_000
    protocol = claims.published(users, 100, 0.99, 1e-6, 0.05)
    noise, threshold = noise_of(protocol), claims.published_bound(protocol)
    require(threshold > users, "The error bound is below the number of users.")
    return {
        "printed_shape": noise.shape,
        "printed_error": threshold,
        "least_shape": least_shape((0.99, 1e-6), noise.p),
    }


def chernoff_of_buckets() -> dict[str, float]:
    """Prove Pr[Y > T] <= e^(-r/4) for Y ~ NB(r, p), T = 2r/(1-p), with r an integer.

    Y > T needs fewer than r successes among T + r trials of probability 1-p, of which there are `2r + r(1-p)` on
    average, at least 2r. By Chernoff, Pr[Bin < mu (1 - 1/2)] <= e^(-mu/8) <= e^(-r/4). So r >= 4 ln(1/beta) is enough.
    The printed side, Pr[Bin(T, 1-p) < r], has mu = 2r exactly, and the same bound.
    """
    worst = 0.0
    for r, p in product((1, 4, 27), (0.1, 0.5, 0.9, 0.99)):
        tail = float(scipy.stats.nbinom.sf(math.floor(2 * r / (1 - p)), r, 1 - p))
        worst = max(worst, tail / math.exp(-r / 4.0))
    require(worst <= 1.0, "The tail exceeds e^(-r/4).")
    return {"worst_share": worst}


def chernoff_slack() -> dict[str, float]:
    """Compare e^(-r/4), proved, with the printed e^(-0.001 r) <= beta at r = 1000 (1 + ln(1/(beta delta)))."""
    beta, delta = 0.1, 1e-6
    r = 1000.0 * (1.0 + math.log(1 / (beta * delta)))
    require(-0.001 * r <= math.log(beta) and -r / 4 < -0.001 * r, "The step fails.")
    return {"log_slack": 0.249 * r}


def identity_by_enumeration() -> dict[str, float]:
    """Evaluate both sides of the identity at r = 1, p = 1/2, T = 1, in fractions."""
    left = 1 - sum(Fraction(1, 2) * Fraction(1, 2) ** y for y in range(2))
    printed = Fraction(1, 2)  # no success in one trial
    right = Fraction(1, 4)  # no success in two trials
    require(left == right != printed, "The printed identity holds at r = 1, p = 1/2, T = 1.")
    return {"left": float(left), "printed": float(printed)}


def identity_of_trials() -> dict[str, str]:
    """Show for r = 1 and any p and T that Pr[Y > T] = p^(T+1), which is Pr[Bin(T+1, 1-p) < 1] and not that of T."""
    import sympy

    p, t = sympy.symbols("p T", positive=True)
    tail = sympy.simplify(1 - (1 - p) * (1 - p ** (t + 1)) / (1 - p))  # a geometric sum from 0 to T
    ratio = sympy.simplify(p**t / tail)  # Pr[Bin(T, 1-p) < 1] = p^T
    require(sympy.simplify(ratio - 1 / p) == 0, "The printed side is not 1/p times the tail.")
    return {"ratio": str(ratio)}


def count_from_below() -> dict[str, float]:
    """Enumerate n - count for three users, in fractions, with noise cut at 4: never above the sum."""
    n, worst = 3, -math.inf
    for bits in product((0, 1), repeat=n):
        for noise in product(range(5), repeat=n):
            estimate = n - sum(1 - bit + z for bit, z in zip(bits, noise, strict=True))
            worst = max(worst, estimate - sum(bits))
    require(worst == 0.0, "n - count exceeds the sum.")
    one_absent = n - sum(1 - bit for bit in (1, 0)) - 1  # she who holds a 0 stays away, and her noise is 0
    return {"largest_excess": worst, "excess_if_one_is_absent": float(one_absent)}


def count_bias() -> dict[str, float]:
    """Sum the pmf of the noise at Theorem 39's parameters for (1, 1e-6): the mean of the count above the sum."""
    shape, p = 3.0 * (1.0 + math.log(1e6)), math.exp(-0.2)
    mass, mean = (1.0 - p) ** shape, 0.0
    for z in range(1, 3000):
        mass *= p * (z + shape - 1.0) / z
        mean += z * mass
    deviation = math.sqrt(shape * p) / (1.0 - p)
    require(mean > 5.0 * deviation, "The count is hardly biased.")
    return {"excess": mean, "deviations": mean / deviation}


def count_bias_symbolic() -> dict[str, str]:
    """Derive the mean of NB(r, p) from its generating function."""
    import sympy

    r, p, s = sympy.symbols("r p s", positive=True)
    mean = sympy.simplify(sympy.diff(((1 - p) / (1 - p * s)) ** r, s).subs(s, 1))
    require(sympy.simplify(mean - r * p / (1 - p)) == 0, "The noise has another mean.")
    return {"mean_of_noise": "r p / (1 - p)"}


def overestimates() -> dict[str, float]:
    """Enumerate Algorithm 8 for three users with noise up to 4: the count is never below the sum."""
    least = min(
        sum(bit + z for bit, z in zip(bits, noise, strict=True)) - sum(bits)
        for bits in product((0, 1), repeat=3)
        for noise in product(range(5), repeat=3)
    )
    require(least == 0, "The count is below the sum.")
    return {"least_excess": float(least)}


def more_shape() -> dict[str, str]:
    """Multiply the generating functions of NB(r, p) and NB(s, p): that of NB(r + s, p), so more shape is more noise."""
    import sympy

    r, s, p, z = sympy.symbols("r s p z", positive=True)

    def transform(shape: sympy.Expr) -> sympy.Expr:
        return ((1 - p) / (1 - p * z)) ** shape

    require(sympy.powsimp(transform(r) * transform(s) / transform(r + s), force=True) == 1, "The sum has another law.")
    return {"law": "NB(r + s, p)"}


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
    law = [delta / 2, (1 - delta / 2) * (1 - lie), (1 - delta / 2) * lie, Fraction(0)]
    total = divergence(*([a * b for a, b in product(one, repeat=2)] for one in (law, law[::-1])), power=power**2)
    require(total <= delta, "Two buckets cost more.")
    return {"share": float(total / delta)}


def empty_buckets() -> dict[str, float]:
    """Enumerate a bucket that none of three users holds: n minus the count of zeros is never above 0."""
    outputs = {max(3 - sum(1 + z for z in noise), 0) for noise in product(range(5), repeat=3)}
    require(outputs == {0}, "An empty bucket gets a count.")
    return {"output": 0.0}


def noise_of_corollary_40() -> dict[str, float]:
    """Enclose (1 - e^(-0.2 eps)) / eps at eps = 1, its least on (0, 1]: T = 2r / (1-p) is at most 11.1 r / eps."""
    least = 1 - (-flint.arb("0.2")).exp()  # concave in eps and 0 at 0: at least its chord
    require(least > flint.arb("0.18"), "The quotient is below 0.18.")
    return {"constant": float(2 / least)}


def accuracy_of_lemma_38() -> dict[str, float]:
    """Evaluate the exact quantile of the noise of Theorem 39's least shape beside log(1/(delta beta)) / eps."""
    worst = 0.0
    for epsilon, delta, beta in product((0.1, 0.5, 0.99), (0.1, 1e-3, 1e-9), (0.3, 1e-2, 1e-6)):
        p, shape = math.exp(-0.2 * epsilon), 3.0 * (1.0 + math.log(1 / delta))
        quantile = float(scipy.stats.nbinom.isf(beta, shape, 1 - p))
        worst = max(worst, quantile * epsilon / math.log(1 / (delta * beta)))
    require(worst < 50.0, "The constant is 50 or more.")
    return {"constant": worst}
