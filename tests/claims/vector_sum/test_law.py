"""The laws of vector sums against all that can happen, and against the stated error."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dpverify.claims.vector_sum.law import nearest
from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.laws.discrete import DiscreteLaw
from protocols.vector_sum import VectorSum

CLAIMS = VectorSumClaims()
VECTORS = np.array([[0.2, 1.0, 0.5], [0.7, 0.0, 0.5]])


@pytest.mark.parametrize(
    "protocol",
    [VectorSum(2, 3, 2, 0.3, centre=0.5), VectorSum(2, 3, 1, 0.4, 2), VectorSum(2, 3, 2, 0.2, 3)],
    ids=lambda protocol: f"t={protocol.sampled}",
)
def test_laws_are_those_of_all_reports(protocol: VectorSum) -> None:
    law, (d, k), t = protocol.report_law(VECTORS), (protocol.dimension, protocol.levels), protocol.sampled
    subsets = list(itertools.combinations(range(d), t))
    views, chances = [], []
    for chosen in itertools.product(subsets, repeat=2):
        reported = [(user, coordinate) for user, subset in enumerate(chosen) for coordinate in subset]
        for values in itertools.product(range(k + 1), repeat=len(reported)):
            view = np.zeros((d, k + 1), dtype=np.int64)
            chance = 1.0 / len(subsets) ** 2
            for (user, coordinate), value in zip(reported, values, strict=True):
                view[coordinate, value] += 1
                chance *= law[user, coordinate, value]
            views.append(view)
            chances.append(chance)
    seen, masses = np.stack(views), np.array(chances)
    for coordinate in range(d):
        wanted, found = (
            DiscreteLaw.of(seen[:, coordinate], masses),
            CLAIMS.coordinate_law(protocol, VECTORS, coordinate),
        )
        assert wanted.distance(found) < 1e-14
        counted = CLAIMS.count_law(protocol, VECTORS, coordinate, k)
        assert DiscreteLaw.of(seen[:, coordinate, k], masses).distance(counted) < 1e-14
        estimates = nearest(CLAIMS.estimates(protocol, coordinate), protocol.analyze(seen)[:, coordinate])
        estimated = CLAIMS.estimate_law(protocol, VECTORS, coordinate)
        assert DiscreteLaw.of(estimates, masses).distance(estimated) < 1e-14


@pytest.mark.parametrize("protocol", [VectorSum(30, 2, 3, 0.3), VectorSum(30, 4, 2, 0.3, 2, True, 0.5)], ids=repr)
def test_estimates_are_unbiased_with_the_stated_error(protocol: VectorSum) -> None:
    vectors = np.random.default_rng(2).random((3, protocol.dimension))[np.arange(30) % 3]
    for coordinate in range(protocol.dimension):
        law = CLAIMS.estimate_law(protocol, vectors, coordinate)
        assert_allclose(law.mean, vectors[:, coordinate].sum(), rtol=1e-9)
        assert_allclose(law.variance, CLAIMS.mse(protocol, vectors)[coordinate], rtol=1e-8)


def test_what_is_off_by_more_than_rounding_stays_so() -> None:
    lattice = np.array([-1.0, 0.0, 3.0])
    assert nearest(lattice, np.array([-1.0 - 1e-12, 1e-5, 3.0, 9.0])).tolist() == [-1.0, 1e-5, 3.0, 9.0]
