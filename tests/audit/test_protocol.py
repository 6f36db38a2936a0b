"""One audit for every protocol: the twin names the one that fits."""

from typing import Any

import numpy as np
import pytest

from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.own_law import law_subject
from dpverify.audit.subjects.pipelines import bitsum_calls
from dpverify.laws.discrete import DiscreteLaw
from protocols.bitsum import RandomizedResponse
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import GaussianFeatures
from protocols.shuffled import ShuffledReports

FAIR = DiscreteLaw.from_mapping({0: 0.5, 1: 0.5})


def clear(inputs: np.ndarray, rng: np.random.Generator) -> Any:
    return inputs[0] if inputs.size == 1 else float(inputs.sum())


@pytest.mark.long
@pytest.mark.parametrize("protocol", [RandomizedResponse(20, 0.25), LabelRandomizedResponse(3, 1.0)], ids=repr)
def test_every_kind_finds_its_audit(protocol: Any) -> None:
    assert audit_protocol(protocol, implementation=clear, trials=200).verdict.value == "violates"
    assert audit_protocol(protocol, trials=200, seed=2).violations == ()
    with pytest.raises(TypeError, match="unexpected"):
        audit_protocol(protocol, trials=200, colour="red")
    with pytest.raises(TypeError, match=r"^seconds=1\.0 must be omitted: it ends audits of black boxes"):
        audit_protocol(protocol, seconds=1.0)


def test_a_subject_holds_what_runs() -> None:
    coin = law_subject(lambda bias, rng: float(rng.random() < bias), {"fair": (0.5, FAIR)})
    assert audit_protocol(coin, trials=200).violations == ()
    for options in ({"implementation": clear}, {"fewer_users": True}):
        with pytest.raises(TypeError, match="must be omitted with a subject"):
            audit_protocol(coin, **options)
    assert audit_protocol(bitsum_calls(RandomizedResponse(20, 0.25), 2), anytime=True, trials=500).violations == ()


def test_any_subject_may_be_looked_at_until_it_is_decided() -> None:
    coin = law_subject(lambda bias, rng: 1.0, {"fair": (0.5, FAIR)})
    report = audit_protocol(coin, anytime=True, block_size=20)
    assert (report.verdict.value, report.trials) == ("violates", 40)


def test_a_bitsum_may_promise_fewer_users() -> None:
    report = audit_protocol(RandomizedResponse(20, 0.25), trials=200, fewer_users=True)
    assert any(result.check.endswith("half the users gone") for result in report.results)


def test_a_protocol_without_an_audit_is_refused() -> None:
    with pytest.raises(TypeError, match=r"must be a protocol that has an audit, which shuffled has not\.$"):
        audit_protocol(ShuffledReports(LabelRandomizedResponse(3, 1.0), 5))
    with pytest.raises(TypeError, match="has no claims"):
        audit_protocol(GaussianFeatures(1))
