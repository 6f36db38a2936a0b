"""An audit as a terminal table and as a figure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.audit.outcome import AuditReport, in_words
from dpverify.audit.results import POWER
from dpverify.report.tables import number, rows_under, title
from dpverify.statistics.family import AuditResult, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["audit_evidence", "audit_figure", "audit_table"]

_SHOWN = 1e-12
"""The smallest p-value that the figure tells from 0."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


def audit_table(report: AuditReport, every: bool = False) -> RenderableType:
    """Return the verdict, one row per kind of tests, the evidence of violations, and what was not tested.

    - report: As `dpverify.audit.protocol.audit_protocol` returns it.
    - every: A row for every test, and all that was looked at besides.
    """
    table = rows_under("check", "verdict", "fault looked for", numbers=("p",))
    rows = [(result.check, [result]) for result in report.results] if every else list(_grouped(report.results))
    for name, together in rows:
        fault = _one_fault([result.fault for result in together]) + _weakness(together)
        table.add_row(name, together[0].verdict.value, fault, number(min(map(_adjusted, together)), 3))
    weak = (
        f" Power: of seeing the fault; {POWER:g} or more if none is given."
        if any(_weakness(row) for _, row in rows)
        else ""
    )
    claim = "" if report.claim is None else f", claim {_claim(report.claim)}"
    found = report.violations if every else _strongest(report.violations)[1:]
    return Group(
        title(f"Audit of {report.subject}{claim}: {report.verdict.value}, {report.counted}"),
        Text(report.statement if every else _short(report.statement)),
        *(Text(f"Found: {result.check}: {result.evidence}.") for result in found),
        *(Text(f"Diagnosis: {sentence.removesuffix('.')}.") for sentence in report.diagnosis),
        table,
        Text(f"p: adjusted for all tests; false alarms have probability {report.level:g} at most.{weak}"),
        *_limits(report, every),
    )


def _claim(claim: Mapping[str, float]) -> str:
    if set(claim) == {"epsilon", "delta"}:
        return f"({claim['epsilon']:g}, {claim['delta']:g})"
    return in_words(claim)


def _limits(report: AuditReport, every: bool) -> Iterator[Text]:
    """Yield what was tested apart from the table's faults, and what was not."""
    if every:
        yield from (Text(f"Tested: {look}.") for look in report.limits.tested if not look.fault)
    if report.limits.not_tested:
        yield Text(f"Not tested: {'; '.join(report.limits.not_tested)}.")
    if not every and report.results:
        yield Text(f"All {len(report.results)} tests by themselves: --verbose; in Python, .results and .limits.")


def _short(statement: str) -> str:
    """Return a statement without its list of faults, which the table has."""
    return re.sub(r"What would have been found, ([^:]*): .*", r"The faults below would have been, \1.", statement)


def _grouped(results: Sequence[AuditResult]) -> Iterator[tuple[str, list[AuditResult]]]:
    """Yield the tests of one kind and verdict together whose faults are told apart by numbers only."""
    groups: dict[tuple[str, ...], list[AuditResult]] = {}
    for result in results:
        kind = result.check.partition(", ")[0]
        groups.setdefault((kind, result.verdict, _NUMBER.sub("#", result.fault)), []).append(result)
    for (kind, *_), together in groups.items():
        yield (together[0].check if len(together) == 1 else f"{kind} ({len(together)})"), together


def _strongest(violations: Sequence[AuditResult]) -> list[AuditResult]:
    """Return the first violation of each kind, four at most."""
    kinds: dict[str, AuditResult] = {}
    for result in violations:
        kinds.setdefault(result.check.partition(", ")[0], result)
    return list(kinds.values())[:4]


def _one_fault(faults: Sequence[str]) -> str:
    """Return faults that differ in numbers only as one, with the least and the largest number at each place."""
    places = zip(*(_NUMBER.findall(fault) for fault in faults), strict=True)
    ranges = [sorted(set(place), key=float) for place in places]
    shown = iter(values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}" for values in ranges)
    return _NUMBER.sub(lambda _: next(shown), faults[0]) or "-"


def _weakness(together: Sequence[AuditResult]) -> str:
    """Return the least power of tests that found nothing where it is below that of a pass, or not known."""
    powers = [result.power for result in together if result.power is not None]
    if together[0].verdict is Verdict.VIOLATES:
        return ""
    if len(powers) < len(together):
        return ", power unknown"
    return f", power {min(powers):.2g}" if min(powers) < POWER else ""


def _adjusted(result: AuditResult) -> float:
    return float(result.details.get("adjusted_p_value", result.p_value))


def _height(report: AuditReport) -> float:
    return 1.6 + 0.22 * max(12, len(report.results))


def audit_evidence(report: AuditReport, axes: Axes | None = None) -> Axes:
    """Draw the evidence of every test: its p-value, adjusted for all of them."""
    from dpverify.report.plots import STYLES, axes_for

    evidence = axes_for(axes, 7.0, _height(report))
    colours = {verdict: style[0] for verdict, style in zip(_ORDER, STYLES, strict=False)}
    for place, result in enumerate(report.results):
        colour = colours[result.verdict]
        evidence.plot(max(_adjusted(result), _SHOWN), place, _MARKERS[result.verdict], color=colour, markersize=5)
    evidence.axvline(report.level, color="0.4", linestyle=":")
    evidence.annotate(
        f"level {report.level:g}", (report.level, -0.9), color="0.4", ha="right", va="center", fontsize="small"
    )
    evidence.set_xscale("log")
    evidence.set_xlim(_SHOWN / 3, 3)
    evidence.set_ylim(len(report.results) - 0.5, -1.5)
    evidence.set_yticks(range(len(report.results)), [result.check for result in report.results], fontsize="x-small")
    evidence.set_xlabel(f"adjusted p-value (below {_SHOWN:g}: at the edge)")
    seen = [verdict for verdict in _ORDER if any(result.verdict is verdict for result in report.results)]
    for verdict in seen:
        evidence.plot([], [], _MARKERS[verdict], color=colours[verdict], label=verdict.value)
    evidence.legend(frameon=False, fontsize="small", loc="lower left")
    return evidence


def audit_figure(report: AuditReport) -> Figure:
    """Draw the evidence of every test, and the outputs' privacy loss against the exact one where its law is known."""
    from dpverify.report.plots import STYLES, figure_of

    losses = report.loss_rows
    figure, axes = figure_of(11.0 if losses else 7.0, _height(report), 2 if losses else 1)
    audit_evidence(report, axes[0])
    if losses:
        axis = axes[1]
        x = [row["loss"] for row in losses]
        band = ([row["lower"] for row in losses], [row["upper"] for row in losses])
        colour, _, marker = STYLES[1]
        axis.fill_between(x, *band, color=colour, alpha=0.25, linewidth=0, label=f"{100 * (1 - report.level):g} % band")
        axis.plot(x, [row["empirical"] for row in losses], marker, color=colour, markersize=3, label="outputs")
        axis.plot(x, [row["exact"] for row in losses], color=STYLES[0][0], label="exact")
        axis.set_xlabel("privacy loss (nats)")
        axis.set_ylabel("probability of at least this loss")
        axis.set_yscale("log")
        axis.grid(which="major", alpha=0.3)
        axis.legend(frameon=False)
    figure.suptitle(f"Audit of {report.subject}: {report.verdict.value}", x=0.01, ha="left", fontsize="medium")
    return figure


_ORDER: Sequence[Verdict] = (Verdict.CONSISTENT, Verdict.VIOLATES, Verdict.UNDECIDED)
_MARKERS = {Verdict.CONSISTENT: "o", Verdict.VIOLATES: "X", Verdict.UNDECIDED: "^"}
