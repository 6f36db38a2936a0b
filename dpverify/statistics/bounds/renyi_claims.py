"""Claims that bound Renyi divergences: concentrated differential privacy, and Renyi privacy of one order."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.rounding import UNIT
from dpverify.statistics.bounds.claims import LARGEST_EPSILON, LEAST_CHANCE, POINTS, CurveClaim, half_planes
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["ConcentratedDP", "RenyiClaim", "RenyiDP"]

Floats = NDArray[np.float64]


class RenyiClaim(CurveClaim):
    """A bound on the Renyi divergence of each of some orders, of either input from the other."""

    @property
    @abstractmethod
    def orders(self) -> Floats:
        """The orders, above 1."""

    @property
    @abstractmethod
    def divergences(self) -> Floats:
        """The claimed divergence of each order, in nats."""

    @cached_property
    def points(self) -> tuple[tuple[float, float], ...]:
        """Half planes that touch the region of all pairs of coins whose divergences are within the claim.

        By data processing an event's two coins are at most as far apart as the outputs; and every pair of coins in the
        region is a mechanism that keeps the claim: no half plane can be closer. With w(p, q) = p^a q^(1-a), convex and
        homogeneous, `w(p, q) >= a r^(a-1) p - (a-1) r^a q` for any r; applied to an event with r and to its complement
        with s < r, what both sum up to, at most `exp((a-1) epsilon_a)`, is bounded below by a linear function. So any
        r, s and a give a half plane, and a search for the best need not be exact. With s = 0 it is that of
        canonne2020.
        """
        tail = np.geomspace(LEAST_CHANCE, 0.5, POINTS)
        other = np.concatenate([tail, 1.0 - tail[-2::-1]])
        order, divergence = self.orders[:, np.newaxis], self.divergences[:, np.newaxis]
        low, high = np.broadcast_to(other, (order.size, other.size)), np.ones((order.size, other.size))
        for _ in range(40):
            middle = (low + high) / 2.0
            within = _divergence(middle, other, order) <= divergence
            low, high = np.where(within, middle, low), np.where(within, high, middle)
        best = np.argmin(high, axis=0)
        p, order, divergence = high[best, np.arange(other.size)], self.orders[best], self.divergences[best]
        # A touching point of one order may be cut off by another; its half plane holds nevertheless.
        log_r, s = np.log(p / other), np.minimum((1.0 - p) / (1.0 - other), 1.0)
        with np.errstate(divide="ignore"):
            log_s = np.log(s)
        step = order - 1.0
        ratio = np.exp(step * (log_s - log_r))
        total, first = np.exp(np.minimum(step * (divergence - log_r), LARGEST_EPSILON)), order * ratio
        second = step * ratio * s
        below = order * (1.0 - ratio)
        with np.errstate(divide="ignore", invalid="ignore"):
            grown = step * (np.exp(log_r) - ratio * s) / below
            charge = 32.0 * UNIT * (1.0 + step * (divergence + np.abs(log_r))) * (total + first + second) / below
            delta = (total - first + second) / below + charge
        sure = np.isfinite(grown) & np.isfinite(delta) & (grown > 0.0)
        return half_planes(grown[sure], delta[sure])

    def together(self, p: Floats, q: Floats) -> float:
        """Return how much of it the cells of a partition show together, of the first law from the second; 0 or more.

        By data processing no more than the outputs do. It grows with every p and falls with every q, so that limits of
        the masses give limits of it.

        - p, q (ndarray, shape (cells,)): The masses of the cells under either law, or limits of these.
        """
        order, there = self.orders[:, np.newaxis], p > 0.0
        with np.errstate(divide="ignore"):
            terms = order * np.log(p[there]) - (order - 1.0) * np.log(q[there])
        found = scipy.special.logsumexp(terms, axis=1) / (self.orders - 1.0) if there.any() else np.zeros(1)
        return max(0.0, float((found * self.claimed / self.divergences).max()))

    def delta(self, epsilon: float) -> float:
        """Return the delta at an epsilon: linear in e^epsilon between half planes, as their weighted means hold too."""
        check_real("epsilon", epsilon, low=0.0)
        at, delta = np.array(self.points).T
        return float(np.interp(math.exp(min(epsilon, LARGEST_EPSILON)), np.exp(at), delta))


@dataclass(frozen=True)
class ConcentratedDP(RenyiClaim):
    """Zero-concentrated differential privacy (bun2016): Renyi divergences of at most rho times the order, all orders.

    Parameters
    ----------
    rho : float
        Positive; of Gaussian noise half the squared ratio of sensitivity and standard deviation.

    Raises
    ------
    ValueError
        If rho is not positive.

    Examples
    --------
    >>> round(ConcentratedDP(0.5).delta(2.0), 2)  # 0.054 by canonne2020
    0.05
    """

    unit: ClassVar[str] = "rho"
    rho: float

    def __post_init__(self) -> None:
        check_real("rho", self.rho, low=0.0, low_open=True)

    @property
    def claimed(self) -> float:
        """Rho."""
        return float(self.rho)

    @property
    def words(self) -> str:
        """As `0.5-zCDP`."""
        return f"{self.rho:.6g}-zCDP"

    @cached_property
    def orders(self) -> Floats:
        """Those that bound events as rare as 1e-9, close to each other."""
        return np.asarray(1.0 + np.geomspace(0.02, 8.0 + 8.0 / math.sqrt(self.rho), POINTS // 2))

    def twice(self) -> ConcentratedDP:
        """Return 2 rho."""
        return ConcentratedDP(2.0 * self.rho)

    @property
    def divergences(self) -> Floats:
        """Rho times each order."""
        return np.asarray(self.rho * self.orders)

    def shown(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """Return the largest divergence over its order."""
        order = self.orders[:, np.newaxis]
        return np.asarray((_either_way(p, q, order) / order).max(axis=0))


@dataclass(frozen=True)
class RenyiDP(RenyiClaim):
    """Renyi differential privacy of one order (mironov2017).

    Parameters
    ----------
    order : float
        Above 1.
    epsilon : float
        Positive: the largest Renyi divergence of that order, in nats.

    Raises
    ------
    ValueError
        If the order is not above 1, or epsilon is not positive.

    Examples
    --------
    >>> round(float(RenyiDP(2.0, 1.0).shown([0.75], [0.25])[0]), 4)  # ln(9/4 + 1/12)
    0.8473
    """

    order: float
    epsilon: float
    unit: ClassVar[str] = "the Renyi divergence"

    def __post_init__(self) -> None:
        check_real("order", self.order, low=1.0, low_open=True)
        check_real("epsilon", self.epsilon, low=0.0, low_open=True)

    @property
    def claimed(self) -> float:
        """Epsilon."""
        return float(self.epsilon)

    @property
    def words(self) -> str:
        """As `(8, 0.5)-RDP`."""
        return f"({self.order:.6g}, {self.epsilon:.6g})-RDP"

    @property
    def orders(self) -> Floats:
        """The only one."""
        return np.array([self.order], dtype=np.float64)

    @property
    def terms(self) -> dict[str, float]:
        """The order and its divergence."""
        return {"order": float(self.order), "divergence": float(self.epsilon)}

    def twice(self) -> RenyiDP:
        """Return twice the divergence."""
        return RenyiDP(self.order, 2.0 * self.epsilon)

    @property
    def divergences(self) -> Floats:
        """Its divergence."""
        return np.array([self.epsilon], dtype=np.float64)

    def shown(self, p: ArrayLike, q: ArrayLike) -> Floats:
        """Return the divergence of that order."""
        return np.asarray(_either_way(p, q, self.orders[:, np.newaxis])[0])


def _divergence(p: Floats, q: Floats, order: Floats) -> Floats:
    """Return the Renyi divergence of a coin of chance p from one of chance q, in nats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [order * np.log(a) - (order - 1.0) * np.log(b) for a, b in ((p, q), (1.0 - p, 1.0 - q))]
        # A side that p lacks has no mass, whatever q has.
        terms = [np.where(a == 0.0, -np.inf, term) for a, term in zip((p, 1.0 - p), terms, strict=True)]
        return np.asarray(np.logaddexp(*terms) / (order - 1.0))


def _either_way(p: ArrayLike, q: ArrayLike, order: Floats) -> Floats:
    """Return the larger divergence of two directions, shape (orders, events); 0 where p is not the larger."""
    likely, other = (np.atleast_1d(np.asarray(side, dtype=np.float64)) for side in (p, q))
    larger = np.maximum(_divergence(likely, other, order), _divergence(other, likely, order))
    return np.where(likely > other, np.maximum(larger, 0.0), 0.0)
