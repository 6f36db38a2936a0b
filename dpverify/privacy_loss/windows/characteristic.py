"""Moment generating functions of losses along a line of complex arguments, with a bound on the error of every value."""

from __future__ import annotations

import math
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.rounding import SUBNORMAL, UNIT
from protocols.classes.frozen import dataclass

__all__ = ["Line", "LossAtoms", "Nodes"]

_KEPT = 8
"""How many lines are kept: many mixes of the same losses share one."""
_FADES = np.arange(0.0, 4.01, 0.5)
"""How far before the loss that is cut a fade may begin, in standard deviations: the farthest one that is allowed."""
_FADED = 50.0
"""Atoms that would fade by more than this, in logarithms, are left out."""


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
    """Values `e^log_scale (1 + deviations)`, shape (number,).

    Each deviation is off by at most its entry of `errors`, and `log_scale` by `scale_error`.
    """

    deviations: NDArray[np.complex128]
    errors: NDArray[np.float64]
    log_scale: float
    scale_error: float

    @property
    def moduli(self) -> NDArray[np.float64]:
        """`|1 + deviations|`, shape (number,)."""
        return np.asarray(np.abs(1.0 + self.deviations))

    @property
    def log_ratios(self) -> NDArray[np.float64]:
        """Upper bounds on the logarithms of the moduli over that of the first, shape (number,).

        Near 1 from the deviation, as 1 + deviations has lost its digits.
        """
        square = self.deviations.real**2 + self.deviations.imag**2
        near = 0.5 * np.log1p(np.maximum(2.0 * self.deviations.real + square, -0.75)) + 2.0 * self.errors
        return np.asarray(np.where(self.moduli > 0.5, near, np.log(self.moduli + self.errors + 4.0 * UNIT)))

    @property
    def log_moduli(self) -> NDArray[np.float64]:
        """Upper bounds on the logarithms of the moduli, shape (number,)."""
        return np.asarray(self.log_scale + self.scale_error + self.log_ratios)


@dataclass(frozen=True, eq=False)
class LossAtoms:
    """The atoms of a loss: a measure, which need not have mass 1.

    - losses (ndarray of float64, shape (atoms,)): In nats.
    - log_masses (ndarray of float64, shape (atoms,)): The logarithms of their masses.
    """

    losses: NDArray[np.float64]
    log_masses: NDArray[np.float64]
    _kept: dict[tuple[Nodes, float], Line] = field(default_factory=dict, init=False, repr=False)

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

    def log_moments(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return upper bounds on `ln sum_i m_i e^(tilt l_i)`, shape (tilts,); errors are those of `log_scale` below."""
        exponents = np.outer(tilts, self.losses) + self.log_masses
        shifts = exponents.max(axis=1)
        log_totals = np.log(np.sum(np.exp(exponents - shifts[:, None]), axis=1))
        steepest = float(np.abs(self.log_masses).max()) + np.abs(tilts) * float(np.abs(self.losses).max())
        units = 6.0 * steepest + 4.0 * (np.abs(shifts) + log_totals) + 40.0 + math.log2(self.losses.size)
        return np.asarray(shifts + log_totals + UNIT * units)

    def faded(self, allowed: float) -> LossAtoms:
        """Return the atoms without the rarest of the large losses, which fade out, by an allowed mass in all.

        A mass falls by the factor e^(-z^2/2), z standard deviations beyond where the fade begins: moments of losses
        that end abruptly are less smooth.
        """
        order = np.argsort(self.losses)
        losses, log_masses = self.losses[order], self.log_masses[order]
        masses, room = np.exp(log_masses), allowed * (1.0 - 1e-9)
        share = masses / float(np.sum(masses))
        deviation = math.sqrt(float(np.sum(share * (losses - float(np.sum(share * losses))) ** 2)))
        # The last loss beyond which there is no more than the room.
        last = int(np.argmax(np.append(np.cumsum(masses[::-1])[::-1][1:], 0.0) <= room))
        if deviation == 0.0 or masses[-1] == 0.0:
            return self
        first = int(np.searchsorted(losses, losses[last] - _FADES[-1] * deviation))
        away = np.maximum(losses[first:] - (losses[last] - deviation * _FADES)[:, None], 0.0) / deviation
        fades = np.where(0.5 * away**2 <= _FADED, -0.5 * away**2, -math.inf)
        allowed_fades = np.flatnonzero(np.sum(masses[first:] * -np.expm1(fades), axis=1) <= room)
        if allowed_fades.size == 0:
            return self
        log_masses = log_masses + np.append(np.zeros(first), fades[allowed_fades[-1]])
        kept = log_masses > -math.inf
        return LossAtoms(losses[kept], log_masses[kept])

    def along(self, nodes: Nodes, *, spared: float = UNIT) -> Line:
        """Return `sum_i m_i e^(x l_i)` at every node x.

        - nodes: x.
        - spared: The share of the mean of `|l|`, tilted, whose atoms may be left out and charged to the errors.
        """
        line = self._kept.pop((nodes, spared), None) or self._line(nodes, spared)
        self._kept[nodes, spared] = line
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return line

    def _line(self, nodes: Nodes, spared: float) -> Line:
        """Return the values at the nodes, and what they are off by.

        A node is a multiple of the square root of their number and a rest, so that few exponentials and one product of
        matrices do. With N and F those of a rest and of a multiple, less 1, `e^(i s l) - 1 = N F + N + F`.

        Errors in units u = 2^-53, for weights `e^(tilt l + ln m - shift)` that are divided by their sum, S. A weight
        errs by 6 of the largest part of its exponent and 4, as in `tilting`, and so does S, with 32 + log2(atoms) for
        its sum and 4 for each of the two parts of its logarithm. Angles a, b >= 0 of a rest and a multiple, a + b =
        s |l|, have N and F off by 15 a and 15 b: see `_turns`. Hence N F + N + F, the parts of which add up to at most
        3 (a + b) and 8, is off by 40 (a + b), and the sum of n of them, weighted, by 4 n of those parts; rounding the
        result costs 16 more.
        """
        exponents = nodes.tilt * self.losses + self.log_masses
        steepest = float(np.abs(self.log_masses).max()) + nodes.tilt * float(np.abs(self.losses).max())
        shift = float(exponents.max())
        weights = np.exp(exponents - shift)
        total = float(np.sum(weights))
        weights /= total
        sizes = weights * np.abs(self.losses)
        size = nodes.heights * float(np.sum(sizes)) * (1.0 + 1e-9)
        # What is left out moves no value by more than `|e^(i s l) - 1| <= s |l|` of it.
        seen = sizes > spared / sizes.size * float(np.sum(sizes))
        weights, losses = weights[seen], self.losses[seen]
        fine = math.isqrt(nodes.number - 1) + 1
        coarse = -(-nodes.number // fine)
        angles = nodes.spacing * losses
        near, far = _turns(angles, fine), _turns(fine * angles, coarse)
        weighted = far * weights
        deviations = weighted @ near.T
        deviations += (near @ weights)[None, :]
        deviations += np.sum(weighted, axis=1)[:, None]
        parts = np.minimum(size, 3.0)
        log_total = math.log(total)
        log_scale_units = 6.0 * steepest + 4.0 * (abs(shift) + abs(log_total)) + 40.0 + math.log2(self.losses.size)
        return Line(
            deviations.reshape(-1)[: nodes.number],
            UNIT * (41.0 * size + (12.0 * weights.size + 6.0 * steepest + 64.0) * parts) + spared * size,
            shift + log_total,
            UNIT * log_scale_units,
        )


def _turns(angles: NDArray[np.float64], number: int) -> NDArray[np.complex128]:
    """Return `e^(i k a) - 1` for k = 0, ..., number - 1, shape (number, angles).

    Those of powers of two as they are, all others from them, as products are many times as quick as sines.

    In units u: an angle a is off by 2 a, and twice or half of it by no more; the value of a power of two, of modulus at
    most a, by 5 a more: a sine errs by 2, its square by 5. Of values p and q of angles a <= b, `p q + p + q` passes
    their errors on, as |1 + p| = |1 + q| = 1. The product, of modulus 2 a at most, errs by sqrt 5 of that, the first
    sum, of modulus |p|, by a, and the second by a + b: less than 7 a + b. The powers b of a k add up to k angles, and
    so do, at most, the a below them. All that is 15 of the angle k a.
    """
    made = np.zeros((number, angles.size), dtype=np.complex128)
    # The sine of half an angle is that of the power before.
    sines = np.sin(np.ldexp(angles, np.arange(-1, (number - 1).bit_length())[:, None]))
    powers = -2.0 * sines[:-1] ** 2 + 1j * sines[1:]
    for place, power in enumerate(powers):
        known = 2**place
        before, after = made[: number - known][:known], made[known : 2 * known]
        np.multiply(before, power, out=after)
        after += before
        after += power
    return made
