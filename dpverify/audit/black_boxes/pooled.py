"""Rare outcomes of a black box that one input has far oftener: what is kept of the outputs, and what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.results import POWER
from dpverify.audit.running.outputs import COUNTED
from dpverify.audit.running.packed import PackedOutputs
from dpverify.statistics.bounds.claim_test import shown_against
from dpverify.statistics.family import AuditResult
from dpverify.statistics.outputs.aspects import codes_of
from dpverify.statistics.outputs.pooled import drawn_by_coins, fewest_hits, least_probability, pooled_sets

__all__ = ["RareOutcomes"]

_MOST, _MEMORY = 500_000, 2**25
"""Outputs on each input that are pooled, and about how many bytes these take at most."""
_SHOWN, _FEW = 200, 100
"""The first outputs say how wide one is, and are not pooled: a number takes 8 bytes, one of few a place among these."""
_STREAM = 25
"""Tells the coins' generator from others of the same seed."""

Points = Sequence[tuple[float, float]]


class RareOutcomes:
    """The outputs on some inputs, pooled two by two.

    Parameters
    ----------
    inputs : int
        How many there are.
    seed : int
        Of the coins.
    """

    def __init__(self, inputs: int, seed: int) -> None:
        self._inputs, self._seed = inputs, seed
        self._outputs: PackedOutputs | None = None
        self.kept = 0
        """How many outputs on each input are kept."""
        self._most, self._columns_of = 0, 0
        self._codes: list[list[NDArray[np.int64]]] = [[] for _ in range(inputs)]

    @property
    def full(self) -> bool:
        """Whether all outputs are kept that ever are."""
        return self._outputs is not None and self.kept == self._most

    def update(self, outputs: Sequence[NDArray[np.float64]]) -> None:
        """Add as many outputs on every input, shape (runs, columns) each."""
        if self._outputs is None:
            self._columns_of = outputs[0].shape[1]
            shown = [rows[:_SHOWN] for rows in outputs]
            kinds = [max(np.unique(rows[:, at]).size for rows in shown) for at in range(shown[0].shape[1])]
            width = 8 + sum(8 if different > _FEW else 2 for different in kinds)
            self._most = min(_MOST, _MEMORY // width)
            self._outputs = PackedOutputs(self._inputs, self._most)
            outputs = [rows[_SHOWN:] for rows in outputs]
        outputs = [rows[: self._most - self.kept] for rows in outputs]
        self.kept += len(outputs[0])
        if len(outputs[0]):
            self._outputs.update(outputs)
            for codes, rows in zip(self._codes, outputs, strict=True):
                codes.append(codes_of(rows))

    def forget(self) -> None:
        """Hold no outputs any longer: what they show has been asked for the last time."""
        self._outputs, self._codes = None, []

    def result(self, first: int, second: int, points: Points, level: float, check: str, looks: int = 1) -> AuditResult:
        """Return what two inputs show of a claim.

        Parameters
        ----------
        first, second : int
            The inputs' places.
        points : sequence of (epsilon, delta)
            What is claimed to hold at once.
        level : float
            Of the test.
        check : str
            As in a report.
        looks : int
            Among how many looks, of fixed numbers of outputs, `level` is shared evenly: p-values are multiplied by it.
        """
        draws, each = 2 * self.kept, level / looks
        epsilon, delta = min(points, key=lambda point: fewest_hits(draws, point[0], point[1], each))
        least = least_probability(draws, epsilon, delta, each, POWER)
        rng, p_value, lower, found = np.random.default_rng([self._seed, _STREAM, first, second]), 1.0, 0.0, ""
        taken, fewest = drawn_by_coins(self.kept, rng), fewest_hits(draws, epsilon, delta, each)
        sets = None
        if taken is not None and fewest <= draws:
            sets = pooled_sets(self._columns((first, second), taken), fewest, rng)
        if sets is not None:
            p_values = sets.p_values(epsilon, delta, each)
            at = int(np.argmin(p_values))
            p_value, lower = min(1.0, looks * float(p_values[at])), sets.epsilon_lower(delta, each)
            hits, size, where = int(sets.first[at]), int(sets.sizes[at]), "first"
            if 2 * hits < size:
                hits, where = size - hits, "second"
            found = f"{sets.names[at]}: {hits} of {size} are of the {where} input"
        lower, evidence = shown_against(lower, epsilon, delta, refuted=p_value <= level)
        return AuditResult(
            check,
            p_value,
            self.kept,
            "sets chosen by the outputs of both inputs together, binomial tails, union bound; exact level",
            f"{evidence}; {found}" if found else evidence,
            f"an outcome of one input alone of probability {least:.2g}" if least < 1.0 else "",
            POWER,
            level=level,
            details={
                "epsilon_lower": lower,
                "epsilon_claimed": epsilon,
                "delta": delta,
                "rare": found,
                "least": least,
            },
        )

    def _columns(
        self, places: tuple[int, int], taken: tuple[int, int]
    ) -> Iterator[tuple[str, NDArray[np.int64] | NDArray[np.float64], NDArray[np.int64] | NDArray[np.float64]]]:
        """Yield what is looked at, one after the other: whole outputs, and each column."""
        assert self._outputs is not None
        first, second = (np.concatenate(self._codes[at])[:most] for at, most in zip(places, taken, strict=True))
        yield "the outputs", first, second
        for column in range(self._columns_of):
            one, other = (self._outputs.part(at, column, most) for at, most in zip(places, taken, strict=True))
            yield f"column {column}", one, other
            if column == 0:
                yield "how many numbers there are", one % COUNTED, other % COUNTED
