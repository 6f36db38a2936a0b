"""The Gaussian mechanism's privacy loss: closed forms as intervals, and its law on a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.formulas.contexts import arb_context, lower_float, upper_float
from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss
from dpverify.rounding import UNIT
from dpverify.search import bisected, galloped
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["DiscreteNoiseCurve", "GaussianPrivacyLoss", "NormalNoiseCurve"]

_NODES = 10
_PANEL = 0.04
"""The most that a quadrature panel spans in standard deviations; in nats it is 1."""
_QUADRATURE = 1e-15
"""Bound on the relative error of Gauss-Legendre with 10 nodes on such a panel; see `GaussianPrivacyLoss.on_grid`."""
_MOST_NODES = 2**26
_PER_DEVIATION = 40.0
"""Cells per standard deviation, of the loss or of the noise, where a pair is listed."""
_FARTHEST = 36.0
"""In deviations: further out, masses leave the normal floats."""
_ROUNDED = 2.0**-50
"""Of a mass: 128 bits of two tails, of which the difference keeps more than 60."""


@dataclass(frozen=True)
class GaussianPrivacyLoss:
    """The privacy loss of N(1, 1/mu^2) against N(0, 1/mu^2): N(mu^2/2, mu^2), the same in both directions.

    - mu: Sensitivity over standard deviation, positive (dong2022: mu-GDP).

    The k-fold composition is the Gaussian loss of `mu sqrt(k)`: `composed` is exact, and the grid is only needed to
    compose with other laws.
    """

    mu: float

    def __post_init__(self) -> None:
        check_real("mu", self.mu, low=0.0, low_open=True)

    def composed(self, instances: int) -> _ComposedGaussian:
        """Return the exact composition of so many instances."""
        return _ComposedGaussian(self.mu, check_integer("instances", instances, low=1))

    def delta(self, epsilon: float) -> Interval:
        """Return the hockey-stick divergence at one real epsilon (balle2018, Theorem 8), enclosed by Arb."""
        return self.composed(1).delta(epsilon)

    def on_grid(self, step: float, tail: float = 1e-60) -> GridPrivacyLoss:
        """Return connect-the-dots of this law on the multiples of `step`, in nats.

        Each cell's mass is integrated against the two shares by Gauss-Legendre quadrature; what lies further out than
        `tail` on either side is missing mass.

        On a panel of half-width a standard deviations, A nats, n nodes err by at most `(64/15) M rho^(2-2n) A /
        (1 - rho^-2)`, with M the largest modulus on the Bernstein ellipse of parameter rho (trefethen2008, Theorem
        4.5). For rho = 16 the ellipse reaches 8.04 half-widths. Relative to its least value on a panel at c deviations,
        the density is at most `e^(9.04 a |c| + 33 a^2)` there: e^6.7 for a = 0.02 and |c| < 36.6, the largest reach.
        The shares are `1 - e^-o` and `e^(h-o) - 1`, o nats above a cell of width h, up to constants: relative to their
        means over the panel at most `(e^(9.04 A) - 1) / (1 - e^-A sinh(A) / A)` there, below 250 for A = 1/2. Together
        that is `(32/15) 250 e^6.7 16^-18 (1 + 1/255)`, below 1e-16.

        Raises ValueError if the panels would need more than 2^26 nodes.
        """
        check_real("step", step, low=0.0, low_open=True)
        check_real("tail", tail, low=1e-290, high=0.1)
        reach = math.sqrt(-2.0 * math.log(tail))
        centre = self.mu * self.mu / 2.0
        first = math.floor((centre - reach * self.mu) / step)
        last = math.ceil((centre + reach * self.mu) / step)
        panels = max(1, math.ceil(max(step / (_PANEL * self.mu), step)))
        if (last - first) * panels * _NODES > _MOST_NODES:
            raise ValueError(f"mu={self.mu!r} on a grid of step={step!r} needs more than {_MOST_NODES} nodes.")
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        # Offsets within a cell, and weights, of all nodes of its panels. The nodes are symmetric: what is left of the
        # cell above each is another's offset, and nothing cancels.
        offsets = ((np.arange(panels)[:, None] + (nodes + 1.0) / 2.0) * (step / panels)).ravel()
        scaled = np.tile(weights * (step / panels / 2.0), panels)
        share_up = np.expm1(-offsets) / np.expm1(-step)
        share_down = np.exp(-offsets) * np.expm1(-offsets[::-1]) / np.expm1(-step)
        cells = np.arange(first, last)
        deviations = (cells[:, None] * step - centre + offsets) / self.mu
        # Panels beyond the reach are left out: their error would not be small, and their mass is missing.
        middles = (np.arange(panels) + 0.5) * (step / panels)
        near = np.abs((cells[:, None] * step - centre + middles) / self.mu) <= reach + _PANEL
        density = np.exp(-0.5 * deviations**2) * (scaled / (self.mu * math.sqrt(2.0 * math.pi)))
        density *= np.repeat(near, _NODES, axis=1)
        masses = np.append(density @ share_down, 0.0)
        masses[1:] += density @ share_up
        occupied = masses > 0
        # A node's place errs by a few units of the numbers that it is the sum of, and the density by that times its
        # deviation; the least offset, 0.013 of a panel, by 1e-16 of one.
        largest = max(abs(first), abs(last)) * step + centre + 2.0 * step
        places = (reach + 1.0) * (4.0 * largest / self.mu + 2.0 * (reach + 1.0))
        return GridPrivacyLoss(
            step=step,
            indices=np.arange(first, last + 1)[occupied],
            masses=masses[occupied],
            infinite_mass=0.0,
            missing_mass=2.0 * tail,
            relative_error=_QUADRATURE + (places + 200.0 + 8.0 * panels) * UNIT,
            loss_error=0.0,
            split_width=step,
        )

    def dominating(self, tail: float = 1e-60) -> PrivacyLossDistribution:
        """Return a pair of laws on a fine grid that dominates this one, at all real epsilon; see `on_grid`."""
        grid = self.on_grid(self.mu / _PER_DEVIATION, tail)
        return PrivacyLossDistribution.from_atoms(
            grid.losses,
            grid.masses,
            0.0,
            grid.missing_mass,
            relative_error=grid.relative_error,
            loss_error=grid.loss_error + 2.0 * UNIT * float(np.abs(grid.losses).max()),
        )

    def binned(self, tail: float = 1e-60) -> PrivacyLossDistribution | None:
        """Return the pair of the noise rounded to cells of a fortieth of its deviation, or None where floats hold none.

        Rounding is a function of the output: this pair, and its mixtures, are dominated by those of the noise itself.
        """
        reach = min(math.sqrt(-2.0 * math.log(tail)) + 0.5 * self.mu, _FARTHEST - 0.5 * self.mu)
        if reach < 1.0:
            return None
        edges = np.arange(-math.ceil(reach * _PER_DEVIATION), math.ceil(reach * _PER_DEVIATION) + 1) / _PER_DEVIATION
        laws = [_cells(edges, shift) for shift in (-0.5 * self.mu, 0.5 * self.mu)]
        return PrivacyLossDistribution.from_pmfs(laws[1], laws[0], relative_error=_ROUNDED)


def _cells(edges: NDArray[np.float64], mean: float) -> list[float]:
    """Return the masses of N(mean, 1) between edges, and beyond both ends: differences of the smaller tails."""
    with arb_context(128):
        left = [arb(0), *(((arb(mean) - arb(float(edge))) / arb(2).sqrt()).erfc() / 2 for edge in edges), arb(1)]
        right = [arb(1), *(((arb(float(edge)) - arb(mean)) / arb(2).sqrt()).erfc() / 2 for edge in edges), arb(0)]
        above = [False, *(bool(edge >= mean) for edge in edges)]
        return [
            float((right[i] - right[i + 1] if above[i] else left[i + 1] - left[i]).mid()) for i in range(len(above))
        ]


@dataclass(frozen=True)
class _ComposedGaussian:
    mu: float
    instances: int

    def delta(self, epsilon: float) -> Interval:
        """Return the hockey-stick divergence at one real epsilon, enclosed by Arb."""
        check_real("epsilon", epsilon)
        for bits in (128, 512, 4096):
            with arb_context(bits):
                first, ball = self._balls(arb(epsilon))
                # The first tail alone is a bound too, where the second is e^epsilon times what no ball resolves.
                lower, upper = max(lower_float(ball), 0.0), min(upper_float(ball), upper_float(first), 1.0)
            # Far out the two tails nearly cancel: more bits until the enclosure is tight or below the float range.
            if upper - lower <= 1e-12 * upper or upper < 1e-300:
                break
        return Interval.proved(lower, upper)

    def _balls(self, epsilon: arb) -> tuple[arb, arb]:
        """Return the mass of the losses above epsilon, and the divergence."""
        mu = arb(self.mu) * arb(self.instances).sqrt()

        def upper_tail(x: arb) -> arb:
            return (x / arb(2).sqrt()).erfc() / 2

        first = upper_tail(epsilon / mu - mu / 2)
        return first, first - epsilon.exp() * upper_tail(epsilon / mu + mu / 2)

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 at which the divergence is at most delta, as adjacent evaluated floats."""
        return _inverted(self.delta, delta)


def _inverted(curve: Callable[[float], Interval], delta: float) -> Interval:
    """Return the smallest epsilon >= 0 at which a divergence is at most delta, as evaluated floats."""
    check_real("delta", delta, low=0.0, high=1.0, low_open=True, high_open=True)
    if curve(0.0).upper <= delta:
        return Interval(0.0, 0.0)

    def met(epsilon: float) -> bool:
        return curve(epsilon).upper <= delta

    bracket = galloped(met, 0.0, 1.0)
    if bracket is None:
        return Interval(0.0, math.inf)
    low, high = bisected(met, *bracket)
    lower, shrink = low, 1e-12
    # Twice as far each time: below 1e-300 the divergence has no tight lower bound.
    while lower > 0.0 and curve(lower).lower <= delta:
        lower, shrink = lower * (1.0 - shrink), min(2.0 * shrink, 0.5)
    return Interval(lower, high)


class NormalNoiseCurve:
    """The curve of normal noise on a sum that a user changes by 1, composed; 1/sigma is rounded outwards.

    - sigma: Standard deviation of the noise.
    - instances: How many instances are composed.

    Raises CapacityError if 1/sigma is no float.
    """

    def __init__(self, sigma: float, instances: int) -> None:
        mu = 1.0 / sigma if sigma > 0.0 else math.inf
        if mu == math.inf:
            raise CapacityError(f"sigma={sigma!r} must be at least 5.6e-309 for its privacy loss to be a float.")
        ends = (math.nextafter(mu, 0.0), math.nextafter(mu, math.inf))
        self._least, self._most = (GaussianPrivacyLoss(end).composed(instances) for end in ends)

    def delta(self, epsilon: float) -> Interval:
        """Return the divergence at one real epsilon, in nats."""
        return Interval(self._least.delta(epsilon).lower, self._most.delta(epsilon).upper)

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 at which the divergence is at most delta."""
        return Interval(self._least.epsilon(delta).lower, self._most.epsilon(delta).upper)


@dataclass(frozen=True)
class DiscreteNoiseCurve:
    """The curve of discrete Gaussian noise of sigma, composed k times, where the noises' sum S has the law of one.

    Whatever the directions, the loss is a function of D, which is S under one law and S + k under the other: `H_eps =
    Pr[S >= m - k] - e^eps Pr[S >= m]`, m the least integer above `eps sigma^2 + k/2`.

    With rho_s(x) = e^(-x^2/(2 s^2)), the sum over z of `rho_(sigma sqrt j)(y - z) rho_sigma(z)` is `rho_(sigma sqrt(j +
    1))(y)` times that of `rho_t(z - y/(j + 1))`, t^2 = sigma^2 j/(j + 1) >= sigma^2/2; by Poisson's formula the latter
    is `t sqrt(2 pi)` within a share theta = 2.01 e^(-(pi sigma)^2) for sigma >= 1. So the law of S is that of one noise
    of s = sigma sqrt k but for a factor between e^(-3 k theta) and its inverse, its normalisation included.

    A sum over integers from a on is the integral of rho_s from b = a - 1/2 on, off by at most an eighth of that of
    |rho_s''| (Peano's kernel of the midpoint rule, (1/2 - |t|)^2 / 2): of b/s^2 rho_s(b) for b >= s, else 4 e^(-1/2)/s.

    - sigma: Of each noise, at least 3.
    - instances: k, with `sigma sqrt k` at least 10^4: see `holds`.
    """

    sigma: float
    instances: int

    @staticmethod
    def holds(sigma: float, instances: int) -> bool:
        """Return whether this says about as much as can be said."""
        return sigma >= 3.0 and sigma * math.sqrt(instances) >= 1e4 and instances <= 10**30

    def delta(self, epsilon: float) -> Interval:
        """Return the divergence at one real epsilon, in nats."""
        check_real("epsilon", epsilon)
        k = self.instances
        least = math.floor(Fraction(epsilon) * Fraction(self.sigma) ** 2 + Fraction(k, 2)) + 1
        with arb_context(512):
            spread = arb(self.sigma) * arb(k).sqrt()
            factor = arb(1, 8.0 * k * math.exp(-min((math.pi * self.sigma) ** 2 * (1.0 - 1e-9), 700.0)))

            def tail(start: int) -> arb:
                u = (arb(start) - arb(0.5)) / spread
                slope = u * (-u * u / 2).exp() if u >= 1 else arb(2.43)
                error = slope / (8 * spread * spread * (2 * arb.pi()).sqrt())
                return ((u / arb(2).sqrt()).erfc() / 2 + arb(0, error.upper())) * factor

            first = tail(least - k)
            ball = first - arb(epsilon).exp() * tail(least)
            return Interval.proved(max(lower_float(ball), 0.0), min(upper_float(ball), upper_float(first), 1.0))

    def epsilon(self, delta: float) -> Interval:
        """Return the smallest epsilon >= 0 at which the divergence is at most delta."""
        return _inverted(self.delta, delta)
