"""The classes that are quick to import are those of the standard library."""

import copy
import dataclasses
import inspect
import pickle
import re
import sys
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, InitVar, field
from typing import Any, ClassVar

import pytest

from protocols.classes import frozen

CALLS: list[object] = []


@frozen.dataclass(frozen=True)
class Kept:
    """One that a pickle finds."""

    x: int


def shapes(dataclass: Callable[..., Any]) -> Iterator[tuple[Any, tuple[object, ...], dict[str, object]]]:
    """Yield classes of every shape that a decorator makes, each with arguments of an instance."""

    @dataclass(frozen=True)
    class Plain:
        """Fields with and without defaults."""

        x: int
        y: "float" = 2.5
        names: list[str] = field(default_factory=list)
        hidden: int = field(default=3, repr=False, compare=False)
        made: int = field(default=7, init=False)
        shared: "ClassVar[int]" = 5

    yield Plain, (1,), {"y": float("nan")}

    @dataclass(frozen=True)
    class Empty:
        """No field."""

    yield Empty, (), {}

    @dataclass(frozen=True, eq=False)
    class Identity:
        """Equal to itself alone."""

        x: int

    yield Identity, (1,), {}

    @dataclass(frozen=True, kw_only=True)
    class ByName:
        """Named fields, of which the first has a default."""

        x: int = 1
        y: int

    yield ByName, (), {"y": 2}

    @dataclass(frozen=True)
    class Checked:
        """An argument that is no field, and a check."""

        x: Any
        given: InitVar[int]
        _: KW_ONLY
        late: int = field(default=4, hash=False)
        other: "InitVar[int]" = 6

        def __post_init__(self, given: int, other: int) -> None:
            CALLS.append((type(self).__name__, given, other))
            object.__setattr__(self, "x", str(self.x))

    yield Checked, (1, 2), {"late": 3}

    @dataclass(frozen=True)
    class Heir(Plain):
        """A field of its own, and another default."""

        y: float = 0.5
        z: int = 1

    yield Heir, (1,), {"z": 3}

    class Ordinary(Plain):
        """An heir that is no dataclass: what is no field may be set."""

    yield Ordinary, (1,), {}

    @dataclass(frozen=True, repr=False)
    class Own:
        """Methods of its own."""

        x: int

        def __init__(self, x: int = 9) -> None:
            object.__setattr__(self, "x", x)

        def __eq__(self, other: object) -> bool:
            return True

    yield Own, (), {}

    @dataclass(frozen=True)
    class Hashed:
        """An equality and a hash of its own."""

        x: int
        self: int = 0

        def __eq__(self, other: object) -> bool:
            return NotImplemented

        def __hash__(self) -> int:
            return 17

    yield Hashed, (1,), {}

    @dataclass(frozen=True)
    class Unhashable:
        """None of its own accord."""

        x: int
        __hash__ = None  # type: ignore[assignment]

    yield Unhashable, (1,), {}

    @dataclass(frozen=True, init=False)
    class Uninitialised:
        """No arguments."""

        x: int = 3

    yield Uninitialised, (), {}

    class Base(ABC):
        @abstractmethod
        def value(self) -> int: ...

    @dataclass(frozen=True)
    class Concrete(Base):
        """A class that is no dataclass stands above."""

        x: int

        def value(self) -> int:
            return self.x

    yield Concrete, (1,), {}

    @dataclass(frozen=True, order=True, slots=True)
    class Ordered:
        """What is left to the standard library."""

        x: int

    yield Ordered, (1,), {}

    @dataclass
    class Mutable:
        """Not frozen."""

        x: int

    yield Mutable, (1,), {}

    @dataclass(frozen=True)
    class Undocumented:
        x: int

    yield Undocumented, (1,), {}


def made(*bases: type, **body: object) -> type:
    """Return a new class."""
    return type("Made", bases, {"__doc__": "Documented.", **body})


def told(call: Callable[[], object]) -> object:
    """Return what a call returns, or how it fails."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def seen(cls: Any, args: tuple[object, ...], named: dict[str, object]) -> dict[str, object]:
    """Return all that a class and its instances let anyone see, in an order that asks for methods late."""
    CALLS.clear()
    fresh = told(lambda: hash(object.__new__(cls)) is None)  # a method may be the first that is used
    one, two = cls(*args, **named), cls(*args, **named)
    parameters = cls.__dataclass_params__
    return {
        "fresh": fresh,
        "calls": list(CALLS),
        "repr": told(lambda: repr(one)),
        "equal": (one == two, one == one, one != two, one == copy.copy(one), one == 3, two.__eq__(None)),
        "hash": told(lambda: (hash(one) == hash(two), len({one, two}))),
        "set": [told(lambda name=name: setattr(one, name, 1)) for name in ("x", "new", "hidden")],
        "delete": [told(lambda name=name: delattr(one, name)) for name in ("y", "new", "absent")],
        "vars": told(lambda: vars(two)),
        "fields": [
            (each.name, each.type, each.default, each.init, each.repr, each.compare, each.kw_only, each.hash)
            for each in dataclasses.fields(cls)
        ],
        "all": list(cls.__dataclass_fields__),
        "dict": told(lambda: dataclasses.asdict(two)),
        "replaced": told(lambda: repr(dataclasses.replace(two, x=8))),
        "missing": told(lambda: cls(1, 2, 3, 4, 5, 6, 7)),
        "match": cls.__match_args__,
        "parameters": [getattr(parameters, name) for name in ("init", "repr", "eq", "order", "unsafe_hash", "frozen")],
        "signature": str(inspect.signature(cls)),
        "hints": told(lambda: typing.get_type_hints(cls.__init__)),
        "names": [getattr(getattr(cls, name), "__qualname__", None) for name in ("__init__", "__repr__", "__eq__")],
        "modules": [getattr(getattr(cls, name), "__module__", None) for name in ("__init__", "__repr__", "__eq__")],
        "own": sorted(set(vars(cls)) - {"__firstlineno__", "__static_attributes__"}),
        "deep": told(lambda: repr(copy.deepcopy(two))),
        "doc": cls.__doc__,
        "static": {name: value for name, value in vars(cls).items() if not name.startswith("_")}.keys(),
    }


SHAPES = [(ours, theirs) for ours, theirs in zip(shapes(frozen.dataclass), shapes(dataclasses.dataclass), strict=True)]


@pytest.mark.parametrize(("ours", "theirs"), SHAPES, ids=[ours[0].__name__ for ours, _ in SHAPES])
def test_a_class_is_that_of_the_standard_library(ours: Any, theirs: Any) -> None:
    mine, standard = seen(*ours), seen(*theirs)
    for what, value in standard.items():
        # Tests compare nan with itself by identity: as texts.
        assert re.sub(" at 0x[0-9a-f]+", "", repr(mine[what])) == re.sub(" at 0x[0-9a-f]+", "", repr(value)), what


def test_types_mean_what_they_do_where_a_field_is_written() -> None:
    known = {cls.__name__: cls for cls, *_ in shapes(frozen.dataclass)}
    sys.modules["bare"] = types.ModuleType("bare")  # knows no ClassVar and no InitVar
    try:
        heirs: list[Any] = [
            frozen.dataclass(frozen=True)(made(base, __module__="bare")) for base in (known["Plain"], known["Checked"])
        ]
        assert heirs[0](1) == heirs[0](x=1, y=2.5)
        assert heirs[1](1, 2, other=3).x == "1"
    finally:
        del sys.modules["bare"]


def test_an_instance_survives_a_pickle() -> None:
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)


def test_nothing_is_compiled_before_it_is_used() -> None:
    cls: Any = frozen.dataclass(frozen=True)(
        type("Fresh", (), {"__doc__": "Two fields.", "__annotations__": {"x": int}})
    )
    methods = ("__init__", "__repr__", "__eq__", "__hash__")
    assert [isinstance(vars(cls)[name], frozen._Later) for name in methods] == [True] * 4
    assert cls(1) == cls(1)
    assert [isinstance(vars(cls)[name], frozen._Later) for name in methods] == [False, True, False, True]


def test_threads_that_use_a_class_for_the_first_time_find_one_method() -> None:
    for _ in range(20):
        cls: Any = frozen.dataclass(frozen=True)(made(__annotations__={"x": int}))
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda number, cls=cls: cls(number).x, range(16))) == list(range(16))


@pytest.mark.parametrize("dataclass", [frozen.dataclass, dataclasses.dataclass])
def test_what_the_standard_library_refuses_is_refused(dataclass: Any) -> None:
    @dataclass
    class Mutable:
        """Not frozen."""

    @dataclass(frozen=True)
    class Frozen:
        """Frozen."""

    for base, strict in ((Mutable, True), (Frozen, False)):
        with pytest.raises(TypeError, match="cannot inherit"):
            dataclass(frozen=strict)(made(base))
    with pytest.raises(TypeError, match="Cannot overwrite attribute __setattr__"):
        dataclass(frozen=True)(made(__setattr__=object.__setattr__))
    with pytest.raises(ValueError, match="mutable default"):
        dataclass(frozen=True)(made(__annotations__={"x": list}, x=[]))
    with pytest.raises(TypeError, match="non-default argument"):
        dataclass(frozen=True)(type("Order", (), {"__doc__": ".", "__annotations__": {"x": int, "y": int}, "x": 1}))(
            2, 3
        )
