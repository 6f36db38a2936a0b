"""The number of ones in a RAPPOR report."""

import numpy as np

from dpverify.reproduction.experiment import find_experiments
from tests.reproduction.small import small_setting


def test_the_printed_count_is_that_of_another_parameter() -> None:
    (experiment,) = find_experiments("wang_lecture9-figure-9.2")
    found = experiment.run(small_setting())
    assert [finding.holds for finding in found.findings] == [False, True]
    for p in (0.25, 0.5):
        rows = [row for row in found.rows if row["p"] == p]
        ones = np.array([row["ones"] for row in rows])
        exact, simulated = (np.array([row[key] for row in rows]) for key in ("exact", "simulated"))
        mean = float(ones @ exact)
        spread = float(np.sqrt(((ones - mean) ** 2) @ exact))
        # Five standard errors of the mean of 400 reports: one false alarm in 1.7 million.
        assert abs(float(ones @ simulated) - mean) < 5 * spread / 20
