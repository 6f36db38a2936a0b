"""What backs the verdicts on histograms, selections, labels, classes and their words."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from dpverify.evidence import require

__all__ = [
    "chernoff_of_buckets",
    "collected_vocabulary",
    "counts_are_labels",
    "flood_per_user",
    "flood_per_user_symbolic",
    "identity_by_enumeration",
    "identity_of_trials",
    "labels",
    "labels_enumerated",
    "one_user_classes",
    "small_histograms",
    "small_selections",
    "tail_parameters",
]


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
    from dpverify.claims.shared.buckets import BucketAccount

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
    from dpverify.claims.histogram import HistogramClaims
    from dpverify.claims.shared.buckets import least_shape, noise_of

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
    from scipy import stats

    worst = 0.0
    for r, p in product((1, 4, 27), (0.1, 0.5, 0.9, 0.99)):
        tail = float(stats.nbinom.sf(math.floor(2 * r / (1 - p)), r, 1 - p))
        worst = max(worst, tail / math.exp(-r / 4.0))
    require(worst <= 1.0, "The tail exceeds e^(-r/4).")
    return {"worst_share": worst}


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
    from dpverify.claims.classifier import counts_reveal

    found = counts_reveal(0.5, 2.0, 2)
    keep = math.exp(2.0) / (math.exp(2.0) + 1.0)
    require(abs(found - keep * (1.0 - math.exp(-1.5))) < 1e-12, "The counts reveal another delta.")
    return {"delta_of_counts": found}


def collected_vocabulary() -> dict[str, float]:
    """Enumerate two neighbouring datasets whose vocabulary is the users' own words: the outputs never agree."""
    first, second = {"common", "rare"}, {"common"}
    outputs = [sorted(words) for words in (first, second)]
    require(outputs[0] != outputs[1], "The vocabulary tells nothing.")
    return {"delta": 1.0}


def flood_per_user() -> dict[str, float]:
    """Evaluate the messages of a user where Algorithm 2 is taken literally: r' for each user, at n = 30,000."""
    from dpverify.claims.bitsum import BITSUM_CLAIMS

    claims, n = BITSUM_CLAIMS["3nb"], 30_000
    meant = claims.published(n, 1.0, 1e-6)
    flood = 2.0 * meant.flood_shape * meant.flood_p / (1.0 - meant.flood_p)
    require(flood > 100.0, "The literal flood is small.")
    return {"literal": 1.0 + flood, "meant": claims.messages_per_user(meant)}


def flood_per_user_symbolic() -> dict[str, str]:
    """Derive that r' per user makes the total flood n times what r' / n per user gives."""
    import sympy

    n, r, p = sympy.symbols("n r p", positive=True)
    ratio = sympy.simplify((n * r * p / (1 - p)) / (n * (r / n) * p / (1 - p)))
    require(ratio == n, "The floods differ by another factor.")
    return {"factor": str(ratio)}
