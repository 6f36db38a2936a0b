"""Frozen dataclasses that are quick to import: their methods are made by the standard library, but when first used.

`dataclasses.dataclass(frozen=True)` compiles six functions a class, most of which no program calls: for 280 classes a
third of `from dpverify import *`. The classes made here are the same, and so are their methods, from the moment that
somebody looks one up. Only one thing is refused later, at the first instance: a field without a default behind one that
has a default, which mypy refuses before.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]


class _Later:
    """A method in its place in a class, until it is first looked up."""

    def __init__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        options = _METHODS[self.name]
        # A class without fields of its own inherits ours as they are, whatever texts of types mean elsewhere.
        fields = vars(self.owner)["__dataclass_fields__"]
        above = {
            "__annotations__": {name: field.type for name, field in fields.items()},  # where Python 3.14 looks for them
            "__dataclass_fields__": fields,
            "__dataclass_params__": SimpleNamespace(frozen="frozen" in options),
        }
        body = {name: getattr(self.owner, name) for name in ("__doc__", "__module__", "__qualname__")}
        if hasattr(self.owner, "__post_init__"):
            body["__post_init__"] = None  # the method asks whether there is one, and calls the instance's
        twin = type(self.owner.__name__, (type("Above", (), above),), body)
        method = vars(dataclasses.dataclass(**_NONE | options)(twin))[self.name]
        setattr(self.owner, self.name, method)
        return method.__get__(instance, owner)


_NONE = {"init": False, "repr": False, "eq": False}
_METHODS = {
    "__init__": {"init": True, "frozen": True},
    "__repr__": {"repr": True},
    "__eq__": {"eq": True},
    "__hash__": {"eq": True, "unsafe_hash": True},
}
"""What the standard library is asked for to get a method."""


def _refusing(cls: Any) -> tuple[Any, Any]:
    """Return `__setattr__` and `__delattr__` of a frozen class."""
    names = {field.name for field in dataclasses.fields(cls)}

    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _frozen(cls: Any, init: bool = True, repr: bool = True, eq: bool = True, kw_only: bool = False) -> Any:
    own = vars(cls)
    methods = {"__init__": init, "__repr__": repr, "__eq__": eq}
    wanted = [name for name, asked in methods.items() if asked and name not in own]
    # Beside an `__eq__` Python itself has set `__hash__` to None.
    if eq and own.get("__hash__") is None and ("__hash__" in own) == ("__eq__" in own):
        wanted.append("__hash__")
    # What the standard library may refuse, it freezes itself: heirs of dataclasses, and classes that set attributes.
    strict = dataclasses.is_dataclass(cls) or "__setattr__" in own or "__delattr__" in own
    dataclasses.dataclass(**_NONE, frozen=strict, kw_only=kw_only)(cls)
    if not strict:
        cls.__setattr__, cls.__delattr__ = _refusing(cls)
    for name, value in {"init": init, "repr": repr, "eq": eq, "frozen": True}.items():
        setattr(cls.__dataclass_params__, name, value)
    for name in wanted:
        setattr(cls, name, _Later(cls, name))
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """Return a dataclass, as `dataclasses.dataclass` does; a frozen one is quick to make.

        - cls: The class, or None where this is called with options.
        - options: Those of `dataclasses.dataclass`.
        """
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        if options.get("frozen") and options.keys() <= {"frozen", "init", "repr", "eq", "kw_only"} and cls.__doc__:
            return _frozen(cls, **{name: value for name, value in options.items() if name != "frozen"})
        return dataclasses.dataclass(**options)(cls)
