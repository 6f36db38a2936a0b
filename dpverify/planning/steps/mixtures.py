"""Steps in which a record moves a sum by a random amount, as where it may be sampled more than once."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import field

from dpverify.guarantee import Adjacency, Interval
from dpverify.planning.steps.sampling import Sampling
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.mixtures import MixedNoise
from dpverify.privacy_loss.sampling.pairs import ListedPair
from dpverify.privacy_loss.sampling.replaced import replaced_above
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_ranges, check_real

__all__ = ["MixtureStep"]


@dataclass(frozen=True)
class MixtureStep(Plain):
    """Gaussian noise on a sum that a record moves by one of several amounts, at random: a mixture of Gaussians.

    Moves may be vectors of these norms, and depend on what other steps released; which one it is does not.

    Parameters
    ----------
    noise : float
        Standard deviation.
    moves : sequence of float
        Norms, none negative, at least one positive, at most 100.
    weights : sequence of float
        How likely each is: positive, of sum 1 but for rounding; taken relative to their sum.

    Raises
    ------
    TypeError, ValueError
        For arguments out of range, or of different numbers.

    Examples
    --------
    >>> import dpverify
    >>> step = dpverify.MixtureStep(2.0, moves=[0, 1, 2], weights=[0.81, 0.18, 0.01])
    >>> found = dpverify.account(step, instances=100, delta="1e-6", relative_width=1e-3)
    >>> print(found.epsilon)
    [5.84186, 5.84606]
    """

    noise: float = field(metadata={"within": "[1e-100, 1e150]"})
    moves: tuple[float, ...]
    weights: tuple[float, ...]

    sampling = Sampling.POISSON

    def __post_init__(self) -> None:
        check_ranges(self)
        for name in ("moves", "weights"):
            given = getattr(self, name)
            if not isinstance(given, Iterable) or isinstance(given, str):
                raise TypeError(f"{name}={given!r} must be a sequence of numbers.")
            low = {"low": 0.0, "low_open": name == "weights"}
            object.__setattr__(self, name, tuple(float(check_real(name, each, **low)) for each in given))  # type: ignore[arg-type]
        if not 1 <= len(self.moves) <= 100 or len(self.moves) != len(self.weights) or max(self.moves) <= 0.0:
            raise ValueError(
                f"moves={self.moves!r} must be 1 to 100 numbers, one of them positive, and weights as many, not "
                f"{len(self.weights)}."
            )
        if abs(math.fsum(self.weights) - 1.0) > 1e-9:
            raise ValueError(f"weights must have the sum 1, not {math.fsum(self.weights)!r}.")

    @property
    def rate(self) -> float:
        """With which probability the record moves the sum at all."""
        return min(math.fsum(weight for move, weight in zip(self.moves, self.weights, strict=True) if move > 0.0), 1.0)

    def check(self, adjacency: Adjacency) -> None:
        """Do nothing: a pair is proved to dominate for each adjacency."""

    def largest_loss(self, adjacency: Adjacency) -> Interval:
        """Return the largest privacy loss."""
        return Interval(math.inf, math.inf)

    def pair(self, adjacency: Adjacency, tail: float) -> ListedPair:
        """Return the pair that dominates, of whose laws a tail may be left out."""
        above = _cells(self, tail).above()
        if adjacency is not Adjacency.REPLACE_ONE:
            return ListedPair(above)
        through = replaced_above(above)
        return ListedPair(Directions(through, through))

    def attained(self, adjacency: Adjacency, tail: float) -> Sequence[ListedPair]:
        """Return a pair that is attained, told by cells of the noise."""
        cells = _cells(self, tail)
        if adjacency is not Adjacency.REPLACE_ONE:
            return [ListedPair(cells.below())]
        opposite = cells.opposite()
        return [ListedPair(Directions(opposite, opposite))]

    def __str__(self) -> str:
        return (
            f"gaussian noise of {self.noise:g} on moves of {', '.join(f'{move:g}' for move in self.moves)}, at random"
        )


@functools.lru_cache(maxsize=8)
def _cells(step: MixtureStep, tail: float) -> MixedNoise:
    return MixedNoise(step.noise, step.moves, step.weights, tail)
