"""What backs the verdicts on displayed bounds, steps of proofs and numbers of the text, and on the authors' program."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from dpverify.evidence import require

__all__ = [
    "accuracy_of_weights",
    "bayes_interval",
    "chernoff_slack",
    "code_of_central",
    "code_of_labels",
    "collisions_of_hashes",
    "composed_parameters",
    "composed_parameters_limit",
    "deltas_of_experiments",
    "enough_agreement",
    "error_of_three_nb",
    "error_steps",
    "first_summand",
    "hoeffding_sides",
    "hoeffding_sides_summed",
    "log_three",
    "markov_step",
    "more_shape",
    "sample_sizes",
    "total_variation_chain",
    "union_of_queries",
]


def composed_parameters() -> dict[str, float]:
    """Evaluate Theorem 3.2 at the setting of A.2, eps0 = eps / sqrt(I ln(1/delta)), and at a third of it.

    The total over eps is `sqrt(2 ln(2/delta) / L) + (e^eps0 - 1) / eps0 eps / L`, L = ln(1/delta). At a third, with
    delta <= 1/2, eps <= L and I >= L: eps0 <= L / (3 sqrt(I L)) <= 1/3, so that the second term is at most 3 (e^(1/3) -
    1) / 9 < 0.14; the first is sqrt(2 (1 + ln 2 / L)) / 3 <= 2/3. With few instances eps0 grows like sqrt(L), and the
    total like e^(sqrt(L) / 3): no constant is enough for I = 1 and all delta. (There I eps0 <= eps, by basic
    composition, for all I <= 9 L.)
    """
    proved, worst, literal = 2.0 / 3.0 + math.expm1(1.0 / 3.0) / 3.0, 0.0, math.inf
    few, log_few = math.sqrt(100.0) / 3.0, 100.0 + math.log(2.0)  # eps = L = 100, I = 1
    found = {"few_factor": (few * math.expm1(few) + few * math.sqrt(2.0 * log_few)) / 100.0}
    require(found["few_factor"] > 1.0, "A third is enough for one instance.")
    for delta, share, more in product((0.5, 0.1, 1e-3, 1e-9, 1e-300), (0.01, 0.3, 1.0), (1.0, 10.0, 1e6)):
        log = math.log(1 / delta)
        instances = math.ceil(more * log)
        epsilon = share * log

        def total(each: float, log2: float = math.log(2 / delta), instances: int = instances) -> float:
            return instances * each * math.expm1(each) + each * math.sqrt(2 * instances * log2)

        each = epsilon / math.sqrt(instances * log)
        literal = min(literal, total(each) / epsilon)
        worst = max(worst, total(each / 3.0) / epsilon)
    require(literal > math.sqrt(2.0), "The printed setting is (eps, delta)-DP by Theorem 3.2.")
    require(worst <= proved < 1.0, "A third of it is not.")
    return found | {"repaired_factor": proved}


def composed_parameters_limit() -> dict[str, float]:
    """Take the limits of sqrt(2 ln(2/delta) / ln(1/delta)): sqrt 2 as delta goes to 0, no bound as it goes to 1."""
    import sympy

    log = sympy.symbols("log", positive=True)
    factor = sympy.sqrt(2 * (sympy.log(2) + log) / log)
    require(sympy.limit(factor, log, sympy.oo) == sympy.sqrt(2), "Another limit as delta goes to 0.")
    require(sympy.limit(factor, log, 0, "+") == sympy.oo, "Bounded as delta goes to 1.")
    return {"limit": math.sqrt(2.0)}


def error_of_three_nb() -> dict[str, float]:
    """Take limits of the error sqrt(2p)/(1-p), p = e^(-0.99 eps0), times eps0: sqrt 2 / 0.99, and 0 as eps0 grows."""
    import sympy

    e = sympy.symbols("e", positive=True)
    p = sympy.exp(-sympy.Rational(99, 100) * e)
    squared = 2 * p / (1 - p) ** 2 * e**2
    small = sympy.limit(squared, e, 0, "+")
    require(sympy.simplify(small - 2 / sympy.Rational(99, 100) ** 2) == 0, "Another limit as eps0 goes to 0.")
    require(sympy.limit(squared, e, sympy.oo) == 0, "The error is of order 1/eps0 for large eps0.")
    return {"constant": math.sqrt(float(small))}


def first_summand() -> dict[str, float]:
    """Show (I (b + 2 P)^2 + I (I-1) b^2) / I^2 <= 8 P^2 / I + 2 b^2 for P = R^2 S, by a sum of squares."""
    import sympy

    b, p, more = sympy.symbols("b p more", nonnegative=True)
    i = 1 + more  # I >= 1
    gap = sympy.expand(
        sympy.simplify((8 * p**2 / i + 2 * b**2 - (i * (b + 2 * p) ** 2 + i * (i - 1) * b**2) / i**2) * i)
    )
    square = sympy.expand(gap - (b - 2 * p) ** 2)  # what is left after a square
    require(sympy.simplify(square - more * b**2) == 0, "The gap is another.")
    return {"gap_is_square": 1.0}


def error_steps() -> dict[str, float]:
    """Add up the two summands, 2 (8 P^2/I + 2 b^2) + 8 S R^4 e^2 / I, e = E/n, and compare with Theorem 3.2."""
    import sympy

    b, r, s, e, i = sympy.symbols("b R S e I", positive=True)
    proved = 2 * (8 * r**4 * s**2 / i + 2 * b**2) + 8 * s * r**4 * e**2 / i
    stated = 4 * b**2 + 16 * r**4 * s * (s + e**2) / i
    require(sympy.simplify(stated - proved - 8 * s * r**4 * e**2 / i) == 0, "The difference is another.")
    return {"noise_factor": 2.0}


def deltas_of_experiments() -> dict[str, float]:
    """Multiply delta by the number of training examples, for the four data sets of section 4."""
    sizes = {"dbpedia": (560_000, 1e-6), "ag_news": (120_000, 1e-6), "sst2": (67_300, 1e-5), "cifar": (50_000, 1e-5)}
    found = {name: users * delta for name, (users, delta) in sizes.items()}
    require(max(found.values()) < 1.0, "A delta is above 1/n.")
    return found


def code_of_central() -> dict[str, float]:
    """Compare the noise of the program's central baseline with what replacing one user's features changes.

    Features in [-1, 1] average over n users: replacing one moves each by 2/n, so the 2-norm of I of them moves by
    2 sqrt(I)/n, and the program's noise is for sqrt(I)/n. The exact epsilon of Gaussian noise of that size, at eps = 2.
    """
    from dpverify.search import smallest

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


def code_of_labels() -> dict[str, float]:
    """Compare the program's label randomizer, kept or uniform over all m labels, with the text's, in fractions."""
    for e, m in product((Fraction(3), Fraction(20)), (2, 5, 14)):
        kept = (e - 1) / (e - 1 + m)
        require(kept + (1 - kept) / m == e / (e - 1 + m), "The laws differ.")
        require((1 - kept) / m == (1 - e / (e - 1 + m)) / (m - 1), "The laws differ.")
    return {"same": 1.0}


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
    import flint

    x = flint.arb(1) / 1000  # the largest, at beta = 1
    require((20 * x).expm1() <= 40 * x, "exp(20 x) - 1 exceeds 40 x.")
    require(40 * x < flint.arb(1) / 10, "40 x exceeds beta^2 / 10.")
    # e^y - 1 is convex and 0 at 0, so that it is below the chord 2 y up to where it meets it, beyond y = 1.25.
    require(flint.arb("1.25").expm1() < flint.arb("2.5"), "The chord ends before 1.25.")
    return {"chain": 40.0 / 1000.0}


def accuracy_of_weights() -> dict[str, float]:
    """Put the printed gamma into 2^d e^(-gamma alpha / 2) <= beta / 2: it is (2/e)^d beta e^-10."""
    import flint

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
    from scipy import stats

    worst = 0.0
    for beta in (0.099, 0.01, 1e-4, 1e-8):
        users = 1
        while float(stats.binom.cdf(math.ceil(0.8 * users) - 1, users, 0.9)) > beta / 6:
            users += 1
        worst = max(worst, users / math.log(1 / beta))
    hoeffding = max(math.log(6 / beta) / 0.02 / math.log(1 / beta) for beta in (0.099, 0.01, 1e-4, 1e-8))
    require(worst < hoeffding, "Hoeffding asks for fewer.")
    return {"first_enough": worst, "by_hoeffding": hoeffding}


def chernoff_slack() -> dict[str, float]:
    """Compare e^(-r/4), proved, with the printed e^(-0.001 r) <= beta at r = 1000 (1 + ln(1/(beta delta)))."""
    beta, delta = 0.1, 1e-6
    r = 1000.0 * (1.0 + math.log(1 / (beta * delta)))
    require(-0.001 * r <= math.log(beta) and -r / 4 < -0.001 * r, "The step fails.")
    return {"log_slack": 0.249 * r}


def more_shape() -> dict[str, str]:
    """Multiply the generating functions of NB(r, p) and NB(s, p): that of NB(r + s, p), so more shape is more noise."""
    import sympy

    r, s, p, z = sympy.symbols("r s p z", positive=True)

    def transform(shape: sympy.Expr) -> sympy.Expr:
        return ((1 - p) / (1 - p * z)) ** shape

    require(sympy.powsimp(transform(r) * transform(s) / transform(r + s), force=True) == 1, "The sum has another law.")
    return {"law": "NB(r + s, p)"}


def sample_sizes() -> dict[str, str]:
    """Solve 1/(n eps) = alpha and 1/(eps sqrt(n)) = alpha for n: the central and the local number of samples."""
    import sympy

    n, e, a = sympy.symbols("n e a", positive=True)
    central, local = sympy.solve(1 / (n * e) - a, n), sympy.solve(1 / (e * sympy.sqrt(n)) - a, n)
    require(central == [1 / (a * e)] and local == [1 / (a**2 * e**2)], "The numbers of samples are others.")
    gap = sympy.simplify((1 / (e * sympy.sqrt(n))) / (1 / (n * e)))
    require(sympy.simplify(gap - sympy.sqrt(n)) == 0, "The gap is not sqrt(n).")
    return {"gap": "sqrt(n)"}


def bayes_interval() -> dict[str, float]:
    """Enclose 1/(e + 1) and e/(e + 1) in balls: a bit given the transcript of a 1-LDP protocol, within [1/4, 3/4]."""
    import flint

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
