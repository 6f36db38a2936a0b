"""One audit: run the trials, test everything that is known of the outputs, and decide over all tests together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.black_boxes.examined import Examination
from dpverify.audit.black_boxes.tried import held_out, least_sure
from dpverify.audit.limits import Look, scope
from dpverify.audit.options import AuditKeywords, AuditOptions, batched
from dpverify.audit.outcome import AuditReport, stated
from dpverify.audit.results import (
    POWER,
    SURE,
    Generators,
    checked,
    claimed,
    conforms,
    further_results,
    further_tests,
    independent,
    with_fault,
)
from dpverify.audit.running.calls import COMPARED, Calls
from dpverify.audit.running.counted import CountedDataset, CountedOutputs, CountedPair
from dpverify.audit.running.packed import PackedOutputs
from dpverify.audit.running.runner import block_generator
from dpverify.audit.running.watching import WATCHED, watched
from dpverify.audit.subject import Dataset, Subject, narrowed
from dpverify.digits import rounded
from dpverify.guarantee import Budget
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.tally import Tally
from dpverify.planning.account import account
from dpverify.statistics.conformance import g_test
from dpverify.statistics.family import AuditResult, Verdict, decide
from dpverify.statistics.loss import LossLaw
from dpverify.statistics.order.dependence import serial_dependence, share_equal, smallest_replay
from dpverify.statistics.order.structure import repeated_outputs
from dpverify.statistics.power import g_test_power, least_other
from protocols.validation import check_real

__all__ = ["audit"]

_LARGER = 3.0
"""How much larger the fault is that the coordinates' product shows."""
_ROUNDED = 1e-8
"""Relative to the largest outcome: what is farther from any is one that the law has not, and tested as such."""
_DIGITS = 8
"""Columns whose lowest digits are looked at."""
_OWN_DELTA = Fraction(1, 100)
"""Where nothing is claimed the parameters' own epsilon at this delta is what digits are held against."""
_LIGHT = 0.25
"""The weight of tests without the law: they find gross faults, and what finds small ones should not pay for them."""
_STREAM = 2**32
"""Where the generators of the checks begin, behind those of any dataset."""


def audit(
    subject: Subject,
    claim: Budget | None = None,
    *,
    beforehand: Sequence[AuditResult] = (),
    **options: Unpack[AuditKeywords],
) -> AuditReport:
    """Audit an implementation.

    - subject: The implementation, its datasets and their exact laws.
    - claim: What holds for every pair of neighbours; no privacy test when omitted.
    - beforehand: Results known without trials, which join the family.
    - **options: The fields of `dpverify.audit.options.AuditOptions`; `detect` in (0, 1) is in standard deviation for
      conformance, in epsilon for privacy.

    Raises TargetError if the target fails. Raises CheckpointError: See `run`.
    """
    how = AuditOptions(**options)
    level, detect, seed = how.level, how.detect, how.seed
    check_real("detect", detect, low=0.0, high=1.0, low_open=True, high_open=True)
    further = further_tests()
    seen = CountedOutputs(subject, None if claim is None else claim.epsilon, how.trials, all_kept=bool(further))
    with closing(how.rounds(subject.target, [dataset.inputs for dataset in subject.datasets])) as drawn:
        for outputs in batched(drawn):
            seen.update(outputs)
    # Each test has a level of its own; claims are tested at it, and Holm's first step gives the others at least this.
    laws = [(dataset, column) for dataset in subject.datasets for column in dataset.laws]
    tests = (
        len(beforehand)
        + 2 * len(laws)
        + 1
        + (WATCHED if subject.messages is not None else 0)
        + (1 + _LIGHT * Calls.TESTS) * len(subject.datasets)
        + sum(dataset.view is not None for dataset in subject.datasets)
        + 3 * sum(dataset.independent is not None for dataset in subject.datasets)
        + 4 * sum(len(compared) for _, compared in seen.pairs)
        + 1
        + len(further) * len(subject.datasets)
    )
    each = level / tests
    generators = (block_generator(seed, _STREAM, index) for index in itertools.count())
    results = list(beforehand)
    refuted = set()  # datasets whose outputs, one by one, are not of the claimed law
    for counted in seen.datasets:
        held = list(_conformance(counted, generators, each, detect))
        results += held
        if any(result.p_value <= each for result in held):
            refuted.add(counted.dataset.name)
        if counted.independent is not None:
            results += independent(counted.independent, counted.dataset.name, each)
    results += _dependence(subject.datasets, seen.kept, how.block_size, each, seed, refuted)
    if claim is not None:
        for pair, compared in seen.pairs:
            where = f"{subject.datasets[pair.first].name} against {subject.datasets[pair.second].name}"
            losses = pair.columns is None  # else they are a column, whose own law is tested
            results += _privacy(where, compared, claim, generators, each, detect, losses)
    results += _lowest_digits(subject, seen.kept, claim, each, how)
    if subject.messages is not None:
        results += watched(subject.messages, next(generators), how.trials, each)
    results += further_results(subject.datasets, seen.kept, slice(None), generators, each, detect)
    decided = decide(results, level, power=POWER)
    violated = any(result.verdict is Verdict.VIOLATES for result in decided)
    return AuditReport(
        subject.name,
        stated(claim),
        decided,
        level,
        how.trials,
        seed,
        tuple(_loss_rows(seen, level)),
        limits=scope(subject, decided, how.trials, [*_guesses(seen), *_errors(seen)]),
        diagnosis=(
            *(sentence for result in decided if (sentence := result.details.get("diagnosis"))),
            *(subject.diagnose(seen.kept) if violated and subject.diagnose is not None else ()),
        ),
    )


def _conformance(counted: CountedDataset, generators: Generators, level: float, detect: float) -> Iterator[AuditResult]:
    """Hold each column against its law, one at a time, and the product of the view's columns."""
    name = counted.dataset.name
    for column, tally in counted.columns.items():
        check = f"conformance of {counted.dataset.laws[column][0]}, {name}"
        yield conforms(check, tally.law, tally, next(generators), level, detect)
    if counted.product is not None:
        check = f"columns of the view together, {name}"
        # A product has heavier tails than what it is of: it answers for a larger fault.
        larger = min(0.9, _LARGER * detect)
        yield conforms(check, counted.product.law, counted.product, next(generators), level, larger)


def _dependence(
    datasets: Sequence[Dataset], outputs: PackedOutputs, block_size: int, level: float, seed: int, refuted: set[str]
) -> list[AuditResult]:
    """Compare the first runs of each dataset at many lags and times, and of the first one those of two blocks.

    Where single outputs have been `refuted`, a wrong law of theirs is not reported as dependence too.
    """
    results: list[AuditResult] = []
    for place in [place for place, dataset in enumerate(datasets) if dataset.laws]:
        dataset, columns = datasets[place], outputs.part(place, slice(None), COMPARED)  # one dataset at a time
        calls = Calls(dataset.name, seed, 0)
        calls.update(columns)
        results += (replace(result, weight=_LIGHT) for result in calls.results(_LIGHT * level))
        column = min(dataset.laws, key=lambda each: dataset.laws[each][1].collision)  # what repeats least shows most
        where: int | slice = column
        law = dataset.laws[column][1]
        if dataset.view is not None:
            where, law = dataset.view
        collision = law.collision
        compared = columns[:, where]
        smallest = smallest_replay(law, len(compared), level)
        if collision >= 1.0 or (smallest is None and collision > SURE):
            continue
        check = serial_dependence(compared, law, refuted=dataset.name in refuted)
        results.append(
            AuditResult(
                f"{check.name}, {dataset.name}",
                check.p_value,
                len(compared),
                "binomial tails of disjoint pairs, union bound over lags; exact level",
                check.evidence,
                "the same randomness in all runs"
                if smallest is None
                else f"{rounded(100 * smallest, 2)} % of runs that repeat an earlier one's randomness",
                0.0 if smallest is None else POWER,
            )
        )
        if place:
            continue
        whole = [columns[start : start + block_size, where] for start in range(0, len(columns), block_size)]
        halves = [(a, b) for a, b in itertools.pairwise(whole) if len(a) == len(b)][::2]
        if halves:
            first, second = (np.concatenate(side) for side in zip(*halves, strict=True))
            own = share_equal(law.index(compared))
            if dataset.name in refuted and own < 1.0:
                collision = max(collision, own)
            control = repeated_outputs(first, first, collision)
            found = repeated_outputs(first, second, collision)
            fault = "the same randomness in both"
            results.append(checked(found, control, len(first), level, "runs of two blocks", fault))
    return results


def _privacy(
    where: str,
    compared: Sequence[CountedPair],
    claim: Budget,
    generators: Generators,
    level: float,
    detect: float,
    losses: bool,
) -> Iterator[AuditResult]:
    for one in compared:
        if one.counts is None:
            continue
        if losses:
            loss = f"privacy loss of {one.name}, {where}"
            yield _loss_conforms(loss, LossLaw(*one.laws), one.tallies[0], next(generators), level, detect)
        yield from claimed(f"privacy of {one.name}, {where}", one.counts, claim, level)


def _loss_conforms(
    check: str, loss: LossLaw, tally: Tally, rng: np.random.Generator, level: float, detect: float
) -> AuditResult:
    """Test the distribution of the privacy loss, with the power against a finite loss that varies less."""
    bins = loss.bins(tally.trials)
    result = g_test(tally, bins, rng, simulations=int(3.0 / level), check=check)
    finite = np.isfinite(loss.losses)
    if not finite.any():
        return with_fault(result, "a loss that is finite", 1.0)
    mass = loss.first.pmf[finite]
    own = DiscreteLaw.of(loss.losses[finite], mass, min(1.0, max(0.0, 1.0 - float(mass.sum()))))
    other = narrowed(own, detect)
    if other is None:
        return with_fault(result, "any loss but the law's only one", 1.0)
    weights = np.ones(loss.first.atoms)
    weights[finite] = other[0].probabilities(loss.losses[finite]) / own.probabilities(loss.losses[finite])
    masses = loss.first.pmf * weights
    alternative = DiscreteLaw.of(loss.first.points, masses / masses.sum())
    fault = f"loss with {other[1]}"
    power = g_test_power(bins.probabilities, bins.probabilities_under(alternative), tally.trials, level)
    if power < POWER and float(bins.probabilities.max()) > SURE:
        least = least_other(bins.probabilities, tally.trials, level, POWER)
        if least is not None:
            fault, power = f"another loss than the likeliest in {rounded(100 * least, 2)} % of the runs more", POWER
    return with_fault(result, fault, power)


def _lowest_digits(
    subject: Subject, kept: PackedOutputs, claim: Budget | None, level: float, how: AuditOptions
) -> Iterator[AuditResult]:
    """Hold what is left of numbers, less the nearest outcome of their law, against the claim: digits that no law sees.

    A correct analyzer leaves the rounding of its last steps. That is no law's, but whatever it is, the claim holds for
    it, and events of it are learned, chosen and tested on outputs of their own.
    """
    check, pairs, trials = "lowest digits", subject.neighbours, min(how.trials, COMPARED)
    known = any(dataset.laws for dataset in subject.datasets)
    if not pairs or not known or (claim is None and subject.reference is None):
        return
    fault = "digits that tell the input in every run"
    if claim is not None:
        least = least_sure(trials, held_out(trials), claim.epsilon, claim.delta, level / len(pairs))
        if least is None:
            return  # too few runs for any
        fault = f"digits of one input alone in {rounded(100.0 * least, 2)} % of the runs"
    method = "events learned and chosen on other outputs"
    result = AuditResult(check, 1.0, trials, method, "no digit differs", fault, POWER, level=level)
    for pair in pairs:
        laws = [subject.datasets[place].laws for place in (pair.first, pair.second)]
        columns = {raw: at for raw, at in (subject.digits or {at: at for at in laws[0]}).items() if at in laws[1]}
        columns = {raw: at for raw, at in columns.items() if all(law[at][1].points.ndim == 1 for law in laws)}
        left = [
            np.column_stack(
                [_left(kept.part(place, raw, COMPARED), [law[at][1] for law in laws]) for raw, at in chosen]
            )
            for place in (pair.first, pair.second)
            if (chosen := list(columns.items())[:_DIGITS])
        ]
        if not any(rows.any() for rows in left):
            continue
        budget = claim if claim is not None else _own(subject.reference)
        if budget is None:
            continue
        examined = Examination(
            len(left[0]),
            epsilon=budget.epsilon,
            delta=budget.delta,
            level=level / len(pairs),
            upper=1.0 - POWER,
            detect=how.detect,
            seed=how.seed,
            check=check,
        )
        examined.update(left[0], left[1])
        found = examined.result().result
        if found.p_value * len(pairs) < result.p_value:
            where = " against ".join(subject.datasets[place].name for place in (pair.first, pair.second))
            evidence = f"{found.evidence}, {where}"
            result = replace(result, p_value=found.p_value * len(pairs), method=found.method, evidence=evidence)
    yield result


def _left(values: NDArray[np.float64], laws: Sequence[DiscreteLaw]) -> NDArray[np.float64]:
    """Return what is left of numbers, less the nearest outcome of either law; 0 of those that are far from any."""
    points = np.union1d(*(law.points.astype(np.float64) for law in laws))
    near = points[np.searchsorted((points[1:] + points[:-1]) / 2.0, values)]
    left = values - near
    return np.where(np.abs(left) <= _ROUNDED * max(1e-300, float(np.abs(points).max())), left, 0.0)


def _own(reference: object) -> Budget | None:
    """Return what the parameters keep by their exact law; None if that is not known."""
    if reference is None:
        return None
    with suppress(ValueError, TypeError):
        return Budget(account(reference, instances=1, delta=_OWN_DELTA).epsilon.upper, _OWN_DELTA)
    return None


def _guesses(seen: CountedOutputs) -> Iterator[Look]:
    for pair, compared in seen.pairs:
        for one in compared:
            exact, here = (100.0 * share for share in one.guessed)
            where = f"{seen.datasets[pair.first].dataset.name} against {seen.datasets[pair.second].dataset.name}"
            yield Look(
                "membership",
                f"by the likelihood ratio of {one.name}, {where}: right in {here:.1f} % of the runs, {exact:.1f} % by "
                "the laws",
            )


def _errors(seen: CountedOutputs) -> Iterator[Look]:
    for counted in seen.datasets:
        estimated = [(counted.columns[column], truth) for column, truth in counted.dataset.truths.items()]
        if estimated:
            here = max(math.hypot(tally.deviation, tally.mean - truth) for tally, truth in estimated)
            exact = max(math.hypot(tally.law.variance**0.5, tally.law.mean - truth) for tally, truth in estimated)
            found = f"supRMSE {here:.4g} over {len(estimated)} queries, {exact:.4g} by the laws"
            yield Look("errors", f"{counted.dataset.name}: {found}")


def _loss_rows(seen: CountedOutputs, level: float) -> Iterator[Mapping[str, float]]:
    for _, compared in seen.pairs[:1]:
        for one in compared[:1]:
            rows = LossLaw(*one.laws).rows(one.tallies[0], level)
            yield from (row for row in rows if math.isfinite(row["loss"]))
