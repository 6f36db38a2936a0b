"""Which pairs does a curve of sampled steps compose? Noise on a line, and lists, each in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.line import NoiseLine, SampledGrids
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.saddle import LossMoments
from protocols.validation import check_real

__all__ = ["LinePair", "ListedPair", "SampledPair"]

Pairs = Sequence[PrivacyLossDistribution]


class SampledPair(Protocol):
    """A pair in both directions, on any grid."""

    @property
    def moments(self) -> LossMoments:
        """About the moments of the loss of removal."""

    @property
    def symmetric(self) -> bool:
        """Whether both directions have the same law."""

    def on_grid(self, step: float) -> SampledGrids:
        """Return both directions on the multiples of a step."""

    def listed(self, finer: int = 1) -> tuple[Pairs, Pairs]:
        """Return both directions as lists: that dominate, and that are attained; of finer cells if asked for."""


class LinePair:
    """Noise on a line, and a record that takes part with probability `rate`."""

    def __init__(self, line: NoiseLine, rate: float) -> None:
        self._line, self._rate = line, check_real("rate", rate, low=0.0, high=1.0, low_open=True)

    @cached_property
    def moments(self) -> LossMoments:
        """About the moments of the loss of removal."""
        return self._line.moments(self._rate)

    @property
    def symmetric(self) -> bool:
        """Whether both directions have the same law."""
        return self._rate == 1.0 or self._line.opposite

    def on_grid(self, step: float) -> SampledGrids:
        """Return both directions on the multiples of a step."""
        return self._line.sampled(self._rate, step)

    def listed(self, finer: int = 1) -> tuple[Pairs, Pairs]:
        """Return both directions as lists that dominate, and as lists that are attained."""
        above, below = self._line.listed(self._rate, finer)
        return (above[:1], below[:1]) if self.symmetric else (above, below)


class ListedPair:
    """A pair whose losses are listed, removal first."""

    def __init__(self, pair: Directions) -> None:
        self._pair = pair

    @cached_property
    def moments(self) -> LossMoments:
        """About the moments of the loss of removal."""
        first = self._pair.up
        return LossMoments(first.losses, np.log(first.masses))

    @property
    def symmetric(self) -> bool:
        """Whether both directions have the same law."""
        return self._pair.up is self._pair.down

    def on_grid(self, step: float) -> SampledGrids:
        """Return both directions on the multiples of a step."""
        up = connect_the_dots(self._pair.up, step)
        return SampledGrids(up, up if self.symmetric else connect_the_dots(self._pair.down, step))

    def listed(self, finer: int = 1) -> tuple[Pairs, Pairs]:
        """Return both directions as lists that dominate, and as lists that are attained: the same."""
        found = self._pair[:1] if self.symmetric else self._pair
        return found, found
