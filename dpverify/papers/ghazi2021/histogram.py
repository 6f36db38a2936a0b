"""What the sources claim about histograms, and the largest of their counts, and what was found about each claim."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, accounting, enumeration, proof, symbolic

__all__ = ["HISTOGRAM", "SELECTION"]

_RANGES = (
    within("epsilon", "(0, 1)", "ghazi2021, Lemmas 36 and 37"),
    within("delta", "(0, 1)", "ghazi2021, Lemmas 36 and 37"),
    within("beta", "(0, 0.1)", "ghazi2021, Lemmas 36 and 37"),
)
_WHOLE = Hypothesis("whole-shape", "r is a positive integer, as Corollary 40's is.", lambda r: r >= 1 and r == int(r))

HISTOGRAM: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-lemma-37",
        source="ghazi2021, Lemma 37",
        kind=Kind.LEMMA,
        statement="(eps/2, delta/2)-DP bitsums with failure probability beta/n per bucket give an (eps, delta)-DP "
        "histogram of error O(log(n/(beta delta))/eps) with probability 1 - beta",
        hypotheses=_RANGES,
        verdict=Verdict.HOLDS,
        finding="Holds. n may be replaced by min(buckets, n // (alpha + 1)), which is exact; basic composition of the "
        "two buckets is loose in delta, {basic_factor:,.0f} times at r = 20, p = 0.85 and eps = 1.",
        checked_by=(
            proof("docs/buckets.md#the-error-of-a-histogram", "privacy and error, with the exact number of buckets"),
            enumeration("buckets:small_histograms", "how many buckets can err, for up to six users in four buckets"),
        ),
        links=(
            "protocols.histogram",
            "dpverify.claims.histogram",
            "tests/claims/test_histogram.py::test_worst_dataset_attains_the_failure_probability",
        ),
    ),
    Theorem(
        name="ghazi2021-corollary-40-parameters",
        source="ghazi2021, proof of Corollary 40",
        kind=Kind.COROLLARY,
        statement="r = ceil(1000 (1 + ln 1/(beta delta))) and T = 2r/(1-p) give Pr[Y > T] <= beta",
        hypotheses=(within("p", "(0, 1)"), within("beta", "(0, 0.5)", "ghazi2021, Corollary 40"), _WHOLE),
        verdict=Verdict.HOLDS,
        finding="Holds with a slack of thousands: privacy needs no beta in r, and Chernoff gives exp(-r/4), so r >= "
        "max(3 (1 + ln 1/delta), 4 ln 1/beta) is enough for both steps. For a histogram of 10000 users at (0.99, "
        "1e-6), beta = 0.05 it gives r = {printed_shape:.0f} and T = {printed_error:.0f}, more than the users; r = "
        "{least_shape:.2f} is private.",
        checked_by=(
            proof("dpverify.evidence.buckets:chernoff_of_buckets", "Pr[Y > T] <= e^(-r/4)"),
            accounting("buckets:chernoff_of_buckets", "the tail beside that bound at 12 points"),
            accounting(
                "buckets:tail_parameters", "the printed parameters for 10000 users, and the least private shape"
            ),
        ),
        links=("dpverify.formulas.protocols.histogram:published_threshold", "dpverify.claims.histogram"),
        concern=Concern.ACCURACY,
    ),
    Theorem(
        name="ghazi2021-corollary-40-identity",
        source="ghazi2021, proof of Corollary 40 (after [Bro])",
        kind=Kind.BOUND,
        statement="Pr[NB(r, p) > T] = Pr[Bin(T, 1-p) < r]",
        hypotheses=(within("p", "(0, 1)"), _WHOLE),
        verdict=Verdict.PROOF_WRONG,
        finding="NB counts failures, not trials. For r = 1, p = 1/2, T = 1 the left side is {left:.2f} and the printed "
        "right side {printed:.2f}; for r = 1 it is {ratio} times the left for every T. The printed side is the larger "
        "one, so the proof's conclusion stands.",
        checked_by=(
            enumeration("buckets:identity_by_enumeration", "both sides at r = 1, p = 1/2, T = 1, in fractions"),
            symbolic("buckets:identity_of_trials", "both sides at r = 1 for any p and T"),
        ),
        links=("tests/claims/bitsum/test_negative_binomial.py::test_corollary_40_counts_the_wrong_trials",),
        repair="Pr[Y > T] = Pr[Bin(T + r, 1-p) < r].",
    ),
)

SELECTION: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-lemma-36",
        source="ghazi2021, Lemma 36",
        kind=Kind.LEMMA,
        statement="(eps/2, delta/2)-DP bitsums per bucket give an (eps, delta)-DP selection whose count is within "
        "O(log(1/(beta delta))/eps) of the largest with probability 1 - beta, whatever the number of buckets",
        hypotheses=_RANGES,
        verdict=Verdict.HOLDS,
        finding="Holds: the shortfall is at most the noise of one bucket (largest excess {largest_excess:.0f} over all "
        "small cases), with its exact quantile in place of O(.). The price is messages: counting zeros costs every "
        "user buckets - 1 messages besides her noise.",
        checked_by=(
            proof("docs/buckets.md#the-error-of-a-selection", "the shortfall, and its probability"),
            enumeration(
                "buckets:small_selections", "the shortfall over all counts and noises up to 3 of three buckets"
            ),
        ),
        links=("protocols.selection", "dpverify.claims.selection"),
        concern=Concern.COST,
    ),
)
