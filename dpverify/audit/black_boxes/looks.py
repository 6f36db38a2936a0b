"""All that is looked at in the outputs of a black box as they come: once, or again and again until it is decided.

Each of several looks has its even share of the level, and numbers of outputs that are fixed beforehand: so over all of
them together, whenever one stops, the level holds by a union bound. A pass stands once outcomes rare enough would have
shown, or the time is over: of a mechanism with slack a few thousand outputs would pass, and tell nothing of a leak in a
thousand.

Where time is left for a part of the next look only, it is shorter, and the last. Its number is decided before any of
its outputs is drawn, and it holds the claim against these alone: given all that came before, their counts are binomial.
What compares outputs of all looks, of numbers fixed beforehand, stays what it was.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.black_boxes.examined import Examined
from dpverify.audit.black_boxes.neighbours import InputPair
from dpverify.audit.black_boxes.own_terms import Claimed, examinations, points_of
from dpverify.audit.black_boxes.pooled import RareOutcomes
from dpverify.audit.black_boxes.tried import held_out, least_sure
from dpverify.audit.options import AuditOptions, batched
from dpverify.audit.results import POWER, further_results, further_tests
from dpverify.audit.running.calls import COMPARED, Calls
from dpverify.audit.running.packed import PackedOutputs
from dpverify.audit.running.runner import Progress, block_generator
from dpverify.audit.subject import Dataset
from dpverify.statistics.family import AuditResult, Verdict

__all__ = ["GROWING", "Looks"]

_GROWTH = 4
"""Of the outputs that a look has, those before it teach and choose, as of any fixed number; the others test."""
GROWING = tuple(5_000 * _GROWTH**look for look in range(7))
"""Outputs on each input at each look where their number is not given: up to 20 million."""
_SHARES = (4, 3, 2)
"""So many quarters of its outputs a look may have, if time is left for no more; fewer tell hardly more than before."""
_STREAM = 2**35
"""Where the generators of other packages' tests begin, behind those of any dataset."""
_CLAIM_SHARE = 0.75
"""The share of the level that the tests of the claim on single outputs have; the others are tests of calls.

As small a share of the figures' error probability is for what events show at most.
"""
_RARE = 0.1
"""The share of the level that rare outcomes have, where something is claimed."""
_RAREST = 1e-3
"""A pass waits until an outcome of one input alone would have shown, were it this frequent beyond 2 delta."""

Outputs = Sequence[NDArray[np.float64]]


class Looks:
    """The looks at the outputs on some pairs of inputs.

    Parameters
    ----------
    pairs, places, inputs
        What is compared, by the places of its inputs.
    claimed, delta
        What is claimed, and the delta at which epsilon is stated.
    how : AuditOptions
    level : float
        The probability that any look errs in what refutes the claim.
    sizes : sequence of int
        Outputs on each input at each look.
    """

    def __init__(
        self,
        pairs: Sequence[InputPair],
        places: Sequence[tuple[int, int]],
        inputs: Sequence[NDArray[Any]],
        claimed: Claimed,
        delta: float,
        how: AuditOptions,
        level: float,
        sizes: Sequence[int],
    ) -> None:
        self.pairs, self._places, self._claimed, self._delta = pairs, places, claimed, delta
        self._how, self._sizes, self._look, self._seen = how, list(sizes), 0, 0
        self._short = False
        self._began = time.monotonic()
        self._drawing = 0.0
        self._spent: list[tuple[float, float]] = []
        claim = _CLAIM_SHARE * level
        # A pass needs the confidence 0.95.
        upper = (1.0 - _CLAIM_SHARE) * min(how.level, 1.0 - POWER)
        rare = 0.0 if claimed is None else _RARE * level
        self.confidence = 1.0 - claim - rare - upper
        tests = len(pairs) + (Calls.TESTS + len(further_tests())) * len(inputs)
        self._each = (level - claim - rare) / tests
        given: dict[str, Any] = {"detect": how.detect, "seed": how.seed, "looks": len(sizes)}
        self._one = given | {"level": claim / len(pairs), "upper": upper / len(pairs)}
        self._two = given | {"level": self._each}
        self._rare, self._rare_level = RareOutcomes(len(inputs), how.seed), rare / len(pairs)
        self._datasets = [Dataset(f"input {place}", each) for place, each in enumerate(inputs)]
        self._kept: list[list[NDArray[np.float64]]] = [[] for _ in inputs]
        self._all = PackedOutputs(len(inputs)) if further_tests() else None
        self._calls = [Calls(dataset.name, how.seed) for dataset in self._datasets]
        self.columns = 1
        """How many columns outputs have."""
        self._pooled: tuple[int, list[AuditResult]] = (0, [])
        self._compared: tuple[int, list[AuditResult]] = (0, [])
        self._begin(0)

    @property
    def looks(self) -> int:
        """How many there are at most."""
        return len(self._sizes)

    @property
    def size(self) -> int:
        """How many outputs the present look has on each input."""
        return self._sizes[self._look]

    @property
    def _last(self) -> bool:
        return self._short or self._look + 1 == self.looks

    @property
    def constant(self) -> bool:
        """Whether all outputs on an input are the same."""
        return all(one.constant for one in self._calls)

    def stands(self, verdict: Verdict) -> bool:
        """Return whether this is the last look, which came to a verdict: none is left, or none that would end in time.

        A violation stands, and a pass that sees as rare outcomes as it should, or all that are kept for these. A next
        look that would not end in time is made as short as it must be.
        """
        rarest = _RAREST + 2.0 * min(delta for _, delta in points_of(self._claimed, self._delta))
        passes = verdict is Verdict.CONSISTENT and (self._rare.full or self.rarest <= rarest)
        if passes or verdict is Verdict.VIOLATES or self._last:
            return True
        now = time.monotonic() - self._began
        self._spent.append((self._drawing, now - self._drawing))
        whole = self._sizes[self._look + 1]
        # A short look sees no rarer outcomes: for these a pass waits.
        for share in _SHARES if verdict is Verdict.UNDECIDED else _SHARES[:1]:
            size = whole * share // _SHARES[0]
            if now + self._forecast(size) <= self._how.seconds:
                self._sizes[self._look + 1], self._short = size, size < whole
                return False
        return True

    def _forecast(self, size: int) -> float:
        """Return how many seconds the next look would take, with so many outputs on each input.

        Drawing takes as long for each output; all else, much of which does not depend on their number, as much longer
        than this time as this time than the time before.
        """
        here, spent = self._look, np.diff(self._spent, axis=0, prepend=0.0)
        sizes = np.diff([*self._sizes[: here + 1], size], prepend=0)
        (drawing, other), before = spent[-1], spent[-2:, 1]
        grown = max(0.0, float(other - before[0]))
        longer = (sizes[here + 1] - sizes[here]) / (sizes[here] - sizes[here - 1]) if here else 0.0
        return float(drawing * sizes[here + 1] / sizes[here] + other + longer * grown)

    def progress(self, told: Progress | None) -> Progress | None:
        """Return what tells how many outputs there are, and the present look has."""
        return None if told is None else lambda done, _: told(done, max(done, self.size * len(self._datasets)))

    def at(self, drawn: Iterable[Outputs]) -> Iterator[int]:
        """Look at outputs, and yield how many there were on each input once a look has all of its."""
        since = time.monotonic()
        for outputs in batched(drawn, self._sizes):
            self._drawing += time.monotonic() - since
            at = 0
            while at < len(outputs[0]):
                end = min(len(outputs[0]), at + self.size - self._seen)
                self._update([rows[at:end] for rows in outputs])
                at = end
                if self._seen == self.size:
                    yield self.size
                    if self._look + 1 < self.looks:
                        self._begin(self._look + 1)
            since = time.monotonic()

    def _begin(self, look: int) -> None:
        """Begin a look: what teaches it are outputs before it, as many as are kept, and what tests it comes then."""
        self._look = look
        held = sum(map(len, self._kept[0]))
        self._trials = held + self.size - self._seen
        # All outputs before a short look teach it: none may be tested again.
        self._held = held // 2 if self._short else None
        one, two = examinations(self._claimed, self._trials, self._delta)
        single, double = "privacy of the output", "dependence of calls: privacy of two in a row"
        self._single = [one(**self._one, held=self._held, check=f"{single}, {pair.name}") for pair in self.pairs]
        if not self._short:
            self._double = [two(**self._two, check=f"{double}, {pair.name}") for pair in self.pairs]
        for outputs in zip(*self._kept, strict=True):
            self._examine(outputs)

    def _examine(self, outputs: Outputs) -> None:
        for (first, second), single, double in zip(self._places, self._single, self._double, strict=True):
            single.update(outputs[first], outputs[second])
            if not self._short:
                double.update(outputs[first], outputs[second])

    def _update(self, outputs: Outputs) -> None:
        self.columns = outputs[0].shape[1]
        wanted = 2 * held_out(self._sizes[-1], self.columns) if self._look + 1 < self.looks else 0
        left = wanted - self._seen
        for kept, rows in zip(self._kept, outputs, strict=True):
            if left > 0:
                kept.append(rows[:left].copy())
        self._seen += len(outputs[0])
        self._examine(outputs)
        if self._short:
            return
        for calls, rows in zip(self._calls, outputs, strict=True):
            calls.update(rows)
        if self._all is not None:
            self._all.update(outputs)
        if self._claimed is not None:
            self._rare.update(outputs)

    def found(self) -> list[Examined]:
        """Return what each pair shows."""
        return [one.result() for one in self._single]

    def needed(self) -> float:
        """Return about how many outputs on each input decide the claim on all pairs: see `Examination.needed`."""
        needed = max(one.needed() for one in self._single)
        return needed + (self.size - self._trials if needed else 0)  # outputs before, which no longer teach, count too

    def rare(self) -> list[AuditResult]:
        """Return what rare outcomes of each pair show of the claim; of no more than are kept."""
        if self._claimed is None:
            return []
        if self._pooled[0] != self._rare.kept or not self._pooled[1]:
            points, check = points_of(self._claimed, self._delta), "privacy of the output in rare outcomes"
            found = [
                self._rare.result(*places, points, self._rare_level, f"{check}, {pair.name}", self.looks)
                for pair, places in zip(self.pairs, self._places, strict=True)
            ]
            self._pooled = self._rare.kept, found
            if self._last:
                self._rare.forget()
        return self._pooled[1]

    @property
    def rarest(self) -> float:
        """About the least probability of an outcome of one input alone that this look finds; 1 where it finds none."""
        held, level = self._held or held_out(self._trials, self.columns), self._one["level"] / self.looks
        learned = (least_sure(self._trials, held, *at, level) for at in points_of(self._claimed, self._delta))
        pooled = (float(one.details["least"]) for one in self.rare())
        return min((each for each in (*pooled, *learned) if each is not None), default=1.0)

    @property
    def compared(self) -> int:
        """How many calls on each input have been compared with each other."""
        return self._compared[0]

    def calls(self) -> list[AuditResult]:
        """Return the results of the tests of calls; of any more than are compared they are what they were."""
        compared = min(self._seen, COMPARED)
        if self._compared[0] != compared and not self._short:
            results = [result for one in self._calls for result in one.results(self._each / self.looks)]
            self._compared = compared, self._shared(results)
        return self._compared[1]

    def together(self) -> list[AuditResult]:
        """Return what two calls show together."""
        return [one.result() for one in self._double]

    def further(self) -> list[AuditResult]:
        """Return the results of other packages' tests, which see the numbers in the outputs."""
        if self._all is None:
            return []
        generators = (block_generator(self._how.seed, _STREAM, index) for index in itertools.count())
        each, numbers = self._each / self.looks, slice(1, None)
        return self._shared(further_results(self._datasets, self._all, numbers, generators, each, self._how.detect))

    def _shared(self, results: Iterable[AuditResult]) -> list[AuditResult]:
        """Return tests of a look by itself as such of all looks together."""
        return [replace(result, p_value=min(1.0, self.looks * result.p_value)) for result in results]
