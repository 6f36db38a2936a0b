"""Corollary 33 as numbers: users by the class's size, samples by queries and tolerance."""

import math

import pytest

from dpverify.claims.user_level.classifier import plurality_failure
from dpverify.claims.user_level.separators import enough_for_local
from dpverify.claims.user_level.statistical_queries import enough_samples
from protocols.user_level.local_selection import HadamardSelection
from protocols.user_level.separators import SeparatorSearch
from protocols.user_level.statistical_queries import DecisionListSearch, QueryAlgorithm
from tests.refusals import refused


@pytest.mark.parametrize("algorithm", [SeparatorSearch(2, 0.05), SeparatorSearch(3, 0.05), DecisionListSearch(3, 0.01)])
def test_users_are_what_the_corollary_says(algorithm: QueryAlgorithm) -> None:
    beta, epsilon = 0.09, 0.5
    enough = enough_for_local(algorithm, epsilon, beta)
    # O((poly(d) + log(1/beta)) / eps^2), with a constant.
    assert enough.users <= 24.0 * (enough.bits + math.log(1.0 / beta)) / epsilon**2
    selection = HadamardSelection(len(algorithm.representation.concepts), epsilon)
    assert plurality_failure(selection, enough.users, 0.9) <= beta / 3.0
    assert plurality_failure(selection, enough.users - 1, 0.9) > beta / 3.0
    assert enough.samples == pytest.approx(enough_samples(algorithm, 0.1 * beta / 3.0), rel=1e-12)
    assert 2.0**enough.bits == pytest.approx(selection.candidates)


def test_bits_are_polynomial_in_the_variables() -> None:
    for variables in (1, 2, 3):
        assert enough_for_local(SeparatorSearch(variables, 0.1), 1.0, 0.1).bits <= variables**2 + 1


def test_beta_is_a_probability() -> None:
    with refused("beta=1.0"):
        enough_for_local(SeparatorSearch(1, 0.1), 1.0, 1.0)
