"""The sum view by split and mix: shares that add up modulo q, shuffled (ishai2006, balle2020, ghazi_pagh2020)."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols import exact_draws
from protocols.bitsum.three_nb import negative_binomial, negative_binomial_pieces
from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy
from protocols.shuffler import UserMessages
from protocols.sums.base import SumProtocol
from protocols.validation import check_indices

__all__ = ["SplitAndMix"]

_LOW = 2**32 - 1


@dataclass(frozen=True)
class SplitAndMix(SumProtocol):
    """User i sends k random shares that add up to `x_i + D_i` modulo q; shuffled, they tell little but the sum.

    D_i is the i-th share of the noise D, the difference of two NB(r, p) variables: discrete Laplace noise for r = 1,
    `P(D = z)` proportional to p^|z|, and nearly normal noise for a large r.

    Parameters
    ----------
    users, largest
        n and b, as in `SumProtocol`.
    modulus : int
        q, in (n L, 2^53]. Estimates are in the q integers around [0, n L]: noise that goes farther wraps round.
    shares : int
        k, in [1, 1024]: how many messages each user sends.
    p : float
        In [0, 1): the larger, the more noise.
    shape : float
        r > 0, over all users.
    smallest, steps
        a and L, as in `SumProtocol`.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range, or a modulus of n L or less.

    Notes
    -----
    The analyzer reads the sum of the messages modulo q. What else the shuffled messages tell, the twin bounds.

    Examples
    --------
    >>> import numpy as np
    >>> protocol = SplitAndMix(users=1000, largest=4, modulus=2**13, shares=8, p=0.8)
    >>> estimate = protocol.run(np.arange(1000) % 5, np.random.default_rng(7))
    >>> abs(estimate - 2000) < 10 * 7  # ten standard deviations
    True
    """

    divided: ClassVar[tuple[str, ...]] = ("shape",)

    modulus: int = field(metadata={"within": "[2, 9007199254740992]", "help": "q, in {}, above n L."})
    shares: int = field(metadata={"within": "[1, 1024]", "help": "k, in {}: the messages of each user."})
    p: float = field(metadata={"within": "[0, 1)", "help": "p, in {}: the larger, the more noise."})
    shape: float = field(
        default=1.0,
        metadata={"within": "(0, inf)", "help": "r, in {}: 1 is discrete Laplace noise, and large normal."},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.modulus <= self.users * self.levels:
            raise ValueError(
                f"modulus={self.modulus} must be above {self.users * self.levels}, users times steps: the sum."
            )

    @property
    def margin(self) -> int:
        """How far the noise may go below 0, or above n L, before the estimate wraps round: at least this."""
        return (self.modulus - 1 - self.users * self.levels) // 2

    def _noise(self, share: float, rng: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.int64]:
        up, down = (negative_binomial(rng, self.shape * share, self.p, size) for _ in range(2))
        return up - down

    def _randomize(self, values: NDArray[np.int64], rng: np.random.Generator) -> UserMessages:
        up, down = (negative_binomial_pieces(rng, self.shape, self.p, self.users, values.size) for _ in range(2))
        hidden = (values + up - down) % self.modulus
        shares = rng.integers(0, self.modulus, (values.size, self.shares))
        shares[:, -1] = (hidden - shares[:, :-1].sum(axis=1) % self.modulus) % self.modulus
        return UserMessages(shares.ravel(), np.repeat(np.arange(values.size), self.shares))

    def _noisy(self, totals: NDArray[np.int64], present: float, rng: np.random.Generator) -> NDArray[np.int64]:
        return (totals + self._noise(present, rng, totals.shape)) % self.modulus

    def _report(self, value: int, entropy: Entropy) -> list[int]:
        shape, p = Fraction(self.shape) / self.users, Fraction(self.p)
        up, down = (exact_draws.negative_binomial(shape, p, entropy) for _ in range(2))
        shares = [entropy.randrange(self.modulus) for _ in range(self.shares - 1)]
        return [*shares, (value + up - down - sum(shares)) % self.modulus]

    def view(self, symbols: ArrayLike) -> int:  # noqa: D102
        array = check_indices("symbols", symbols, self.modulus)
        # In halves, so that no sum of them leaves the integers.
        return ((int((array >> 32).sum()) << 32) + int((array & _LOW).sum())) % self.modulus

    def _total(self, view: ArrayLike, present: float) -> NDArray[np.float64]:
        sums = np.asarray(view)
        if not np.issubdtype(sums.dtype, np.integer):
            raise TypeError(f"view has dtype {sums.dtype}, but must hold integers in [0, {self.modulus}).")
        if ((sums < 0) | (sums >= self.modulus)).any():
            raise ValueError(f"view={view!r} must hold integers in [0, {self.modulus}).")
        return np.asarray(self.centred(sums.astype(np.int64)), dtype=np.float64)

    def centred(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the integers around [0, n L] that sums modulo q stand for."""
        return (sums + self.margin) % self.modulus - self.margin
