"""The empirical privacy-loss distribution of a protocol's outputs, against the exact one."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.tally import Tally
from dpverify.statistics.bounds.intervals import clopper_pearson
from dpverify.statistics.conformance import Bins, choose_bins
from dpverify.statistics.outputs.events import likelihood_ratio_score
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

__all__ = ["LossLaw"]


@dataclass(frozen=True)
class LossLaw:
    """The law, under the first dataset, of the privacy loss `ln P/Q` of an output.

    - first, second: The exact laws P and Q of the outputs on two neighbouring datasets.
    """

    first: DiscreteLaw
    second: DiscreteLaw

    @cached_property
    def losses(self) -> NDArray[np.float64]:
        """The loss of every outcome of P, shape (atoms,), as `likelihood_ratio_score` gives it."""
        return likelihood_ratio_score(self.first, self.second)(self.first.points)

    def bins(self, trials: int, *, most: int = 12) -> Bins:
        """Return bins of losses for `trials` samples, as `choose_bins` does."""
        return choose_bins(self.first, trials, most=most, order=self.losses)

    def rows(self, samples: ArrayLike | Tally, level: float, *, most: int = 40) -> list[dict[str, float]]:
        """Return rows for a plot: at some losses, how likely an output has at least that loss.

        - samples (array_like, shape (trials,) or (trials, coordinates); or Tally): Outputs on the first dataset, as
          they are or counted by its law.
        - level: The probability that not all intervals `lower` to `upper` cover the truth.
        - most: At most so many rows, at quantiles of the exact distribution.

        Returns: `loss`, `exact`, `empirical`, `lower`, `upper`, in order of the loss.
        """
        check_integer("most", most, low=1)
        order = np.argsort(self.losses, kind="stable")
        sorted_losses, mass = self.losses[order], self.first.pmf[order]
        survival = np.cumsum(mass[::-1])[::-1]
        quantiles = np.searchsorted(np.cumsum(mass), np.linspace(0.0, 1.0, most + 1)[:-1], side="right")
        shown = np.unique(sorted_losses[np.minimum(quantiles, order.size - 1)])
        hits = Tally.of(self.first, samples).counts
        drawn = np.append(np.cumsum(hits[:-1][order][::-1])[::-1], 0)  # with this loss or a larger one
        counts, trials = drawn[np.searchsorted(sorted_losses, shown, side="left")], int(hits.sum())
        lower, upper = clopper_pearson(counts, trials, level * (1.0 / shown.size))  # a union bound
        exact = survival[np.searchsorted(sorted_losses, shown, side="left")]
        columns = {"loss": shown, "exact": exact, "empirical": counts / trials, "lower": lower, "upper": upper}
        return [{name: float(column[i]) for name, column in columns.items()} for i in range(shown.size)]
