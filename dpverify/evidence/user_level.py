"""What backs the verdicts on ghazi2021's learners: correlated sampling, stability, selections, group privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from dpverify.evidence import require

__all__ = [
    "central_users",
    "group_privacy_by_steps",
    "group_privacy_symbolic",
    "literal_rounding",
    "literal_rounding_symbolic",
    "local_users",
    "printed_query_samples",
    "printed_query_samples_limit",
    "repaired_queries",
    "representation_step",
    "shared_clocks",
    "shuffle_users",
    "stability_steps",
    "stable_samples",
]


def shared_clocks() -> dict[str, float]:
    """Compute, in fractions, how often shared clocks disagree, for all laws of weights up to 3 on three points."""
    worst = Fraction(0)
    laws = [[Fraction(w, sum(weights)) for w in weights] for weights in product(range(4), repeat=3) if sum(weights)]
    for first, second in product(laws, repeat=2):
        agree = Fraction(0)
        for w, (p, q) in enumerate(zip(first, second, strict=True)):
            if p and q:
                ratios = [max(a / p, b / q) for x, (a, b) in enumerate(zip(first, second, strict=True)) if x != w]
                agree += 1 / (1 + sum(ratios, Fraction(0)))
        distance = sum((abs(a - b) for a, b in zip(first, second, strict=True)), Fraction(0)) / 2
        require(distance <= 1 - agree <= 2 * distance / (1 + distance), "The disagreement is beyond 2 d / (1 + d).")
        worst = max(worst, (1 - agree) / (2 * distance) if distance else Fraction(0))
    return {"share_of_bound": float(worst)}


def stability_steps() -> dict[str, float]:
    """Find the beta from which the step 2 beta^(200 d) <= beta^2 / (10 2^d) fails, and what Lemma 28 leaves."""
    low, high = 0.5, 0.9999
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * middle**200 <= middle**2 / 20 else (low, middle)
    require(all(2 * b ** (200 * d) <= b**2 / (10 * 2**d) for b in (0.1, 0.5, 0.98) for d in range(1, 30)), "It fails.")
    for beta in (0.01, 0.1, 0.24):
        stated, used = (2 * distance + beta**2 / 5 for distance in (beta / 10, beta**2 / 10))
        require(used < beta**2 < stated, "Lemma 28 as stated is enough.")
    # 2 beta / 10 + beta^2 / 5 <= beta^2 from beta = 1/4 on.
    return {"fails_from": high, "enough_from": 0.25}


def stable_samples() -> dict[str, float]:
    """Compare the printed number of samples with m = gamma^2 ln(2 |H|) / (2 beta^4), at d = 4, beta = 0.1."""
    from dpverify.claims.user_level.stable_learner import enough_samples
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import user_level as formulas

    sharpness = formulas.published_sharpness(FLOATS, 4.0, 0.1, 0.1)
    factor = float(formulas.published_samples(FLOATS, sharpness, 4.0, 0.1)) / enough_samples(16, sharpness, 0.1**2)
    require(factor > 1.0, "The printed number is smaller.")
    return {"times_fewer": factor}


def literal_rounding() -> dict[str, float]:
    """Follow Algorithm 5 to the letter for u = 1/2: its answers, and how far they are off, in fractions."""
    found = []
    for tau in (Fraction(1, 4), Fraction(1, 10), Fraction(1, 100)):
        steps, u = math.ceil(3 / tau), Fraction(1, 2)
        answers = [Fraction(math.floor(u), steps), Fraction(math.floor(u) + 1, steps)]
        off = min(abs(answer - u) for answer in answers)
        require(off > tau, "An answer is within tau.")
        found.append(off / tau)
    return {"least_off": float(min(found))}


def literal_rounding_symbolic() -> dict[str, str]:
    """Derive the mean of the printed answer for any u: u / I, not u."""
    import sympy

    low, part, steps = sympy.symbols("low part I", positive=True)  # u = low + part
    mean = sympy.simplify((low + 1) / steps * part + low / steps * (1 - part))
    require(sympy.simplify(mean - (low + part) / steps) == 0, "The mean is another.")
    return {"mean_answer": "u / I"}


def printed_query_samples() -> dict[str, float]:
    """Evaluate the printed m' for one query of fair signs at tau = 0.1, beta = 0.001, by the normal law."""
    from scipy import stats

    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import user_level as formulas

    tau, beta = 0.1, 0.001
    samples = float(formulas.published_query_samples(FLOATS, 1, tau, beta))
    asked, deviation = beta**2 / (3 * math.ceil(3 / tau)), 1.0 / math.sqrt(samples)
    missed = 2.0 * float(stats.norm.sf(asked / deviation))
    require(missed > 1e5 * beta**2 / 3, "The deviation is met.")
    for small in (1e-2, 1e-4, 1e-8):  # the conclusion: offsets next to a boundary have a share below beta
        many = float(formulas.published_query_samples(FLOATS, 1, tau, small))
        share = 2.0 * float(stats.norm.isf(small)) * math.ceil(3 / tau) / math.sqrt(many)
        require(share < small, "The conclusion fails.")
    return {"samples": samples, "deviation": deviation, "asked": asked, "missed": missed}


def printed_query_samples_limit() -> dict[str, float]:
    """Take the limit of the asked over the standard deviation of the mean as beta goes to 0: it is 0."""
    import sympy

    b = sympy.symbols("b", positive=True)
    deviation = b / (1000 * sympy.sqrt(sympy.log(1 / b**4)))
    ratio = sympy.limit(b**2 / deviation, b, 0, "+")
    require(ratio == 0, "The deviation does not stay below what is asked.")
    return {"limit_ratio": 0.0}


def repaired_queries() -> dict[str, float]:
    """Check the repaired rounding: answers within 1/I, and the number of sequences of answers that it may give."""
    from protocols.user_level.statistical_queries import rounded_answer

    worst = 0.0
    for u, steps, offset in product((-1.0, -0.37, 0.0, 0.5, 0.999), (3, 10), (0.0, 0.3, 0.99)):
        worst = max(worst, abs(rounded_answer(u, steps, offset) - u) * steps)
    require(worst <= 1.0 + 1e-9, "An answer is off by more than 1/I.")
    return {"bits_per_query": math.log2(2 * 10 + 1)}


def local_users() -> dict[str, float]:
    """Compute the failure of a plurality by Hadamard bits with 24 (d + ln(1/beta)) / eps^2 users on a grid."""
    from dpverify.claims.user_level.classifier import plurality_failure
    from protocols.user_level.local_selection import HadamardSelection

    worst = 0.0
    for bits, epsilon, beta in product((1, 4, 8, 14), (0.1, 0.99), (0.001, 0.099)):
        users = math.floor(24 * (bits + math.log(1 / beta)) / epsilon**2)
        worst = max(worst, plurality_failure(HadamardSelection(2**bits, epsilon), users, 0.9) / (beta / 3))
    require(worst <= 1.0, "24 (d + ln(1/beta)) / eps^2 users are not enough.")
    return {"worst_share": worst}


def central_users() -> dict[str, float]:
    """Compute the same for the exponential mechanism with 3.2 (d + ln(1/beta)) / eps users."""
    from dpverify.claims.user_level.classifier import plurality_failure
    from protocols.user_level.central_selection import ExponentialSelection

    worst = 0.0
    for bits, epsilon, beta in product((1, 4, 8, 14), (0.1, 0.99), (0.001, 0.099)):
        users = math.floor(3.2 * (bits + math.log(1 / beta)) / epsilon)
        selection = ExponentialSelection(users, 2**bits, epsilon)
        worst = max(worst, plurality_failure(selection, users, 0.9) / (beta / 3))
    require(worst <= 1.0, "3.2 (d + ln(1/beta)) / eps users are not enough.")
    return {"worst_share": worst}


def shuffle_users() -> dict[str, int]:
    """Find the least numbers of users at (0.99, 1e-6), beta = 0.09, for 9, 1,050 and 10^12 hypotheses."""
    from dpverify.claims.shared.buckets import least_shape, under_estimating
    from dpverify.claims.user_level.classifier import least_users
    from protocols.selection import Selection

    p = math.exp(-0.2 * 0.99)
    shape = least_shape((0.99, 1e-6), p)

    def enough(hypotheses: int) -> int:
        return least_users(lambda n: Selection(under_estimating(n, shape, p), hypotheses), 0.9, 0.03)

    few, many, most, more = (enough(hypotheses) for hypotheses in (9, 1050, 10**12, 10**15))
    require(few < many < most == more, "The users grow with the class.")
    return {"few": few, "many": many, "most": most}


def group_privacy_by_steps() -> dict[str, float]:
    """Chain k single steps, P <= e^eps P' + delta, in fractions with e^eps = 3/2, and compare with the closed sum."""
    power, delta, start = Fraction(3, 2), Fraction(1, 1000), Fraction(1, 100)
    chained = start
    for k in range(1, 8):
        chained = power * chained + delta
        require(chained == power**k * start + (power**k - 1) / (power - 1) * delta, "The chain has another sum.")
    return {"attained": 1.0}


def group_privacy_symbolic() -> dict[str, float]:
    """Show the inductive step: e^eps times the bound for k users, plus delta, is the bound for k + 1."""
    import sympy

    power, start, delta, k = sympy.symbols("power start delta k", positive=True)

    def bound(users: sympy.Expr) -> sympy.Expr:
        return power**users * start + (power**users - 1) / (power - 1) * delta

    require(sympy.simplify(power * bound(k) + delta - bound(k + 1)) == 0, "The inductive step fails.")
    require(sympy.simplify(bound(sympy.Integer(0)) - start) == 0, "The induction starts elsewhere.")
    return {"steps": 1.0}


def representation_step() -> dict[str, float]:
    """Evaluate the step '>= 10 / T' where delta is above epsilon, and a learner that publishes now and then."""
    from dpverify.claims.user_level.lower_bound import enough_runs, hit_probability
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import user_level as formulas

    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-3), (1e-5, 1e-7)):
        users = math.floor(float(formulas.lower_bound_users(FLOATS, epsilon, delta)))
        if users:
            printed = 100 * math.ceil(math.exp(epsilon * users))
            require(hit_probability(epsilon, delta, users) >= 10.0 / printed, "The step fails under the condition.")
    epsilon, delta = 1e-9, 0.01
    users = math.floor(float(formulas.lower_bound_users(FLOATS, epsilon, delta)))
    require(hit_probability(epsilon, delta, users) == 0.0, "The step holds without the condition.")
    enough = math.ceil(0.7 / delta)
    learns = 1.0 - (1.0 - delta) ** enough
    require(learns >= 0.5 and enough < users / 1000, "Publishing with probability delta does not learn.")
    runs = max(enough_runs(0.25, 0.0, n, 0.25) / math.exp(0.25 * n) for n in (10, 40))
    return {"learns": learns, "left_bits": math.log2(200.0), "runs_factor": runs}
