"""Bounds on the engine's own arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.rounding import spectral_norm, sum_above, summation_error


def test_sums_are_rounded_up_and_no_further() -> None:
    rng = np.random.default_rng(7)
    for first, second in rng.random((100, 2)) * (10.0, 1.0):
        total = sum_above(first, second)
        assert Fraction(math.nextafter(total, 0.0)) < Fraction(first) + Fraction(second) <= Fraction(total)
    assert sum_above(1.0, 2.0) == 3.0
    assert sum_above(1.0, math.inf) == math.inf


def test_sums_of_many_terms_are_as_near_as_stated() -> None:
    rng = np.random.default_rng(8)
    for size in (1, 127, 1000, 2**14):
        terms = rng.random(size)
        exact = sum(map(Fraction, terms.tolist()))
        assert abs(Fraction(float(terms.sum())) / exact - 1) <= Fraction(summation_error(size))


def _exceeds_every_singular_value(bound: float, matrix: np.ndarray) -> bool:
    """Whether `bound^2 I - G^T G` is positive definite: exact elimination has positive pivots."""
    entries = [[Fraction(value) for value in row] for row in matrix.tolist()]
    size = len(entries[0])
    form = [
        [(Fraction(bound) ** 2 if i == j else 0) - sum(row[i] * row[j] for row in entries) for j in range(size)]
        for i in range(size)
    ]
    for k in range(size):
        if form[k][k] <= 0:
            return False
        for i in range(k + 1, size):
            factor = form[i][k] / form[k][k]
            form[i] = [a - factor * b for a, b in zip(form[i], form[k], strict=True)]
    return True


@pytest.mark.parametrize("seed", range(12))
def test_spectral_norm_is_a_sharp_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 9)), int(rng.integers(1, 6))
    matrix = rng.standard_normal((rows, columns)) * 10.0 ** rng.integers(-200, 200)
    if seed % 3 == 0:  # singular values next to each other
        matrix = np.linalg.qr(rng.standard_normal((columns + 3, columns)))[0]
    bound = spectral_norm(matrix)
    assert _exceeds_every_singular_value(bound, matrix)
    assert not _exceeds_every_singular_value(bound * (1.0 - 1e-8), matrix)
    assert spectral_norm(matrix.T) == pytest.approx(bound, rel=1e-8)


@pytest.mark.parametrize("off", [0.0, 1e-10, -1e-10, 1e-8])
def test_spectral_norm_of_nearly_orthogonal_columns_charges_what_they_lack(off: float) -> None:
    matrix = np.vstack([np.array([[1.0, off], [off, 1.0]]), np.eye(2)])
    bound = spectral_norm(matrix)
    assert _exceeds_every_singular_value(bound, matrix)
    assert not _exceeds_every_singular_value(bound * (1.0 - 1e-9), matrix)


def test_spectral_norm_at_the_edges() -> None:
    assert spectral_norm(np.zeros((3, 2))) == 0.0
    assert spectral_norm(np.array([[5e-324]])) >= 5e-324
    with pytest.raises(ValueError, match=r"^matrix has an entry of size inf, but must be finite\.$"):
        spectral_norm(np.array([[1.0, np.inf]]))
