"""One audit: run the trials, test everything that is known of the outputs, and decide over all tests together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, Unpack

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.options import AuditKeywords, AuditOptions
from dpverify.audit.outcome import AuditReport
from dpverify.audit.runner import block_generator
from dpverify.audit.subject import Dataset, Messages, Neighbours, Subject, narrowed
from dpverify.audit.target import TargetError, happened
from dpverify.claims.registry import Group, registered
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.conformance import choose_bins, g_test
from dpverify.statistics.events import likelihood_ratio_events, searched_events
from dpverify.statistics.family import AuditResult, decide
from dpverify.statistics.loss import LossLaw
from dpverify.statistics.lower_bound import privacy_test
from dpverify.statistics.power import g_test_power, trials_for
from dpverify.statistics.structure import (
    StructureCheck,
    common_randomness,
    message_count,
    message_order,
    repeated_outputs,
)
from protocols.validation import check_real

__all__ = ["POWER", "AuditTest", "audit", "trials_needed"]

POWER = 0.95
"""The power that a fault of the asked size must be caught with for a pass to be called consistent."""

_ORDER_RUNS = 30
_USER_RUNS = 120
_CONTROL = 499
"""Permutations of a positive control, which must exceed them all: it shows an effect, so precision is not needed."""
_CONTROL_LEVEL = 3.0 / (_CONTROL + 1)
_STREAM = 2**32
"""Where the generators of the checks begin, behind those of any dataset."""


def trials_needed(law: DiscreteLaw, share: float, level: float, *, power: float = POWER) -> int | None:
    """Return how many trials show a standard deviation smaller by a share, with the G-test at this level.

    An estimate; None if no number up to 10^9 does, or the law is constant.
    """
    other = narrowed(law, share)
    if other is None:
        return None

    def power_at(trials: int) -> float:
        bins = choose_bins(law, trials)
        return g_test_power(bins.probabilities, bins.probabilities_under(other[0]), trials, level)

    return trials_for(power_at, power)


def audit(
    subject: Subject,
    *,
    claim: tuple[float, float] | None = None,
    beforehand: Sequence[AuditResult] = (),
    **options: Unpack[AuditKeywords],
) -> AuditReport:
    """Audit an implementation.

    Parameters
    ----------
    subject : Subject
        The implementation, its datasets and their exact laws.
    claim : (float, float), optional
        epsilon and delta that hold for every pair of neighbours; no privacy test when omitted.
    beforehand : sequence of AuditResult
        Results known without trials, which join the family.
    **options
        The fields of `dpverify.audit.options.AuditOptions`; `detect` in (0, 1) is in standard deviation for
        conformance, in epsilon for privacy.

    Raises
    ------
    TargetError
        If the target fails.
    CheckpointError
        See `run`.
    """
    how = AuditOptions(**options)
    level, detect, seed = how.level, how.detect, how.seed
    check_real("detect", detect, low=0.0, high=1.0, low_open=True, high_open=True)
    drawn = how.draw(subject.target, [dataset.inputs for dataset in subject.datasets])
    outputs = [columns.reshape(how.trials, -1) for columns in drawn]
    # Each test has a level of its own; Holm's first step gives each at least this.
    laws = [(dataset, column) for dataset in subject.datasets for column in dataset.laws]
    further: Mapping[str, AuditTest] = registered(Group.AUDIT_TESTS)
    tests = len(beforehand) + 2 * len(laws) + 4 + 4 * len(subject.neighbours) + len(further) * len(subject.datasets)
    each = level / tests
    generators = (block_generator(seed, _STREAM, index) for index in itertools.count())
    results = list(beforehand)
    for dataset, columns in zip(subject.datasets, outputs, strict=True):
        results += _conformance(dataset, columns, generators, each, detect)
    results += _repeated(subject.datasets, outputs, how.block_size, each)
    if claim is not None:
        for pair in subject.neighbours:
            results += _privacy(subject.datasets, pair, outputs, claim, generators, each, detect)
    if subject.messages is not None:
        results += _structure(subject.messages, generators, each)
    for test in further.values():
        for dataset, columns in zip(subject.datasets, outputs, strict=True):
            results += test(dataset, columns, next(generators), level=each, detect=detect)
    return AuditReport(
        subject.name,
        None if claim is None else {"epsilon": claim[0], "delta": claim[1]},
        decide(results, level, power=POWER),
        level,
        how.trials,
        seed,
        tuple(_loss_rows(subject, outputs, level)),
    )


class AuditTest(Protocol):
    """What a package may add to every audit, in the entry points `dpverify.audit_tests`."""

    def __call__(
        self, dataset: Dataset, outputs: NDArray[np.float64], rng: np.random.Generator, *, level: float, detect: float
    ) -> Sequence[AuditResult]:
        """Return results on the outputs of one dataset, shape (trials, columns), each with a valid p-value.

        Parameters
        ----------
        dataset : Dataset
            Its inputs, and the exact laws of the columns.
        outputs : ndarray, shape (trials, columns)
            What the target returned.
        rng : numpy.random.Generator
            Of the test's own randomness.
        level : float
            What the p-value must be able to fall below: about the level of one test.
        detect : float
            The relative size of the fault to state the power against.
        """
        ...


Generators = Iterator[np.random.Generator]


def _conformance(
    dataset: Dataset, outputs: NDArray[np.float64], generators: Generators, level: float, detect: float
) -> list[AuditResult]:
    return [
        _conforms(f"conformance of {name}, {dataset.name}", law, outputs[:, column], next(generators), level, detect)
        for column, (name, law) in dataset.laws.items()
    ]


def _conforms(
    check: str, law: DiscreteLaw, sample: NDArray[Any], rng: np.random.Generator, level: float, detect: float
) -> AuditResult:
    bins = choose_bins(law, len(sample))
    result = g_test(sample, bins, rng, simulations=int(3.0 / level), check=check)
    other = narrowed(law, detect)
    if other is None:
        return _with(result, "an outcome other than the only one", 1.0)
    power = g_test_power(bins.probabilities, bins.probabilities_under(other[0]), len(sample), level)
    found = sample.mean() - law.mean, sample.std() / law.variance**0.5
    evidence = f"{result.evidence}; mean off by {found[0]:.3g}, standard deviation {found[1]:.4g} times the claimed"
    return _with(result, other[1], power, evidence)


def _with(result: AuditResult, fault: str, power: float, evidence: str | None = None) -> AuditResult:
    return AuditResult(
        result.check,
        result.p_value,
        result.trials,
        result.method,
        result.evidence if evidence is None else evidence,
        fault,
        min(1.0, power),
        details=result.details,
    )


def _repeated(
    datasets: Sequence[Dataset], outputs: Sequence[NDArray[np.float64]], block_size: int, level: float
) -> list[AuditResult]:
    """Compare consecutive runs, and the first runs of all blocks with those of the first block."""
    known = [(dataset, columns) for dataset, columns in zip(datasets, outputs, strict=True) if 0 in dataset.laws]
    results = []
    for dataset, columns in known[:1]:
        law = dataset.laws[0][1]
        collision = min(1.0, float(law.pmf @ law.pmf) + law.outside)
        pairs = len(columns) // 2
        whole = [columns[start : start + block_size] for start in range(0, len(columns), block_size)]
        halves = [(a, b) for a, b in itertools.pairwise(whole) if len(a) == len(b)][::2]
        runs = [("consecutive runs", columns[: 2 * pairs : 2], columns[1 : 2 * pairs : 2])]
        if halves:
            first, second = (np.concatenate(side) for side in zip(*halves, strict=True))
            runs.append(("runs of two blocks", first, second))
        for name, first, second in runs:
            control = repeated_outputs(first, first, collision)
            check = repeated_outputs(first, second, collision)
            if collision < 1.0:
                results.append(_result(check, control, len(first), level, name, "the same randomness in both"))
    return results


def _result(
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


def _privacy(
    datasets: Sequence[Dataset],
    pair: Neighbours,
    outputs: Sequence[NDArray[np.float64]],
    claim: tuple[float, float],
    generators: Generators,
    level: float,
    detect: float,
) -> list[AuditResult]:
    epsilon, delta = claim
    first, second = datasets[pair.first], datasets[pair.second]
    samples = outputs[pair.first], outputs[pair.second]
    results = []
    for name, columns, laws in _observed(first, second) or [("the output", 0, None)]:
        a, b = (sample[:, columns] for sample in samples)
        try:
            if laws is None:
                half = len(a) // 2
                # Events look for outputs that are larger on the first dataset, so it must be the larger one.
                if a[:half].mean() < b[:half].mean():
                    a, b = -a, -b
                (events,) = searched_events(a[:half], b[:half], epsilon, delta)
                a, b = a[half:], b[half:]
            else:
                events = likelihood_ratio_events(*laws, epsilon, len(a))
        except ValueError:
            continue  # the same law for both: nothing to tell them apart by
        result = privacy_test(
            a,
            b,
            events,
            [claim],
            level=level,
            fault_epsilon=(1.0 + detect) * epsilon,
            power=POWER,
            check=f"privacy of {name}, {first.name} against {second.name}",
        )
        if laws is not None:
            where = f"privacy loss of {name}, {first.name} against {second.name}"
            results.append(_loss_conforms(where, LossLaw(*laws), a, next(generators), level, detect))
        smallest = result.details["smallest_detectable_epsilon"]
        if laws is None:
            results.append(result)
        elif smallest is not None:
            # Conformance answers for what is smaller: outputs of the claimed law have the claimed privacy.
            results.append(_with(result, f"epsilon {smallest:.4g} at delta {delta:.3g}", POWER))
    return results


def _loss_conforms(
    check: str, loss: LossLaw, sample: NDArray[Any], rng: np.random.Generator, level: float, detect: float
) -> AuditResult:
    """Test the distribution of the privacy loss, with the power against a finite loss that varies less."""
    bins = loss.bins(len(sample))
    result = g_test(sample, bins, rng, simulations=int(3.0 / level), check=check)
    finite = np.isfinite(loss.losses)
    mass = loss.first.pmf[finite]
    own = DiscreteLaw.of(loss.losses[finite], mass, min(1.0, max(0.0, 1.0 - float(mass.sum()))))
    other = narrowed(own, detect)
    if other is None:
        return _with(result, "a loss other than the only one", 1.0)
    weights = np.ones(loss.first.atoms)
    weights[finite] = other[0].probabilities(loss.losses[finite]) / own.probabilities(loss.losses[finite])
    masses = loss.first.pmf * weights
    alternative = DiscreteLaw.of(loss.first.points, masses / masses.sum())
    power = g_test_power(bins.probabilities, bins.probabilities_under(alternative), len(sample), level)
    return _with(result, f"loss with {other[1]}", power)


def _observed(first: Dataset, second: Dataset) -> list[tuple[str, Any, tuple[DiscreteLaw, DiscreteLaw] | None]]:
    """Return what the claim is tested on, as (name, columns, laws): the view if its law is known, else each column."""
    if first.view is not None and second.view is not None:
        return [("the view", first.view[0], (first.view[1], second.view[1]))]
    common = [column for column in first.laws if column in second.laws]
    return [(first.laws[at][0], at, (first.laws[at][1], second.laws[at][1])) for at in common]


def _loss_rows(subject: Subject, outputs: Sequence[NDArray[np.float64]], level: float) -> Iterator[Mapping[str, float]]:
    for pair in subject.neighbours[:1]:
        for _, columns, laws in _observed(subject.datasets[pair.first], subject.datasets[pair.second])[:1]:
            if laws is not None:
                rows = LossLaw(*laws).rows(outputs[pair.first][:, columns], level)
                yield from (row for row in rows if math.isfinite(row["loss"]))


def _structure(messages: Messages, generators: Generators, level: float) -> list[AuditResult]:
    permutations = int(3.5 / level)  # three statistics each
    rng = next(generators)
    try:
        sent = [messages.sent(messages.quiet.copy(), rng) for _ in range(_USER_RUNS)]
        arrived = [np.asarray(messages.arrived(messages.inputs.copy(), rng)) for _ in range(_ORDER_RUNS)]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise TargetError(f"target {happened(error, when='while its messages were watched')}") from error
    users = len(messages.quiet)
    totals = np.stack([np.bincount(senders, minlength=users) for _, senders in sent])
    pieces = np.stack([np.bincount(who[symbols == messages.symbol], minlength=users) for symbols, who in sent])
    results = []
    if messages.fewest > 0 or messages.most < np.inf:
        check = message_count(totals, messages.fewest, messages.most)
        results.append(_result(check, None, _USER_RUNS, level, "per user", "a user who sends another number"))
    if any(np.unique(sequence).size > 1 for sequence in arrived):
        control = message_order([np.sort(sequence) for sequence in arrived], rng, permutations=_CONTROL)
        check = message_order(arrived, rng, permutations=permutations)
        results.append(_result(check, control, _ORDER_RUNS, level, "after the shuffler", "messages sorted by symbol"))
    if users > 1:
        shared = np.repeat(pieces[:, :1], users, axis=1)
        control = common_randomness(shared, rng, permutations=_CONTROL)
        check = common_randomness(pieces, rng, permutations=permutations)
        results.append(_result(check, control, _USER_RUNS, level, "between users", "one generator for all users"))
    if messages.piece is not None:
        # One user per run at random would waste the others; they are independent if the check before holds.
        piece = _conforms("pieces of single users", messages.piece, pieces.ravel(), rng, level, 0.5)
        results.append(piece)
    return results
