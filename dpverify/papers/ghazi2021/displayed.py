"""Displayed bounds and steps of proofs."""

from __future__ import annotations

from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Kind, Theorem, Verdict, accounting, enclosure, enumeration, proof, symbolic

__all__ = ["DISPLAYED"]

DISPLAYED: tuple[Theorem, ...] = (
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
            accounting("user_level:hoeffding_sides", "Hoeffding's bound on the other event"),
            enumeration("user_level:hoeffding_sides_summed", "the binomial law of 400 samples, in fractions"),
        ),
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
        checked_by=(enclosure("user_level:total_variation_chain", "both steps at the largest beta"),),
    ),
    Theorem(
        name="ghazi2021-theorem-26-accuracy",
        source="ghazi2021, proof of Theorem 26, accuracy",
        kind=Kind.BOUND,
        statement="2^d exp(-gamma alpha / 2) <= beta / 2 for gamma = 2 (d + log(1/beta) + 10) / alpha",
        hypotheses=(within("beta", "(0, 1)"), within("d", "[0, inf)")),
        verdict=Verdict.HOLDS,
        finding="It is (2/e)^d e^-10 beta: a factor {slack:.1e} of slack at d = 0.",
        checked_by=(enclosure("user_level:accuracy_of_weights", "the step at d = 0, and that 2 < e"),),
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
            proof("dpverify.evidence.user_level:markov_step", "Markov's inequality"),
            enumeration("user_level:markov_step", "603 shares, in fractions"),
        ),
    ),
    Theorem(
        name="ghazi2021-lemma-32-union",
        source="ghazi2021, proof of Lemma 32, equation 6",
        kind=Kind.BOUND,
        statement="A deviation with probability beta^2/(3q) and a disagreement with 2 beta^2/(3q) give (6), 1 - "
        "beta^2/q",
        hypotheses=(within("beta", "(0, 1)"), within("q", "[1, inf)")),
        verdict=Verdict.HOLDS,
        finding="They add up to {sum}, the union bound over q queries to beta^2.",
        checked_by=(symbolic("user_level:union_of_queries", "the sum"),),
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
            accounting(
                "user_level:enough_agreement", "Hoeffding beside exact binomial tails at four beta", quick=False
            ),
        ),
        links=("dpverify.claims.user_level.classifier:plurality_failure",),
    ),
    Theorem(
        name="ghazi2021-corollary-40-chernoff",
        source="ghazi2021, proof of Corollary 40, Chernoff step",
        kind=Kind.BOUND,
        statement="Pr[Bin(2r/(1-p), 1-p) < r] <= exp(-0.001 r) <= beta for r = 1000 (1 + log(1/(beta delta)))",
        hypotheses=(within("p", "(0, 1)"), within("beta", "(0, 0.5)", "ghazi2021, Corollary 40")),
        verdict=Verdict.HOLDS,
        finding="exp(-r/4) is what Chernoff gives: e^{log_slack:.0f} times less at beta = 0.1, delta = 1e-6.",
        checked_by=(
            proof("dpverify.evidence.buckets:chernoff_of_buckets", "the bound e^(-r/4)"),
            accounting("buckets:chernoff_slack", "both exponents at beta = 0.1, delta = 1e-6"),
        ),
    ),
    Theorem(
        name="ghazi2021-footnote-8",
        source="ghazi2021, footnote 8 to Theorem 39",
        statement="NB noise of larger shape is only more private, as a post-processing",
        hypotheses=(within("r", "(0, inf)"), within("p", "(0, 1)")),
        verdict=Verdict.HOLDS,
        finding="The sum of NB(r, p) and NB(s, p) is {law}.",
        checked_by=(symbolic("buckets:more_shape", "the generating functions"),),
        links=("dpverify.claims.bitsum.negative_binomial",),
    ),
    Theorem(
        name="ghazi2021-equation-4",
        source="ghazi2021, proof of Theorem 26, equation 4",
        kind=Kind.DEFINITION,
        statement="With probability 1 - beta/2 over the hypotheses H that represent a class some h* in H has error at "
        "most alpha/2",
        hypotheses=(within("alpha", "(0, 1)"), within("beta", "(0, 1)")),
        verdict=Verdict.HOLDS,
        finding="It is the definition of an (alpha/2, beta/2)-representation, and is about each distribution by "
        "itself: halves of the thresholds on three points, one of which is drawn, miss 1/2 with probability "
        "{failing} at the worst distribution, and with 0 if the whole class is taken.",
        checked_by=(enumeration("user_level:representation", "all distributions of sixths, in fractions"),),
        links=("dpverify.claims.user_level.stable_learner",),
    ),
)
