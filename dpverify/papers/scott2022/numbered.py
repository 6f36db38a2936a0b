"""Numbered statements that stand for themselves."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, accounting, enclosure, enumeration, proof, symbolic

__all__ = ["NUMBERED"]

NUMBERED: tuple[Theorem, ...] = (
    Theorem(
        name="scott2022-algorithm-1",
        source="scott2022, Algorithm 1",
        kind=Kind.ALGORITHM,
        statement="A report is the truth with probability 1 - gamma, else uniform on the k values",
        hypotheses=(within("gamma", "[0, 1]"), within("k", "[1, inf)")),
        verdict=Verdict.HOLDS,
        finding="A report equals the truth with probability 1 - gamma + gamma/k ({truthful:.2f} at k = 4, gamma = "
        "1/3). As a local mechanism it is ln(1 + k (1 - gamma)/gamma)-DP, which the text does not use.",
        checked_by=(
            proof("docs/vector_sums.md#the-largest-loss", "the loss of one report"),
            enumeration("vector_error:blanket_report", "the law of a report at k = 4, in fractions"),
        ),
        links=("protocols.vector_sum", "dpverify.claims.vector_sum.privacy:VectorSumClaims"),
    ),
    Theorem(
        name="scott2022-algorithm-2-rounding",
        source="scott2022, Algorithm 2 and section 4.4",
        kind=Kind.ALGORITHM,
        statement="Rounding x k to a neighbouring integer is unbiased, with variance at most 1/(4 k^2)",
        hypotheses=(within("x", "[0, 1]", "scott2022, Algorithm 2"), within("k", "[1, inf)")),
        verdict=Verdict.HOLDS,
        finding="Exactly: the variance is r (1 - r)/k^2 with r the fractional part of k x ({largest_variance:.4f} at "
        "most for k = 3). For X with a < X < b, (b-a)^2/4 needs no unbiasedness.",
        checked_by=(
            proof("dpverify.formulas.protocols.vector_sum:report_variance_bound", "the exact variance"),
            enumeration("vector_error:rounded_means", "mean and variance at 31 values for k = 3, in fractions"),
        ),
        links=("protocols.vector_sum", "dpverify.formulas.protocols.vector_sum:report_variance_bound"),
    ),
    Theorem(
        name="scott2022-theorem-4.6-variance",
        source="scott2022, proof of Theorem 4.6, variance of a report",
        kind=Kind.BOUND,
        statement="Var[y/k] <= (1-gamma)/(4 k^2) + gamma/2",
        hypotheses=(within("gamma", "[0, 1]"), within("k", "[1, inf)")),
        verdict=Verdict.HOLDS,
        finding="Loose in its second term: at most {worst_share:.2f} of it is reached on a grid. The proof quotes the "
        "bound from 'Theorem 4.6', which it is to prove; section 4.4 states it before.",
        checked_by=(
            proof("dpverify.formulas.protocols.vector_sum:report_variance_bound", "the exact variance, and the bound"),
            enumeration("vector_error:variance_of_reports", "189 values of x, k and gamma, in fractions"),
        ),
        links=(
            "dpverify.formulas.protocols.vector_sum:report_variance_bound",
            "tests/claims/vector_sum/test_error.py::test_variance_bound_of_the_proof",
        ),
    ),
    Theorem(
        name="scott2022-theorem-4.2",
        source="scott2022, Theorem 4.2 (after dwork2014)",
        kind=Kind.THEOREM,
        statement="(eps', delta')-DP mechanisms compose r-fold to (eps, r delta' + delta), eps = sqrt(2 r "
        "log(1/delta)) eps' + r eps' (e^eps' - 1)",
        hypotheses=(within("epsilon", "(0, inf)"), within("delta", "(0, 1)"), within("r", "[1, inf)")),
        verdict=Verdict.CHECKED,
        finding="Held at all {points} points of a grid, where optimal composition, which is exact, needs at most "
        "{worst_share:.2f} of it. Its proof stands in dwork2014. Stated for eps, delta >= 0; log(1/delta) needs 0 < "
        "delta.",
        checked_by=(enclosure("vector_sum:advanced_beside_optimal", "optimal composition beside it for r up to 1000"),),
        links=("dpverify.composition.theorems:compose", "dpverify.formulas.composition:advanced"),
    ),
    Theorem(
        name="scott2022-corollary-4.3",
        source="scott2022, Corollary 4.3",
        kind=Kind.COROLLARY,
        statement="For 0 < eps < 1, mechanisms of eps' = eps / (2 sqrt(2 r log(1/delta))) have (eps, r delta' + delta) "
        "by Theorem 4.2, and with 12 in place of 2 for eps < 6",
        hypotheses=(
            within("epsilon", "(0, 1)", "scott2022, Corollary 4.3"),
            Hypothesis("small-delta", "0 < delta <= 0.7 (not stated).", lambda delta: 0 < delta <= 0.7),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="For delta up to {largest_delta:.3f}, and with 12 up to {largest_delta_six:.3f}: above, the second "
        "term of Theorem 4.2 alone exceeds eps/2. r = 1 is the worst case.",
        checked_by=(
            proof("dpverify.evidence.vector_sum:advanced_budget", "that r = 1 is the worst"),
            accounting("vector_sum:advanced_budget", "the largest delta for r = 1, eps = 1 and eps = 6"),
        ),
        links=("dpverify.composition.theorems:compose",),
        concern=Concern.PROOF,
        repair="Say delta <= 0.7.",
    ),
    Theorem(
        name="scott2022-lemma-4.5-steps",
        source="scott2022, Appendix A, Lemma 4.5, elementary steps, and section 4.5",
        kind=Kind.BOUND,
        statement="exp(eps'/2) - 1 - 1/c >= eps'/2; 1 - exp(-eps'/2) >= (1 - exp(-1/2)) eps' >= eps'/sqrt 7 for eps' < "
        "1; and (1 - exp(-2/(3 sqrt 15))) eps' >= eps'/(2 sqrt 10) for eps' < 6",
        hypotheses=(within("epsilon", "(0, 6)"),),
        verdict=Verdict.HOLDS,
        finding="All hold; the last one barely: the slope is {slope:.5f}, and 1/(2 sqrt 10) is 0.15811.",
        checked_by=(enclosure("vector_sum:steps_of_appendix", "the ends of concave functions, in balls"),),
    ),
    Theorem(
        name="scott2022-section-4.5-chernoff",
        source="scott2022, section 4.5 for 1 <= eps < 6, Chernoff bound",
        kind=Kind.BOUND,
        statement="Pr[N >= c e^(eps'/2)] <= exp(-c/3 (e^(eps'/2) - 1 - 1/c)^2) for eps' < 6",
        hypotheses=(
            Hypothesis(
                "small-deviation",
                "e^(eps'/2) - 1 <= 1, as this form of Chernoff's bound needs (not stated).",
                lambda epsilon: epsilon <= 1.386,
            ),
        ),
        verdict=Verdict.PROOF_WRONG,
        finding="That form needs a deviation of at most the mean. At eps' = 6, c = 2, s = 10^5 the tail is above "
        "{tail:.1e}, and the printed bound is {printed_bound:.0e}. What is concluded, exp(-c/3 (eps'/2)^2), does hold "
        "up to eps' = 6, with c (e^x (x - 1) + 1), x = eps'/2, for exponent.",
        checked_by=(
            enclosure(
                "vector_sum:chernoff_beyond_one",
                "one term of the tail at eps' = 6, and the conclusion's exponent at 300 points",
            ),
        ),
        repair="Use exp(-c (e^x (x - 1) + 1)), x = eps'/2.",
    ),
    Theorem(
        name="scott2022-theorem-4.6-constants",
        source="scott2022, Theorem 4.6 and Corollary 4.7, constants, with Theorem 4.1",
        kind=Kind.NUMBER,
        statement="The constants 2 14^(2/3) and 8 63^(2/3) of the error, 2016 of gamma, and their roots in Corollary "
        "4.7 follow from 56 and A = 28, 1008",
        verdict=Verdict.HOLDS,
        finding="They do: {constants}, and 2016 = 6^2 56, up to n - 1, which is written n.",
        checked_by=(symbolic("vector_error:constants_of_errors", "the constants from A"),),
        links=(
            "dpverify.formulas.protocols.vector_sum:mse_theorem",
            "dpverify.formulas.protocols.vector_sum:standard_deviation",
        ),
    ),
    Theorem(
        name="scott2022-section-4.5-constants",
        source="scott2022, section 4.5, k, error and standard deviation",
        kind=Kind.NUMBER,
        statement="k, and the errors 98^(1/3), 18/4^(2/3), 2 20^(2/3) and 2 (9/11)^(2/3), follow from gamma of section "
        "4.5",
        hypotheses=(within("epsilon", "(0, 6)"), within("delta", "(0, 1)"), within("n", "[2, inf)")),
        verdict=Verdict.HOLDS,
        finding="They do, for t = 1 and k not rounded to an integer: {cases}. They leave out the error of sampling "
        "coordinates, as Theorem 4.6 does.",
        checked_by=(symbolic("vector_error:refined_constants", "all four cases"),),
        links=(
            "dpverify.formulas.protocols.vector_sum:levels_refined",
            "dpverify.formulas.protocols.vector_sum:mse_refined",
        ),
    ),
    Theorem(
        name="scott2022-section-5-defaults",
        source="scott2022, section 5, defaults, Figure 1 (b)",
        kind=Kind.PARAMETER,
        statement="At d = 100, k = 3, n = 50000, t = 1, eps = 0.95 and delta = 0.5 gamma is a probability, and k = 3 "
        "is close to the one of Theorem 4.6",
        verdict=Verdict.HOLDS,
        finding="gamma = {gamma:.3f}, and k is {levels:.2f} by section 4.5, {printed_levels:.2f} as Theorem 4.6's "
        "proof prints it, and {rooted_levels:.2f} with its cube root. But (0.95, 1/2)-DP promises hardly "
        "anything: publishing the data of a random half of the users is (0, 1/2)-DP. At delta = 1e-6 the same formula "
        "gives {gamma_small:.2f}, which is no probability: the figures show no setting that protects anyone.",
        checked_by=(
            accounting("vector_error:defaults_of_section_5", "gamma and k at the defaults, and gamma at delta = 1e-6"),
        ),
        links=(
            "dpverify.formulas.protocols.vector_sum:gamma_refined",
            "tests/claims/vector_sum/test_privacy.py::test_published_gamma_and_its_range",
        ),
        concern=Concern.PRIVACY,
        repair="Choose delta far below 1/n; with the exact gamma, 0.0037, the protocol runs at delta = 1e-6.",
    ),
    Theorem(
        name="scott2022-figure-2-users",
        source="scott2022, section 5, Figure 2 (b) and Figure 3",
        kind=Kind.NUMBER,
        statement="The error falls like n^(-7/6), close to n^(-5/3), and by more than two orders of magnitude as n "
        "grows tenfold",
        verdict=Verdict.OPEN,
        finding="The figure has no numbers, and which error and which n it shows is not said. Tenfold users are "
        "{by_fit:.1f} times less error by the fitted curve and {by_theorem:.1f} times by the theorem, so that more "
        "than a hundred times is what neither describes. At the printed gamma and k = 3 the exact worst-case error of "
        "the mean falls {falls_from_few:.0f} times from n = 10^4 to 10^5, where gamma leaves 1, and "
        "{falls_from_many:.0f} times from 10^6 to 10^7; without the error of sampling coordinates, which Theorem 4.6 "
        "leaves out, {counted_from_few:,.0f} and {counted_from_many:.0f} times. No power of n fits either.",
        checked_by=(
            enumeration("vector_error:exponents_of_figures", "powers of ten"),
            accounting("vector_error:errors_over_users", "the exact worst-case error at n from 10^4 to 10^7"),
        ),
        concern=Concern.ACCURACY,
        repair="Fit against the exact error, at the k that belongs to each n.",
    ),
    Theorem(
        name="scott2022-figure-2-dimension",
        source="scott2022, section 5, Figure 2 (a)",
        kind=Kind.NUMBER,
        statement="The error grows like d^(8/3), exactly as desired",
        verdict=Verdict.OPEN,
        finding="The data were not at hand. The exponent 8/3 is of the best k for each d, and of the error without "
        "that of sampling coordinates. At fixed k = 3 and the printed gamma the exact worst-case error grows with the "
        "power {exponent:.2f} from d = 50 to 150, and without that of sampling with {counted_exponent:.2f}.",
        checked_by=(accounting("vector_error:worst_case_curve", "the exact worst-case error at d of 50 and 150"),),
    ),
)
