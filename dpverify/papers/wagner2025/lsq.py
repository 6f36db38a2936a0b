"""What the sources claim about kernels and their quantization, and what was found about each claim."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, accounting, enumeration, proof, symbolic

__all__ = ["GAUSSIAN", "INNER_PRODUCT", "JOHNSON_LINDENSTRAUSS", "LAPLACIAN"]

_UNIT = Hypothesis("unit-vectors", "|x| = 1 (wagner2025, Appendix A.3).", lambda norm: norm == 1)

GAUSSIAN: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-gaussian-lsq",
        source="wagner2025, section 2.3 and Theorem 3.2 with R = sqrt 2",
        kind=Kind.DEFINITION,
        statement="The Gaussian kernel is (1, sqrt 2, 1)-LSQable, so supRMSE <= 8 sqrt((1 + (E/n)^2) / I)",
        hypotheses=(within("bandwidth", "(0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="The features' product has mean {mean} over the phase, and the kernel over the frequencies. The bound "
        "is loose: I MSE <= 1 + 1/n + 8 (E/n)^2 for every dataset and query, with equality in the limit where all "
        "users are at one point: there it is {quiet_slack:.1f} times the truth without noise and {noisy_slack:.1f} "
        "times where noise dominates.",
        checked_by=(
            symbolic("features:fair_cosine", "the mean over the phase", quick=False),
            accounting("density:users_at_one_point", "the exact supremum for users at one point"),
        ),
        links=(
            "protocols.lsq.gaussian",
            "dpverify.claims.lsq.gaussian",
            "tests/claims/lsq/test_gaussian.py::test_one_point_attains_the_general_bound",
        ),
    ),
)

LAPLACIAN: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-laplacian-exponential-lsq",
        source="wagner2025, section 2.3 (after Wagner et al. 2023)",
        kind=Kind.DEFINITION,
        statement="The Laplacian and exponential kernels are beta-approximate (O(1/beta), 1, 1)-LSQable",
        hypotheses=(within("beta", "(0, 1]", "wagner2025, Definition 2.1"),),
        verdict=Verdict.HOLDS,
        finding="With Q = 1/beta buckets the bias is (1 - k)/Q exactly. Not the best: with a random sign per cell both "
        "are exactly (Q, 1, 1)-LSQable for every Q from 1 (bias {signed_bias:.0f}); this is `signed`. The exponential "
        "kernel needs points in a ball of known radius for f to be computable.",
        checked_by=(
            proof("dpverify.claims.lsq.hashing", "the exact moments"),
            enumeration("features:collisions", "collisions of two cells in 1, 2 and 5 buckets, in fractions"),
        ),
        links=(
            "protocols.lsq.hashing",
            "dpverify.claims.lsq.hashing",
            "tests/claims/lsq/test_hashing.py::test_moments_by_enumeration_of_ideal_hashes",
        ),
    ),
)

INNER_PRODUCT: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-a3",
        source="wagner2025, Appendix A.3 and section 4, Kernels",
        kind=Kind.DEFINITION,
        statement="The inner product of unit vectors is (1, sqrt d, 1)-LSQable, which leads to better parameters than "
        "(d, 1, d)",
        hypotheses=(
            _UNIT,
            Hypothesis("queries-in-the-ball", "|y| <= 1 (not stated).", lambda query_norm: query_norm <= 1),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="For unit queries, which the source leaves out: g(y) = sigma . y keeps to [-sqrt d, sqrt d] for all "
        "signs only where |y|_1 <= sqrt d. And it is better in the bound only: at d = 32 and d bitsums of RMSE 50, for "
        "500 users who all hold one point of 32 equal coordinates, the exact supRMSE is {signs:.3f} with signs and "
        "{identity:.3f} with the identity, (d, 1, d); where they hold only e_1, {signs_axis:.3f} and "
        "{identity_axis:.3f}; the printed bounds are {signs_bound:.0f} and {identity_bound:.0f}. The authors' public "
        "code rounds the coordinates, that is the identity.",
        checked_by=(
            enumeration(
                "features:signs_by_enumeration", "mean and range over all signs in three dimensions, in fractions"
            ),
            accounting(
                "features:identity_beside_signs", "the exact suprema of both families with d bitsums each", quick=False
            ),
        ),
        links=(
            "protocols.lsq.inner_product",
            "dpverify.claims.lsq.inner_product",
            "tests/claims/lsq/test_inner_product.py::test_random_signs_by_enumeration",
        ),
        concern=Concern.ACCURACY,
        repair="Round the d coordinates themselves, with one instance of d bitsums.",
    ),
)

JOHNSON_LINDENSTRAUSS: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-a2-fast-projection",
        source="wagner2025, Appendix A.2, Efficiency (after Backurs et al. 2024)",
        statement="Projecting points and queries to O(log^2(1/alpha) / alpha^2) dimensions by the fast "
        "Johnson-Lindenstrauss transform leaves the Gaussian density's error alpha as it is, up to a constant",
        hypotheses=(within("alpha", "(0, 1)"),),
        verdict=Verdict.HOLDS,
        finding="For a root mean squared error over the public map, 2 / alpha^2 dimensions are enough: that of the "
        "density is then at most alpha, by the exact variance of a squared distance, at most 2/k. No logarithm is "
        "needed.",
        checked_by=(
            proof("dpverify.claims.lsq.johnson_lindenstrauss", "the exact variance, and what it does to a density"),
            enumeration("features:fast_projection", "the variance over all maps of four dimensions"),
        ),
        links=(
            "protocols.lsq.johnson_lindenstrauss",
            "tests/claims/lsq/test_johnson_lindenstrauss.py::test_two_over_alpha_squared_dimensions_are_enough",
        ),
    ),
)
