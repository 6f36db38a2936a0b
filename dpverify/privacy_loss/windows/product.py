"""Products of just two pairs: their divergence from the atoms, all their atoms, their law on a grid; no transform."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, cell_count
from dpverify.rounding import SUBNORMAL, UNIT, summation_error
from protocols.validation import check_real

__all__ = ["delta_of_two", "listed_product", "product"]

_STRETCH = 16.0
"""Nats over which Q-masses are added up as they are."""


def _either(first: float, second: float) -> float:
    """Return `1 - (1-a)(1-b)` without its cancellation: infinite loss of either is infinite loss of both together."""
    return first + second * (1.0 - min(first, 1.0))


def _discounted(pair: PrivacyLossDistribution) -> NDArray[np.float64]:
    """Return `sum_{k >= j} m_k e^(l_j - l_k)` for every j, shape (atoms,): Q-mass from l_j on, in units of e^-l_j.

    Losses are taken together over `_STRETCH` nats, within which e^(l_j - l_k) neither overflows nor underflows; what
    lies above counts from its first loss. All terms are positive, all exponents of what is carried negative.
    """
    losses, sums = pair.losses, np.empty(pair.losses.size)
    stop, carried, above = losses.size, 0.0, 0.0
    while stop:
        start = int(np.searchsorted(losses, losses[stop - 1] - _STRETCH))
        first = losses[start]
        rest = carried * np.exp(first - above) if carried else 0.0
        relative = np.exp(first - losses[start:stop])
        sums[start:stop] = np.cumsum((pair.masses[start:stop] * relative)[::-1])[::-1] + rest
        carried, above, stop = float(sums[start]), first, start
        sums[start : start + relative.size] /= relative
    return sums


def delta_of_two(first: PrivacyLossDistribution, second: PrivacyLossDistribution, epsilon: float) -> Interval:
    """Return the hockey-stick divergence of the product of two pairs, with its proved error.

    `H_eps = sum_i m_i H_{eps - l_i}` over the atoms of the first, each term `A - e^(eps - l_i) B` with A, B the P-mass
    and Q-mass of the second above `eps - l_i`, from running sums: as fast as sorting.

    - first, second: The pairs; the result is symmetric in them up to its error.
    - epsilon: Any finite real number, in nats.
    """
    check_real("epsilon", epsilon)
    largest = first.largest_loss + second.largest_loss
    slack = (first.loss_error + second.loss_error + 4.0 * UNIT * (abs(epsilon) + largest)) * (1.0 + 8.0 * UNIT)
    size = second.losses.size
    p_mass, q_mass = np.append(np.cumsum(second.masses[::-1])[::-1], 0.0), np.append(_discounted(second), 0.0)
    corners = np.append(second.losses, math.inf)
    # A running sum of k non-negative terms is off by k roundings at most; exp, whose arguments here are differences of
    # at most `_STRETCH` where they matter, and the products by a few dozen.
    arithmetic = (2.0 * size + 8.0 * _STRETCH + 64.0) * UNIT
    ends = []
    for sign in (-1.0, 1.0):
        left = (epsilon - sign * slack) - first.losses
        above = np.searchsorted(second.losses, left, side="right")
        gained, lost = p_mass[above], np.exp(left - corners[above]) * q_mass[above]
        ends.append(float(np.sum(first.masses * np.maximum(gained - lost + sign * arithmetic * (gained + lost), 0.0))))
    # Every mass of the product is one of each pair: the errors of both compound.
    kept = max(1.0 - first.relative_error, 0.0) * max(1.0 - second.relative_error, 0.0)
    arithmetic = summation_error(first.losses.size) + 8.0 * UNIT
    known = _either(first.infinite_mass, second.infinite_mass)
    unbounded = first.unbounded_mass + second.unbounded_mass
    grown = ends[1] / kept * (1.0 + arithmetic) if kept else 1.0
    upper = min(1.0, (grown + unbounded) * (1.0 + 4.0 * UNIT) + SUBNORMAL)
    lower = max(0.0, (ends[0] + known) * kept * (1.0 - arithmetic) - SUBNORMAL)
    return Interval.proved(min(lower, 1.0), upper)


def listed_product(first: PrivacyLossDistribution, second: PrivacyLossDistribution) -> PrivacyLossDistribution:
    """Return two independent pairs as one, with an atom for each two of theirs: for pairs of few atoms.

    A mass is the product of two, off by the errors of both and a rounding; a loss is their sum. What either lacks, or
    has no finite loss of, the product has not either.
    """
    largest = first.largest_loss + second.largest_loss
    return PrivacyLossDistribution.from_atoms(
        np.add.outer(first.losses, second.losses).ravel(),
        np.multiply.outer(first.masses, second.masses).ravel(),
        _either(first.infinite_mass, second.infinite_mass),
        (first.missing_mass + second.missing_mass) * (1.0 + 2.0 * UNIT),
        relative_error=(1.0 + first.relative_error) * (1.0 + second.relative_error) - 1.0 + 4.0 * UNIT,
        loss_error=(first.loss_error + second.loss_error + UNIT * largest) * (1.0 + 4.0 * UNIT),
    )


def product(first: GridPrivacyLoss, second: GridPrivacyLoss) -> GridPrivacyLoss:
    """Return two independent grid pairs, of one step, as one."""
    if first.step != second.step:
        raise ValueError(f"first and second have steps {first.step!r} and {second.step!r}, but must share one.")

    def dense(grid: GridPrivacyLoss) -> tuple[int, NDArray[np.float64]]:
        """Return the first cell, any where no loss is finite, and the masses from there on."""
        low, high = (int(grid.indices[0]), int(grid.indices[-1])) if grid.indices.size else (0, 0)
        cells = np.zeros(cell_count("product", high - low + 1))
        cells[grid.indices - low] = grid.masses
        return low, cells

    (start, left), (other_start, right) = dense(first), dense(second)
    masses = np.convolve(left, right)
    occupied = np.flatnonzero(masses)
    # Products below the normal floats have lost digits, or are lost.
    least = math.prod(float(grid.masses.min(initial=1.0)) for grid in (first, second))
    return GridPrivacyLoss(
        first.step,
        occupied + start + other_start,
        masses[occupied],
        _either(first.infinite_mass, second.infinite_mass),
        (first.missing_mass + second.missing_mass) * (1.0 + 2.0 * UNIT) + (SUBNORMAL if least < SUBNORMAL else 0.0),
        (1.0 + first.relative_error) * (1.0 + second.relative_error) - 1.0 + (min(left.size, right.size) + 8.0) * UNIT,
        first.loss_error + second.loss_error,
        first.split_width + second.split_width,
        first.bounds & second.bounds,
    )
