import pytest

from protocols.local.labels import LabelRandomizedResponse
from protocols.shuffled import ShuffledReports


def test_another_number_of_users_keeps_the_mechanism() -> None:
    protocol = ShuffledReports(LabelRandomizedResponse(3, 1.0), users=4)
    assert protocol.with_users(7) == ShuffledReports(protocol.local, users=7)
    with pytest.raises(ValueError, match="users=0"):
        protocol.with_users(0)
