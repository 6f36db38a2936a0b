"""Audits of many instances together: of a density estimator, a classifier, a client, several calls of one protocol.

The instances are independent given the data, so that the privacy loss of all of them is the sum of theirs, whose law is
exact. Noise that instances share is seen in it, and in their pairs, though each by itself has its law.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.limits import Limits, Look
from dpverify.audit.options import AuditKeywords, AuditOptions
from dpverify.audit.outcome import AuditReport
from dpverify.audit.results import POWER, conforms, with_fault
from dpverify.audit.runner import block_generator
from dpverify.audit.target import Target
from dpverify.guarantee import Budget, BudgetLike
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.events import likelihood_ratio_events
from dpverify.statistics.family import AuditResult, Verdict, decide
from dpverify.statistics.instances import Sides, SummedLoss
from dpverify.statistics.lower_bound import privacy_test
from dpverify.statistics.structure import StructureCheck

__all__ = ["Whole", "audit_joint"]

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
    """

    name: str
    target: Target
    inputs: NDArray[Any]
    laws: Sequence[DiscreteLaw]
    neighbours: Mapping[str, tuple[NDArray[Any], Sequence[DiscreteLaw]]]

    def __post_init__(self) -> None:
        if not self.neighbours:
            raise ValueError("neighbours is empty, but must hold at least one dataset.")


def audit_joint(
    whole: Whole,
    claim: BudgetLike | None = None,
    *,
    beforehand: Sequence[AuditResult] = (),
    **options: Unpack[AuditKeywords],
) -> AuditReport:
    """Audit all instances of a pipeline together: their summed privacy loss, each of them, and each pair.

    Parameters
    ----------
    whole : Whole
        See `dpverify.audit.pipelines`, or state the laws of your own.
    claim : Budget or (epsilon, delta), optional
        Of all instances together.
    beforehand : sequence of AuditResult
        Results known without trials, which join the family.
    **options
        `trials`, `level`, `detect`, `seed`, `workers`, ...: see `dpverify.audit.options.AuditOptions`.

    Returns
    -------
    AuditReport
        `verdict`, `statement`, every single test, and `limits`.

    Examples
    --------
    Two calls of a binary sum that use the same noise:

    >>> from dpverify.audit.pipelines import bitsum_calls
    >>> from protocols.bitsum import CentralDiscreteLaplace
    >>> promised = CentralDiscreteLaplace(20, 0.5)
    >>> def twice(bits, rng):
    ...     noise = rng.geometric(0.5) - rng.geometric(0.5)
    ...     return bits.sum(axis=0) + noise
    >>> report = audit_joint(bitsum_calls(promised, 2, implementation=twice), trials=500)
    >>> report.violations[0].check
    'pairs of instances'
    """
    how = AuditOptions(**options)
    level, detect = how.level, how.detect
    budget = None if claim is None else Budget.of(claim, "claim")
    names = list(whole.neighbours)
    drawn = how.draw(whole.target, [whole.inputs, *(inputs for inputs, _ in whole.neighbours.values())])
    each = level / (len(beforehand) + 2 + 5 * len(names))
    results = [*beforehand, *_instances("", whole.laws, drawn[0], each)]
    inferred = []
    for at, (name, sample) in enumerate(zip(names, drawn[1:], strict=True)):
        laws = whole.neighbours[name][1]
        results += _instances(f", {name}", laws, sample, each)
        loss = SummedLoss(whole.laws, laws)
        if loss.informative:
            rng = block_generator(how.seed, _STREAM, at)
            direction = _Direction(name, loss, (drawn[0], sample))
            results += direction.results(budget, rng, each, detect)
            inferred.append(direction.membership)
    decided = decide(results, level, power=POWER)
    return AuditReport(
        whole.name,
        None if budget is None else {"epsilon": budget.epsilon, "delta": budget.delta},
        decided,
        level,
        how.trials,
        how.seed,
        limits=_limits(whole, decided, inferred),
        diagnosis=tuple(
            f"{result.evidence}."
            for result in decided
            if result.verdict is Verdict.VIOLATES and result.check.startswith((_SINGLE, _TIED))
        ),
    )


_SINGLE, _TIED = "each instance", "pairs of instances"


def _instances(
    where: str, laws: Sequence[DiscreteLaw], outputs: NDArray[np.float64], level: float
) -> Iterator[AuditResult]:
    """Yield the tests of each instance and of each pair, whose faults make some event happen in all runs or in none."""
    sides, count = Sides(laws), len(laws)

    def result(check: StructureCheck, fault: str, chance: float, tests: int) -> AuditResult:
        power = 1.0 if 2.0 * tests * chance ** len(outputs) <= level else 0.0
        method = f"exact two-sided binomial tests of {tests:,} counts, union bound"
        name = f"{check.name}{where}"
        return AuditResult(name, check.p_value, len(outputs), method, check.evidence, fault, power)

    quiet = f"one of {count:,} instances without its noise"
    yield result(sides.single(outputs), quiet, sides.constant, 2 * count)
    if count > 1:
        tied = f"two of {count:,} instances whose noise always has one sign, or opposite ones"
        yield result(sides.tied(outputs), tied, sides.agreement, sides.pairs)


@dataclass(frozen=True, eq=False)
class _Direction:
    """The dataset against one neighbour, with the outputs of both."""

    name: str
    loss: SummedLoss
    outputs: tuple[NDArray[np.float64], NDArray[np.float64]]

    @cached_property
    def laws(self) -> tuple[DiscreteLaw, DiscreteLaw]:
        """The exact laws of the summed loss."""
        return self.loss.law(self.loss.first), self.loss.law(self.loss.second)

    @cached_property
    def scores(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The summed losses of the outputs."""
        return self.loss.scores(self.outputs[0]), self.loss.scores(self.outputs[1])

    @property
    def membership(self) -> Look:
        """How often the best guess which of the two datasets it was is right: here, and by the laws."""
        here, there = self.laws
        exact = 0.5 * float(here.pmf[here.points > 0].sum() + there.pmf[there.points <= 0].sum())
        seen = 0.5 * float((self.scores[0] > 0).mean() + (self.scores[1] <= 0).mean())
        return Look(
            "membership",
            f"the likelihood ratio guesses the dataset or {self.name} rightly in {100 * seen:.1f} % of the runs, "
            f"{100 * exact:.1f} % by the laws",
        )

    def results(
        self, budget: Budget | None, rng: np.random.Generator, level: float, detect: float
    ) -> Iterator[AuditResult]:
        """Yield the tests of the summed loss against its law on both datasets, and of the claim."""
        places = ("against", "on")
        for place, law, scores in zip(places, self.laws, self.scores, strict=True):
            yield conforms(f"summed privacy loss {place} {self.name}", law, scores, rng, level, detect)
        if budget is None:
            return
        found = privacy_test(
            *self.scores,
            likelihood_ratio_events(*self.laws, budget.epsilon, len(self.scores[0])),
            [(budget.epsilon, budget.delta)],
            level=level,
            power=POWER,
            check=f"privacy of all instances against {self.name}",
        )
        smallest = found.details["smallest_detectable_epsilon"]
        if smallest is not None:  # else no event of these laws can refute the claim: the law's test answers for it
            yield with_fault(found, f"epsilon {smallest:.4g} at delta {budget.delta:.3g}", POWER)


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
