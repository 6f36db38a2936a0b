"""Products of three and four columns: all of them by one matrix product, and the ones that tell found among many."""

import math

import numpy as np
import pytest

from dpverify.statistics.outputs.aspects import coded_aspects
from dpverify.statistics.outputs.products import index_sets, products_of, telling_parities


@pytest.mark.parametrize("columns", [3, 4, 7])
def test_the_sums_are_those_of_the_products(columns: int) -> None:
    signs = np.where(np.random.default_rng(columns).random((50, columns)) < 0.4, -1.0, 1.0).astype(np.float32)
    sets = index_sets(columns)
    assert len(sets) == math.comb(columns, 3) + math.comb(columns, 4)
    expected = [np.prod(signs[:, each[each >= 0]], axis=1).sum() for each in sets]
    assert products_of(signs).tolist() == expected


@pytest.mark.parametrize("size", [3, 4])
def test_columns_that_are_independent_but_together_are_found_among_many(size: int) -> None:
    rng = np.random.default_rng(size)
    first, second = (rng.standard_normal((6_000, 24)) for _ in range(2))
    at = [2, 9, 17, 22][:size]
    # Half of the runs: then the sign of the last column is the product of the others.
    told = rng.random(6_000) < 0.5
    first[told, at[-1]] = np.abs(first[told, at[-1]]) * np.sign(first[told][:, at[:-1]]).prod(axis=1)
    assert telling_parities(first < 0.0, second < 0.0)[0] == tuple(at)
    # Columns that never change are none, and fewer than three tell nothing.
    assert telling_parities(np.zeros((9, 5), dtype=bool), np.zeros((9, 5), dtype=bool)) == []
    (aspect,) = (
        each
        for each in coded_aspects(first, second)
        if each.name == f"the signs of columns {', '.join(map(str, at))} together"
    )
    odd = aspect.of(first)[told]
    assert np.unique(odd).size == 1
    assert 0.45 < aspect.of(second).mean() < 0.55
