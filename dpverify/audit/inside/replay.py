"""What does the noise hide? Runs on two neighbours with the same draws, and what moves when a draw does."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.audit.inside.parts import numbers_of
from dpverify.audit.inside.recording import Draw, Tape
from dpverify.audit.running.target import TargetError
from dpverify.digits import rounded_down, typed, unrounded
from dpverify.guarantee import Budget
from dpverify.statistics.bounds.claims import CurveClaim
from dpverify.statistics.bounds.renyi_claims import ConcentratedDP, RenyiDP
from protocols.classes.frozen import dataclass

__all__ = ["Pair", "Replay", "Shift", "shift_of"]

_MOST = 200
"""Draws that are moved one by one."""
_STEPS = 0.7390851332, -5.2360679775, 11.7320508076
"""In scales: no multiples of any grid that an output may be rounded to, and far enough to meet where it is cut."""
_QUANTILES = 1e-12, 0.01, 0.2, 0.5, 0.8, 0.99, 1.0 - 1e-12
"""To which draws that are integers are moved: to others that may be drawn."""
_ROUNDED = 1e-7
"""Relative: what differs by less may be rounding."""
_TAIL = 1e-14
"""Of a law of integers, about what is left out on either side."""
_CELLS = 2**21
"""Of the laws of several numbers together."""
_WIDEST = 2**15
"""Of the law of one number."""
_LAWS = {
    "geometric": ("geom", 1),
    "Poisson": ("poisson", 1),
    "binomial": ("binom", 2),
    "negative binomial": ("nbinom", 2),
}
"""Laws of integers, as `scipy.stats` calls them, and how many parameters each has."""

Replay = Callable[[Any, Tape], Mapping[str, Any]]
"""Runs on an input with a tape, and returns the parts of the output."""


@dataclass(frozen=True)
class Pair:
    """The laws of what integer noise makes of two inputs, on the numbers of an output that differ.

    - p, q (ndarray of float64, shape (cells,)): Probabilities.
    - left_out: What they miss at most, each.
    """

    p: NDArray[np.float64]
    q: NDArray[np.float64]
    left_out: float

    def delta(self, epsilon: float) -> float:
        """Return a lower bound of delta at epsilon, in both directions; rounding is some 1e-13 relative."""
        grown = math.exp(min(epsilon, 700.0))
        most = max(float(np.maximum(one - grown * two, 0.0).sum()) for one, two in ((self.p, self.q), (self.q, self.p)))
        return max(0.0, most - (1.0 + grown) * (self.left_out + 1e-12))

    def renyi(self, order: float) -> float:
        """Return a lower bound of the divergence of an order, of outputs that are frequent enough to be sure of."""
        sure = np.minimum(self.p, self.q) > 1e6 * self.left_out
        logs = np.log(self.p[sure]), np.log(self.q[sure])
        sums = [order * one + (1.0 - order) * two for one, two in (logs, logs[::-1])]
        return max((float(scipy.special.logsumexp(each)) / (order - 1.0) for each in sums if each.size), default=0.0)


@dataclass(frozen=True)
class Shift:
    """By how much neighbours differ, counted in scales of the draws that are added to them.

    Where each draw moves the output by itself, the outputs on both inputs are those draws and the shifted ones,
    renamed, so that the divergences are the laws' own. Otherwise only Gaussian draws add up to one, and integers, whose
    law is computed.

    - laplace: The sizes by draw; None where draws add up to less than they are.
    - mu: Of Gaussian draws together.
    - bare: A part of the output, or the part of a combination, that differs on the inputs, whatever is drawn; else
      empty.
    - uneven: A part to which the same draw adds more on one input than on the other: nothing else is known then; else
      empty.
    - places: Where the draws are made.
    - integers: What integer noise makes of the inputs.
    """

    laplace: tuple[float, ...] | None
    mu: float
    bare: str
    uneven: str
    places: tuple[str, ...]
    integers: Pair | None = None

    @property
    def epsilon(self) -> float:
        """Of the Laplace draws alone; 0 where it is not known."""
        return math.fsum(self.laplace or ())

    def delta(self, epsilon: float) -> float:
        """Return a lower bound of delta at epsilon, of one draw of Laplace noise, or of all others."""
        if self.bare:
            return 1.0
        most, found = max(self.laplace or (0.0,)), 0.0 if self.integers is None else self.integers.delta(epsilon)
        if most > epsilon:
            found = max(found, -math.expm1((epsilon - most) / 2.0))
        if self.mu > 0.0:
            tails = scipy.stats.norm.logsf([epsilon / self.mu - self.mu / 2.0, epsilon / self.mu + self.mu / 2.0])
            found = max(found, float(math.exp(tails[0]) - math.exp(epsilon + tails[1])))
        return found

    def renyi(self, order: float) -> float:
        """Return a lower bound of the Renyi divergence of an order above 1."""
        found = 0.0 if self.integers is None else self.integers.renyi(order)
        for size in self.laplace or ():  # mironov2017, Table II
            logs = (order - 1.0) * size + math.log(order), -order * size + math.log(order - 1.0)
            found += (float(np.logaddexp(*logs)) - math.log(2.0 * order - 1.0)) / (order - 1.0)
        return found + order * self.mu**2 / 2.0

    def against(self, claim: Budget | CurveClaim) -> str:
        """Return what refutes a claim, in words; nothing if nothing does."""
        points = claim.points if isinstance(claim, CurveClaim) else ((claim.epsilon, claim.delta),)
        more = 1.0 + 1e-6
        for epsilon, delta in points:
            if delta == 0.0 and (self.mu > 0.0 or self.epsilon > epsilon * more):
                return f"claimed ({epsilon:g}, 0)"
            if self.delta(epsilon * more if delta == 0.0 else epsilon) > delta * more:
                shown = rounded_down(self.delta(epsilon), 4)
                return f"delta >= {shown} at epsilon {unrounded(epsilon)}, claimed {typed(delta)}"
        if isinstance(claim, ConcentratedDP | RenyiDP):
            for order, divergence in zip(claim.orders.tolist(), claim.divergences.tolist(), strict=True):
                if self.renyi(order) > divergence * more:
                    shown = rounded_down(self.renyi(order), 4)
                    return f"Renyi divergence >= {shown} of order {order:.4g}, claimed {divergence:.4g}"
        return ""

    def __str__(self) -> str:
        if self.bare:
            return f"{self.bare} differs, whatever is drawn"
        words = [f"epsilon {self.epsilon:.4g} of Laplace noise"] if self.epsilon else []
        words += [f"mu {self.mu:.4g} of Gaussian noise"] if self.mu else []
        if self.integers is not None:
            words.append(f"delta {self.integers.delta(0.0):.4g} at epsilon 0 of integer noise")
        return " and ".join(words) or "nothing"


def shift_of(replay: Replay, first: Any, second: Any, keys: tuple[int, ...]) -> Shift | None:
    """Return what two inputs differ by if all that is drawn is noise added to the output, of laws that are understood.

    None if anything else is drawn, the output is no sum of the input's part and the draws, or the sum differs by key.
    """
    found = [_one_shift(replay, first, second, key) for key in keys]
    shifts = [one for one in found if one is not None]
    if len(shifts) < len(found):
        return None
    alike = all(
        bool(one.bare) == bool(shifts[0].bare)
        and one.uneven == shifts[0].uneven
        and np.allclose(one.mu, shifts[0].mu, rtol=1e-4, atol=1e-9)
        and (one.laplace is None) == (shifts[0].laplace is None)
        and np.allclose(one.epsilon, shifts[0].epsilon, rtol=1e-4, atol=1e-9)
        and np.allclose(one.delta(0.0), shifts[0].delta(0.0), rtol=1e-4, atol=1e-9)
        for one in shifts
    )
    return min(shifts, key=lambda one: (one.epsilon, one.mu)) if alike else None


def _one_shift(replay: Replay, first: Any, second: Any, key: int) -> Shift | None:
    tape, other = Tape(key), Tape(key)
    start, names = _vector(replay(first, tape))
    end, same = _vector(replay(second, other))
    columns = [(draw, at) for draw in tape.draws for at in range(np.size(draw.value))]
    if any(not draw.law for draw in tape.draws) or not 0 < len(columns) <= _MOST or names != same or not names:
        return None
    if _signature(tape.draws) != _signature(other.draws):
        return None
    slopes = _slopes(replay, first, key, tape.draws, start)
    others = _slopes(replay, second, key, other.draws, end)
    if slopes is None or others is None:
        return None
    places = tuple(dict.fromkeys(draw.place for draw, _ in columns))
    uneven = ~np.isclose(slopes, others, rtol=1e-6, atol=_rounding(start, end)).all(axis=1)
    if uneven.any():
        return Shift(None, 0.0, "", names[int(np.argmax(uneven))], places)
    gap = end - start
    moves, _, rank, _ = np.linalg.lstsq(slopes, gap, rcond=1e-9)
    left = np.abs(slopes @ moves - gap)
    rounded = _ROUNDED * (float(np.abs(gap).max()) + float(np.abs(slopes).max())) + _rounding(start, end)
    bare = names[int(np.argmax(left))] if left.max() > rounded else ""
    whole = np.array([draw.law in _LAWS for draw, _ in columns])
    if whole.any():
        return _integer_shift(columns, slopes, gap, rounded, names, bare, places) if whole.all() else None
    normal = np.array([draw.law == "Gaussian" for draw, _ in columns])
    moves[np.abs(moves) < 1e-9] = 0.0
    alone = rank == len(columns)
    return Shift(
        tuple(np.abs(moves[~normal]).tolist()) if alone else None,
        float(np.linalg.norm(moves[normal])) if alone or normal.all() else 0.0,
        bare,
        "",
        places,
    )


def _integer_shift(
    columns: Sequence[tuple[Draw, int]],
    slopes: NDArray[np.float64],
    gap: NDArray[np.float64],
    rounded: float,
    names: Sequence[str],
    bare: str,
    places: tuple[str, ...],
) -> Shift | None:
    """Return the shift by integer noise: of numbers that share no draw, which are a function of the whole output."""
    pairs: list[Pair] = []
    used = np.zeros(len(columns), dtype=bool)
    for row in np.argsort(-np.abs(gap), kind="stable").tolist():
        has = np.abs(slopes[row]) > rounded
        if abs(gap[row]) <= rounded or not has.any() or (has & used).any():
            continue
        unit = float(np.abs(slopes[row][has]).min())
        steps, moved = slopes[row][has] / unit, gap[row] / unit
        if np.abs(steps - np.rint(steps)).max() > 1e-6:
            continue
        if abs(moved - round(moved)) > 1e-6:
            return Shift(None, 0.0, bare or f"{names[row]}, modulo {unit:g},", "", places)
        laws = [_law(*column) for column, own in zip(columns, has.tolist(), strict=True) if own]
        pair = _moved(laws, np.rint(steps).astype(int).tolist(), round(moved))
        if pair is not None and math.prod(one.p.size for one in (*pairs, pair)) <= _CELLS:
            pairs.append(pair)
            used |= has
    if not pairs and not bare:
        return None if (np.abs(gap) > rounded).any() else Shift(None, 0.0, "", "", places)
    return Shift(None, 0.0, bare, "", places, functools.reduce(_together, pairs) if pairs else None)


def _law(draw: Draw, at: int) -> tuple[str, tuple[float, ...]]:
    given = np.reshape(draw.scale or (), (_LAWS[draw.law][1], -1))
    return draw.law, tuple(float(np.resize(each, np.size(draw.value))[at]) for each in given)


def _frozen(law: str, parameters: tuple[float, ...]) -> Any:
    return getattr(scipy.stats, _LAWS[law][0])(*parameters)


@functools.lru_cache(256)
def _quantiles(law: str, parameters: tuple[float, ...]) -> NDArray[np.int64]:
    return np.unique(_frozen(law, parameters).ppf(_QUANTILES)).astype(np.int64)


@functools.lru_cache(256)
def _window(law: str, parameters: tuple[float, ...]) -> tuple[NDArray[np.float64], float]:
    """Return the probabilities of a law from its least value on, but for hardly any, and those left out."""
    found = _frozen(law, parameters)
    least, most = int(found.ppf(_TAIL)), int(found.isf(_TAIL))
    pmf = found.pmf(np.arange(least, min(most, least + _WIDEST) + 1))
    return np.asarray(pmf), float(found.cdf(least - 1) + found.sf(most))


def _moved(laws: Sequence[tuple[str, tuple[float, ...]]], steps: Sequence[int], moved: int) -> Pair | None:
    """Return the laws of a sum of steps, and of the sum that is moved; None where they are too wide."""
    p, left_out = np.ones(1), 0.0
    for law, step in zip(laws, steps, strict=True):
        pmf, outside = _window(*law)
        spread = np.zeros(abs(step) * (pmf.size - 1) + 1)
        if p.size + spread.size + abs(moved) > _WIDEST:
            return None
        spread[:: abs(step)] = pmf
        p = np.convolve(p, spread[:: 1 if step > 0 else -1])
        left_out += outside
    none = np.zeros(abs(moved))
    ends = np.concatenate([p, none]), np.concatenate([none, p])
    return Pair(*(ends if moved > 0 else ends[::-1]), left_out)


def _together(one: Pair, two: Pair) -> Pair:
    return Pair(np.outer(one.p, two.p).ravel(), np.outer(one.q, two.q).ravel(), one.left_out + two.left_out)


def _rounding(*values: NDArray[np.float64]) -> float:
    return 1e-9 * (1.0 + max(float(np.abs(value).max()) for value in values))


def _slopes(
    replay: Replay, inputs: Any, key: int, draws: Sequence[Draw], start: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return by how much the output moves with each draw, per scale; None where it does not move in proportion."""
    columns = []
    for draw in draws:
        for at in range(np.size(draw.value)):
            moved = []
            for change, size in _changes(draw, at):
                try:
                    parts = replay(inputs, Tape(key, moved={(draw.place, draw.turn): change[()]}))
                except TargetError:
                    return None
                values, _ = _vector(parts)
                if values.shape != start.shape:
                    return None
                moved.append((values - start) / size)
            if len(moved) < 2 or not all(np.allclose(moved[0], one, rtol=1e-6, atol=_rounding(start)) for one in moved):
                return None
            columns.append(moved[0])
    return np.stack(columns, axis=1)


def _changes(draw: Draw, at: int) -> Iterator[tuple[NDArray[Any], float]]:
    """Yield by how much a draw is moved, and what that is in scales: none where there is no noise."""
    if draw.law in _LAWS:
        held = int(np.ravel(draw.value)[at])
        steps = [(float(size), size) for size in (_quantiles(*_law(draw, at)) - held).tolist() if size]
    else:
        scale = float(np.resize(draw.scale or (1.0,), np.size(draw.value))[at])
        steps = [(size, size * scale) for size in _STEPS if scale > 0.0]
    for size, step in steps:
        change = np.zeros(np.shape(draw.value), dtype=type(step))
        change.flat[at] = step
        yield change, size


def _vector(parts: Mapping[str, Any]) -> tuple[NDArray[np.float64], list[str]]:
    numbers = numbers_of(parts)
    return np.array(list(numbers.values()), dtype=np.float64), list(numbers)


def _signature(draws: list[Draw]) -> list[tuple[Any, ...]]:
    return [(draw.place, draw.name, draw.scale, np.shape(draw.value)) for draw in draws]
