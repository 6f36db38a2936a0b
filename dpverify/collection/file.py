"""Files that say what a design is asked for, in TOML."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from dpverify.claims.records import protocol_of
from dpverify.collection.design import Design, design
from dpverify.collection.query import Query
from dpverify.files import unread
from dpverify.guarantee import Budget
from dpverify.planning.schedules.beside import Beside
from protocols.validation import check_file, check_integer, meant

__all__ = ["design_in", "read_design"]

_WHOLE = {"users", "budgets", "queries"}, {"honest", "beside"}
_BUDGET = {"epsilon", "delta"}, {"days"}
_QUERY = {"name"}, {field.name for field in fields(Query)} - {"name"}
"""The keys that must be there, and those that may."""


def read_design(path: Path) -> Design:
    """Return the design that a file asks for.

    Parameters
    ----------
    path : Path
        TOML: `users`, `honest` if not all are, tables `[[budgets]]` with `epsilon`, `delta` and `days` (1 by default),
        and tables `[[queries]]` with the fields of `dpverify.collection.query.Query`; and for steps of a curator tables
        `[[beside]]` with `protocol`, such as "noisy-step", its parameters, and `instances` in any so many `days`.
        Decimals are exact.

    Raises
    ------
    ValueError
        If the file is missing or no such file; it says what is wrong in which table.
    InfeasibleBudgetError
        As `dpverify.design`.
    """
    check_file("path", path, "a TOML file of a design")
    return design_in(path.read_bytes(), f"path={str(path)!r}")


def _in_words(read: Callable[[bytes, str], Design]) -> Callable[[bytes, str], Design]:
    """Return what raises a ValueError for a value of another type, as for every other one: a file has no types."""

    @functools.wraps(read)
    def called(data: bytes, said: str) -> Design:
        try:
            return read(data, said)
        except (TypeError, ValueError) as error:
            # A number with a point or an exponent is none of TOML's integers, whatever its value.
            words = re.sub(r"(Decimal\('.*?'\) must be an integer)", r"\1, in digits alone,", str(error))
            words = re.sub(r"Decimal\('(.*?)'\)", r"\1", words)
            if words == str(error) if isinstance(error, ValueError) else " must be " not in words:
                raise
            raise ValueError(words) from error

    return called


@_in_words
def design_in(data: bytes, said: str) -> Design:
    """Return the design that what such a file holds asks for, and raise what `read_design` does.

    - said: What messages call it.
    """
    try:
        asked = tomllib.loads(data.decode("utf-8-sig"), parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{said} must be a TOML file: {unread(error)}.") from error
    check_integer("users", asked.get("users", 1), low=1)  # what is wrong is said before what is missing
    _check("the file", asked, _WHOLE)
    for key in ("budgets", "queries", "beside"):
        tables = asked.setdefault(key, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise ValueError(f"{key} in {said.removeprefix('path=')} must be tables, each under [[{key}]].")
    budgets = []
    for number, table in enumerate(asked["budgets"], 1):
        _check(f"budget {number}", table, _BUDGET)
        budgets.append((Budget(table["epsilon"], table["delta"]), table.get("days", 1)))
    queries = []
    for number, table in enumerate(asked["queries"], 1):
        _check(f"query {number}", table, _QUERY)
        queries.append(Query(**table))
    beside = []
    for number, table in enumerate(asked["beside"], 1):
        given = {name: float(value) if isinstance(value, Decimal) else value for name, value in table.items()}
        runs: dict[str, Any] = {name: given.pop(name) for name in ("instances", "days") if name in given}
        try:
            beside.append(Beside(protocol_of(given), **runs))
        except (TypeError, ValueError) as error:
            raise ValueError(f"beside {number}: {error}") from error
    return design(queries, budgets, users=asked["users"], honest=asked.get("honest"), beside=beside)


def _check(name: str, table: Mapping[str, Any], keys: tuple[set[str], set[str]]) -> None:
    must, may = keys
    missing, strange = sorted(must - table.keys()), sorted(table.keys() - must - may)
    if missing or strange:
        wrong = [f"lacks {word}" for word in missing[:1]]
        wrong += [f"has {word!r}{meant(word, must | may)}" for word in strange[:1]]
        rest = f"{', '.join(sorted(must))}, and may have {', '.join(sorted(may))}"
        raise ValueError(f"{name} {' and '.join(wrong)}, but must have {rest}.")
