"""What it says in passing."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Kind, Theorem, Verdict, accounting, enclosure, enumeration, proof

__all__ = ["REMARKS"]

REMARKS: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-algorithm-7-divisible",
        source="ghazi2021, Algorithm 7, divisible noise",
        statement="The noises NB(r/n, p) of n users add up to NB(r, p)",
        hypotheses=(within("r", "(0, inf)"), within("p", "(0, 1)")),
        verdict=Verdict.HOLDS,
        finding="For any shape, integer or not ({terms} terms compared for four halves).",
        checked_by=(
            proof("dpverify.evidence.buckets:more_shape", "the product of generating functions"),
            enumeration("buckets:divided_noise", "four laws of shape 1/2, in fractions"),
        ),
        links=("protocols.bitsum.negative_binomial",),
    ),
    Theorem(
        name="ghazi2021-corollary-40-order",
        source="ghazi2021, proof of Corollary 40, order of T",
        kind=Kind.BOUND,
        statement="T = 2r/(1-p) is O(log(1/(delta beta)) / eps)",
        hypotheses=(within("epsilon", "(0, 1)", "ghazi2021, Corollary 40"),),
        verdict=Verdict.HOLDS,
        finding="T is at most {constant:.2f} r / eps.",
        checked_by=(enclosure("buckets:noise_of_corollary_40", "the least of (1-p)/eps, at eps = 1"),),
        links=("dpverify.formulas.protocols.histogram:published_threshold",),
    ),
    Theorem(
        name="ghazi2021-lemma-36-two-buckets",
        source="ghazi2021, proofs of Lemmas 36 and 37, composition",
        statement="Changing a user changes two buckets, so that (eps/2, delta/2) each is (eps, delta)",
        hypotheses=(within("epsilon", "(0, inf)"), within("delta", "[0, 1]")),
        verdict=Verdict.HOLDS,
        finding="By basic composition; two of the worst mechanisms have {share:.4f} of delta.",
        checked_by=(
            proof("docs/buckets.md#privacy-one-pair-for-all-neighbours", "the pair of both buckets"),
            enumeration("buckets:two_buckets", "two of the worst mechanisms, in fractions"),
        ),
        links=("dpverify.claims.shared.buckets:BucketAccount",),
    ),
    Theorem(
        name="ghazi2021-theorem-29-majority",
        source="ghazi2021, proof of Theorem 29, last step",
        statement="A selection within 0.1 n of the largest count returns h_r where c_{h_r} >= 0.8 n",
        hypotheses=(within("n", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="All other counts are at most 0.2 n, {least_lead:.1f} n less; (5) misses the n.",
        checked_by=(
            proof("docs/user_level.md#how-many-samples-and-users", "what a plurality needs"),
            enumeration("user_level:majority_is_selected", "all counts of ten users on three hypotheses"),
        ),
        links=("dpverify.claims.user_level.classifier:plurality_failure",),
    ),
    Theorem(
        name="ghazi2021-lemma-37-empty",
        source="ghazi2021, proof of Lemma 37, empty buckets",
        statement="A bucket that no user holds gets 0, without error",
        hypotheses=(
            Hypothesis("everyone-takes-part", "All n users take part.", lambda n, participants: participants == n),
        ),
        verdict=Verdict.HOLDS,
        finding="Always ({output:.0f}): n minus the count of zeros is at most 0.",
        checked_by=(
            proof("docs/buckets.md#the-error-of-a-histogram", "the estimate of a bucket"),
            enumeration("buckets:empty_buckets", "all noises up to 4 of three users"),
        ),
        links=("protocols.histogram",),
    ),
    Theorem(
        name="ghazi2021-lemma-38-constant",
        source="ghazi2021, Lemma 38 and Corollary 40, error tail bound",
        kind=Kind.BOUND,
        statement="The error is O(log(1/(delta beta)) / eps) with probability 1 - beta",
        hypotheses=(
            within("epsilon", "(0, 1)", "ghazi2021, Lemma 38"),
            within("beta", "(0, 0.5)", "ghazi2021, Lemma 38"),
        ),
        verdict=Verdict.CHECKED,
        finding="With the least shape of Theorem 39 the exact quantile is at most {constant:.1f} log(1/(delta beta)) / "
        "eps at 27 points; the printed parameters give 1000 times as much and more.",
        checked_by=(accounting("buckets:accuracy_of_lemma_38", "the exact quantile at 27 points"),),
        links=("dpverify.claims.shared.buckets:noise_tail",),
    ),
)
