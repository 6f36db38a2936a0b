"""What wang_lecture9 claims about the shuffled mean, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Theorem, Verdict
from dpverify.formulas.shuffled_mean import HYPOTHESES

__all__ = ["SHUFFLED_MEAN"]

SHUFFLED_MEAN: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-theorem-9.6",
        source="wang_lecture9, Theorem 9.6 (after cheu2019)",
        statement="For eps in (0, 1] and delta >= 2^(-eps n) a one-bit protocol is (eps, delta)-DP and its mean has an "
        "expected absolute error of O(sqrt(ln 1/delta) / (n eps))",
        hypotheses=HYPOTHESES,
        verdict=Verdict.HOLDS,
        finding="Holds wherever it was checked: with the least p that the exact law allows the expected absolute "
        "error is at most 1.56 times that, for eps of 0.1, 0.3 and 1, delta from 1e-2 to 1e-10, n from 10^3 to "
        "10^6, and at delta = 2^(-eps n) for n from 10 to 10^3.",
    ),
    Theorem(
        name="wang_lecture9-theorem-9.6-parameter",
        source="wang_lecture9, the protocol after Theorem 9.6",
        statement="A fair coin with probability p = ln(1/delta) / (n eps^2) will do, about",
        hypotheses=HYPOTHESES,
        verdict=Verdict.FAILS,
        finding="Taken as it stands it is far from private: at (1, 1e-6), n = 30000, the exact epsilon is 8.37, and "
        "at epsilon 1 the exact delta 0.0103; the least p is 4.92 times as large. And it is no probability where "
        "n eps^2 <= ln(1/delta), which the hypotheses allow: (0.1, 1e-6), n = 1000.",
    ),
    Theorem(
        name="wang_lecture9-equation-9.5",
        source="wang_lecture9, equation 9.5",
        statement="The analyzer outputs (sum of reports - p/2) / (n (1-p))",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="n p / 2 must be subtracted: the sum of the reports has the expectation (1-p) sum + n p / 2. As "
        "written the estimate of the mean is (n-1) p / (2 n (1-p)) too large for every dataset, 0.056 at p = 0.1, "
        "whatever n is.",
    ),
)
