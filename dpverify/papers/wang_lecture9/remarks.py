"""What it says in passing."""

from __future__ import annotations

from dpverify.formulas import Hypothesis
from dpverify.formulas.conditions import within
from dpverify.papers.theorem import Kind, Theorem, Verdict, accounting, enumeration, proof, symbolic

__all__ = ["REMARKS"]

REMARKS: tuple[Theorem, ...] = (
    Theorem(
        name="wang_lecture9-central-laplace",
        source="wang_lecture9, section 9.1, central Laplace mechanism",
        statement="The mean of n bits plus Lap(1/(n eps)) is eps-DP",
        hypotheses=(within("epsilon", "(0, inf)"), within("n", "[1, inf)")),
        verdict=Verdict.HOLDS,
        finding="Replacing a bit moves the mean by 1/n, and the densities differ by {ratio} at most, in real numbers.",
        checked_by=(symbolic("local:central_sensitivity", "the ratio of the densities"),),
        links=("protocols.local.baselines", "dpverify.claims.local.baselines"),
    ),
    Theorem(
        name="wang_lecture9-9.1.1-memoization",
        source="wang_lecture9, 9.1.1, memoization",
        statement="From repeated disclosures of a remembered response the adversary learns nothing new",
        hypotheses=(
            Hypothesis(
                "same-question",
                "The question is the same, and asked as such (wang_lecture9, 9.1.1).",
                lambda questions: len(set(questions)) == 1,
            ),
        ),
        verdict=Verdict.HOLDS,
        finding="The ratio stays at {remembered:.0f}; three fresh answers have {fresh:.0f}.",
        checked_by=(
            proof("docs/rappor.md#one-bit", "the limit of many reports"),
            enumeration("local:repeated_answers", "three tellings at p = 3/4, in fractions"),
        ),
        links=("protocols.rappor",),
    ),
    Theorem(
        name="wang_lecture9-figure-9.3-steps",
        source="wang_lecture9, Figure 9.3, both responses",
        kind=Kind.ALGORITHM,
        statement="A bit is reported as 1 with probability q if B' is 1 and p if it is 0, B' being B but for f",
        hypotheses=(within("f", "(0, 1)"), within("p", "(0, 1)"), within("q", "(0, 1)")),
        verdict=Verdict.HOLDS,
        finding="Together: {zero} for a bit that is 0, and {one} for one that is 1.",
        checked_by=(symbolic("local:shared_prefix_of_bits", "both probabilities"),),
        links=("protocols.rappor", "dpverify.formulas.protocols.rappor:report_probabilities"),
    ),
    Theorem(
        name="wang_lecture9-figure-9.2-run",
        source="wang_lecture9, Figure 9.2, the run",
        kind=Kind.NUMBER,
        statement="Of four set bits two are kept, and both are reported",
        verdict=Verdict.HOLDS,
        finding="Exactly two are kept with probability {two:.3f} (three are expected), and both reported as well with "
        "{both:.3f}: a run that may well be. 'Never reported on' is said of the other two: their values are not, "
        "but each is a 1 in a report with probability p.",
        checked_by=(enumeration("local:bits_of_the_example", "the chances, in fractions"),),
        links=("protocols.rappor",),
    ),
    Theorem(
        name="wang_lecture9-section-9.2.1-order",
        source="wang_lecture9, section 9.2.1, before Theorem 9.4",
        kind=Kind.BOUND,
        statement="Shuffling eps0-LDP reports is (eps, delta)-DP with eps = O(eps0 sqrt(1/n))",
        hypotheses=(
            Hypothesis(
                "fixed-delta",
                "delta is fixed: the constant may depend on it (Theorem 9.4 has sqrt(log(1/delta))).",
                lambda delta: delta >= 1e-5,
            ),
        ),
        verdict=Verdict.CHECKED,
        finding="For a fixed delta: at eps0 = 1/2, n = 10^5 the exact constant is {at_large:.2f} at delta = 1e-5 and "
        "{at_small:.2f} at 1e-12.",
        checked_by=(accounting("shuffling:amplified_without_logarithm", "the exact epsilon at two deltas"),),
        links=("dpverify.privacy_loss.shuffling.amplification:pure",),
        repair="O(eps0 sqrt(log(1/delta) / n)), as in Theorem 9.4.",
    ),
    Theorem(
        name="wang_lecture9-theorem-9.6-message",
        source="wang_lecture9, Theorem 9.6, communication",
        kind=Kind.NUMBER,
        statement="Each user sends a single one-bit message",
        hypotheses=(within("n", "[1, inf)"),),
        verdict=Verdict.HOLDS,
        finding="{messages:.0f} report per user, of one bit, whatever hers is.",
        checked_by=(enumeration("bitsum:one_message", "the messages of users of the randomizer"),),
        links=("protocols.shuffled_mean",),
    ),
    Theorem(
        name="wang_lecture9-section-9.2-risks",
        source="wang_lecture9, section 9.2, empirical risk minimization",
        kind=Kind.BOUND,
        statement="The gap between the local and the central model is O(sqrt n) for many queries, and the same for "
        "empirical risk",
        hypotheses=(
            Hypothesis(
                "not-strongly-convex",
                "The loss is convex, and no more is used of it (not stated).",
                lambda strongly_convex: not strongly_convex,
            ),
        ),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="By the printed rates, with eps outside the root, it is {general} for convex losses; for strongly "
        "convex ones, whose excess risk is a square, d / (n eps^2) and d log(1/delta) / (n eps)^2 are {strong} apart.",
        checked_by=(symbolic("local:gap_of_risks", "both ratios"),),
        links=("docs/local_means.md#error",),
        repair="'n for strongly convex losses'.",
    ),
    Theorem(
        name="wang_lecture9-section-9.2.2-histogram",
        source="wang_lecture9, section 9.2.2, end (after cheu2021 and others)",
        statement="The shuffle model still cannot deal with selection, and even in low dimension is separated from the "
        "central one, such as for histograms",
        verdict=Verdict.OPEN,
        finding="Which separations are meant is not said, and the works were not at hand. Where every user holds one "
        "item, Lemma 36 of ghazi2021 selects with an error that does not depend on their number. With several messages "
        "per user, as Definition 9.5 allows, Lemma 37 of ghazi2021 has the error of the best known central histogram "
        "for delta below 1/poly(n) (ghazi2021-lemma-37: holds); with one message per user the error is of order "
        "n^(1/4) at least, by the abstract of 'On the Power of Multiple Anonymous Messages'.",
    ),
)
