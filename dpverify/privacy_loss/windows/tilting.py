"""The tilted Fourier transform of one factor of a composition, with its proved error; kept, as many mixes share it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.windows.saddle import LossMoments
from dpverify.rounding import UNIT, fft_error, norm, summation_error
from protocols.classes.frozen import dataclass

__all__ = ["FactorTransform", "FactorTransforms"]

_KEPT_CELLS = 2**20
"""Transforms are kept up to this many cells in all, but at least one."""


@dataclass(frozen=True)
class FactorTransform:
    """The transform of a factor's masses, tilted, normalised and wrapped around a window.

    - values (ndarray of complex128, shape (length // 2 + 1,)): At the non-negative frequencies.
    - error: Bound on the 2-norm of its error, over all frequencies.
    - relative_error: Bound on the relative error of each tilted mass, from its evaluation.
    - excess: Bound on how far above 1 a modulus of the exact transform may be: the weights add up to 1 but for
      rounding.
    """

    values: NDArray[np.complex128]
    error: float
    relative_error: float
    excess: float


class FactorTransforms:
    """The transforms of one grid distribution.

    - indices (ndarray of int64, shape (atoms,)): Its losses in units of the step.
    - moments: Its losses and masses.
    """

    def __init__(self, indices: NDArray[np.int64], moments: LossMoments) -> None:
        self._indices = indices
        self._moments = moments
        self._kept: dict[tuple[float, int], FactorTransform] = {}

    def at(self, tilt: float, length: int) -> FactorTransform:
        """Return the transform at a tilt, on a window of a power-of-two length."""
        found = self._kept.pop((tilt, length), None) or self._transform(tilt, length)
        self._kept[tilt, length] = found
        while len(self._kept) > 1 and sum(2 * (kept.values.size - 1) for kept in self._kept.values()) > _KEPT_CELLS:
            del self._kept[next(iter(self._kept))]
        return found

    def _transform(self, tilt: float, length: int) -> FactorTransform:
        losses, log_masses = self._moments.losses, self._moments.log_masses
        exponents = tilt * losses + log_masses
        # Both terms, as they may cancel.
        largest = float(np.abs(log_masses).max()) + tilt * float(np.abs(losses[[0, -1]]).max())
        weights = np.exp(exponents - exponents.max())
        weights /= weights.sum()
        folded = np.bincount(self._indices % length, weights=weights, minlength=length).astype(np.float64, copy=False)
        # Of a weight: u each of loss, product, sum, and twice that of the difference, 2u of each logarithm and
        # exponential, one for the quotient; then the sum of those that fall on one cell.
        most = -(-int(self._indices[-1] - self._indices[0] + 1) // length)
        # By Parseval's identity the error of a transform is bounded in the 2-norm, hence at each frequency.
        return FactorTransform(
            np.fft.rfft(folded),
            fft_error(length) * math.sqrt(length) * norm(folded),
            UNIT * (6.0 * largest + 4.0 + most),
            summation_error(weights.size),
        )
