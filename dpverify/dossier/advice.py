"""Which of several plans for one budget to take, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpverify.digits import rounded_up
from dpverify.guarantee import CapacityError, InfeasibleBudgetError, ThreatModel
from dpverify.planning.crowds import epsilon_among
from dpverify.planning.plan import PlanRow
from dpverify.planning.sweeps.comparison import Comparison

__all__ = ["ASKED", "recommended"]

ASKED = "It was asked for."
"""Why a plan is recommended whose protocol was settled."""
_CLOSE = 1.05
"""Protocols with errors up to so many times the least are told apart by their messages."""
_SAME = 1.001
"""Messages that are as few, so that the better known protocol, the first of the table, is taken."""
_FAR = 2.0
"""With so many times less epsilon where half of the users are honest another protocol is named, too."""
_KEPT = "a finite epsilon with half of the users honest"


def recommended(plans: Comparison, bitsum: str | None = None) -> tuple[PlanRow, str]:
    """Return the plan to take, and why in a sentence or two.

    Of the protocols with a shuffler that keep a finite epsilon where half of the users are honest (of all, if none
    does), and whose error is within 5 % of their least, it is the one with the fewest messages. What is left of its
    epsilon then is told, and which other protocol keeps less than half of that.

    - plans: Of one budget, with a positive delta.
    - bitsum: The protocol, if that is settled.

    Raises InfeasibleBudgetError if there is none.
    """
    exact = [row for row in plans.plans if row.method == "exact"]
    if bitsum is not None:
        named = [row for row in exact if row.bitsum == bitsum]
        if not named:
            errors = [row.error for row in plans.failures if row.bitsum == bitsum]
            raise InfeasibleBudgetError(errors[-1] if errors else f"bitsum={bitsum!r} has no plan for this budget.")
        return named[0], f"{ASKED}{_told(named[0], _left(plans, named[0]))}"
    shuffled = [row for row in exact if row.guarantee.threat_model is ThreatModel.COMMUNICATION]
    if not exact:
        raise InfeasibleBudgetError("\n".join(dict.fromkeys(row.error for row in plans.failures)))
    if not shuffled:
        best = min(exact, key=lambda row: row.bitsum_rmse)
        return best, "No protocol meets this budget with a shuffler; of the others it has the least error."
    left = [_left(plans, row) for row in shuffled]
    lasting = [row for row, epsilon in zip(shuffled, left, strict=True) if epsilon is not None and epsilon < math.inf]
    known = None not in left
    which = f" that {'keep' if known else 'are proved to keep'} {_KEPT}"
    best, reason = _best(lasting or shuffled, "" if len(lasting) in {0, len(shuffled)} else which)
    if not lasting:
        return best, f"{reason} None of them {'keeps' if known else 'is proved to keep'} {_KEPT}."
    finer = [
        row.bitsum
        for row, epsilon in zip(shuffled, left, strict=True)
        if epsilon == math.inf and row.bitsum_rmse < best.bitsum_rmse
    ]
    if finer:
        reason += f" {' and '.join(finer)} would err less, but {'keeps' if len(finer) == 1 else 'keep'} none."
    if not known:
        unknown = [row.bitsum for row, epsilon in zip(shuffled, left, strict=True) if epsilon is None]
        reason += f" Of {' and '.join(unknown)} it cannot be computed here."
    return best, reason + _compared(best, shuffled, left)


def _compared(best: PlanRow, rows: Sequence[PlanRow], left: Sequence[float | None]) -> str:
    """Return what is left of the best plan's epsilon, and which other plan keeps a far better one."""
    own = left[next(place for place, row in enumerate(rows) if row is best)]
    told = _told(best, own)
    epsilon, place = min((epsilon, place) for place, epsilon in enumerate(left) if epsilon is not None)
    if own is not None and _FAR * epsilon < own:
        times = rows[place].bitsum_rmse / best.bitsum_rmse
        told += f" {rows[place].bitsum} keeps {rounded_up(epsilon, 3)}, at {times:.3g} times the error."
    return told


def _told(row: PlanRow, epsilon: float | None) -> str:
    if epsilon is None:
        return f" Whether it keeps {_KEPT} cannot be computed here."
    if epsilon == math.inf:
        return f" It does not keep {_KEPT}."
    return f" With half of the users honest the epsilon of {row.bitsum} is at most {rounded_up(epsilon, 3)}."


def _best(rows: Sequence[PlanRow], which: str) -> tuple[PlanRow, str]:
    """Return the plan with the fewest messages among those of nearly the least error, and that this is why."""
    least = min(row.bitsum_rmse for row in rows)
    close = [row for row in rows if row.bitsum_rmse <= _CLOSE * least]
    fewest = min(row.messages_per_user for row in close)
    best = next(row for row in close if row.messages_per_user <= _SAME * fewest)
    if len(close) == 1:
        return best, f"Of the protocols with a shuffler{which} it has the least error by more than 5 %."
    return best, (
        f"Of the {len(close)} protocols with a shuffler{which} and an error within 5 % of the least, {least:.4g} "
        "users, it sends the fewest messages."
    )


def _left(plans: Comparison, row: PlanRow) -> float | None:
    """Return a plan's epsilon, an upper bound, where half of the users are honest, one at least.

    None where the law is too large to tell.
    """
    half = max(1, plans.users // 2)
    try:
        return epsilon_among(half, row.protocol, row, plans.budget, instances=plans.instances).upper
    except CapacityError:
        return None
