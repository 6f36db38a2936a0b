"""Protocols as plain JSON values: a name and parameters, as in a file of days or of what was spent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import NoneType
from typing import Any, get_type_hints

import numpy as np

from dpverify.claims.registry import Group, claims_named, claims_of
from protocols.lsq.base import LSQFeatures

__all__ = ["protocol_of", "record_of"]

_KINDS = (Group.BITSUMS, Group.MECHANISMS, Group.STEPS)
_WORDS = {"true": True, "false": False}


def record_of(protocol: Any) -> dict[str, Any]:
    """Return the name of a protocol and all its parameters, from which `protocol_of` makes an equal one.

    Raises TypeError if it has no twin. Raises ValueError if a parameter is no plain value, as public features drawn at
    random are none.
    """
    record: dict[str, Any] = {"protocol": claims_of(protocol).name}
    for field in dataclasses.fields(protocol):
        value = getattr(protocol, field.name)
        if isinstance(value, Enum):
            value = value.value
        elif isinstance(value, LSQFeatures):
            if not value.family.deterministic:
                raise ValueError(
                    f"{field.name} of {record['protocol']} must be of a deterministic family to be written down, and "
                    f"{claims_of(value.family).name} draws them at random."
                )
            value = {"family": record_of(value.family), "instances": value.instances}
        elif dataclasses.is_dataclass(value):
            value = record_of(value)
        elif isinstance(value, tuple):  # of numbers, as a step has
            value = list(value)
        elif not isinstance(value, (bool, int, float, str, NoneType)):
            raise ValueError(
                f"{field.name}={value!r} of {record['protocol']} must be a plain value to be written down."
            )
        record[field.name] = value
    return record


def protocol_of(record: Mapping[str, Any], *, otherwise: Callable[[str], str] | None = None) -> Any:
    """Return the protocol of a name and parameters; texts are read as what each parameter is.

    - record: The name as "protocol", and the parameters by name.
    - otherwise: What the message says besides of a word that is no parameter.

    Raises ValueError if the protocol or a parameter is unknown, missing, or not of its kind or range.
    """
    return _made(record, _KINDS, otherwise)


def _made(record: Mapping[str, Any], kinds: Iterable[Group], otherwise: Callable[[str], str] | None = None) -> Any:
    given = dict(record)
    name = given.pop("protocol", None)
    if not isinstance(name, str):
        raise ValueError(f"protocol={name!r} must be the name of a protocol.")
    made = claims_named(name, *kinds).protocol
    if not hasattr(made, "__dataclass_fields__"):  # such as a classifier, which is made by fitting it
        raise ValueError(f"protocol={name!r} must be one that its parameters make.")
    fields = {field.name: field for field in dataclasses.fields(made) if field.init}
    for word in given:
        if word not in fields:
            hint = "" if otherwise is None else f"; {otherwise(word)}"
            raise ValueError(f"{word!r} must be a parameter of {name}: {', '.join(fields)}{hint}.")
    for field in fields.values():
        if field.default is dataclasses.MISSING and field.name not in given:
            raise ValueError(f"{field.name} of {name} is missing.")
    hints = get_type_hints(made)
    return made(**{word: _read(word, value, hints[word]) for word, value in given.items()})


def _read(name: str, value: Any, kind: Any) -> Any:
    if isinstance(value, Mapping) and value.keys() == {"family", "instances"}:
        # A deterministic family takes nothing from the generator.
        return _made(value["family"], (Group.KERNELS,)).sample(value["instances"], np.random.default_rng(0))
    if isinstance(value, Mapping):
        return _made(value, (*_KINDS, Group.KERNELS))
    if value is not None and kind == int | None:
        kind = int
    if isinstance(value, bool) and kind in (int, float):
        raise ValueError(f"{name}={value!r} must be {_KIND_NAMES[kind]}.")
    if not isinstance(value, str) and kind is not int:
        return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value
    try:
        if kind is bool:
            return _WORDS[value.lower()]
        if kind is int and not isinstance(value, int):
            exact = float(value)
            if int(exact) != exact or abs(exact) > 2.0**53:
                raise ValueError(value)
            return int(exact)
        return kind(value) if isinstance(kind, type) else value
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}={value!r} must be {_KIND_NAMES.get(kind, 'one of its values')}.") from None


_KIND_NAMES: dict[Any, str] = {int: "an integer", float: "a number", bool: "true or false"}
