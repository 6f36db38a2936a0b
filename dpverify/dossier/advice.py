"""Which of several plans for one budget to take, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpverify.guarantee import CapacityError, InfeasibleBudgetError, ThreatModel
from dpverify.planning.comparison import Comparison
from dpverify.planning.crowds import epsilon_among
from dpverify.planning.plan import PlanRow

__all__ = ["recommended"]

_CLOSE = 1.05
"""Protocols with errors up to so many times the least are told apart by their messages."""
_SAME = 1.001
"""Messages that are as few, so that the better known protocol, the first of the table, is taken."""
_KEPT = "a finite epsilon with half of the users honest"


def recommended(plans: Comparison, bitsum: str | None = None) -> tuple[PlanRow, str]:
    """Return the plan to take, and why in a sentence or two.

    Of the protocols with a shuffler that keep a finite epsilon where half of the users are honest (of all, if none
    does), and whose error is within 5 % of their least, it is the one with the fewest messages.

    Parameters
    ----------
    plans : Comparison
        Of one budget, with a positive delta.
    bitsum : str, optional
        The protocol, if that is settled.

    Raises
    ------
    InfeasibleBudgetError
        If there is none.
    """
    exact = [row for row in plans.plans if row.method == "exact"]
    if bitsum is not None:
        named = [row for row in exact if row.bitsum == bitsum]
        if not named:
            errors = [row.error for row in plans.failures if row.bitsum == bitsum]
            raise InfeasibleBudgetError(errors[-1] if errors else f"bitsum={bitsum!r} has no plan for this budget.")
        return named[0], "It was asked for." + ("" if _lasts(plans, named[0]) else f" It does not keep {_KEPT}.")
    shuffled = [row for row in exact if row.guarantee.threat_model is ThreatModel.COMMUNICATION]
    if not exact:
        raise InfeasibleBudgetError("\n".join(dict.fromkeys(row.error for row in plans.failures)))
    if not shuffled:
        best = min(exact, key=lambda row: row.bitsum_rmse)
        return best, "No protocol meets this budget with a shuffler; of the others it has the least error."
    lasting = [row for row in shuffled if _lasts(plans, row)]
    best, reason = _best(lasting or shuffled, "" if len(lasting) in {0, len(shuffled)} else f" that keep {_KEPT}")
    if not lasting:
        return best, f"{reason} None of them keeps {_KEPT}."
    finer = [row.bitsum for row in shuffled if row not in lasting and row.bitsum_rmse < best.bitsum_rmse]
    if finer:
        reason += f" {' and '.join(finer)} would err less, but {'keeps' if len(finer) == 1 else 'keep'} none."
    return best, reason


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


def _lasts(plans: Comparison, row: PlanRow) -> bool:
    """Return whether a finite epsilon is proved of a plan where half of the users are honest, one at least."""
    half = max(1, plans.users // 2)
    try:
        left = epsilon_among(half, row.protocol, row, plans.budget, instances=plans.instances)
    except CapacityError:
        return False
    return left.upper < math.inf
