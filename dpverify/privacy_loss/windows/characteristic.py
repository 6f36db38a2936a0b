"""Moment generating functions of losses along a line of complex arguments, with a bound on the error of every value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.rounding import SUBNORMAL, UNIT
from protocols.classes.frozen import dataclass

__all__ = ["Line", "LossAtoms", "Nodes", "all_faded", "log_moduli_of"]

_KEPT = 8
"""How many lines are kept: many mixes of the same losses share one."""
_FADES = np.arange(0.0, 4.01, 0.5)
"""How far before the loss that is cut a fade may begin, in standard deviations: the farthest one that is allowed."""
_FADED = 50.0
"""Atoms that would fade by more than this, in logarithms, are left out."""


_TOGETHER = 2**15
"""About so many atoms, of many losses, are looked at in one go."""


class Nodes(NamedTuple):
    """The arguments `tilt + i spacing k`, k = 0, ..., number - 1.

    With places, from 0 to number - 1 by powers of two, only these k are looked at, and all between two of them
    together.
    """

    tilt: float
    spacing: float
    number: int
    places: tuple[int, ...] = ()

    @property
    def gaps(self) -> NDArray[np.int64]:
        """After which of the places, by their index, others lie that are looked at together, shape (gaps,)."""
        return np.flatnonzero(np.diff(self.places) > 1)

    @property
    def values(self) -> int:
        """How many values tell of all nodes: one for each that is looked at, and behind these one for each gap."""
        return len(self.places) + self.gaps.size if self.places else self.number

    @property
    def heights(self) -> NDArray[np.float64]:
        """The imaginary parts of those that are looked at."""
        return self.spacing * np.array(self.places or range(self.number), dtype=np.float64)


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
        return cls.rows(losses[None], masses[None])[0]

    @classmethod
    def rows(cls, losses: NDArray[np.float64], masses: NDArray[np.float64]) -> list[LossAtoms]:
        """Return the same for each row, of one loss or more."""
        kept, weights, numbers = masses > SUBNORMAL, masses.copy(), np.arange(len(masses))
        largest = losses.argmax(axis=1)
        kept[numbers, largest] = True
        weights[numbers, largest] += masses.shape[1] * SUBNORMAL
        log_masses = np.log(np.where(kept, weights, 1.0))
        whole = np.asarray(kept.all(axis=1))
        return [
            cls(losses[row], log_masses[row]) if whole[row] else cls(losses[row, seen], log_masses[row, seen])
            for row, seen in enumerate(kept)
        ]

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
        return all_faded([self], np.array([allowed]))[0]

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


def all_faded(every: Sequence[LossAtoms], allowed: NDArray[np.float64]) -> list[LossAtoms]:
    """Return `LossAtoms.faded` of each, by the mass that each allows, shape (losses,)."""
    step = max(_TOGETHER // max(atoms.losses.size for atoms in every), 1)
    parts = (slice(first, first + step) for first in range(0, len(every), step))
    return [atoms for part in parts for atoms in _faded(every[part], allowed[part])]


def _faded(every: Sequence[LossAtoms], allowed: NDArray[np.float64]) -> Iterator[LossAtoms]:
    losses, log_masses = _side_by_side(every, math.inf)
    if not (losses[:, 1:] >= losses[:, :-1]).all():
        order = np.argsort(losses, axis=1)
        losses, log_masses = (np.take_along_axis(values, order, axis=1) for values in (losses, log_masses))
    numbers, ends = np.arange(len(every)), np.array([atoms.losses.size for atoms in every]) - 1
    np.copyto(losses, losses[numbers, ends, None], where=losses == math.inf)
    masses, room = np.exp(log_masses), allowed[:, None] * (1.0 - 1e-9)
    shares = masses / masses.sum(axis=1, keepdims=True)
    means = np.sum(shares * losses, axis=1, keepdims=True)
    deviations = np.sqrt(np.sum(shares * (losses - means) ** 2, axis=1, keepdims=True))
    # The last loss beyond which there is no more than the room.
    beyond = np.append(np.cumsum(masses[:, ::-1], axis=1)[:, -2::-1], np.zeros((len(every), 1)), axis=1)
    edges = losses[numbers, (beyond <= room).argmax(axis=1), None]
    able = (deviations[:, 0] > 0.0) & (masses[numbers, ends] > 0.0)
    first = int((losses >= edges - _FADES[-1] * deviations)[able].argmax(axis=1).min(initial=losses.shape[1]))
    away = (losses[:, first:] - edges) / np.where(able[:, None], deviations, 1.0)

    def fades(places: NDArray[np.int64]) -> NDArray[np.float64]:
        squares = -0.5 * np.maximum(away + _FADES[places][:, None], 0.0) ** 2
        return np.where(squares >= -_FADED, squares, -math.inf)

    # The farthest beginning that is allowed; the nearer the less fades.
    least, most = np.full(len(every), -1), np.full(len(every), _FADES.size)
    while (open_ := most - least > 1).any():
        middle = np.where(open_, (least + most) // 2, 0)
        holds = np.sum(masses[:, first:] * -np.expm1(fades(middle)), axis=1) <= room[:, 0]
        least, most = np.where(open_ & holds, middle, least), np.where(open_ & ~holds, middle, most)
    log_masses[:, first:] += fades(np.maximum(least, 0))
    kept = np.sum(log_masses > -math.inf, axis=1)
    for row, atoms in enumerate(every):
        fading = able[row] and least[row] >= 0
        yield LossAtoms(losses[row, : kept[row]], log_masses[row, : kept[row]]) if fading else atoms


def _side_by_side(every: Sequence[LossAtoms], missing: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return losses and logarithms of masses, shape (losses, atoms): a row that has less ends in `missing`, of none."""
    shape = len(every), max(atoms.losses.size for atoms in every)
    losses, log_masses = np.full(shape, missing), np.full(shape, -math.inf)
    for row, atoms in enumerate(every):
        losses[row, : atoms.losses.size], log_masses[row, : atoms.losses.size] = atoms.losses, atoms.log_masses
    return losses, log_masses


def log_moduli_of(every: Sequence[LossAtoms], nodes: Nodes, *, spared: float = UNIT) -> NDArray[np.float64]:
    """Return upper bounds on the logarithms of the moduli of many losses, shape (losses, nodes.values).

    - every: The atoms of each.
    - nodes, spared: As for `LossAtoms.along`.

    *Between two places*, s_a and s_b, `g = |phi|^2 / phi(tilt)^2` is the mean of cos(s (l - l')) over two independent
    tilted losses, so that its second derivative is at most twice their variance V: g is below its chord by no more than
    that times (s_b - s_a)^2 / 8, and at most `max(g(s_a), g(s_b)) + V (s_b - s_a)^2 / 4`.
    """
    if not nodes.places:
        return np.array([atoms.along(nodes, spared=spared).log_moduli for atoms in every])
    most = max(atoms.losses.size for atoms in every)
    step = max(_TOGETHER // most, 1)
    return np.concatenate(
        [_thinned(every[first : first + step], nodes, spared) for first in range(0, len(every), step)]
    )


def _thinned(every: Sequence[LossAtoms], nodes: Nodes, spared: float) -> NDArray[np.float64]:
    """Return them for some losses at once; the errors are those of `LossAtoms._line`, but for those of the turns."""
    losses, log_masses = _side_by_side(every, 0.0)
    shape, exponents = losses.shape, nodes.tilt * losses + log_masses
    steepest = np.abs(np.where(log_masses > -math.inf, log_masses, 0.0)).max(axis=1)
    steepest += nodes.tilt * np.abs(losses).max(axis=1)
    shifts = exponents.max(axis=1)
    weights = np.exp(exponents - shifts[:, None])
    totals = weights.sum(axis=1)
    weights /= totals[:, None]
    sizes = weights * np.abs(losses)
    mean_sizes, means = sizes.sum(axis=1), (weights * losses).sum(axis=1)
    variances = (weights * (losses - means[:, None]) ** 2).sum(axis=1)
    variances *= 1.0 + UNIT * (12.0 * steepest + 2.0 * shape[1] + 128.0)
    unseen = sizes <= spared / shape[1] * mean_sizes[:, None]
    seen = ~unseen.all(axis=0)
    losses, weights = np.compress(seen, losses, axis=1), np.compress(seen, weights, axis=1)
    # As a product of real matrices, which is several times as quick.
    pairs = (
        turned.view(np.float64).reshape(*losses.shape, 2) for turned in _turned(nodes.spacing * losses, nodes.places)
    )
    parted = np.concatenate([np.matmul(weights[:, None], pair) for pair in pairs], axis=1)
    deviations = parted.view(np.complex128)[:, :, 0]
    size = np.outer(mean_sizes, nodes.heights) * (1.0 + 1e-9)
    parts = np.minimum(size, 3.0)
    turns = 16.0 + 4.0 * nodes.number.bit_length() + len(nodes.places)
    errors = UNIT * (turns * size + (12.0 * losses.shape[1] + 6.0 * steepest[:, None] + 64.0) * parts) + spared * size
    log_totals = np.log(totals)
    units = 6.0 * steepest + 4.0 * (np.abs(shifts) + np.abs(log_totals)) + 40.0 + math.log2(shape[1])
    line = Line(deviations, errors, 0.0, 0.0)
    squares = (line.moduli + errors + 4.0 * UNIT) ** 2
    gaps = nodes.gaps
    widths = nodes.heights[gaps + 1] - nodes.heights[gaps]
    between = np.maximum(squares[:, gaps], squares[:, gaps + 1]) + 0.25 * np.outer(variances, widths**2)
    ratios = np.append(line.log_ratios, 0.5 * np.log(between) + 8.0 * UNIT, axis=1)
    return np.asarray((shifts + log_totals + UNIT * units)[:, None] + ratios)


def _turned(angles: NDArray[np.float64], places: Sequence[int]) -> Iterator[NDArray[np.complex128]]:
    """Yield `e^(i k a) - 1` for k in places, shape (losses, angles): 0, and on by powers of two.

    In units of 2^-53 times the angle, of which `_turns` has more: that of 1 is off by 7; that of each next power, made
    from p, of an angle b, as p (p + 2), by 4 more, as its sum and product, of modulus 2 b at most, add 4 of 2 b and
    |1 + p| = 1; and a step by an angle b passes on what it and the last place are off by, and adds 7 of b and one of
    all. So that of k is off by 15 + 4 j + n, j the largest power and n the number of places.
    """
    half = np.sin(0.5 * angles)
    powers = [-2.0 * half * half + 1j * np.sin(angles)]
    steps = np.diff(places).tolist()
    while 1 << len(powers) <= max(steps, default=1):
        powers.append((powers[-1] + 2.0) * powers[-1])
    last = np.zeros(angles.shape, dtype=np.complex128)
    yield last
    for each in steps:
        step = powers[each.bit_length() - 1]
        made = last * step
        made += step
        made += last
        last = made
        yield last


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
