"""From a target budget to a density estimator: range, family, number of features and bitsum of least error.

Bits of one point are charged for their joint change T^2. `rungs` picks the range and the family for each number of
bits; only what is picked is planned and proved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.bitsum.baselines import least_sigma
from dpverify.claims.registry import claims_of
from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError, Number, ThreatModel
from dpverify.planning.answers import honest_users
from dpverify.planning.kernels.rungs import Candidate, check_kernel, drawn, has_bandwidth, ladder, rmse_at_one_point
from dpverify.planning.plan import PlanRow
from dpverify.planning.sums.vectors import central_rmse
from dpverify.planning.sweeps.comparison import some
from dpverify.planning.sweeps.fronts import Fronted, Knee, knee, undominated
from dpverify.planning.sweeps.setting import FailedPlan, Progress, Setting
from dpverify.shown import Drawn, Plain
from protocols.classes.frozen import dataclass
from protocols.lsq import LSQFamily, LSQFeatures
from protocols.validation import check_choice, check_integer, check_real

__all__ = ["DensityPlan", "DensityRow", "DensitySetting", "plan_density", "rmse_at_one_point"]


@dataclass(frozen=True)
class DensityRow(Plain):
    """One density estimator that meets the budget.

    - family: The features' family.
    - pairs: I, how many pairs of features are drawn.
    - bits: I Q, the bits of one user.
    - squared_change: T^2, with the features of public seed 0. The plan's `change` says whether these are in a ball of
      that square.
    - bitsum: The bitsum for all bits together.
    - rmse: The root mean squared error of a density: see `rmse_at_one_point`.
    """

    measure: ClassVar[str] = "rmse"
    plain_as: ClassVar[str] = "family=_family pairs bits squared_change messages_per_user rmse bitsum"

    family: LSQFamily
    pairs: int
    bits: int
    squared_change: float
    bitsum: PlanRow
    rmse: float

    @property
    def features(self) -> LSQFeatures:
        """The features of public seed 0."""
        return drawn(self.family, self.pairs)

    @property
    def messages_per_user(self) -> float:
        """Expected messages of one user, over all bits."""
        return self.bits * self.bitsum.messages_per_user

    @property
    def _family(self) -> dict[str, Any]:
        claims = claims_of(self.family)
        return {"name": claims.name, **claims.parameters(self.family)}


@dataclass(frozen=True)
class DensityPlan(Fronted, Drawn):
    """What one budget buys for a kernel.

    - kernel: As for `plan_density`.
    - dimension, users: d and n.
    - bandwidth: In the units of the points; None for the inner product.
    - budget: The budget of the whole.
    - rows: By messages, the fewest first.
    - failures: Why bitsums have no plan, in one sentence each.
    - honest: For how many users who follow the protocol the budget is kept; None for all of them.
    """

    table_by: ClassVar[str] = "dpverify.report.plans.densities:density_table"
    figure_by: ClassVar[str] = "dpverify.report.plans.densities:density_front"
    names: ClassVar[tuple[str, str, str]] = ("bitsum.bitsum", "messages_per_user", "rmse")
    plain_as: ClassVar[str] = "kernel dimension users honest bandwidth budget reason curator_rmse rows=marked failures"

    kernel: str
    dimension: int
    users: int
    bandwidth: float | None
    budget: Budget
    rows: tuple[DensityRow, ...]
    failures: tuple[str, ...] = ()
    honest: int | None = None

    @property
    def considered(self) -> tuple[DensityRow, ...]:
        """The rows that need no trusted curator, if there are any."""
        return self._untrusting or self.rows

    @property
    def _untrusting(self) -> tuple[DensityRow, ...]:
        return tuple(row for row in self.rows if row.bitsum.guarantee.threat_model is not ThreatModel.CENTRAL)

    @property
    def curator_rmse(self) -> float | None:
        """The RMSE of an inner product with the mean of points of a curator's Gaussian noise, for a query of norm 1.

        Sums of vectors are planned for little more (docs/real_moves.md); None for other kernels, and where not all
        users are counted on.
        """
        if self.kernel != "inner-product" or self.honest is not None:
            return None
        return central_rmse(self.budget, self.dimension) / (math.sqrt(self.dimension) * self.users)

    @property
    def recommended(self) -> Knee:
        """The row of fewest messages among those that err little more than the best one, and the reason."""
        found = super().recommended
        if len(self._untrusting) in (0, len(self.rows)):
            return found
        return Knee(found.row, f"{found.reason}; of those that need no trusted curator")


@dataclass(frozen=True)
class DensitySetting:
    """What is asked of one density estimator: its features, and a bitsum for all of their bits together."""

    features: Candidate
    bitsum: str
    budget: BudgetLike
    users: int
    max_messages_per_user: float | None = None
    honest: Number | None = None

    def attempted(self) -> DensityRow | FailedPlan:
        """Return the estimator, or the reason why there is none within the budget."""
        found, most = self.features.measured(), self.max_messages_per_user
        every = found.squared_change >= found.bits  # then no bit is spared, and full changes are planned for sooner
        row = Setting(
            self.bitsum,
            self.budget,
            self.users,
            found.bits,
            None if every else found.squared_change,
            found.ball and not every,
            max_messages_per_user=None if most is None else most / found.bits,
            honest=self.honest,
        ).attempted()
        if isinstance(row, FailedPlan):
            return row
        family, pairs = self.features.family, self.features.pairs
        rmse = rmse_at_one_point(family, pairs, self.users, row.bitsum_rmse)
        return DensityRow(family, pairs, found.bits, found.squared_change, row, rmse)


_DROPPING = "pure"
"""The bitsum that may send less than a message for a bit; of every other one a 1 is a message at least."""


class _Reasons:
    """Why there are no plans, each in one sentence, and too few messages in one sentence for all numbers of bits."""

    def __init__(self, most: float | None) -> None:
        self._most, self._told, self._few = most, dict[str, None](), dict[str, int]()

    def too_few(self, bitsum: str, bits: int) -> bool:
        """Return whether a message for each bit is too much, and take that down."""
        if self._most is None or bits <= self._most or bitsum == _DROPPING:
            return False
        self._few[bitsum] = min(bits, self._few.get(bitsum, bits))
        return True

    def add(self, bits: int, failed: FailedPlan) -> None:
        # What one bit may send is asked of a plan of bits, and said to nobody who set a limit for all of them.
        if self._most is not None and failed.error.startswith("max_messages_per_user="):
            self._few[failed.bitsum] = min(bits, self._few.get(failed.bitsum, bits))
        else:
            self._told[failed.error] = None

    def sentences(self) -> tuple[str, ...]:
        few = [
            f"max_messages_per_user={self._most:g} is too few for "
            f"{', '.join(name for name, least in self._few.items() if least == bits)} with {bits:,} bits a user or "
            "more, as a bit takes about a message."
            for bits in dict.fromkeys(self._few.values())
        ]
        return (*self._told, *few)


def plan_density(
    kernel: str,
    dimension: int,
    budget: BudgetLike,
    *,
    users: int,
    bandwidth: float = 1.0,
    bitsums: Iterable[str] = ("rr",),
    max_messages_per_user: float | None = None,
    honest: Number | None = None,
    every_rung: bool = True,
    progress: Progress | None = None,
) -> DensityPlan:
    """Find density estimators of least error within a budget, for every number of messages.

    - kernel ({"inner-product", "gaussian", "laplacian", "exponential"}): The kernel; points are in the unit ball for
      the first and the last.
    - dimension: d, at least 1.
    - budget: The budget of the whole, for replacing one point; delta must be positive.
    - users: n, public.
    - bandwidth: In the units of the points, in [1e-100, 1e100]; 1, as it has none, for the inner product.
    - bitsums: The bitsums that are tried. Where T^2 is large they differ little in error, and randomized response sends
      the fewest messages.
    - max_messages_per_user: The expected messages of one user over all bits, at most.
    - honest: The budget is kept if at least so many of the users, or below 1 such a share, follow the protocol, as in
      `planning.plan.plan`; all of them when omitted. The error is that of all users' noise.
    - every_rung: Whether every bitsum is planned for all numbers of bits; otherwise each has one row, for the number
      that is recommended under normal noise, or the next lower one that it has a plan for.
    - progress: `progress(done, total)` in plans, after every plan.

    Raises InfeasibleBudgetError if no bitsum meets the budget on any rung, or none with so few messages. Raises
    TypeError or ValueError if an argument is out of range.

    >>> found = plan_density("inner-product", 64, ("1", "1e-6"), users=2000)
    >>> best = found.best
    >>> best.bits, best.bitsum.bitsum
    (64, 'rr')
    >>> best.rmse < 0.01
    True
    """
    budget, users = Budget.of(budget), check_integer("users", users, low=1)
    kernel = check_kernel(kernel, dimension, bandwidth, budget)
    if max_messages_per_user is not None:
        check_real("max_messages_per_user", max_messages_per_user, low=0.0, low_open=True)
    followers = honest_users(honest, users)
    chosen = some("bitsums", [check_choice("bitsum", bitsum, BITSUM_CLAIMS) for bitsum in bitsums])
    # All users' noise is as much more than that of the honest ones.
    sigma = least_sigma(budget.epsilon, budget.delta) * math.sqrt(users / (followers or users))
    rungs = [
        min(rung, key=lambda each: each.normal_rmse(users, sigma))
        for rung in ladder(kernel, dimension, float(bandwidth))
    ]
    # Each attempt is tried until one succeeds: a rung alone, or the recommended one and those below it.
    attempts = [[rung] for rung in rungs] if every_rung else [_recommended(rungs, users, sigma)]
    rows, reasons, done = list[DensityRow](), _Reasons(max_messages_per_user), 0
    for attempt in attempts:
        for bitsum in chosen:
            for candidate in attempt:
                bits = candidate.measured().bits
                if reasons.too_few(bitsum, bits):
                    continue
                row = DensitySetting(candidate, bitsum, budget, users, max_messages_per_user, honest).attempted()
                if isinstance(row, FailedPlan):
                    reasons.add(bits, row)
                else:
                    rows.append(row)
                    break
            done += 1
            if progress is not None:
                progress(done, len(attempts) * len(chosen))
    if not rows:
        raise InfeasibleBudgetError("\n".join(reasons.sentences()))
    rows.sort(key=lambda row: (row.messages_per_user, row.rmse))
    return DensityPlan(
        kernel,
        dimension,
        users,
        float(bandwidth) if has_bandwidth(kernel) else None,
        budget,
        tuple(rows),
        reasons.sentences(),
        followers,
    )


def _recommended(rungs: Sequence[Candidate], users: int, sigma: float) -> list[Candidate]:
    """Return the rung that is recommended under normal noise, where a bit is a message, and those below it."""

    def bits(one: Candidate) -> float:
        return one.measured().bits

    def error(one: Candidate) -> float:
        return one.normal_rmse(users, sigma)

    best = knee(undominated(rungs, bits, error), bits, error).row
    return [one for one in reversed(rungs) if bits(one) <= bits(best)]
