"""What a report's template shows besides plots: rows, words, commands, all as texts that it escapes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dpverify.claims.bitsum import claims_of
from dpverify.digits import counted, rounded, rounded_down, rounded_up, unrounded
from dpverify.dossier.advice import ASKED
from dpverify.dossier.contents import Dossier, Evidence
from dpverify.guarantee import Interval
from dpverify.papers.theorem import Verdict as Found
from dpverify.planning.plan import PlanRow
from dpverify.planning.sums.fronts import SumFront
from dpverify.planning.sweeps.comparison import Comparison
from dpverify.planning.sweeps.setting import FailedPlan
from dpverify.report.html.words import GLOSSARY, promises
from dpverify.report.risks import meaning_rows
from dpverify.report.tables import epsilon_of, number
from dpverify.statistics.family import Verdict

__all__ = ["parts"]

_SECTIONS = (
    ("short", "In short"),
    ("promise", "Promise"),
    ("plans", "Plans"),
    ("privacy", "Privacy"),
    ("errors", "Error"),
    ("beside", "Numbers and vectors"),
    ("crowd", "Honest users"),
    ("audit", "Audit"),
    ("claims", "Claims"),
    ("notation", "Notation"),
    ("again", "Do it again"),
)
_TONES = {
    Found.HOLDS: "good",
    Found.CHECKED: "good",
    Found.FAILS: "bad",
    Found.PROOF_WRONG: "bad",
    Verdict.CONSISTENT: "good",
    Verdict.VIOLATES: "bad",
}
_WORST = (Found.FAILS, Found.PROOF_WRONG, Found.CODE_DIFFERS, Found.HOLDS_WITH_CONDITION, Found.OPEN, Found.CHECKED)
_MANY_TIMES = 10.0
_HALF = 0.5
_MOST_ROWS = 200
"""Of an audit's tests, so that a page stays small whatever a file holds."""


def parts(dossier: Dossier) -> dict[str, Any]:
    """Return what the template is filled with, but for plots, style and script."""
    plans = dossier.plans
    tables = [_plan_table("all", "Every bit may change", plans, dossier.chosen)]
    if dossier.joint is not None:
        tables.append(_plan_table("joint", f"Joint change: {dossier.joint.change}", dossier.joint, None))
    return {
        "dossier": dossier,
        "version": _version(),
        "summary": _summary(plans),
        "sections": [each for each in _SECTIONS if each[0] != "beside" or dossier.beside],
        "cards": _cards(dossier),
        "promises": promises(dossier),
        "meaning": [] if dossier.meaning is None else meaning_rows(dossier.meaning),
        "plan_tables": tables,
        "audit": None if dossier.audit is None else _audit(dossier.audit),
        "left_out": dossier.left_out,
        "beside": [f"beside-{place}" for place in range(len(dossier.beside))],
        "theorems": _theorems(dossier),
        "glossary": GLOSSARY,
        "commands": _commands(dossier),
    }


def _version() -> str:
    try:
        return version("dpverify")
    except PackageNotFoundError:
        return "from its source"


def _summary(plans: Comparison) -> str:
    sums = f"{plans.instances:,} sums" if plans.instances > 1 else "one sum"
    return (
        f"{sums} over {counted(plans.users, 'user')}, together ({unrounded(plans.budget.exact_epsilon)}, "
        f"{unrounded(plans.budget.exact_delta)})-differentially private."
    )


def _card(term: str, value: str, unit: str, note: str) -> dict[str, str]:
    return {"term": term, "value": value, "unit": unit, "note": note}


def _cards(dossier: Dossier) -> list[dict[str, str]]:
    chosen, plans = dossier.chosen, dossier.plans
    cards = [
        _card(
            "Recommended",
            chosen.bitsum,
            "",
            f"with {chosen.method} parameters, {chosen.guarantee.threat_model.value} threat model",
        ),
        _card("Error of one sum", number(chosen.bitsum_rmse, 3), "users", _share(chosen, dossier.published)),
        _card(
            "Epsilon, at most",
            epsilon_of(chosen.guarantee, plans.budget.exact_epsilon),
            "nats",
            f"at δ = {unrounded(plans.budget.exact_delta)}, of everything together"
            + (f", while {chosen.honest:,} users are honest" if chosen.honest is not None else ""),
        ),
        _card(
            "Messages",
            number(chosen.messages_per_user, 4),
            "per user and sum",
            f"{number(chosen.messages_per_user * plans.instances, 4)} per user in all, expected",
        ),
    ]
    if (joint := dossier.joint_plan) is not None:
        cards.append(
            _card("With joint changes", number(joint.bitsum_rmse, 3), "users", "the error, planned for these instead")
        )
    if (half := _at_half(dossier)) is not None:
        end = rounded_up(half.upper, 4)
        cards.append(_card("Half of the users honest", end, "nats", "epsilon, at most, of the same plan"))
    if dossier.audit is not None:
        report = dossier.audit.report
        cards.append(_card("Audit", str(report["verdict"]), "", dossier.audit.about))
    return cards


def _share(chosen: PlanRow, published: PlanRow | None) -> str:
    share = f"{rounded(100 * chosen.bitsum_rmse / chosen.protocol.users, 2)} % of all users"
    if published is None or not chosen.bitsum_rmse:
        return share
    times = published.bitsum_rmse / chosen.bitsum_rmse
    shown = f"{times:.0f}" if times >= _MANY_TIMES else f"{times:.2g}"
    return f"{share}; as published {number(published.bitsum_rmse, 4)}, {shown} times as much"


def _at_half(dossier: Dossier) -> Interval | None:
    if dossier.crowd is None:
        return None
    for row in dossier.crowd.plans:
        if row.plan.bitsum == dossier.chosen.bitsum:
            return dict(zip(map(float, dossier.crowd.fractions), row.epsilons, strict=True)).get(_HALF)
    return None


def _plan_table(name: str, caption: str, plans: Comparison, chosen: PlanRow | None) -> dict[str, Any]:
    notes: list[str] = []

    def mark(text: str) -> int:
        if text not in notes:
            notes.append(text)
        return notes.index(text) + 1

    rows = []
    for row in plans.rows:
        if isinstance(row, FailedPlan):
            shown: dict[str, Any] = {
                "marks": [mark(f"No plan: {row.error}")],
                "cells": [("–", "")] * 5,
                "adversary": "–",
                "parameters": "",
            }
        else:
            shown = _plan_row(row, plans, mark)
        rows.append({"bitsum": row.bitsum, "method": row.method, "chosen": row is chosen, **shown})
    methods = ["all", *dict.fromkeys(row.method for row in plans.rows)]
    return {"id": f"plans-{name}", "caption": caption, "rows": rows, "notes": notes, "methods": methods}


def _plan_row(row: PlanRow, plans: Comparison, mark: Any) -> dict[str, Any]:
    cells = [
        (number(row.bitsum_rmse), repr(row.bitsum_rmse)),
        (number(row.messages_per_user), repr(row.messages_per_user)),
        ("–", "") if row.epsilon0 is None else (rounded_down(row.epsilon0, 4), repr(row.epsilon0)),
        ("–", "") if row.delta0 is None else (rounded_down(row.delta0, 3), repr(row.delta0)),
        (epsilon_of(row.guarantee, plans.budget.exact_epsilon), repr(row.guarantee.epsilon)),
    ]
    return {
        "marks": [mark(text) for text in row.notes],
        "cells": cells,
        "adversary": row.guarantee.threat_model.value,
        "composition": row.composition,
        "parameters": ", ".join(f"{key}={value}" for key, value in row.parameters.items()),
    }


def _figure(value: object) -> tuple[str, str]:
    """Return a number of an audit's file as it is shown and as it is sorted; whatever else is there is not shown."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        return "–", ""
    return f"{value:.3g}", repr(value)


def _audit(evidence: Evidence) -> dict[str, Any]:
    report = evidence.report
    rows: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for each in report["results"]:
        kind = each["check"].split(", ")[0]
        rows.setdefault((kind, str(each.get("verdict", "")), str(each.get("fault", ""))), []).append(each)
    shown = list(rows.items())[:_MOST_ROWS]
    limits = report.get("limits")
    not_tested = limits.get("not_tested") if isinstance(limits, Mapping) else None
    return {
        "about": evidence.about,
        "verdict": report["verdict"],
        "tone": _TONES.get(report["verdict"], "open"),
        "statement": report["statement"],
        "subject": report["subject"],
        "trials": _figure(report.get("trials"))[1],
        "rows": [_audit_row(kind, verdict, fault, same) for (kind, verdict, fault), same in shown],
        "left_out": len(rows) - len(shown),
        "not_tested": list(map(str, not_tested)) if isinstance(not_tested, list) else [],
    }


def _audit_row(kind: str, verdict: str, fault: str, same: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the tests of one kind that came to the same: the strongest evidence, and the least power."""
    name = same[0]["check"] if len(same) == 1 else f"{kind}, {len(same)} times"
    p_value = _least([_adjusted(each) for each in same])
    power = _least([each.get("power") for each in same])
    return {
        "check": name,
        "verdict": verdict,
        "fault": fault,
        "p": p_value[0],
        "p_value": p_value[1],
        "power": power[0],
        "power_value": power[1],
    }


def _adjusted(result: Mapping[str, Any]) -> object:
    details = result.get("details")
    return (details if isinstance(details, Mapping) else {}).get("adjusted_p_value", result.get("p_value"))


def _least(values: Sequence[object]) -> tuple[str, str]:
    shown = [found for found in map(_figure, values) if found[1]]
    return min(shown, key=lambda found: float(found[1])) if len(shown) == len(values) else ("–", "")


def _theorems(dossier: Dossier) -> list[dict[str, str]]:
    rank = {verdict: place for place, verdict in enumerate(_WORST)}
    found = sorted(dossier.theorems, key=lambda theorem: rank.get(theorem.verdict, len(rank)))
    return [
        {
            "name": theorem.name,
            "source": theorem.source,
            "verdict": theorem.verdict.value,
            "tone": _TONES.get(theorem.verdict, "open"),
            "statement": theorem.statement.removesuffix("."),
            "finding": theorem.finding,
            "repair": theorem.repair,
        }
        for theorem in found
    ]


def _commands(dossier: Dossier) -> list[tuple[str, str, str]]:
    plans, row = dossier.plans, dossier.chosen
    epsilon, delta = unrounded(plans.budget.exact_epsilon), unrounded(plans.budget.exact_delta)
    words = ["--epsilon", epsilon, "--delta", delta, "--users", str(plans.users), "--instances", str(plans.instances)]
    if row.honest is not None:
        words += ["--honest", str(row.honest)]
    squared = None if dossier.joint is None else unrounded(dossier.joint.change.full)
    joint = [] if squared is None else ["--squared-change", squared]
    for front in dossier.beside:
        if isinstance(front, SumFront):
            joint += [f"--smallest={front.smallest}", f"--largest={front.largest}", *["--real"][: front.real]]
        else:
            joint += ["--dimension", str(front.dimension), *["--peers"][: bool(front.peers)]]
    if dossier.reason.startswith(ASKED):
        joint += ["--bitsum", row.bitsum]
    # Joined to its option: a title may begin with a hyphen.
    titled = [f"--title={dossier.title}"]
    fields = ", ".join(f"{name}={value!r}" for name, value in claims_of(row.protocol).parameters(row.protocol).items())
    made = f"{type(row.protocol).__name__}(users={row.protocol.users}, {fields})"
    given = f'("{epsilon}", "{delta}"), users={plans.users}, instances={plans.instances}'
    among = "" if row.honest is None else f", honest={row.honest}"
    python = [
        "import dpverify",
        "",
        f"row = dpverify.plan({row.bitsum!r}, {given}{among})",
        f"protocol = dpverify.{made}  # what that finds",
        f'found = dpverify.account(protocol, instances={plans.instances}, delta="{delta}"{among})',
        "print(row, found, sep='\\n\\n')",
    ]
    return [
        (
            "code-plan",
            "All plans of this budget, each with the command that checks it:",
            shlex.join(["dpverify", "plan", *words]),
        ),
        ("code-report", "This report:", shlex.join(["dpverify", "report", "report.html", *words, *joint, *titled])),
        ("code-python", "The recommended plan, and what it really gives, from Python:", "\n".join(python)),
    ]
