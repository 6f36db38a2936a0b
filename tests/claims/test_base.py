"""What a twin has without saying so."""

import importlib
import inspect
import math
import pkgutil
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import dpverify.claims
from dpverify.changes import Change, Full, L2Bounded
from dpverify.claims.base import Claims, MechanismClaims
from dpverify.claims.bitsum import claims_of
from dpverify.guarantee import PrivacyCurve, ThreatModel
from protocols.bitsum import NegativeBinomial
from tests.refusals import refused


@dataclass(frozen=True)
class Loud:
    users: int
    volume: float


class LoudClaims(MechanismClaims[Loud]):
    name = "loud"
    protocol = Loud

    def curve(self, protocol: Loud, changes: Change, threat_model: ThreatModel, **accuracy: Any) -> PrivacyCurve:
        raise NotImplementedError


def test_the_parameters_are_the_fields_without_the_users() -> None:
    assert LoudClaims().parameters(Loud(9, 0.5)) == {"volume": 0.5}


TWINS = {
    member
    for module in pkgutil.walk_packages(dpverify.claims.__path__, "dpverify.claims.")
    for name, member in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
    if name.endswith("Claims")
}


def test_every_twin_has_this_base() -> None:
    assert len(TWINS) > 20
    assert {claims.__name__ for claims in TWINS if not issubclass(claims, Claims)} == set()


def test_methods_are_documented_by_a_twin_or_its_base() -> None:
    methods = [(claims, name) for claims in TWINS for name in vars(claims) if inspect.isfunction(getattr(claims, name))]
    public = [(claims, name) for claims, name in methods if not name.startswith("_")]
    assert len(public) > 200
    assert [f"{claims.__name__}.{name}" for claims, name in public if not inspect.getdoc(getattr(claims, name))] == []


def test_a_twin_without_a_law_of_joint_changes_says_so() -> None:
    assert LoudClaims().in_full(Full(7)) == 7
    with refused("squared_change=2.0"):
        LoudClaims().in_full(L2Bounded(2.0, 3))


def test_nothing_is_promised_that_was_not_stated() -> None:
    claims = LoudClaims()
    assert not claims.pure
    assert claims.pure_epsilon(Loud(9, 0.5), ThreatModel.COMMUNICATION).lower == math.inf
    assert claims.theorems == ()


def test_what_fewer_users_divide_is_rounded_to_the_side_that_is_asked_for() -> None:
    protocol = NegativeBinomial(3, 1.0, 0.5)
    claims = claims_of(protocol)
    less, more = claims.among_honest(protocol, 2)  # no more private than the truth, and no less
    assert less.users == more.users == 2
    assert Fraction(less.shape) < Fraction(2, 3) < Fraction(more.shape)
    assert claims.with_users(protocol, 2, more_private=True) == more
    assert claims.with_users(protocol, 2, more_private=False) == less
