"""Composition along a contour: any number of copies of each factor at the same cost, and no window.

`contour` says why the sum of a product's moment generating function over the nodes of a line bounds its profile. Here
the phases are kept, so that the sum exceeds the profile only by its *aliases*, the values of `d` a period
2 pi / w away, and by the smoothing. For a lower bound the aliases are charged by Chernoff's bound,

    d(y) <= e^(tau y) c(u) phi(1 + u) e^(-u y) <= phi(1 + u) e^((tau - u) y)   for every u > 0 (`concentration`),

with u above tau to the right and below to the left, where they are geometric series, and the smoothing like the
splitting of losses: e^X has mean 1 and `ln E e^(sX) = v s (s - 1) / 2`, which is all that `lower_end` uses of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.windows.characteristic import Nodes
from dpverify.privacy_loss.windows.contour import Contour
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss
from dpverify.privacy_loss.windows.saddle import rounded_tilt
from dpverify.privacy_loss.windows.transform import Composition
from dpverify.rounding import SUBNORMAL, UNIT, summation_error
from dpverify.search import crossing, crossing_height
from protocols.classes.frozen import dataclass

__all__ = ["ContourComposition", "MixesBound"]

_SMOOTHING = 1e-6
"""The extra variance of the total loss, relatively."""
_SHARED_SMOOTHING = 2e-4
"""The same on a line that many compositions share: half of that is what it costs of epsilon, for few nodes."""
_SHARED_NEAR = 2.0
"""How near to the wanted tilt such a line's is, in units of one per deviation: its mean is off by half of this."""
_REACH = 2.0
"""A line serves queries within this many standard deviations of the tilted total loss."""
_KEPT = 4
_LEAST_LEFT = 1e-290
"""Of delta: below it floats have fewer digits."""


@dataclass(frozen=True)
class _Line:
    """Weighted values of the product along one contour, in units of e^log_scale, and what each is off by at most.

    The aliases of d at a query x, in these units, are at most `sum_i e^(aliases_i[0] + aliases_i[1] x)`.
    """

    contour: Contour
    mean: float
    deviation: float
    log_scale: float
    scale_error: float
    log_moduli: NDArray[np.float64]
    phases: NDArray[np.float64]
    errors: NDArray[np.float64]
    aliases: tuple[tuple[float, float], ...]


class ContourComposition(Composition):
    """The composition of independent mechanisms, each used a number of times, by a sum along a contour.

    - factors: As for `Composition`, of which this is a second opinion: it shares the factors' listing and the treatment
      of infinite losses and of splitting, but neither windows nor Fourier transforms. Grids of a few hundred points are
      enough for 1e-4 of epsilon; the cost does not depend on the counts.
    - shared_at: Where on the delta axis the composition will be asked, for quick answers about 1e-4 wider: from one
      line, of few that are the same for other numbers of the same factors, so that what a factor adds to it is computed
      once.
    """

    def __init__(self, factors: Sequence[tuple[GridPrivacyLoss, int]], *, shared_at: float | None = None) -> None:
        super().__init__(factors)
        self._atoms = [(grid.atoms, count) for grid, count in self._factors]
        self._smoothing = 0.0
        self._lines: list[_Line] = []
        self._shared: _Line | None = None
        if not self._singular:
            if shared_at is None:
                self._smoothing = _rounded(_SMOOTHING * max(self._total.moments(0.0)[2], self.step**2))
            else:
                tilt = self.tilt_at(self.saddle_point(shared_at)[0])
                # By a share of the tilt it would be many deviations where delta is small, and the line of no use.
                tilt = rounded_tilt(tilt, self._total.moments(tilt), _SHARED_NEAR)
                deviation = _rounded(math.sqrt(max(self._total.moments(tilt)[2], self.step**2)), 2.0)
                self._smoothing = _SHARED_SMOOTHING * deviation**2
                self._shared = self._line(Contour.at(tilt, deviation, self._smoothing), deviation)
            self._split_variance += self._smoothing

    @property
    def singular(self) -> bool:
        """Whether some mechanism has no finite loss, so that there is no contour."""
        return self._singular

    def tilt_at(self, epsilon: float) -> float:
        """Return the tilt of the line for an epsilon: positive, at most about one deviation right of the mean's."""
        if self._singular:
            return 0.0
        tilt = self._total.tilt_at(epsilon)
        moments = self._total.moments(tilt)
        right = 1.0 / (math.sqrt(max(moments[2], self.step**2)) + max(moments[1] - epsilon, 0.0))
        return rounded_tilt(tilt + right, moments)

    def _line_for(self, epsilon: float) -> _Line:
        if self._shared is not None:
            return self._shared
        for known in self._lines:
            if abs(known.mean - epsilon) <= _REACH * known.deviation:
                return known
        tilt = self.tilt_at(epsilon)
        deviation = math.sqrt(max(self._total.moments(tilt)[2], self.step**2))
        made = self._line(Contour.at(tilt, _rounded(deviation), self._smoothing), deviation)
        if abs(made.mean - epsilon) <= _REACH * made.deviation:
            self._lines = [made, *self._lines[: _KEPT - 1]]
        return made

    def contour_at(self, epsilon: float) -> Contour:
        """Return a contour at which moduli alone bound the profile best near epsilon.

        A modulus is about `e^(K(t) - t epsilon) / (t (1 + t))`, least where the tilted mean exceeds epsilon by 1/t.
        """
        right = 1.0 / max(self._total.tilt_at(epsilon), 1.0 / math.sqrt(max(self._total.moments(0.0)[2], self.step**2)))
        # Left of the mean that is 0, which is no contour.
        tilt = self._total.tilt_at(epsilon + right) or self.tilt_at(epsilon)
        variance = self._total.moments(tilt)[2]
        return Contour.at(tilt, _rounded(math.sqrt(max(variance, self.step**2))), self._smoothing)

    def log_integral(self, contour: Contour) -> float:
        """Return an upper bound on ln J, where `H_x <= J e^(-tilt x)` for every x, finite losses as they are listed."""
        log_moduli, size = np.zeros(contour.count), np.zeros(contour.count)
        for atoms, count in self._atoms:
            part = count * atoms.along(contour.nodes).log_moduli
            log_moduli += part
            size += np.abs(part)
        log_moduli += (len(self._atoms) + 1.0) * UNIT * size
        return float(contour.log_integral(log_moduli)) + self._relative_error * (1.0 + 2.0 * UNIT)

    def _line(self, contour: Contour, deviation: float) -> _Line:
        log_moduli, phases, turned, errors = (np.zeros(contour.count) for _ in range(4))
        log_scale = size = 0.0
        for atoms, count in self._atoms:
            line = atoms.along(contour.nodes)
            angles = np.arctan2(line.deviations.imag, 1.0 + line.deviations.real)
            # Where a value is no larger than twice its error, the phase is unknown.
            known = line.moduli > 2.0 * line.errors
            log_moduli += count * line.log_ratios
            phases += count * angles
            turned += count * (np.abs(angles) + np.abs(line.log_ratios))
            errors += np.where(known, count * 8.0 * line.errors / np.maximum(line.moduli, 1e-300), math.inf)
            log_scale += count * line.log_scale
            size += count * (line.scale_error + 4.0 * UNIT * abs(line.log_scale))
        errors += UNIT * ((20.0 + len(self._atoms)) * turned + 64.0)
        return _Line(
            contour,
            self._total.moments(contour.tilt)[1],
            deviation,
            log_scale,
            size + UNIT * len(self._atoms) * abs(log_scale),
            log_moduli,
            phases,
            errors,
            self._aliases(contour, log_scale, deviation),
        )

    def _aliases(self, contour: Contour, log_scale: float, deviation: float) -> tuple[tuple[float, float], ...]:
        period, found = 2.0 * math.pi / contour.spacing, []
        for sign in (1.0, -1.0):
            away = period / deviation**2
            other = contour.tilt + sign * (away if sign > 0 else min(away, contour.tilt))
            away = abs(other - contour.tilt)
            gain = 0.5 * self._smoothing * other * (1.0 + other)
            log_moment = gain
            for atoms, count in self._atoms:
                line = atoms.along(Nodes(other, 1.0, 1))
                log_moment += count * float(line.log_moduli[0])
            # A geometric series of ratio e^(-away period), from its first term on.
            first = log_moment - log_scale - away * period - math.log(-math.expm1(-away * period))
            found.append((first + 1e-9 * abs(log_moment), -sign * away))
        return tuple(found)

    def _finite_delta(self, epsilon: float) -> tuple[float, float]:
        """Return lower and upper bounds on the divergence of the smoothed grid pair, without infinite mass."""
        return self._finite_lower(epsilon), self._finite_upper(epsilon)

    def _finite_lower(self, epsilon: float) -> float:
        return 0.0 if self._singular else max(self._sums(epsilon + self._shift(epsilon))[0], 0.0)

    def _finite_upper(self, epsilon: float) -> float:
        if self._singular:
            return 0.0
        upper = self._sums(epsilon - self._shift(epsilon))[1]
        return min(upper, 1.0) if self._log_total <= 0.0 else upper

    def _shift(self, epsilon: float) -> float:
        return self._loss_error + 4.0 * UNIT * abs(epsilon)

    def _sums(self, epsilon: float) -> tuple[float, float]:
        """Return lower and upper bounds at an exact argument."""
        low, high, exponent, slack = self._scaled(epsilon)
        if exponent + slack > 700.0:
            return 0.0, math.inf
        return low * math.exp(exponent - slack), high * math.exp(exponent + slack) + SUBNORMAL

    def _scaled(self, epsilon: float) -> tuple[float, float, float, float]:
        """Return both bounds without their exponential, its exponent, and what this may be off by."""
        line = self._line_for(epsilon)
        contour, nodes = line.contour, line.contour.nodes
        heights = nodes.heights
        # Of z (z - 1), of e^(i s epsilon), and against them of the smoothing, e^(v z (z-1) / 2).
        turn = np.arctan2(heights, 1.0 + contour.tilt) + np.arctan2(heights, contour.tilt)
        turn += heights * (epsilon - 0.5 * contour.smoothing * (1.0 + 2.0 * contour.tilt))
        rounding = UNIT * (
            8.0 * np.abs(turn) + 8.0 * heights * (abs(epsilon) + contour.smoothing * (1.0 + contour.tilt))
        )
        rounding = rounding + 32.0 * UNIT + contour.rounding
        weights = np.exp(line.log_moduli + contour.log_weights)
        radii = np.minimum(np.expm1(np.minimum(line.errors + rounding, 2.0)), 2.0) + summation_error(weights.size)
        centre = float(np.sum(weights * np.cos(line.phases - turn)))
        radius = float(np.sum(weights * radii)) * (1.0 + 1e-9) + math.exp(contour.log_tail) * (1.0 + 1e-9)
        aliases = sum(math.exp(min(first + rate * epsilon, 700.0)) for first, rate in line.aliases)
        # In units of e^log_scale with the gain; the alias bound has its own gain.
        exponent = line.log_scale + contour.gain - contour.tilt * epsilon
        slack = line.scale_error + contour.rounding
        slack += 8.0 * UNIT * (abs(line.log_scale) + contour.gain + contour.tilt * abs(epsilon) + 1.0)
        low, high = centre - radius, centre + radius
        low -= aliases * math.exp(-contour.gain) * (1.0 + 1e-6)
        return max(low, 0.0), max(high, 0.0), exponent, slack + self._relative_error

    def _crossing(self, delta: float, guess: float, profile: Callable[[float], float], *, above: bool) -> float:
        def slope(epsilon: float) -> float:
            return self._line_for(epsilon).contour.tilt

        left = (delta - self.unbounded_mass) * (1.0 - 8.0 * UNIT) - SUBNORMAL
        if above and left > _LEAST_LEFT:

            def height(epsilon: float) -> float:
                _, high, exponent, slack = self._scaled(epsilon - self._shift(epsilon))
                parts = math.log(max(high, SUBNORMAL)), exponent, slack, -math.log(left)
                return sum(parts) + 8.0 * UNIT * sum(map(abs, parts))

            # As a logarithm: of very many instances the roundings leave it far above 1, where it tells how far to go.
            return crossing_height(height, guess, slope=slope, above=above, scale=self.step)
        return crossing(profile, delta, guess, slope=slope, above=above, scale=self.step)


class MixesBound:
    """An upper bound on every mix of two mechanisms over a number of instances, from both ends alone.

    At each node the modulus of a mix, m times the first and the rest the second, is an exponential of a linear function
    of m. So a sum of moduli is convex in m, and the larger of both ends' sums bounds all between: without phases, but
    with no search over m.

    - ends: Compositions of one number of instances, each of one mechanism.
    - epsilon: Where the bound shall be sharp, in nats, positive.
    """

    def __init__(self, ends: Sequence[ContourComposition], epsilon: float) -> None:
        contours = [end.contour_at(epsilon) for end in ends]
        found = [(contour.tilt, max(end.log_integral(contour) for end in ends)) for contour in contours]
        self._tilt, self._log_integral = min(found, key=lambda line: line[1] - line[0] * epsilon)
        self._loss_error = max(end.loss_error for end in ends)
        self._unbounded = max(end.unbounded_mass for end in ends)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on the divergence of every mix."""
        reached = self._tilt * (epsilon - self._loss_error)
        exponent = self._log_integral - reached + 8.0 * UNIT * (abs(self._log_integral) + abs(reached))
        return min(1.0, (math.exp(min(exponent, 0.0)) + self._unbounded) * (1.0 + 8.0 * UNIT))

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on the epsilon >= 0 of every mix."""
        left = (delta - self._unbounded) * (1.0 - 4.0 * UNIT)
        if left <= 0.0:
            return math.inf
        size = abs(self._log_integral) - math.log(left)
        epsilon = (self._log_integral - math.log(left) + 8.0 * UNIT * size) / self._tilt + self._loss_error
        return max(epsilon * (1.0 + 8.0 * UNIT), 0.0)


def _rounded(size: float, steps: float = 4.0) -> float:
    """Return one of few numbers, so many per doubling, a little larger: mixes of the same factors share their nodes."""
    return float(2.0 ** (math.ceil(steps * math.log2(size)) / steps))
