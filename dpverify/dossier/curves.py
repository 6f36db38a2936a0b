"""Curves of one plan: its privacy profile, the law of its privacy loss, and its error elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from dpverify.changes import Change
from dpverify.claims.bitsum import claims_of
from dpverify.composition.theorems import compose
from dpverify.dossier.contents import Curve, Curves
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Budget, CapacityError, InfeasibleBudgetError, Interval
from dpverify.planning.answers import within_limits
from dpverify.planning.plan import PlanRow, plan
from dpverify.planning.result import HonestView
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT

__all__ = ["Planned", "delta_curve", "errors", "grid_around", "loss_curves", "profile", "published_profile"]

Planned = tuple[str, str]
"""A bitsum and a method."""
_WIDTH = 1e-3
"""What the eye can tell from a plot."""
_SHIFTS = (-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
"""Decades from the budget's delta at which a profile is shown."""
_LARGEST_DELTA = 0.3
_MULTIPLES = 12
"""Steps of a delta curve, from no loss to twice the budget's epsilon."""
_SHOWN_LOSSES = 48
_RAREST, _COMMONEST = 1e-12, 0.999
"""What is less likely than the one, or likelier than the other, is not drawn."""


def _deltas(delta: float) -> list[float]:
    return [at for shift in _SHIFTS if 0.0 < (at := delta * 10.0**shift) <= _LARGEST_DELTA]


def _view(row: PlanRow) -> HonestView:
    return HonestView.of(row.protocol, row.honest, row.guarantee.threat_model)


def profile(label: str, row: PlanRow, change: Change, delta: float) -> Curve:
    """Return epsilon at deltas around one, enclosed, of a plan's parameters where this much changes."""
    deltas = _deltas(delta)
    with within_limits(row.bitsum):
        view = _view(row)
        curve = view.curve(change, _WIDTH, min(deltas))
        return Curve(label, tuple(deltas), tuple(curve.epsilon(at) for at in deltas))


def published_profile(label: str, row: PlanRow, instances: int, delta: float) -> Curve:
    """Return what the published theorem states for the same parameters: from I delta0 on, and nothing below."""
    if row.epsilon0 is None or row.delta0 is None:
        raise ValueError(f"row={row.bitsum!r} must have been planned by a theorem on (epsilon0, delta0).")
    deltas, spent = _deltas(delta), instances * row.delta0
    ends: list[Interval | None] = []
    for at in deltas:
        slack = math.nextafter(at - spent, 0.0)
        if slack <= 0.0:
            ends.append(None)
            continue
        epsilon = compose(row.composition, row.epsilon0, row.delta0, instances, delta_slack=slack)[0]
        ends.append(Interval(epsilon, epsilon))
    return Curve(label, tuple(deltas), tuple(ends))


def delta_curve(label: str, row: PlanRow, change: Change, budget: Budget) -> Curve:
    """Return delta at epsilons from 0 to twice the budget's, enclosed."""
    epsilons = [2.0 * budget.epsilon * step / _MULTIPLES for step in range(_MULTIPLES + 1)]
    with within_limits(row.bitsum):
        view = _view(row)
        curve = view.curve(change, _WIDTH, budget.delta)
        return Curve(label, tuple(epsilons), tuple(curve.delta(at) for at in epsilons))


def loss_curves(row: PlanRow) -> list[Curve]:
    """Return the probability that one instance's loss is at least x, for at most two pairs that datasets attain."""
    with within_limits(row.bitsum):
        view = _view(row)  # of its honest users, less private by an ulp where a share of the noise is no float
        attained = claims_of(row.protocol).views(view.protocols[0], view.adversary).attained
    found = {points: None for pair in attained if (points := _tail(pair)) is not None}
    names = (f"{row.method} plan", f"{row.method} plan, other way")
    return [Curve(name, *points) for name, points in zip(names, found, strict=False)]


def _tail(pair: PrivacyLossDistribution) -> tuple[tuple[float, ...], tuple[Interval, ...], bool] | None:
    """Return losses, the probabilities of at least these, and whether these are all steps; None without any."""
    losses, masses = pair.losses, pair.masses
    # From the largest loss down, so that small probabilities are not lost beside large ones.
    sums = np.append(np.cumsum(masses[::-1])[::-1], 0.0) + pair.infinite_mass
    likely = losses[(sums[:-1] >= _RAREST) & (sums[:-1] <= _COMMONEST)]
    if likely.size == 0:
        return None
    if likely.size <= _SHOWN_LOSSES:
        at = likely
    else:
        at = np.linspace(float(likely[0]), float(likely[-1]), _SHOWN_LOSSES)
    error = pair.relative_error + (masses.size + 4) * UNIT  # one rounding for each term of a running sum
    ends = []
    for x in at:
        surely = float(sums[np.searchsorted(losses, x + pair.loss_error, side="left")])
        maybe = float(sums[np.searchsorted(losses, x - pair.loss_error, side="left")])
        ends.append(Interval(surely * (1.0 - error), min(1.0, maybe * (1.0 + error) + pair.missing_mass)))
    return tuple(map(float, at)), tuple(ends), likely.size <= _SHOWN_LOSSES


def grid_around(value: Fraction, steps: Sequence[str], *, whole: bool = False) -> list[Fraction]:
    """Return multiples of a number, rounded to two digits but for the number itself, each once, in order."""
    found = []
    for step in map(Fraction, steps):
        near = value if step == 1 else Fraction(f"{float(value * step):.1e}")
        found.append(Fraction(max(1, round(near))) if whole else near)
    return sorted(set(found))


def errors(
    wanted: Sequence[tuple[str, Planned]],
    settings: Sequence[tuple[float, Budget, int]],
    instances: int,
    known: Callable[[Planned, Budget, int], PlanRow | None],
    told: Callable[[], None],
    late: Callable[[], str | None] = lambda: None,
    share: Fraction | None = None,
) -> Curves:
    """Return the error of one sum, in users, of plans at several settings.

    - wanted: At most four.
    - settings: Where each is drawn; the budget and the users there.
    - instances: I.
    - known: Returns a plan that is there already, or None.
    - told: Called after each setting.
    - late: Returns why no further plan is made, if none is.
    - share: Of the users who are honest everywhere, one at least; None where all must be.
    """
    found: dict[str, list[Interval | None]] = {label: [] for label, _ in wanted}
    reasons: dict[str, str] = {}
    for _, budget, users in settings:
        honest = None if share is None else max(1, math.floor(share * users))
        for label, (bitsum, method) in wanted:
            row = known((bitsum, method), budget, users)
            if row is None and (reason := late()) is not None:
                found[label].append(None)
                reasons["late"] = reason
                continue
            try:
                row = row or plan(bitsum, budget, users=users, instances=instances, method=method, honest=honest)
                found[label].append(Interval(row.bitsum_rmse, row.bitsum_rmse))
            except (InfeasibleBudgetError, FormulaRangeError, CapacityError) as error:
                found[label].append(None)
                reason = error.reason if isinstance(error, CapacityError) else str(error)
                reasons.setdefault(label, f"{label}: no plan everywhere, for instance {reason}")
        told()
    where = tuple(x for x, _, _ in settings)
    lines = [Curve(label, where, tuple(ends)) for label, ends in found.items() if any(ends)]
    return Curves(tuple(lines), tuple(reasons.values()))
