"""What is recorded about a fault of a mechanism without a known law, and whether it can be found at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpverify.audit.target import Target

__all__ = ["UNIT", "BlackBox", "Pair", "Run", "box"]

Run = Callable[[NDArray[Any], np.random.Generator, int], NDArray[Any]]
"""(input, rng, trials) -> outputs, shape (trials, *shape)."""
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

    @property
    def target(self) -> Target:
        return Target(self.run, True, self.shape, self.name)

    def detectable(self, trials: int, level: float = 0.01, seed: int = 12345) -> bool:
        """Whether a test that knows the sign finds it: decided by a run of its own, with one exact test of one event.

        For an event of chances p and q, `p > e^eps q + delta` is refuted by the Clopper-Pearson limits of both at half
        the level, in the better of the two directions. Where only several calls show it, q is that of calls in another
        order, which a mechanism without memory could not be told from.
        """
        drawn = [self.run(x.copy(), np.random.default_rng([seed, at]), trials) for at, x in enumerate(self.pair)]
        if self.joint:
            drawn[1] = drawn[0][np.random.default_rng(seed).permutation(trials)]
        epsilon, delta = (0.0, 0.0) if self.joint else self.claim
        hits = [int(np.count_nonzero(self.sign(outputs))) for outputs in drawn]

        def shown(x: int, y: int) -> bool:
            low = stats.beta.ppf(level / 4, x, trials - x + 1) if x else 0.0
            high = stats.beta.ppf(1 - level / 4, y + 1, trials - y) if y < trials else 1.0
            return bool(low > math.exp(epsilon) * high + delta)

        return any(
            shown(*counts)
            for counts in (
                hits,
                hits[::-1],
                [trials - hit for hit in hits],
                [trials - hit for hit in hits[::-1]],
            )
        )


def box(
    kind: str,
    name: str,
    wrong: str,
    reason: str,
    run: Run,
    sign: Callable[[NDArray[Any]], Any],
    **options: Any,
) -> BlackBox:
    return BlackBox(kind, name, wrong, reason, run, sign, **options)
