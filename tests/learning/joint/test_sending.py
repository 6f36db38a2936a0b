"""What is planned once for all users, and added up part by part."""

import numpy as np
import pytest

from dpverify.guarantee import Budget
from dpverify.learning.files.counters import VectorCounts, vectors_counted
from dpverify.learning.joint.moments import ClassMoments
from dpverify.learning.joint.sending import joint_plan
from tests.samples import sphere


@pytest.mark.long
def test_parts_of_the_users_bring_their_parts_of_the_noise() -> None:
    made = ClassMoments(2, 3, False)
    sent = joint_plan(Budget(1, "1e-6"), made, 300, 1.5)
    assert joint_plan(Budget("1", "1e-6"), made, 300, 1.5) is sent
    points, labels, rng = sphere(300, 3, 0), np.arange(300) % 2, np.random.default_rng(1)
    protocol = sent.plan.protocol
    exact = made.vectors(points, labels).sum(axis=0)

    def error(part: slice) -> float:
        found = sum(
            (vectors_counted(protocol, made, points[i], labels[i], rng) for i in (part, slice(part.stop, 300))),
            VectorCounts(0, 0),
        )
        assert found.users == 300
        return float(np.sum((protocol.analyze(found.counts) - exact) ** 2))

    # A mean of 400 sums of 8 squares: to 6 %, at 3 deviations.
    rms = np.sqrt(np.mean([error(slice(0, 100)) for _ in range(400)]))
    assert 0.85 * sent.plan.rmse < rms < 1.06 * sent.plan.rmse
