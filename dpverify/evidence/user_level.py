"""What backs the verdicts on ghazi2021's learners: correlated sampling, stability, selections, group privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import flint
import scipy

from dpverify.claims.shared.buckets import least_shape, under_estimating
from dpverify.claims.user_level.classifier import least_users, plurality_failure
from dpverify.claims.user_level.lower_bound import enough_runs, hit_probability
from dpverify.claims.user_level.stable_learner import enough_samples
from dpverify.evidence import require
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import user_level as formulas
from protocols.selection import Selection
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.local_selection import HadamardSelection
from protocols.user_level.statistical_queries import rounded_answer


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
    tau, beta = 0.1, 0.001
    samples = float(formulas.published_query_samples(FLOATS, 1, tau, beta))
    asked, deviation = beta**2 / (3 * math.ceil(3 / tau)), 1.0 / math.sqrt(samples)
    missed = 2.0 * float(scipy.stats.norm.sf(asked / deviation))
    require(missed > 1e5 * beta**2 / 3, "The deviation is met.")
    for small in (1e-2, 1e-4, 1e-8):  # the conclusion: offsets next to a boundary have a share below beta
        many = float(formulas.published_query_samples(FLOATS, 1, tau, small))
        share = 2.0 * float(scipy.stats.norm.isf(small)) * math.ceil(3 / tau) / math.sqrt(many)
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
    worst = 0.0
    for u, steps, offset in product((-1.0, -0.37, 0.0, 0.5, 0.999), (3, 10), (0.0, 0.3, 0.99)):
        worst = max(worst, abs(rounded_answer(u, steps, offset) - u) * steps)
    require(worst <= 1.0 + 1e-9, "An answer is off by more than 1/I.")
    return {"bits_per_query": math.log2(2 * 10 + 1)}


def local_users() -> dict[str, float]:
    """Compute the failure of a plurality by Hadamard bits with 24 (d + ln(1/beta)) / eps^2 users on a grid."""
    worst = 0.0
    for bits, epsilon, beta in product((1, 4, 8, 14), (0.1, 0.99), (0.001, 0.099)):
        users = math.floor(24 * (bits + math.log(1 / beta)) / epsilon**2)
        worst = max(worst, plurality_failure(HadamardSelection(2**bits, epsilon), users, 0.9) / (beta / 3))
    require(worst <= 1.0, "24 (d + ln(1/beta)) / eps^2 users are not enough.")
    return {"worst_share": worst}


def central_users() -> dict[str, float]:
    """Compute the same for the exponential mechanism with 3.2 (d + ln(1/beta)) / eps users."""
    worst = 0.0
    for bits, epsilon, beta in product((1, 4, 8, 14), (0.1, 0.99), (0.001, 0.099)):
        users = math.floor(3.2 * (bits + math.log(1 / beta)) / epsilon)
        selection = ExponentialSelection(users, 2**bits, epsilon)
        worst = max(worst, plurality_failure(selection, users, 0.9) / (beta / 3))
    require(worst <= 1.0, "3.2 (d + ln(1/beta)) / eps users are not enough.")
    return {"worst_share": worst}


def shuffle_users() -> dict[str, int]:
    """Find the least numbers of users at (0.99, 1e-6), beta = 0.09, for 9, 1,050 and 10^12 hypotheses."""
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


def hoeffding_sides() -> dict[str, float]:
    """Bound both sides of the printed probability by Hoeffding: it is the deviation beyond that is rare.

    Pr[|err_D - err_S| > 10 sqrt(d L / m)] <= 2 e^(-200 d L) = 2 beta^(200 d), L = ln(1/beta), which is far below
    beta^2 / (10 2^d); so the printed event, at most that, has nearly probability 1.
    """
    beta, d = 0.1, 1
    beyond = 2.0 * beta ** (200 * d)
    require(1.0 - beyond > beta**2 / (10 * 2**d), "The printed inequality holds.")
    return {"within": 1.0 - beyond, "printed": beta**2 / (10 * 2**d)}


def hoeffding_sides_summed() -> dict[str, float]:
    """Sum the binomial law of 400 fair errors within 10 sqrt(ln 10 / 400) = 0.76 of the mean, in fractions."""
    m = 400
    reach = 10.0 * math.sqrt(math.log(10.0) / m)
    within = Fraction(sum(math.comb(m, k) for k in range(m + 1) if abs(k / m - 0.5) <= reach), 2**m)
    require(within > Fraction(1, 2000), "The printed inequality holds.")
    return {"summed": float(within)}


def total_variation_chain() -> dict[str, float]:
    """Put the printed m into exp(20 x) - 1 <= 40 x <= beta^2 / 10: x = gamma sqrt(d L / m) is beta^2 / 1000."""
    x = flint.arb(1) / 1000  # the largest, at beta = 1
    require((20 * x).expm1() <= 40 * x, "exp(20 x) - 1 exceeds 40 x.")
    require(40 * x < flint.arb(1) / 10, "40 x exceeds beta^2 / 10.")
    # e^y - 1 is convex and 0 at 0, so that it is below the chord 2 y up to where it meets it, beyond y = 1.25.
    require(flint.arb("1.25").expm1() < flint.arb("2.5"), "The chord ends before 1.25.")
    return {"chain": 40.0 / 1000.0}


def accuracy_of_weights() -> dict[str, float]:
    """Put the printed gamma into 2^d e^(-gamma alpha / 2) <= beta / 2: it is (2/e)^d beta e^-10."""
    slack = 2 * (-flint.arb(10)).exp()  # at d = 0, times beta/2
    require(flint.arb(2).log() < 1 and slack < 1, "The step fails.")
    return {"slack": float(slack)}


def markov_step() -> dict[str, float]:
    """Show, in fractions, that a mean disagreement of beta^2 over r leaves at most a share beta of r above beta.

    A share s of r above beta has a mean above s beta, which exceeds beta^2 for s > beta.
    """
    for beta, share in product(
        (Fraction(1, 100), Fraction(1, 7), Fraction(1, 2)), (Fraction(k, 200) for k in range(201))
    ):
        require(not (share > beta and share * beta <= beta**2), "More than beta of r may be above beta.")
    return {"bound": 1.0}


def union_of_queries() -> dict[str, str]:
    """Add up the two failures of one query: beta^2/(3q) and 2 beta^2/(3q) are beta^2/q."""
    import sympy

    b, q = sympy.symbols("b q", positive=True)
    require(sympy.simplify(b**2 / (3 * q) + 2 * b**2 / (3 * q) - b**2 / q) == 0, "The sum is another.")
    return {"sum": "beta^2/q"}


def enough_agreement() -> dict[str, float]:
    """Find the K for which K ln(1/beta) users of whom 0.9 agree show 0.8 but for beta/6, by exact binomial tails."""
    worst = 0.0
    for beta in (0.099, 0.01, 1e-4, 1e-8):
        users = 1
        while float(scipy.stats.binom.cdf(math.ceil(0.8 * users) - 1, users, 0.9)) > beta / 6:
            users += 1
        worst = max(worst, users / math.log(1 / beta))
    hoeffding = max(math.log(6 / beta) / 0.02 / math.log(1 / beta) for beta in (0.099, 0.01, 1e-4, 1e-8))
    require(worst < hoeffding, "Hoeffding asks for fewer.")
    return {"first_enough": worst, "by_hoeffding": hoeffding}


def statistical_queries() -> dict[str, float]:
    """Check that every answer of the repaired oracle is within tau/3 of the mean, at many means and offsets."""
    worst = 0.0
    for tau in (0.5, 0.1, 0.03):
        steps = math.ceil(3 / tau)
        for number, offset in product(range(-20, 21), (0.0, 0.25, 0.999)):
            worst = max(worst, abs(rounded_answer(number / 20, steps, offset) - number / 20) / tau)
    require(worst <= 1.0 / 3.0 + 1e-9, "An answer is off by more than tau/3.")
    return {"worst_in_tau": worst}


def pseudo_stable_budget() -> dict[str, float]:
    """Evaluate m = gamma^2 ln(2 |H|) / (2 beta^4) for growing d at alpha = beta = 0.1: it grows like d^3."""

    def samples(d: int) -> float:
        return enough_samples(2**d, formulas.published_sharpness(FLOATS, float(d), 0.1, 0.1), 0.01)

    exponent = math.log(samples(800) / samples(400)) / math.log(2.0)
    require(2.5 < exponent <= 3.0, "It grows with another power.")
    return {"exponent": exponent}


def representation() -> dict[str, float]:
    """Enumerate a representation by half of a class: thresholds on three points, every distribution of sixths."""
    points, thresholds = range(3), range(4)
    kept = [(0, 2), (1, 3)]  # H, each with probability 1/2
    worst = Fraction(0)
    for weights in product(range(7), repeat=3):
        if sum(weights) == 6:
            for target in thresholds:
                errors = [
                    min(
                        sum((Fraction(weights[x], 6) for x in points if (x < h) != (x < target)), Fraction(0))
                        for h in chosen
                    )
                    for chosen in kept
                ]
                worst = max(worst, sum((Fraction(1, 2) for e in errors if e > Fraction(1, 2)), Fraction(0)))
    require(worst == Fraction(1, 2), "Half of the class represents it otherwise.")
    return {"failing": float(worst)}


def majority_is_selected() -> dict[str, float]:
    """Check that a count of 0.8 n and a selection within 0.1 n leave no other choice, for all counts of ten users."""
    for counts in product(range(11), repeat=3):
        if sum(counts) == 10 and counts[0] >= 8:
            chosen = [k for k in range(3) if counts[k] >= max(counts) - 1]
            require(chosen == [0], "Another hypothesis may be selected.")
    return {"least_lead": 0.6}
