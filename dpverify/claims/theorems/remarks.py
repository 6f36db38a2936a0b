"""What wagner2025 and ghazi2021 say in passing, and what was found about it."""

from __future__ import annotations

from dpverify.claims.theorem import Concern, Evidence, Kind, Method, Theorem, Verdict
from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within

__all__ = ["GHAZI2021", "WAGNER2025"]

WAGNER2025: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-equation-1",
        source="wagner2025, section 2.1, equation 1",
        kind=Kind.DEFINITION,
        statement="Pr[M(X) in T] <= e^eps Pr[M(X') in T] + delta for data sets that differ on at most one coordinate",
        hypotheses=(
            within("epsilon", "[0, inf)"),
            within("delta", "[0, 1]"),
        ),
        verdict=Verdict.HOLDS,
        finding="Replacement of a user, n being public: the adjacency of every guarantee here. Over all events, which "
        "at delta > 0 are more than single outcomes ({all_events:.1f} against {single_outcomes:.1f} in an example at "
        "eps = 0). The proof of Theorem 3.2 omits a user instead.",
        checked_by=(
            Evidence(
                Method.ENUMERATION, "statements:levels_by_definition", "all events of three outcomes, in fractions"
            ),
        ),
        links=("dpverify.guarantee:Adjacency",),
    ),
    Theorem(
        name="wagner2025-section-2.1-post-processing",
        source="wagner2025, section 2.1, post-processing",
        kind=Kind.CLAIM,
        statement="The output of the analyzer is as private as that of the shuffler",
        hypotheses=(within("epsilon", "[0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="No map of a view increases a divergence (largest increase {largest_increase:.0f} over all maps of "
        "four views to two outputs).",
        checked_by=(
            Evidence(Method.PROOF, "docs/accounting.md#what-is-composed", "what the engine composes"),
            Evidence(Method.ENUMERATION, "remarks:processed_views", "all maps at three epsilons, in fractions"),
        ),
        links=("dpverify.guarantee:ThreatModel",),
    ),
    Theorem(
        name="wagner2025-section-4-mean-kernel",
        source="wagner2025, section 4, Kernels, mean of inner products",
        kind=Kind.CLAIM,
        statement="The inner product density at y is the inner product of y with the mean",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="By linearity ({value:.3f} both ways in an example).",
        checked_by=(
            Evidence(Method.PROOF, "dpverify.claims.lsq.inner_product", "the moments of the families"),
            Evidence(Method.ENUMERATION, "remarks:mean_of_kernels", "two points, in fractions"),
        ),
        links=("protocols.lsq.inner_product",),
    ),
    Theorem(
        name="wagner2025-section-3.3-nearest-centre",
        source="wagner2025, section 3.3, classification, nearest class center, and section 4",
        kind=Kind.CLAIM,
        statement="The nearest class center classifier is the highest density class classifier of the inner product "
        "kernel",
        hypotheses=(
            Hypothesis(
                "equal-lengths",
                "The class means have equal lengths (not stated).",
                lambda lengths: max(lengths) == min(lengths),
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="By inner product, not by distance, as section 3.3 says of it: |y - a|^2 also has |a|^2, and means of "
        "unit vectors are the shorter the more a class spreads. With means (1, 0) and (1/2, 1/10) the point (3/5, 1/5) "
        "has the larger inner product with the first ({inner_long:.2f} against {inner_short:.2f}) and is nearer to the "
        "second.",
        checked_by=(
            Evidence(
                Method.PROOF, "dpverify.claims.evidence.remarks:mean_as_classifier", "the squared distance written out"
            ),
            Evidence(Method.ENUMERATION, "remarks:mean_as_classifier", "two means and a point, in fractions"),
        ),
        links=("protocols.classifier",),
        concern=Concern.ACCURACY,
        repair="Compare <y, a> - |a|^2/2, or say that similarity is the inner product.",
    ),
    Theorem(
        name="wagner2025-algorithm-2-query",
        source="wagner2025, Algorithm 2, query",
        kind=Kind.ALGORITHM,
        statement="2/(n I) sum (2 B_i - n) cos(sqrt 2 w_i y + beta_i) is Algorithm 1 for the Gaussian kernel",
        hypotheses=(within("n", "[1, inf)"), within("I", "[1, inf)")),
        verdict=Verdict.HOLDS,
        finding="R = sqrt 2 and g = sqrt 2 cos give the factor {factor}. B_i must be unbiased: for RR the printed "
        "analyzer does not correct the flips.",
        checked_by=(Evidence(Method.SYMBOLIC, "remarks:features_of_algorithm_2", "the product of range and feature"),),
        links=(
            "protocols.kde",
            "protocols.lsq.gaussian",
        ),
    ),
    Theorem(
        name="wagner2025-algorithm-2-frequencies",
        source="wagner2025, Algorithm 2, frequencies",
        kind=Kind.ALGORITHM,
        statement="cos(sqrt 2 w x + beta), w normal and beta uniform, are features of exp(-|x - y|^2)",
        hypotheses=(within("d", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="The mean over the phase leaves the cosine of the difference, and that over w is {kernel}.",
        checked_by=(
            Evidence(Method.SYMBOLIC, "remarks:frequencies_of_algorithm_2", "the integral over a normal frequency"),
        ),
        links=("protocols.lsq.gaussian",),
    ),
    Theorem(
        name="wagner2025-section-4.2-few-times",
        source="wagner2025, section 4.2, cost of 3NB in practice",
        kind=Kind.NUMBER,
        statement="3NB costs a few times the messages of RR in practice",
        hypotheses=(),
        verdict=Verdict.OPEN,
        finding="It depends on the constant c of p', which is not given: for 40,000 users and 768 instances at eps = 7 "
        "(eps0 = {epsilon0:.4f} by Theorem 3.2) a user expects {messages_one:.1f} messages for a bitsum at c = 1, "
        "{messages_half:.1f} at 1/2 and {messages_fifth:.1f} at 0.2, the one that is private. RR sends 1.",
        checked_by=(
            Evidence(Method.ACCOUNTING, "remarks:messages_of_three_nb", "expected messages for three constants"),
        ),
        links=("dpverify.formulas.three_nb:expected_messages_per_user",),
        concern=Concern.COST,
        repair="State c.",
    ),
    Theorem(
        name="wagner2025-section-4.1-resilience",
        source="wagner2025, section 4.1, resilience, with Tables 2, 3 and 5",
        kind=Kind.NUMBER,
        statement="The Gaussian kernel is more resilient to errors than the inner product, and often more accurate "
        "under shuffled DP",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="With RR it is in {better} of {total} entries of Tables 2, 3 and 5 (Table 4 has the rows of another "
        "data set), and with 3NB in all {by_three_nb} of Table 5. There RR and the inner product are at chance, from "
        "{least_by_chance} to {most_by_chance} % of ten classes.",
        checked_by=(Evidence(Method.ENUMERATION, "remarks:resilient_kernel", "all printed entries"),),
    ),
    Theorem(
        name="wagner2025-a1.7-pure-composition",
        source="wagner2025, Appendix A.1.7, pure composition",
        kind=Kind.BOUND,
        statement="Pure bitsums compose to eps = I S eps0, delta = 0",
        hypotheses=(within("epsilon0", "(0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="And no better at delta = 0 ({pure:.3f} for ten of 0.1); at delta = 1e-6 the exact value is "
        "{small:.4f}.",
        checked_by=(Evidence(Method.ENCLOSURE, "remarks:composed_reports", "ten mechanisms of eps0 = 0.1"),),
        links=("dpverify.composition.theorems:CompositionTheorem",),
    ),
    Theorem(
        name="wagner2025-theorem-3.3-error",
        source="wagner2025, Theorem 3.3 and Appendix A.2, accuracy",
        kind=Kind.BOUND,
        statement="supRMSE is O(sqrt(alpha^2 (1 + log(1/delta) / (alpha eps n)^2))), so O(alpha) for alpha >= C' "
        "sqrt(log(1/delta)) / (eps n)",
        hypotheses=(
            within("alpha", "(0, 1)"),
            within("delta", "(0, 1)"),
        ),
        verdict=Verdict.HOLDS,
        finding="By Theorem 3.2 it is at most {error} for an RMSE of sqrt(log(1/delta)) / (alpha eps), which is "
        "{quiet_slack:.0f} times the truth without noise.",
        checked_by=(
            Evidence(Method.SYMBOLIC, "remarks:error_of_theorem_3_3", "the setting in the bound"),
            Evidence(Method.ACCOUNTING, "density:users_at_one_point", "the exact supremum for users at one point"),
        ),
        links=("dpverify.formulas.kde:published_rmse_bound",),
    ),
    Theorem(
        name="wagner2025-section-4-flood-cancels",
        source="wagner2025, section 4, 3NB, footnote 2, and Algorithm 2",
        kind=Kind.CLAIM,
        statement="The third noise cancels in the sum, whose error is asymptotically that of central DP",
        hypotheses=(within("epsilon0", "(0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="The sum is b + psi_1 - psi_2, discrete Laplace noise at 0.99 eps0: {more_small:.2%} more error than "
        "at eps0 for eps0 = 0.01, {more_one:.2%} for 1.",
        checked_by=(
            Evidence(Method.PROOF, "dpverify.claims.bitsum.three_nb", "the law of both counts"),
            Evidence(Method.ENUMERATION, "remarks:sum_of_three_noises", "all small noises"),
        ),
        links=("protocols.bitsum.three_nb",),
    ),
    Theorem(
        name="wagner2025-appendix-c-flips",
        source="wagner2025, Appendix C, ablation (after cheu2019)",
        kind=Kind.CLAIM,
        statement="The larger n is, the smaller is the flip probability of shuffled randomized response; the local one "
        "does not depend on n",
        hypotheses=(
            within("epsilon0", "(0, 1)"),
            within("n", "[1, inf)"),
        ),
        verdict=Verdict.HOLDS,
        finding="Both branches of Lemma 4.8 fall in n.",
        checked_by=(Evidence(Method.SYMBOLIC, "remarks:flips_over_users", "the derivatives of both branches"),),
        links=("dpverify.formulas.randomized_response:flip_probability",),
    ),
    Theorem(
        name="wagner2025-section-3.3-counts",
        source="wagner2025, section 3.3, published counts",
        kind=Kind.CLAIM,
        statement="The counts of the reported labels are eps_lbl-DP, by post-processing",
        hypotheses=(within("label_epsilon", "(0, inf)"),),
        verdict=Verdict.HOLDS,
        finding="With two users the largest ratio is {largest_ratio:.3f} at e^eps_lbl = 3; with one it is e^eps_lbl.",
        checked_by=(
            Evidence(
                Method.PROOF,
                "docs/classifier.md#her-label-changes-too-eps--eps_lbl-delta",
                "what is a function of the reports",
            ),
            Evidence(
                Method.ENUMERATION, "remarks:reported_counts", "the counts of two users and three labels, in fractions"
            ),
        ),
        links=("protocols.local.labels",),
    ),
)

GHAZI2021: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-algorithm-7-divisible",
        source="ghazi2021, Algorithm 7, divisible noise",
        kind=Kind.CLAIM,
        statement="The noises NB(r/n, p) of n users add up to NB(r, p)",
        hypotheses=(
            within("r", "(0, inf)"),
            within("p", "(0, 1)"),
        ),
        verdict=Verdict.HOLDS,
        finding="For any shape, integer or not ({terms} terms compared for four halves).",
        checked_by=(
            Evidence(
                Method.PROOF, "dpverify.claims.evidence.displayed:more_shape", "the product of generating functions"
            ),
            Evidence(Method.ENUMERATION, "remarks:divided_noise", "four laws of shape 1/2, in fractions"),
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
        checked_by=(Evidence(Method.ENCLOSURE, "remarks:noise_of_corollary_40", "the least of (1-p)/eps, at eps = 1"),),
        links=("dpverify.formulas.histogram:published_threshold",),
    ),
    Theorem(
        name="ghazi2021-lemma-36-two-buckets",
        source="ghazi2021, proofs of Lemmas 36 and 37, composition",
        kind=Kind.CLAIM,
        statement="Changing a user changes two buckets, so that (eps/2, delta/2) each is (eps, delta)",
        hypotheses=(
            within("epsilon", "(0, inf)"),
            within("delta", "[0, 1]"),
        ),
        verdict=Verdict.HOLDS,
        finding="By basic composition; two of the worst mechanisms have {share:.4f} of delta.",
        checked_by=(
            Evidence(Method.PROOF, "docs/buckets.md#privacy-one-pair-for-all-neighbours", "the pair of both buckets"),
            Evidence(Method.ENUMERATION, "remarks:two_buckets", "two of the worst mechanisms, in fractions"),
        ),
        links=("dpverify.claims.buckets:BucketAccount",),
    ),
    Theorem(
        name="ghazi2021-theorem-29-majority",
        source="ghazi2021, proof of Theorem 29, last step",
        kind=Kind.CLAIM,
        statement="A selection within 0.1 n of the largest count returns h_r where c_{h_r} >= 0.8 n",
        hypotheses=(within("n", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="All other counts are at most 0.2 n, {least_lead:.1f} n less; (5) misses the n.",
        checked_by=(
            Evidence(Method.PROOF, "docs/user_level.md#how-many-samples-and-users", "what a plurality needs"),
            Evidence(Method.ENUMERATION, "remarks:majority_is_selected", "all counts of ten users on three hypotheses"),
        ),
        links=("dpverify.claims.user_level.classifier:plurality_failure",),
    ),
    Theorem(
        name="ghazi2021-lemma-37-empty",
        source="ghazi2021, proof of Lemma 37, empty buckets",
        kind=Kind.CLAIM,
        statement="A bucket that no user holds gets 0, without error",
        hypotheses=(
            Hypothesis("everyone-takes-part", "All n users take part.", lambda n, participants: participants == n),
        ),
        verdict=Verdict.HOLDS,
        finding="Always ({output:.0f}): n minus the count of zeros is at most 0.",
        checked_by=(
            Evidence(Method.PROOF, "docs/buckets.md#the-error-of-a-histogram", "the estimate of a bucket"),
            Evidence(Method.ENUMERATION, "remarks:empty_buckets", "all noises up to 4 of three users"),
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
        checked_by=(Evidence(Method.ACCOUNTING, "remarks:accuracy_of_lemma_38", "the exact quantile at 27 points"),),
        links=("dpverify.claims.buckets:noise_tail",),
    ),
)
