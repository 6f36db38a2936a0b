"""Errors, messages and laws of unary sums, against sums and samples."""

import numpy as np
import pytest

from dpverify.audit.protocol import audit_protocol
from dpverify.claims.registry import mechanism_claims_of
from dpverify.statistics.family import Verdict
from protocols.sums import NegativeBinomialSum, PoissonSum, UnarySum

PROTOCOLS = [PoissonSum(6, 3, 12.0), NegativeBinomialSum(6, 3, 5.0, 0.6)]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_the_law_of_the_estimate_has_the_stated_error(protocol: UnarySum) -> None:
    claims = mechanism_claims_of(protocol)
    law = claims.estimate_law(protocol, 11, 6)
    assert abs(law.mean - 11) < 1e-9
    assert abs(law.variance / claims.rmse(protocol) ** 2 - 1) < 1e-9
    sent = np.mean([protocol.randomize([3] * 6, np.random.default_rng(s)).symbols.size for s in range(400)]) / 6
    assert abs(sent - claims.messages_per_user(protocol)) < 0.3


@pytest.mark.long
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_an_audit_by_the_twin_passes_what_runs_and_finds_less_noise(protocol: UnarySum) -> None:
    assert audit_protocol(protocol, trials=600, level=1e-3, seed=5).verdict is not Verdict.VIOLATES
    name = protocol.divided[0]
    less = type(protocol)(**{**vars(protocol), name: 0.5 * getattr(protocol, name)})
    assert audit_protocol(protocol, implementation=less, trials=600, level=1e-3, seed=5).verdict is Verdict.VIOLATES
