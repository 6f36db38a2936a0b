"""Sums whose noise the shuffler draws: true values in one-bit messages, hidden among dummies (murakami2025)."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols import exact_draws
from protocols.bitsum.three_nb import negative_binomial
from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy
from protocols.shuffler import UserMessages
from protocols.sums.base import SumProtocol

__all__ = ["AugmentedSum"]


@dataclass(frozen=True)
class AugmentedSum(SumProtocol):
    """User i sends L one-bit messages, `x_i` of them ones; the shuffler adds 2M dummies, M + D of them ones.

    D is the difference of two NB(r, p) variables, drawn again until it is in [-M, M]. So many messages arrive whatever
    users hold, and tell the sum and D alone. A user adds from 0 to L, whatever she sends, as L messages of hers are
    handed on: no noise is hers, to leave out or to overdo.

    The shuffler must be trusted with more than to forget senders: **whoever knows its dummies knows the sum**. It need
    not read messages, which are encrypted for the analyzer, and must not be the analyzer.

    Parameters
    ----------
    users, largest
        n and b, as in `SumProtocol`.
    margin : int
        M, at least 1.
    p : float
        In [0, 1): the larger, the more noise.
    shape : float
        r > 0. For r = 1 D is discrete Laplace noise.
    smallest, steps
        a and L, as in `SumProtocol`.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Notes
    -----
    The shuffler of the paper also drops each message with a probability. Of a sum that costs more error than it saves
    noise, unless nearly everybody holds 0 (docs/sums.md), so here it hands on all.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = AugmentedSum(users=1000, largest=4, margin=64, p=0.8)
    >>> estimate = protocol.run(np.arange(1000) % 5, np.random.default_rng(7))
    >>> abs(estimate - 2000) <= 64
    True
    """

    divided: ClassVar[tuple[str, ...]] = ()

    margin: int = field(metadata={"within": "[1, 1073741824]", "help": "M, in {}: the shuffler adds 2M dummies."})
    p: float = field(metadata={"within": "[0, 1)", "help": "p, in {}: the larger, the more noise."})
    shape: float = field(
        default=1.0,
        metadata={"within": "(0, inf)", "help": "r, in {}: 1 is discrete Laplace noise, and large normal."},
    )

    def _randomize(self, values: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        places = np.arange(self.levels)
        ones = rng.permuted(np.broadcast_to(places, (values.size, places.size)), axis=1) < values[:, np.newaxis]
        return UserMessages(ones.astype(np.int64).ravel(), np.repeat(np.arange(values.size), places.size))

    def _report(self, value: int, entropy: Entropy) -> list[int]:
        sent = [1] * value + [0] * (self.levels - value)
        for place in range(len(sent) - 1, 0, -1):
            other = entropy.randrange(place + 1)
            sent[place], sent[other] = sent[other], sent[place]
        return sent

    def _noise(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        found = np.zeros(0, dtype=np.int64)
        while found.size < size:
            up, down = (negative_binomial(rng, self.shape, self.p, (size,)) for _ in range(2))
            found = np.concatenate((found, (up - down)[np.abs(up - down) <= self.margin]))
        return found[:size]

    def _noisy(self, totals: NDArray[np.int64], present: float, rng: np.random.Generator) -> NDArray[np.int64]:
        return totals + self.margin + self._noise(rng, totals.size).reshape(totals.shape)

    def shuffled(self, messages: UserMessages, rng: np.random.Generator) -> NDArray[np.int64]:  # noqa: D102
        ones = self.margin + int(self._noise(rng, 1)[0])
        dummies = np.arange(2 * self.margin) < ones
        return rng.permutation(np.concatenate((messages.symbols, dummies.astype(np.int64))))

    def dummies(self, entropy: Entropy | None = None) -> list[int]:  # noqa: D102
        drawn_from, shape, p = self._entropy(entropy), Fraction(self.shape), Fraction(self.p)
        while True:
            up, down = (exact_draws.negative_binomial(shape, p, drawn_from) for _ in range(2))
            if abs(up - down) <= self.margin:
                return [1] * (self.margin + up - down) + [0] * (self.margin - up + down)

    def view(self, symbols: ArrayLike) -> int:  # noqa: D102
        array = np.asarray(symbols)
        outside = (array != 0) & (array != 1)
        if outside.any():
            raise ValueError(f"symbols contains {array[outside].flat[0]}, but must only hold 0 and 1.")
        return int(array.sum())

    def _total(self, view: ArrayLike, present: float) -> NDArray[np.float64]:
        ones = np.asarray(view)
        most = 2 * self.margin + round(present * self.users) * self.levels
        if not np.issubdtype(ones.dtype, np.integer):
            raise TypeError(f"view has dtype {ones.dtype}, but must hold integers in [0, {most}].")
        if ((ones < 0) | (ones > most)).any():
            raise ValueError(f"view={view!r} must hold integers in [0, {most}].")
        return np.asarray(ones - self.margin, dtype=np.float64)
