"""A sum along a contour shows what the engine accounts, next to no more, and never less than its lower end."""

from typing import Any

import pytest

from dpverify import account
from dpverify.guarantee import CapacityError
from dpverify.planning.contours.contour_certificate import checker, contour_certificate
from protocols.bitsum import Poisson, RandomizedResponse, ThreeNB


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer nodes, heights and sizes take a tenth of the time."""
    place = "dpverify.planning.contours.contour_certificate."
    for name, given in {"_FINE": 16.0, "_SMOOTHING": 2e-3, "_STEP": 0.12}.items():
        monkeypatch.setattr(place + name, given)


@pytest.mark.long
@pytest.mark.parametrize(
    ("protocol", "square"),
    [(Poisson(400, 400.0), "0.3"), (Poisson(400, 400.0), "2"), (RandomizedResponse(400, 0.3), "0.3")],
    ids=["poisson, little", "poisson", "rr"],
)
def test_joint_changes(protocol: Any, square: str) -> None:
    result = account(protocol, instances=8, delta="1e-4", squared_change=square)
    found = result.certificate()
    assert result.epsilon.lower <= float(found["epsilon"]) <= 1.03 * result.epsilon.upper
    assert float(found["squared_change"]) == result.change.squared_change
    assert checker.checked(found).endswith("adding up to at most squared_change")
    with pytest.raises(checker.Refused):
        checker.checked(found | {"epsilon": repr(0.999 * result.epsilon.lower)})


def test_what_has_no_such_certificate_is_named() -> None:
    with pytest.raises(TypeError, match="must be one of rr, nb, poisson"):
        contour_certificate(ThreeNB(100, 0.7, 6.0, 0.7, 1.0), delta=1e-2, squared_change=1)
    with pytest.raises(ValueError, match=r"delta=1.0 must be in \(0, 1\)"):
        contour_certificate(Poisson(400, 40.0), delta=1.0, squared_change=1)
    with pytest.raises(ValueError, match=r"squared_change=9 must be in \(0, 4\]"):
        contour_certificate(Poisson(400, 40.0), delta=1e-3, instances=4, squared_change=9)
    with pytest.raises(CapacityError, match="no epsilon covers"):
        contour_certificate(Poisson(400, 4.0), delta=1e-4, instances=4, squared_change=2)
