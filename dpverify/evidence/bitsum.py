"""What backs the verdicts on binary sums: privacy by Arb balls, biases in fractions, and what they cost."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import numpy as np

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, NegativeBinomialPair
from dpverify.changes import Full
from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.shared.communication import message_bits
from dpverify.evidence import divergence, require
from dpverify.formulas import FormulaRangeError
from dpverify.formulas.contexts import FLOATS, arb_context
from dpverify.formulas.protocols import pure, three_nb
from dpverify.guarantee import ThreatModel
from dpverify.search import smallest
from protocols.bitsum import RandomizedResponse, ThreeNB


def lemma_4_8() -> dict[str, float]:
    """Account for Lemma 4.8's flip probability on a grid of (eps0, delta0, n), and at one point of the experiments."""
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


def flips_over_users() -> dict[str, float]:
    """Differentiate both branches of Lemma 4.8's flip probability by n: both fall."""
    import sympy

    e, n, log = sympy.symbols("e n L", positive=True)
    first = 32 * log / (e**2 * n)
    second = sympy.Rational(1, 2) - e * sympy.sqrt(n) / (2 * sympy.sqrt(432 * log))
    require(sympy.diff(first, n).is_negative and sympy.diff(second, n).is_negative, "A branch grows.")
    return {"branches": 2.0}


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


def absent_users() -> dict[str, float]:
    """Enumerate randomized response of four users and of three, p = 1/4, and account for half of a published protocol.

    The view of one user more is that of the others with her report added, which is post-processing: the largest delta
    over all datasets can only grow as users leave. So a protocol that just keeps its promise with n users breaks it
    with fewer, if the growth is strict; one with slack may keep it.
    """
    p, power, worst = Fraction(1, 4), Fraction(3, 2), []
    for users in (4, 3):
        largest = Fraction(0)
        for ones in range(users):
            laws = []
            for own in (1 - p, p):
                law = [Fraction(1)]
                for chance in [1 - p] * ones + [p] * (users - 1 - ones) + [own]:
                    law = [
                        a * (1 - chance) + b * chance
                        for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)
                    ]
                laws.append(law)
            largest = max(largest, divergence(*laws, power=power))
        worst.append(largest)
    require(worst[1] > worst[0], "Fewer users are as private.")
    claims, (n, epsilon0, delta0) = BITSUM_CLAIMS["rr"], (30_000, 0.0126, 6.5e-10)
    half = replace(claims.published(n, epsilon0, delta0), users=n // 2)
    kept = claims.curve(half, Full(1), ThreatModel.COMMUNICATION).delta(epsilon0).upper
    require(kept <= delta0, "Half of the users break the published guarantee.")
    return {"four": float(worst[0]), "three": float(worst[1]), "half": kept}


def negative_binomial_chernoff() -> dict[str, float]:
    """Prove Theorem 39, in Arb balls over all of 0 < eps0 <= 1.

    Z + 1 against Z, Z ~ NB(r, p), p = e^(-0.2 eps0). The ratio of the first to the second is z / (p (z + r - 1)), at
    most 1/p <= e^eps0 for r >= 1: no loss is larger. The inverse ratio exceeds e^eps0 only where z < (r-1) / (e^(1.2
    eps0) - 1) < r a, a = 1 / (e^(1.2 eps0) - 1). By Chernoff, P(Z <= r a) <= (s^-a (1-p) / (1-ps))^r at s = a / (p
    (1+a)) = e^-eps0, which is below 1: that is e^(r g), g = eps0 a + ln((1-p) / (1 - e^(-1.2 eps0))). If g <= -1/3 then
    r >= 3 (1 + ln(1/delta0)) makes it at most delta0. Balls over small intervals, and g written without 0/0 next to 0,
    show g < -0.9 on all of (0, 1].
    """

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
    shape, p = 3.0 * (1.0 + math.log(1e6)), math.exp(-0.2)

    def worst(p: float) -> float:
        return max(hockey_stick(NegativeBinomialPair(shape, p), 1, way, digits=6).upper for way in Direction)

    delta = worst(p)
    require(delta <= 1e-6, "Theorem 39 fails at (1, 1e-6).")
    least = smallest(lambda mean: worst(mean / (1.0 + mean)) <= 1e-6, 0.5, 100.0, 1e-5)  # mean per shape, p / (1-p)
    require(least is not None, "No noise is enough.")
    spread = [math.sqrt(shape * q) / (1.0 - q) for q in (p, float(least or 0.0) / (1.0 + float(least or 0.0)))]
    return {"delta": delta, "published_error": spread[0], "least_error": spread[1], "mean": shape * p / (1.0 - p)}


def pure_sum() -> dict[str, float]:
    """Enclose the largest loss of the sum at the parameters of the public code: ln(q + (1-q) e^eps')."""
    worst = 0.0
    for epsilon0, rho, n in product((0.05, 0.5, 1.0, 3.0), (0.1, 0.5), (30_000, 10**6)):
        with arb_context() as ctx:
            noise = pure.noise_epsilon(ctx, epsilon0, rho)
            loss = pure.sum_view_loss(ctx, ctx.exp(-noise), pure.drop_probability(ctx, epsilon0, rho, n))
            require(loss < noise, "The loss of the sum reaches eps'.")
            worst = max(worst, float(loss / epsilon0))
    require(worst < 1.0, "The loss of the sum reaches eps0.")
    return {"largest_share": worst}


def first_message_of_pure() -> dict[str, float]:
    """Compute, in fractions, the two probabilities that no message +1 is sent: their ratio is q, whatever the flood.

    A user of bit 0 sends none with the probability of no noise and no flood; a user of bit 1 only if she drops it too.
    """
    q = float(pure.drop_probability(FLOATS, 1.0, 0.5, 30_000))
    for silent in (Fraction(1, 2), Fraction(1, 10**9)):  # of all others and her noise and flood
        require(silent * Fraction(q) / silent == Fraction(q), "The ratio depends on the flood.")
    require(math.log(1.0 / q) > 1.0, "The loss is below eps0.")
    return {"loss": math.log(1.0 / q), "q": q}


def code_of_pure() -> dict[str, float]:
    """Follow the public code, commit 3f38f15, which passes rho = 1 and releases the sum without dividing by 1 - q."""
    n, found = 30_000, {}
    for name, epsilon0 in (("one", 1.0), ("small", 0.01257832), ("least", 2.0 / 768.0)):
        q = float(pure.drop_probability(FLOATS, epsilon0, 0.5, n))
        found[f"bias_{name}"] = -float(pure.released_bias(FLOATS, q, n))
        noise = float(pure.noise_epsilon(FLOATS, epsilon0, 0.5))
        found[f"noise_{name}"] = math.sqrt(float(pure.variance(FLOATS, math.exp(-noise), 0, 0)))
    # What the text's own range of rho, (0, 1/2], would make of rho = 1: q doubles.
    found["q_of_code"] = 0.2 / (math.exp(2.0 / 768.0) * (1.0 - math.exp(-2.0 / 768.0)) ** 2 * n)
    require(found["bias_least"] > 10.0 * found["noise_least"], "The bias is small against the noise.")
    return found


def one_message() -> dict[str, float]:
    """Run the randomizer of RR on both bits, and count."""
    counts = set()
    for seed in range(20):
        messages = RandomizedResponse(2, 0.3).randomize(np.array([0, 1]), np.random.default_rng(seed))
        counts |= set(messages.per_user(2).tolist())
    require(counts == {1}, "RR sends another number of messages than one.")
    return {"messages": counts.pop()}


def surplus_of_three_nb() -> dict[str, float]:
    """Evaluate the expected messages of 3NB beyond one per bitsum, as epsilon grows and as n does."""

    def surplus(users: int, epsilon0: float) -> float:
        claims = BITSUM_CLAIMS["3nb"]
        return claims.messages_per_user(claims.published(users, epsilon0, 1e-8)) - 1.0

    found = {"at_tenth": surplus(100, 0.1), "at_thirty": surplus(100, 30.0), "at_many": surplus(100, 300.0)}
    require(found["at_tenth"] > found["at_thirty"] < found["at_many"], "The surplus falls as epsilon grows.")
    require(surplus(10**6, 30.0) < 1e-2, "The surplus does not vanish as n grows.")
    return found


def growth_of_flood() -> dict[str, str]:
    """Take the limit of r' p' / (1 - p') over eps0 as eps0 grows."""
    import sympy

    e, c, log = sympy.symbols("e c log", positive=True)
    rate = sympy.exp(-c * e / (e + log))
    flood = 3 * (1 + sympy.log(2) + sympy.Rational(99, 100) * e + log) * rate / (1 - rate)
    limit: Any = sympy.limit(flood / e, e, sympy.oo)
    require(sympy.simplify(limit - sympy.Rational(297, 100) / (sympy.exp(c) - 1)) == 0, "It grows otherwise.")
    return {"growth": "2.97 eps0 / (e^c - 1)"}


def bits() -> dict[str, int]:
    """Count the different messages, an instance and a bit, and the bits that tell them apart."""
    for d in range(1, 1100):
        needed = (2 * d - 1).bit_length()
        for protocol in (RandomizedResponse(9, 0.2), ThreeNB(9, 0.5, 1.0, 0.5)):
            require(message_bits(protocol, d) == needed == (d - 1).bit_length() + 1, f"Another number at d={d}.")
    return {"bits_768": (2 * 768 - 1).bit_length()}


def flood_of_three_nb() -> dict[str, float]:
    """Compare what 3NB and Pure cost at the least flood at which Pure, as reconstructed, is (eps, 1e-6)-DP."""
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


def flood_per_user() -> dict[str, float]:
    """Evaluate the messages of a user where Algorithm 2 is taken literally: r' for each user, at n = 30,000."""
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


def messages_of_three_nb() -> dict[str, float]:
    """Evaluate the expected messages of 3NB for a bitsum of an experiment's kind, for three constants c.

    n = 40,000 (a class of DBPedia-14), 768 instances, eps = 7 by Theorem 3.2, delta0 = delta / (2 I).
    """
    instances, delta, n = 768, 1e-6, 40_000
    log = math.log(2.0 / delta)

    def exceeds(each: float) -> bool:
        return instances * each * math.expm1(each) + each * math.sqrt(2 * instances * log) >= 7.0

    each = float(smallest(exceeds, 0.01, 10.0, 1e-6) or 0.0)
    delta0 = delta / 2 / instances
    found = {"epsilon0": each}
    for name, c in (("fifth", 0.2), ("half", 0.5), ("one", 1.0)):
        p, shape = three_nb.noise_p(FLOATS, each), three_nb.flood_shape(FLOATS, each, delta0)
        flood = three_nb.flood_p(FLOATS, each, delta0, c)
        found[f"messages_{name}"] = float(three_nb.expected_messages_per_user(FLOATS, n, p, shape, flood, 0.5, 1))
    require(found["messages_fifth"] > found["messages_one"], "A smaller constant sends fewer messages.")
    return found


def cost_at_least_error() -> dict[str, float]:
    """Evaluate 3NB's messages for a bitsum at Theorem 3.3's least alpha, C' = 1, and where n eps0 >= L^2.

    eps0 = eps alpha / sqrt(ln(1/delta)), I = 1/alpha^2, and alpha = sqrt(ln(1/delta)) / (eps n) is eps0 = 1/n. Let L =
    ln(1/delta0) and eps0 <= 1 <= L. Then r' <= 3 (1 + ln 2 + 0.99 + L) <= 11.1 L, and as e^x - 1 >= x, p' / (1-p') <=
    (eps0 + L) / (c eps0) <= 2 L / (c eps0) and p / (1-p) <= 1 / (0.99 eps0). So a user expects at most 1 + (44.4 / c +
    2.1) L^2 / (n eps0) messages for a bitsum: O(1) where n eps0 >= L^2, and then all the costs are those stated.
    """
    n, epsilon, delta, c, found = 10**4, 1.0, 1e-6, 0.2, {}
    root = math.sqrt(math.log(1.0 / delta))
    for name, alpha in (("least", root / n), ("tenth", 0.1)):
        instances, each = math.ceil(alpha**-2), epsilon * alpha / root
        delta0 = delta / (2 * instances)
        p, shape = three_nb.noise_p(FLOATS, each), three_nb.flood_shape(FLOATS, each, delta0)
        flood = three_nb.flood_p(FLOATS, each, delta0, c)
        found[f"{name}_messages"] = float(three_nb.expected_messages_per_user(FLOATS, n, p, shape, flood, 1.0, 1))
        most = 1.0 + (44.4 / c + 2.1) * math.log(1.0 / delta0) ** 2 / (n * each)
        require(found[f"{name}_messages"] <= most, "The bound on the messages is wrong.")
        found[f"{name}_alpha"] = alpha
    require(found["least_messages"] > 1000.0, "The messages are few at the least alpha.")
    return found
