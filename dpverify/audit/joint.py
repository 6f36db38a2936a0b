"""Audits of many instances together: of a density estimator, a classifier, a client, several calls of one protocol.

The instances are independent given the data, so that the privacy loss of all of them is the sum of theirs, whose law is
exact. Noise that instances share is seen in it, and in their pairs, though each by itself has its law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    >>> [result.check for result in report.violations]
    ['pairs of instances', 'summed privacy loss against a user who changes every call']
    """
    how = AuditOptions(**options)
    level, detect = how.level, how.detect
    budget = None if claim is None else Budget.of(claim, "claim")
    names = list(whole.neighbours)
    drawn = how.draw(whole.target, [whole.inputs, *(inputs for inputs, _ in whole.neighbours.values())])
    sides = Sides(whole.laws)
    tests = len(beforehand) + 2 + 2 * len(names)
    each = level / tests
    results = [*beforehand, _single(sides, drawn[0], each)]
    if len(whole.laws) > 1:
        results.append(_tied(sides, drawn[0], each))
    for at, (name, sample) in enumerate(zip(names, drawn[1:], strict=True)):
        loss = SummedLoss(whole.laws, whole.neighbours[name][1])
        if loss.informative:
            rng = block_generator(how.seed, _STREAM, at)
            results += _direction(loss, name, (drawn[0], sample), budget, rng, each, detect)
    decided = decide(results, level, power=POWER)
    return AuditReport(
        whole.name,
        None if budget is None else {"epsilon": budget.epsilon, "delta": budget.delta},
        decided,
        level,
        how.trials,
        how.seed,
        limits=_limits(whole, decided),
        diagnosis=tuple(
            f"{result.evidence}."
            for result in decided
            if result.verdict is Verdict.VIOLATES and result.check in (_SINGLE, _TIED)
        ),
    )


_SINGLE, _TIED = "each instance", "pairs of instances"


def _found(check: StructureCheck, trials: int, fault: str, chance: float, tests: int, level: float) -> AuditResult:
    """Return a check of many counts as a result; the fault makes some event happen in all runs or in none."""
    shows = 2.0 * tests * chance**trials <= level
    method = f"exact two-sided binomial tests of {tests:,} counts, union bound"
    return AuditResult(check.name, check.p_value, trials, method, check.evidence, fault, 1.0 if shows else 0.0)


def _single(sides: Sides, outputs: NDArray[np.float64], level: float) -> AuditResult:
    count = len(sides.laws)
    fault = f"one of {count:,} instances without its noise"
    return _found(sides.single(outputs), len(outputs), fault, sides.constant, 2 * count, level)


def _tied(sides: Sides, outputs: NDArray[np.float64], level: float) -> AuditResult:
    fault = f"two of {len(sides.laws):,} instances whose noise always has one sign, or opposite ones"
    return _found(sides.tied(outputs), len(outputs), fault, sides.agreement, sides.pairs, level)


def _direction(
    loss: SummedLoss,
    name: str,
    outputs: tuple[NDArray[np.float64], NDArray[np.float64]],
    budget: Budget | None,
    rng: np.random.Generator,
    level: float,
    detect: float,
) -> list[AuditResult]:
    """Test the summed loss on the dataset against its law, and the claim on it and the neighbour."""
    here, there = loss.law(loss.first), loss.law(loss.second)
    first, second = (loss.scores(rows) for rows in outputs)
    results = [conforms(f"summed privacy loss against {name}", here, first, rng, level, detect)]
    if budget is None:
        return results
    found = privacy_test(
        first,
        second,
        likelihood_ratio_events(here, there, budget.epsilon, len(first)),
        [(budget.epsilon, budget.delta)],
        level=level,
        power=POWER,
        check=f"privacy of all instances against {name}",
    )
    smallest = found.details["smallest_detectable_epsilon"]
    if smallest is not None:  # else no event of these laws can refute the claim, and the law's test answers for it
        results.append(with_fault(found, f"epsilon {smallest:.4g} at delta {budget.delta:.3g}", POWER))
    return results


def _limits(whole: Whole, results: Sequence[AuditResult]) -> Limits:
    def faults(begin: str) -> str:
        return "; ".join(dict.fromkeys(r.fault for r in results if r.check.startswith(begin) and (r.power or 0) >= 0.5))

    neighbours = ", ".join(whole.neighbours)
    looks = [
        Look("datasets", f"one, and its neighbours: {neighbours}"),
        Look("instances", "each by itself", faults(_SINGLE)),
        Look("instances", "each pair", faults(_TIED)),
        Look("privacy loss", f"summed over all {len(whole.laws):,} instances", faults("summed")),
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
