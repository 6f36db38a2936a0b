"""Messages per user."""

import pytest

from dpverify.reproduction.experiment import find_experiments
from tests.reproduction.small import small_setting


@pytest.mark.long
def test_randomized_response_sends_each_bit_once_and_others_more() -> None:
    (experiment,) = find_experiments("wagner2025-figure-2")
    found = experiment.run(small_setting())
    sent = {(row["bitsum"], row["accounting"], row["epsilon"]): row["messages"] for row in found.rows}
    assert {messages for (bitsum, _, _), messages in sent.items() if bitsum == "rr" and messages is not None} == {8.0}
    # Half of the bits are ones, so that half of the messages are no noise.
    assert all(messages > 4.0 for messages in sent.values() if messages is not None)
    assert sent["3nb", "joint", 2.0] <= sent["3nb", "exact", 2.0] < sent["3nb", "published", 2.0]
    assert sent["pure", "published", 2.0] > sent["pure", "exact", 2.0]
