"""What `least_density` returns: the least users or epsilon for an error of a density, by features."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal

from dpverify.planning.kernels.density import DensityRow
from dpverify.planning.sweeps.fronts import Fronted
from dpverify.planning.sweeps.least_plans import Least
from dpverify.shown import Drawn
from protocols.classes.frozen import dataclass

__all__ = ["LeastDensities"]


@dataclass(frozen=True)
class LeastDensities(Fronted, Drawn):
    """The least users or epsilon for an error of a density.

    - asked ({"users", "epsilon"}): What is as little as possible.
    - kernel: As for `plan_density`.
    - dimension: d.
    - bandwidth: In the units of the points; None for the inner product.
    - epsilon, delta: The budget of the whole; epsilon is None where it is asked.
    - users: n; None where it is asked.
    - error: The largest root mean squared error of a density.
    - margin, confidence: What the error was worked out from, where it was: see
      `planning.kernels.least_density.error_for_margin`.
    - rows: By messages, the fewest first.
    - failures: Why other numbers of bits or bitsums have no answer.
    - honest: The users for whom alone the budget is kept, their number or below 1 their share; None for all of them.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.least:least_density_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.least:least_density_front"
    names: ClassVar[tuple[str, str, str]] = ("row.bitsum.bitsum", "row.messages_per_user", "least")
    plain_as: ClassVar[str] = (
        "asked kernel dimension bandwidth epsilon delta users error margin confidence honest reason rows=marked "
        "failures"
    )

    asked: Literal["users", "epsilon"]
    kernel: str
    dimension: int
    bandwidth: float | None
    epsilon: Fraction | None
    delta: Fraction
    users: int | None
    error: float
    margin: float | None
    confidence: float | None
    rows: tuple[Least[DensityRow], ...]
    failures: tuple[str, ...] = ()
    honest: Fraction | None = None

    @property
    def judged(self) -> str:
        """What a row of the front has little of."""
        return self.asked
