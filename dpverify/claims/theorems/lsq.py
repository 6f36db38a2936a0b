"""What the sources claim about kernels and their quantization, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Theorem, Verdict

__all__ = ["GAUSSIAN", "INNER_PRODUCT", "JOHNSON_LINDENSTRAUSS", "LAPLACIAN"]

GAUSSIAN: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-gaussian-lsq",
        source="wagner2025, section 2.3 and Theorem 3.2 with R = sqrt 2",
        statement="The Gaussian kernel is (1, sqrt 2, 1)-LSQable, so supRMSE <= 8 sqrt((1 + (E/n)^2) / I)",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="Loose: I MSE <= 1 + 1/n + 8 (E/n)^2 for every dataset and query, with equality in the limit where "
        "all users are at one point. The bound on the RMSE is 8 times the truth without noise and 2.8 times it "
        "where noise dominates.",
    ),
)

LAPLACIAN: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-laplacian-exponential-lsq",
        source="wagner2025, section 2.3 (after Wagner et al. 2023)",
        statement="The Laplacian and exponential kernels are beta-approximate (O(1/beta), 1, 1)-LSQable",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="With Q = 1/beta buckets the bias is (1 - k)/Q exactly. Not the best: with a random sign per cell "
        "both are exactly (Q, 1, 1)-LSQable for every Q from 1 (beta = 0); this is `signed`. The exponential "
        "kernel needs points in a ball of known radius for f to be computable.",
    ),
)

INNER_PRODUCT: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-a3",
        source="wagner2025, Appendix A.3",
        statement="The inner product of unit vectors is (1, sqrt d, 1)-LSQable, which improves on (d, 1, d)",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="For unit queries, which the source leaves out: g(y) = sigma . y keeps to [-sqrt d, sqrt d] for "
        "all signs only where |y|_1 <= sqrt d. The error grows with |y|.",
    ),
)

JOHNSON_LINDENSTRAUSS: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-a2-fast-projection",
        source="wagner2025, Appendix A.2, Efficiency (after Backurs et al. 2024)",
        statement="Projecting points and queries to O(log^2(1/alpha) / alpha^2) dimensions by the fast "
        "Johnson-Lindenstrauss transform leaves the Gaussian density's error alpha as it is, up to a constant",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="For a root mean squared error over the public map, 2 / alpha^2 dimensions are enough: that of the "
        "density is then at most alpha, by the exact variance of a squared distance. No logarithm is needed.",
    ),
)
