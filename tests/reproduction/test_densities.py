"""The error of a Gaussian density."""

import pytest

from dpverify.reproduction.experiment import find_experiments
from tests.reproduction.small import small_setting


@pytest.mark.long
def test_errors_are_those_of_densities_and_exact_parameters_have_less() -> None:
    (experiment,) = find_experiments("wagner2025-figure-3")
    found = experiment.run(small_setting())
    errors = {(row["bitsum"], row["accounting"], row["epsilon"]): row["rmse"] for row in found.rows}
    assert all(error > 0.01 for error in errors.values() if error is not None)
    assert errors["rr", "exact", 2.0] < errors["rr", "published", 2.0]
    assert len(found.findings) == 3
