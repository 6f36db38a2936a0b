"""What does the noise hide? Runs on two neighbours with the same draws, and what moves when a draw does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpverify.audit.inside.parts import numbers_of
from dpverify.audit.inside.recording import Draw, Tape

__all__ = ["Replay", "Shift", "shift_of"]

_MOST = 200
"""Draws that are moved one by one."""
_STEPS = 0.7390851332, -5.2360679775, 11.7320508076
"""In scales: no multiples of any grid that an output may be rounded to, and far enough to meet where it is cut."""
_ROUNDED = 1e-7
"""Relative: what differs by less may be rounding."""

Replay = Callable[[Any, Tape], Mapping[str, Any]]
"""Runs on an input with a tape, and returns the parts of the output."""


@dataclass(frozen=True)
class Shift:
    """By how much neighbours differ, counted in scales of the draws that are added to them.

    Where each draw moves the output by itself, the outputs on both inputs are those draws and the shifted ones,
    renamed, so that the divergences are the laws' own. Otherwise only Gaussian draws add up to one.

    Parameters
    ----------
    laplace : tuple of float, optional
        The sizes by draw; None where draws add up to less than they are.
    mu : float
        Of Gaussian draws together.
    bare : str
        A part of the output, or the part of a combination, that differs on the inputs, whatever is drawn; else empty.
    places : tuple of str
        Where the draws are made.
    """

    laplace: tuple[float, ...] | None
    mu: float
    bare: str
    places: tuple[str, ...]

    @property
    def epsilon(self) -> float:
        """Of the Laplace draws alone; 0 where it is not known."""
        return math.fsum(self.laplace or ())

    def delta(self, epsilon: float) -> float:
        """Return a lower bound of delta at epsilon, of one draw of Laplace noise or of all Gaussian ones."""
        if self.bare:
            return 1.0
        most, found = max(self.laplace or (0.0,)), 0.0
        if most > epsilon:
            found = -math.expm1((epsilon - most) / 2.0)
        if self.mu > 0.0:
            tails = stats.norm.logsf([epsilon / self.mu - self.mu / 2.0, epsilon / self.mu + self.mu / 2.0])
            found = max(found, float(math.exp(tails[0]) - math.exp(epsilon + tails[1])))
        return found

    def __str__(self) -> str:
        if self.bare:
            return f"{self.bare} differs, whatever is drawn"
        words = [f"epsilon {self.epsilon:.4g} of Laplace noise"] if self.epsilon else []
        words += [f"mu {self.mu:.4g} of Gaussian noise"] if self.mu else []
        return " and ".join(words) or "nothing"


def shift_of(replay: Replay, first: Any, second: Any, keys: tuple[int, ...]) -> Shift | None:
    """Return what two inputs differ by if all that is drawn is Laplace and Gaussian noise added to the output.

    None if anything else is drawn, the output is no sum of the input's part and the draws, or the sum differs by key.
    """
    found = [_one_shift(replay, first, second, key) for key in keys]
    shifts = [one for one in found if one is not None]
    if len(shifts) < len(found):
        return None
    alike = all(
        bool(one.bare) == bool(shifts[0].bare)
        and np.allclose(one.mu, shifts[0].mu, rtol=1e-4, atol=1e-9)
        and (one.laplace is None) == (shifts[0].laplace is None)
        and np.allclose(one.epsilon, shifts[0].epsilon, rtol=1e-4, atol=1e-9)
        for one in shifts
    )
    return min(shifts, key=lambda one: (one.epsilon, one.mu)) if alike else None


def _one_shift(replay: Replay, first: Any, second: Any, key: int) -> Shift | None:
    tape, other = Tape(key), Tape(key)
    start, names = _vector(replay(first, tape))
    end, same = _vector(replay(second, other))
    columns = [(draw, at) for draw in tape.draws for at in range(np.size(draw.value))]
    if any(draw.law is None for draw in tape.draws) or not 0 < len(columns) <= _MOST or names != same or not names:
        return None
    if _signature(tape.draws) != _signature(other.draws):
        return None
    slopes = _slopes(replay, first, key, tape.draws, start)
    others = _slopes(replay, second, key, other.draws, end)
    if slopes is None or others is None or not np.allclose(slopes, others, rtol=1e-6, atol=_rounding(start, end)):
        return None
    gap = end - start
    moves, _, rank, _ = np.linalg.lstsq(slopes, gap, rcond=1e-9)
    left = np.abs(slopes @ moves - gap)
    rounded = _ROUNDED * (float(np.abs(gap).max()) + float(np.abs(slopes).max())) + _rounding(start, end)
    normal = np.array([draw.law == "Gaussian" for draw, _ in columns])
    moves[np.abs(moves) < 1e-9] = 0.0
    alone = rank == len(columns)
    return Shift(
        tuple(np.abs(moves[~normal]).tolist()) if alone else None,
        float(np.linalg.norm(moves[normal])) if alone or normal.all() else 0.0,
        names[int(np.argmax(left))] if left.max() > rounded else "",
        tuple(dict.fromkeys(draw.place for draw, _ in columns)),
    )


def _rounding(*values: NDArray[np.float64]) -> float:
    return 1e-9 * (1.0 + max(float(np.abs(value).max()) for value in values))


def _slopes(
    replay: Replay, inputs: Any, key: int, draws: Sequence[Draw], start: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return by how much the output moves with each draw, per scale; None where it does not move in proportion."""
    columns = []
    for draw in draws:
        scales = np.resize(draw.scale or (1.0,), np.size(draw.value))
        for at, scale in enumerate(scales):
            moved = []
            for step in _STEPS:
                change = np.zeros(np.shape(draw.value))
                change.flat[at] = step * scale
                parts = replay(inputs, Tape(key, moved={(draw.place, draw.turn): change[()]}))
                values, _ = _vector(parts)
                if values.shape != start.shape:
                    return None
                moved.append((values - start) / step)
            if scale <= 0.0 or not all(np.allclose(moved[0], one, rtol=1e-6, atol=_rounding(start)) for one in moved):
                return None
            columns.append(moved[0])
    return np.stack(columns, axis=1)


def _vector(parts: Mapping[str, Any]) -> tuple[NDArray[np.float64], list[str]]:
    numbers = numbers_of(parts)
    return np.array(list(numbers.values()), dtype=np.float64), list(numbers)


def _signature(draws: list[Draw]) -> list[tuple[Any, ...]]:
    return [(draw.place, draw.name, draw.scale, np.shape(draw.value)) for draw in draws]
