"""One Poisson noise: exact law and calibration."""

import math

import numpy as np
import pytest

from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Budget, InfeasibleBudgetError
from dpverify.planning.plan import plan
from protocols.bitsum import Estimate, Poisson
from tests.claims.bitsum.contracts import BitsumClaimsContract
from tests.refusals import refused


class TestPoissonClaims(BitsumClaimsContract):
    protocol = Poisson(3, 5.0)
    size = 50

    def user_law(self, bit: int) -> np.ndarray:
        mean = self.protocol.mean / self.protocol.users
        return np.roll([math.exp(-mean) * mean**z / math.factorial(z) for z in range(self.size)], bit)


class TestPoissonOverestimate(TestPoissonClaims):
    protocol = Poisson(3, 5.0, estimate=Estimate.OVER)


def test_no_published_mean() -> None:
    with pytest.raises(FormulaRangeError, match="No source of this project"):
        plan("poisson", Budget(1, "1e-6"), users=100, instances=4, method="published")


def test_too_few_messages() -> None:
    with refused("max_messages_per_user=1.1", InfeasibleBudgetError):
        plan("poisson", Budget(1, "1e-6"), users=100, instances=4, max_messages_per_user=1.1)
