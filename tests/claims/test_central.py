"""What every twin of a curator's mechanism has."""

from dpverify.claims.central import CentralClaims
from dpverify.guarantee import ThreatModel


def test_nothing_of_it_is_optional_and_only_the_output_is_seen() -> None:
    assert CentralClaims.__abstractmethods__ == {"curve", "neighbours", "output_law"}
    assert CentralClaims.threat_models == (ThreatModel.CENTRAL,)
