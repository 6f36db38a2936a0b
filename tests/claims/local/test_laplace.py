"""The twins of means with Laplace noise."""

import itertools

from dpverify.claims.local.laplace import DiscreteLaplaceMeanClaims, LaplaceMeanClaims
from dpverify.guarantee import CapacityError
from dpverify.planning.account import account
from protocols.local.laplace import DiscreteLaplaceMean, LaplaceMean
from tests.claims.local.contracts import LocalMeanClaimsContract
from tests.refusals import refused


class TestLaplaceMeanClaims(LocalMeanClaimsContract):
    protocol = LaplaceMean(0.8, 3.0)
    values = (0.0, 3.0, 1.7)
    listed = False


class TestOneStep(LocalMeanClaimsContract):
    protocol = DiscreteLaplaceMean(1.1, 2.0, 1)
    values = (0.0, 2.0, 0.5)


class TestManySteps(LocalMeanClaimsContract):
    protocol = DiscreteLaplaceMean(2.3, 1.0, 8)
    values = (0.0, 1.0, 0.3)


def test_fewer_steps_cost_more_where_many_reports_compose() -> None:
    spent = [account(DiscreteLaplaceMean(1.0, 1.0, steps), instances=100, delta="1e-6").epsilon for steps in (1, 4, 16)]
    spent.append(account(LaplaceMean(1.0), instances=100, delta="1e-6").epsilon)
    assert [round(point.upper, 2) for point in spent] == [83.53, 72.44, 71.6, 71.55]
    assert all(after.upper < before.lower for before, after in itertools.pairwise(spent))


def test_the_density_is_that_of_the_noise() -> None:
    law = LaplaceMeanClaims().report_density(LaplaceMean(2.0, 4.0), 1.0)
    assert (law.location, law.scale) == (1.0, 2.0)


def test_a_matrix_that_is_too_large_is_refused() -> None:
    with refused("steps=4096", CapacityError):
        DiscreteLaplaceMeanClaims().report_matrix(DiscreteLaplaceMean(1.0, 1.0, 4096))
