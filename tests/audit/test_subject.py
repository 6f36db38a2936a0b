"""What is audited, and the fault of a stated size that is the hardest to see."""

import math

import numpy as np
import pytest

from dpverify.audit.subject import Dataset, Messages, narrowed
from dpverify.claims.bitsum.baselines import CentralDiscreteLaplaceClaims
from dpverify.laws.discrete import DiscreteLaw
from protocols.bitsum import CentralDiscreteLaplace


def test_the_narrowed_law_is_the_nearest_of_its_size() -> None:
    law = CentralDiscreteLaplaceClaims().estimate_law(CentralDiscreteLaplace(1, 0.6), 0)
    found = narrowed(law, 0.1)
    other, name = found
    assert name == "a standard deviation 10 % smaller"
    assert math.sqrt(other.variance) == pytest.approx(0.9 * math.sqrt(law.variance))

    def divergence(alternative: DiscreteLaw) -> float:
        p = alternative.probabilities(law.points)
        return float(p[p > 0] @ np.log(p[p > 0] / law.pmf[p > 0]))

    # A discrete Laplace law of that standard deviation is farther away.
    p = 0.56768
    laplace = CentralDiscreteLaplaceClaims().estimate_law(CentralDiscreteLaplace(1, p), 0)
    assert math.sqrt(laplace.variance) == pytest.approx(0.9 * math.sqrt(law.variance), rel=1e-4)
    assert divergence(other) < divergence(laplace)
    two = narrowed(DiscreteLaw.of([0, 1], [0.5, 0.5]), 0.1)
    assert two[1] == "a mean off by 0.1 standard deviations"
    assert two[0].mean == pytest.approx(0.45)
    assert narrowed(DiscreteLaw.of([3], [1.0]), 0.1) is None


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_a_law_is_narrowed_by_what_was_asked(share: float) -> None:
    law = DiscreteLaw.of([-5, 0, 1, 7], [0.1, 0.4, 0.3, 0.2])
    found = narrowed(law, share)
    assert math.sqrt(found[0].variance) == pytest.approx((1 - share) * math.sqrt(law.variance), rel=1e-9)
    assert float(found[0].pmf.sum()) == pytest.approx(1.0, abs=1e-12)
    # Weights e^(-theta (z - mean)^2): their logarithms are linear in the square.
    squares = (law.points - law.mean) ** 2
    slopes = np.diff(np.log(found[0].pmf / law.pmf)) / np.diff(squares)
    assert slopes == pytest.approx(np.full(3, slopes[0]), rel=1e-9)
    assert slopes[0] < 0.0


def test_nothing_is_watched_or_known_unless_said() -> None:
    dataset = Dataset("no ones", np.zeros(3))
    assert (dict(dataset.laws), dataset.view) == ({}, None)
    messages = Messages(lambda bits, rng: (bits, bits), lambda bits, rng: bits, np.zeros(3), np.zeros(3), 1)
    assert (messages.fewest, messages.most, messages.piece) == (0, math.inf, None)
