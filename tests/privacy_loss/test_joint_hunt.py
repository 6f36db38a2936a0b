"""A few mechanisms of the hunt for joint changes that exceed their bound; `benchmarks.joint_violations` has many."""

import numpy as np
import pytest

from dpverify.changes import L2Ball
from dpverify.privacy_loss.joint.joint_change import JointChange
from tests.privacy_loss import joint_hunt


@pytest.mark.long
def test_no_bound_is_violated() -> None:
    found = list(joint_hunt.hunt(4, 3))
    assert len(found) == 4 * joint_hunt.CHANGES
    assert [line for _, line in found if line] == []


def test_the_hunt_finds_a_bound_that_is_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = JointChange.epsilon_upper
    monkeypatch.setattr(JointChange, "epsilon_upper", lambda joint, delta: 0.6 * bound(joint, delta))
    assert any(line for _, line in joint_hunt.hunt(4, 3))


def test_its_changes_are_those_that_are_bounded() -> None:
    rng = np.random.default_rng(1)
    change = L2Ball(1.5, 3)
    drawn = [joint_hunt.moves(rng, change) for _ in range(100)]
    assert sum(joint_hunt.allowed(ends, change) for ends in drawn) > 90
    # Most of them use up nearly all that they may.
    norms = [float(((2.0 * ends - 1.0) ** 2).sum(axis=0).max()) for ends in drawn]
    assert sum(norm > 1.4 for norm in norms) > 80
