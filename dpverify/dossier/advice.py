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
_ASKED = {True: "", False: f" It does not keep {_KEPT}.", None: f" Whether it keeps {_KEPT} cannot be computed here."}


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
        return named[0], f"It was asked for.{_ASKED[_lasts(plans, named[0])]}"
    shuffled = [row for row in exact if row.guarantee.threat_model is ThreatModel.COMMUNICATION]
    if not exact:
        raise InfeasibleBudgetError("\n".join(dict.fromkeys(row.error for row in plans.failures)))
    if not shuffled:
        best = min(exact, key=lambda row: row.bitsum_rmse)
        return best, "No protocol meets this budget with a shuffler; of the others it has the least error."
    lasts = [_lasts(plans, row) for row in shuffled]
    lasting = [row for row, keeps in zip(shuffled, lasts, strict=True) if keeps]
    known = None not in lasts
    which = f" that {'keep' if known else 'are proved to keep'} {_KEPT}"
    best, reason = _best(lasting or shuffled, "" if len(lasting) in {0, len(shuffled)} else which)
    if not lasting:
        return best, f"{reason} None of them {'keeps' if known else 'is proved to keep'} {_KEPT}."
    finer = [
        row.bitsum
        for row, keeps in zip(shuffled, lasts, strict=True)
        if keeps is False and row.bitsum_rmse < best.bitsum_rmse
    ]
    if finer:
        reason += f" {' and '.join(finer)} would err less, but {'keeps' if len(finer) == 1 else 'keep'} none."
    if not known:
        unknown = [row.bitsum for row, keeps in zip(shuffled, lasts, strict=True) if keeps is None]
        reason += f" Of {' and '.join(unknown)} it cannot be computed here."
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


def _lasts(plans: Comparison, row: PlanRow) -> bool | None:
    """Return whether a plan has a finite epsilon where half of the users are honest, one at least.

    None where the law is too large to tell.
    """
    half = max(1, plans.users // 2)
    try:
        left = epsilon_among(half, row.protocol, row, plans.budget, instances=plans.instances)
    except CapacityError:
        return None
    return left.upper < math.inf
