"""Single tests as results, each with the fault that it answers for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.audit.running.packed import PackedOutputs
from dpverify.audit.subject import Dataset, narrowed
from dpverify.claims.registry import Group, registered
from dpverify.digits import rounded
from dpverify.guarantee import Budget
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.tally import Tally
from dpverify.statistics.bounds.claim_test import privacy_test
from dpverify.statistics.bounds.rare import count_rare_events, rare_events
from dpverify.statistics.conformance import choose_bins, g_test
from dpverify.statistics.family import AuditResult
from dpverify.statistics.instances import Sides
from dpverify.statistics.order.structure import StructureCheck
from dpverify.statistics.outputs.events import EventCounts
from dpverify.statistics.power import g_test_power, least_share

__all__ = [
    "CONTROL",
    "POWER",
    "SURE",
    "AuditTest",
    "Generators",
    "checked",
    "claimed",
    "conforms",
    "further_results",
    "further_tests",
    "independent",
    "with_fault",
]

POWER = 0.95
"""The power that a fault of the asked size must be caught with for a pass to be called consistent."""
SURE = 0.95
"""Of what is nearly always the same, no number of trials that one would ask for shows a deviation a tenth smaller."""
CONTROL = 499
"""Permutations of a positive control, which must exceed them all: it shows an effect, so precision is not needed."""
_RARE = 0.2
"""The share of a conformance test's level that single outcomes and far tails have."""
_CONTROL_LEVEL = 4.0 / (CONTROL + 1)

Generators = Iterator[np.random.Generator]


def conforms(
    check: str, law: DiscreteLaw, sample: NDArray[Any] | Tally, rng: np.random.Generator, level: float, detect: float
) -> AuditResult:
    """Test whether a sample, or its tally, follows its law, with the power against one that is narrower by a share.

    The G-test on cells has most of the level. Single outcomes and far tails, which cells hide, have the rest: the sum
    of both tests' levels bounds the chance that either refutes a correct sample. Outcomes that the law excludes are
    judged with the cells.
    """
    tally = Tally.of(law, sample)
    bins, share = choose_bins(law, tally.trials), 1.0 - _RARE
    result = g_test(tally, bins, rng, simulations=int(4.0 / level), check=check)
    rare, event = rare_events(law, tally)
    rare = min(1.0, (rare + tally.trials * law.outside) / _RARE)
    p_value = min(1.0, result.p_value / share, rare)
    shown = f"{result.evidence}; {event}" if rare <= level < result.p_value / share else result.evidence
    result = replace(result, p_value=p_value, evidence=shown)
    level *= share
    other = narrowed(law, detect)
    if other is None:
        return with_fault(result, "any outcome but the law's only one", 1.0)
    fault, power = other[1], g_test_power(bins.probabilities, bins.probabilities_under(other[0]), tally.trials, level)
    often = float(law.pmf.max())
    if power < POWER and often > SURE:
        events = 2 * count_rare_events(law, tally.trials)
        least = least_share(tally.trials, 1.0 - often, level / (1.0 - _RARE) * _RARE / events, POWER)
        if least is not None:
            fault, power = f"another outcome than the likeliest in {rounded(100 * least, 2)} % of the runs more", POWER
    # Of columns that number cells the law has another unit than what a target returns.
    off, wide = (tally.mean - law.mean) / law.variance**0.5, tally.deviation / law.variance**0.5
    evidence = f"{result.evidence}; mean off by {off:.3g} standard deviations, spread {wide:.4g} times the claimed"
    return replace(with_fault(result, fault, power), evidence=evidence)


def independent(sides: Sides, where: str, level: float) -> Iterator[AuditResult]:
    """Test independent columns that are too many to test one by one: each, pairs, and some sets, each at this level."""
    looks = [(sides.single(), 4 * sides.count, "a column that is above its median")]
    if sides.count > 1:
        looks.append((sides.tied(), 2 * sides.pairs, "a pair that is on the same side of the medians"))
    if sides.sets:
        looks.append((sides.several(), 2 * sides.sets, "three or four columns of which an odd number is above"))
    for check, comparisons, what in looks:
        wide = float(scipy.stats.norm.isf(level / comparisons) + scipy.stats.norm.isf(1.0 - POWER))
        off = wide * math.sqrt(0.25 / sides.runs)
        yield AuditResult(
            f"{check.name}, {where}",
            check.p_value,
            sides.runs,
            "binomial tails, union bound; exact level",
            check.evidence,
            f"{what} in {rounded(100 * min(1.0, off), 2)} % of the runs more or less",
            POWER if off < 0.5 else 0.0,
        )


def claimed(check: str, counts: EventCounts, claim: Budget, level: float) -> Iterator[AuditResult]:
    """Yield the test of a claim, if any event can refute it: conformance answers for what no event shows."""
    found = privacy_test(counts, [(claim.epsilon, claim.delta)], level=level, power=POWER, check=check)
    if found.power:
        yield found


class AuditTest(Protocol):
    """What a package may add to every audit, in the entry points `dpverify.audit_tests`."""

    def __call__(
        self, dataset: Dataset, outputs: NDArray[np.float64], rng: np.random.Generator, *, level: float, detect: float
    ) -> Sequence[AuditResult]:
        """Return results on the outputs of one dataset, shape (trials, columns), each with a valid p-value.

        - dataset: Its inputs, and the exact laws of the columns; none for a black box.
        - outputs (ndarray, shape (trials, columns)): What the target returned; of a black box the numbers in each
          output, 0 where it has fewer.
        - rng: Of the test's own randomness.
        - level: What the p-value must be able to fall below: about the level of one test.
        - detect: The relative size of the fault to state the power against.
        """
        ...


def further_tests() -> Mapping[str, AuditTest]:
    """Return the tests that other packages add, by name."""
    return registered(Group.AUDIT_TESTS)


def further_results(
    datasets: Sequence[Dataset],
    outputs: PackedOutputs,
    columns: slice,
    generators: Generators,
    level: float,
    detect: float,
) -> Iterator[AuditResult]:
    """Yield the results of other packages' tests on some columns of the outputs on every dataset."""
    for test in further_tests().values():
        for place, dataset in enumerate(datasets):
            yield from test(dataset, outputs.part(place, columns), next(generators), level=level, detect=detect)


def with_fault(result: AuditResult, fault: str, power: float) -> AuditResult:
    """Return a result with the fault that it answers for, and the power against it."""
    return replace(result, fault=fault, power=min(1.0, power))


def checked(
    check: StructureCheck, control: StructureCheck | None, trials: int, level: float, where: str, fault: str
) -> AuditResult:
    """Return a structural check as a result; a positive control, the same check on a faulty version, is its power."""
    power = 1.0 if control is None or control.p_value <= max(level, _CONTROL_LEVEL) else 0.0
    return AuditResult(
        f"{check.name}, {where}",
        check.p_value,
        trials,
        "no correct run can fail" if control is None else "exact; power by a positive control",
        check.evidence,
        fault,
        power,
    )
