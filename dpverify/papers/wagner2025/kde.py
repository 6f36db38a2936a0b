"""What the sources claim about kernel density estimation, and what was found about each claim."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, enumeration, proof, symbolic

__all__ = ["ERROR", "PRIVACY"]

_LSQ = (
    Hypothesis(
        "bounded-features",
        "|f_j|, |g_j| <= R, at most S of either non-zero (wagner2025, Definition 2.1).",
        lambda largest, R, nonzero, S: largest <= R and nonzero <= S,
    ),
    within("instances", "[1, inf)", "wagner2025, Theorem 3.2"),
)
_UNBIASED = Hypothesis("unbiased-bitsum", "The bitsum is unbiased (wagner2025, Theorem 3.2).", lambda bias: bias == 0)
_TESTS = "tests/claims/kde/test_error.py::"

ERROR: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-theorem-3.2-error",
        source="wagner2025, Theorem 3.2 and Appendix A.1.6, error",
        kind=Kind.THEOREM,
        statement="supRMSE <= sqrt(4 beta^2 + 16 R^4 S (S + (E/n)^2) / I)",
        hypotheses=(*_LSQ, _UNBIASED),
        verdict=Verdict.HOLDS,
        finding="Loose: sqrt(beta^2 + R^4 S (S + 4 (E/n)^2) / I) holds too, {quiet_factor:.0f} times less without "
        "noise and {noisy_factor:.0f} times less with much of it. The supremum over R^d needs g in [-R, R] for all y, "
        "which the inner product families do not have beyond the unit ball. E is the largest RMSE over inputs: the "
        "equality in Claim A.3 is <= for a bitsum whose RMSE depends on its input.",
        checked_by=(
            proof("dpverify.formulas.protocols.kde:rmse_bound", "the smaller bound"),
            symbolic("density:tighter_error", "that the printed bound is never below the smaller one"),
        ),
        links=(
            "dpverify.formulas.protocols.kde:published_rmse_bound",
            "dpverify.claims.kde.error:sup_rmse",
            "protocols.kde",
            "docs/densities.md#the-error",
        ),
    ),
    Theorem(
        name="wagner2025-claim-a.4",
        source="wagner2025, Claim A.4",
        statement="|E Z_i| <= beta and E Z_i^2 <= (beta + 2 R^2 S)^2",
        hypotheses=_LSQ,
        verdict=Verdict.HOLDS,
        finding="fbar has up to Q non-zero coordinates, not S ({nonzero} of 3 for S = 1), since zeros are rounded to "
        "-R or R; that |fbar . g| <= R^2 S all the same holds because g has at most S. The chain of inequalities "
        "misses 1/n in its second line, and '|E Z_i| <= (1/n) sum E|Z_iu| <= beta' must read |E Z_iu|.",
        checked_by=(
            proof(
                "dpverify.formulas.protocols.kde:rmse_bound", "the second moment of fbar . g, of which Z_i is a mean"
            ),
            enumeration("features:rounded_products", "fbar . g over all roundings for Q = 3, S = 1"),
        ),
        links=("dpverify.claims.kde.error", "docs/densities.md#the-error"),
    ),
    Theorem(
        name="wagner2025-a1.7-absolute-error",
        source="wagner2025, Appendix A.1.7, first variant",
        statement="With a bound on the bitsum's absolute error the proof gives a very similar supremum absolute error",
        hypotheses=(
            *_LSQ,
            Hypothesis(
                "bounded-variance",
                "The bitsum's error has a bounded variance as well (not stated).",
                lambda variance: variance < float("inf"),
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="The bitsum's term loses its factor 1/sqrt(I): beta + R^2 S / sqrt I + 2 R^2 S E/n. An error of +-M "
        "with probability E/M has mean absolute value E, and its average over 100 instances still {kept:.1%} of it at "
        "M = 10^4 E. A bound on the variance or on the tails is needed.",
        checked_by=(
            proof("dpverify.formulas.protocols.kde:absolute_error_bound", "the bound, and with a variance"),
            enumeration(
                "density:absolute_error_over_instances", "the mean absolute average of 100 rare errors, in fractions"
            ),
        ),
        links=("dpverify.formulas.protocols.kde:absolute_error_bound",),
        concern=Concern.ACCURACY,
        repair="Ask for a bound on the variance, or take the sum of the absolute errors.",
    ),
    Theorem(
        name="wagner2025-a1.7-biased",
        source="wagner2025, Appendix A.1.7, third variant",
        statement="A biased bitsum adds a corresponding term to the supRMSE",
        hypotheses=_LSQ,
        verdict=Verdict.HOLDS,
        finding="The term is {term:.0f} times 2 R^2 S b/n for a bias of at most b, and does not shrink with I.",
        checked_by=(
            proof("dpverify.formulas.protocols.kde:biased_rmse_bound", "the bound with the bias in it"),
            enumeration("density:bias_of_bitsums", "the shift of the density for 1, 4 and 9 instances, in fractions"),
        ),
        links=("dpverify.formulas.protocols.kde:biased_rmse_bound",),
    ),
    Theorem(
        name="wagner2025-a1.7-pure",
        source="wagner2025, Appendix A.1.7, second variant",
        kind=Kind.BOUND,
        statement="With a pure DP bitsum, eps = I S eps0, and the least error becomes of order 1 / sqrt(eps n)",
        hypotheses=(*_LSQ, within("epsilon", "(0, inf)")),
        verdict=Verdict.HOLDS,
        finding="At E = c / eps0 the variance 1/I + (E/n)^2 / I is least at I = {best_instances}: {least_variance}.",
        checked_by=(symbolic("density:least_error_of_pure", "the minimum over I"),),
        links=("dpverify.composition.theorems:CompositionTheorem",),
    ),
)

PRIVACY: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-theorem-3.2-privacy",
        source="wagner2025, Theorem 3.2 and Appendix A.1.6, privacy",
        kind=Kind.THEOREM,
        statement="One user changes at most S of the Q bitsums of an instance: each instance is (S eps0, S delta0)-DP",
        hypotheses=(
            *_LSQ,
            Hypothesis(
                "coins-for-zeros",
                "Zeros are rounded to fair coins, as in Algorithm 1.",
                lambda chance_of_zero: chance_of_zero == 0.5,
            ),
        ),
        verdict=Verdict.PROOF_WRONG,
        finding="(S eps0, S delta0)-DP does hold for replacement, but not as argued. The proof omits a user, which "
        "changes n and, as zeros are rounded to fair coins, all Q bitsums ({omitted} for Q = 4, S = 1); replacing her "
        "point changes up to min(2S, Q) ({replaced}). But a coordinate that is non-zero for one of the two points only "
        "changes by half, and one that leaves and one that enters cost no more than one full change. A protocol that "
        "sent sure bits for zeros would need min(2S, Q).",
        checked_by=(
            proof("dpverify.changes", "that two halves cost at most a mean of two full changes, for every law"),
            enumeration("density:changed_bits", "which bits change for Q = 4, S = 1, over all points"),
            symbolic("density:halves_add_up", "that the losses of the halves add up to eps0"),
        ),
        links=(
            "dpverify.changes:Sparse",
            "dpverify.claims.kde.privacy",
            "docs/densities.md#what-half-a-change-costs",
            "protocols.kde",
        ),
        concern=Concern.PROOF,
        repair="Prove it for replacement: two halves cost one full change (docs/densities.md).",
    ),
)
