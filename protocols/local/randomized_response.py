"""The mean of levels by randomized response among them (warner1965 for two; wang_lecture9, section 9.1)."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.exact_draws import Entropy
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.means import LocalMean, check_values
from protocols.validation import check_integer

__all__ = ["RandomizedResponseMean"]


@dataclass(frozen=True)
class RandomizedResponseMean(LocalMean):
    """Each user reports her level with probability `e^eps / (e^eps - 1 + k)`, else a uniformly random other one.

    With two levels, 0 and 1, that is the randomized response of section 9.1. A report is the level itself with
    probability `contrast`, and a uniformly random level else: its expectation is the level, drawn towards the middle by
    that factor, which `debias` undoes.

    Parameters
    ----------
    epsilon : float
        Of one report, in [1e-100, 600], in nats.
    levels : int
        k, in [2, 2^53]; public. A value is an integer in [0, k - 1].

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = RandomizedResponseMean(epsilon=1.0, levels=3)
    >>> reports = mechanism.randomize(np.arange(100_000) % 3, np.random.default_rng(7))
    >>> print(f"{mechanism.estimate(reports):.1f}")
    1.0
    """

    levels: int = field(default=2, metadata={"within": "[2, inf)", "help": "k, the number of levels 0, 1, ..., in {}."})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("levels", self.levels, high=2**53)  # all of which floats hold

    @property
    def labels(self) -> LabelRandomizedResponse:
        """The mechanism of a report, of levels as labels."""
        return LabelRandomizedResponse(self.levels, self.epsilon)

    @property
    def most(self) -> float:  # noqa: D102
        return float(self.levels - 1)

    def check(self, values: ArrayLike) -> NDArray[np.int64]:  # noqa: D102
        return check_values("values", values, self.levels - 1, whole=True)

    def _randomize(self, values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        return self.labels.randomize(values, rng)

    def _check_reports(self, reports: NDArray[Any]) -> NDArray[Any]:
        return check_values("reports", reports, self.levels - 1, whole=True)

    def debias(self, reports: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        middle = 0.5 * (self.levels - 1)
        return np.asarray(middle + (np.asarray(reports, dtype=np.float64) - middle) / self.labels.contrast)

    def report(self, value: Any, entropy: Entropy | None = None) -> int:  # noqa: D102
        return self.labels.report(int(self.check([value])[0]), entropy)
