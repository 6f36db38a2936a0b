"""What the sources claim about histograms, and the largest of their counts, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Theorem, Verdict

__all__ = ["HISTOGRAM", "SELECTION"]

HISTOGRAM: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-lemma-37",
        source="ghazi2021, Lemma 37",
        statement="(eps/2, delta/2)-DP bitsums with failure probability beta/n per bucket give an (eps, delta)-DP "
        "histogram of error O(log(n/(beta delta))/eps) with probability 1 - beta",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="Holds. n may be replaced by min(buckets, n // (alpha + 1)), which is exact; basic composition of "
        "the two buckets is loose by orders of magnitude in delta.",
    ),
    Theorem(
        name="ghazi2021-corollary-40-parameters",
        source="ghazi2021, proof of Corollary 40",
        statement="r = ceil(1000 (1 + ln 1/(beta delta))) and T = 2r/(1-p) give Pr[Y > T] <= beta",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="Holds with a slack of thousands: privacy needs no beta in r, and Chernoff gives exp(-r/4), so "
        "r >= max(3 (1 + ln 1/delta), 4 ln 1/beta) is enough for both steps. For a histogram of 10000 users at "
        "(0.99, 1e-6), beta = 0.05 it gives r = 27715 and T = 588071, more than the users; r = 6.85 is private.",
    ),
    Theorem(
        name="ghazi2021-corollary-40-identity",
        source="ghazi2021, proof of Corollary 40 (after [Bro])",
        statement="Pr[NB(r, p) > T] = Pr[Bin(T, 1-p) < r]",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="NB counts failures, not trials: the identity is Pr[Y > T] = Pr[Bin(T + r, 1-p) < r]. For r = 1, "
        "p = 1/2, T = 1 the left side is 1/4 and the printed right side 1/2. The printed side is the larger one, "
        "so the proof's conclusion stands.",
    ),
)

SELECTION: tuple[Theorem, ...] = (
    Theorem(
        name="ghazi2021-lemma-36",
        source="ghazi2021, Lemma 36",
        statement="(eps/2, delta/2)-DP bitsums per bucket give an (eps, delta)-DP selection whose count is within "
        "O(log(1/(beta delta))/eps) of the largest with probability 1 - beta, whatever the number of buckets",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="Holds: the shortfall is at most the noise of one bucket, with its exact quantile in place of O(.)."
        " The price is messages: counting zeros costs every user buckets - 1 messages besides her noise.",
    ),
)
