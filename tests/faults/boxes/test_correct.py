"""Correct black boxes keep their claim, and no smaller one."""

import numpy as np
import pytest

from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.statistics.family import Verdict
from tests.faults import CORRECT_BOXES, CorrectBox


@pytest.mark.long
@pytest.mark.parametrize("right", CORRECT_BOXES, ids=lambda right: right.name)
def test_correct_boxes_keep_their_epsilon_and_no_less(right: CorrectBox) -> None:
    rng = np.random.default_rng(2)
    outputs = right.run(right.pair[0].copy(), rng, 50)
    assert outputs.shape == (50, *right.shape)
    if right.delta == 0.0 and right.epsilon <= 1.1:
        report = audit_mechanism(right.target, (0.7 * right.epsilon, 0), right.pair, trials=25_000, level=0.01)
        assert report.verdict is Verdict.VIOLATES
        assert report.epsilon_lower <= right.epsilon
