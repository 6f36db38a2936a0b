"""Files of days: a protocol and its parameters in each line, as JSON or CSV."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from dpverify.claims.records import protocol_of
from dpverify.files import once, parsed, unread
from dpverify.planning.schedules.schedule import Day
from protocols.validation import check_file, check_integer

__all__ = ["days_in", "read_days"]

_DAY, _INSTANCES, _HONEST = "day", "instances", "honest"
"""What a line may say besides the protocol and its parameters."""
_MEANT = {
    _INSTANCES: ("count", "counts", "number", "repeat", "repeats", "repetitions", "runs", "times"),
    _HONEST: ("honest_users",),
    _DAY: ("date", "days", "label", "name"),
    "users": ("n", "n_users", "num_users", "user", "users_total"),
}
"""Other headers that these have in files, and that of the parameter that most protocols have."""
_COMPUTED = ("epsilon", "delta", "epsilon0", "delta0")


def read_days(path: Path) -> list[Day]:
    """Return the days of a file.

    - path: A `.json` file, one list of objects, or else a `.csv` file with a header. Each has `protocol`, the name, and
      the parameters by name; and may have `instances`, 1 by default, `honest`, how many of the users are honest at
      least, and `day`, a name that no other has.

    Raises ValueError if the file is missing or of another form, or a line is; it says which.
    """
    check_file("path", path, "a .json or .csv file of days")
    return days_in(path.read_bytes(), f"path={str(path)!r}", objects=path.suffix.lower() == ".json")


def days_in(data: bytes, said: str, *, objects: bool) -> list[Day]:
    """Return the days of what such a file holds, and raise what `read_days` does.

    - said: What messages call it.
    - objects: Whether it is JSON, and no table.
    """
    try:
        text = data.decode("utf-8-sig")
        lines = parsed(text) if objects else _table(text)
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{said} must be a .json or .csv file of days: {unread(error)}.") from error
    if not isinstance(lines, list) or not lines or not all(isinstance(line, dict) for line in lines):
        raise ValueError(f"{said} must hold a list of days, at least one, each with a protocol.")
    days, named = [], set()
    for number, line in enumerate(lines, 1):
        try:
            name = line.pop(_DAY, None)
            if name is not None and str(name) in named:
                raise ValueError(f"day={name!r} must be there once: days contradict each other.")
            if name is not None:
                named.add(str(name))
            given = {name: value for name, value in line.items() if name not in (_INSTANCES, _HONEST)}
            protocol = protocol_of(given, otherwise=_meant)
            honest = _whole(_HONEST, line[_HONEST]) if _HONEST in line else None
            days.append(Day(protocol, _whole(_INSTANCES, line.get(_INSTANCES, 1)), honest))
        except (TypeError, ValueError) as error:
            raise ValueError(f"Day {number} of {said.removeprefix('path=')}: {error}") from error
    return days


def _meant(word: str) -> str:
    """Return what to write for a word that is no parameter of the protocol."""
    if word.lower() in _COMPUTED:
        return "what a day gives is computed, and no entry"
    for right, others in _MEANT.items():
        if word.lower() in (right, *others):
            return f"write {right} for it"
    return f"besides them there may be {_INSTANCES}, {_HONEST} and {_DAY}"


def _table(text: str) -> list[dict[str, Any]]:
    """Return the rows of a table; what is empty is not given, as protocols have different parameters."""
    rows = csv.DictReader(text.splitlines(), skipinitialspace=True, strict=True)
    once([(name.strip(), None) for name in rows.fieldnames or ()])
    found = []
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise ValueError(f"row {number} has not as many entries as the header")
        found.append({name.strip(): value.strip() for name, value in row.items() if value.strip()})
    return found


def _whole(name: str, number: Any) -> int:
    if isinstance(number, str):
        try:
            number = int(number)
        except ValueError:
            raise ValueError(f"{name}={number!r} must be an integer.") from None
    return check_integer(name, number, low=1)
