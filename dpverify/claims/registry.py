"""Which twins there are, and which further audit tests: our own and those of installed packages, found by name.

A package adds to a group by an entry point `name = module:attribute` (see CONTRIBUTING.md). Nothing is imported before
it is asked for, and our own twins stand in the same kind of table.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from dpverify.claims.base import Claims, MechanismClaims
    from dpverify.claims.bitsum.base import BitsumClaims
    from dpverify.claims.lsq.base import LSQClaims
    from protocols.bitsum.base import BitsumProtocol
    from protocols.lsq.base import LSQFamily

__all__ = ["Group", "Registered", "claims_named", "claims_of", "mechanism_claims_of", "registered"]


class Group(StrEnum):
    """The groups of entry points."""

    BITSUMS = "dpverify.bitsums"
    """Classes of `BitsumClaims`."""
    KERNELS = "dpverify.kernels"
    """Classes of `LSQClaims`."""
    MECHANISMS = "dpverify.mechanisms"
    """Classes of `MechanismClaims`."""
    AUDIT_TESTS = "dpverify.audit_tests"
    """Functions that are an `dpverify.audit.results.AuditTest`."""


_TWINS = (Group.BITSUMS, Group.MECHANISMS, Group.KERNELS)

_OWN: dict[Group, dict[str, str]] = {
    Group.BITSUMS: {
        "rr": "bitsum.randomized_response:RandomizedResponseClaims",
        "3nb": "bitsum.three_nb:ThreeNBClaims",
        "nb": "bitsum.negative_binomial:NegativeBinomialClaims",
        "poisson": "bitsum.poisson:PoissonClaims",
        "pure": "bitsum.pure:PureClaims",
        "central-gaussian": "bitsum.baselines:CentralGaussianClaims",
        "central-discrete-laplace": "bitsum.baselines:CentralDiscreteLaplaceClaims",
        "central-discrete-gaussian": "bitsum.baselines:CentralDiscreteGaussianClaims",
        "local-rr": "bitsum.baselines:LocalRandomizedResponseClaims",
    },
    Group.KERNELS: {
        "gaussian-features": "lsq.gaussian:GaussianFeaturesClaims",
        "fourier-pairs": "lsq.gaussian:FourierPairsClaims",
        "random-signs": "lsq.inner_product:RandomSignsClaims",
        "identity": "lsq.inner_product:IdentityClaims",
        "linear-map": "lsq.linear:LinearMapClaims",
        "scaled-features": "lsq.scaled:ScaledFeaturesClaims",
        "laplacian-binning": "lsq.laplacian:LaplacianBinningClaims",
        "exponential-tessellation": "lsq.exponential:ExponentialTessellationClaims",
    },
    Group.MECHANISMS: {
        "kde": "kde.privacy:KernelDensityClaims",
        "classifier": "classifier:ClassifierClaims",
        "histogram": "histogram:HistogramClaims",
        "selection": "selection:SelectionClaims",
        "vector-sum": "vector_sum.privacy:VectorSumClaims",
        "labels": "local.labels:LabelClaims",
        "rr-mean": "local.randomized_response:RandomizedResponseMeanClaims",
        "one-bit-mean": "local.one_bit:OneBitMeanClaims",
        "laplace-mean": "local.laplace:LaplaceMeanClaims",
        "discrete-laplace-mean": "local.laplace:DiscreteLaplaceMeanClaims",
        "central-laplace-mean": "local.baselines:CentralLaplaceMeanClaims",
        "shuffled-mean": "shuffled_mean:ShuffledMeanClaims",
        "shuffled": "shuffled:ShuffledClaims",
        "rappor": "rappor.response:RapporClaims",
        "rappor-permanent": "rappor.response:PermanentClaims",
        "hadamard-selection": "user_level.local_selection:HadamardClaims",
        "exponential-selection": "user_level.central_selection:ExponentialClaims",
        "user-level-classifier": "user_level.classifier:UserLevelClaims",
    },
    Group.AUDIT_TESTS: {},
}
"""Our own, relative to `dpverify.claims`, in the order in which they are listed and tried."""


class Registered(Mapping[str, Any]):
    """What a group holds, by name, our own first; each is imported when it is looked up, and classes are called.

    Parameters
    ----------
    group : Group
        The group.
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self._made: dict[str, Any] = {}

    @functools.cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        own = [EntryPoint(name, f"dpverify.claims.{at}", self._group) for name, at in _OWN[self._group].items()]
        found: dict[str, EntryPoint] = {}
        for entry in (*own, *entry_points(group=self._group)):
            first = found.setdefault(entry.name, entry)
            if first.value != entry.value:  # the same one twice: a package that is on the path twice
                both = f"{first.value} and {entry.value}"
                raise ValueError(f"two entry points of {self._group} are named {entry.name}: {both}.")
        return found

    @property
    def others(self) -> list[str]:
        """The names that other packages have added."""
        return [name for name in self._entries if name not in _OWN[self._group]]

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._load(self._entries[name])
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries  # the default would import it

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def _load(self, entry: EntryPoint) -> Any:
        try:
            loaded = entry.load()
            made = loaded() if isinstance(loaded, type) else loaded
        except Exception as error:
            raise ValueError(
                f"entry point {entry.name}={entry.value} of {self._group} cannot be loaded: "
                f"{type(error).__name__}: {error}."
            ) from error
        named = getattr(made, "name", entry.name)
        if named != entry.name:
            raise ValueError(f"entry point {entry.name}={entry.value} must have the name of its claims, {named}.")
        return made


_GROUPS = {group: Registered(group) for group in Group}


def registered(group: Group | str) -> Registered:
    """Return what one group holds, by name."""
    return _GROUPS[Group(group)]


def claims_named(name: str, *groups: Group) -> Any:
    """Return the twin of this name, in any case of letters.

    Parameters
    ----------
    name : str
        The protocol's short name.
    *groups : Group
        Where to look; everywhere that twins are when omitted.

    Raises
    ------
    ValueError
        If there is none; it lists the known names.
    """
    looked_in = groups or _TWINS
    for group in looked_in:
        for known in _GROUPS[group]:
            if known.casefold() == name.casefold():
                return _GROUPS[group][known]
    names = ", ".join(known for group in looked_in for known in _GROUPS[group])
    raise ValueError(f"name={name!r} must be one of {names}.")


@overload
def claims_of(protocol: BitsumProtocol) -> BitsumClaims[Any]: ...
@overload
def claims_of(protocol: LSQFamily) -> LSQClaims[Any]: ...
@overload
def claims_of(protocol: object) -> Claims[Any]: ...
def claims_of(protocol: object) -> Any:
    """Return the twin of a protocol: of its very class, as a subclass may do anything.

    Raises
    ------
    TypeError
        If it has none.
    """
    return _twin(protocol, _TWINS)


def mechanism_claims_of(protocol: object) -> MechanismClaims[Any]:
    """Return the twin of a protocol that is private by itself: a bitsum or a mechanism, but no kernel.

    Raises
    ------
    TypeError
        If it has none.
    """
    found: MechanismClaims[Any] = _twin(protocol, (Group.BITSUMS, Group.MECHANISMS))
    return found


def _twin(protocol: object, groups: Sequence[Group]) -> Any:
    # Our own first: what another package has wrong does not concern our protocols.
    names = [(group, name) for group in groups for name in _OWN[group]]
    # Those that stand where the protocol does: to try others would import what they are about, scikit-learn for one.
    place = type(protocol).__module__.removeprefix("protocols.")
    names.sort(key=lambda each: not _OWN[each[0]][each[1]].startswith(place))
    names += [(group, name) for group in groups for name in _GROUPS[group].others]
    for group, name in names:
        if _GROUPS[group][name].protocol is type(protocol):
            return _GROUPS[group][name]
    known = ", ".join(name for _, name in names)
    raise TypeError(f"protocol={protocol!r} has no claims; known are {known}.")
