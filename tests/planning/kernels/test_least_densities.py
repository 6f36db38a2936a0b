"""An answer names the plan that gives it, and the one a step below, or why there is none."""

import dataclasses
import json
from fractions import Fraction

from dpverify.planning.kernels.density import DensityRow
from dpverify.planning.kernels.least_densities import LeastDensities
from dpverify.planning.plan import plan
from dpverify.planning.sweeps.least_plans import Least
from dpverify.planning.sweeps.setting import FailedPlan
from protocols.lsq import FourierPairs


def test_the_recommended_answer_saves_messages_for_little_more() -> None:
    row = plan("central-gaussian", ("3", "1e-4"), users=200, instances=1)
    few = FailedPlan("central-gaussian", "exact", None, "too few.")
    rows = [
        Least(least, DensityRow(FourierPairs(2), bits // 2, bits, bits / 2, row, 0.05), least - 1, below)
        for bits, least, below in ((32, 300.0, few), (64, 102.0, None), (128, 100.0, None))
    ]
    rows[2] = dataclasses.replace(rows[2], below=dataclasses.replace(rows[2].row, rmse=0.051))
    found = LeastDensities(
        "users", "gaussian", 2, 1.0, Fraction(3), Fraction("1e-4"), None, 0.05, None, None, tuple(rows)
    )
    assert found.best is rows[2]
    assert found.recommended.row is rows[1]
    assert found.recommended.reason == "knee: 2.0% more users than the best row, 0.5 of its messages"
    told = json.loads(json.dumps(found.to_dict()))
    assert [entry["recommended"] for entry in told["rows"]] == [False, True, False]
    assert [entry["one_less"] for entry in told["rows"]] == [
        {"value": 299, "error": "too few."},
        None,
        {"value": 99, "rmse": 0.051},
    ]
