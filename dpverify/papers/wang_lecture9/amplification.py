"""What the sources claim about amplification by shuffling, and what was found about each claim."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.amplification import CLOSED_CLONES
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, accounting, enumeration, proof, symbolic

__all__ = ["AMPLIFICATION"]

AMPLIFICATION: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-theorem-9.4",
        source="wang_lecture9, Theorem 9.4 and equation 9.3 (feldman2021, Theorem 3.1)",
        kind=Kind.THEOREM,
        statement="Shuffled data through adaptive epsilon0-LDP mechanisms are (epsilon, delta)-DP with epsilon = "
        "O(sqrt(e^epsilon0 ln(1/delta) / n)) for epsilon0 > 1 and O(epsilon0 sqrt(ln(1/delta) / n)) otherwise, if "
        "epsilon0 <= ln(n / (16 ln(2/delta)))",
        hypotheses=CLOSED_CLONES,
        verdict=Verdict.CHECKED,
        finding="Held wherever it was computed; the constants of the source it cites are 8 and ln(4/delta). The range "
        "of R^(i), S^(i), is missing. At n = 10^5, epsilon0 = 4 and delta = 1e-6 the closed bound is {closed:.5f}, the "
        "clones behind it {clones:.5f} exactly, every mechanism that all users run is below {every:.5f}, and one of "
        "them has {attained:.5f}. On a grid the exact clones are at most {worst_share:.2f} of the closed bound.",
        checked_by=(
            accounting(
                "shuffling:closed_bound", "the closed bound, the clones, and every mechanism at n = 10^5, epsilon0 = 4"
            ),
            accounting("shuffling:closed_bound_grid", "the closed bound beside the exact clones at 14 points"),
        ),
        links=(
            "dpverify.formulas.amplification:closed_clones",
            "dpverify.privacy_loss.shuffling.amplification:adaptive",
            "docs/amplification.md#figures",
        ),
    ),
    Theorem(
        name="feldman2021-theorem-3.1-condition",
        source="feldman2021, Theorem 3.1, and its published script",
        statement="The closed bound holds where epsilon0 <= ln(n / (16 ln(2/delta))), as printed; the script asks for "
        "ln(4/delta), and an issue of its repository takes the 2 for a misprint",
        hypotheses=CLOSED_CLONES,
        verdict=Verdict.HOLDS,
        finding="The 2 is right: the number of coins and of heads may each be off to one side only, with probability "
        "delta / 2, which is ln(2/delta). In fractions, at {points} points between the two conditions, the divergence "
        "at the bound is at most {largest:.4f} delta. Some condition is needed: with 2 in the place of 16 it is "
        "{beyond:.1f} delta at n = 1,000 and delta = 1e-6.",
        checked_by=(
            proof("docs/amplification.md#upper-bounds", "the bound under ln(2/delta)"),
            enumeration(
                "shuffling:closed_bound_between",
                "the clones between the two conditions, in fractions, and far outside of them",
            ),
        ),
        links=("dpverify.formulas.amplification:largest_epsilon0", "docs/amplification.md#upper-bounds"),
    ),
    Theorem(
        name="wang_lecture9-section-9.2.1-average",
        source="wang_lecture9, section 9.2.1, after Theorem 9.4",
        kind=Kind.BOUND,
        statement="Laplace reports of O(epsilon sqrt(n / ln(1/delta)))-LDP, shuffled, give the average to O(1/(n "
        "epsilon)), as in the central model",
        hypotheses=(
            within("epsilon", "(0, inf)"),
            within("delta", "(0, 1)"),
            Hypothesis("fixed-delta", "delta is fixed (not stated).", lambda delta: delta >= 1e-5),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="For a fixed delta. The noise of one report is sqrt(ln(1/delta)) / (epsilon sqrt(n)), so that the "
        "error of the average is sqrt(ln(1/delta)) / (n epsilon): the factor {formula} is lost ({factor:.2f} at delta "
        "= 1e-6), which no constant covers for all delta. Nor does the text's remark that epsilon must then be small "
        "follow: epsilon0 > 1 is amplified as well.",
        checked_by=(
            accounting("shuffling:average_factor", "the root mean squared error at delta = 1e-6"),
            symbolic("shuffling:average_factor_symbolic", "the factor for any delta"),
        ),
        links=("docs/amplification.md",),
        concern=Concern.ACCURACY,
        repair="O(sqrt(ln(1/delta)) / (n eps)).",
    ),
    Theorem(
        name="feldman2023-clones",
        source="feldman2023, section 3",
        statement="Every epsilon0-LDP mechanism that all users run has no more than the divergence of two counts among "
        "coins of probability 2 / (e^epsilon0 + 1)",
        hypotheses=(within("epsilon0", "(0, inf)"),),
        verdict=Verdict.OPEN,
        finding="The proof merges a third component of the user's law with others' reports, which is no "
        "post-processing (see wang2024-two-counts). A cover of all distances between the two laws proves the value at "
        "given parameters up to 1e-6, relative, wherever it was evaluated (docs/amplification.md); no counterexample "
        "was found.",
        checked_by=(
            accounting("shuffling:closed_bound", "that every mechanism is below the clones at n = 10^5, epsilon0 = 4"),
        ),
        links=("dpverify.privacy_loss.shuffling.amplification:clones", "docs/amplification.md#upper-bounds"),
    ),
    Theorem(
        name="wang2024-two-counts",
        source="wang2024 (arXiv 2304.05007), the reduction to (p, beta, q), and its published script",
        statement="A mechanism with ratios p and q and total variation beta has no more than the divergence of the two "
        "counts (A + D1, C - A + D2), C ~ Bin(n-1, 2r), r = alpha p / q, alpha = beta / (p - 1)",
        hypotheses=(within("p", "(1, inf)"), within("q", "[1, inf)"), within("beta", "(0, 1]")),
        verdict=Verdict.FAILS,
        finding="Where beta < (p-1)/(p+1) the user reports elsewhere with probability 1 - (p+1) alpha, and others do "
        "so with q times less only: that third count tells more. At p = q = 20, alpha = 0.02/21, n = 9 and epsilon = "
        "2.4 the divergence of a mechanism with these parameters exceeds the stated one {exceeds:.0e} times: it is "
        "{truth:.2e}. Counted apart, the three counts are a bound, and attained; to first order in 1/sqrt(n) the two "
        "agree.",
        checked_by=(
            enumeration("shuffling:two_counts_in_fractions", "both divergences for nine users, in fractions"),
            accounting("shuffling:two_counts_numerically", "the same divergence by the engine"),
        ),
        links=(
            "dpverify.privacy_loss.shuffling.amplification:variation_ratio",
            "docs/amplification.md#upper-bounds",
            "tests/privacy_loss/shuffling/test_amplification.py::test_the_published_reduction_to_two_counts_is_no_bound",
        ),
        concern=Concern.PRIVACY,
        repair="Count the third report apart: three counts are a bound, and attained (docs/amplification.md).",
    ),
    Theorem(
        name="balle2019-lemma-5.3",
        source="balle2019, Lemma 5.3",
        kind=Kind.LEMMA,
        statement="The divergence of shuffled reports is at most E[(Z_1 + ... + Z_m)+] / (n gamma), m ~ Bin(n, gamma), "
        "with Z the privacy amplification variable of the blanket of mass gamma",
        hypotheses=(within("gamma", "(0, 1]"), within("n", "[1, inf)")),
        verdict=Verdict.HOLDS,
        finding="Holds, and is exact if all others' reports come from the blanket alone. For k-ary randomized "
        "response, k >= 3, a dataset comes within 2e-6 of it: the shuffle index of takagi2026 has no band there.",
        checked_by=(
            proof("docs/amplification.md#one-report-among-others", "both sides, given how many draw from the blanket"),
            enumeration("shuffling:blanket_by_enumeration", "both sides for n = 4 and three reports, in fractions"),
        ),
        links=("dpverify.privacy_loss.shuffling.hidden_report",),
    ),
)
