"""What is true of `protocols.local.laplace`: exact laws are in `dpverify.privacy_loss.losses.laplace`.

**Privacy.** Two values differ by m at most, and noise with a log-concave law tells a larger shift apart better. Of the
discrete noise, a value between two points of the grid has a mixture of their laws, so that no pair is worse than that
of the ends, by joint convexity.

**Error.** Both are unbiased. The noise has one variance for all values; rounding adds most half-way between two points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.base import Families
from dpverify.claims.local.base import ReportMatrix
from dpverify.claims.local.means import LocalMeanClaims
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import local_means as formulas
from dpverify.guarantee import CapacityError, ThreatModel
from dpverify.laws import noise, views
from dpverify.laws.continuous import Cells, Laplace
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.window import IntegerLaw, point_mass
from dpverify.papers.entries import stated
from dpverify.privacy_loss.datasets.covers import Entry
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.laplace import binned_laplace, stepped_laplace
from dpverify.rounding import UNIT
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean

__all__ = ["DiscreteLaplaceMeanClaims", "LaplaceMeanClaims", "laplace_cells", "laplace_families"]

_STEPS = 2**12
"""Of the grid that bounds continuous noise from either side: the composed epsilon is then known within 1e-6 or so."""
_MOST_LISTED = 2**26
_CELLS_PER_SCALE, _REACH, _RESIDUES = 4.0, 80, 1024


def laplace_families(epsilon: float) -> tuple[Sequence[Entry], Sequence[PrivacyLossDistribution]]:
    """Return a pair that dominates continuous Laplace noise of this epsilon, and one that rounding it attains."""
    return (stepped_laplace(epsilon, _STEPS),), (binned_laplace(epsilon, _STEPS),)


def laplace_cells(law: Laplace) -> Cells:
    """Return the cells by which an audit reads Laplace noise: a quarter of its scale wide, twenty scales each way."""
    return Cells(law.location, law.scale / _CELLS_PER_SCALE, _REACH, _RESIDUES)


class LaplaceMeanClaims(LocalMeanClaims[LaplaceMean]):
    """The twin of `LaplaceMean`: of its law in real numbers."""

    name = "laplace-mean"
    protocol = LaplaceMean
    theorems = stated("wang_lecture9/local_means", "laplace")

    def report_density(self, protocol: LaplaceMean, value: Any) -> Laplace:
        return Laplace(float(protocol.check([value])[0]), protocol.scale)

    def report_law(self, protocol: LaplaceMean, value: Any) -> DiscreteLaw:
        return self._cells(protocol).law(self.report_density(protocol, value))

    def readable(self, protocol: LaplaceMean, reports: NDArray[Any]) -> NDArray[Any]:
        return self._cells(protocol).number(reports)

    def pairs(self, protocol: LaplaceMean) -> Sequence[PrivacyLossDistribution]:
        """Return a pair that dominates the law; what is attained is in `families`."""
        return (stepped_laplace(protocol.epsilon, _STEPS),)

    def families(
        self, protocol: LaplaceMean, threat_model: ThreatModel, tail: float, *, loose: bool = False
    ) -> Families:
        return (laplace_families(protocol.epsilon),)

    def worst_value(self, protocol: LaplaceMean) -> float:
        return 0.0

    def unit_variance(self, protocol: LaplaceMean, value: float) -> float:
        return float(formulas.laplace_variance(FLOATS, protocol.epsilon))

    def _cells(self, protocol: LaplaceMean) -> Cells:
        return laplace_cells(self.report_density(protocol, 0.5 * protocol.largest))


class DiscreteLaplaceMeanClaims(LocalMeanClaims[DiscreteLaplaceMean]):
    """The twin of `DiscreteLaplaceMean`."""

    name = "discrete-laplace-mean"
    protocol = DiscreteLaplaceMean
    theorems = stated("wang_lecture9/local_means", "laplace")

    def window(self, protocol: DiscreteLaplaceMean, value: float) -> IntegerLaw:
        position = float(protocol.position(protocol.check([value]))[0])
        below, offset = int(position // 1.0), position % 1.0
        drawn = noise.discrete_laplace(protocol.decay, views.TAIL)
        if offset == 0.0:
            return views.total(point_mass(below), drawn)
        rounded = IntegerLaw(below, np.array([1.0 - offset, offset]), UNIT, 0.0, 0.0)
        return views.total(rounded, drawn)

    def report_matrix(self, protocol: DiscreteLaplaceMean) -> ReportMatrix:
        drawn = noise.discrete_laplace(protocol.decay)
        points = np.arange(drawn.start, drawn.stop + protocol.steps)
        if (protocol.steps + 1) * points.size > _MOST_LISTED:
            raise CapacityError(f"steps={protocol.steps} makes a matrix of {points.size} reports for each step.")
        matrix = np.zeros((protocol.steps + 1, points.size))
        for step in range(protocol.steps + 1):
            matrix[step, step : step + drawn.pmf.size] = drawn.pmf
        return ReportMatrix(points, matrix, drawn.relative_error, drawn.tail_below + drawn.tail_above)

    def pairs(self, protocol: DiscreteLaplaceMean) -> Sequence[PrivacyLossDistribution]:
        return (stepped_laplace(protocol.epsilon, protocol.steps),)

    def two_valued(self, protocol: DiscreteLaplaceMean) -> bool:
        return protocol.steps == 1

    def worst_value(self, protocol: DiscreteLaplaceMean) -> float:
        """Return half a step, which is rounded worst."""
        return 0.5 * protocol.largest / protocol.steps

    def unit_variance(self, protocol: DiscreteLaplaceMean, value: float) -> float:
        offset = float(protocol.position(protocol.check([value]))[0]) % 1.0
        return float(formulas.discrete_laplace_variance(FLOATS, protocol.epsilon, protocol.steps, offset))
