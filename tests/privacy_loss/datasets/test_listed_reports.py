"""Cells of datasets of randomized response: each dataset of a cell is below its pair, and below those of its parts."""

import pytest
from scipy.stats import binom

from dpverify.privacy_loss.datasets.covers import Branch
from dpverify.privacy_loss.datasets.listed_reports import ListedReports, sure_coins
from dpverify.privacy_loss.losses.pairs import mixed_reports

EPSILONS = (-0.4, 0.0, 0.1, 0.4, 0.9)


@pytest.mark.parametrize(("users", "p", "first", "unsure"), [(60, 0.3, 3, 20), (2000, 0.3, 0, 900), (30, 0.05, 10, 1)])
def test_every_dataset_of_a_cell_is_below_its_pair_and_those_of_its_parts(
    users: int, p: float, first: int, unsure: int
) -> None:
    reports = ListedReports(users, p, 1e-30)
    for up in (True, False):
        whole = reports.branch(first, unsure, up=up)
        for ones in range(first, first + unsure + 1, max(unsure // 12, 1)):
            pair = mixed_reports(users, ones, p)[0 if up else 1]
            for epsilon in EPSILONS:
                exact = pair.delta(epsilon).lower
                assert exact <= whole.pair.delta(epsilon).upper
                assert exact <= max(part.pair.delta(epsilon).upper for part in whole.split())


def test_reports_that_are_revealed_are_no_noise_and_rare_coins_are_charged() -> None:
    users, p, tail = 4000, 0.2, 1e-30
    coins, missing = sure_coins(3000, p, tail)
    assert coins > 200
    pair = ListedReports(users, p, tail).pair(0, 3000)
    alone = mixed_reports(users - 3000 + coins, 0, p, tail, coins=coins)
    for one, other in zip(pair, alone, strict=True):
        assert one.missing_mass >= other.missing_mass + 0.99 * missing > other.missing_mass
    for ones in (0, 1000, 3000):
        exact = mixed_reports(users, ones, p)
        assert exact.up.delta(0.0).lower <= pair.up.delta(0.0).upper
        assert exact.down.delta(0.0).lower <= pair.down.delta(0.0).upper


def test_parts_end_at_single_datasets() -> None:
    reports = ListedReports(40, 0.1, 1e-30)

    def leaves(branch: Branch) -> list[Branch]:
        parts = branch.split()
        return [leaf for part in parts for leaf in leaves(part)] if parts else [branch]

    found = leaves(reports.branch(2, 16, up=True))
    assert [leaf.pair.delta(0.3) for leaf in found] == [
        mixed_reports(40, ones, 0.1, 1e-30).up.delta(0.3) for ones in range(2, 19)
    ]


@pytest.mark.parametrize("p", [0.01, 0.2, 0.45])
@pytest.mark.parametrize("tail", [1e-2, 1e-6])
def test_fewer_coins_than_are_sure_are_as_rare_as_stated(p: float, tail: float) -> None:
    coins, missing = sure_coins(4000, p, tail)
    assert coins > 0
    assert float(binom.cdf(coins - 1, 4000, 2.0 * p)) <= missing


def test_only_single_datasets_are_attained() -> None:
    reports = ListedReports(40, 0.1, 1e-30)
    assert [reports.branch(2, unsure, up=True).attained for unsure in (0, 1, 16)] == [True, False, False]


def test_no_coin_is_sure_where_few_are_expected() -> None:
    assert sure_coins(50, 0.01, 1e-30) == (0, 0.0)
