"""Draws of a target as they are made, and runs with the same draws, with one moved, or with those of one line fresh.

What is recorded comes through numpy's generators, Python's `random` and `secrets`, and `os.urandom`, whether the target
is given them, makes them or finds them in a module. What native code draws for itself is not seen.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy

from protocols.classes.frozen import dataclass

__all__ = ["FRESH", "GIVEN", "GLOBAL", "SYSTEM", "Draw", "Tape", "given", "patched", "place_of"]

GIVEN, FRESH, SYSTEM = "the given generator", "a fresh generator of its own", "os.urandom"
GLOBAL = ("the global generator of numpy.random", "the global generator of random")
_SEEDED = "a generator that it seeds"
_NO_DRAWS = {"bit_generator", "get_state", "getstate", "seed", "set_state", "setstate", "spawn"}
_SCALES: dict[str, tuple[str, tuple[tuple[int, str], ...]]] = {
    "laplace": ("Laplace", ((1, "scale"),)),
    "normal": ("Gaussian", ((1, "scale"),)),
    "gauss": ("Gaussian", ((1, "sigma"),)),
    "normalvariate": ("Gaussian", ((1, "sigma"),)),
    "standard_normal": ("Gaussian", ()),
    "gumbel": ("", ((1, "scale"),)),
    "logistic": ("", ((1, "scale"),)),
    "geometric": ("geometric", ((0, "p"),)),
    "poisson": ("Poisson", ((0, "lam"),)),
    "binomial": ("binomial", ((0, "n"), (1, "p"))),
    "negative_binomial": ("negative binomial", ((0, "n"), (1, "p"))),
}
"""The law where it is one whose shifts are understood, and where the scale stands among the arguments."""
_OWN = {"numpy", "random", "secrets", "os", "dpverify"}
"""Packages whose names for a generator stay as they are."""
_LIBRARIES = tuple(os.path.dirname(module.__file__) + os.sep for module in (np, scipy) if module.__file__)
_FILES = {__file__, random.__file__, os.path.join(os.path.dirname(random.__file__), "secrets.py")}


@dataclass(frozen=True)
class Draw:
    """One call that drew.

    - source, name: Which generator, and its method.
    - scale: Of noise: one parameter after the other, of each number; None for what has none.
    - value: What came of it.
    - place: File and line of the target that called.
    - turn: How many calls there had been from this place before.
    """

    source: str
    name: str
    scale: tuple[float, ...] | None
    value: Any
    place: str
    turn: int

    @property
    def law(self) -> str:
        """What it is called if its shifts are understood; else empty."""
        return _SCALES.get(self.name, ("",))[0]


class Tape:
    """What one run draws.

    - key: Where given, each call draws by this key, its place and its turn there, whatever its generator is: the same
      key is the same randomness, on any input. Where omitted, generators draw as they would.
    - fresh: A place that draws as with another key.
    - moved: What is added to a draw, by place and turn.
    """

    def __init__(
        self, key: int | None = None, fresh: str = "", moved: Mapping[tuple[str, int], Any] | None = None
    ) -> None:
        self._key, self._fresh, self._moved = key, fresh, moved or {}
        self._turns: Counter[str] = Counter()
        self.busy = False
        self.draws: list[Draw] = []

    def draw(self, source: str, twin: Callable[[int], Any], name: str, real: Callable[..., Any], *given: Any) -> Any:
        """Draw and record it: `given` are the arguments, by place and by name."""
        arguments, named = given
        if self.busy:  # a method that calls another one
            return real(*arguments, **named)
        place = _place()
        turn = self._turns[place]
        self._turns[place] += 1
        if self._key is not None:
            text = f"{self._key} {place == self._fresh} {place} {turn}"
            seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())
            real = getattr(twin(seed), name)
        self.busy = True
        try:
            value = real(*arguments, **named)
        finally:
            self.busy = False
        if (place, turn) in self._moved:
            value = value + self._moved[place, turn]
        kept = np.array(value) if isinstance(value, (np.ndarray, np.generic)) else value
        self.draws.append(Draw(source, name, _scale(name, arguments, named), kept, place, turn))
        return value


def _scale(name: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[float, ...] | None:
    if name not in _SCALES:
        return None
    given = [arguments[at] if len(arguments) > at else named.get(called, 1.0) for at, called in _SCALES[name][1]] or [
        1.0
    ]
    return tuple(np.ravel(np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in given))).tolist())


def _place() -> str:
    """Return the file and line of the innermost call that is the target's, not a library's of random numbers."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if file not in _FILES and not file.startswith(_LIBRARIES):
            break
        frame = frame.f_back
    return place_of(frame.f_code.co_filename, frame.f_lineno)


def place_of(file: str, line: int) -> str:
    """Return a line as findings name it."""
    return f"{file.removeprefix(os.getcwd() + os.sep)}:{line}"


_ON: list[Tape] = []
"""The tape that runs, while one does."""


def _wrapped(source: str, twin: Callable[[int], Any], name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def drawn(*arguments: Any, **named: Any) -> Any:
        return _ON[-1].draw(source, twin, name, real, arguments, named) if _ON else real(*arguments, **named)

    return drawn


def _generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _bytes(seed: int) -> Any:
    return SimpleNamespace(urandom=_generator(seed).bytes)


def _recording(base: Any, twin: Callable[[int], Any]) -> Any:
    """Return a class of generators that record; instances of the base count as its own."""

    def method(name: str) -> Callable[..., Any]:
        return lambda self, *arguments, **named: _wrapped(
            self.source, twin, name, getattr(super(recording, self), name)
        )(*arguments, **named)

    def instance(cls: type, other: object) -> bool:
        return isinstance(other, base)

    def copied(self: Any) -> Any:
        return recording, (self.bit_generator,)

    names = [name for name in dir(base) if name[0] != "_" and name not in _NO_DRAWS and callable(getattr(base, name))]
    body: dict[str, Any] = {"source": _SEEDED, **{name: method(name) for name in names}}
    if hasattr(base, "bit_generator"):
        body["__reduce__"] = copied  # a copy records, too
    recording: Any = type("Recording", (type,), {"__instancecheck__": instance})(base.__name__, (base,), body)
    return recording


_REAL, _URANDOM = np.random.default_rng, os.urandom
_GENERATOR = _recording(np.random.Generator, _generator)
_STATE = _recording(np.random.RandomState, np.random.RandomState)
_RANDOM = _recording(random.Random, random.Random)


def given(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator that records, and draws from the same stream."""
    made: np.random.Generator = _GENERATOR(rng.bit_generator)
    made.source = GIVEN  # type: ignore[attr-defined]
    return made


def _default_rng(seed: Any = None) -> np.random.Generator:
    made = _REAL(seed)
    if not hasattr(made, "source"):
        made = _GENERATOR(made.bit_generator)
        made.source = FRESH if seed is None else _SEEDED
    return made


def _seed_bits(bits: int) -> int:
    return int.from_bytes(_URANDOM(-(-bits // 8))) >> (-bits % 8)


@contextmanager
def patched() -> Iterator[Callable[..., Any]]:
    """Record in all modules; yields `run(tape, function, *arguments)`. Generators go on where they were afterwards."""
    held = np.random.mtrand._rand
    state = _STATE(held._bit_generator)
    state.source = GLOBAL[0]
    changed: list[tuple[Any, str, Any]] = [
        (np.random, "default_rng", _default_rng),
        (np.random, "Generator", _GENERATOR),
        (np.random, "RandomState", _STATE),
        (np.random.mtrand, "_rand", state),
        (random, "Random", _RANDOM),
        (np.random.bit_generator, "randbits", _seed_bits),  # the system's bytes for a seed are no draw
        (os, "urandom", _wrapped(SYSTEM, _bytes, "urandom", _URANDOM)),
        (random, "_urandom", _wrapped(SYSTEM, _bytes, "urandom", _URANDOM)),
    ]
    for name in set(dir(np.random)) - _NO_DRAWS:
        if getattr(getattr(np.random, name), "__self__", None) is held:
            changed.append((np.random, name, getattr(state, name)))
    for name in set(dir(random)) - _NO_DRAWS:
        real = getattr(random, name)
        if getattr(real, "__self__", None) is random._inst:
            changed.append((random, name, _wrapped(GLOBAL[1], random.Random, name, real)))
    originals = {id(getattr(module, name)): new for module, name, new in changed}
    for key, module in list(sys.modules.items()):  # what was imported by name
        if key.partition(".")[0] not in _OWN and module is not None:
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if id(value) in originals:
                    changed.append((module, name, originals[id(value)]))
    before = [(module, name, getattr(module, name)) for module, name, _ in changed]
    states = random.getstate(), held.get_state()
    try:
        for module, name, new in changed:
            setattr(module, name, new)
        yield _run
    finally:
        for module, name, old in before:
            setattr(module, name, old)
        random.setstate(states[0])
        held.set_state(states[1])


def _run(tape: Tape, function: Callable[..., Any], *arguments: Any) -> Any:
    _ON.append(tape)
    try:
        return function(*arguments)
    finally:
        _ON.pop()
