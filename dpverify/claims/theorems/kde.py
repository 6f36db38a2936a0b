"""What the sources claim about kernel density estimation, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Theorem, Verdict

__all__ = ["ERROR", "PRIVACY"]

ERROR: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-theorem-3.2-error",
        source="wagner2025, Theorem 3.2, error",
        statement="supRMSE <= sqrt(4 beta^2 + 16 R^4 S (S + (E/n)^2) / I)",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="Loose: sqrt(beta^2 + R^4 S (S + 4 (E/n)^2) / I) holds too (`formulas.kde.rmse_bound`), 4 times less "
        "without noise and 2 times less with much of it. The supremum over R^d needs g in [-R, R] for all y, which the "
        "inner product families do not have beyond the unit ball. E is the largest RMSE over inputs: the equality in "
        "Claim A.3 is <= for a bitsum whose RMSE depends on its input.",
    ),
    Theorem(
        name="wagner2025-claim-a.4",
        source="wagner2025, Claim A.4",
        statement="|E Z_i| <= beta and E Z_i^2 <= (beta + 2 R^2 S)^2",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="But not as argued. fbar has up to Q non-zero coordinates, not S, since zeros are rounded to -R or R; "
        "|fbar . g| <= R^2 S holds because g has at most S. The chain of inequalities misses 1/n in its second line, "
        "and '|E Z_i| <= (1/n) sum E|Z_iu| <= beta' must read |E Z_iu|.",
    ),
    Theorem(
        name="wagner2025-a1.7-absolute-error",
        source="wagner2025, Appendix A.1.7, first variant",
        statement="With a bound on the bitsum's absolute error the proof gives a very similar supremum absolute error",
        hypotheses=(),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="The bitsum's term loses its factor 1/sqrt(I): beta + R^2 S / sqrt I + 2 R^2 S E/n. An error of +-M "
        "with probability E/M has mean absolute value E, and so has, for M large, its average over I instances. A "
        "bound on the variance or on the tails is needed.",
    ),
    Theorem(
        name="wagner2025-a1.7-biased",
        source="wagner2025, Appendix A.1.7, third variant",
        statement="A biased bitsum adds a corresponding term to the supRMSE",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="The term is 2 R^2 S b/n for a bias of at most b, and does not shrink with I.",
    ),
    Theorem(
        name="wagner2025-a1.7-pure",
        source="wagner2025, Appendix A.1.7, second variant",
        statement="With a pure DP bitsum, eps = I S eps0, and the least error becomes of order 1 / sqrt(eps n)",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="At E = c / eps0 the variance 1/I + c^2 I / (eps n)^2 is least at I = eps n / c: 2 c / (eps n).",
    ),
)

PRIVACY: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-theorem-3.2-privacy",
        source="wagner2025, Theorem 3.2 and Appendix A.1.6, privacy",
        statement="One user changes at most S of the Q bitsums of an instance: each instance is (S eps0, S delta0)-DP",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="Not as argued. The proof omits a user, which changes n and, as zeros are rounded to fair coins, all Q "
        "bitsums; replacing her point changes up to min(2S, Q). But a coordinate that is non-zero for one of the two "
        "points only changes by half, and one that leaves and one that enters cost no more than one full change: "
        "proved in `dpverify.changes`. A protocol that sent sure bits for zeros would need min(2S, Q).",
    ),
)
