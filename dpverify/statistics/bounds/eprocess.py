"""Anytime-valid conformance: bet on cell frequencies other than the exact ones, and stop when the wealth is enough.

The e-value after counts c is the marginal likelihood of a Dirichlet-multinomial centred at the exact probabilities p,
over the multinomial likelihood at p. It is a martingale under p, so it ever exceeds 1/a with probability <= a (Ville).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.conformance import Bins, with_unlisted
from dpverify.statistics.family import AuditResult
from protocols.validation import check_real

__all__ = ["ConformanceProcess", "evidence_power", "log_evidence_path"]

_CONCENTRATIONS = (30.0, 300.0, 3000.0, 30000.0)
"""Priors for deviations of some 1/sqrt(concentration) relative; their e-values are averaged."""


class ConformanceProcess:
    """The e-process of a sample that arrives in pieces.

    Parameters
    ----------
    bins : Bins
        Fixed before the first sample.
    concentrations : sequence of float
        A of each prior Dirichlet(A p).
    """

    def __init__(self, bins: Bins, concentrations: Sequence[float] = _CONCENTRATIONS) -> None:
        self.bins = bins
        self._priors = _priors(bins, concentrations)
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
        return float(_log_evidence(self._counts, self._priors, self.bins.probabilities))

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


def _priors(bins: Bins, concentrations: Sequence[float]) -> NDArray[np.float64]:
    for concentration in concentrations:
        check_real("concentrations", concentration, low=0.0, low_open=True)
    return np.outer(np.asarray(concentrations, dtype=np.float64), bins.probabilities)


def _log_evidence(
    counts: NDArray[np.int64], priors: NDArray[np.float64], probabilities: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log of the e-value of each row of counts, shape (..., cells), averaged over the priors."""
    likelihood = special.xlogy(counts, probabilities).sum(axis=-1)
    total, cells = priors.sum(axis=1), counts[..., np.newaxis, :]
    marginal = (special.gammaln(priors + cells) - special.gammaln(priors)).sum(axis=-1)
    marginal += special.gammaln(total) - special.gammaln(total + cells.sum(axis=-1))
    return np.asarray(special.logsumexp(marginal, axis=-1) - likelihood - math.log(len(priors)))


def evidence_power(
    bins: Bins,
    alternative: DiscreteLaw,
    trials: int,
    level: float,
    rng: np.random.Generator,
    *,
    simulations: int = 1000,
    concentrations: Sequence[float] = _CONCENTRATIONS,
) -> float:
    """Return how likely the e-value after `trials` samples of another law is at least 1 / level: an estimate.

    By simulation, and low: the process may also have been there before.
    """
    counts = rng.multinomial(trials, bins.probabilities_under(alternative), simulations)
    evidence = _log_evidence(counts, _priors(bins, concentrations), bins.probabilities)
    return float(np.mean(evidence >= -math.log(level)))


def log_evidence_path(
    samples: ArrayLike, bins: Bins, concentrations: Sequence[float] = _CONCENTRATIONS
) -> NDArray[np.float64]:
    """Return the log of the e-value after each sample, shape (trials,): what `update` would give one by one."""
    at = bins.law.index(samples)
    prior, p = _priors(bins, concentrations), bins.probabilities
    cells = np.where(at >= 0, bins.cells[at], 0)
    # How many earlier samples fell into the same cell: the rank among equals in a stable sort.
    order = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells, minlength=p.size)
    before = np.empty(cells.size, dtype=np.int64)
    before[order] = np.arange(cells.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    total = prior.sum(axis=1, keepdims=True) + np.arange(cells.size)
    steps = np.log((prior[:, cells] + before) / total) - np.log(p[cells])
    path = np.asarray(special.logsumexp(np.cumsum(steps, axis=1), axis=0) - math.log(len(prior)))
    path[np.logical_or.accumulate(at < 0)] = math.inf
    return path
