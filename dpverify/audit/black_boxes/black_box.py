"""Audits of mechanisms whose law is not known, on pairs of inputs: what their outputs show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.black_boxes.examined import Examined
from dpverify.audit.black_boxes.inspected import LEVEL_SHARE, Inspected
from dpverify.audit.black_boxes.looks import GROWING, Looks
from dpverify.audit.black_boxes.mechanism_report import MechanismReport
from dpverify.audit.black_boxes.neighbours import InputPair, InputPairs, input_pairs
from dpverify.audit.black_boxes.own_terms import Claimed, points_of
from dpverify.audit.black_boxes.sequential import StagedBets
from dpverify.audit.limits import ELSEWHERE, Limits, Look
from dpverify.audit.options import AuditKeywords, AuditOptions
from dpverify.audit.outcome import stated
from dpverify.audit.results import POWER
from dpverify.audit.running.outputs import Raising, RowTarget, Samplers
from dpverify.audit.running.runner import Trials, run
from dpverify.audit.running.target import Runnable, Target, target_of
from dpverify.digits import typed, unrounded
from dpverify.guarantee import Budget, BudgetLike
from dpverify.statistics.bounds.claims import CurveClaim
from dpverify.statistics.family import AuditResult, Verdict, decide
from dpverify.statistics.outputs.aspects import numeric_aspects
from dpverify.statistics.outputs.events import classifier_score
from dpverify.statistics.outputs.learned import FEW_KINDS, kinds_of
from protocols.validation import check_probability, check_real

__all__ = ["audit_mechanism"]

_ORDERS = (2.0, 4.0, 8.0, 16.0)
_PROBED = 50
"""Runs on each input that show how many numbers an output holds."""
_LOWEST_BITS = "the lowest bit"
_LOOKED_AT = (
    "whole outputs: exact values, signs, lowest bits of floats, residues, fractions, parities and pairs of columns, "
    "tails, histograms, a linear discriminant and, of more than 64 kinds of outputs, a classifier"
)

_SAMPLED = (InputPair("the first sampler against the second", np.array([0]), np.array([1])),)


def audit_mechanism(
    target: Runnable | tuple[Runnable, Runnable],
    claim: BudgetLike | CurveClaim | None,
    inputs: InputPairs | None = None,
    *,
    delta: float = 0.0,
    resolution: float | None = None,
    exceptions: bool = False,
    anytime: bool = False,
    inside: bool = False,
    **options: Unpack[AuditKeywords],
) -> MechanismReport:
    """Audit a mechanism whose law is not known, on neighbouring inputs, or as two samplers.

    Of the outputs on each input an eighth teaches what tells the two apart, an eighth chooses events, and the rest
    tests the claim on these. What is refuted is refuted for certain but for `level`. A pass excludes, with at least the
    confidence 0.95, that an event tried shows `(1 + detect) epsilon` at the claimed delta; at delta = 0 but for events
    too rare to tell. Which epsilon at that delta, and which delta at the claimed epsilon, are excluded is stated; about
    other events, and other inputs, no test of a black box says anything. For delta > 0 this takes many trials, 5
    million for Gaussian noise that attains (1, 1e-3): fewer are undecided.

    Parameters
    ----------
    target : Target, callable or str
        `function(inputs, rng)` returns an output of any kind: a number, a vector, a string, a tuple. Runs must be
        independent. Or two samplers, `function(rng)`: the first draws outputs on an input, the second on its neighbour.
    claim : Budget, (epsilon, delta) or CurveClaim, optional
        What is claimed for every pair; None only measures. A `GaussianDP`, `ConcentratedDP`, `RenyiDP` or
        `TradeOffCurve` is tested at all of its (epsilon, delta), at no further price, and a pass is told in its unit.
    inputs : (array_like, array_like) or sequence of InputPair
        Omitted with two samplers. Two neighbouring inputs that differ, of any shape, or pairs to search, for instance
        of `dpverify.audit.black_boxes.neighbours.neighbouring_inputs`. All pairs share the error probability.
    delta : float
        In [0, 1), at which epsilon is measured where no (epsilon, delta) is claimed.
    resolution : float, optional
        Positive: numbers, wherever they are in an output, are rounded to its multiples before it is looked at. Noise in
        floating point shows the input in the lowest bits; with this the audit looks past them, and says so.
    exceptions : bool
        Whether an exception is an output like others, of which the type is seen; if not, the first ends the audit.
    anytime : bool
        Whether to bet against the claim while outputs are drawn, and to stop as soon as it is refuted: after few draws
        for a gross fault, after `trials` in any case.
    inside : bool
        Whether to look inside first, for some seconds: what the target draws is recorded, and replayed on the other
        input. What is wrong with it, `dpverify.audit.inside.findings.Finding`, comes with the line that drew; if it
        refutes the claim, nothing else is run.
    **options
        `trials`, `level`, `detect`, `seed`, `workers`, ...: see `dpverify.audit.options.AuditOptions`. Without `trials`
        a claim is looked at after 5,000 outputs on each input, and after four times as many, again and again, until it
        is refuted or passes, or `seconds` would be over; all looks share `level`, and the confidence of what is stated.

    Returns
    -------
    MechanismReport
        `verdict`, `statement`, and between which epsilons the events that were tried are.

    Raises
    ------
    TargetError
        If the target raises, unless `exceptions`, takes too long or dies, or returns what is made of other things than
        numbers, strings, bytes, None, lists, tuples, sets, mappings and arrays.

    Examples
    --------
    >>> import numpy as np
    >>> neighbours = np.zeros(3), np.array([1.0, 0.0, 0.0])
    >>> report = audit_mechanism(lambda x, rng: x.sum() + rng.laplace(0, 0.5), (1, 0), neighbours, trials=4_000)
    >>> report.statement.startswith("Violates: privacy of the output")  # the noise's epsilon is 2
    True
    >>> report = audit_mechanism((lambda rng: rng.integers(2), lambda rng: rng.integers(3)), (1, 0), trials=2_000)
    >>> report.verdict.value  # only the second ever returns 2
    'violates'
    """
    how = AuditOptions(**options)
    claimed = claim if claim is None or isinstance(claim, CurveClaim) else Budget.of(claim, "claim")
    check_probability("delta", delta, high_open=True)
    if resolution is not None:
        check_real("resolution", resolution, low=0.0, low_open=True)
    if isinstance(target, tuple) == (inputs is not None):
        raise ValueError("inputs must be given for a mechanism, and omitted with two samplers.")
    given = Samplers.of(*target) if isinstance(target, tuple) else target_of(target)
    given = Raising.of(given) if exceptions else given
    pairs = _SAMPLED if inputs is None else input_pairs(inputs)
    at = claimed.delta if isinstance(claimed, Budget) else delta
    if anytime and claimed is None:
        raise ValueError("claim=None must be a claim with anytime=True: there is nothing to refute.")
    datasets, places = _distinct(pairs)
    inspected = Inspected.of(given, datasets, places, claimed, how) if inside else Inspected()
    if inspected.refutations:
        return _refuted(given, claimed, at, pairs, inspected.refutations, 0, how, (), inspected)
    read = RowTarget.of(given, _width(given, datasets, how), resolution)
    _check_learner(read, datasets, places, how)
    # Half of the level is for the bets, half for the test of all draws if the bets refute nothing.
    family_level = how.level * (1.0 - LEVEL_SHARE * inside) / (2.0 if anytime else 1.0)
    bets = None
    if anytime and claimed is not None:
        bets = StagedBets(places, points_of(claimed, at), level=family_level, detect=how.detect, seed=how.seed)
    sizes = (how.trials,) if "trials" in options or claimed is None else GROWING
    looks = Looks(pairs, places, datasets, claimed, at, how, family_level, sizes)
    until, report = replace(how, trials=sizes[-1], progress=looks.progress(how.progress)), None
    with closing(until.rounds(read, datasets)) as drawn:
        for trials in looks.at(drawn if bets is None else _until_refuted(drawn, bets)):
            if bets is not None and bets.refuted_after is not None:
                break
            report = _report(
                given, claimed, at, resolution, looks, replace(how, trials=trials), family_level, inspected
            )
            if looks.stands(report.verdict):
                break
    if bets is not None and bets.refuted_after is not None:
        result = _bet(bets, bets.refuted_after, claimed, at)
        return _refuted(given, claimed, at, pairs, [result], bets.refuted_after, how, _seen_in(bets.seen_in), inspected)
    assert report is not None
    asked = claimed is not None and report.verdict is Verdict.UNDECIDED
    return replace(report, trials_needed=looks.needed()) if asked else report


def _until_refuted(drawn: Iterable[list[NDArray[np.float64]]], bets: StagedBets) -> Iterator[list[NDArray[np.float64]]]:
    """Yield outputs until the bets on them have refuted the claim."""
    for outputs in drawn:
        if bets.update(outputs):
            return
        yield outputs


def _bet(bets: StagedBets, after: int, claimed: Claimed, delta: float) -> AuditResult:
    more = f"not {claimed}"
    if isinstance(claimed, Budget):
        more = f"epsilon > {unrounded(claimed.epsilon)} at delta {typed(delta)}"
    return AuditResult(
        "privacy of the output, anytime",
        2.0 * math.exp(-bets.log_wealth),
        after,
        "betting on events that earlier outputs have taught, anytime-valid",
        f"{more}, the claim; refuted after {after:,} outputs on each input",
        power=1.0,
    )


def _refuted(
    target: Target,
    claimed: Claimed,
    delta: float,
    pairs: Sequence[InputPair],
    results: Sequence[AuditResult],
    trials: int,
    how: AuditOptions,
    diagnosis: tuple[str, ...],
    inspected: Inspected,
) -> MechanismReport:
    """Return the report of an audit that has stopped early: nothing is known then but that the claim is wrong."""
    looks = [Look("inputs", "; ".join(pair.name for pair in pairs)), *inspected.looks]
    return MechanismReport(
        target.name or "target",
        stated(claimed),
        decide(results, how.level, power=POWER),
        how.level,
        trials,
        how.seed,
        limits=Limits((*looks, Look("outputs", _LOOKED_AT)) if trials else tuple(looks)),
        diagnosis=(*diagnosis, *inspected.hints),
        delta=delta,
        epsilon_lower=claimed.epsilon if isinstance(claimed, Budget) else 0.0,
        confidence=1.0 - how.level,
        findings=inspected.findings,
    )


def _report(
    target: Target,
    claimed: Claimed,
    delta: float,
    resolution: float | None,
    looks: Looks,
    how: AuditOptions,
    family_level: float,
    inspected: Inspected,
) -> MechanismReport:
    """Return the report of a look at all of its trials; the tests of all looks err with `family_level` at most."""
    found, rare, calls, further = looks.found(), looks.rare(), looks.calls(), looks.further()
    refuting = [one for one in rare if one.level is not None and one.p_value <= one.level]
    best = max(found, key=lambda one: (one.shown[0], one.epsilon_lower, -one.result.p_value))
    return MechanismReport(
        target.name or "target",
        stated(claimed),
        decide([*(one.result for one in found), *rare, *looks.together(), *calls, *further], family_level, power=POWER),
        how.level,
        how.trials,
        how.seed,
        limits=_limits(looks, found, calls, further, how, resolution, inspected.looks),
        diagnosis=(
            *_diagnosis(best, looks.constant),
            *(f"A rare outcome tells the inputs apart, {one.details['rare']}" for one in refuting),
            *inspected.hints,
        ),
        delta=delta,
        epsilon_lower=max(
            [
                *(one.epsilon_lower for one in found),
                *(one.details["epsilon_lower"] for one in rare if one.details["delta"] >= delta),
            ]
        ),
        epsilon_upper=max(one.epsilon_upper for one in found),
        delta_upper=max(one.delta_upper for one in found),
        least_mass=max(one.least_mass for one in found),
        mu_lower=max(one.curve.mu() for one in found),
        renyi_lower={order: max(one.curve.renyi(order) for one in found) for order in _ORDERS},
        unit=claimed.unit if isinstance(claimed, CurveClaim) else "",
        shown_lower=max(best.shown[0], math.nextafter(claimed.claimed, math.inf))
        if refuting and isinstance(claimed, CurveClaim)
        else best.shown[0],
        shown_upper=max(one.shown[1] for one in found),
        confidence=looks.confidence,
        rarest=looks.rarest,
        tradeoff=best.band.rows(),
        findings=inspected.findings,
    )


def _distinct(pairs: Sequence[InputPair]) -> tuple[list[NDArray[Any]], list[tuple[int, int]]]:
    """Return all inputs, each once, and the places of every pair's."""
    seen: dict[tuple[str, tuple[int, ...], bytes], int] = {}
    datasets: list[NDArray[Any]] = []

    def place(inputs: NDArray[Any]) -> int:
        key = str(inputs.dtype), inputs.shape, inputs.tobytes()
        if key not in seen or inputs.dtype.hasobject:
            seen[key] = len(datasets)
            datasets.append(inputs)
        return seen[key]

    return datasets, [(place(pair.first), place(pair.second)) for pair in pairs]


def _width(target: Target, datasets: Sequence[NDArray[Any]], how: AuditOptions) -> int:
    """Return how many numbers an output holds at most, of a few on each input."""
    if target.shape:
        return math.prod(target.shape)
    probed = Trials(RowTarget.widths(target), datasets, min(_PROBED, how.trials), how.seed, _PROBED)
    widths = run(probed, executor=how.executor, timeout=how.timeout)
    return int(max(column.max() for column in widths))


def _check_learner(
    target: Target, datasets: Sequence[NDArray[Any]], places: Sequence[tuple[int, int]], how: AuditOptions
) -> None:
    """Raise MissingPackageError if what learns from outputs of many kinds is missing: before all of them are drawn."""
    with suppress(ModuleNotFoundError):
        if find_spec("sklearn") is not None:
            return
    trials = min(2 * FEW_KINDS, how.trials)
    drawn = run(Trials(target, datasets, trials, how.seed, trials), executor=how.executor, timeout=how.timeout)
    for first, second in ((drawn[one], drawn[other]) for one, other in places):
        if kinds_of(first, second) > FEW_KINDS and any(numeric_aspects(first, second)):
            classifier_score(first, second)


def _limits(
    looks: Looks,
    found: Sequence[Examined],
    calls: Sequence[AuditResult],
    further: Sequence[AuditResult],
    how: AuditOptions,
    resolution: float | None,
    inside: Sequence[Look],
) -> Limits:
    pairs = looks.pairs
    least = looks.rarest
    shown = max(found, key=lambda one: (one.epsilon_upper, one.shown[1])).result.fault
    tested = [
        Look("inputs", "; ".join(pair.name for pair in pairs)),
        Look("outputs", _LOOKED_AT, shown),
        *inside,
    ]
    if least < 1.0:
        tested.append(Look("tails", "outcomes that one of the inputs alone has", f"one of probability {least:.2g}"))
    tested += [Look("calls", fault) for fault in dict.fromkeys(result.fault for result in calls if result.fault)]
    tested += [Look(result.check, ELSEWHERE, result.fault) for result in further]
    missing = [
        "inputs other than these",
        "events that were not tried; no audit of a black box can exclude them",
        "what several calls show together, but for two in a row, repeated outputs and the sides of their medians",
    ]
    if least < 1.0:
        missing.append(f"outcomes rarer than {least:.2g}")
    if not any(result.check.startswith("repeated") for result in calls):
        missing.append("whether outputs are repeated: they are equal too often anyway")
    if how.trials > looks.compared:
        missing.append(f"what the calls after the first {looks.compared:,} on an input tell of each other")
    if resolution is not None:
        missing.append(f"what rounding to multiples of {resolution:g} hides, such as the lowest bits of floats")
    return Limits(tuple(tested), tuple(missing))


def _seen_in(name: str) -> tuple[str, ...]:
    if not name:
        return ()
    found = f"The outputs on the two inputs differ most in {name}"
    if _LOWEST_BITS not in name:
        return (found,)
    return (
        found,
        "The lowest bits of the floats show the input: draw integer noise, or round outputs to a fixed grid; "
        "resolution=... looks past them",
    )


def _diagnosis(best: Examined, constant: bool) -> tuple[str, ...]:
    found = _seen_in(best.seen_in) if best.result.p_value < 1.0 else ()
    return (*found, "Every output on an input is the same") if constant else found
