"""Displayed bounds, steps of proofs and numbers of the text, and where the authors' program differs from it."""

from __future__ import annotations

from dpverify.claims.theorem import Concern, Evidence, Kind, Method, Theorem, Verdict
from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within

__all__ = ["GHAZI2021", "WAGNER2025", "WANG_LECTURE9"]

WAGNER2025: tuple[Theorem, ...] = (
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
            Evidence(Method.PROOF, "dpverify.claims.evidence.displayed:composed_parameters", "that a third is enough"),
            Evidence(
                Method.ACCOUNTING,
                "displayed:composed_parameters",
                "Theorem 3.2 on 30 settings, as printed and at a third, and with one instance",
            ),
            Evidence(Method.SYMBOLIC, "displayed:composed_parameters_limit", "the factor as delta goes to 0 and 1"),
        ),
        links=(
            "dpverify.composition.inverse:per_instance_budget",
            "dpverify.formulas.composition:advanced",
        ),
        concern=Concern.PRIVACY,
        repair="eps0 = eps / (3 sqrt(I log(1/delta))), delta <= 1/2 and I >= log(1/delta), or the exact budget.",
    ),
    Theorem(
        name="wagner2025-theorem-3.2-composition",
        source="wagner2025, Theorem 3.2, composition (after dwork2014 and cheu2019, Lemma 3.6)",
        kind=Kind.BOUND,
        statement="eps = eps0 S (e^(eps0 S) - 1) I + eps0 S sqrt(2 I ln(1/delta')) and delta = I S delta0 + delta'",
        hypotheses=(
            within("delta", "(0, 1)"),
            within("instances", "[1, inf)"),
        ),
        verdict=Verdict.CHECKED,
        finding="Held at all {points} points of a grid, where optimal composition, which is exact, needs at most "
        "{worst_share:.2f} of it.",
        checked_by=(
            Evidence(
                Method.ENCLOSURE, "statements:advanced_beside_optimal", "optimal composition beside it for I up to 1000"
            ),
        ),
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
        checked_by=(Evidence(Method.SYMBOLIC, "displayed:error_of_three_nb", "both limits"),),
        links=("dpverify.formulas.three_nb:rmse",),
        concern=Concern.TEXT,
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
        checked_by=(Evidence(Method.SYMBOLIC, "displayed:first_summand", "the difference as a sum of squares"),),
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
        checked_by=(Evidence(Method.SYMBOLIC, "displayed:error_steps", "the difference of both sides"),),
        links=("dpverify.formulas.kde:published_rmse_bound",),
    ),
    Theorem(
        name="wagner2025-section-4-deltas",
        source="wagner2025, section 4, Privacy parameters, values of delta",
        kind=Kind.PARAMETER,
        statement="delta = 1e-6 for DBPedia-14 and AG News and 1e-5 for SST2 and CIFAR-10 accounts for their sizes",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="All are below 1/n: n delta is {dbpedia:.2f}, {ag_news:.2f}, {sst2:.2f} and {cifar:.2f}. None is far "
        "below, and the protocols run per class, whose n is smaller.",
        checked_by=(Evidence(Method.ENUMERATION, "displayed:deltas_of_experiments", "n delta for the four data sets"),),
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
            Evidence(
                Method.ACCOUNTING,
                "displayed:code_of_central",
                "the exact epsilon of that noise at eps = 2, delta = 1e-6",
            ),
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
        hypotheses=(),
        verdict=Verdict.CODE_DIFFERS,
        finding="The program rounds the d coordinates, with R = 1: the identity, (d, 1, d). Its exact error is the "
        "smaller one: {identity:.3f} against {signs:.3f} at d = 32 for 500 users at one flat point (see "
        "wagner2025-a3).",
        checked_by=(
            Evidence(
                Method.ACCOUNTING, "density:identity_beside_signs", "the exact suprema of both families", quick=False
            ),
        ),
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
        checked_by=(
            Evidence(
                Method.ENUMERATION, "bitsum:sum_bias", "the bias of the sum, and that the repaired estimate has none"
            ),
        ),
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
        hypotheses=(
            within("epsilon", "(0, inf)"),
            Hypothesis("two-classes", "m >= 2.", lambda m: m >= 2),
        ),
        verdict=Verdict.HOLDS,
        finding="The program keeps with (e^eps - 1) / (e^eps - 1 + m) and else draws from all m labels: the same law "
        "({same:.0f}).",
        checked_by=(
            Evidence(Method.SYMBOLIC, "buckets:labels", "the largest ratio of the law"),
            Evidence(Method.ENUMERATION, "displayed:code_of_labels", "both laws at six (eps, m), in fractions"),
        ),
        links=("protocols.local.labels",),
    ),
)

GHAZI2021: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-lemma-28-hoeffding",
        source="ghazi2021, proof of Lemma 28, Hoeffding step",
        kind=Kind.BOUND,
        statement="Pr[|err_D(h) - err_S(h)| <= 10 sqrt(d log(1/beta) / m)] <= beta^2 / (10 2^d)",
        hypotheses=(within("beta", "(0, 0.98)"),),
        verdict=Verdict.PROOF_WRONG,
        finding="The inner sign is the wrong way round: the printed event has probability {within:.4f} at beta = 0.1, "
        "d = 1, where {printed:.4f} is stated (and {summed:.4f} summed for 400 samples of error 1/2).",
        checked_by=(
            Evidence(Method.ACCOUNTING, "displayed:hoeffding_sides", "Hoeffding's bound on the other event"),
            Evidence(
                Method.ENUMERATION, "displayed:hoeffding_sides_summed", "the binomial law of 400 samples, in fractions"
            ),
        ),
        concern=Concern.TEXT,
        repair="Pr[|err_D(h) - err_S(h)| > ...] <= ...",
    ),
    Theorem(
        name="ghazi2021-lemma-28-chain",
        source="ghazi2021, proof of Lemma 28, last steps",
        kind=Kind.BOUND,
        statement="exp(20 gamma sqrt(d log(1/beta)/m)) - 1 <= 40 gamma sqrt(d log(1/beta)/m) <= beta^2 / 10 for the "
        "printed m",
        hypotheses=(within("beta", "(0, 1)"),),
        verdict=Verdict.HOLDS,
        finding="gamma sqrt(d log(1/beta)/m) is beta^2/1000, so that the middle is {chain:.2f} beta^2, and the chord "
        "of e^y - 1 ends beyond y = 1.25.",
        checked_by=(Evidence(Method.ENCLOSURE, "displayed:total_variation_chain", "both steps at the largest beta"),),
    ),
    Theorem(
        name="ghazi2021-theorem-26-accuracy",
        source="ghazi2021, proof of Theorem 26, accuracy",
        kind=Kind.BOUND,
        statement="2^d exp(-gamma alpha / 2) <= beta / 2 for gamma = 2 (d + log(1/beta) + 10) / alpha",
        hypotheses=(
            within("beta", "(0, 1)"),
            within("d", "[0, inf)"),
        ),
        verdict=Verdict.HOLDS,
        finding="It is (2/e)^d e^-10 beta: a factor {slack:.1e} of slack at d = 0.",
        checked_by=(Evidence(Method.ENCLOSURE, "displayed:accuracy_of_weights", "the step at d = 0, and that 2 < e"),),
    ),
    Theorem(
        name="ghazi2021-theorem-26-markov",
        source="ghazi2021, proofs of Theorem 26 and Lemma 32, Markov's inequality",
        kind=Kind.BOUND,
        statement="An output that differs from h_r with probability beta^2 makes the learner (1 - beta, 1 - "
        "beta)-pseudo-globally stable",
        hypotheses=(within("beta", "(0, 1)"),),
        verdict=Verdict.HOLDS,
        finding="For the share of r above beta, times beta, is at most beta^2.",
        checked_by=(
            Evidence(Method.PROOF, "dpverify.claims.evidence.displayed:markov_step", "Markov's inequality"),
            Evidence(Method.ENUMERATION, "displayed:markov_step", "603 shares, in fractions"),
        ),
    ),
    Theorem(
        name="ghazi2021-lemma-32-union",
        source="ghazi2021, proof of Lemma 32, equation 6",
        kind=Kind.BOUND,
        statement="A deviation with probability beta^2/(3q) and a disagreement with 2 beta^2/(3q) give (6), 1 - "
        "beta^2/q",
        hypotheses=(
            within("beta", "(0, 1)"),
            within("q", "[1, inf)"),
        ),
        verdict=Verdict.HOLDS,
        finding="They add up to {sum}, the union bound over q queries to beta^2.",
        checked_by=(Evidence(Method.SYMBOLIC, "displayed:union_of_queries", "the sum"),),
    ),
    Theorem(
        name="ghazi2021-theorem-29-agreement",
        source="ghazi2021, proof of Theorem 29, equation 5",
        kind=Kind.BOUND,
        statement="c_{h_r} >= 0.8 n with probability 1 - beta/6 for n = K (d + log(1/beta)) / eps^2, K large enough",
        hypotheses=(within("beta", "(0, 0.1)", "ghazi2021, Theorem 29"),),
        verdict=Verdict.CHECKED,
        finding="K = {by_hoeffding:.0f} is enough by Hoeffding for beta from 1e-8 to 0.099, at eps = 1 and d = 0.",
        checked_by=(
            Evidence(
                Method.ACCOUNTING,
                "displayed:enough_agreement",
                "Hoeffding beside exact binomial tails at four beta",
                quick=False,
            ),
        ),
        links=("dpverify.claims.user_level.classifier:plurality_failure",),
    ),
    Theorem(
        name="ghazi2021-corollary-40-chernoff",
        source="ghazi2021, proof of Corollary 40, Chernoff step",
        kind=Kind.BOUND,
        statement="Pr[Bin(2r/(1-p), 1-p) < r] <= exp(-0.001 r) <= beta for r = 1000 (1 + log(1/(beta delta)))",
        hypotheses=(
            within("p", "(0, 1)"),
            within("beta", "(0, 0.5)", "ghazi2021, Corollary 40"),
        ),
        verdict=Verdict.HOLDS,
        finding="exp(-r/4) is what Chernoff gives: e^{log_slack:.0f} times less at beta = 0.1, delta = 1e-6.",
        checked_by=(
            Evidence(Method.PROOF, "dpverify.claims.evidence.buckets:chernoff_of_buckets", "the bound e^(-r/4)"),
            Evidence(Method.ACCOUNTING, "displayed:chernoff_slack", "both exponents at beta = 0.1, delta = 1e-6"),
        ),
    ),
    Theorem(
        name="ghazi2021-footnote-8",
        source="ghazi2021, footnote 8 to Theorem 39",
        kind=Kind.CLAIM,
        statement="NB noise of larger shape is only more private, as a post-processing",
        hypotheses=(
            within("r", "(0, inf)"),
            within("p", "(0, 1)"),
        ),
        verdict=Verdict.HOLDS,
        finding="The sum of NB(r, p) and NB(s, p) is {law}.",
        checked_by=(Evidence(Method.SYMBOLIC, "displayed:more_shape", "the generating functions"),),
        links=("dpverify.claims.bitsum.negative_binomial",),
    ),
)

WANG_LECTURE9: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-sample-sizes",
        source="wang_lecture9, section 9.1, numbers of samples, and section 9.2",
        kind=Kind.NUMBER,
        statement="An error alpha needs n = O(1/(alpha eps)) centrally and O(1/(alpha^2 eps^2)) locally: a gap of "
        "sqrt(n) in the error",
        hypotheses=(within("epsilon", "(0, 1]"),),
        verdict=Verdict.HOLDS,
        finding="As eps is at most 1: both follow from the right errors, 1/(n eps) and 1/(eps sqrt(n)), and their "
        "ratio is {gap}.",
        checked_by=(Evidence(Method.SYMBOLIC, "displayed:sample_sizes", "both equations solved for n"),),
        links=("docs/local_means.md#error",),
    ),
    Theorem(
        name="wang_lecture9-theorem-9.2-bayes",
        source="wang_lecture9, proof of Theorem 9.2, item 2",
        kind=Kind.BOUND,
        statement="Given the transcript of a 1-LDP protocol a fair bit is 1 with a probability in [1/(e+1), e/(e+1)], "
        "inside [1/4, 3/4]",
        hypotheses=(within("epsilon", "(0, 1]", "wang_lecture9, Theorem 9.2"),),
        verdict=Verdict.HOLDS,
        finding="[{low:.4f}, {high:.4f}]. The display has P(A = a | X_i = 1) where P(X_i = 1 | A = a) is meant.",
        checked_by=(Evidence(Method.ENCLOSURE, "displayed:bayes_interval", "the ends of the interval"),),
        links=("dpverify.claims.lower_bound",),
    ),
    Theorem(
        name="wang_lecture9-9.1.1-ln-three",
        source="wang_lecture9, 9.1.1, randomized response at ln 3",
        kind=Kind.NUMBER,
        statement="At epsilon = ln 3, about 1.1, randomized response is right with probability 3/4, and says yes for a "
        "no with 1/4",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="ln 3 is {epsilon:.4f}.",
        checked_by=(Evidence(Method.ENUMERATION, "displayed:log_three", "the ratio of 3/4 and 1/4"),),
        links=("protocols.local.randomized_response",),
    ),
    Theorem(
        name="wang_lecture9-9.1.1-one-hash",
        source="wang_lecture9, 9.1.1, one hash function",
        kind=Kind.CLAIM,
        statement="With h = 1 B is a one-hot encoding, which is effective when there are at most k values",
        hypotheses=(
            Hypothesis(
                "no-collision",
                "No two values share a place (not stated; hash functions are random).",
                lambda collisions: collisions == 0,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="Of k values under a random hash function some collide with probability {five:.4f} at k = 5, and all "
        "but surely at k = 128. A one-hot encoding needs distinct places.",
        checked_by=(
            Evidence(
                Method.PROOF, "dpverify.claims.evidence.displayed:collisions_of_hashes", "what distinct places make"
            ),
            Evidence(
                Method.ENUMERATION,
                "displayed:collisions_of_hashes",
                "the chance of a collision for k of 5, 16 and 128, in fractions",
            ),
        ),
        links=("protocols.rappor.bloom",),
        concern=Concern.ACCURACY,
        repair="Give each value its own place.",
    ),
)
