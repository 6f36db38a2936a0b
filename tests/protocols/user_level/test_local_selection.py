"""Hadamard reports and what is selected from them."""

import math
import random

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import hadamard

from protocols.user_level.local_selection import HadamardSelection
from tests.contracts import SelectionContract
from tests.refusals import refused
from tests.samples import assert_mean, assert_same_law


class TestHadamardSelection(SelectionContract):
    @staticmethod
    def make(users: int, candidates: int) -> HadamardSelection:
        return HadamardSelection(candidates, 1.5)


@pytest.mark.parametrize("candidates", [2, 3, 8, 9])
def test_signs_are_those_of_the_walsh_matrix(candidates: int) -> None:
    selection = HadamardSelection(candidates, 1.0)
    rows, columns = np.mgrid[: selection.order, : selection.order]
    assert (1 - 2 * selection.signs(columns, rows) == hadamard(selection.order)).all()


@pytest.mark.long
@pytest.mark.parametrize("candidates", [2, 5, 8])
def test_estimates_are_the_transform_and_unbiased(candidates: int) -> None:
    selection, rng = HadamardSelection(candidates, 0.8), np.random.default_rng(1)
    values = np.repeat(np.arange(candidates), rng.integers(1, 9, candidates))
    reports = selection.randomize(values, rng)
    signs = hadamard(selection.order)[reports // 2] * (1 - 2 * (reports % 2))[:, np.newaxis]
    assert_allclose(selection.estimates(reports), signs.sum(axis=0)[:candidates] / math.tanh(0.4), rtol=1e-12)
    drawn = np.stack([selection.estimates(selection.randomize(values, rng)) for _ in range(4000)])
    assert_mean(drawn, np.bincount(values))


def test_large_epsilons_tell_the_truth() -> None:
    selection = HadamardSelection(300, 700.0)
    reports = selection.randomize(np.full(500, 217), np.random.default_rng(2))
    assert selection.estimates(reports)[217] == 500
    assert selection.analyze(reports) == 217


def test_reports_are_checked() -> None:
    with pytest.raises(ValueError, match=r"^reports\[1\]=8 must be in \[0, 8\)\.$"):
        HadamardSelection(3, 1.0).estimates([7, 8])


def test_a_real_users_report_has_the_same_law() -> None:
    selection, entropy = HadamardSelection(3, 0.9), random.Random(5)
    real = [selection.report(2, entropy) for _ in range(5000)]
    assert_same_law(real, selection.randomize(np.full(20_000, 2), np.random.default_rng(6)).tolist())
    assert 0 <= selection.report(0) < 8
    with refused("value=3"):
        selection.report(3)


def test_so_many_candidates_have_reports_of_64_bits() -> None:
    most = HadamardSelection(10**18, 1.0)
    assert (most.randomize([10**18 - 1] * 100, np.random.default_rng(0)) >= 0).all()
