import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from dpverify.claims.lsq.linear import _stretch, kept_share, unbiased
from protocols.lsq import LinearMap, LSQFamily
from tests.claims.lsq.families import FamilyContract


class TestLinearMap(FamilyContract):
    families: ClassVar[tuple[LSQFamily, ...]] = (
        LinearMap(3),
        LinearMap(3, "hadamard", 0.4),
        LinearMap(5, "haar", 0.6, rows=3),
        LinearMap(2, "signs", 0.5, rows=7, gain=1.2),
    )


@pytest.mark.long
def test_what_clipping_leaves_on_average_over_rotations() -> None:
    x, limit = np.array([[0.6, -0.8, 0.0]]), 0.4
    pairs = [LinearMap(3, "haar", limit, seed=seed).sample(1, np.random.default_rng(0)) for seed in range(6000)]
    for y in (x, np.array([[0.2, 0.5, -0.7]])):
        shrunk = np.array([float(pair.f(x)[0, 0] @ pair.g(y)[0, 0]) for pair in pairs])
        deviation = shrunk.std() / math.sqrt(len(shrunk))
        assert abs(shrunk.mean() - kept_share(limit, 3) * float(x[0] @ y[0])) < 5.2 * deviation


def test_kept_share_is_that_of_a_normal_in_many_dimensions() -> None:
    # E[clip(Z) Z] = P(|Z| <= b), by parts.
    found = [kept_share(b / math.sqrt(1e6), 10**6) for b in (0.5, 1.0, 3.0)]
    assert found == pytest.approx([math.erf(b / math.sqrt(2.0)) for b in (0.5, 1.0, 3.0)], rel=1e-5)
    assert kept_share(1.0, 5) == 1.0


@pytest.mark.parametrize("kind", ["haar", "hadamard"])
def test_the_gain_makes_up_for_what_clipping_takes(kind: str) -> None:
    family = LinearMap(20, kind, 0.2, radius=1.0)
    assert unbiased(family).gain * kept_share(0.2, family.columns) == pytest.approx(1.0, rel=1e-15)
    assert replace(unbiased(family), gain=family.gain) == family


@pytest.mark.parametrize("kind", ["haar", "hadamard", "signs"])
def test_the_stretch_of_rotations_is_that_of_all_rows_however_many_are_asked_for_first(kind: str) -> None:
    # From 512 rows on norms of parts add up; those that were asked for before serve those of more rows.
    for rows in (1100, 20, 512, 700, 1100, 1536):
        family = LinearMap(24, kind, rows=rows, seed=5)
        exact = float(np.linalg.norm(family.matrix, 2))
        assert exact * (1.0 - 1e-14) <= _stretch(family) <= exact * (1.0 + 1e-9)
