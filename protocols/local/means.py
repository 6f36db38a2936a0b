"""What the local means have in common: each user reports her value once, randomized, and everyone sees the reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy
from protocols.validation import check_generator, check_ranges

__all__ = ["BoundedMean", "LocalMean", "check_values"]


def check_values(name: str, value: ArrayLike, largest: float, *, whole: bool = False) -> NDArray[Any]:
    """Return users' values, shape (users,), all of which must be in [0, largest]: as int64 if `whole`, else float64."""
    array = np.asarray(value)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}, but must have shape (users,).")
    kind, wanted = (np.int64, f"an integer in [0, {largest:g}]") if whole else (np.float64, f"in [0, {largest:g}]")
    numbers = _real(name, array, f"numbers in [0, {largest:g}]")
    with np.errstate(invalid="ignore"):
        bad = ~((numbers >= 0.0) & (numbers <= largest))
        bad |= whole & (numbers != np.floor(numbers))
    if bad.any():
        raise ValueError(f"{name}[{int(np.argmax(bad))}]={array[bad][0]} must be {wanted}.")
    return numbers.astype(kind)


def _real(name: str, array: NDArray[Any], wanted: str) -> NDArray[np.float64]:
    try:
        if array.dtype.kind != "c":
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name} has dtype {array.dtype}, but must hold {wanted}.")


@dataclass(frozen=True)
class LocalMean(ABC):
    """Reports of single values, each epsilon-DP in the local model, in nats, and the unbiased estimate of their mean.

    `randomize` simulates the users with a numpy generator, in floating point. `report` is what one real user would
    send: integer arithmetic on the operating system's entropy, of exactly the stated law.
    """

    epsilon: float = field(metadata={"within": "[1e-100, 600]", "help": "epsilon of a report, in {}, in nats."})

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    @abstractmethod
    def most(self) -> float:
        """The largest value that a user may hold; the least is 0."""

    @property
    def unit(self) -> float:
        """What values are measured in: debiased reports over it depend on epsilon alone."""
        return 1.0

    @abstractmethod
    def check(self, values: ArrayLike) -> NDArray[Any]:
        """Return users' values as an array of shape (users,); raises ValueError for one that nobody may hold."""

    @abstractmethod
    def _randomize(self, values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]: ...

    @abstractmethod
    def debias(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return for each report a number whose expectation is the user's value, in the shape of the reports."""

    @abstractmethod
    def report(self, value: Any, entropy: Entropy | None = None) -> int:
        """Return what a real user with this value, in [0, most], sends, drawn exactly.

        By the operating system's entropy when omitted; anything else is for tests.
        """

    def randomize(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[Any]:
        """Return every user's report, simulated, shape (users,); ValueError if a value is outside [0, most]."""
        return self._randomize(self.check(values), check_generator("rng", rng))

    def estimate(self, reports: ArrayLike) -> float:
        """Return the unbiased estimate of the mean of the values from the reports, shape (users,).

        ValueError if there is none, or one that nobody sends.
        """
        array = np.asarray(reports)
        if array.ndim != 1 or array.size == 0:
            raise ValueError(f"reports has shape {array.shape}, but must have shape (users,), at least one.")
        return float(self.debias(self._check_reports(array)).mean())

    def _check_reports(self, reports: NDArray[Any]) -> NDArray[Any]:
        numbers = _real("reports", reports, "finite numbers")
        bad = ~np.isfinite(numbers)
        if bad.any():
            raise ValueError(f"reports[{int(np.argmax(bad))}]={reports[bad][0]} must be a finite number.")
        return numbers

    def run(self, values: ArrayLike, rng: np.random.Generator) -> float:
        """Return the estimate of the mean from one simulated report of every user."""
        return self.estimate(self.randomize(values, rng))


@dataclass(frozen=True)
class BoundedMean(LocalMean):
    """The mean of real values in [0, largest]."""

    largest: float = field(
        default=1.0, metadata={"within": "[1e-100, 1e100]", "help": "m, the largest value of a user, in {}; public."}
    )

    @property
    def most(self) -> float:  # noqa: D102
        return self.largest

    @property
    def unit(self) -> float:  # noqa: D102
        return self.largest

    def check(self, values: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        return check_values("values", values, self.largest)
