"""Counts of what is in the events that are tried add up over blocks."""

import numpy as np

from dpverify.audit.black_boxes.members import Members
from dpverify.statistics.bounds.claim_test import event_limits
from dpverify.statistics.outputs.chosen import choose_events
from dpverify.statistics.outputs.learned import NamedScore

VALUE = NamedScore("value", lambda rows: rows[:, 0])
DOUBLED = NamedScore("twice the value", lambda rows: 2.0 * rows[:, 0], plain=True)


def test_blocks_add_up_to_the_counts_of_all() -> None:
    rng = np.random.default_rng(2)
    first, second = (rng.laplace(shift, 1, (2_000, 1)) for shift in (1, 0))
    events = choose_events([VALUE], first, second, delta=0.0, epsilon=1.0, trials=4_000, slack=0.1)
    thresholds, scan = np.array([-1.0, 0.0, 2.0]), [(DOUBLED, np.array([-4.0, 1.0, 3.0]))]
    members = Members(events, 0, thresholds, scan)
    for start in range(0, 2_000, 333):
        members.update(first[start : start + 333])
    np.testing.assert_array_equal(members.members, events.members(first).sum(axis=0))
    np.testing.assert_array_equal(members.above, (first > thresholds).sum(axis=0))
    np.testing.assert_array_equal(members.scanned, (2.0 * first > scan[0][1]).sum(axis=0))
    # Beyond the ends is what is above the last threshold or not above the first one, at most, on either input.
    for counts, end in (([99, 50, 2, 99, 50, 9], 5), ([90, 50, 2, 99, 50, 2], 0)):
        limits = event_limits(np.array(counts), np.tile([93, 50, 2], 2), 100, 0.01)
        assert members.beyond(limits) == (limits.p_upper[end] if end else 1.0 - limits.p_lower[end])
    assert Members(events, 0, thresholds, []).beyond(limits) == 0.0
