"""Audits by canaries: the secret bits of many users are guessed from one output, and the right guesses are counted.

One run is enough (steinke2023): each canary's bit is a fair coin of its own, so that m canaries are m experiments. The
p-values are exact against any mechanism that keeps the claim, however its canaries depend on each other.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.limits import Limits, Look
from dpverify.audit.options import SMALLEST_LEVEL
from dpverify.audit.outcome import AuditReport, stated
from dpverify.audit.results import POWER
from dpverify.audit.running.runner import Trials, block_generator, run
from dpverify.audit.running.target import Runnable, Target, target_of
from dpverify.claims.local.base import LocalClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import Budget, BudgetLike
from dpverify.search import bisected, least_integer
from dpverify.statistics.bounds.one_run import guesses_needed, one_run_epsilon, one_run_p_value, one_run_power
from dpverify.statistics.bounds.one_run_curve import one_run_curve_p_value
from dpverify.statistics.family import AuditResult, Verdict, decide
from dpverify.statistics.outputs.events import likelihood_ratio_score
from protocols.validation import check_integer, check_real

__all__ = ["OneRunReport", "audit_one_run", "local_canaries"]

_SECRETS = 2**33
"""Where the generators of the secrets begin, behind those of any dataset."""
_CONTROL = 2**34
"""Where those of the positive control's secrets begin."""
_SURE = 1e6
"""The score of a report that only one of the two inputs can give."""
_PLANNED = 0.999
"""The power that the number of guesses is chosen for."""
_BY_CHANCE = SMALLEST_LEVEL
"""The probability that scores which know nothing of the secrets seem to."""


@dataclass(frozen=True)
class OneRunReport(AuditReport):
    """The report of `audit_one_run`, whose trials are the canaries of all runs."""

    @property
    def counted(self) -> str:
        """How many secrets were guessed from."""
        return f"{self.trials:,} canaries"

    @property
    def statement(self) -> str:
        """The verdict in a sentence, with what a pass is worth."""
        (result,) = self.results
        without = result.details["without_power"]
        if self.verdict is Verdict.UNDECIDED and without:
            return f"Undecided: {result.evidence}; {without}."
        return super().statement


def audit_one_run(
    target: Runnable,
    claim: BudgetLike,
    *,
    canaries: int = 1000,
    guesses: int | None = None,
    runs: int = 1,
    level: float = 0.01,
    detect: float = 0.5,
    seed: int = 0,
    timeout: float | None = None,
    curve: Sequence[BudgetLike] = (),
    control: Runnable | None = None,
) -> OneRunReport:
    """Audit a mechanism of unknown law in one run, by guessing the secret bits of many users.

    What is refuted is refuted for certain but for `level`. A pass says nothing about better guesses than these, and
    asks that they have power: that a positive control is refuted, or without one that they beat chance.

    Parameters
    ----------
    target : Target, callable or str
        `function(secrets, rng)` puts each canary's secret bit, shape (canaries,), into data of its choice, runs the
        mechanism once, and returns a score per canary, shape (canaries,), that it computes from the output alone:
        positive where it guesses 1, negative where it guesses 0, larger in size where it is surer.
    claim : Budget or (epsilon, delta)
        For replacing one canary's bit.
    canaries : int
        m, at least 1: in each run.
    guesses : int, optional
        How many guesses are counted, over all runs: those of the surest scores. By default the fewest that find the
        fault with power 0.999, or all canaries: chosen before the run. With delta = 0 scores of 0 are no guesses; with
        delta > 0 the number must not depend on the output.
    runs : int
        Independent runs, with new secrets each: for mechanisms that few canaries fit into.
    level : float
        In [1e-4, 1): the largest probability that a mechanism that keeps the claim is refuted.
    detect : float
        Positive: what a pass must exclude is guesses that are right as often as `(1 + detect) epsilon` makes possible.
    seed : int
        Of the secrets and the runs.
    timeout : float, optional
        Seconds that one run may take; the target then runs in a process of its own.
    curve : sequence of Budget or (epsilon, delta)
        Further points of the claimed privacy curve, which all hold together with `claim`, such as those of a trade-off
        function: fewer correct guesses refute them all than any one. The number of guesses must not depend on the
        output then. Power is stated for `claim` alone.
    control : Target, callable or str, optional
        A positive control: as `target`, with a fault put in that breaks the claim. A pass needs it to be refuted by as
        many guesses from as many runs of it. Where the claim is small, right guesses may be no more than chance
        gives: then only a control tells that the scores would have shown a fault.

    Returns
    -------
    OneRunReport
        Its one result has in `details` the figures `correct`, `guesses`, `needed` (correct guesses that refute; null if
        all together do not), `epsilon_lower`, `smallest_detectable_epsilon`, and `without_power`: why the scores cannot
        pass anything, empty where they can.

    Raises
    ------
    TargetError
        If the target fails, or returns no finite score per canary.

    Examples
    --------
    Users who flip their bits with probability 1/10, which is epsilon = ln 9 = 2.2, and promise epsilon = 1:

    >>> def scores(secrets, rng):
    ...     return 2.0 * (secrets ^ (rng.random(secrets.size) < 0.1)) - 1.0
    >>> audit_one_run(scores, (1, 0)).verdict.value
    'violates'
    """
    budget = Budget.of(claim, "claim")
    check_integer("canaries", canaries, low=1)
    check_integer("runs", runs, low=1)
    total = canaries * runs
    if guesses is not None:
        check_integer("guesses", guesses, low=1, high=total)
    check_real("level", level, low=SMALLEST_LEVEL, high=1.0, high_open=True)
    check_real("detect", detect, low=0.0, low_open=True)
    points = [budget, *(Budget.of(point, "curve") for point in curve)]
    claims = [(point.epsilon, point.delta) for point in points]
    fixed = budget.delta > 0.0 or len(points) > 1
    most = guesses or _planned(total, claims[0], level, (1.0 + detect) * budget.epsilon)

    def counted(audited: Target, stream: int) -> tuple[int, int]:
        """Return how many guesses are right, and of how many."""
        secrets = [block_generator(seed, stream, index).integers(0, 2, canaries) for index in range(runs)]
        scores = np.concatenate([found[0] for found in run(Trials(audited, secrets, 1, seed), timeout=timeout)])
        taken = most if fixed or guesses is not None else min(most, int(np.count_nonzero(scores)))
        surest = np.argsort(-np.abs(scores), kind="stable")[:taken]
        return int(((scores >= 0.0) == np.concatenate(secrets))[surest].sum()), taken

    held, faulty = (_with_scores(one, canaries) for one in (target, control))
    assert held is not None
    right, taken = counted(held, _SECRETS)
    chance = one_run_p_value(right, taken, total, 0.0)
    blind = f"not surely better than chance (p = {chance:.2g}), so they may show no fault"
    without = "" if chance <= _BY_CHANCE else blind
    if faulty is not None:
        found = one_run_curve_p_value(*(control_found := counted(faulty, _CONTROL)), total, claims)
        shown = "{:,} of {:,} guesses are right".format(*control_found)
        without = "" if found <= level else f"of the positive control {shown}, which does not refute the claim either"
    (result,) = decide([_result(right, taken, total, claims, level, detect, without)], level, power=POWER)
    return OneRunReport(
        held.name or "target",
        stated(budget),
        (result,),
        level,
        total,
        seed,
        limits=_limits(result, taken, total, runs),
        diagnosis=_diagnosis(result),
    )


def _with_scores(target: Runnable | None, canaries: int) -> Target | None:
    """Return a target that returns a score per canary."""
    if target is None:
        return None
    held = target_of(target, (canaries,))
    if held.shape != (canaries,):
        raise ValueError(f"target has shape={held.shape}, but must return one score per canary, shape ({canaries},).")
    return held


def _planned(total: int, claim: tuple[float, float], level: float, fault: float) -> int:
    """Return about the fewest guesses that find a fault with the planned power; all if not even they do.

    Of no number of guesses that are right alike there is a better one than all; but the surest are right more often,
    and of these the fewest are asked that will do.
    """

    def enough(guesses: int, delta: float) -> bool:
        return one_run_power(guesses, guesses_needed(guesses, total, claim[0], delta, level), _right(fault)) >= _PLANNED

    if not enough(total, 0.0):
        return total
    planned = least_integer(lambda guesses: enough(guesses, 0.0), 0, total)
    # More are needed where delta > 0, and each number costs a search there.
    while planned < total and not enough(planned, claim[1]):
        planned = min(total, planned + planned // 4 + 1)
    return planned


def _result(
    correct: int,
    guesses: int,
    total: int,
    claims: Sequence[tuple[float, float]],
    level: float,
    detect: float,
    without: str,
) -> AuditResult:
    epsilon, delta = claims[0]
    needed = guesses_needed(guesses, total, epsilon, delta, level)
    fault = (1.0 + detect) * epsilon
    p_value = one_run_curve_p_value(correct, guesses, total, claims)
    lower = one_run_epsilon(correct, guesses, total, delta, level)
    # Both follow from the p-value; the search for the lower end stops just before it.
    lower = min(lower, epsilon) if p_value > level else max(lower, epsilon) if len(claims) == 1 else lower
    claimed = f"claimed {epsilon:.4g}" + (f" and {len(claims) - 1} more points" if len(claims) > 1 else "")
    return AuditResult(
        "privacy of the canaries",
        p_value,
        total,
        "largest probability under the claim of as many correct guesses; exact level, for any dependence",
        f"{correct:,} of {guesses:,} guesses are right: epsilon >= {lower:.4g} at delta {delta:.3g} with confidence "
        f"{1 - level:.4g}, {claimed}",
        fault=f"guesses that are right with probability {_right(fault):.4g}, as epsilon {fault:.4g} makes possible",
        power=0.0 if without else one_run_power(guesses, needed, _right(fault)),
        details={
            "correct": correct,
            "guesses": guesses,
            "needed": needed,
            "epsilon_lower": lower,
            "epsilon_claimed": epsilon,
            "delta": delta,
            "smallest_detectable_epsilon": None if without else _smallest(guesses, needed, epsilon),
            "without_power": without,
        },
    )


def _right(epsilon: float) -> float:
    """Return the probability of a right guess that randomized response of this epsilon gives."""
    return 1.0 / (1.0 + math.exp(-epsilon))


def _smallest(guesses: int, needed: int | None, epsilon: float) -> float | None:
    """Return the epsilon of the randomized response that would be refuted with the wanted power."""
    end = epsilon + 40.0

    def shown(true: float) -> bool:
        return one_run_power(guesses, needed, _right(true)) >= POWER

    return bisected(shown, 0.0, end, relative=1e-4)[1] if shown(end) else None


def _limits(result: AuditResult, guesses: int, total: int, runs: int) -> Limits:
    where = f"the surest {guesses:,} guesses of {total:,} secret bits in {'one run' if runs == 1 else f'{runs:,} runs'}"
    smallest, correct = (result.details[name] for name in ("smallest_detectable_epsilon", "correct"))
    fault = "" if smallest is None else f"guesses that are right with probability {_right(smallest):.4g}"
    return Limits(
        (Look("canaries", where, fault),),
        (
            f"better guesses than these, of which {correct:,} are right, and other data around the canaries",
            "outputs against a law: none was stated",
            "several calls on the same users together, time, memory and other side channels",
        ),
    )


def _diagnosis(result: AuditResult) -> tuple[str, ...]:
    if result.verdict is not Verdict.VIOLATES:
        return ()
    correct, guesses, needed = (result.details[name] for name in ("correct", "guesses", "needed"))
    if needed is None or correct < needed:  # refuted by the curve, where no single point is
        allowed = f"as many have probability at most {result.p_value:.2g} under the claimed curve"
    else:
        allowed = f"the claim allows fewer than {needed:,}"
    return (f"{correct:,} of {guesses:,} secret bits are read off the output; {allowed}.",)


def local_canaries(reference: Any, canaries: int, *, implementation: Runnable | None = None) -> Target:
    """Return the target for `audit_one_run` of a local mechanism: the report of each canary, scored by its exact law.

    Parameters
    ----------
    reference : object
        The mechanism that is claimed to run, whose twin is a `LocalClaims`.
    canaries : int
        m: one report each.
    implementation : Target, callable or str, optional
        What does run: `function(inputs, rng)` with all users' inputs, shape (canaries,), returns their reports, in the
        order of the users. `reference.randomize` when omitted.

    Raises
    ------
    TypeError
        If the twin knows no law of single reports.

    Examples
    --------
    >>> from protocols.local.labels import LabelRandomizedResponse
    >>> promised = LabelRandomizedResponse(4, 1.0)
    >>> audit_one_run(local_canaries(promised, 2000), (1, 0), canaries=2000, seed=1).verdict.value
    'consistent'
    """
    if not isinstance(mechanism_claims_of(reference), LocalClaims):
        raise TypeError(f"reference={reference!r} must be a local mechanism, whose reports have a law each.")
    inner = None if implementation is None else target_of(implementation)
    name = repr(reference) if inner is None else inner.name
    return Target(functools.partial(_local_scores, _Reports(reference, inner)), False, (canaries,), name)


@dataclass(frozen=True)
class _Reports:
    """What runs, and the mechanism that it is claimed to be."""

    reference: Any
    implementation: Target | None

    def __call__(self, inputs: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        if self.implementation is None:
            return np.asarray(self.reference.randomize(inputs, rng))
        return np.asarray(self.implementation.load()(inputs, rng))


def _local_scores(reports: _Reports, secrets: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    claims = mechanism_claims_of(reports.reference)
    assert isinstance(claims, LocalClaims)  # as local_canaries has checked
    zero, one = claims.inputs(reports.reference)[:2]
    found = reports(np.where(secrets == 1, one, zero), rng)
    if len(found) != len(secrets):
        raise ValueError(f"returned {len(found)} reports of {len(secrets)} users, but must return one each.")
    laws = (claims.report_law(reports.reference, value) for value in (one, zero))
    score = likelihood_ratio_score(*laws)(claims.readable(reports.reference, found))
    return np.clip(np.nan_to_num(score, nan=0.0), -_SURE, _SURE)
