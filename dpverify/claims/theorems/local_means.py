"""What wang_lecture9 claims about local means, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Theorem, Verdict
from dpverify.formulas import Hypothesis

__all__ = ["CENTRAL", "LAPLACE", "LOWER_BOUND", "ONE_BIT", "RESPONSE"]

CENTRAL: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-equation-9.1",
        source="wang_lecture9, equation 9.1",
        statement="The mean of n bits plus Lap(1/(n eps)) is within 1/(n eps) of the mean",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="Not for sure: the error is larger with probability 1/e = 0.368. 1/(n eps) is exactly its expected "
        "absolute value, and sqrt(2) times as much its root mean square.",
    ),
)

RESPONSE: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-randomized-response",
        source="wang_lecture9, section 9.1",
        statement="Randomized response is eps-DP for each user, its estimate of the mean is unbiased, and has variance "
        "O(1/(n eps^2))",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="The variance is 1 / (4 n sinh^2(eps/2)) for every dataset, below 1/(n eps^2) for every eps: the "
        "constant is 1, and is needed as eps goes to 0. At eps = 1 it is 0.921 of that.",
    ),
    Theorem(
        name="wang_lecture9-randomized-response-error",
        source="wang_lecture9, section 9.1 (and again for Laplace noise, and in section 9.2)",
        statement="Thus the error is O(1/sqrt(n eps))",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="The root of the variance is 1/(eps sqrt(n)), with eps outside the root: at eps = 0.01 the exact root "
        "mean squared error is 10 times 1/sqrt(n eps), and the ratio grows as 1/sqrt(eps). The sample size that "
        "follows in the text, 1/(alpha eps)^2, is the one of the right error.",
    ),
)

LAPLACE: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-laplace-mean",
        source="wang_lecture9, section 9.1",
        statement="Values in [0, m] plus Lap(m/eps), averaged, are eps-DP for each user, and unbiased",
        hypotheses=(),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="In real numbers, where eps is attained, with variance 2 m^2 / (n eps^2). In floating point the last "
        "bits of a report tell values apart (mironov2012): a client must send discrete noise. Noise on any grid "
        "that divides [0, m] has losses that dominate those of continuous noise, and at delta > 0 many reports cost "
        "more with fewer steps: 100 of eps = 1 at 1e-6 cost 71.55, with 4 steps 72.44, with one step 83.53.",
    ),
    Theorem(
        name="wang_lecture9-laplace-communication",
        source="wang_lecture9, section 9.1",
        statement="Most values are of order m, so that a report requires Omega(log m) bits",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="Only if values are resolved to a fixed unit, which neither privacy nor the error asks for. On a grid "
        "of one step a report has an entropy of 2.51 bits at eps = 1 at most, whatever m is, and the variance of the "
        "mean is 2.09 m^2/n, where continuous noise has 2 m^2/n.",
    ),
)

ONE_BIT: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-theorem-9.3",
        source="wang_lecture9, Theorem 9.3 (after ding2017)",
        statement="The one-bit mean of equation 9.2 is eps-LDP, unbiased, and has variance O(m^2/(n eps^2))",
        hypotheses=(),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="eps is attained by the values 0 and m. The variance is m^2 coth^2(eps/2) / (4 n) where all values are "
        "m/2, which is at most 1.18 m^2/(n eps^2) for eps <= 1, but never below m^2/(4n): the bound needs eps to be "
        "bounded. Laplace noise has the smaller worst variance from eps = 2.33 on, so that the two are not the same.",
    ),
)

LOWER_BOUND: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-theorem-9.2",
        source="wang_lecture9, Theorem 9.2 (after chan2012)",
        statement="Every 1-LDP algorithm errs on some dataset of n bits by Omega(1/sqrt(n)) with high probability",
        hypotheses=(
            Hypothesis(
                "pure-and-at-most-one",
                "0 < epsilon <= 1 and delta = 0 (wang_lecture9, Theorem 9.2 and item 2 of its proof).",
                lambda epsilon, delta: 0 < epsilon <= 1 and delta == 0,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="With a constant probability, as near to 1 as wanted: by more than 0.1/sqrt(n) with 0.77 at n = 10^4, "
        "and more than 0.05/sqrt(n) with 0.88. For no constant does the probability tend to 1: randomized response "
        "is within 0.1/sqrt(n) with probability 0.083 on every large dataset. The proof's bounds are on P(X_i = 1 | "
        "A = a), where it writes P(A = a | X_i = 1). The squared error is at least e^eps / ((e^eps + 1)^2 n) for "
        "some dataset; randomized response has e^eps / ((e^eps - 1)^2 n), 4.68 times as much at eps = 1. As eps goes "
        "to 0 the proof loses the factor 1/eps^2.",
    ),
)
