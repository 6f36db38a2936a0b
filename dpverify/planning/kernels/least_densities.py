"""What `least_density` returns: the least users or epsilon for an error of a density, by features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dpverify.guarantee import Number, exact_number
from dpverify.planning.kernels.density import DensityRow
from dpverify.planning.sweeps.fronts import Knee, knee, undominated
from dpverify.shown import Drawn

__all__ = ["LeastDensities", "LeastDensity"]


@dataclass(frozen=True)
class LeastDensity:
    """The answer for one number of bits and one bitsum.

    Parameters
    ----------
    least : float
        The least number of users, or epsilon.
    row : DensityRow
        The density estimator that meets what is asked with so much.
    less : float or None
        One step less; None where the answer is the least that is looked for.
    below : DensityRow, str or None
        What is planned with that, which does not meet what is asked; or why nothing is.
    """

    least: float
    row: DensityRow
    less: float | None = None
    below: DensityRow | str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the estimator's fields as plain JSON values, behind "least" and "one_less"."""
        below: dict[str, Any] | None = None
        if self.below is not None:
            key, told = ("error", self.below) if isinstance(self.below, str) else ("rmse", self.below.rmse)
            below = {"value": self.less, key: told}
        return {"least": self.least, "one_less": below, **self.row.to_dict()}


@dataclass(frozen=True)
class LeastDensities(Drawn):
    """The least users or epsilon for an error of a density.

    Parameters
    ----------
    asked : {"users", "epsilon"}
        What is as little as possible.
    kernel : str
        One of `planning.density.KERNELS`.
    dimension : int
        d.
    bandwidth : float or None
        In the units of the points; None for the inner product.
    epsilon, delta : Number or None
        The budget of the whole; epsilon is None where it is asked.
    users : int or None
        n; None where it is asked.
    error : float
        The largest root mean squared error of a density.
    margin, confidence : float or None
        What the error was worked out from, where it was: see `planning.least_density.error_for_margin`.
    rows : tuple of LeastDensity
        By messages, the fewest first.
    failures : tuple of str
        Why other numbers of bits or bitsums have no answer.
    honest : Number or None
        The users for whom alone the budget is kept, their number or below 1 their share; None for all of them.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.least_densities:least_density_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.least_densities:least_density_front"

    asked: Literal["users", "epsilon"]
    kernel: str
    dimension: int
    bandwidth: float | None
    epsilon: Number | None
    delta: Number
    users: int | None
    error: float
    margin: float | None
    confidence: float | None
    rows: tuple[LeastDensity, ...]
    failures: tuple[str, ...] = ()
    honest: Number | None = None

    @property
    def best(self) -> LeastDensity:
        """The answer that needs least."""
        return min(self.rows, key=_least)

    @property
    def front(self) -> tuple[LeastDensity, ...]:
        """The answers that no other one with as few messages or fewer needs as little as."""
        return undominated(self.rows, _messages, _least)

    @property
    def recommended(self) -> Knee:
        """The answer of fewest messages among those that need little more than the best one, and the reason."""
        return knee(self.front, _messages, _least, what=self.asked)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values; every row says whether it is recommended."""
        chosen = self.recommended if self.rows else None
        return {
            "asked": self.asked,
            "kernel": self.kernel,
            "dimension": self.dimension,
            "bandwidth": self.bandwidth,
            "epsilon": None if self.epsilon is None else float(exact_number("epsilon", self.epsilon)),
            "delta": float(exact_number("delta", self.delta)),
            "users": self.users,
            "error": self.error,
            "margin": self.margin,
            "confidence": self.confidence,
            "honest": None if self.honest is None else float(exact_number("honest", self.honest)),
            "reason": None if chosen is None else chosen.reason,
            "rows": [{**row.to_dict(), "recommended": chosen is not None and row is chosen.row} for row in self.rows],
            "failures": list(self.failures),
        }


def _messages(row: LeastDensity) -> float:
    return row.row.messages_per_user


def _least(row: LeastDensity) -> float:
    return row.least
