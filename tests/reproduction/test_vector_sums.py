"""The error of vector sums by each parameter."""

import numpy as np
import pytest

from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.reproduction.experiment import find_experiments
from tests.reproduction.small import small_setting


@pytest.mark.long
@pytest.mark.parametrize(("number", "varied"), [(1, {"t", "k"}), (2, {"d", "n"}), (3, {"epsilon"})])
def test_each_parameter_is_varied_and_its_power_judged(number: int, varied: set[str]) -> None:
    (experiment,) = find_experiments(f"scott2022-figure-{number}")
    found = experiment.run(small_setting())
    assert {row["varied"] for row in found.rows} == varied
    for row in found.rows:
        if row["error"] is not None:
            assert 0.0 < row["gamma"] < 1.0
            assert row["error"] < row["with_sampling"] or row["varied"] == "t"
    assert found.findings
    assert len(found.panels) == 2


@pytest.mark.long
def test_the_exact_parameters_are_private_and_have_less_noise() -> None:
    (experiment,) = find_experiments("scott2022-figure-2")
    rows = experiment.run(small_setting()).rows
    published, exact = (
        {(row["varied"], row["value"]): row["gamma"] for row in rows if row["accounting"] == way}
        for way in ("published", "exact")
    )
    assert all(exact[key] < gamma / 10 for key, gamma in published.items() if gamma is not None)
    claims = VectorSumClaims()
    protocol = claims.least_blanket(50_000, 100, 3, (0.95, 0.5))
    assert claims.delta(protocol, 0.95).upper <= 0.5


def test_powers_are_fitted_by_least_squares() -> None:
    from dpverify.reproduction.vector_sums import _power

    x = np.array([1.0, 2.0, 4.0, 8.0])
    power, error = _power(list(zip(x, 3.0 * x**-1.25, strict=True)))
    assert power == pytest.approx(-1.25)
    assert error == pytest.approx(0.0, abs=1e-6)
