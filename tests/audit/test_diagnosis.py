"""Refuted outputs are explained by the parameter whose noise has their spread."""

import re

import numpy as np
import pytest

from dpverify.audit.diagnosis import likely_parameters
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.bitsum import Implementation, bitsum_subject
from dpverify.claims.bitsum.three_nb import ThreeNBClaims
from protocols.bitsum import BitsumProtocol, NegativeBinomial, RandomizedResponse, ThreeNB

CASES = [
    (RandomizedResponse(40, 0.25), RandomizedResponse(40, 0.125), "flip_probability"),
    (NegativeBinomial(20, 5.0, 0.3), NegativeBinomial(20, 5.0, 0.5), "p"),
]


@pytest.mark.long
@pytest.mark.parametrize(("stated", "running", "name"), CASES, ids=lambda case: type(case).__name__)
def test_the_parameter_that_runs_is_found(stated: BitsumProtocol, running: BitsumProtocol, name: str) -> None:
    implementation = Implementation.of(running, aggregated=True)
    report = audit_protocol(stated, implementation=implementation, trials=20_000, seed=3)
    assert report.violations
    (found,) = (sentence for sentence in report.diagnosis if f"spread of {name} = " in sentence)
    value, low, high = map(float, re.findall(r"[\d.]+(?=[ ,\])])", found.split(" = ")[1])[:3])
    true = getattr(running, name)
    assert low < value < high
    assert value == pytest.approx(true, rel=0.05)
    assert f"where {getattr(stated, name):.4g} is stated." in found


def test_outputs_of_the_stated_spread_are_not_explained() -> None:
    protocol = RandomizedResponse(20, 0.25)
    subject = bitsum_subject(protocol, implementation=Implementation.of(protocol, aggregated=True))
    rng = np.random.default_rng(1)
    outputs = [subject.target(dataset.inputs, rng, 4_000, "a test") for dataset in subject.datasets]
    assert list(likely_parameters(protocol, subject.datasets, outputs)) == []
    assert list(likely_parameters(protocol, [subject.datasets[0].__class__("x", np.zeros(3))], outputs)) == []
    # Another flip probability is told, with an interval of the spread from its kurtosis, which is near 3.
    other = Implementation.of(RandomizedResponse(20, 0.125), aggregated=True).target
    spread, found = likely_parameters(protocol, subject.datasets, [other(np.zeros(20), rng, 4_000, "a test")])
    middle, _, low, high = map(float, re.findall(r"\d+(?:\.\d+)?", spread.split("deviation ")[1])[:4])
    assert (high - low) / (2.0 * middle) == pytest.approx(1.96 / 8_000**0.5, rel=0.1)
    assert re.match(r"that is the spread of flip_probability = 0\.1[123]", found)
    # No noise at all is beyond every parameter.
    quiet = list(likely_parameters(protocol, subject.datasets, [np.zeros_like(columns) for columns in outputs]))
    assert len(quiet) <= 2
    assert "standard deviation 0 (" in quiet[0]


@pytest.mark.long
def test_a_diagnosis_lists_no_law(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = ThreeNB(1000, 0.7, 6.0, 0.97, 2.0)
    subject = bitsum_subject(protocol, implementation=Implementation.of(protocol, aggregated=True))
    monkeypatch.setattr(ThreeNBClaims, "marginals", lambda *_: pytest.fail("a law was listed"))
    quiet = [np.zeros((200, 3)) for _ in subject.datasets]
    assert list(likely_parameters(protocol, subject.datasets, quiet))
