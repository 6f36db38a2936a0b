"""Products of just two pairs: their divergence from the atoms, and their law on a grid; no transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import Interval
from dpverify.privacy_loss.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.grid import GridPrivacyLoss
from dpverify.privacy_loss.rounding import UNIT
from protocols.validation import check_real

__all__ = ["delta_of_two", "product"]


def _either(first: float, second: float) -> float:
    """Return `1 - (1-a)(1-b)` without its cancellation: infinite loss of either is infinite loss of both together."""
    return first + second * (1.0 - min(first, 1.0))


def delta_of_two(first: PrivacyLossDistribution, second: PrivacyLossDistribution, epsilon: float) -> Interval:
    """Return the hockey-stick divergence of the product of two pairs, with its proved error.

    `H_eps = sum_i m_i H_{eps - l_i}` over the atoms of the first, each term `A - e^(eps - l_i) B` with A, B the P-mass
    and Q-mass of the second above `eps - l_i`, from running sums: as fast as sorting.

    Parameters
    ----------
    first, second : PrivacyLossDistribution
        The pairs; the result is symmetric in them up to its error.
    epsilon : float
        Any finite real number, in nats.
    """
    check_real("epsilon", epsilon)
    largest = first.largest_loss + second.largest_loss
    slack = first.loss_error + second.loss_error + 8.0 * UNIT * (abs(epsilon) + largest)
    p_mass = np.append(np.cumsum(second.masses[::-1])[::-1], 0.0)
    q_mass = np.append(np.cumsum((second.masses * np.exp(-second.losses))[::-1])[::-1], 0.0)
    # A running sum of k non-negative terms is off by k roundings at most; exp by a few, and by those of its argument.
    relative = first.relative_error + second.relative_error
    relative += (2.0 * second.losses.size + first.losses.size + 32.0 + 8.0 * (abs(epsilon) + largest)) * UNIT
    ends = []
    for sign in (-1.0, 1.0):
        left = (epsilon - sign * slack) - first.losses
        above = np.searchsorted(second.losses, left, side="right")
        gained, lost = p_mass[above], np.exp(left) * q_mass[above]
        error = relative * (gained + lost)
        ends.append(float(first.masses @ np.maximum(gained - lost + sign * error, 0.0)) * (1.0 + sign * relative))
    known = _either(first.infinite_mass, second.infinite_mass)
    unbounded = first.unbounded_mass + second.unbounded_mass
    upper = min(1.0, (ends[1] + unbounded) * (1.0 + 4.0 * UNIT))
    return Interval.proved(min((ends[0] + known * (1.0 - relative)) * (1.0 - 4.0 * UNIT), 1.0), upper)


def product(first: GridPrivacyLoss, second: GridPrivacyLoss) -> GridPrivacyLoss:
    """Return two independent grid pairs, of one step, as one."""
    if first.step != second.step:
        raise ValueError(f"first and second have steps {first.step!r} and {second.step!r}, but must share one.")

    def dense(grid: GridPrivacyLoss) -> NDArray[np.float64]:
        cells = np.zeros(int(grid.indices[-1] - grid.indices[0]) + 1)
        cells[grid.indices - grid.indices[0]] = grid.masses
        return cells

    left, right = dense(first), dense(second)
    masses = np.convolve(left, right)
    occupied = np.flatnonzero(masses)
    return GridPrivacyLoss(
        first.step,
        occupied + int(first.indices[0] + second.indices[0]),
        masses[occupied],
        _either(first.infinite_mass, second.infinite_mass),
        first.missing_mass + second.missing_mass,
        first.relative_error + second.relative_error + (min(left.size, right.size) + 4.0) * UNIT,
        first.loss_error + second.loss_error,
        first.split_width + second.split_width,
    )
