"""All that clients and collectors need to know of a plan, as one file: the manifest.

Every number is computed here, once; a client that reads it compares integers. The guarantee is that of what clients
really draw: their tables' distance from the laws is charged to delta, as docs/collection.md proves.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

from flint import arb

from dpverify.claims.registry import claims_named, mechanism_claims_of
from dpverify.collection.client import Client, largest
from dpverify.collection.densities.signs import Signs
from dpverify.collection.query import Asked
from dpverify.collection.recipes import Recipe, cut_draws, randomizers, recipe_of, unary_recipe
from dpverify.collection.tables import BITS
from dpverify.digits import counted, rounded_up
from dpverify.files import parsed, replaced
from dpverify.formulas.contexts import upper_float
from dpverify.guarantee import CapacityError, InfeasibleBudgetError, Number, ThreatModel, exact_number
from dpverify.planning.account import account
from dpverify.planning.schedules.day import Day
from dpverify.planning.schedules.schedule import Schedule
from protocols.classes.frozen import dataclass
from protocols.validation import check_file, check_integer, check_real

__all__ = ["FORMAT", "SHARE", "VERSION", "Manifest", "asked_in", "manifest", "protocol_in", "recomputed"]

FORMAT = "dpverify manifest"
VERSION = 1
SHARE = Fraction(1, 1000)
"""Of delta, what clients may cost where they cost anything."""
_DIGITS, _MOST = 9, 600
"""Of an epsilon; and the largest one whose exponential is computed."""
_DECIMAL = re.compile(r"[0-9]+([.][0-9]+)?([eE][-+]?[0-9]{1,4})?", re.ASCII).fullmatch
_SIGNED = re.compile(r"-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]{1,4})?", re.ASCII).fullmatch
_THRESHOLD = re.compile(r"[0-9a-f]{32}").fullmatch


@dataclass(frozen=True)
class Manifest:
    """A manifest's bytes, which its hash is of, and what they say.

    Parameters
    ----------
    data : bytes
        As clients read it.
    """

    data: bytes

    @property
    def hash(self) -> str:
        """SHA-256 of the bytes, as 64 hexadecimal digits: what a client's application has to know beforehand."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def content(self) -> Any:
        """What it says, an object; ValueError if it is no JSON, or has a name twice."""
        return parsed(self.data)

    @property
    def guarantees(self) -> list[dict[str, Any]]:
        """What holds of everything together for each number of days, in rising order, clients charged."""
        found: list[dict[str, Any]] = self.content["guarantees"]
        return found

    @property
    def guarantee(self) -> dict[str, Any]:
        """The first of the guarantees: that of the fewest days."""
        return self.guarantees[0]

    def dap_tasks(self) -> list[dict[str, Any]]:
        """Return what a task of the Distributed Aggregation Protocol needs for each query, if sums are all it views.

        The messages of one instance differ in their places alone, so that their numbers are the shuffled view, and
        whoever sees only sums of all users' fields sees no more of them. `max_measurement` is of the VDAF draft from
        version 14 on, `bits` of those before, whose proofs let through what is below the next power of two.

        Returns
        -------
        list of dict
            The query's `name`, `min_batch_size` and `vdaf`. What else a task needs (who aggregates, keys, times) is not
            a matter of privacy budgets.

        Raises
        ------
        ValueError
            For a query whose messages are not what counts tell.
        """
        return [_dap_task(query) for query in self.content["queries"]]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Manifest:
        """Return the manifest that says this, in the one form that all are written in."""
        return cls(json.dumps(content, separators=(",", ":")).encode("ascii") + b"\n")

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Return the manifest of a file; ValueError, which names the file and the field, if it is none."""
        check_file("manifest", path, "a manifest")
        plan = cls(path.read_bytes())
        try:
            plan.asked()
        except ValueError as error:
            said = re.sub(r"(?<!['\w])(\w+)=", r"\1 ", str(error), count=1)  # a field is no option that was typed
            raise ValueError(f"manifest={str(path)!r} must be a manifest: {said}.") from error
        return plan

    def asked(self) -> list[Asked]:
        """Return its queries as they were asked; ValueError, which names the field, if there is a wrong one."""
        content = self.content
        if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (FORMAT, VERSION):
            raise ValueError(f"format must be {FORMAT!r}, and version {VERSION}")
        for name, listed in ((name, content.get(name)) for name in ("guarantees", "queries")):
            if not isinstance(listed, list) or not listed or not all(isinstance(each, dict) for each in listed):
                raise ValueError(f"{name} must be a list of objects, at least one")
        days = [_checked_days(guarantee) for guarantee in self.guarantees]
        if days != sorted({*days}):
            raise ValueError(f"days={days} must be in rising order")
        found = _read([_asked(number, query) for number, query in enumerate(content["queries"], 1)])
        try:
            Client(self.data, self.hash)  # which takes all the settings that it draws by
        except (AttributeError, KeyError, MemoryError, OverflowError, TypeError, ValueError) as error:
            raise ValueError("queries must have all settings of their kinds") from error
        return found

    def write(self, path: str | Path) -> str:
        """Write it to a file that is whole, or not there, and return its hash."""
        with replaced(Path(path)) as name:
            Path(name).write_bytes(self.data)
        return self.hash


def manifest(
    queries: Sequence[Any],
    *,
    delta: Number | Mapping[int, Number],
    certificates: Mapping[int, Mapping[str, str]] | None = None,
    progress: Callable[[str], Any] | None = None,
) -> Manifest:
    """Make the manifest of some queries to the same users, with the exact account of all of them together.

    Parameters
    ----------
    queries : sequence of Asked, (name, protocol), (name, protocol, instances) or (name, protocol, instances, honest)
        Each name once. Protocols: rr, nb, poisson, 3nb, pure, histograms and selections, vector sums with strata, sums
        of vectors (an `Asked` with signs), and among themselves local-rr, labels and RAPPOR. Instances and honest users
        are those of `dpverify.account`.
    delta : int, float, str, Decimal or Fraction; or a dict from numbers of days to these
        In [0, 1): of everything together, what clients cost included; 0 where they cost nothing. A decimal is taken as
        it is, another number as its float prints. For several numbers of days, such as `{1: "1e-8", 365: "1e-8"}`, all
        queries are asked once a day, and each number has its own guarantee.
    certificates : mapping, optional
        By number of days, the name and the SHA-256 of a file that `dpverify check` accepts, for the manifest to say.
    progress : callable, optional
        Called with what is done next, in a few words.

    Returns
    -------
    Manifest

    Raises
    ------
    TypeError, ValueError
        For a protocol without a client, or an argument out of its range.
    InfeasibleBudgetError
        If no finite epsilon is proved.
    CapacityError
        If a table would be too long, or clients would cost more than a thousandth of delta.

    Examples
    --------
    >>> from protocols.bitsum import Poisson
    >>> made = manifest([("crashed", Poisson(users=2000, mean=400.0))], delta="1e-6")
    >>> made.guarantee["delta"], made.guarantee["epsilon"] < "0.3"
    ('0.000001', True)
    """
    asked = _read(queries)
    adversary = Schedule([each.day() for each in asked]).threat_model
    weights = [each.touched * randomizers(each.protocol, each.honest, adversary) for each in asked]
    cuts = sum(weight * cut_draws(each.protocol) for weight, each in zip(weights, asked, strict=True))
    recipes = None if cuts else [_recipe(each, Fraction(0)) for each in asked]
    free = recipes is not None and not any(recipe.charge for recipe in recipes)
    by_days = delta if isinstance(delta, Mapping) else {1: delta}
    if not by_days:
        raise ValueError("delta={} must have one for each number of days, at least one.")
    periods = []
    for days in sorted(by_days):
        if progress is not None:
            progress(f"the exact account of {counted(days, 'day')}")
        periods.append(_Period.of(asked, days, by_days[days], free))
    if recipes is None:
        # All cut tails may cost what is left of delta, and rounding next to nothing beside them.
        tail = min(period.left / (period.limit + period.factor) / period.days for period in periods)
        recipes = [_recipe(each, tail / cuts * Fraction(99, 100)) for each in asked]
    charged = sum((weight * made.charge for weight, made in zip(weights, recipes, strict=True)), Fraction(0))
    guarantees = [period.guarantee(charged, adversary) for period in periods]
    for guarantee in guarantees:
        guarantee |= {"certificate": dict(certificates[guarantee["days"]])} if certificates else {}
    listed = [_query(*each) for each in zip(asked, recipes, strict=True)]
    content = {"format": FORMAT, "version": VERSION, "guarantees": guarantees, "queries": listed}
    return Manifest.of(content)


@dataclass(frozen=True)
class _Period:
    """Some days of all queries: what of delta clients may cost, and what holds for the rest."""

    days: int
    stated: Decimal
    left: Fraction
    epsilon: Decimal
    factor: Fraction

    @classmethod
    def of(cls, asked: Sequence[Asked], days: int, delta: Number, free: bool) -> _Period:
        check_integer("days", days, low=1)
        if not 0 <= exact_number("delta", delta) < 1:
            raise ValueError(f"delta={delta} must be in [0, 1).")
        typed = delta if isinstance(delta, (str, Decimal)) else repr(float(delta))
        stated = Decimal(typed).normalize()
        left = Fraction(0) if free else Fraction(stated) * SHARE
        if not free and not left:
            raise InfeasibleBudgetError(f"delta={delta} must be above 0: clients cannot draw these laws exactly.")
        epsilon = _epsilon([each.day(days) for each in asked], Fraction(stated) - left)
        if not free and epsilon > _MOST:
            raise InfeasibleBudgetError(f"epsilon={epsilon} must be at most {_MOST} where clients are charged.")
        factor = Fraction(0) if free else Fraction(upper_float(arb(str(epsilon)).exp()))
        return cls(days, stated, left, epsilon, factor)

    @property
    def limit(self) -> Fraction:
        return Fraction(self.stated)

    def guarantee(self, charged: Fraction, adversary: ThreatModel) -> dict[str, Any]:
        """Return what a manifest says of them, with what is charged for a day; CapacityError if that is too much."""
        charged *= self.days
        if charged >= 1 or self.limit - self.left + self.factor * charged > self.limit * (1 - charged):
            raise CapacityError(
                f"delta={self.stated} is too small for draws of {BITS} bits: they would cost "
                f"{float(self.factor * charged):.2g}."
            )
        return {
            "days": self.days,
            "epsilon": str(self.epsilon),
            "delta": str(self.stated),
            "adjacency": "replace-one",
            "threat_model": adversary.value,
            "side": "upper bound",
            "charged": {"probability": rounded_up(charged, 3), "share_of_delta": str(SHARE) if self.left else "0"},
        }


def _read(queries: Sequence[Any]) -> list[Asked]:
    """Return queries, after checking them."""
    if isinstance(queries, str) or not isinstance(queries, Sequence) or not queries:
        raise ValueError(f"queries={queries!r} must be a list of one or more (name, protocol, instances, honest).")
    for place, query in enumerate(queries):
        if not isinstance(query, Asked) and (not isinstance(query, (tuple, list)) or not 2 <= len(query) <= 4):
            raise ValueError(f"queries[{place}]={query!r} must be (name, protocol, instances, honest).")
    asked = [query if isinstance(query, Asked) else Asked(*query) for query in queries]
    names = [query.name for query in asked]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"name={name!r} must be that of one query only.")
    return asked


def _epsilon(days: list[Day], delta: Fraction) -> Decimal:
    """Return the least epsilon that is proved for all queries together, rounded up."""
    found = account([(day.protocol, day.instances, day.honest) for day in days], delta=delta).epsilon.upper
    if found == float("inf"):
        raise InfeasibleBudgetError(f"delta={float(delta):g} must be larger: no finite epsilon is proved for it.")
    return Decimal(rounded_up(found, _DIGITS))


def _recipe(asked: Asked, tail: Fraction) -> Recipe:
    return recipe_of(asked.protocol, tail) if asked.turned is None else unary_recipe(asked.turned, tail)


def _query(asked: Asked, recipe: Recipe) -> dict[str, Any]:
    return {
        "name": asked.name,
        **_described(asked.protocol),
        "instances": asked.instances,
        "honest": asked.honest,
        **({} if asked.asks == "bits" else {"asks": asked.asks}),
        **({} if asked.points is None else {"points": asked.points.settings}),
        **({} if asked.signs is None else {"signs": asked.signs}),
        "kind": recipe.kind,
        **recipe.settings,
        **({"real": False} if asked.whole else {}),
        "tables": {key: table.to_list() for key, table in recipe.tables.items()},
    }


def _dap_task(query: dict[str, Any]) -> dict[str, Any]:
    if query["kind"] not in ("counts", "buckets", "unary", "sum") and not query["protocol"] == "rr":
        raise ValueError(f"protocol={query['protocol']!r} must be one whose view is the sums of what users upload.")
    fields = largest(query)
    bits = max(fields).bit_length()
    chunk = math.isqrt(len(fields) * bits)  # the length of a proof is least near the root, by the VDAF draft
    vdaf = {"type": "Prio3SumVec", "length": len(fields), "max_measurement": max(fields), "bits": bits}
    users = mechanism_claims_of(protocol_in(query)).users(protocol_in(query))
    return {"name": query["name"], "min_batch_size": users, "vdaf": {**vdaf, "chunk_length": chunk}}


def _described(protocol: Any) -> dict[str, Any]:
    """Return name and parameters of a protocol, its floats as the decimals that they are."""
    fields = {field.name: getattr(protocol, field.name) for field in dataclasses.fields(protocol)}
    return {
        "protocol": mechanism_claims_of(protocol).name,
        "parameters": {name: _exact(value) for name, value in fields.items()},
    }


def _exact(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return _described(value)
    if isinstance(value, Enum):
        return value.value
    return str(Decimal(value)) if isinstance(value, float) else value


def protocol_in(query: dict[str, Any]) -> Any:
    """Return the protocol of a query of a manifest, of which every parameter is the float that it was."""
    kind, given = claims_named(str(query["protocol"])).protocol, query["parameters"]
    types = {field.name: field.type for field in dataclasses.fields(kind)}
    if not isinstance(given, dict) or given.keys() != types.keys():
        raise ValueError(f"parameters must be an object with {', '.join(types)}")
    values = {name: protocol_in(value) if isinstance(value, dict) else value for name, value in given.items()}
    for name, value in [(name, values[name]) for name, type in types.items() if type in ("float", float)]:
        values[name] = check_real(name, value if isinstance(value, int) else float(_decimal(name, value, _SIGNED)))
    return kind(**values)


def _decimal(name: str, value: Any, form: Callable[[str], Any] = _DECIMAL) -> str:
    """Return a value that must be a decimal in a string: another JSON reader rounds numbers, or has none for NaN."""
    if not isinstance(value, str) or not form(value):
        raise ValueError(f"{name} must be a finite decimal in a string")
    return value


def _checked_days(given: dict[str, Any]) -> int:
    """Return the days of a guarantee of a manifest; ValueError if it has a wrong field."""
    days, proof = given.get("days"), given.get("certificate", {"file": "", "sha256": ""})
    if type(days) is not int or days < 1:
        raise ValueError(f"days={days!r} must be an integer in [1, inf)")
    for name, held in (("epsilon", given), ("delta", given), ("probability", given.get("charged"))):
        _decimal(name, held.get(name) if isinstance(held, dict) else None)
    ThreatModel(str(given.get("threat_model")))
    if not isinstance(proof, dict) or {type(proof.get(name)) for name in ("file", "sha256")} != {str}:
        raise ValueError("certificate must be an object with file and sha256")
    return days


def _asked(number: int, query: dict[str, Any]) -> Asked:
    """Return a query of a manifest as it was asked; ValueError if it has a wrong field."""
    try:
        found, tables = asked_in(query), query["tables"]
        listed = tables.values() if isinstance(tables, dict) else [None]
        if not all(isinstance(each, list) and all(map(_THRESHOLD, map(str, each))) for each in listed):
            raise ValueError("tables must be lists of thresholds of 32 hexadecimal digits")
    except KeyError as error:
        raise ValueError(f"query {number} must have {error}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"query {number}: {str(error).rstrip('.')}") from error
    return found


def asked_in(query: dict[str, Any]) -> Asked:
    """Return a query of a manifest as it was asked."""
    points = Signs.of(query["points"]) if "points" in query else None
    protocol, asks = protocol_in(query), query.get("asks", "bits")
    whole = query.get("real") is False and getattr(protocol, "steps", None) is not None
    return Asked(query["name"], protocol, query["instances"], query["honest"], asks, points, query.get("signs"), whole)


def recomputed(plan: Manifest) -> Manifest:
    """Return the manifest that is made anew from what another one asks for.

    TypeError or ValueError if that is no manifest.
    """
    asked, said = plan.asked(), {guarantee["days"]: guarantee for guarantee in plan.guarantees}
    deltas = {days: guarantee["delta"] for days, guarantee in said.items()}
    certificates = {days: each["certificate"] for days, each in said.items() if "certificate" in each}
    return manifest(asked, delta=deltas, certificates=certificates)
