"""The privacy loss distribution of one pair of laws, as atoms with stated errors."""

from __future__ import annotations

import math
from dataclasses import field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.guarantee import Interval
from dpverify.rounding import SUBNORMAL, UNIT, summation_error
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["PrivacyLossDistribution"]

_SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class PrivacyLossDistribution:
    """The law, under P, of the privacy loss `ln P(y)/Q(y)` of a pair (P, Q).

    The hockey-stick divergence is `H_eps(P||Q) = infinite_mass + sum_i masses_i max(0, 1 - e^(eps - losses_i))`. The
    other direction, (Q, P), is another distribution: build it from the swapped pair.

    - losses (ndarray of float64, shape (atoms,)): Finite privacy losses in nats, strictly increasing.
    - masses (ndarray of float64, shape (atoms,)): P-mass of each loss, positive.
    - infinite_mass: P-mass of the outcomes that Q cannot produce.
    - missing_mass: Upper bound on the P-mass of outcomes that are not listed: it counts as an infinite loss in upper
      bounds and as nothing in lower bounds.
    - relative_error: Bound on `|listed / true - 1|` for every mass.
    - loss_error: Bound on `|listed - true|` for every loss, in nats.
    """

    losses: NDArray[np.float64]
    masses: NDArray[np.float64]
    infinite_mass: float = 0.0
    missing_mass: float = 0.0
    relative_error: float = field(default=0.0, kw_only=True)
    loss_error: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        losses, masses = self.losses, self.masses
        if losses.ndim != 1 or losses.shape != masses.shape:
            raise ValueError(
                f"losses and masses have shapes {losses.shape}, {masses.shape}, but must both be (atoms,)."
            )
        # The ends of ordered losses bound them all, and a nan is in no order; an infinite mass shows in the sum.
        if not (np.isfinite(losses[[0, -1]] if losses.size else losses).all() and (losses[1:] > losses[:-1]).all()):
            raise ValueError("losses must be finite and strictly increasing.")
        total = float(masses.sum()) + self.infinite_mass
        if not (math.isfinite(total) and (masses > 0).all()):
            raise ValueError("masses must be finite and positive.")
        for name in ("infinite_mass", "missing_mass", "relative_error", "loss_error"):
            check_real(name, getattr(self, name), low=0.0)
        slack = self.relative_error + 1e-9
        if not 1.0 - slack - self.missing_mass <= total <= 1.0 + slack:
            raise ValueError(
                f"masses sum to {total!r} with infinite_mass, but must sum to 1 within "
                f"relative_error={self.relative_error:g} and missing_mass={self.missing_mass:g}."
            )

    @classmethod
    def from_atoms(
        cls,
        losses: NDArray[np.float64],
        masses: NDArray[np.float64],
        infinite_mass: float = 0.0,
        missing_mass: float = 0.0,
        *,
        relative_error: float = 0.0,
        loss_error: float = 0.0,
    ) -> PrivacyLossDistribution:
        """Build a distribution from atoms in any order, adding up masses of equal loss and dropping empty ones.

        The parameters are those of the class, without the demand for order or positivity (but no mass is negative).
        Masses below the normal floats have lost digits: they count as missing.
        """
        if masses.size and float(masses.min()) < _SMALLEST:
            if (masses < 0).any():
                raise ValueError(f"masses contains {float(masses.min())!r}, but must be non-negative.")
            occupied = masses >= _SMALLEST
            missing_mass += 2.0 * float(masses[~occupied].sum())
            losses, masses = losses[occupied], masses[occupied]
        rising = losses[1:] > losses[:-1]
        most = 1
        if not rising.all():
            # Laws with a monotone likelihood ratio come in order, or in reverse: no need to sort them.
            if not (losses[1:] >= losses[:-1]).all():
                falling = bool((losses[1:] <= losses[:-1]).all())
                order = slice(None, None, -1) if falling else np.argsort(losses, kind="stable")
                losses, masses = losses[order], masses[order]
                rising = losses[1:] > losses[:-1]
            if not rising.all():
                starts = np.flatnonzero(np.append(True, rising))
                most = int(np.diff(np.append(starts, losses.size)).max())
                losses, masses = losses[starts], np.add.reduceat(masses, starts)
        return cls(
            losses,
            masses,
            infinite_mass,
            missing_mass,
            relative_error=relative_error + (most - 1) * UNIT,
            loss_error=loss_error,
        )

    @classmethod
    def from_pmfs(
        cls, p: ArrayLike, q: ArrayLike, *, missing_mass: float = 0.0, relative_error: float = 0.0
    ) -> PrivacyLossDistribution:
        """Build the distribution of (P, Q) from two probability mass functions on the same outcomes.

        - p, q (array_like, shape (outcomes,)): P(y) and Q(y) of every outcome y.
        - missing_mass: Upper bound on the P-mass of the outcomes left out.
        - relative_error: Bound on the relative error of every entry of both.

        Raises ValueError for shapes that differ, negative, non-finite or subnormal entries, or sums off 1 beyond the
        stated errors.
        """
        p_mass, q_mass = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
        if p_mass.ndim != 1 or p_mass.shape != q_mass.shape:
            raise ValueError(f"p and q have shapes {p_mass.shape} and {q_mass.shape}, but must both be (outcomes,).")
        for name, mass in (("p", p_mass), ("q", q_mass)):
            if not np.isfinite(mass).all() or (mass < 0).any():
                raise ValueError(f"{name} must hold finite non-negative probabilities.")
            if ((mass > 0) & (mass < _SMALLEST)).any():
                raise ValueError(
                    f"{name} must hold no positive probability below {_SMALLEST:g}: floats lose digits there."
                )
        if q_mass.sum() > 1.0 + relative_error + 1e-9:
            raise ValueError(f"q sums to {float(q_mass.sum())!r}, but must sum to at most 1.")
        both = (p_mass > 0) & (q_mass > 0)
        losses = np.log(p_mass[both]) - np.log(q_mass[both])
        largest = float(np.abs(np.log(np.concatenate([p_mass[both], q_mass[both]]))).max(initial=0.0))
        return cls.from_atoms(
            losses,
            p_mass[both],
            float(p_mass[(p_mass > 0) & (q_mass == 0)].sum()),
            missing_mass,
            relative_error=relative_error,
            loss_error=2.0 * relative_error / (1.0 - relative_error) + 6.0 * UNIT * (largest + 1.0),
        )

    @property
    def unbounded_mass(self) -> float:
        """Upper bound on the P-mass whose loss is infinite or unknown."""
        return (self.infinite_mass * self._growth if self.infinite_mass else 0.0) + self.missing_mass

    @property
    def reference_masses(self) -> NDArray[np.float64]:
        """The Q-mass of each loss, shape (atoms,): `masses e^-losses`, within `reference_error` of the truth.

        In halves: e^-loss alone may overflow. The argument is an exact float, so exp errs by its last digit only.
        """
        half = np.exp(-0.5 * self.losses)
        return np.asarray(self.masses * half * half)

    @property
    def reference_error(self) -> float:
        """Bound on the relative error, either way, of every entry of `reference_masses` that does not underflow."""
        return (1.0 + 2.0 * self.relative_error) * math.exp(min(self.loss_error, 700.0)) - 1.0 + 12.0 * UNIT

    @property
    def _growth(self) -> float:
        """How many times the listed masses the true ones are at most: `1 / (1 - relative_error)`, rounded up."""
        return (1.0 + 4.0 * UNIT) / (1.0 - self.relative_error) if self.relative_error < 1.0 else math.inf

    def trimmed(self, mass: float) -> PrivacyLossDistribution:
        """Return the distribution without its extreme losses, of P-mass at most `mass` on either side: now missing."""
        below, above = np.cumsum(self.masses), np.cumsum(self.masses[::-1])
        first = int(np.searchsorted(below, mass, side="right"))
        last = self.losses.size - int(np.searchsorted(above, mass, side="right"))
        if first >= last or (first == 0 and last == self.losses.size):
            return self
        cut = (below[first - 1] if first else 0.0) + (above[self.losses.size - last - 1] if last < above.size else 0.0)
        # A running sum of k terms is off by k roundings at most.
        grown = self._growth * (1.0 + (self.losses.size + 4.0) * UNIT)
        return replace(
            self,
            losses=self.losses[first:last],
            masses=self.masses[first:last],
            missing_mass=(self.missing_mass + float(cut) * grown) * (1.0 + 2.0 * UNIT),
        )

    def delta(self, epsilon: float) -> Interval:
        """Return the hockey-stick divergence `H_eps(P||Q)` at one real epsilon, with its proved error.

        - epsilon: Any finite real number, in nats.
        """
        check_real("epsilon", epsilon)
        # The subtraction eps - loss rounds: charged as an error of the loss.
        shift = self.loss_error * (1.0 + 4.0 * UNIT) + 2.0 * UNIT * (abs(epsilon) + self.largest_loss)
        arithmetic = summation_error(self.losses.size) + 8.0 * UNIT
        lower = self._finite_part(epsilon + shift) * (1.0 - self.relative_error - arithmetic) - SUBNORMAL
        # 0 * inf: no atoms above epsilon, and an error of all the mass.
        finite = self._finite_part(epsilon - shift)
        upper = (finite * self._growth if finite else 0.0) * (1.0 + arithmetic) + SUBNORMAL
        infinite = self.infinite_mass * (1.0 - self.relative_error - UNIT)
        return Interval(
            min(1.0, max(0.0, lower + infinite) * (1.0 - 2.0 * UNIT)),
            min(1.0, (upper + self.unbounded_mass) * (1.0 + 4.0 * UNIT)),
        )

    @property
    def largest_loss(self) -> float:
        """The largest absolute value of a listed loss."""
        return float(max(-self.losses[0], self.losses[-1], 0.0)) if self.losses.size else 0.0

    def _finite_part(self, epsilon: float) -> float:
        first = int(np.searchsorted(self.losses, epsilon, side="right"))
        return float(np.sum(self.masses[first:] * -np.expm1(epsilon - self.losses[first:])))
