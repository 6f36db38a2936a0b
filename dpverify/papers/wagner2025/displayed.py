"""Displayed bounds, steps of proofs and numbers of the text, and where the authors' program differs from it."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Concern, Kind, Theorem, Verdict, accounting, enclosure, enumeration, proof, symbolic

__all__ = ["DISPLAYED"]

DISPLAYED: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-theorem-3.3-parameters",
        source="wagner2025, Theorem 3.3 and Appendix A.2, setting of parameters",
        kind=Kind.PARAMETER,
        statement="I = ceil(1/alpha^2), eps0 = eps / sqrt(I log(1/delta)), delta0 = delta / (2 I) and delta' = delta/2 "
        "make Theorem 3.2 (eps, delta)-DP for eps <= C log(1/delta), up to constants",
        hypotheses=(
            within("delta", "(0, 0.5]", "not stated: wagner2025 has (0, 1)"),
            Hypothesis(
                "moderate-epsilon", "epsilon <= ln(1/delta) (wagner2025: C log(1/delta)).", lambda share: share <= 1
            ),
            Hypothesis("enough-instances", "I >= ln(1/delta) (not stated).", lambda instances, log: instances >= log),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="With a third of that eps0, delta <= 1/2 and I >= ln(1/delta): the total is then at most "
        "{repaired_factor:.2f} eps for eps up to ln(1/delta). As printed it is more than {limit:.3f} eps, and that in "
        "the limit of small delta. For delta near 1, and for few instances as delta goes to 0, no "
        "constant is enough: with I = 1 and eps = ln(1/delta) = 100 a third gives {few_factor:.2f} eps (but basic "
        "composition eps / 30).",
        checked_by=(
            proof("dpverify.evidence.density:composed_parameters", "that a third is enough"),
            accounting(
                "density:composed_parameters",
                "Theorem 3.2 on 30 settings, as printed and at a third, and with one instance",
            ),
            symbolic("density:composed_parameters_limit", "the factor as delta goes to 0 and 1"),
        ),
        links=("dpverify.composition.inverse:per_instance_budget", "dpverify.formulas.composition:advanced"),
        concern=Concern.PRIVACY,
        repair="eps0 = eps / (3 sqrt(I log(1/delta))), delta <= 1/2 and I >= log(1/delta), or the exact budget.",
    ),
    Theorem(
        name="wagner2025-theorem-3.2-composition",
        source="wagner2025, Theorem 3.2, composition (after dwork2014 and cheu2019, Lemma 3.6)",
        kind=Kind.BOUND,
        statement="eps = eps0 S (e^(eps0 S) - 1) I + eps0 S sqrt(2 I ln(1/delta')) and delta = I S delta0 + delta'",
        hypotheses=(within("delta", "(0, 1)"), within("instances", "[1, inf)")),
        verdict=Verdict.CHECKED,
        finding="Held at all {points} points of a grid, where optimal composition, which is exact, needs at most "
        "{worst_share:.2f} of it.",
        checked_by=(enclosure("vector_sum:advanced_beside_optimal", "optimal composition beside it for I up to 1000"),),
        links=("dpverify.composition.theorems:compose",),
    ),
    Theorem(
        name="wagner2025-a2-three-nb-error",
        source="wagner2025, Appendix A.2, accuracy of 3NB",
        kind=Kind.BOUND,
        statement="3NB is unbiased and has RMSE Theta(1/eps0)",
        hypotheses=(
            Hypothesis(
                "bounded-epsilon0",
                "eps0 is bounded (not stated; eps0 <= C sqrt(log(1/delta)) for I >= 1).",
                lambda epsilon0: epsilon0 <= 1,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="The RMSE sqrt(2p)/(1-p) is {constant:.3f}/eps0 in the limit of small eps0, and falls like e^(-0.495 "
        "eps0) for large.",
        checked_by=(symbolic("flood:error_of_three_nb", "both limits"),),
        links=("dpverify.formulas.protocols.three_nb:rmse",),
        repair="Theta(1/eps0) for eps0 <= 1.",
    ),
    Theorem(
        name="wagner2025-a1.4-first-summand",
        source="wagner2025, Appendix A.1.4, last display",
        kind=Kind.BOUND,
        statement="(I (beta + 2 R^2 S)^2 + I (I-1) beta^2) / I^2 <= 8 R^4 S^2 / I + 2 beta^2",
        hypotheses=(within("instances", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="The difference times I is (beta - 2 R^2 S)^2 + (I - 1) beta^2.",
        checked_by=(symbolic("density:first_summand", "the difference as a sum of squares"),),
        links=("docs/densities.md#the-error",),
    ),
    Theorem(
        name="wagner2025-a1.6-sum",
        source="wagner2025, Appendix A.1.6, sum of both summands",
        kind=Kind.BOUND,
        statement="The two summands add up to 4 beta^2 + 16 R^4 S (S + (E/n)^2) / I",
        hypotheses=(within("instances", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="They add up to less: the noise term has 8 where 16 is stated, so that it is {noise_factor:.0f} times "
        "as large as needed.",
        checked_by=(symbolic("density:error_steps", "the difference of both sides"),),
        links=("dpverify.formulas.protocols.kde:published_rmse_bound",),
    ),
    Theorem(
        name="wagner2025-section-4-deltas",
        source="wagner2025, section 4, Privacy parameters, values of delta",
        kind=Kind.PARAMETER,
        statement="delta = 1e-6 for DBPedia-14 and AG News and 1e-5 for SST2 and CIFAR-10 accounts for their sizes",
        verdict=Verdict.HOLDS,
        finding="All are below 1/n: n delta is {dbpedia:.2f}, {ag_news:.2f}, {sst2:.2f} and {cifar:.2f}. None is far "
        "below, and the protocols run per class, whose n is smaller.",
        checked_by=(enumeration("classifier:deltas_of_experiments", "n delta for the four data sets"),),
    ),
    Theorem(
        name="wagner2025-section-4.1-central",
        source="wagner2025, section 4.1, central baseline and its public code (github.com/talwagner/shuffle_dp_kde, "
        "commit 3f38f15)",
        kind=Kind.PARAMETER,
        statement="The central baseline is (eps, delta)-DP by the Gaussian mechanism of dwork2014",
        hypotheses=(within("epsilon", "(0, 1]", "dwork2014, Appendix A"),),
        verdict=Verdict.CODE_DIFFERS,
        finding="The program adds noise sqrt(2 ln(1.25/delta) I) / (eps n) to means of features in [-1, 1]. Replacing "
        "a user, the neighbours of its section 2.1, moves those means by 2 sqrt(I)/n: at eps = 2, delta = 1e-6 the "
        "exact epsilon is {exact_epsilon:.2f}. (For a user who is left out the noise is enough: delta "
        "{one_sided:.0e}.) The theorem it uses is for eps <= 1.",
        checked_by=(
            accounting("classifier:code_of_central", "the exact epsilon of that noise at eps = 2, delta = 1e-6"),
        ),
        links=("protocols.bitsum.baselines",),
        concern=Concern.PRIVACY,
        repair="Twice the noise, and the exact Gaussian law (balle2018).",
    ),
    Theorem(
        name="wagner2025-section-4-kernels-code",
        source="wagner2025, section 4, Kernels, inner product and its public code "
        "(github.com/talwagner/shuffle_dp_kde, commit 3f38f15)",
        kind=Kind.ALGORITHM,
        statement="The inner product kernel is run as (1, sqrt d, 1)-LSQ, by random signs",
        verdict=Verdict.CODE_DIFFERS,
        finding="The program rounds the d coordinates, with R = 1: the identity, (d, 1, d). Its exact error is the "
        "smaller one: {identity:.3f} against {signs:.3f} at d = 32 for 500 users at one flat point (see "
        "wagner2025-a3).",
        checked_by=(accounting("features:identity_beside_signs", "the exact suprema of both families", quick=False),),
        links=("protocols.lsq.inner_product",),
        concern=Concern.ACCURACY,
        repair="Describe the identity, which is what the figures show.",
    ),
    Theorem(
        name="wagner2025-b1-rr-code",
        source="wagner2025, Appendix B.1, randomized response and its public code "
        "(github.com/talwagner/shuffle_dp_kde, commit 3f38f15)",
        kind=Kind.ALGORITHM,
        statement="The analyzer releases the sum of the reports",
        hypotheses=(within("p", "[0, 0.5)"),),
        verdict=Verdict.CODE_DIFFERS,
        finding="The program divides by 1 - 2p after centring, which is unbiased; the sum itself is biased by "
        "{bias_of_three:.2g} for bits 1, 0, 0 and p = 1/5.",
        checked_by=(enumeration("bitsum:sum_bias", "the bias of the sum, and that the repaired estimate has none"),),
        links=("protocols.bitsum.randomized_response",),
        concern=Concern.ACCURACY,
        repair="State the debiased estimate.",
    ),
    Theorem(
        name="wagner2025-section-3.3-labels-code",
        source="wagner2025, section 3.3, labels and its public code (github.com/talwagner/shuffle_dp_kde, commit "
        "3f38f15)",
        kind=Kind.ALGORITHM,
        statement="Labels are kept with probability e^eps / (e^eps - 1 + m)",
        hypotheses=(within("epsilon", "(0, inf)"), Hypothesis("two-classes", "m >= 2.", lambda m: m >= 2)),
        verdict=Verdict.HOLDS,
        finding="The program keeps with (e^eps - 1) / (e^eps - 1 + m) and else draws from all m labels: the same law "
        "({same:.0f}).",
        checked_by=(
            symbolic("classifier:labels", "the largest ratio of the law"),
            enumeration("classifier:code_of_labels", "both laws at six (eps, m), in fractions"),
        ),
        links=("protocols.local.labels",),
    ),
)
