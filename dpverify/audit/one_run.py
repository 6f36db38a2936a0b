"""Audits by canaries: the secret bits of many users are guessed from one output, and the right guesses are counted.

One run is enough (steinke2023): each canary's bit is a fair coin of its own, so that m canaries are m experiments. The
p-values are exact against any mechanism that keeps the claim, however its canaries depend on each other.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

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
from dpverify.digits import rounded_down, typed
from dpverify.guarantee import Budget, BudgetLike
from dpverify.search import bisected
from dpverify.statistics.bounds.claim_test import shown_against
from dpverify.statistics.bounds.claims import CurveClaim, GaussianDP
from dpverify.statistics.bounds.one_run import one_run_epsilon, one_run_p_value, one_run_power
from dpverify.statistics.bounds.one_run_curve import one_run_curve_p_value, one_run_mu
from dpverify.statistics.family import AuditResult, Verdict, decide
from dpverify.statistics.one_run_claim import OneRunClaim, right_by_response
from dpverify.statistics.outputs.events import likelihood_ratio_score
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["OneRunReport", "audit_one_run", "local_canaries"]

_SECRETS = 2**33
"""Where the generators of the secrets begin, behind those of any dataset."""
_CONTROL = 2**34
"""Where those of the positive control's secrets begin."""
_SURE = 1e6
"""The score of a report that only one of the two inputs can give."""
_FARTHEST = 700.0
"""Larger epsilons are beyond the floats' exponentials."""
_BY_CHANCE = SMALLEST_LEVEL
"""The probability that scores which know nothing of the secrets seem to."""


@dataclass(frozen=True)
class OneRunReport(AuditReport):
    """The report of `audit_one_run`, whose trials are the canaries of all runs."""

    plain_as: ClassVar[str] = f"{AuditReport.plain_as} mu_lower gaussian_epsilon"

    @property
    def counted(self) -> str:
        """How many secrets were guessed from."""
        return f"{self.trials:,} canaries"

    @cached_property
    def mu_lower(self) -> float | None:
        """A lower bound on the least mu of which the mechanism is mu-GDP, at confidence 1 - level, without assumptions.

        None where the number of guesses was not fixed before the run.
        """
        (result,) = self.results
        if not result.details["fixed"]:
            return None
        return one_run_mu(result.details["correct"], result.details["guesses"], self.trials, self.level)

    @property
    def gaussian_epsilon(self) -> float | None:
        """The epsilon of Gaussian noise of that mu at the delta in `details`.

        A lower bound on the mechanism's own if its privacy curve is that of Gaussian noise of some scale.
        """
        if not self.mu_lower:
            return self.mu_lower
        claim, delta = GaussianDP(self.mu_lower), self.results[0].details["delta"]
        if delta == 0.0:
            return None
        return bisected(lambda epsilon: claim.delta(epsilon) * (1.0 - 1e-9) < delta, 0.0, _FARTHEST, relative=1e-9)[0]

    @property
    def lower_ends(self) -> str:
        """Lower bounds on epsilon and mu in a sentence, each with what it assumes."""
        (result,) = self.results
        epsilon, delta = result.details["epsilon_lower"], result.details["delta"]
        shown = rounded_down(epsilon, 4)
        told = f"With confidence {1 - self.level:.4g}: epsilon >= {shown} at delta {typed(delta)}, of any mechanism"
        if self.mu_lower is None:
            return f"{told}."
        told += f"; not mu-GDP below mu = {rounded_down(self.mu_lower, 4)}"
        if self.gaussian_epsilon is None:
            return f"{told}."
        shown = rounded_down(self.gaussian_epsilon, 4)
        return f"{told}, so that epsilon >= {shown} if the privacy curve is that of Gaussian noise."

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
    claim: BudgetLike | CurveClaim,
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
    claim : Budget, (epsilon, delta) or CurveClaim
        For replacing one canary's bit, such as `GaussianDP(0.5)`: all points of a curve hold together, and fewer
        correct guesses refute them than any one.
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
        Further points that hold together with the first. The number of guesses must not depend on the output then.
    control : Target, callable or str, optional
        A positive control: as `target`, with a fault put in that breaks the claim. A pass needs it to be refuted by as
        many guesses from as many runs of it. Where the claim is small, right guesses may be no more than chance
        gives: then only a control tells that the scores would have shown a fault.

    Returns
    -------
    OneRunReport
        Its one result has in `details` the figures `correct`, `guesses`, `needed` (correct guesses that refute; null if
        all together do not), `epsilon_lower` at `delta` (1e-5 where a curve is claimed), `epsilon_claimed` (of a curve:
        of the randomized response that guesses one bit as well), `smallest_detectable_epsilon`, `fixed` (whether the
        number of guesses was), and `without_power`: why the scores cannot pass anything, empty where they can. The
        report has `mu_lower` and `gaussian_epsilon` besides.

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
    claimed = OneRunClaim.of(claim, curve)
    check_integer("canaries", canaries, low=1)
    check_integer("runs", runs, low=1)
    total = canaries * runs
    if guesses is not None:
        check_integer("guesses", guesses, low=1, high=total)
    check_real("level", level, low=SMALLEST_LEVEL, high=1.0, high_open=True)
    check_real("detect", detect, low=0.0, low_open=True)
    fixed = claimed.delta > 0.0 or len(claimed.points) > 1
    most = guesses or claimed.planned(total, level, detect)

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
        found = one_run_curve_p_value(*(control_found := counted(faulty, _CONTROL)), total, claimed.points)
        shown = "{:,} of {:,} guesses are right".format(*control_found)
        without = "" if found <= level else f"of the positive control {shown}, which does not refute the claim either"
    result = _result(right, taken, total, claimed, level, detect, without, fixed=taken == most)
    (result,) = decide([result], level, power=POWER)
    return OneRunReport(
        held.name or "target",
        None if isinstance(claim, CurveClaim) else stated(Budget.of(claim)),
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


def _result(
    correct: int,
    guesses: int,
    total: int,
    claimed: OneRunClaim,
    level: float,
    detect: float,
    without: str,
    fixed: bool,
) -> AuditResult:
    epsilon, delta = claimed.epsilon, claimed.delta
    needed = claimed.needed(guesses, total, level)
    right, words = claimed.fault(detect, guesses / total)
    p_value = one_run_curve_p_value(correct, guesses, total, claimed.points)
    if p_value <= level:
        needed = min(needed or correct, correct)  # of a curve, found by a search that may miss a few
    lower = one_run_epsilon(correct, guesses, total, delta, level)
    if len(claimed.points) == 1:
        # Both follow from the p-value; the search for the lower end stops just before it.
        lower, shown = shown_against(lower, epsilon, delta, refuted=p_value <= level)
    else:
        shown = f"epsilon >= {rounded_down(lower, 4)} at delta {typed(delta)}, claimed {claimed.words}"
    return AuditResult(
        "privacy of the canaries",
        p_value,
        total,
        "largest probability under the claim of as many correct guesses; exact level, for any dependence",
        f"{correct:,} of {guesses:,} guesses are right: {shown}",
        fault=f"guesses that are right with probability {right:.4g}, {words}",
        power=0.0 if without else one_run_power(guesses, needed, right),
        details={
            "correct": correct,
            "guesses": guesses,
            "needed": needed,
            "epsilon_lower": lower,
            "epsilon_claimed": epsilon,
            "delta": delta,
            "smallest_detectable_epsilon": None if without else _smallest(guesses, needed, epsilon),
            "fixed": fixed,
            "without_power": without,
        },
    )


def _smallest(guesses: int, needed: int | None, epsilon: float) -> float | None:
    """Return the epsilon of the randomized response that would be refuted with the wanted power."""
    end = epsilon + 40.0

    def shown(true: float) -> bool:
        return one_run_power(guesses, needed, right_by_response(true)) >= POWER

    return bisected(shown, 0.0, end, relative=1e-4)[1] if shown(end) else None


def _limits(result: AuditResult, guesses: int, total: int, runs: int) -> Limits:
    where = f"the surest {guesses:,} guesses of {total:,} secret bits in {'one run' if runs == 1 else f'{runs:,} runs'}"
    smallest, correct = (result.details[name] for name in ("smallest_detectable_epsilon", "correct"))
    fault = "" if smallest is None else f"guesses that are right with probability {right_by_response(smallest):.4g}"
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
    return (f"{correct:,} of {guesses:,} secret bits are read off the output; the claim allows fewer than {needed:,}.",)


def local_canaries(reference: Any, canaries: int, *, implementation: Runnable | None = None) -> Target:
    """Return the target for `audit_one_run` of a local mechanism: the report of each canary, scored by its exact law.

    - reference: The mechanism that is claimed to run, whose twin is a `LocalClaims`.
    - canaries: m: one report each.
    - implementation: What does run: `function(inputs, rng)` with all users' inputs, shape (canaries,), returns their
      reports, in the order of the users. `reference.randomize` when omitted.

    Raises TypeError if the twin knows no law of single reports.

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
