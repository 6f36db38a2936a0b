"""Does a sample follow its exact law? A test on bins fixed in advance.

Its level is exact, not asymptotic. No Kolmogorov-Smirnov test: its level is wrong on discrete data.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.tally import Tally
from dpverify.statistics.family import AuditResult
from dpverify.statistics.order.structure import ENOUGH
from protocols.classes.frozen import dataclass
from protocols.validation import check_generator, check_integer

__all__ = ["Bins", "choose_bins", "g_statistic", "g_test", "with_unlisted"]

_LEAST_EXPECTED = 5.0


@dataclass(frozen=True)
class Bins:
    """Cells of outcomes, fixed before any trial.

    - law: The exact law.
    - cells (ndarray of int64, shape (atoms,)): The cell of every listed outcome; the first and last cells are the
      tails.
    """

    law: DiscreteLaw
    cells: NDArray[np.int64]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability of each cell, shape (cells,)."""
        return self.probabilities_under(self.law)

    def probabilities_under(self, other: DiscreteLaw) -> NDArray[np.float64]:
        """Return the cells' probabilities if listed outcomes follow another law, shape (cells,)."""
        masses = np.bincount(self.cells, weights=other.probabilities(self.law.points))
        return np.asarray(masses / masses.sum())

    def counts(self, samples: ArrayLike | Tally) -> tuple[NDArray[np.int64], int]:
        """Return how many samples fall into each cell, shape (cells,), and how many are not listed in the law."""
        counts = Tally.of(self.law, samples).counts
        return np.bincount(self.cells, weights=counts[:-1]).astype(np.int64), int(counts[-1])


def choose_bins(law: DiscreteLaw, trials: int, *, most: int = 12, order: ArrayLike | None = None) -> Bins:
    """Return bins with finer cells towards the tails: bounds at the quantiles sin^2(pi i / (2 most)).

    - law: The exact law.
    - trials: How many samples are to be drawn; cells that expect fewer than 5 of them are merged.
    - most: At most so many cells. More see more kinds of faults, each with less power.
    - order (array_like, shape (atoms,)): A score to order the outcomes by, instead of their own order; equal scores
      share a cell.
    """
    check_integer("trials", trials, low=1)
    check_integer("most", most, low=2)
    score = np.arange(law.atoms) if order is None else np.asarray(order, dtype=np.float64)
    if score.shape != (law.atoms,):
        raise ValueError(f"order has shape {score.shape}, but must have shape ({law.atoms},).")
    distinct, classes = np.unique(score, return_inverse=True)
    mass = np.bincount(classes, weights=law.pmf, minlength=distinct.size) / law.pmf.sum()
    middle = np.clip(np.cumsum(mass) - mass / 2.0, 0.0, 1.0)
    wanted = np.minimum(most - 1, np.floor(np.arcsin(np.sqrt(middle)) * 2.0 / np.pi * most)).astype(np.int64)
    expected = trials * np.bincount(wanted, weights=mass, minlength=most)
    merged, cell, pending = np.zeros(most, dtype=np.int64), 0, 0.0
    for i in range(most):
        merged[i], pending = cell, pending + expected[i]
        if pending >= _LEAST_EXPECTED:
            cell, pending = cell + 1, 0.0
    last = max(0, cell - 1)  # a remainder that is too small joins the last full cell
    return Bins(law, np.minimum(merged, last)[wanted][classes])


def g_statistic(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `G = 2 sum O ln(O / E)` over the last axis, twice the log-likelihood ratio of the free multinomial."""
    expected = counts.sum(axis=-1, keepdims=True) * probabilities
    return np.asarray(2.0 * scipy.special.rel_entr(counts, expected).sum(axis=-1))


def g_test(
    samples: ArrayLike | Tally,
    bins: Bins,
    rng: np.random.Generator,
    *,
    simulations: int = 9999,
    check: str = "conformance",
) -> AuditResult:
    """Test whether independent samples follow the bins' law, by G against its simulated null law.

    The p-value is (1 + simulations as large) / (1 + simulations): its level is exact, and it is at least
    1 / (1 + simulations). Simulating stops once the statistic was reached often (besag1991): no evidence, and no time
    lost. An outcome that the law does not list refutes it at once.

    - samples (array_like, shape (trials,) or (trials, coordinates); or Tally): A tally of the bins' law.
    - bins: Chosen without looking at the samples.
    - rng: For the null law.
    - simulations: How many null samples to simulate at most.
    - check: The name of the result.
    """
    check_generator("rng", rng)
    check_integer("simulations", simulations, low=1)
    counts, unlisted = bins.counts(samples)
    trials = int(counts.sum()) + unlisted
    statistic, p_value = 0.0, 1.0
    if counts.size > 1 and counts.sum() > 0:
        statistic = float(g_statistic(counts, bins.probabilities))
        p_value = _simulated(statistic, int(counts.sum()), bins.probabilities, rng, simulations)
    return AuditResult(
        check,
        with_unlisted(p_value, unlisted, trials, bins.law.outside),
        trials,
        f"G-test on {counts.size} cells, exact level by at most {simulations} simulations",
        "; ".join(
            [f"G = {statistic:.4g} with {counts.size - 1} degrees of freedom"] * (unlisted < trials)
            + [f"{unlisted} outcomes that the exact law does not have"] * (unlisted > 0)
        ),
        details={"statistic": statistic, "cells": int(counts.size), "unlisted": unlisted},
    )


def _simulated(
    statistic: float, trials: int, probabilities: NDArray[np.float64], rng: np.random.Generator, simulations: int
) -> float:
    """Return the p-value of G: as soon as it was reached `ENOUGH` times, else of all simulations."""
    drawn, reached = 0, 0
    while drawn < simulations and reached < ENOUGH:
        null = g_statistic(
            rng.multinomial(trials, probabilities, min(max(drawn, 4 * ENOUGH), simulations - drawn)), probabilities
        )
        as_large = np.flatnonzero(null >= statistic * (1.0 - 1e-12))[: ENOUGH - reached]
        reached += as_large.size
        drawn += len(null) if reached < ENOUGH else int(as_large[-1]) + 1
    return (1 + reached) / (1 + drawn)


def with_unlisted(p_value: float, unlisted: int, trials: int, outside: float) -> float:
    """Join a p-value with the event that an unlisted outcome occurs, of probability at most trials x outside."""
    return min(1.0, trials * outside + (0.0 if unlisted else p_value))
