"""Twins are found by name and by protocol, ours and those of other packages, and nothing is imported to list them."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpverify.claims import registry
from dpverify.claims.base import Claims, MechanismClaims, MoreUsers
from dpverify.claims.bitsum.base import BitsumClaims
from dpverify.claims.lsq.base import LSQClaims
from dpverify.claims.registry import Group, Registered, claims_named, claims_of, ours_alone, registered
from dpverify.guarantee import ThreatModel
from protocols.bitsum import RandomizedResponse, ThreeNB
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import Identity
from tests.refusals import refused
from tests.test_startup import imported

KINDS = {
    Group.BITSUMS: BitsumClaims,
    Group.KERNELS: LSQClaims,
    Group.MECHANISMS: MechanismClaims,
    Group.STEPS: MechanismClaims,
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that installs a package without code, which has these entry points."""

    def install(name: str, entries: str) -> None:
        information = tmp_path / f"{name}-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(entries)
        monkeypatch.syspath_prepend(tmp_path)
        registry._installed.cache_clear()

    yield install
    registry._installed.cache_clear()


def test_packages_are_read_only_where_one_may_have_entries_for_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def declares(name: str, text: str = "") -> bool:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "entry_points.txt").write_text(text)
        return registry._others_declare()

    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    monkeypatch.setattr(sys, "path", [str(tmp_path / "absent"), str(tmp_path)])
    assert not registry._others_declare()
    assert not declares("dpverify-1.dist-info", "[pytest11]\ndpverify.pytest_plugin = dpverify.pytest_plugin\n")
    assert declares("Coins.EGG-INFO", "[dpverify.bitsums]\ncoins = coins:Claims\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "old.egg")])  # what an archive or an egg holds, or a finder finds
    assert declares("old.egg")
    (tmp_path / "packages.zip").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages.zip")])
    assert registry._others_declare()
    monkeypatch.setattr(sys, "path", [])
    assert not registry._others_declare()
    monkeypatch.setattr(sys, "meta_path", [SimpleNamespace(find_distributions=None)])
    assert registry._others_declare()


@pytest.mark.parametrize("group", KINDS)
def test_every_twin_of_ours_loads_and_is_the_one_of_its_protocol(group: Group) -> None:
    assert len(registered(group)) > 0
    for name, claims in registered(group).items():
        assert isinstance(claims, KINDS[group])
        assert isinstance(claims, Claims)
        assert claims.name == name == name.lower()
        assert registered(group)[name] is claims


def test_learners_are_built_on_what_gains_from_the_shuffler_and_from_more_users() -> None:
    bitsums = registered(Group.BITSUMS)
    claimed = [
        name
        for name, claims in bitsums.items()
        if claims.threat_models[0] is ThreatModel.COMMUNICATION and claims.more_users is not MoreUsers.UNKNOWN
    ]
    assert list(bitsums.shuffled) == claimed == ["rr", "3nb", "nb", "poisson", "pure"]


def test_protocols_lead_to_their_twins() -> None:
    for protocol, name in (
        (RandomizedResponse(9, 0.1), "rr"),
        (ThreeNB(9, 0.5, 1.0, 0.5), "3nb"),
        (LabelRandomizedResponse(3, 1.0), "labels"),
        (Identity(3), "identity"),
    ):
        assert claims_of(protocol) is claims_named(name)


def test_a_twin_is_found_without_importing_those_of_other_protocols() -> None:
    modules = imported(
        "from protocols.lsq import FourierPairs\n"
        "from dpverify.claims.registry import claims_of\n"
        "assert claims_of(FourierPairs(3)).name == 'fourier-pairs'"
    )
    assert not modules & {"sklearn", "protocols.classifier", "protocols.histogram"}


def test_a_subclass_has_no_twin_of_its_own() -> None:
    class Other(RandomizedResponse):
        """It may do anything."""

    with refused("protocol", TypeError):
        claims_of(Other(9, 0.1))


def test_names_are_found_in_any_case() -> None:
    assert claims_named("3NB") is claims_named("3nb", Group.BITSUMS)
    with refused("name='4nb'"):
        claims_named("4nb")
    with refused("name='rr'"):
        claims_named("rr", Group.MECHANISMS)


def test_listing_imports_no_twin() -> None:
    found = imported(
        "from dpverify.claims.bitsum import BITSUM_CLAIMS\nassert 'rr' in BITSUM_CLAIMS and list(BITSUM_CLAIMS)"
    )
    assert "dpverify.claims.registry" in found
    assert not {name for name in found if name.startswith("dpverify.claims.bitsum.")}


def test_other_packages_join(installed) -> None:
    installed("joining", "[dpverify.mechanisms]\nidentity = dpverify.claims.lsq.inner_product:IdentityClaims\n")
    assert list(Registered(Group.MECHANISMS)) == [*registered(Group.MECHANISMS), "identity"]
    assert Registered(Group.MECHANISMS)["identity"].protocol is Identity


def test_what_others_have_added_is_not_run_where_ours_alone_may_be(installed, monkeypatch) -> None:
    installed("joining", "[dpverify.mechanisms]\nidentity = no_such_module:Odd\n")
    monkeypatch.setitem(registry._GROUPS, Group.MECHANISMS, Registered(Group.MECHANISMS))
    with ours_alone(), refused("protocol='identity'"):
        claims_named("IDENTITY", Group.MECHANISMS)
    with ours_alone():
        assert claims_named("histogram", Group.MECHANISMS).name == "histogram"
    with pytest.raises(ValueError, match="no_such_module"):
        claims_named("identity", Group.MECHANISMS)


def test_what_cannot_be_loaded_is_told_when_it_is_asked_for(installed) -> None:
    installed(
        "broken", "[dpverify.bitsums]\nodd = no_such_module:Odd\nmisnamed = dpverify.claims.bitsum.pure:PureClaims\n"
    )
    bitsums = Registered(Group.BITSUMS)
    assert bitsums["rr"].name == "rr"
    with pytest.raises(ValueError, match=r"^entry point odd=no_such_module:Odd of .* cannot be loaded: ModuleNot"):
        bitsums["odd"]
    with pytest.raises(ValueError, match=r"^entry point misnamed=.* must have the name of its claims, pure\.$"):
        bitsums["misnamed"]


def test_two_of_one_name_are_refused(installed) -> None:
    installed("double", "[dpverify.bitsums]\nrr = somewhere:Else\n")
    with pytest.raises(ValueError, match=r"^two entry points of .* are named rr: .* and somewhere:Else\.$"):
        list(Registered(Group.BITSUMS))
