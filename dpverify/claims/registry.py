"""Which twins there are, and which further audit tests: our own and those of installed packages, found by name.

A package adds to a group by an entry point `name = module:attribute` (see docs/add_a_protocol.md). Nothing is imported
before it is asked for. Our own twins stand in the same kind of table, a line for each: all lists of protocols and
commands follow from it.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from protocols.classes.frozen import dataclass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from dpverify.claims.base import Claims, MechanismClaims
    from dpverify.claims.bitsum.base import BitsumClaims
    from dpverify.claims.lsq.base import LSQClaims
    from protocols.bitsum.base import BitsumProtocol
    from protocols.lsq.base import LSQFamily

__all__ = [
    "Group",
    "Line",
    "Registered",
    "claims_named",
    "claims_of",
    "mechanism_claims_of",
    "ours_alone",
    "registered",
]


class Group(StrEnum):
    """The groups of entry points."""

    BITSUMS = "dpverify.bitsums"
    """Classes of `BitsumClaims`."""
    KERNELS = "dpverify.kernels"
    """Classes of `LSQClaims`."""
    MECHANISMS = "dpverify.mechanisms"
    """Classes of `MechanismClaims`."""
    STEPS = "dpverify.steps"
    """Classes of `MechanismClaims` whose protocol is a step of a trusted curator."""
    AUDIT_TESTS = "dpverify.audit_tests"
    """Functions that are an `dpverify.audit.results.AuditTest`."""


_TWINS = (Group.BITSUMS, Group.MECHANISMS, Group.KERNELS, Group.STEPS)
_STEPS = "dpverify.planning.steps"
"""Where steps stand, and their twins beside them: all other twins stand in `dpverify.claims`."""


@dataclass(frozen=True)
class Line:
    """Where a twin stands, and what is to be known of it before it is imported.

    - at: `module:class`; of our own, relative to `dpverify.claims`.
    - help: What the protocol is, in the lists of commands.
    - commands: The groups that have a command for it, made of the fields of its class.
    - shuffled: Whether it is a bitsum that gains from the shuffler, and of which more users than it is planned for only
      add noise: what learners may be built on.
    """

    at: str
    help: str = "By the fields of its class; see its own documentation."
    commands: tuple[str, ...] = ("account", "audit")
    shuffled: bool = False


_OWN: dict[Group, dict[str, Line]] = {
    Group.BITSUMS: {
        "rr": Line("bitsum.randomized_response:RandomizedResponseClaims", "Randomized response.", shuffled=True),
        "3nb": Line("bitsum.three_nb:ThreeNBClaims", "Correlated noise from three negative binomials.", shuffled=True),
        "nb": Line("bitsum.negative_binomial:NegativeBinomialClaims", "One negative binomial noise.", shuffled=True),
        "poisson": Line("bitsum.poisson:PoissonClaims", "One Poisson noise.", shuffled=True),
        "pure": Line("bitsum.pure:PureClaims", "Drop bits, and add noise and a flood.", shuffled=True),
        "central-gaussian": Line(
            "bitsum.baselines:CentralGaussianClaims",
            "Central normal noise, added by a trusted curator.",
            commands=("account",),
        ),
        "central-discrete-laplace": Line(
            "bitsum.baselines:CentralDiscreteLaplaceClaims",
            "Central discrete Laplace noise, added by a trusted curator.",
        ),
        "central-discrete-gaussian": Line(
            "bitsum.baselines:CentralDiscreteGaussianClaims",
            "Central discrete Gaussian noise, added by a trusted curator.",
        ),
        "local-rr": Line("bitsum.baselines:LocalRandomizedResponseClaims", "Randomized response without a shuffler."),
    },
    Group.KERNELS: {
        "linear-map": Line("lsq.linear:LinearMapClaims"),
        "gaussian-features": Line("lsq.gaussian:GaussianFeaturesClaims"),
        "fourier-pairs": Line("lsq.gaussian:FourierPairsClaims"),
        "random-signs": Line("lsq.inner_product:RandomSignsClaims"),
        "identity": Line("lsq.inner_product:IdentityClaims"),
        "scaled-features": Line("lsq.scaled:ScaledFeaturesClaims"),
        "laplacian-binning": Line("lsq.laplacian:LaplacianBinningClaims"),
        "exponential-tessellation": Line("lsq.exponential:ExponentialTessellationClaims"),
    },
    Group.MECHANISMS: {
        "kde": Line("kde.privacy:KernelDensityClaims", commands=()),
        "classifier": Line("classifier:ClassifierClaims", commands=()),
        "histogram": Line("histogram:HistogramClaims", commands=()),
        "selection": Line("selection:SelectionClaims", commands=()),
        "vector-sum": Line(
            "vector_sum.privacy:VectorSumClaims",
            "Vector sum: sampled coordinates, rounded and randomized.",
        ),
        "unary-vector-sum": Line("sums.vectors:UnaryVectorClaims", commands=()),
        "poisson-sum": Line("sums.unary:PoissonSumClaims", "Sum of integers: unary messages and Poisson noise."),
        "nb-sum": Line(
            "sums.unary:NegativeBinomialSumClaims", "Sum of integers: unary messages and negative binomial noise."
        ),
        "split-and-mix": Line(
            "sums.split_and_mix:SplitAndMixClaims", "Sum of integers: shuffled shares that add up, with noise."
        ),
        "augmented-sum": Line(
            "sums.augmented:AugmentedSumClaims", "Sum of integers: dummies of the shuffler hide true values."
        ),
        "labels": Line("local.labels:LabelClaims", "Randomized response among classes, published by each user."),
        "rr-mean": Line(
            "local.randomized_response:RandomizedResponseMeanClaims", "Mean of levels, reported by randomized response."
        ),
        "one-bit-mean": Line("local.one_bit:OneBitMeanClaims", "Mean of bounded values, from one bit per user."),
        "laplace-mean": Line(
            "local.laplace:LaplaceMeanClaims", "Mean of bounded values, with Laplace noise from every user."
        ),
        "discrete-laplace-mean": Line(
            "local.laplace:DiscreteLaplaceMeanClaims",
            "Mean of bounded values, rounded, with discrete Laplace noise from every user.",
        ),
        "central-laplace-mean": Line(
            "local.baselines:CentralLaplaceMeanClaims",
            "Mean of bounded values, with a trusted curator's Laplace noise.",
        ),
        "shuffled-mean": Line("shuffled_mean:ShuffledMeanClaims", "Mean of bits, from shuffled randomized response."),
        "shuffled": Line("shuffled:ShuffledClaims", commands=()),
        "rappor": Line(
            "rappor.response:RapporClaims", "Strings through a Bloom filter, flipped once and then for every report."
        ),
        "rappor-permanent": Line(
            "rappor.response:PermanentClaims", "The bits that RAPPOR remembers: the limit of many reports."
        ),
        "hadamard-selection": Line(
            "user_level.local_selection:HadamardClaims",
            "The value that most users hold, from one randomized bit of each.",
        ),
        "exponential-selection": Line(
            "user_level.central_selection:ExponentialClaims",
            "The value that most users hold, by a trusted curator's exponential mechanism.",
        ),
        "user-level-classifier": Line("user_level.classifier:UserLevelClaims", commands=()),
    },
    Group.STEPS: {
        "noisy-step": Line(
            "claims:NoisyStepClaims",
            "Noise on a sum over all records or a sample, as in DP-SGD, where one is replaced.",
            commands=("account",),
        ),
        "integer-step": Line("claims:IntegerStepClaims", commands=()),
        "discrete-laplace-step": Line("claims:DiscreteLaplaceStepClaims", commands=()),
        "opaque-step": Line("claims:OpaqueStepClaims", commands=()),
        "bounded-range-step": Line("claims:BoundedRangeStepClaims", commands=()),
        "response-step": Line("claims:ResponseStepClaims", commands=()),
        "concentrated-step": Line("claims:ConcentratedStepClaims", commands=()),
        "renyi-step": Line("claims:RenyiStepClaims", commands=()),
        "mixture-step": Line("claims:MixtureStepClaims", commands=()),
        "random-allocation": Line("claims:RandomAllocationClaims", commands=()),
    },
    Group.AUDIT_TESTS: {},
}
"""Our own, in the order in which they are listed and tried."""


def _others_declare() -> bool:
    """Return whether a package may have entry points for us: a look at their files, as reading them is slow."""
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")
        except FileNotFoundError:
            continue
        except OSError:  # an archive, whose packages Python reads
            return True
        if folder.lower().endswith(".egg"):
            return True
        for name in names:
            if name.lower().endswith((".dist-info", ".egg-info")):
                try:
                    if b"[dpverify." in Path(folder, name, "entry_points.txt").read_bytes():
                        return True
                except OSError:  # it has none
                    pass
    return False


@functools.cache
def _installed() -> Any:
    """Return the entry points of all packages, or None of ours: what is read from every one's folder is so once."""
    if not _others_declare():
        return None
    from importlib.metadata import entry_points

    return entry_points()


class _Own(NamedTuple):
    """An entry of our own: what is needed of Python's `EntryPoint`, whose module is long to import."""

    name: str
    value: str

    def load(self) -> Any:
        module, _, attribute = self.value.partition(":")
        return getattr(importlib.import_module(module), attribute)


class Registered(Mapping[str, Any]):
    """What a group holds, by name, our own first; each is imported when it is looked up, and classes are called."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._made: dict[str, Any] = {}

    @functools.cached_property
    def _entries(self) -> dict[str, _Own | EntryPoint]:
        place = _STEPS if self._group is Group.STEPS else "dpverify.claims"
        own = [_Own(name, f"{place}.{line.at}") for name, line in _OWN[self._group].items()]
        found: dict[str, _Own | EntryPoint] = {}
        installed = _installed()
        for entry in (*own, *(installed.select(group=self._group) if installed else ())):
            first = found.setdefault(entry.name, entry)
            if first.value != entry.value:  # the same one twice: a package that is on the path twice
                both = f"{first.value} and {entry.value}"
                raise ValueError(f"two entry points of {self._group} are named {entry.name}: {both}.")
        return found

    @property
    def others(self) -> list[str]:
        """The names that other packages have added."""
        return [name for name in self._entries if name not in _OWN[self._group]]

    @property
    def lines(self) -> dict[str, Line]:
        """What is known of each without importing it."""
        return {name: _OWN[self._group].get(name) or Line(entry.value) for name, entry in self._entries.items()}

    @property
    def shuffled(self) -> tuple[str, ...]:
        """The names of those that learners may be built on: ours alone, so that no entry points are read for them."""
        return tuple(name for name, line in _OWN[self._group].items() if line.shuffled)

    def __getitem__(self, name: str) -> Any:
        if _ours_alone.get() and name not in _OWN[self._group]:
            raise ValueError(f"protocol={name!r} must be of dpverify itself here: another package's code is not run.")
        if name not in self._made:
            self._made[name] = self._load(self._entries[name])
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries  # the default would import it

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def _load(self, entry: _Own | EntryPoint) -> Any:
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
_ours_alone = ContextVar("ours_alone", default=False)


@contextmanager
def ours_alone() -> Iterator[None]:
    """Refuse by a ValueError, and do not import, what other packages have added: for texts of whoever wrote them."""
    before = _ours_alone.set(True)
    try:
        yield
    finally:
        _ours_alone.reset(before)


def registered(group: Group | str) -> Registered:
    """Return what one group holds, by name."""
    return _GROUPS[Group(group)]


def claims_named(name: str, *groups: Group) -> Any:
    """Return the twin of this name, in any case of letters.

    - name: The protocol's short name.
    - *groups: Where to look; everywhere that twins are when omitted.

    Raises ValueError if there is none; it lists the known names.
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

    Raises TypeError if it has none.
    """
    return _twin(protocol, _TWINS)


def mechanism_claims_of(protocol: object) -> MechanismClaims[Any]:
    """Return the twin of a protocol that is private by itself: a bitsum, a mechanism or a step, but no kernel.

    Raises TypeError if it has none.
    """
    found: MechanismClaims[Any] = _twin(protocol, (Group.BITSUMS, Group.MECHANISMS, Group.STEPS))
    return found


def _twin(protocol: object, groups: Sequence[Group]) -> Any:
    if type(protocol).__module__.startswith(f"{_STEPS}."):
        groups = (Group.STEPS,)
    # Our own first: what another package has wrong does not concern our protocols.
    names = [(group, name) for group in groups for name in _OWN[group]]
    # Those that stand where the protocol does: to try others would import what they are about, scikit-learn for one.
    place = type(protocol).__module__.removeprefix("protocols.")
    names.sort(key=lambda each: not _OWN[each[0]][each[1]].at.startswith(place))
    names += [(group, name) for group in groups for name in _GROUPS[group].others]
    for group, name in names:
        if _GROUPS[group][name].protocol is type(protocol):
            return _GROUPS[group][name]
    known = ", ".join(name for _, name in names)
    for group, name in names:
        if name == protocol:
            made = _GROUPS[group][name].protocol.__name__
            raise TypeError(f"protocol={protocol!r} must be an object, such as {made}(...), and is only its name.")
    if hasattr(protocol, "protocol"):  # as a row of a plan has
        raise TypeError(f"protocol must be the .protocol of this {type(protocol).__name__}, not the whole of it.")
    raise TypeError(f"protocol={protocol!r} has no claims; known are {known}.")
