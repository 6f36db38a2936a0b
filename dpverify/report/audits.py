"""An audit as a terminal table and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.audit.outcome import AuditReport
from dpverify.report.plots import STYLES, figure_of
from dpverify.report.tables import number, rows_under, title
from dpverify.statistics.family import AuditResult, Verdict

__all__ = ["audit_evidence", "audit_figure", "audit_table"]

_SHOWN = 1e-12
"""The smallest p-value that the figure tells from 0."""


def audit_table(report: AuditReport) -> RenderableType:
    """Return one row per violation and per kind of other tests, the evidence of violations, and what was not tested.

    Parameters
    ----------
    report : AuditReport
        As `dpverify.audit.bitsum.audit_bitsum` returns it.
    """
    table = rows_under("check", "verdict", "fault looked for", numbers=("adjusted p", "power"))
    for name, together in _grouped(report.results):
        powers = [result.power for result in together if result.power is not None]
        table.add_row(
            name,
            together[0].verdict.value,
            together[0].fault or "-",
            number(min(map(_adjusted, together)), 3),
            f"{min(powers):.3g}" if len(powers) == len(together) else "-",
        )
    claim = "" if report.claim is None else f", claim ({report.claim['epsilon']:g}, {report.claim['delta']:g})"
    return Group(
        title(f"Audit of {report.subject}{claim}: {report.verdict.value}, {report.counted}"),
        table,
        Text(
            f"adjusted p: corrected for all tests (Holm); a violation is at most {report.level:g}, which a correct "
            f"implementation meets with probability at most {report.level:g}. power: to see the fault looked for."
        ),
        *(Text(f"Found: {result.check}: {result.evidence}.") for result in report.violations[:4]),
        *(Text(f"Diagnosis: {sentence}") for sentence in report.diagnosis),
        *_limits(report),
        Text(report.statement),
    )


def _limits(report: AuditReport) -> Iterator[Text]:
    """Yield what was tested apart from the table's faults, and what was not."""
    for look in report.limits.tested:
        if not look.fault:
            yield Text(f"Tested: {look}.")
    if report.limits.not_tested:
        yield Text(f"Not tested: {'; '.join(report.limits.not_tested)}.")


def _grouped(results: Sequence[AuditResult]) -> Iterator[tuple[str, list[AuditResult]]]:
    """Yield the tests of one kind that say the same on several datasets together; violations each by themselves."""
    groups: dict[tuple[str, ...], list[AuditResult]] = {}
    for place, result in enumerate(results):
        kind, *where = result.check.split(", ")
        alone = str(place) if result.verdict is Verdict.VIOLATES or not where else ""
        groups.setdefault((kind, result.verdict, result.fault, alone), []).append(result)
    for (kind, *_), together in groups.items():
        yield (together[0].check if len(together) == 1 else f"{kind}, {len(together)} times"), together


def _adjusted(result: AuditResult) -> float:
    return float(result.details.get("adjusted_p_value", result.p_value))


def _height(report: AuditReport) -> float:
    return 1.6 + 0.22 * max(12, len(report.results))


def audit_evidence(report: AuditReport, axes: Axes | None = None) -> Axes:
    """Draw the evidence of every test: its p-value, adjusted for all of them.

    Parameters
    ----------
    report : AuditReport
        As `dpverify.audit.bitsum.audit_bitsum` returns it.
    axes : Axes, optional
        Where; on a figure of its own when omitted.
    """
    evidence = figure_of(7.0, _height(report))[1][0] if axes is None else axes
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
    """Draw the evidence of every test, and the outputs' privacy loss against the exact one where its law is known.

    Parameters
    ----------
    report : AuditReport
        As `dpverify.audit.bitsum.audit_bitsum` returns it.
    """
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
