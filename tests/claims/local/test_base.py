"""What every local mechanism's twin has: the curve of independent reports, seen by everyone."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from dpverify.changes import Full
from dpverify.claims.local.base import LocalClaims, ReportMatrix
from dpverify.guarantee import Interval, ThreatModel
from dpverify.laws.discrete import DiscreteLaw
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from tests.refusals import refused


@dataclass(frozen=True)
class Urn:
    """Reports a letter of three, with chances that depend on the bit."""

    chances: tuple[tuple[float, float, float], ...] = ((0.5, 0.375, 0.125), (0.125, 0.25, 0.625))


class UrnClaims(LocalClaims[Urn]):
    name: ClassVar[str] = "urn"
    protocol: ClassVar[type[Any]] = Urn

    def inputs(self, protocol: Urn) -> Sequence[int]:
        return (0, 1)

    def report_law(self, protocol: Urn, value: int) -> DiscreteLaw:
        return DiscreteLaw.of(range(3), protocol.chances[value])

    def pairs(self, protocol: Urn) -> Sequence[PrivacyLossDistribution]:
        first, second = protocol.chances
        return (PrivacyLossDistribution.from_pmfs(first, second), PrivacyLossDistribution.from_pmfs(second, first))

    def pure_epsilon(self, protocol: Urn, threat_model: ThreatModel) -> Interval:
        return Interval(math.log(5), math.log(5))


@pytest.mark.parametrize("instances", [1, 2, 5])
def test_the_curve_is_that_of_the_worse_direction(instances: int) -> None:
    curve = UrnClaims().curve(Urn(), Full(instances), ThreatModel.LOCAL, relative_width=1e-9, reference_delta=1e-2)
    reports = [np.array([math.prod(c) for c in itertools.product(law, repeat=instances)]) for law in Urn().chances]
    for epsilon in (0.0, 0.5, 1.2):
        worst = max(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() for p, q in (reports, reports[::-1]))
        found = curve.delta(epsilon)
        assert found.lower - 1e-12 <= worst <= found.upper + 1e-12
        # Of several reports some may change the other way: only of one is the curve attained.
        assert found.width <= 1e-6 or instances > 1


def test_everyone_sees_the_reports() -> None:
    claims = UrnClaims()
    assert claims.threat_models == (ThreatModel.LOCAL,)
    assert claims.pure
    assert claims.messages_per_user(Urn()) == 1.0


def test_nothing_of_it_is_optional() -> None:
    assert LocalClaims.__abstractmethods__ == {"inputs", "report_law", "pairs", "pure_epsilon"}


def test_a_law_is_a_matrix_or_a_density() -> None:
    with refused("protocol", TypeError):
        UrnClaims().report_matrix(Urn())
    with refused("protocol", TypeError):
        UrnClaims().report_density(Urn(), 0)


def test_a_matrix_of_reports_holds_laws() -> None:
    found = ReportMatrix(np.arange(3), np.array(Urn().chances), 0.0)
    assert found.matrix.shape == (2, 3)
    for matrix in (np.array([[0.5, 0.25, 0.125]]), np.array([[1.5, -0.5, 0.0]]), np.array([[1.0, 0.5, 0.0]])):
        with pytest.raises(ValueError, match=r"^matrix must hold probabilities"):
            ReportMatrix(np.arange(3), matrix, 0.0)
    assert ReportMatrix(np.arange(3), np.array([[0.5, 0.25, 0.125]]), 0.0, outside=0.125).outside == 0.125
    with pytest.raises(ValueError, match=r"^points and matrix have shapes \(2,\), \(2, 3\), but must be"):
        ReportMatrix(np.arange(2), np.array(Urn().chances), 0.0)
