"""Gather what is known about one budget: plans, privacy, errors, crowds, an audit, and the claims behind them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpverify.audit.protocol import audit_protocol
from dpverify.changes import Change, Full
from dpverify.claims.bitsum import BITSUM_CLAIMS, claims_of
from dpverify.digits import counted
from dpverify.dossier.advice import recommended
from dpverify.dossier.contents import Curve, Curves, Dossier, Evidence
from dpverify.dossier.curves import (
    Planned,
    delta_curve,
    errors,
    grid_around,
    loss_curves,
    profile,
    published_profile,
)
from dpverify.evidence.theorems import theorems
from dpverify.guarantee import Budget, BudgetLike, CapacityError, Number
from dpverify.papers.theorem import Theorem
from dpverify.planning.answers import change_of, honest_users
from dpverify.planning.crowds import FRACTIONS, Crowd, crowd_of
from dpverify.planning.plan import METHODS, PlanRow
from dpverify.planning.risks.meaning import Meaning, meaning_of_plan
from dpverify.planning.sums.fronts import SumFront
from dpverify.planning.sums.vectors import VectorFront
from dpverify.planning.sweeps.comparison import BITSUMS, Comparison, plan_bitsums
from dpverify.statistics.family import Verdict
from protocols.classes.frozen import dataclass
from protocols.validation import budget_by_name, check_choice, check_integer, check_real

__all__ = ["Progress", "applying", "checked_audit", "full_report"]

Progress = Callable[[int, int, str], object]
"""Told how many steps are done, of how many, and which is next."""

_CURATOR, _LOCAL = "central-discrete-gaussian", "local-rr"
"""The most accurate and the least: with a trusted curator, and without a shuffler."""
_SHARES = ("1/10", "3/10", "1", "3", "10")
_EPSILONS = ("1/4", "1/2", "1", "2", "4")
_SECONDS = 60.0
"""Of processor time, after which by default no part is begun: several times what an ordinary report takes."""
_AUDITED_USERS = 300
_MOST_MESSAGES, _FEWEST_RUNS = 4_000_000, 500
"""Messages that are simulated for each dataset, and the fewest runs: of fewer an audit says too little."""
_TRIALS, _FEWEST_TRIALS = 4_000, 100
_FAULT, _SMALLEST_FAULT, _LARGEST_FAULT = 0.2, 0.1, 0.5
"""The relative size of the faults that `_TRIALS` runs are to find, and the least and the largest of any number."""
_COMPOSITION = (
    "wagner2025-section-4-delta-split",
    "wagner2025-theorem-3.2-composition",
    "wagner2025-theorem-3.3-parameters",
)
"""The claims that split a budget over instances, as the published rows do."""


@dataclass
class _Steps:
    """What there is to do, and how much of it is done."""

    progress: Progress | None
    total: int
    seconds: float | None
    done: int = field(default=0)
    start: float = field(default_factory=time.process_time)

    def late(self) -> str | None:
        """Return why no further part is begun, if it is late."""
        if self.seconds is None or time.process_time() - self.start <= self.seconds:
            return None
        return (
            f"What is missing was left out: the parts before it took {self.seconds:g} seconds of processor time, and "
            "`--seconds` allows more."
        )

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        self._tell(what)
        yield
        self.done += 1

    def _tell(self, what: str) -> None:
        if self.progress is not None:
            self.progress(self.done, self.total, what)

    def within(self, what: str) -> Callable[[], None]:
        """Return what is called after each of several steps of one kind."""
        self._tell(what)

        def told() -> None:
            self.done += 1
            self._tell(what)

        return told


@budget_by_name
def full_report(
    budget: BudgetLike,
    *,
    users: int,
    instances: int,
    squared_change: Number | None = None,
    honest: Number | None = None,
    bitsum: str | None = None,
    title: str | None = None,
    audit: Mapping[str, Any] | None = None,
    trials: int = _TRIALS,
    seed: int = 0,
    seconds: float | None = _SECONDS,
    beside: Sequence[SumFront | VectorFront] = (),
    progress: Progress | None = None,
) -> Dossier:
    """Plan every protocol for one budget, and gather what is known about the recommended plan.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        The budget of the whole composition, epsilon in nats; delta must be positive.
    users, instances : int
        n and I, at least 1.
    squared_change : number, optional
        T^2, as in `dpverify.planning.plan.plan`: shows joint changes beside full ones.
    honest : number, optional
        How many users, or below 1 which share of them, must follow the protocol for the guarantee, as in
        `dpverify.planning.plan.plan`; all when omitted.
    bitsum : str, optional
        The protocol that the report is about; when omitted, see `dpverify.dossier.advice.recommended`.
    title : str, optional
        What the reader calls it.
    audit : mapping, optional
        What `AuditReport.to_dict` returned, or `dpverify audit --json` printed; when omitted, this project's own
        implementation of the plan is run, by at most 300 users.
    trials : int
        Runs for each dataset of that audit, 0 for none.
    seed : int
        Of its randomness, at least 0.
    seconds : float, optional
        Processor time after which no part is begun, positive; what is left out then says so. None for no limit. The
        plans are always made.
    beside : sequence of SumFront or VectorFront, optional
        What `sum_front` and `vector_front` found for the same budget and users: shown as well.
    progress : callable, optional
        Called with how many steps are done, of how many, and which is next.

    Returns
    -------
    Dossier
        Everything, as values; `save` writes the page, and `to_html` returns it.

    Raises
    ------
    InfeasibleBudgetError
        If no protocol, or not the one that was named, meets the budget.
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> found = full_report(("1", "1e-4"), users=60, instances=1, trials=0)
    >>> found.chosen.bitsum
    '3nb'
    >>> found.crowd is None
    False
    """
    budget = Budget.of(budget)
    users, instances = check_integer("users", users, low=1), check_integer("instances", instances, low=1)
    seed = check_integer("seed", seed, low=0)
    if budget.delta == 0.0:
        raise ValueError("delta=0 must be in (0, 1): a report shows epsilon against delta.")
    if 0 < check_integer("trials", trials, low=0) < _FEWEST_TRIALS:
        raise ValueError(f"trials={trials!r} must be 0 or in [{_FEWEST_TRIALS}, inf).")
    if any((each.budget, each.users) != (budget, users) for each in beside):
        raise ValueError(f"beside must hold fronts of budget={budget} and users={users} only.")
    if seconds is not None:
        check_real("seconds", seconds, low=0.0, low_open=True)
    evidence = None if audit is None else Evidence("An audit that was given to this report.", checked_audit(audit))
    if bitsum is not None:
        bitsum = check_choice("bitsum", bitsum, BITSUM_CLAIMS)
    change = change_of(instances, squared_change)
    honest = honest_users(honest, users)

    steps = _Steps(progress, len(BITSUMS) + 7 + 2 * len(_SHARES) + (not isinstance(change, Full)), seconds)
    left_out: dict[str, str] = {}
    told, rows = steps.within("plans"), []
    for name in BITSUMS:
        rows.append(
            plan_bitsums(budget, users=users, instances=instances, bitsums=[name], methods=METHODS, honest=honest)
        )
        told()
    plans = Comparison(budget, users, instances, Full(instances), tuple(row for part in rows for row in part.rows))
    chosen, reason = recommended(plans, bitsum)
    joint: Comparison | None = None
    if squared_change is not None:
        with steps.step("joint changes"):
            names = list(dict.fromkeys((chosen.bitsum, _CURATOR)))
            joint = plan_bitsums(
                budget,
                users=users,
                instances=instances,
                bitsums=names,
                methods=["exact"],
                squared_change=squared_change,
                honest=honest,
            )

    published = next((r for r in plans.plans if (r.bitsum, r.method) == (chosen.bitsum, "published")), None)
    with steps.step("privacy profiles"):
        profiles = _curves(_profiles(chosen, published, change, budget), "profile", steps)
    with steps.step("privacy losses"):
        losses = _curves(
            [partial(loss_curves, row) for row in (chosen, published) if row is not None],
            "loss",
            steps,
        )
    with steps.step("delta against epsilon"):
        makers = [partial(delta_curve, "every bit may change", chosen, Full(instances), budget)]
        if not isinstance(change, Full):
            makers.append(partial(delta_curve, "joint change", chosen, change, budget))
        tails = _curves(makers, "curve", steps)
    meaning: Meaning | None = None
    with steps.step("the best attacker"):
        try:
            if (late := steps.late()) is None:
                meaning = meaning_of_plan(chosen)
        except CapacityError as error:
            late = error.reason
        if late is not None:
            left_out["meaning"] = late
    by_users, by_epsilon = _errors(plans, chosen, steps)
    with steps.step("honest users"):
        among = None
        if (late := steps.late()) is None:
            among = _crowd(plans, chosen)
        else:
            left_out["crowd"] = late
    with steps.step("audit"):
        if evidence is None and trials:
            found = steps.late() or _own_audit(chosen, trials, seed)
            if isinstance(found, Evidence):
                evidence = found
            else:
                left_out["audit"] = found
    steps.done = steps.total
    steps._tell("done")
    return Dossier(
        title or f"Privacy report: {counted(instances, 'sum')} over {counted(users, 'user')}",
        plans,
        joint,
        chosen,
        reason,
        profiles,
        losses,
        tails,
        by_users,
        by_epsilon,
        among,
        evidence,
        applying(plans),
        left_out,
        meaning,
        tuple(beside),
    )


def applying(plans: Comparison) -> tuple[Theorem, ...]:
    """Return the claims that plans rest on: those about their protocols, and about splitting a budget."""
    modules = {type(row.protocol).__module__ for row in plans.plans}
    named = {theorem.name for row in plans.plans for theorem in claims_of(row.protocol).theorems} | set(_COMPOSITION)
    return tuple(theorem for theorem in theorems() if theorem.name in named or modules & set(theorem.links))


def checked_audit(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an audit said, after a look at whether it is one.

    Raises ValueError if it is not what `AuditReport.to_dict` returns.
    """
    texts, results = ("subject", "verdict", "statement"), report.get("results") if isinstance(report, Mapping) else None
    if (
        not isinstance(results, list)
        or any(not isinstance(report.get(name), str) for name in texts)
        or any(not isinstance(each, Mapping) or not isinstance(each.get("check"), str) for each in results)
    ):
        raise ValueError("audit must be what `dpverify audit --json` prints: it has no subject, verdict and results.")
    return report


def _curves(makers: Sequence[Callable[[], Curve | list[Curve]]], what: str, steps: _Steps) -> Curves:
    """Return what can be computed, and why the rest cannot."""
    lines: list[Curve] = []
    notes: list[str] = []
    for make in makers:
        if (reason := steps.late()) is not None:
            notes.append(reason)
            break
        try:
            made = make()
        except CapacityError as error:
            notes.append(f"A {what} is missing: {error.reason}")
            continue
        lines += made if isinstance(made, list) else [made]
    return Curves(tuple(lines), tuple(dict.fromkeys(notes)))


def _profiles(chosen: PlanRow, published: PlanRow | None, change: Change, budget: Budget) -> list[Callable[[], Curve]]:
    """Return what makes the profiles: exact, as published, its parameters' exact law, and with joint changes."""
    every, delta = Full(change.instances), budget.delta
    makers: list[Callable[[], Curve]] = [partial(profile, "exact plan", chosen, every, delta)]
    if published is not None:
        label = f"published, by {published.composition} composition"
        makers.append(partial(published_profile, label, published, change.instances, delta))
        makers.append(partial(profile, "published, by exact law", published, every, delta))
    if not isinstance(change, Full):
        makers.append(partial(profile, "exact plan, joint change", chosen, change, delta))
    return makers


def _errors(plans: Comparison, chosen: PlanRow, steps: _Steps) -> tuple[Curves, Curves]:
    """Return the errors against n and against epsilon: of the chosen protocol, and of the best and the worst."""
    budget, users, instances = plans.budget, plans.users, plans.instances

    def known(planned: Planned, at: Budget, among: int) -> PlanRow | None:
        if (at, among) != (budget, users):
            return None
        return next((row for row in plans.plans if (row.bitsum, row.method) == planned), None)

    wanted: dict[Planned, str] = {
        (chosen.bitsum, "exact"): f"{chosen.bitsum}, exact",
        (chosen.bitsum, "published"): f"{chosen.bitsum}, published",
        (_CURATOR, "exact"): "trusted curator",
        (_LOCAL, "exact"): "no shuffler",
    }
    asked = [(label, planned) for planned, label in wanted.items()]
    crowds = [(float(n), budget, int(n)) for n in grid_around(Fraction(users), _SHARES, whole=True)]
    spent = [
        (float(e), budget if e == budget.exact_epsilon else Budget(e, budget.exact_delta), users)
        for e in grid_around(budget.exact_epsilon, _EPSILONS)
    ]
    share = None if chosen.honest is None else Fraction(chosen.honest, users)
    by_users, by_epsilon = (
        errors(asked, settings, instances, known, steps.within(f"error against {what}"), steps.late, share)
        for settings, what in ((crowds, "the number of users"), (spent, "epsilon"))
    )
    return by_users, by_epsilon


def _crowd(plans: Comparison, chosen: PlanRow) -> Crowd | None:
    names = list(dict.fromkeys((chosen.bitsum, "rr", "3nb", _LOCAL)))
    shares = [share for share in FRACTIONS if float(share) * plans.users >= 1]
    rows = {row.bitsum: row for row in plans.rows if row.method == "exact"}
    found = crowd_of(replace(plans, rows=tuple(rows[name] for name in names)), fractions=shares)
    return found if found.plans else None


def _own_audit(row: PlanRow, trials: int, seed: int) -> Evidence | str:
    """Audit this project's own implementation, with all the noise of the plan, among few users; or say why not.

    Runs of many messages are fewer, so that this never takes longer than a moment.
    """
    users = min(row.protocol.users, _AUDITED_USERS)
    # The noise is not divided by the number of users: of a small share of it next to nothing could be said.
    protocol = replace(row.protocol, users=users)
    messages, asked = claims_of(protocol).messages_per_user(protocol) * users, trials
    trials = min(asked, int(_MOST_MESSAGES / max(messages, 1.0)))
    if trials < min(asked, _FEWEST_RUNS):
        return (
            f"This project's own simulation was not audited: each run of the plan has {messages:,.0f} messages, and "
            f"{min(asked, _FEWEST_RUNS):,} runs of them take too long for a report."
        )
    report = audit_protocol(protocol, trials=trials, detect=_fault(trials), seed=seed)
    about = (
        f"This project's own simulation of {row.bitsum}, with the plan's noise among {counted(users, 'user')}: no "
        "evidence about another implementation."
    )
    if trials < asked:
        about += f" There are {trials:,} runs instead of {asked:,}, as each has {messages:,.0f} messages."
    if report.verdict is Verdict.UNDECIDED:
        about += (
            f" It could not decide: some faults are too rare to show in {trials:,} runs of so few users, as the power "
            "of its tests says."
        )
    return Evidence(about, report.to_dict())


def _fault(trials: int) -> float:
    """Return the relative size of the faults that so many runs are asked to find: it takes a fourth for twice that."""
    return min(max(_FAULT * math.sqrt(_TRIALS / trials), _SMALLEST_FAULT), _LARGEST_FAULT)
