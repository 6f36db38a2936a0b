"""Audits of many instances together: of a density estimator, a classifier, a client, several calls of one protocol.

The instances are independent given the data, so that the privacy loss of all of them is the sum of theirs, whose law is
exact. Noise that instances share is seen in it, and in their pairs, though each by itself has its law.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.limits import Limits, Look
from dpverify.audit.options import AuditKeywords, AuditOptions, batched
from dpverify.audit.outcome import AuditReport, stated
from dpverify.audit.results import POWER, claimed, conforms
from dpverify.audit.running.runner import block_generator
from dpverify.audit.running.target import Target
from dpverify.guarantee import Budget
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.tally import Tally
from dpverify.statistics.family import AuditResult, Verdict, decide
from dpverify.statistics.instances import Sides, SummedLoss
from dpverify.statistics.order.structure import StructureCheck
from dpverify.statistics.outputs.events import EventCounts, likelihood_ratio_events

__all__ = ["Whole"]

_STREAM = 2**34
"""Where the generators of the tests begin, behind those of any dataset."""


@dataclass(frozen=True, eq=False)
class Whole:
    """All instances of a pipeline on a dataset, and on neighbours of it.

    Parameters
    ----------
    name : str
        As in a report.
    target : Target
        `function(inputs, rng)` returns the outcomes of all instances, shape (instances,).
    inputs : ndarray
        The dataset.
    laws : sequence of DiscreteLaw
        The exact laws of the instances on it, which are independent.
    neighbours : mapping of str to (ndarray, sequence of DiscreteLaw)
        By name: a dataset that differs in one user, and the laws there. At least one.

    Examples
    --------
    Two calls of a binary sum that use the same noise:

    >>> from dpverify.audit.protocol import audit_protocol
    >>> from dpverify.audit.subjects.pipelines import bitsum_calls
    >>> from protocols.bitsum import CentralDiscreteLaplace
    >>> promised = CentralDiscreteLaplace(20, 0.5)
    >>> def twice(bits, rng):
    ...     noise = rng.geometric(0.5) - rng.geometric(0.5)
    ...     return bits.sum(axis=0) + noise
    >>> report = audit_protocol(bitsum_calls(promised, 2, implementation=twice), trials=500)
    >>> report.violations[0].check
    'pairs of instances'
    """

    name: str
    target: Target
    inputs: NDArray[Any]
    laws: Sequence[DiscreteLaw]
    neighbours: Mapping[str, tuple[NDArray[Any], Sequence[DiscreteLaw]]]

    def __post_init__(self) -> None:
        if not self.neighbours:
            raise ValueError("neighbours is empty, but must hold at least one dataset.")

    def audited(self, claim: Budget | None, **options: Unpack[AuditKeywords]) -> AuditReport:
        """Audit all instances together: their summed privacy loss, each of them, and each pair.

        Parameters
        ----------
        claim : Budget, optional
            Of all instances together.
        **options
            See `dpverify.audit.options.AuditOptions`.
        """
        how = AuditOptions(**options)
        level, detect = how.level, how.detect
        epsilon = None if claim is None else claim.epsilon
        sides = [Sides(laws) for laws in (self.laws, *(laws for _, laws in self.neighbours.values()))]
        directions = [
            _Direction(name, SummedLoss(self.laws, laws), epsilon, how.trials)
            for name, (_, laws) in self.neighbours.items()
        ]
        inputs = [self.inputs, *(inputs for inputs, _ in self.neighbours.values())]
        with closing(how.rounds(self.target, inputs)) as drawn:
            for outputs in batched(drawn):
                for counts, sample in zip(sides, outputs, strict=True):
                    counts.update(sample)
                for direction, sample in zip(directions, outputs[1:], strict=True):
                    direction.update(outputs[0], sample)
        each = level / (2 + 5 * len(directions))
        results = list(_instances("", sides[0], each))
        for at, (direction, counts) in enumerate(zip(directions, sides[1:], strict=True)):
            results += _instances(f", {direction.name}", counts, each)
            results += direction.results(claim, block_generator(how.seed, _STREAM, at), each, detect)
        inferred = [direction.membership for direction in directions if direction.informative]
        decided = decide(results, level, power=POWER)
        return AuditReport(
            self.name,
            stated(claim),
            decided,
            level,
            how.trials,
            how.seed,
            limits=_limits(self, decided, inferred),
            diagnosis=tuple(
                f"{result.evidence}."
                for result in decided
                if result.verdict is Verdict.VIOLATES and result.check.startswith((_SINGLE, _TIED))
            ),
        )


_SINGLE, _TIED = "each instance", "pairs of instances"


def _instances(where: str, sides: Sides, level: float) -> Iterator[AuditResult]:
    """Yield the tests of each instance and of each pair, whose faults make some event happen in all runs or in none."""

    def result(check: StructureCheck, fault: str, chance: float, tests: int) -> AuditResult:
        power = 1.0 if 2.0 * tests * chance**sides.runs <= level else 0.0
        method = f"exact two-sided binomial tests of {tests:,} counts, union bound"
        name = f"{check.name}{where}"
        return AuditResult(name, check.p_value, sides.runs, method, check.evidence, fault, power)

    quiet = f"one of {sides.count:,} instances without its noise"
    yield result(sides.single(), quiet, sides.constant, 2 * sides.count)
    if sides.count > 1:
        tied = f"two of {sides.count:,} instances whose noise always has one sign, or opposite ones"
        yield result(sides.tied(), tied, sides.agreement, sides.pairs)


class _Direction:
    """The dataset against one neighbour: the summed losses of the outputs on both, counted as they come."""

    def __init__(self, name: str, loss: SummedLoss, epsilon: float | None, trials: int) -> None:
        self.name, self._loss = name, loss
        self.informative = loss.informative > 0
        """Whether any instance has another law on the neighbour."""
        self._tallies: list[Tally] = []
        self._events: EventCounts | None = None
        if self.informative:
            laws = loss.law(loss.first), loss.law(loss.second)
            self._tallies = [Tally(law) for law in laws]
            if epsilon is not None:
                self._events = EventCounts(likelihood_ratio_events(*laws, epsilon, trials))
        self._right = 0

    def update(self, here: NDArray[np.float64], there: NDArray[np.float64]) -> None:
        """Count more outputs on the dataset and on the neighbour, shape (runs, instances)."""
        if not self.informative:
            return
        scores = self._loss.scores(here), self._loss.scores(there)
        for tally, score in zip(self._tallies, scores, strict=True):
            tally.update(score)
        if self._events is not None:
            self._events.update(*scores)
        self._right += int(np.count_nonzero(scores[0] > 0) + np.count_nonzero(scores[1] <= 0))

    @property
    def membership(self) -> Look:
        """How often the best guess which of the two datasets it was is right: here, and by the laws."""
        here, there = (tally.law for tally in self._tallies)
        exact = 0.5 * float(here.pmf[here.points > 0].sum() + there.pmf[there.points <= 0].sum())
        seen = 0.5 * self._right / self._tallies[0].trials
        return Look(
            "membership",
            f"the likelihood ratio guesses the dataset or {self.name} rightly in {100 * seen:.1f} % of the runs, "
            f"{100 * exact:.1f} % by the laws",
        )

    def results(
        self, budget: Budget | None, rng: np.random.Generator, level: float, detect: float
    ) -> Iterator[AuditResult]:
        """Yield the tests of the summed loss against its law on both datasets, and of the claim."""
        for place, tally in zip(("against", "on"), self._tallies, strict=False):
            yield conforms(f"summed privacy loss {place} {self.name}", tally.law, tally, rng, level, detect)
        if budget is None or self._events is None:
            return
        yield from claimed(f"privacy of all instances against {self.name}", self._events, budget, level)


def _limits(whole: Whole, results: Sequence[AuditResult], inferred: Sequence[Look]) -> Limits:
    def faults(begin: str) -> str:
        return "; ".join(dict.fromkeys(r.fault for r in results if r.check.startswith(begin) and (r.power or 0) >= 0.5))

    neighbours = ", ".join(whole.neighbours)
    looks = [
        Look("datasets", f"one, and its neighbours: {neighbours}"),
        Look("instances", "each by itself", faults(_SINGLE)),
        *([Look("instances", "each pair", faults(_TIED))] if len(whole.laws) > 1 else []),
        Look("privacy loss", f"summed over all {len(whole.laws):,} instances", faults("summed")),
        *inferred,
    ]
    missing = [
        "datasets other than these, and neighbours that differ in another user",
        "what three or more instances tell together, other than by the sum of their losses",
        "single messages: their order, and whether users share their randomness",
    ]
    if any(result.check.startswith("privacy of all") for result in results):
        looks.append(Look("neighbours", "events of the likelihood ratio of all instances", faults("privacy of all")))
    else:
        missing.append("a privacy claim: none was made, or no event of these laws is beyond it")
    return Limits(tuple(looks), tuple(missing))
