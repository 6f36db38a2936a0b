"""What the sources claim about labels by randomized response, and what was found about each claim."""

from __future__ import annotations

from dpverify.claims.theorem import Theorem, Verdict

__all__ = ["LABELS"]

LABELS: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-section-3.3-labels",
        source="wagner2025, section 3.3, preliminary round",
        statement="A label that is kept with probability e^eps / (e^eps - 1 + m), else replaced by a uniformly "
        "random other one, is eps-DP",
        hypotheses=(),
        verdict=Verdict.HOLDS,
        finding="And no better: every two labels attain eps. With three classes or more some reports have no loss "
        "at all, so that at delta > 0 many labels compose to less than binary randomized response.",
    ),
)
