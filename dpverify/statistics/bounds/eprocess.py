"""Anytime-valid conformance: bet on cell frequencies other than the exact ones, and stop when the wealth is enough.

The e-value after counts c is the marginal likelihood of a Dirichlet-multinomial centred at the exact probabilities p,
over the multinomial likelihood at p. It is a martingale under p, so it ever exceeds 1/a with probability <= a (Ville).
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.conformance import Bins, with_unlisted
from dpverify.statistics.family import AuditResult

__all__ = ["ConformanceProcess", "evidence_power"]

_CONCENTRATIONS = np.array([30.0, 300.0, 3000.0, 30000.0])
"""A of each prior Dirichlet(A p), for relative deviations of some 1/sqrt(A); their e-values are averaged."""


class ConformanceProcess:
    """The e-process of a sample that arrives in pieces.

    - bins: Fixed before the first sample.
    """

    def __init__(self, bins: Bins) -> None:
        self.bins = bins
        self._counts = np.zeros(bins.probabilities.size, dtype=np.int64)
        self._unlisted = 0
        self._largest = 0.0

    def update(self, samples: ArrayLike) -> float:
        """Add samples and return the log of the e-value so far (inf after an outcome that the law does not list)."""
        counts, unlisted = self.bins.counts(samples)
        self._counts += counts
        self._unlisted += unlisted
        self._largest = max(self._largest, self.log_evidence)
        return self.log_evidence

    @property
    def trials(self) -> int:
        """How many samples have been added."""
        return int(self._counts.sum()) + self._unlisted

    @property
    def log_evidence(self) -> float:
        """The log of the current e-value."""
        if self._unlisted:
            return math.inf
        return float(_log_evidence(self._counts, self.bins.probabilities))

    def result(self, *, check: str = "conformance, anytime") -> AuditResult:
        """Return the finding so far: p = 1 / (largest e-value after an `update`), valid at any stopping time."""
        p_value = math.exp(-self._largest) if math.isfinite(self._largest) else 0.0
        return AuditResult(
            check,
            with_unlisted(p_value, self._unlisted, self.trials, self.bins.law.outside),
            self.trials,
            f"Dirichlet-multinomial e-process on {self._counts.size} cells, anytime-valid",
            f"largest log e-value {self._largest:.4g}",
            details={"log_evidence": self._largest if math.isfinite(self._largest) else None},
        )


def _log_evidence(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log of the e-value of each row of counts, shape (..., cells), averaged over the priors."""
    priors = np.outer(_CONCENTRATIONS, probabilities)
    likelihood = scipy.special.xlogy(counts, probabilities).sum(axis=-1)
    total, cells = priors.sum(axis=1), counts[..., np.newaxis, :]
    marginal = (scipy.special.gammaln(priors + cells) - scipy.special.gammaln(priors)).sum(axis=-1)
    marginal += scipy.special.gammaln(total) - scipy.special.gammaln(total + cells.sum(axis=-1))
    return np.asarray(scipy.special.logsumexp(marginal, axis=-1) - likelihood - math.log(len(priors)))


def evidence_power(
    bins: Bins,
    alternative: DiscreteLaw,
    trials: int,
    level: float,
    rng: np.random.Generator,
    *,
    simulations: int = 1000,
) -> float:
    """Return how likely the e-value after `trials` samples of another law is at least 1 / level: an estimate.

    By simulation, and low: the process may also have been there before.
    """
    counts = rng.multinomial(trials, bins.probabilities_under(alternative), simulations)
    evidence = _log_evidence(counts, bins.probabilities)
    return float(np.mean(evidence >= -math.log(level)))
