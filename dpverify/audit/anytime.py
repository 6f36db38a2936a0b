"""Audits that draw until they are decided: their level holds whenever they stop.

Each test is an e-process: with a correct implementation it ever exceeds 1/a with probability <= a (Ville's inequality).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.options import AuditKeywords, AuditOptions
from dpverify.audit.outcome import AuditReport, stated
from dpverify.audit.results import POWER
from dpverify.audit.running.runner import block_generator
from dpverify.audit.subject import Dataset, Subject, narrowed
from dpverify.guarantee import Budget
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.bounds.betting import Bets, anytime_privacy_test, kelly_bets
from dpverify.statistics.bounds.eprocess import ConformanceProcess, evidence_power
from dpverify.statistics.conformance import choose_bins
from dpverify.statistics.family import AuditResult, decide
from dpverify.statistics.outputs.events import likelihood_ratio_events
from dpverify.statistics.power import faulty_event
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["AnytimeReport", "audit_anytime"]

_SIMULATIONS = 1000
_PLANNED_POWER = POWER + 0.02
"""Simulated power is off by 0.007: what is planned with this much is not undecided in the end by chance."""
_POWER_STREAM = 2**32
"""The generator's dataset for the simulated power, behind those of any dataset."""

Outputs = list[NDArray[np.float64]]
"""One array of shape (draws, columns) per dataset."""


@dataclass(frozen=True)
class AnytimeReport(AuditReport):
    """The report of an audit at any time; its `trials` are those that were drawn.

    - evidence_rows: After each block: `draws` per dataset, and the log of each test's e-value by the test's name, for a
      plot; the largest finite number for an outcome that the law does not have.
    - interrupted: Whether Ctrl-C ended it; the verdict is as valid as any other.
    """

    plain_as: ClassVar[str] = f"{AuditReport.plain_as} evidence_rows interrupted"

    evidence_rows: tuple[Mapping[str, float], ...] = ()
    interrupted: bool = False


class _Conformance:
    """One column of one dataset against its law."""

    def __init__(self, place: int, dataset: Dataset, column: int, trials: int, detect: float) -> None:
        name, law = dataset.laws[column]
        self.check = f"conformance of {name}, {dataset.name}, anytime"
        self._at = place, column
        self._process = ConformanceProcess(choose_bins(law, trials))
        self._other = narrowed(law, detect)

    def update(self, outputs: Outputs) -> float:
        place, column = self._at
        return self._process.update(outputs[place][self._process.trials :, column])

    def result(self, outputs: Outputs, level: float, rng: np.random.Generator) -> AuditResult:
        result = self._process.result(check=self.check)
        if self._other is None:
            return replace(result, fault="any outcome but the law's only one", power=1.0)
        alternative, fault = self._other
        power = evidence_power(self._process.bins, alternative, result.trials, level, rng, simulations=_SIMULATIONS)
        return replace(result, fault=fault, power=power)


class _Privacy:
    """The claim on two neighbouring datasets, on the view where its law is known, else on the estimate."""

    def __init__(
        self, name: str, places: tuple[int, int], columns: Any, bets: Bets, fault: float, level: float
    ) -> None:
        self.check = f"privacy of {name}, anytime"
        self._at, self._bets, self._fault, self._level = (*places, columns), bets, fault, level

    def _test(self, outputs: Outputs) -> AuditResult:
        first, second, columns = self._at
        samples = outputs[first][:, columns], outputs[second][:, columns]
        return anytime_privacy_test(*samples, self._bets, level=self._level, check=self.check)

    def update(self, outputs: Outputs) -> float:
        # From the start each time: the bets are fixed, and gains cost little next to the draws.
        return float(self._test(outputs).details["log_wealth"])

    def result(self, outputs: Outputs, level: float, rng: np.random.Generator) -> AuditResult:
        result = self._test(outputs)
        power = _betting_power(self._bets, self._fault, result.trials, level, rng)
        return replace(result, fault=f"epsilon {self._fault:.4g} at delta {self._bets.delta:.3g}", power=power)


def _betting_power(bets: Bets, fault: float, trials: int, level: float, rng: np.random.Generator) -> float:
    """Return a low estimate of the power: of the best bet on a single event, by its wealth at the end."""
    best, grown = 0.0, math.exp(bets.epsilon)
    for fractions, weight in zip(bets.fractions, bets.weights, strict=True):
        if np.count_nonzero(fractions) > 1:
            continue
        on = int(np.argmax(fractions))
        p, q = bets.events.expected[on].tolist()
        try:
            p, q = faulty_event(p, q, fault, bets.delta)
        except ValueError:  # this event cannot show so large a loss
            continue
        gains = np.array([1.0 - grown, 1.0, -grown, 0.0]) - bets.delta
        masses = np.array([p * q, p * (1.0 - q), (1.0 - p) * q, (1.0 - p) * (1.0 - q)])
        counts = rng.multinomial(trials, masses / masses.sum(), _SIMULATIONS)
        wealth = counts @ np.log1p(fractions[on] * gains) + math.log(weight)
        best = max(best, float(np.mean(wealth >= -math.log(level))))
    return best


def _privacy(
    subject: Subject, claim: Budget, trials: int, level: float, detect: float, rng: np.random.Generator
) -> Iterator[_Privacy]:
    """Yield the tests of a claim, each for the smallest fault that `trials` show; the asked one if they show none.

    Conformance answers for what is smaller: outputs of the claimed law have the law's privacy.
    """
    for pair in subject.neighbours:
        first, second = subject.datasets[pair.first], subject.datasets[pair.second]
        columns: Any
        laws: tuple[DiscreteLaw, DiscreteLaw]
        if first.view is not None and second.view is not None:
            name, columns, laws = "the view", first.view[0], (first.view[1], second.view[1])
        elif 0 in first.laws and 0 in second.laws:
            name, columns, laws = "the estimate", 0, (first.laws[0][1], second.laws[0][1])
        else:
            continue
        try:
            events = likelihood_ratio_events(*laws, claim.epsilon, trials)
        except ValueError:
            continue  # the same law for both: nothing to tell them apart by
        # The bets are those that see the asked fault first; bets on a larger one would see that one sooner.
        asked = detect * max(claim.epsilon, 0.1)
        bets = kelly_bets(events, claim.epsilon, claim.delta, claim.epsilon + asked)
        faults = [claim.epsilon + asked * 2**doubling for doubling in range(7)]
        shown = (fault for fault in faults if _betting_power(bets, fault, trials, level, rng) >= _PLANNED_POWER)
        where = f"{name}, {first.name} against {second.name}"
        yield _Privacy(where, (pair.first, pair.second), columns, bets, next(shown, faults[0]), level)


def audit_anytime(subject: Subject, claim: Budget | None, **options: Unpack[AuditKeywords]) -> AnytimeReport:
    """Audit an implementation block by block, and stop as soon as it is refuted.

    It tests what the outputs show; whether the parameters' exact law keeps the claim is computed, not sampled, by
    `dpverify.planning.account.account`.

    - subject: The implementation, with discrete laws.
    - claim: No privacy test when omitted.
    - **options: The fields of `dpverify.audit.options.AuditOptions`: after `trials` runs per dataset it stops in any
      case; a look comes after every `block_size`, 250 by default, and so does `progress(draws, trials)`. `detect` in
      (0, 1) is as in `dpverify.audit.engine.audit`; for privacy doubled until so many trials show it. A claim about
      events too rare for that stays undecided.

    Returns: After Ctrl-C that of the finished blocks, with the power of so many draws. Raises KeyboardInterrupt: Only
    before the first block is finished.
    """
    options.setdefault("block_size", 250)
    how = AuditOptions(**options)
    level, trials, detect = how.level, how.trials, how.detect
    check_real("detect", detect, low=0.0, high=1.0, low_open=True, high_open=True)
    rng = block_generator(how.seed, _POWER_STREAM, 0)
    tests: list[_Conformance | _Privacy] = [
        _Conformance(place, dataset, column, trials, detect)
        for place, dataset in enumerate(subject.datasets)
        for column in dataset.laws
    ]
    if not tests:
        raise ValueError(f"{subject.name} has no discrete law, which an anytime audit needs.")
    if claim is not None:
        each = level / (len(tests) + len(subject.neighbours))
        tests += _privacy(subject, claim, trials, each, detect, rng)
    each = level / len(tests)  # what Holm's first step gives each test
    outputs: Outputs = []
    rows: list[Mapping[str, float]] = []
    interrupted = False
    drawn = replace(how, progress=None).rounds(subject.target, [dataset.inputs for dataset in subject.datasets])
    try:
        with closing(drawn):
            for block in drawn:
                blocks = [array.reshape(len(array), -1) for array in block]
                outputs = [np.concatenate(both) for both in zip(outputs, blocks, strict=True)] if outputs else blocks
                evidence = {test.check: min(test.update(outputs), np.finfo(float).max) for test in tests}
                rows.append({"draws": len(outputs[0]), **evidence})
                if how.progress is not None:
                    how.progress(len(outputs[0]), trials)
                if max(evidence.values()) >= -math.log(each):
                    break
    except KeyboardInterrupt:
        if not rows:
            raise
        interrupted = True
    results = [test.result(outputs, each, rng) for test in tests]
    return AnytimeReport(
        subject.name,
        stated(claim),
        decide(results, level, power=POWER),
        level,
        len(outputs[0]),
        how.seed,
        evidence_rows=tuple(rows),
        interrupted=interrupted,
    )
