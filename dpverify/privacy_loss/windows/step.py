"""The grid step that a wanted accuracy of a composition asks for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.windows.saddle import TotalLoss, total_loss
from protocols.validation import check_integer

__all__ = ["MOST_LENGTH", "choose_step", "fitting_step", "least_step", "rarest", "step_for"]

MOST_LENGTH = 2**21
"""Cells of the window of a transform, unless fewer are asked for."""
_COARSEST_CELLS = 64
_MOST_CELLS = 2**22
"""Of one grid, at a step that was chosen here: some 200 MB."""
_CUT = 1e-9
"""The share of delta that the instances may lose together, on each side, by trimming the rarest losses."""


def rarest(delta: float, instances: int) -> float:
    """Return the mass that each of so many instances may lose on each side: next to nothing beside delta."""
    return _CUT * delta / instances


def choose_step(
    pair: PrivacyLossDistribution,
    instances: int,
    *,
    relative_width: float = 1e-6,
    reference_delta: float = 1e-6,
    most_length: int = MOST_LENGTH,
) -> float:
    """Return a grid step for which the interval of epsilon at `reference_delta` is about `relative_width` wide.

    The excess that the lower bound charges to connect-the-dots moves epsilon by about `2.4 k t h^2 / 4`, with t the
    saddle-point tilt; the step is that, rounded so that the transform's window is a power of two, and no smaller than
    `most_length` cells allow. A heuristic for the width only: the interval is proved whatever the step.
    """
    return step_for(
        [(pair, check_integer("instances", instances, low=1))],
        relative_width=relative_width,
        reference_delta=reference_delta,
        most_length=most_length,
    )


def step_for(
    parts: Sequence[tuple[PrivacyLossDistribution, int]],
    *,
    relative_width: float,
    reference_delta: float,
    most_length: int,
) -> float:
    """Return `choose_step` for several pairs, each used a number of times."""
    scale = max(1e-9, *(pair.largest_loss for pair, _ in parts))
    listed = [(pair, count) for pair, count in parts if pair.losses.size]
    if not listed:
        return scale / _COARSEST_CELLS
    instances = sum(count for _, count in listed)
    return fitting_step(
        total_loss(listed),
        instances,
        scale,
        relative_width=relative_width,
        reference_delta=reference_delta,
        most_length=most_length,
    )


def fitting_step(
    total: TotalLoss,
    instances: int,
    scale: float,
    *,
    relative_width: float,
    reference_delta: float,
    most_length: int = MOST_LENGTH,
) -> float:
    """Return that step for a total loss of so many instances, the largest of which is about `scale`."""
    epsilon, tilt, deviation = total.saddle_point(reference_delta)
    epsilon = max(epsilon, 0.05 * deviation)
    step = math.sqrt(relative_width * epsilon / (0.6 * instances * max(tilt, 1.0)))
    if step < scale * 2.0**-40:
        return scale / _COARSEST_CELLS  # no finite loss that a finer grid would resolve
    span = 21.5 * max(deviation, 4.0 * step)
    length = 2.0 ** min(max(math.ceil(math.log2(span / step)), 6), round(math.log2(most_length)))
    return max(min(span / length, scale / _COARSEST_CELLS), span / most_length)


def least_step(pairs: Iterable[PrivacyLossDistribution], cells: int = _MOST_CELLS) -> float:
    """Return the step at which so many cells reach all listed losses of some pairs, on either side."""
    return 2.0 * max(pair.largest_loss for pair in pairs) / cells
