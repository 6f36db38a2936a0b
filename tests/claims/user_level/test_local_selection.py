"""The twin of Hadamard selection against enumeration."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from dpverify.changes import Full
from dpverify.claims.user_level.local_selection import HadamardClaims
from dpverify.guarantee import CapacityError, ThreatModel
from protocols.user_level.local_selection import HadamardSelection
from tests.refusals import refused
from tests.samples import assert_law

CLAIMS = HadamardClaims()


@pytest.mark.parametrize("candidates", [2, 3, 4, 7])
def test_every_two_values_have_the_one_pair(candidates: int) -> None:
    selection = HadamardSelection(candidates, 0.9)
    (pair,) = CLAIMS.pairs(selection)
    laws = [CLAIMS.report_law(selection, value).pmf for value in CLAIMS.inputs(selection)]
    for first, second in itertools.permutations(laws, 2):
        losses = np.round(np.log(first / second), 12)
        found = {loss: first[losses == loss].sum() for loss in set(losses.tolist())}
        assert found == pytest.approx(dict(zip(np.round(pair.losses, 12).tolist(), pair.masses.tolist(), strict=True)))
    assert CLAIMS.pure_epsilon(selection, ThreatModel.LOCAL).upper == 0.9
    matrix = CLAIMS.report_matrix(selection)
    np.testing.assert_array_equal(matrix.matrix, laws)


@pytest.mark.parametrize("epsilon", [1e-9, 3.0, 30.0, 45.0, 700.0])
def test_rare_reports_have_the_stated_relative_error(epsilon: float) -> None:
    selection = HadamardSelection(3, epsilon)
    matrix = CLAIMS.report_matrix(selection)
    with mpmath.mp.workdps(400):
        flip = 1 / (1 + mpmath.exp(epsilon))
        for value, row in enumerate(matrix.matrix):
            for report, found in enumerate(row):
                own = bin(value & (report // 2)).count("1") % 2 == report % 2
                assert abs(found / ((1 - flip if own else flip) / 4) - 1) <= matrix.relative_error


def test_reports_follow_their_law() -> None:
    selection = HadamardSelection(3, 0.7)
    law = CLAIMS.report_law(selection, 2)
    drawn = selection.randomize(np.full(30_000, 2), np.random.default_rng(1))
    assert_law(drawn.tolist(), dict(zip(law.points.tolist(), law.pmf.tolist(), strict=True)))


def test_the_curve_is_that_of_the_enumerated_reports() -> None:
    selection = HadamardSelection(3, 0.8)
    laws = [CLAIMS.report_law(selection, value).pmf for value in (0, 2)]
    curve = CLAIMS.curve(selection, Full(2), ThreatModel.LOCAL, reference_delta=0.05)
    products = [np.outer(law, law).ravel() for law in laws]
    for epsilon in (0.0, 0.3, 0.7, 1.5):
        found, exact = curve.delta(epsilon), np.maximum(products[0] - math.exp(epsilon) * products[1], 0).sum()
        assert found.lower - 1e-12 <= exact <= found.upper + 1e-12


def missed(selection: HadamardSelection, held: list[list[float]], value: int) -> float:
    """Enumerate all reports of users who hold values with these probabilities, ties lost."""
    laws = [sum(p * CLAIMS.report_law(selection, v).pmf for v, p in enumerate(user)) for user in held]
    total = 0.0
    for reports in itertools.product(range(2 * selection.order), repeat=len(held)):
        estimates = np.round(selection.estimates(np.array(reports)), 9)
        if np.delete(estimates, value).max() >= estimates[value]:
            total += math.prod(law[report] for law, report in zip(laws, reports, strict=True))
    return total


@pytest.mark.parametrize("share", [0.6, 0.9, 1.0])
def test_the_failure_is_exact_for_one_rival_and_a_bound_for_several(share: float) -> None:
    two = HadamardSelection(2, 1.2)
    for users in (1, 2, 3, 4):
        exact = missed(two, [[1 - share, share]] * users, 1)
        assert CLAIMS.plurality_failure(two, users, share) == pytest.approx(exact, rel=1e-8)
    four = HadamardSelection(4, 2.5)
    for others in ([1, 0, 0], [1 / 3] * 3, [0, 0.5, 0.5]):
        held = [[*[(1 - share) * p for p in others], share]] * 3
        assert missed(four, held, 3) <= CLAIMS.plurality_failure(four, 3, share)


def test_arguments_are_checked() -> None:
    selection = HadamardSelection(3, 1.0)
    with refused("value=3"):
        CLAIMS.report_law(selection, 3)
    with pytest.raises(ValueError, match=r"^share=1\.1 must be"):
        CLAIMS.plurality_failure(selection, 5, 1.1)


def test_what_is_too_large_to_list_is_refused_in_a_sentence() -> None:
    for call, message in (
        (lambda: CLAIMS.report_law(HadamardSelection(2**40, 1.0), 0), "candidates=1099511627776 makes"),
        (lambda: CLAIMS.report_matrix(HadamardSelection(2**16, 1.0)), "candidates=65536 makes 131072 reports"),
        (lambda: CLAIMS.plurality_failure(HadamardSelection(4, 1.0), 10**9, 0.9), "users=1000000000 must be at most"),
    ):
        with pytest.raises(CapacityError, match=f"^{message}"):
            call()
