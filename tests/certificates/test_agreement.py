"""A sample of the settings of `python -m tests.certificates.agreement`: no certificate shows less than is attained."""

from __future__ import annotations

import pytest

from tests.certificates.agreement import PROTOCOLS, found

SLOW = ["nb", "nb-sum", "poisson-sum", "3nb", "pure", "histogram", "selection"]
SAMPLES = [(12, 7, [*PROTOCOLS.keys() - SLOW]), (2, 8, ["nb", "3nb"]), (2, 10, ["nb-sum", "poisson-sum"])]


@pytest.mark.long
@pytest.mark.parametrize(("number", "seed", "names"), SAMPLES)
def test_no_certificate_is_below_the_lower_end(
    number: int, seed: int, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpverify.planning.certificate._NODES", 768)
    monkeypatch.setattr("dpverify.planning.certificate._CELLS", 40)
    settings = [one for one in found(number, seed, sorted(names)) if one.certified is not None]
    assert len(settings) >= number / 2
    for one in settings:
        assert one.certified is not None
        assert one.lower <= one.certified <= 1.05 * one.upper, one.setting
