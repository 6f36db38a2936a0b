import itertools

import numpy as np
import pytest

from dpverify.claims.lsq.laplacian import LaplacianBinningClaims
from protocols.lsq import LaplacianBinning
from tests.claims.lsq.families import users_of


@pytest.mark.parametrize(("buckets", "signed"), [(4, False), (1, True), (3, True)])
def test_moments_by_enumeration_of_ideal_hashes(buckets: int, signed: bool) -> None:
    """From the law of which of three points share a cell, every symbol of every cell enumerated."""
    family, claims = LaplacianBinning(2, 0.9, buckets, signed), LaplacianBinningClaims()
    x, z, y = users_of(family, 10, 3)
    k = {
        pair: float(family.kernel([a], [b])[0, 0])
        for pair, (a, b) in {"xz": (x, z), "xy": (x, y), "zy": (z, y)}.items()
    }
    together = (k["xz"] * k["xy"] * k["zy"]) ** 0.5
    cells = {(0, 0, 0): together, (0, 0, 1): k["xz"] - together, (0, 1, 0): k["xy"] - together}
    cells[(0, 1, 1)] = k["zy"] - together
    cells[(0, 1, 2)] = 1.0 - sum(cells.values())
    symbols = list(itertools.product(range(buckets), (-1, 1) if signed else (1,)))
    first = both = 0.0
    for (cx, cz, cy), chance in cells.items():
        for drawn in itertools.product(symbols, repeat=3):
            (bx, sx), (bz, sz), (by, sy) = drawn[cx], drawn[cz], drawn[cy]
            share = chance / len(symbols) ** 3
            meet = sx * sy * (bx == by)
            first += share * meet
            both += share * meet * sz * sy * (bz == by)
    assert claims.expected(family, x[None], y)[0] == pytest.approx(first, rel=1e-12)
    assert claims.product(family, x[None], z[None], y)[0, 0] == pytest.approx(both, rel=1e-12)
    assert np.abs(first - k["xy"]) <= family.beta
