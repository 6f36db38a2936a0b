"""Blocks of mixes of two pairs: which m instances have the first is covered block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["Block", "few_blocks", "level_above"]

Block = tuple[int, int]
"""The least and the most instances with the first of the pairs."""

_MOST_BLOCKS = 48
"""That are proved one by one; a larger gap where that is not enough."""


def few_blocks(instances: int, exponents: Sequence[float], scale: float, gap: float) -> tuple[list[Block], float]:
    """Cut [0, instances] into few blocks, each of which an estimate puts within the gap; or a larger gap that does.

    To first order epsilon grows by the growth of the logarithm of the moment generating function over the tilt, and
    ln(delta) by that growth itself: a block may exceed the worse end by `scale` times the gap.

    Parameters
    ----------
    instances : int
        I.
    exponents : sequence of float
        That logarithm, at the tilt, for the first pair, the second, and the supremum of both.
    scale, gap : float
        See above.
    """
    first, second, supremum = exponents
    while True:
        budget = instances * max(first, second) + 0.8 * scale * gap
        blocks, low = list[Block](), 0
        while low < instances and len(blocks) <= _MOST_BLOCKS:
            room = budget - low * first - (instances - low) * second
            growth = max(supremum - second, 1e-300)
            high = low + int(min(max(room / growth, 1.0), instances - low))
            blocks.append((low, high))
            low = high
        if low == instances:
            return blocks, gap
        gap *= 2.0


def level_above(
    level: float,
    blocks: list[Block],
    exceeds: Callable[[Block, float], bool],
    reached: Callable[[Block], float],
) -> float:
    """Return a level that no mix in the blocks exceeds: the given one, or just above what single mixes reached.

    A block of mixes does not exceed the level if its dominating composition does not. One that may is halved, down to
    two neighbours, which are looked at themselves.
    """
    while blocks:
        low, high = blocks.pop()
        if high - low <= 1:
            for mix in ((low, low), (high, high)):
                if exceeds(mix, level):
                    level = max(level, reached(mix))
        elif exceeds((low, high), level):
            middle = (low + high) // 2
            blocks += [(middle, high), (low, middle)]
    return level
