"""What a report holds: plans of one budget, and what is known about the one that is recommended."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dpverify.guarantee import Interval
from dpverify.papers.theorem import Theorem
from dpverify.planning.crowds import Crowd
from dpverify.planning.plan import PlanRow
from dpverify.planning.risks.meaning import Meaning
from dpverify.planning.sums.fronts import SumFront
from dpverify.planning.sums.vectors import VectorFront
from dpverify.planning.sweeps.comparison import Comparison
from dpverify.shown import Drawn, Plain, named
from protocols.classes.frozen import dataclass

if TYPE_CHECKING:
    import pandas

__all__ = ["Curve", "Curves", "Dossier", "Evidence"]


@dataclass(frozen=True)
class Curve(Plain):
    """One line of a plot.

    - label: The legend's text.
    - x: Where.
    - y: What is known there; None where nothing is.
    - steps: Whether it is a staircase between these points.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[Interval | None, ...]
    steps: bool = False


@dataclass(frozen=True)
class Curves(Plain):
    """What one plot shows.

    - lines: At most four.
    - notes: Sentences that say what is missing, and why.
    """

    lines: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence(Plain):
    """An audit, and what it was of.

    - about: A sentence: whose implementation, and by whom it was run.
    - report: What `AuditReport.to_dict` returns.
    """

    about: str
    report: Mapping[str, Any]


@dataclass(frozen=True)
class Dossier(Drawn):
    """Plans of one budget, and what is known about the recommended one; `dpverify.full_report` makes it.

    - title: What the reader calls it.
    - plans: Every protocol by the published formula and with the least error, where every bit may change.
    - joint: The recommended protocol and a trusted curator, where a user's bits change jointly, if it was asked for.
    - chosen: The recommended plan, which the rest is about; a row of `plans`.
    - reason: Why it is recommended.
    - profile: Epsilon against delta: as published, exact, and with joint changes.
    - losses: Probability that the privacy loss of one instance is at least x, under the first law of a pair.
    - tail: Delta against epsilon, of everything together.
    - by_users, by_epsilon: Error of one sum, in users, against n and against the budget's epsilon.
    - crowd: Epsilon against the share of users who follow the protocol; None where it cannot be computed.
    - audit: What runs of an implementation showed, if there is an audit.
    - theorems: The claims of the sources that the plans rest on.
    - left_out: Why "crowd", "audit" or "meaning" is None where it would have taken too long, in a sentence.
    - meaning: What the best attacker reaches, where every bit may change.
    - beside: What messages buy of sums of numbers or vectors, for the same budget and users.
    """

    table_by: ClassVar[str] = "dpverify.report.dossiers:dossier_table"
    figure_by: ClassVar[str] = "dpverify.report.dossiers:dossier_errors"
    plain_as: ClassVar[str] = (
        "title recommended=_recommended reason plans joint profile losses tail by_users "
        "by_epsilon crowd audit theorems=_verdicts left_out meaning beside"
    )

    title: str
    plans: Comparison
    joint: Comparison | None
    chosen: PlanRow
    reason: str
    profile: Curves
    losses: Curves
    tail: Curves
    by_users: Curves
    by_epsilon: Curves
    crowd: Crowd | None
    audit: Evidence | None
    theorems: Sequence[Theorem]
    left_out: Mapping[str, str] = field(default_factory=dict)
    meaning: Meaning | None = None
    beside: tuple[SumFront | VectorFront, ...] = ()

    @property
    def published(self) -> PlanRow | None:
        """The recommended protocol with its published parameters, if there are any for this budget."""
        rows = [row for row in self.plans.plans if row.bitsum == self.chosen.bitsum and row.method == "published"]
        return rows[0] if rows else None

    @property
    def joint_plan(self) -> PlanRow | None:
        """The recommended protocol planned for joint changes, if that was asked for and is possible."""
        rows = () if self.joint is None else self.joint.plans
        return next((row for row in rows if row.bitsum == self.chosen.bitsum), None)

    @property
    def _recommended(self) -> dict[str, str]:
        return {"bitsum": self.chosen.bitsum, "method": self.chosen.method}

    @property
    def _verdicts(self) -> list[dict[str, str]]:
        return [{"name": theorem.name, "verdict": theorem.verdict} for theorem in self.theorems]

    def to_html(self) -> str:
        """Return the report: one page that needs nothing else.

        Raises MissingPackageError if the extra `report` is not installed.
        """
        page: str = named("dpverify.report.html.page:page")(self)
        return page

    def save(self, path: Path | str) -> Path:
        """Write the report to a file, all of it or nothing.

        - path: Ends in .html, in a folder that exists; a file there is replaced.

        Returns: Where it is. Raises ValueError if it cannot be written there. Raises MissingPackageError if the extra
        `report` is not installed.
        """
        written: Path = named("dpverify.report.html.page:write_report")(self, Path(path))
        return written

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the plans as a data frame of pandas; see `Comparison.to_dataframe`."""
        return self.plans.to_dataframe()

    def _repr_html_(self) -> str:
        """Return the report in a frame of its own, so that its style and a notebook's do not mix."""
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe title="{html.escape(self.title)}" srcdoc="{page}" width="100%" height="800"></iframe>'
