"""The theorems of the papers, and their evidence, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.report.layout import Rows

__all__ = ["checked_table", "theorems_table"]

_FEW = 3
"""Theorems of which all is told at once; of more, what was found, for the rest would take many screens."""
_ONE = "One in full, with its evidence: dpverify theorems NAME. The evidence again: dpverify theorems check NAME."


def theorems_table(theorems: Sequence[Mapping[str, Any]], *, findings: bool = False) -> RenderableType:
    """Return theorems, as dictionaries, with their verdicts; with `findings`, with all that is known about each."""
    if not findings:
        table = Rows(("theorem", "verdict"))
        for theorem in theorems:
            table.add_row(theorem["name"], theorem["verdict"])
        verdicts = Counter(theorem["verdict"] for theorem in theorems).most_common()
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts)
        return Group(table, Text(f"{len(theorems)} claims: {counts}."), Text(_ONE))
    few = len(theorems) <= _FEW
    told = [Text("\n  ".join(_told(theorem, in_full=few)) + "\n") for theorem in theorems]
    return Group(*told, *([] if few else [Text(f"{len(theorems)} claims. {_ONE}")]))


def _told(theorem: Mapping[str, Any], *, in_full: bool) -> list[str]:
    lines = [f"{theorem['name']}: {theorem['verdict']}", f"{theorem['kind']}: {theorem['source']}"]
    lines += [f"{theorem['statement']}.", theorem["finding"]]
    if theorem["repair"]:
        lines.append(f"Instead: {theorem['repair']}")
    if not in_full:
        return lines
    lines += [f"needs: {condition}" for condition in theorem["hypotheses"]]
    lines += [f"{each['method']}: {each['shows']} ({each['check']})" for each in theorem["checked_by"]]
    return lines + [f"see {', '.join(theorem['links'])}"] * bool(theorem["links"])


def checked_table(checks: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return one row per computation that was run again, and below them what contradicts an entry."""
    table = Rows(("check", "method", "agrees", "seconds"), ("seconds",))
    for each in checks:
        table.add_row(each["check"], each["method"], "yes" if each["agrees"] else "NO", f"{each['seconds']:.2f}")
    wrong = [
        f"{each['check']} ({', '.join(each['theorems'])}): {each['trouble']}" for each in checks if each["trouble"]
    ]
    total = sum(each["seconds"] for each in checks)
    backed = len({name for each in checks for name in each["theorems"]})
    summary = f"{len(checks)} computations, which back {backed} theorems, in {total:.1f} s: {len(wrong)} contradict."
    return Group(table, Text(summary), *map(Text, wrong))
