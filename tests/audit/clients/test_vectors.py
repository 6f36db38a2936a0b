"""Vectors tell a client that sends, refuses or remembers anything else than the one in Python."""

from pathlib import Path

import pytest

from dpverify.audit.clients.program import Program
from dpverify.audit.clients.vectors import vector_result
from dpverify.collection.manifest import manifest
from protocols.local.labels import LabelRandomizedResponse
from protocols.rappor.response import Rappor
from protocols.vector_sum import VectorSum
from tests.audit.clients.test_conformance import RAPPOR, said

WIDE = LabelRandomizedResponse(2_000, 5.0)
"""More choices than the largest answer that `wrong` gives elsewhere."""


@pytest.mark.long
@pytest.mark.parametrize("protocol", [WIDE, VectorSum(2_000, 3, 2, 0.2), RAPPOR, Rappor(8, 1, f=0.5, p=0.25, q=0.75)])
@pytest.mark.parametrize("fault", ["none", "longer", "forgets", "late"])
def test_the_first_difference_is_told(protocol: object, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    made = manifest([("q", protocol)], delta="1e-6")
    (query,) = made.content["queries"]
    result = vector_result(Program(said(fault), path, made.write(path)), made.data, query, 20, 1)
    assert result.p_value == (fault == "none")
    assert ("differ" in result.evidence) == (fault != "none")
