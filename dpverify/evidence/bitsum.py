"""What backs the verdicts on binary sums: privacy by Arb balls, biases in fractions, and what they cost."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from dpverify.evidence import require

__all__ = [
    "code_of_pure",
    "code_of_three_nb",
    "count_bias",
    "count_bias_symbolic",
    "count_from_below",
    "first_message_of_pure",
    "flood_of_three_nb",
    "flood_rate",
    "flood_rate_grid",
    "lemma_4_8",
    "negative_binomial_chernoff",
    "negative_binomial_point",
    "pure_sum",
    "sum_bias",
    "sum_bias_symbolic",
]


def lemma_4_8() -> dict[str, float]:
    """Account for Lemma 4.8's flip probability on a grid of (eps0, delta0, n), and at one point of the experiments."""
    from dpverify.changes import Full
    from dpverify.claims.bitsum import BITSUM_CLAIMS
    from dpverify.formulas import FormulaRangeError
    from dpverify.guarantee import ThreatModel

    claims, worst, points = BITSUM_CLAIMS["rr"], 0.0, 0
    for n, epsilon0, delta0 in product((1000, 30_000), (0.01, 0.1, 0.5, 0.99), (0.1, 1e-4, 1e-9)):
        try:
            protocol = claims.published(n, epsilon0, delta0)
        except FormulaRangeError:
            continue
        delta = claims.curve(protocol, Full(1), ThreatModel.COMMUNICATION).delta(epsilon0).upper
        worst, points = max(worst, delta / delta0), points + 1
    require(worst <= 1.0, f"Lemma 4.8 gives {worst} delta0 somewhere on the grid.")
    protocol = claims.published(30_000, 0.0126, 6.5e-10)
    exact = claims.curve(protocol, Full(1), ThreatModel.COMMUNICATION).epsilon(6.5e-10).upper
    return {"points": points, "worst": worst, "share": exact / 0.0126}


def sum_bias() -> dict[str, float]:
    """Enumerate, in fractions, the sum of the reports of three users of randomized response."""
    p, bits = Fraction(1, 5), (1, 0, 0)
    mean = Fraction(0)
    for flips in product((0, 1), repeat=3):
        mass = math.prod(p if flip else 1 - p for flip in flips)
        mean += mass * sum(bit ^ flip for bit, flip in zip(bits, flips, strict=True))
    bias = mean - sum(bits)
    require(bias == p * (3 - 2 * sum(bits)) != 0, "The sum of the reports has another bias.")
    require((mean - 3 * p) / (1 - 2 * p) == sum(bits), "The repaired estimate is biased.")
    return {"bias_of_three": float(bias)}


def sum_bias_symbolic() -> dict[str, str]:
    """Derive the bias of the sum of the reports for any n, sum and p."""
    import sympy

    n, s, p = sympy.symbols("n s p")
    bias = sympy.factor(s * (1 - p) + (n - s) * p - s)
    require(sympy.simplify(bias - p * (n - 2 * s)) == 0, "The sum of the reports has another bias.")
    return {"bias": str(bias)}


def _certified(epsilon0: float, delta0: float, c: float, p: float | None = None) -> tuple[float, float]:
    """Return Arb's bounds on the delta of the published 3NB at epsilon0, the larger of both directions."""
    from dpverify.certificates.enclosure import hockey_stick
    from dpverify.certificates.pairs import Direction, ThreeNBPair
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import three_nb as formulas

    pair = ThreeNBPair(
        float(formulas.noise_p(FLOATS, epsilon0)) if p is None else p,
        float(formulas.flood_shape(FLOATS, epsilon0, delta0)),
        float(formulas.flood_p(FLOATS, epsilon0, delta0, c)),
    )
    found = [hockey_stick(pair, epsilon0, direction, digits=8) for direction in Direction]
    return max(each.lower for each in found), max(each.upper for each in found)


def flood_rate() -> dict[str, float]:
    """Enclose the delta of 3NB for several constants c, where the source leaves c as Theta(1)."""
    from dpverify.claims.bitsum.three_nb import FLOOD_RATE

    small, worst = (0.0134, 6.5e-10), (1.27, 3.6e-7)
    one, half = _certified(*small, 1.0), _certified(*small, 0.5)
    require(one[0] > half[0] > small[1], "c = 1/2 is private at the point of the experiments.")
    require(_certified(*worst, 0.2514)[1] <= worst[1], "c = 0.2514 is not private where the constant is smallest.")
    require(_certified(*worst, 0.2515)[0] > worst[1], "c = 0.2515 is private where the constant is smallest.")
    require(_certified(*worst, FLOOD_RATE)[1] <= worst[1], "The constant in use is not private.")
    return {"delta_one": one[0], "delta_half": half[0], "rate": FLOOD_RATE}


def flood_rate_grid() -> dict[str, float]:
    """Bound the delta of 3NB at c = 0.2 on a grid of eps0 from 0.0134 to 6 and delta0 from 1e-12 to 1e-2.

    The share of delta0 is largest near eps0 = 1.3, delta0 = 3e-5, which is a point of the grid.
    """
    from dpverify.claims.bitsum.three_nb import FLOOD_RATE
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import three_nb as formulas
    from dpverify.privacy_loss.losses.pairs import three_nb

    worst = 0.0
    epsilons, deltas = (0.0134, 0.1, 0.3, 0.6, 1.0, 1.3, 2.0, 3.0, 6.0), (1e-2, 1e-4, 3e-5, 1e-6, 1e-9, 1e-12)
    for epsilon0, delta0 in product(epsilons, deltas):
        directions = three_nb(
            float(formulas.noise_p(FLOATS, epsilon0)),
            float(formulas.flood_shape(FLOATS, epsilon0, delta0)),
            float(formulas.flood_p(FLOATS, epsilon0, delta0, FLOOD_RATE)),
        )
        worst = max(worst, *(pair.delta(epsilon0).upper / delta0 for pair in directions))
    require(worst <= 1.0, f"c = {FLOOD_RATE} gives {worst} delta0 somewhere on the grid.")
    return {"worst_share": worst, "grid": len(epsilons) * len(deltas)}


def code_of_three_nb() -> dict[str, float]:
    """Compare p = e^(-0.8 eps0) of the public code with the text's e^(-0.99 eps0): delta and error at (1, 1e-6)."""
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import three_nb as formulas

    text, code = math.exp(-0.99), math.exp(-0.8)
    deltas = [_certified(1.0, 1e-6, 0.2, p)[1] for p in (text, code)]
    require(deltas[1] < deltas[0] <= 1e-6, "More noise is less private.")
    errors = [float(formulas.rmse(FLOATS, p, 1)) for p in (text, code)]
    return {"text_error": errors[0], "code_error": errors[1]}


def negative_binomial_chernoff() -> dict[str, float]:
    """Prove Theorem 39, in Arb balls over all of 0 < eps0 <= 1.

    Z + 1 against Z, Z ~ NB(r, p), p = e^(-0.2 eps0). The ratio of the first to the second is z / (p (z + r - 1)), at
    most 1/p <= e^eps0 for r >= 1: no loss is larger. The inverse ratio exceeds e^eps0 only where z < (r-1) / (e^(1.2
    eps0) - 1) < r a, a = 1 / (e^(1.2 eps0) - 1). By Chernoff, P(Z <= r a) <= (s^-a (1-p) / (1-ps))^r at s = a / (p
    (1+a)) = e^-eps0, which is below 1: that is e^(r g), g = eps0 a + ln((1-p) / (1 - e^(-1.2 eps0))). If g <= -1/3 then
    r >= 3 (1 + ln(1/delta0)) makes it at most delta0. Balls over small intervals, and g written without 0/0 next to 0,
    show g < -0.9 on all of (0, 1].
    """
    import flint

    def quotient(x: Any) -> Any:
        """Return (e^x - 1) / x, also on balls that contain 0: increasing, from its ends."""

        def at(end: Any) -> Any:
            return flint.arb(1) if end == 0 else flint.arb(end).expm1() / flint.arb(end)

        return at(x[0]).union(at(x[1]))

    def g(low: Fraction, high: Fraction) -> Any:
        def scaled(factor: Fraction) -> tuple[Any, Any]:
            ends = sorted((low * factor, high * factor))
            return tuple(flint.arb(flint.fmpq(end.numerator, end.denominator)) for end in ends)  # type: ignore[return-value]

        # eps0 a = 1 / (1.2 q(1.2 eps0)); (1-p) / (1 - e^(-1.2 eps0)) = q(-0.2 eps0) / (6 q(-1.2 eps0)).
        first = 1 / (quotient(scaled(Fraction(6, 5))) * 6 / 5)
        return first + (quotient(scaled(Fraction(-1, 5))) / (6 * quotient(scaled(Fraction(-6, 5))))).log()

    steps = 200
    largest = max(float(g(Fraction(i, steps), Fraction(i + 1, steps)).upper()) for i in range(steps))
    require(largest < -0.9, "The exponent is above -0.9 somewhere.")
    far = next(e for e in range(1, 100) if not g(Fraction(e), Fraction(e)) < -flint.arb(1) / 3)
    return {"exponent": largest, "still_private": far - 1, "power": 3.0 * 0.9}


def negative_binomial_point() -> dict[str, float]:
    """Enclose the delta of Theorem 39 at (1, 1e-6), and find the least error that is private with the same r."""
    from dpverify.certificates.enclosure import hockey_stick
    from dpverify.certificates.pairs import Direction, NegativeBinomialPair
    from dpverify.search import smallest

    shape, p = 3.0 * (1.0 + math.log(1e6)), math.exp(-0.2)

    def worst(p: float) -> float:
        return max(hockey_stick(NegativeBinomialPair(shape, p), 1, way, digits=6).upper for way in Direction)

    delta = worst(p)
    require(delta <= 1e-6, "Theorem 39 fails at (1, 1e-6).")
    least = smallest(lambda mean: worst(mean / (1.0 + mean)) <= 1e-6, 0.5, 100.0, 1e-5)  # mean per shape, p / (1-p)
    require(least is not None, "No noise is enough.")
    spread = [math.sqrt(shape * q) / (1.0 - q) for q in (p, float(least or 0.0) / (1.0 + float(least or 0.0)))]
    return {"delta": delta, "published_error": spread[0], "least_error": spread[1], "mean": shape * p / (1.0 - p)}


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


def pure_sum() -> dict[str, float]:
    """Enclose the largest loss of the sum at the parameters of the public code: ln(q + (1-q) e^eps')."""
    from dpverify.formulas.contexts import arb_context
    from dpverify.formulas.protocols import pure as formulas

    worst = 0.0
    for epsilon0, rho, n in product((0.05, 0.5, 1.0, 3.0), (0.1, 0.5), (30_000, 10**6)):
        with arb_context() as ctx:
            noise = formulas.noise_epsilon(ctx, epsilon0, rho)
            loss = formulas.sum_view_loss(ctx, ctx.exp(-noise), formulas.drop_probability(ctx, epsilon0, rho, n))
            require(loss < noise, "The loss of the sum reaches eps'.")
            worst = max(worst, float(loss / epsilon0))
    require(worst < 1.0, "The loss of the sum reaches eps0.")
    return {"largest_share": worst}


def first_message_of_pure() -> dict[str, float]:
    """Compute, in fractions, the two probabilities that no message +1 is sent: their ratio is q, whatever the flood.

    A user of bit 0 sends none with the probability of no noise and no flood; a user of bit 1 only if she drops it too.
    """
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import pure as formulas

    q = float(formulas.drop_probability(FLOATS, 1.0, 0.5, 30_000))
    for silent in (Fraction(1, 2), Fraction(1, 10**9)):  # of all others and her noise and flood
        require(silent * Fraction(q) / silent == Fraction(q), "The ratio depends on the flood.")
    require(math.log(1.0 / q) > 1.0, "The loss is below eps0.")
    return {"loss": math.log(1.0 / q), "q": q}


def flood_of_three_nb() -> dict[str, float]:
    """Compare what 3NB and Pure cost at the least flood at which Pure, as reconstructed, is (eps, 1e-6)-DP."""
    from dpverify.claims.bitsum import BITSUM_CLAIMS

    found = {}
    for name, epsilon in (("one", 1.0), ("two", 2.0), ("small", 0.03)):
        for bitsum in ("pure", "3nb"):
            claims = BITSUM_CLAIMS[bitsum]
            found[f"{'nb' if bitsum == '3nb' else bitsum}_{name}"] = claims.messages_per_user(
                claims.published(30_000, epsilon, 1e-6)
            )
    require(found["pure_one"] > found["nb_one"] and found["pure_two"] > found["nb_two"], "Pure sends fewer at 1 and 2.")
    require(found["pure_small"] < found["nb_small"], "Pure sends more at eps = 0.03.")
    return found


def code_of_pure() -> dict[str, float]:
    """Follow the public code, commit 3f38f15, which passes rho = 1 and releases the sum without dividing by 1 - q."""
    from dpverify.formulas.contexts import FLOATS
    from dpverify.formulas.protocols import pure as formulas

    n, found = 30_000, {}
    for name, epsilon0 in (("one", 1.0), ("small", 0.01257832), ("least", 2.0 / 768.0)):
        q = float(formulas.drop_probability(FLOATS, epsilon0, 0.5, n))
        found[f"bias_{name}"] = -float(formulas.released_bias(FLOATS, q, n))
        noise = float(formulas.noise_epsilon(FLOATS, epsilon0, 0.5))
        found[f"noise_{name}"] = math.sqrt(float(formulas.variance(FLOATS, math.exp(-noise), 0, 0)))
    # What the text's own range of rho, (0, 1/2], would make of rho = 1: q doubles.
    found["q_of_code"] = 0.2 / (math.exp(2.0 / 768.0) * (1.0 - math.exp(-2.0 / 768.0)) ** 2 * n)
    require(found["bias_least"] > 10.0 * found["noise_least"], "The bias is small against the noise.")
    return found
