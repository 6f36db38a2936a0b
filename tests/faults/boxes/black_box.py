"""What is recorded about a fault of a mechanism without a known law, and whether it can be found at all."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpverify.audit.running.target import Target
from tests.faults.fault import Run

__all__ = ["UNIT", "BlackBox", "Pair", "Run", "box"]

Pair = tuple[NDArray[Any], NDArray[Any]]

UNIT: Pair = (np.array([1.0, 0.0, 0.0]), np.zeros(3))
"""Two datasets whose sums are 1 and 0."""


@dataclass(frozen=True, eq=False)
class BlackBox:
    """One faulty mechanism, which the audit may only run on two neighbouring inputs.

    Parameters
    ----------
    kind, name, wrong, reason : str
        As of `Fault`.
    run : callable
        Draws the outputs of that many calls in a row.
    sign : callable
        Maps those outputs, in their order, to booleans: the event that gives the fault away.
    pair : (ndarray, ndarray)
        Two neighbouring inputs.
    claim : (float, float)
        epsilon and delta.
    shape : tuple of int
        Of one output.
    joint : bool
        Whether it is in several calls together that the fault shows: each alone keeps the claim.
    chances : (float, float), optional
        The exact chances of the sign on either input, where they can be written down.
    """

    kind: str
    name: str
    wrong: str
    reason: str
    run: Run
    sign: Callable[[NDArray[Any]], NDArray[np.bool_]]
    pair: Pair = UNIT
    claim: tuple[float, float] = (1.0, 0.0)
    shape: tuple[int, ...] = ()
    joint: bool = False
    chances: tuple[float, float] | None = None

    @property
    def target(self) -> Target:
        return Target(self.run, True, self.shape, self.name)

    def detectable(self, trials: int, level: float = 0.01, seed: int = 12345) -> bool:
        """Whether a test that knows the sign finds it: decided by a run of its own, with one exact test of one event.

        For an event of chances p and q, `p > e^eps q + delta` is refuted by the Clopper-Pearson limits of both at half
        the level, in the better of the two directions. Where only several calls show it, q is that of calls in another
        order, which a mechanism without memory could not be told from.
        """
        hits = self.hits(trials, seed)
        return bool(_refuted(*(np.array([hit]) for hit in hits), trials, self._promised, level).any())

    def power(self, trials: int, level: float = 0.01, seed: int = 12345, runs: int = 2000) -> float:
        """Return how often a test that knows the sign finds it, from the chances: exact ones, or of 10 such runs."""
        rng = np.random.default_rng(seed)
        chances = self.chances
        if chances is None:
            counts = [self.hits(trials, seed + again) for again in range(10)]
            chances = tuple(np.mean(counts, axis=0) / trials)
        drawn = [rng.binomial(trials, chance, runs) for chance in chances]
        return float(_refuted(*drawn, trials, self._promised, level).mean())

    def hits(self, trials: int, seed: int) -> tuple[int, int]:
        """Return how often the sign is seen in a run on either input; see `detectable` for what several calls show."""
        drawn = [self.run(x.copy(), np.random.default_rng([seed, at]), trials) for at, x in enumerate(self.pair)]
        if self.joint:
            drawn[1] = drawn[0][np.random.default_rng(seed).permutation(trials)]
        first, second = (int(np.count_nonzero(self.sign(outputs))) for outputs in drawn)
        return first, second

    @property
    def _promised(self) -> tuple[float, float]:
        return (0.0, 0.0) if self.joint else self.claim


def _refuted(
    first: NDArray[np.int64], second: NDArray[np.int64], trials: int, claim: tuple[float, float], level: float
) -> NDArray[np.bool_]:
    """Return whether these numbers of hits refute the claim, in the better direction, for the sign or its contrary.

    Where hits are rare and delta is 0, by the law of one number given the sum of both, which is the sharper test.
    """
    epsilon, delta = claim

    def shown(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.bool_]:
        if delta == 0.0 and 100 * (x + y).max() < trials:
            share = 1.0 / (1.0 + math.exp(-epsilon))
            return np.asarray(stats.binom.sf(x - 1, x + y, share) <= level / 4)
        low = np.where(x > 0, stats.beta.ppf(level / 4, np.maximum(x, 1), trials - x + 1), 0.0)
        high = np.where(y < trials, stats.beta.ppf(1 - level / 4, y + 1, np.maximum(trials - y, 1)), 1.0)
        return np.asarray(low > math.exp(epsilon) * high + delta)

    return (
        shown(first, second)
        | shown(second, first)
        | shown(trials - first, trials - second)
        | shown(trials - second, trials - first)
    )


def box(
    kind: str,
    name: str,
    wrong: str,
    reason: str,
    run: Run,
    sign: Callable[[NDArray[Any]], Any],
    columns: int = 0,
    **options: Any,
) -> BlackBox:
    """Return a row of a table: outputs are numbers, or rows of so many columns."""
    return BlackBox(kind, f"box-{name}", wrong, reason, run, sign, **{"shape": (columns,) if columns else ()} | options)
