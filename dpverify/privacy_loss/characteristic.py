"""Moment generating functions of losses along a line of complex arguments, with a bound on the error of every value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.rounding import SUBNORMAL, UNIT

__all__ = ["Line", "LossAtoms", "Nodes"]


class Nodes(NamedTuple):
    """The arguments `tilt + i spacing k`, k = 0, ..., count - 1."""

    tilt: float
    spacing: float
    number: int

    @property
    def heights(self) -> NDArray[np.float64]:
        """The imaginary parts, shape (number,)."""
        return self.spacing * np.arange(self.number, dtype=np.float64)


class Line(NamedTuple):
    """Values `e^log_scale values`, each off by at most `e^log_scale error`; `log_scale` itself is off by `error`."""

    values: NDArray[np.complex128]
    log_scale: float
    error: float

    @property
    def log_moduli(self) -> NDArray[np.float64]:
        """Upper bounds on the logarithms of the moduli, shape (number,)."""
        return np.asarray(self.log_scale + 2.0 * self.error + np.log(np.abs(self.values) + self.error))


@dataclass(frozen=True, eq=False)
class LossAtoms:
    """The atoms of a loss: a measure, which need not have mass 1.

    Parameters
    ----------
    losses : ndarray of float64, shape (atoms,)
        In nats.
    log_masses : ndarray of float64, shape (atoms,)
        The logarithms of their masses.
    """

    losses: NDArray[np.float64]
    log_masses: NDArray[np.float64]

    @classmethod
    def of(cls, losses: NDArray[np.float64], masses: NDArray[np.float64]) -> LossAtoms:
        """Return the atoms without empty ones, but at least one of negligible mass: more mass is more divergence."""
        if losses.size == 0:
            return cls(np.zeros(1), np.full(1, math.log(SUBNORMAL)))
        kept = masses > SUBNORMAL
        lost = masses.size * SUBNORMAL
        kept[np.argmax(losses)] = True
        weights = masses[kept].copy()
        weights[np.argmax(losses[kept])] += lost
        return cls(losses[kept], np.log(weights))

    def log_moment(self, tilt: float) -> float:
        """Return an estimate of `ln sum_i m_i e^(tilt l_i)`."""
        exponents = tilt * self.losses + self.log_masses
        shift = float(exponents.max())
        return shift + math.log(float(np.sum(np.exp(exponents - shift))))

    def along(self, nodes: Nodes) -> Line:
        """Return `sum_i m_i e^(x l_i)` at every node x.

        A node is a multiple of the square root of their number and a rest, so that few exponentials and one product of
        matrices do.

        Notes
        -----
        Of the error, in units u = 2^-53 of the sum W of the weights `e^(tilt l + ln m - shift)`: a weight errs by 6 of
        its largest exponent and 4 (as in `tilting`). A phase `k spacing l` is the sum of two that are rounded twice
        each, 2 |phase|, and exponentials cost 8 each, their product with each other and with the weight 8, a sum of n
        complex products at most 2n. The logarithm of the scale costs 4 of what it is the sum of, and W n.
        """
        exponents = nodes.tilt * self.losses + self.log_masses
        largest = float(np.abs(self.losses).max())
        steepest = float(np.abs(self.log_masses).max()) + nodes.tilt * largest
        shift = float(exponents.max())
        weights = np.exp(exponents - shift)
        total = float(np.sum(weights))
        weights /= total
        fine = math.isqrt(nodes.number - 1) + 1
        coarse = -(-nodes.number // fine)
        angles = nodes.spacing * self.losses
        near = np.exp(1j * np.outer(np.arange(fine), angles))
        far = np.exp(1j * np.outer(fine * np.arange(coarse), angles)) * weights
        values = (far @ near.T).reshape(-1)[: nodes.number]
        turned = nodes.spacing * coarse * fine * largest
        units = 6.0 * steepest + 4.0 * (abs(shift) + abs(math.log(total))) + 2.0 * turned + 4.0 * weights.size + 40.0
        return Line(values, shift + math.log(total), UNIT * units)
