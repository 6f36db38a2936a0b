"""Which protocols of a schedule are listed."""

import pytest

from dpverify.claims.registry import mechanism_claims_of
from dpverify.planning.schedules import levels
from dpverify.planning.schedules.levels import alike, listed_levels
from protocols.bitsum import CentralGaussian, NegativeBinomial, RandomizedResponse


@pytest.mark.parametrize(
    ("protocols", "groups"),
    [
        ([RandomizedResponse(n, 0.25) for n in (9, 5, 9)], [("users", [0, 1, 2])]),
        ([RandomizedResponse(9, p) for p in (0.25, 0.1)], [("flip_probability", [0, 1])]),
        (
            [RandomizedResponse(9, 0.25), RandomizedResponse(5, 0.1), RandomizedResponse(7, 0.25)],
            [("users", [0, 2]), ("users", [1])],
        ),
        ([NegativeBinomial(n, 40.0, 0.9) for n in (9, 5)], [("", [0, 1])]),
        ([NegativeBinomial(9, r, 0.9) for r in (40.0, 30.0)], [("shape", [0, 1])]),
        ([NegativeBinomial(9, 40.0, 0.9), NegativeBinomial(9, 30.0, 0.8)], [("", [0]), ("", [1])]),
    ],
)
def test_only_what_a_twin_proves_is_an_axis(protocols: list[object], groups: list[tuple[str, list[int]]]) -> None:
    assert list(alike(protocols, mechanism_claims_of(protocols[0]))) == groups


def test_equal_runs_without_an_axis_are_one_group() -> None:
    protocol = CentralGaussian(9, 3.0)
    ((axis, chosen),) = alike([protocol, protocol], mechanism_claims_of(protocol))
    assert (len(listed_levels([0, 0], axis)), chosen) == (1, [0, 1])


@pytest.mark.parametrize("axis", ["users", "flip_probability"])
def test_levels_hold_both_ends(monkeypatch: pytest.MonkeyPatch, axis: str) -> None:
    values = list(range(100, 10_000, 7))
    monkeypatch.setattr(levels, "_MOST_LISTED", 9)
    found = listed_levels(values, axis)
    assert found[0] == values[0]
    assert found[-1] == values[-1]
    assert len(found) <= 10
    assert set(found) <= set(values)
    assert listed_levels(values[:9], axis) == values[:9]
