"""What `least_density` returns: the least users or epsilon for an error of a density, by features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dpverify.guarantee import Number, exact_number
from dpverify.planning.kernels.density import DensityRow
from dpverify.planning.sweeps.fronts import Fronted
from dpverify.planning.sweeps.least_plans import Least
from dpverify.shown import Drawn

__all__ = ["LeastDensities"]


@dataclass(frozen=True)
class LeastDensities(Fronted, Drawn):
    """The least users or epsilon for an error of a density.

    Parameters
    ----------
    asked : {"users", "epsilon"}
        What is as little as possible.
    kernel : str
        One of `planning.kernels.density.KERNELS`.
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
        What the error was worked out from, where it was: see `planning.kernels.least_density.error_for_margin`.
    rows : tuple of Least
        By messages, the fewest first.
    failures : tuple of str
        Why other numbers of bits or bitsums have no answer.
    honest : Number or None
        The users for whom alone the budget is kept, their number or below 1 their share; None for all of them.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.least:least_density_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.least:least_density_front"
    names: ClassVar[tuple[str, str, str]] = ("row.bitsum.bitsum", "row.messages_per_user", "least")

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
    rows: tuple[Least[DensityRow], ...]
    failures: tuple[str, ...] = ()
    honest: Number | None = None

    @property
    def judged(self) -> str:
        """What a row of the front has little of."""
        return self.asked

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
