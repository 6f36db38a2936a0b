"""The pair of Laplace noise and its shift, continuous and on a grid.

**On a grid of s steps**, noise of `P(Z = z)` proportional to `e^(-d |z|)`, d = eps / s, against the same noise shifted
by s: the loss of y is eps up to 0, `d (s - 2 y)` between, and -eps from s on. With `t = tanh(d / 2)` the masses are
(1 + t) / 2 at eps, `t e^((loss - eps) / 2)` between, and `e^-eps (1 + t) / 2` at -eps. A smaller shift, in either
direction, is dominated: noise with a log-concave pmf has a divergence that grows with the shift.

**Continuous noise** of the same eps has the density `e^((loss - eps) / 2) / 4` of losses between the same two ends, of
mass 1/2 and e^-eps / 2. Split the mass of every cell of losses [a, a + 2 d] between its ends so that the cell keeps its
mass under both laws: each end gets `t e^((loss - eps) / 2) / 2`, at its own loss. The result is the law on the grid,
whatever s is. Splitting spreads the likelihood ratio and keeps its mean, so that no divergence becomes smaller:
**discrete noise of s steps dominates continuous noise of the same eps**. Reports that are rounded to
the cells, on the other hand, are post-processing, and tell no more: the cell [a, b] has P-mass
`(e^((b - eps)/2) - e^((a - eps)/2)) / 2` and the loss (a + b) / 2.
"""

from __future__ import annotations

import math

import numpy as np

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.rounding import UNIT
from protocols.validation import check_integer, check_real

__all__ = ["binned_laplace", "stepped_laplace"]


def _checked(epsilon: float, steps: int) -> None:
    check_real("epsilon", epsilon, low=0.0, low_open=True, high=700.0)
    check_integer("steps", steps, low=1)


def stepped_laplace(epsilon: float, steps: int) -> PrivacyLossDistribution:
    """Return the pair of discrete Laplace noise and its shift by so many steps: the same in both directions.

    It dominates continuous Laplace noise of the same epsilon.

    - epsilon: The largest loss, in (0, 700].
    - steps: s, at least 1.
    """
    _checked(epsilon, steps)
    # As multiples of eps / s the losses are symmetric, and each is off by two roundings.
    losses = epsilon * (np.arange(-steps, steps + 1, 2) / steps)
    t = math.tanh(0.5 * epsilon / steps)
    masses = t * np.exp(0.5 * (losses - epsilon))
    masses[0], masses[-1] = 0.5 * (1.0 + t) * math.exp(-epsilon), 0.5 * (1.0 + t)
    # An exponent of up to eps is off by 3 roundings of eps; tanh, exp and the products by a few more.
    return PrivacyLossDistribution.from_atoms(
        losses, masses, relative_error=(4.0 * epsilon + 16.0) * UNIT, loss_error=4.0 * epsilon * UNIT
    )


def binned_laplace(epsilon: float, cells: int) -> PrivacyLossDistribution:
    """Return the pair of continuous Laplace noise and its shift, of reports that are rounded to so many cells.

    Its divergences are attained by the continuous noise, at the least.

    - epsilon: The largest loss, in (0, 700].
    - cells: How many cells the losses between both ends are divided into.
    """
    _checked(epsilon, cells)
    middles = epsilon * (np.arange(1 - cells, cells, 2) / cells)
    losses = np.concatenate([[-epsilon], middles, [epsilon]])
    half = math.sinh(0.5 * epsilon / cells)
    masses = half * np.exp(0.5 * (losses - epsilon))
    masses[0], masses[-1] = 0.5 * math.exp(-epsilon), 0.5
    return PrivacyLossDistribution.from_atoms(
        losses, masses, relative_error=(4.0 * epsilon + 16.0) * UNIT, loss_error=4.0 * epsilon * UNIT
    )
