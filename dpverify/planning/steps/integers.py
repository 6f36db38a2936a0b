"""Steps on sums of integers, with noise of integers: discrete Gaussian, Skellam and discrete Laplace.

docs/sampling.md says why a record that adds as much as it may, up or down, is the worst one for each of them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import field
from enum import StrEnum

from flint import arb

from dpverify.laws.noise import discrete_gaussian, skellam
from dpverify.planning.steps.sampling import SampledStep, Sampling, check_loss
from dpverify.privacy_loss.losses.laplace import stepped_laplace
from dpverify.privacy_loss.losses.mixture import erased
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.pairs import ListedPair
from dpverify.privacy_loss.sampling.triples import NoiseTriple
from dpverify.rounding import UNIT
from protocols.classes.frozen import dataclass
from protocols.validation import check_choice

__all__ = ["DiscreteLaplaceStep", "IntegerNoise", "IntegerStep"]

_MOST_ATOMS = 2**22


class IntegerNoise(StrEnum):
    """Which noise is added to a sum of integers."""

    DISCRETE_GAUSSIAN = "discrete-gaussian"
    """Probabilities proportional to `e^(-z^2 / (2 noise^2))`."""
    SKELLAM = "skellam"
    """The difference of two Poisson numbers of mean `noise^2 / 2`."""


@dataclass(frozen=True)
class IntegerStep(SampledStep):
    """Discrete Gaussian or Skellam noise on a sum of integers.

    Parameters
    ----------
    noise : float
        The parameter of the discrete Gaussian law, or the standard deviation of Skellam's.
    sensitivity : int
        How much one record adds at most, in size.
    rate : float
        With which probability each record takes part.
    law : IntegerNoise or str
        "discrete-gaussian" or "skellam".
    sampling : Sampling or str
        "poisson", or "fixed-size" where batches of a fixed size are drawn without replacement.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> import dpverify
    >>> step = dpverify.IntegerStep(noise=10.0, rate=0.1, law="skellam")
    >>> print(dpverify.account(step, instances=1000, delta="1e-6", relative_width=1e-4).epsilon)
    [1.37922, 1.37932]
    """

    noise: float = field(metadata={"within": "[1e-7, 1e7]"})
    sensitivity: int = field(default=1, metadata={"within": "[1, inf)"})
    rate: float = field(default=1.0, metadata={"within": "(0, 1]"})
    law: IntegerNoise = IntegerNoise.DISCRETE_GAUSSIAN
    sampling: Sampling = Sampling.POISSON

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "law", check_choice("law", self.law, IntegerNoise))

    def _loss(self, shifts: int) -> arb | None:
        return None

    def _triple(self, tail: float) -> NoiseTriple:
        listed = skellam if self.law is IntegerNoise.SKELLAM else discrete_gaussian
        law = listed(self.noise, tail, max_atoms=_MOST_ATOMS, beyond=2 * self.sensitivity)
        return NoiseTriple.of_law(law, self.sensitivity, tail)

    def _comes(self, shifts: int, tail: float) -> ListedPair:
        return self._triple(tail).comes(self.rate, shifts)

    def _becomes(self, tail: float) -> ListedPair:
        return self._triple(tail).becomes(self.rate)

    def __str__(self) -> str:
        changes = f" on changes by {self.sensitivity:,}" if self.sensitivity > 1 else ""
        return f"{self.law.value} noise of {self.noise:g}{changes}, {self._sample}"


@dataclass(frozen=True)
class DiscreteLaplaceStep(SampledStep):
    """Noise of probabilities proportional to `e^(-parameter |z|)` on a sum of integers.

    Parameters
    ----------
    parameter : float
        The loss of a change by 1.
    sensitivity : int
        How much one record adds at most, in size.
    rate : float
        With which probability each record takes part.
    sampling : Sampling or str
        "poisson", or "fixed-size" where batches of a fixed size are drawn without replacement.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> import dpverify
    >>> step = dpverify.DiscreteLaplaceStep(0.1, sensitivity=3, rate=0.2)
    >>> print(dpverify.account(step, instances=100, delta="1e-6", relative_width=1e-4).epsilon)
    [2.64469, 2.64491]
    """

    parameter: float = field(metadata={"within": "(0, 700]"})
    sensitivity: int = field(default=1, metadata={"within": "[1, inf)"})
    rate: float = field(default=1.0, metadata={"within": "(0, 1]"})
    sampling: Sampling = Sampling.POISSON

    def _loss(self, shifts: int) -> arb:
        return arb(self.parameter) * (self.sensitivity * shifts)

    def _comes(self, shifts: int, tail: float) -> ListedPair:
        steps = self.sensitivity * shifts
        whole = self.parameter * steps
        check_loss(self, whole, 700.0)
        made = stepped_laplace(whole, steps)
        # The product is rounded: a loss by so much, and a mass relatively.
        error = 2.0 * UNIT * whole
        made = dataclasses.replace(made, relative_error=made.relative_error + error, loss_error=made.loss_error + error)
        both = Directions(made, made)
        return ListedPair(both if self.rate == 1.0 else erased(both, 1.0 - self.rate, self.rate))

    def _becomes(self, tail: float) -> ListedPair:
        whole = self.parameter * self.sensitivity  # rounded: the triple charges 8 units of it
        check_loss(self, whole, 300.0)
        return NoiseTriple.laplace(whole, self.sensitivity).becomes(self.rate)

    def __str__(self) -> str:
        return f"discrete Laplace noise of {self.parameter:g} on changes by {self.sensitivity:,}, {self._sample}"
