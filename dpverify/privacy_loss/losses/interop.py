"""To and from dp-accounting: its PrivacyLossDistribution, and an event and accountant for shuffle protocols.

Needs the optional dependency `dp-accounting` (`pip install '.[accounting]'`).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from dpverify.privacy_loss.composing.family import Entry, FamilyComposition
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.grid import Bounds, GridPrivacyLoss, connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.step import choose_step
from dpverify.privacy_loss.windows.transform import Composition
from dpverify.rounding import UNIT
from protocols.classes.optional import needing

with needing("The exchange with dp-accounting"):
    import attr
    import dp_accounting
    from dp_accounting import privacy_accountant
    from dp_accounting.pld import privacy_loss_distribution as pld_module
    from dp_accounting.pld.pld_pmf import DensePLDPmf, PLDPmf, SparsePLDPmf

__all__ = ["ShuffleAccountant", "ShuffleEvent", "from_dp_accounting", "to_dp_accounting"]


def _pmf(pair: PrivacyLossDistribution, step: float) -> DensePLDPmf:
    # dp-accounting knows no error of a loss: move all up by theirs, and by the roundings of this sum and the grid.
    shift = pair.loss_error + 16.0 * UNIT * (pair.largest_loss + step)
    grid = connect_the_dots(dataclasses.replace(pair, losses=pair.losses + shift, loss_error=0.0), step)
    low, high = int(grid.indices[0]), int(grid.indices[-1])
    dense = np.zeros(high - low + 1)
    dense[grid.indices - low] = grid.masses * (1.0 + grid.relative_error)
    return DensePLDPmf(grid.step, low, dense, min(grid.unbounded_mass, 1.0), True)


def to_dp_accounting(
    remove: PrivacyLossDistribution, add: PrivacyLossDistribution, step: float
) -> pld_module.PrivacyLossDistribution:
    """Return dp-accounting's (pessimistic) distribution of the two directions of a pair.

    - remove, add: The two directions; dp-accounting takes the worse of the two at every epsilon.
    - step: Its discretisation interval, in nats.

    Masses and losses are upper bounds. What dp-accounting computes from them is subject to its own truncation and
    floating-point error.
    """
    return pld_module.PrivacyLossDistribution(_pmf(remove, step), _pmf(add, step))


def from_dp_accounting(distribution: pld_module.PrivacyLossDistribution) -> tuple[GridPrivacyLoss, GridPrivacyLoss]:
    """Return the two directions (remove, add) of a dp-accounting distribution as grids that can be composed here.

    A pessimistic distribution gives upper bounds only, an optimistic one lower bounds only: the other end of every
    answer is the trivial one. Its masses are taken for exact; the floating-point error within dp-accounting is unknown.
    """
    return _grid(distribution._pmf_remove), _grid(distribution._pmf_add)


def _grid(pmf: PLDPmf) -> GridPrivacyLoss:
    if isinstance(pmf, SparsePLDPmf):
        items = sorted(pmf._loss_probs.items())
        indices = np.array([index for index, _ in items], dtype=np.int64)
        masses = np.array([mass for _, mass in items], dtype=np.float64)
    else:
        masses = np.asarray(pmf._probs, dtype=np.float64)
        indices = pmf._lower_loss + np.arange(masses.size)
    kept = masses > 0
    return GridPrivacyLoss(
        step=float(pmf._discretization),
        indices=indices[kept].astype(np.int64),
        masses=masses[kept],
        infinite_mass=float(pmf._infinity_mass),
        missing_mass=0.0,
        relative_error=0.0,
        loss_error=0.0,
        split_width=0.0,
        bounds=Bounds.UPPER if pmf._pessimistic_estimate else Bounds.LOWER,
    )


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffleEvent(dp_accounting.DpEvent):  # type: ignore[misc]
    """One instance of a shuffle protocol: the family of pairs that it may present.

    - pairs: As in `FamilyComposition`.
    - attained: Pairs that some dataset attains.
    """

    pairs: tuple[Entry, ...]
    attained: tuple[PrivacyLossDistribution, ...]


class ShuffleAccountant(privacy_accountant.PrivacyAccountant):  # type: ignore[misc]
    """A dp-accounting accountant for `ShuffleEvent`, alone or in (self-)composition; replace-one adjacency.

    - relative_width: The accuracy wanted of each answer; answers are upper bounds.
    """

    def __init__(self, relative_width: float = 1e-4) -> None:
        super().__init__(dp_accounting.NeighboringRelation.REPLACE_ONE)
        self._relative_width = relative_width
        self._events: dict[int, tuple[ShuffleEvent, int]] = {}

    def _maybe_compose(
        self, event: dp_accounting.DpEvent, count: int, do_compose: bool
    ) -> privacy_accountant.PrivacyAccountant.CompositionErrorDetails | None:
        if isinstance(event, dp_accounting.NoOpDpEvent):
            return None
        if isinstance(event, dp_accounting.SelfComposedDpEvent):
            return self._maybe_compose(event.event, count * event.count, do_compose)
        if isinstance(event, dp_accounting.ComposedDpEvent):
            for part in event.events:
                problem = self._maybe_compose(part, count, do_compose)
                if problem is not None:
                    return problem
            return None
        if not isinstance(event, ShuffleEvent):
            return privacy_accountant.PrivacyAccountant.CompositionErrorDetails(
                invalid_event=event, error_message="ShuffleAccountant composes ShuffleEvent only."
            )
        if do_compose:
            known = self._events.get(id(event), (event, 0))[1]
            self._events[id(event)] = (event, known + count)
        return None

    def _curve(self, delta: float) -> FamilyComposition | Composition | None:
        if not self._events:
            return None
        if len(self._events) == 1:
            ((event, count),) = self._events.values()
            return FamilyComposition(
                event.pairs,
                count,
                attained=event.attained,
                relative_width=self._relative_width,
                reference_delta=delta,
            )
        step = min(
            choose_step(event.attained[0], count, relative_width=self._relative_width, reference_delta=delta)
            for event, count in self._events.values()
        )
        return Composition(
            [(dominating_grid(_flat(event.pairs), step), count) for event, count in self._events.values()]
        )

    def get_epsilon(self, target_delta: float) -> float:
        """Return an upper bound on epsilon at this delta, over all datasets and directions."""
        curve = self._curve(target_delta)
        return 0.0 if curve is None else curve.epsilon(target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """Return an upper bound on delta at this epsilon, over all datasets and directions."""
        curve = self._curve(1e-6)
        return 0.0 if curve is None else curve.delta(target_epsilon).upper


def _flat(pairs: tuple[Entry, ...]) -> list[PrivacyLossDistribution]:
    return [pair for entry in pairs for pair in ([entry] if isinstance(entry, PrivacyLossDistribution) else entry)]
