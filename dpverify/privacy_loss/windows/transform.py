"""Composition of privacy loss distributions: tilted Fourier transforms with a bound on every error.

The law of the total loss is computed on a grid after exponential tilting, so that rounding errors are relative to the
mass near the epsilon that is asked for, whatever the size of delta. Each answer is an interval that contains the truth:

- upward: connect-the-dots dominates, cut mass counts as infinite loss, and the errors of masses, losses, transforms,
  sums and of wrapping around (aliasing, by Chernoff's bound) are added;
- downward: the same numerical errors are subtracted, cut mass counts as nothing, and the excess of connect-the-dots is
  bounded by `lower_end.lower_bound`, from the computed profile itself.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.losses.recurrence import decayed_sums, decayed_sums_error
from dpverify.privacy_loss.windows.grid import Bounds, GridPrivacyLoss
from dpverify.privacy_loss.windows.lower_end import lower_bound, shifted_bound
from dpverify.privacy_loss.windows.saddle import TotalLoss
from dpverify.rounding import SUBNORMAL, UNIT, fft_error, norm
from dpverify.search import bisected, crossing, galloped
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["Composition", "WindowTooLargeError"]

_LOG_ALIAS = math.log(1e-18)
"""Tilted mass that may wrap around the window, as a logarithm: well below what the queries can tell apart."""
_NEGLIGIBLE = 1e-20
"""Frequencies whose power is below this, over the length, are set to zero, and charged."""
_TILT_REACH = 2.0
"""A tilted law serves queries within this many of its standard deviations."""
_BYTES_PER_CELL = 64
_WIDELY_SPLIT = 1e-3
"""From this variance of the splits on, a shifted profile may be the better lower bound."""
_UNDERFLOW = 1e-280
"""Charged to every scaled value for products that may have fallen out of the float range."""


@dataclass(frozen=True)
class _Tilted:
    """The profile of the total loss from its tilted law, on a window of the grid.

    `scaled[i]` is `H_eps e^(tilt eps - log_mgf)` at `eps = (first + i) step`, within `absolute_error` and
    `relative_error`.
    """

    step: float
    tilt: float
    log_mgf: float
    mean: float
    deviation: float
    first: int
    scaled: NDArray[np.float64]
    absolute_error: float
    relative_error: float


class WindowTooLargeError(CapacityError):
    """A composition needs more memory at this step than it may take."""


class Composition:
    """The composition of independent mechanisms, each used a number of times.

    - factors: Grid distributions with a common step, and how often each occurs. Adaptive composition is covered: a
      product of dominating pairs dominates it (zhu2022, Theorem 27).
    - max_bytes: The most memory that one transform may take.

    Raises ValueError if the steps differ or a count is below 1. Raises WindowTooLargeError: On a query, if its window
    needs more memory than `max_bytes`: the message says how much, and which step fits.
    """

    def __init__(self, factors: Sequence[tuple[GridPrivacyLoss, int]], *, max_bytes: int = 2**31) -> None:
        if not factors:
            raise ValueError("factors is empty, but must hold at least one (distribution, count).")
        self._factors = [(grid, check_integer("count", count, low=1)) for grid, count in factors]
        self.step = self._factors[0][0].step
        if any(grid.step != self.step for grid, _ in self._factors):
            raise ValueError(f"factors have steps {sorted({g.step for g, _ in self._factors})}, but must share one.")
        self._total = TotalLoss([(grid.moments, count) for grid, count in self._factors], self.step)
        self._max_bytes = check_integer("max_bytes", max_bytes, low=2**16)
        self._tilted: list[_Tilted] = []
        # A factor whose laws are disjoint leaves no finite loss.
        self._singular = any(grid.indices.size == 0 for grid, _ in self._factors)
        self._largest_total = self.step * sum(
            count * int(grid.indices[-1]) for grid, count in self._factors if grid.indices.size
        )
        self._bounds = functools.reduce(operator.and_, (grid.bounds for grid, _ in self._factors))
        self._log_survival = 0.0
        self._log_survival_known = 0.0
        self._loss_error = 0.0
        self._log_total = 0.0
        self._relative_error = 0.0
        self._split_variance = 0.0
        for grid, count in self._factors:
            unbounded = grid.unbounded_mass
            self._log_survival += count * math.log1p(-min(unbounded, 1.0)) if unbounded < 1.0 else -math.inf
            known = grid.infinite_mass * (1.0 - grid.relative_error)
            self._log_survival_known += count * math.log1p(-known) if known < 1.0 else -math.inf
            total = float(grid.masses.sum()) * (1.0 + grid.relative_error + 1e-14)
            self._log_total += count * math.log(max(total, 1e-300))
            self._loss_error += count * (grid.loss_error + 2.0 * UNIT * self._largest(grid))
            self._relative_error += count * grid.relative_error
            self._split_variance += count * grid.split_width**2 / 4.0

    @property
    def loss_error(self) -> float:
        """Bound on the error of the total loss."""
        return self._loss_error

    @property
    def unbounded_mass(self) -> float:
        """Upper bound on the P-mass whose total loss is infinite or unknown."""
        return -math.expm1(self._log_survival) * (1.0 + 4.0 * UNIT)

    @staticmethod
    def _largest(grid: GridPrivacyLoss) -> float:
        return float(np.abs(grid.losses[[0, -1]]).max()) if grid.indices.size else 0.0

    # ------------------------------------------------------------------ the tilted law

    def _tilted_for(self, epsilon: float) -> _Tilted:
        for known in self._tilted:
            if abs(known.mean - epsilon) <= _TILT_REACH * known.deviation or (
                known.tilt == 0.0 and epsilon <= known.mean
            ):
                return known
        tilt = self._total.tilt_at(epsilon)
        for known in self._tilted:  # beyond the reach of any tilt: next to the largest total of the common losses
            if known.tilt == tilt:
                return known
        made = self._transform(tilt)
        self._tilted = [made, *self._tilted[:3]]
        return made

    def _far_end(self, tilt: float, log_mgf: float, variance: float, side: float) -> tuple[int, float]:
        """Return the last cell of the window on one side, and a bound on the tilted mass beyond it.

        Chernoff's bound `P(L >= x) <= exp(K(t+s) - K(t) - s x)` at its best x = K'(t+s), for the s at which it is
        small enough; the end of the support if that comes first.
        """
        extreme = sum(count * int(grid.indices[0 if side < 0 else -1]) for grid, count in self._factors)
        deviation = math.sqrt(max(variance, self.step**2))

        def exponent(shift: float) -> tuple[float, float]:
            shifted, mean, _ = self._total.moments(tilt + side * shift)
            return shifted - log_mgf - side * shift * mean, mean

        def enough(shift: float) -> bool:
            return exponent(shift)[0] <= _LOG_ALIAS

        bracket = galloped(enough, 0.0, 8.0 / deviation, ceiling=8.0 / self.step * (1.0 + 4.0 * UNIT))
        if bracket is None:
            return extreme + round(side), 0.0
        log_tail, mean = exponent(bisected(enough, *bracket, steps=8)[1])
        cell = math.ceil(side * mean / self.step) + 1
        if cell >= side * extreme:
            return extreme + round(side), 0.0
        return round(side) * cell, math.exp(log_tail) * 1.001

    def _window(self, tilt: float, log_mgf: float, variance: float) -> tuple[int, int, float]:
        """Return the first cell and length of a window, and a bound on the tilted mass outside it."""
        first, left = self._far_end(tilt, log_mgf, variance, -1.0)
        last, right = self._far_end(tilt, log_mgf, variance, 1.0)
        outside = left + right
        length = 2 ** max(6, math.ceil(math.log2(last - first + 1)))
        if length * _BYTES_PER_CELL > self._max_bytes:
            fitting = (last - first + 1) * self.step / (self._max_bytes // _BYTES_PER_CELL) * 2.0
            raise WindowTooLargeError(
                f"a transform of about {length * _BYTES_PER_CELL / 2**20:.0f} MiB is needed, but at most "
                f"{self._max_bytes / 2**20:.0f} MiB are allowed; step={self.step:g} is too small, and "
                f"{fitting:.2g} fits."
            )
        return first - (length - (last - first + 1)) // 2, length, outside

    def _transform(self, tilt: float) -> _Tilted:
        log_mgf, mean, variance = self._total.moments(tilt)
        first, length, alias = self._window(tilt, log_mgf, variance)
        masses, mass_error, relative_error = self._convolve(tilt, first, length)
        # scaled_i = sum_{j>i} m_j (r^(j-i) - (rs)^(j-i)) with r = e^(-th), s = e^(-h), by two recurrences downwards:
        # u_i = m_i + rs u_{i+1};  scaled_{i-1} = r (scaled_i + (1-s) u_i).
        decay = math.exp(-tilt * self.step)
        sums = decayed_sums(masses[::-1], (tilt + 1.0) * self.step)
        scaled = np.zeros(length)
        scaled[:-1] = -decay * math.expm1(-self.step) * decayed_sums(sums[:-1], tilt * self.step)[::-1]
        # The sums, their rates (two units of each exponent (t+1) h k), and the constant before them.
        recurrence_error = 2.0 * decayed_sums_error(length) + UNIT * (8.0 + 2.0 * (tilt + 1.0) * self.step * length)
        # Errors of the masses reach `scaled` through its weights: their 2-norm, and the largest for aliased mass.
        weight_norm, highest = math.sqrt(length), 1.0
        if tilt > 0:
            highest = (tilt / (1.0 + tilt)) ** tilt / (1.0 + tilt)
            both = math.expm1(-tilt * self.step) * math.expm1(-(tilt + 1.0) * self.step)
            total = decay * -math.expm1(-self.step) / both
            weight_norm = min(weight_norm, math.sqrt(highest * total))
        return _Tilted(
            self.step,
            tilt,
            log_mgf,
            mean,
            math.sqrt(max(variance, self.step**2)),
            first,
            scaled,
            (mass_error * weight_norm + alias * highest * math.exp(min(relative_error, 700.0))) * (1.0 + 1e-6)
            + _UNDERFLOW,
            math.expm1(relative_error + recurrence_error),
        )

    def _convolve(self, tilt: float, first: int, length: int) -> tuple[NDArray[np.float64], float, float]:
        """Return the tilted masses on the window, the 2-norm of their error, and a bound on their relative error.

        docs/accounting.md derives the constants ("From a grid to many instances").
        """
        alive = np.arange(length // 2 + 1)
        log_modulus, phase, turned = (np.zeros(alive.size) for _ in range(3))
        negligible = math.log(_NEGLIGIBLE / length)
        relative_error, moved, grown = self._relative_error, 0.0, 0.0
        for grid, count in self._factors:
            factor = grid.transforms.at(tilt, length)
            # The logarithm of its moment generating function is off, too: by its sums, and by that of the factors.
            log_mgf = abs(grid.moments.at(tilt)[0])
            scale = 2.0 * math.log(grid.masses.size + 1.0) + (len(self._factors) + 2.0) * log_mgf
            relative_error += count * (factor.relative_error + UNIT * scale)
            moved += count * factor.error
            grown += count * (factor.error + factor.excess)
            values = factor.values[alive]
            square = values.real**2 + values.imag**2
            floor = math.exp(negligible / count) - factor.error
            kept = np.flatnonzero(square >= max(floor, 0.0) ** 2 * (1.0 - 1e-12))
            alive, log_modulus, phase, turned = alive[kept], log_modulus[kept], phase[kept], turned[kept]
            angle = count * np.angle(values[kept])
            log_modulus += count * 0.5 * np.log(np.maximum(square[kept], 1e-300))
            phase += angle
            turned += np.abs(angle)
        sizes = np.exp(log_modulus)
        # e^{2 pi i f first / length}, with the integer product reduced exactly before it is scaled.
        turns = (alive * (first % length)) % length
        spectrum = np.zeros(length // 2 + 1, dtype=np.complex128)
        spectrum[alive] = sizes * np.exp(1j * (phase + 2.0 * math.pi / length * turns))
        masses = np.fft.irfft(spectrum, length)
        counts = sum(count for _, count in self._factors)
        units = (10.0 + len(self._factors)) * (turned + np.abs(log_modulus)) + counts + 48.0
        error = moved * math.exp(min(grown, 700.0)) + math.exp(negligible) * length
        # The other half of the frequencies is the conjugate of this one: sqrt(2) in the 2-norm.
        error += 1.5 * (norm(UNIT * sizes * units) + fft_error(length) * norm(sizes))
        return masses, error / math.sqrt(length), relative_error

    # ------------------------------------------------------------------ queries

    def _finite_delta(self, epsilon: float) -> tuple[float, float]:
        """Return lower and upper bounds on the divergence of the grid pair, without infinite and missing mass."""
        if self._singular or epsilon - self._loss_error > self._largest_total * (1.0 + 4.0 * UNIT) + self.step:
            return 0.0, 0.0
        law = self._tilted_for(epsilon)
        edge = abs(law.first) + law.scaled.size
        slack = self._loss_error + 4.0 * UNIT * (abs(epsilon) + self.step * edge)
        bounds = []
        for sign in (-1.0, 1.0):
            query = epsilon - sign * slack
            cell = math.floor(query / self.step) - law.first
            if cell < 0:
                # Below the window, by convexity in e^eps: at most the chord from the mass at e^eps = 0 to the left
                # end, and at least the line through the first two points.
                share = math.exp(query - law.first * self.step)
                value = self._at(law, 0, sign)
                if sign > 0:
                    value = value * share + math.exp(min(self._log_total, 0.0)) * (1.0 - share)
                else:
                    value += max(value - self._at(law, 1, 1.0), 0.0) * (1.0 - share) / math.expm1(self.step)
            else:
                # Between grid points the profile is linear in e^eps.
                cell = min(cell, law.scaled.size - 2)
                offset = min(max(query - (law.first + cell) * self.step, 0.0), self.step)
                share = math.exp(offset - self.step) * math.expm1(-offset) / math.expm1(-self.step)
                value = (1.0 - share) * self._at(law, cell, sign) + share * self._at(law, cell + 1, sign)
            bounds.append(max(value * (1.0 + sign * 64.0 * UNIT) + sign * SUBNORMAL, 0.0))
        return bounds[0], bounds[1]

    def _finite_lower(self, epsilon: float) -> float:
        return self._finite_delta(epsilon)[0]

    def _finite_upper(self, epsilon: float) -> float:
        return self._finite_delta(epsilon)[1]

    @staticmethod
    def _at(law: _Tilted, index: int, sign: float) -> float:
        """Return a bound (sign 1: upper, -1: lower) on the profile at one cell of the window."""
        exponent = law.log_mgf - law.tilt * (law.first + index) * law.step
        relative = law.relative_error + UNIT * (64.0 + 8.0 * abs(law.log_mgf) + 8.0 * abs(exponent))
        scaled = float(law.scaled[index]) * (1.0 + sign * relative) + sign * law.absolute_error
        if scaled <= 0.0:
            return 0.0
        if exponent > 700.0:
            return 1.0 if sign > 0 else 0.0
        return min(scaled * math.exp(exponent), 1.0)

    def delta(self, epsilon: float) -> Interval:
        """Return the hockey-stick divergence `H_eps` of the composed pair, with its proved error.

        - epsilon: Any finite real number, in nats.

        Returns: An end that some factor does not prove (its `bounds`) is the one that holds for every pair: `upper` 1,
        and `lower` 0 or `1 - e^epsilon`.
        """
        check_real("epsilon", epsilon)
        return Interval.proved(self._delta_lower(epsilon), self.delta_upper(epsilon))

    def delta_upper(self, epsilon: float) -> float:
        """Return only the upper bound of `delta`, at less than half the cost."""
        if Bounds.UPPER not in self._bounds:
            return 1.0
        return min(1.0, (self._finite_upper(epsilon) + self.unbounded_mass) * (1.0 + 2.0 * UNIT))

    def _delta_lower(self, epsilon: float) -> float:
        # H_eps >= 1 - e^eps holds for every pair.
        floor = -math.expm1(epsilon) * (1.0 - 4.0 * UNIT) if epsilon < 0 else 0.0
        if Bounds.LOWER not in self._bounds:
            return floor
        known = -math.expm1(self._log_survival_known) * (1.0 - 8.0 * UNIT)
        lower = self._finite_lower(epsilon)
        if self._split_variance > 0.0:
            lower = lower_bound(epsilon, lower, self._finite_upper, self._split_variance)
        if self._split_variance > _WIDELY_SPLIT:
            lower = max(lower, shifted_bound(epsilon, self._finite_lower, self._split_variance))
        return min(max((lower + known) * (1.0 - 2.0 * UNIT), floor), 1.0)

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 with `H_eps <= delta`, with its proved error.

        - delta: In (0, 1).

        Returns: `upper` is inf if the infinite and missing mass exceed delta, or some factor proves no upper bound;
        `lower` is 0 if some factor proves no lower one.
        """
        return Interval.proved(self.epsilon_lower(delta), self.epsilon_upper(delta))

    def epsilon_lower(self, delta: float) -> float:
        """Return only the lower bound of `epsilon`, at half the cost."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        if -math.expm1(self._log_survival_known) * (1.0 - 8.0 * UNIT) > delta and Bounds.LOWER in self._bounds:
            return math.inf
        if self._singular or Bounds.LOWER not in self._bounds:
            return 0.0
        return self._crossing(delta, self.saddle_point(delta)[0], self._delta_lower, above=False)

    def epsilon_upper(self, delta: float) -> float:
        """Return only the upper bound of `epsilon`, at half the cost."""
        check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
        if -math.expm1(self._log_survival) > delta or Bounds.UPPER not in self._bounds:
            return math.inf
        if self._singular:
            return 0.0
        return self._crossing(delta, self.saddle_point(delta)[0], self.delta_upper, above=True)

    def saddle_point(self, delta: float) -> tuple[float, float, float]:
        """Return estimates of epsilon at delta, of its tilt, and of the total loss's standard deviation there."""
        return (0.0, 0.0, 0.0) if self._singular else self._total.saddle_point(delta)

    def tilt_at(self, epsilon: float) -> float:
        """Return the tilt, approximately, at which the mean of the total loss is epsilon."""
        return 0.0 if self._singular else self._total.tilt_at(epsilon)

    def _crossing(self, delta: float, guess: float, profile: Callable[[float], float], *, above: bool) -> float:
        return crossing(
            profile,
            delta,
            guess,
            slope=lambda epsilon: self._tilted_for(epsilon).tilt + 0.5,
            above=above,
            scale=self.step,
        )
