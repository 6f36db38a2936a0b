"""Outputs of any kind as rows of numbers, from which all of an output can be told: numbers, vectors, strings, tuples.

The first column of a row is 0, 1 or 2 for floats, integers or booleans in the usual number, with a hash of the shape
where that has two axes or more; for anything else it is a hash of the whole output. So two different outputs have
different rows, but for numbers of one kind in a row: a list, a tuple or an array of these, or one by itself, is the
same. The other columns are what the output is made of.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.leaves import Raised, held, leaves_of, leaves_together, multiple
from dpverify.audit.running.target import ALIKE, Runnable, Target, TargetError, target_of
from protocols.classes.frozen import dataclass

__all__ = ["COUNTED", "Raising", "RowTarget", "Samplers"]

_KINDS = {"f": 0.0, "i": 1.0, "u": 1.0, "b": 2.0}
"""The first column of plain numbers, by numpy's kind."""
_HASHED = 2.0**52
"""Added to a hash of 52 bits, so that it is no kind of plain numbers."""
COUNTED = 256
"""The remainder of a hash by this is how many numbers are in the output, beyond those that have columns as well."""
_MOST = 4096
"""Columns of an output; the hash tells what is beyond."""
_EXACT = 2**53
_NUMBERS = {float: "f", int: "iu", bool: "b"}
"""The kinds of arrays that numpy makes of numbers of one type, unless some are too large."""
_DOUBLES = [{float}, {np.float64}]
"""Types of outputs that are read fastest one after the other."""


def _rows(raw: Any, trials: int, width: int, resolution: float | None = None) -> NDArray[np.float64]:
    """Return the rows of the outputs of some runs, shape (trials, 1 + width), with numbers rounded."""
    if len(raw) != trials:
        raise TypeError(f"{len(raw)} outputs came of {trials} runs")
    types = {float} if isinstance(raw, np.ndarray) else set(map(type, raw))
    if type(raw) is list and types == {str} and len(found := dict.fromkeys(raw)) < trials:
        places = dict(zip(found, itertools.count()))
        return _rows(list(found), len(found), width)[[places[output] for output in raw]]
    rows = np.zeros((trials, 1 + width))
    # One by one or all at once, an output has the same row: at once only where all are of one plain kind.
    at_once = len(types) == 1 and not isinstance(raw[0], (list, tuple, str, dict, np.ma.MaskedArray))
    at_once = at_once and (types <= ALIKE or len({_kind(output) for output in raw}) == 1)
    if type(raw) is list and types in _DOUBLES:
        array: NDArray[Any] | None = np.fromiter(raw, np.float64, trials)
    else:
        array = _plain(raw) if at_once else _table(raw, width)
    if array is not None and array.size == trials * width:
        rows[:, 0], rows[:, 1:] = _form(array.dtype, array.shape[1:]), array.reshape(trials, width)
        again: Iterator[int] = iter(())
        fine = np.isfinite(array) if array.dtype.kind == "f" else np.abs(rows[:, 1:]) <= _EXACT
        if not fine.all():
            again = iter(np.flatnonzero(~fine.reshape(trials, width).all(axis=1)).tolist())
    else:
        again = iter(range(trials))
    hashed, read = list[int](), list[tuple[bytes, list[float]]]()
    if array is None and resolution is None and (together := leaves_together(raw)):
        hashed, read, again = list(again), together, iter(())
    for run in again:
        array = _plain(raw[run])
        whole = array is not None and array.dtype.kind in "iu" and (np.abs(array.astype(float)) > _EXACT).any()
        if array is not None and array.size == width and np.isfinite(array).all() and not whole:
            rows[run, 0], rows[run, 1:] = _form(array.dtype, array.shape), array.ravel()
        else:
            hashed.append(run)
            read.append(leaves_of(raw[run], resolution))
    if hashed:
        digests = (hashlib.blake2b(content, digest_size=8).digest() for content, _ in read)
        counted = np.minimum([len(leaves) for _, leaves in read], COUNTED - 1)
        rows[hashed] = 0.0
        rows[hashed, 0] = _HASHED + (np.frombuffer(b"".join(digests), ">u8") >> 12) // COUNTED * COUNTED + counted
    numbers = [leaves[:width] for _, leaves in read]
    if len(set(map(len, numbers))) == 1:
        rows[hashed, 1 : 1 + len(numbers[0])] = numbers
    else:
        for run, leaves in zip(hashed, numbers, strict=True):
            rows[run, 1 : 1 + len(leaves)] = leaves
    if resolution is not None:
        plain = rows[:, 0] < _HASHED
        rows[plain, 1:] = multiple(rows[plain, 1:], resolution)
    return rows


def _array(numbers: Any, types: set[type]) -> NDArray[Any] | None:
    """Return numbers as an array; None where they are of several types, or no array of their kind holds them."""
    if len(types) == 1 and types <= _NUMBERS.keys():
        with contextlib.suppress(OverflowError):
            array = np.asarray(numbers)
            return array if array.dtype.kind in _NUMBERS[next(iter(types))] else None
    return None


def _table(raw: Any, width: int) -> NDArray[Any] | None:
    """Return lists and tuples of as many numbers of one type as an array; None for anything else."""
    if not all(isinstance(output, (list, tuple)) and len(output) == width for output in raw):
        return None
    return _array(raw, set(map(type, itertools.chain.from_iterable(raw))))


def _form(dtype: np.dtype[Any], shape: tuple[int, ...]) -> float:
    """Return the first column of numbers of one kind: of a matrix it tells the shape as well."""
    shown = _KINDS[dtype.kind]
    if len(shape) < 2:
        return shown
    return shown + 3.0 * (int.from_bytes(hashlib.blake2b(repr(shape).encode(), digest_size=8).digest()) >> 16)


def _kind(output: Any) -> Any:
    return type(output), getattr(output, "dtype", None), getattr(output, "shape", None)


def _plain(output: Any) -> NDArray[Any] | None:
    """Return outputs as an array of real numbers; None for what is none, or hides the kinds of its parts."""
    if isinstance(output, (list, tuple)):
        types = set(map(type, output))
        if len(types) > 1:
            return None
        if types and types <= _NUMBERS.keys():
            return _array(output, types)
        if any(issubclass(part, (list, tuple)) for part in types):
            return None
        if not types <= ALIKE and len({_kind(part) for part in output}) > 1:
            return None
    elif isinstance(output, (str, bytes, bytearray, Mapping, set, frozenset, np.ma.MaskedArray)) or output is None:
        return None
    try:
        array = np.asarray(output)
    except (ValueError, OverflowError):
        return None
    return array if held(array) else None


@dataclass(frozen=True)
class _Around(Target):
    """A target that runs another one."""

    inner: Target | None = None

    @property
    def _inner(self) -> Target:
        assert self.inner is not None
        return self.inner

    @property
    def shown(self) -> str:
        """How messages name it."""
        return self._inner.shown


@dataclass(frozen=True)
class RowTarget(_Around):
    """A target with outputs of any kind, read as rows, or as how many numbers are in each."""

    resolution: float | None = None

    @classmethod
    def of(cls, inner: Target, width: int, resolution: float | None = None) -> RowTarget:
        """Return a target whose outputs have up to `width` numbers in them, rounded to multiples of `resolution`."""
        return cls(inner.function, inner.batch, (1 + width,), inner.name, inner, resolution)

    @classmethod
    def widths(cls, inner: Target) -> RowTarget:
        """Return a target whose outputs' numbers are counted, up to 4,096."""
        return cls(inner.function, inner.batch, (), inner.name, inner)

    def load(self) -> Callable[..., Any]:
        """Return the callable; see `Target`."""
        return self._inner.load()

    def identity(self) -> dict[str, str]:
        """Return what tells this target from others; see `Target`."""
        return {**self._inner.identity(), "columns": str(self.shape), "resolution": str(self.resolution)}

    def raw(self, inputs: NDArray[Any], rng: np.random.Generator, trials: int, where: str) -> NDArray[np.float64]:
        """Return what is read of independent runs, shape (trials, *shape).

        Raises TargetError if the callable raises, or returns what is made of other things than `leaves_of` knows.
        """
        try:
            raw = self._inner.raw(inputs, rng, trials, where)
        except TargetError as error:
            if self._inner.batch or not isinstance(error.__cause__, Exception):
                raise
            more = "exceptions=True makes an exception's type an output like others"
            raise TargetError(f"{str(error).removesuffix('.')}; {more}.") from error.__cause__
        try:
            if not self.shape:
                return np.array([min(_MOST, len(leaves_of(output)[1])) for output in raw], dtype=np.float64)
            return _rows(raw, trials, self.shape[0] - 1, self.resolution)
        except (TypeError, RecursionError) as error:
            raise TargetError(
                f"{self.shown}: {error} in {where}, but outputs must be made of numbers, strings, bytes, None, lists, "
                "tuples, sets, mappings and arrays."
            ) from None


@dataclass(frozen=True)
class Raising(_Around):
    """A target whose exceptions are outputs: what it raises on one input alone shows that input."""

    @classmethod
    def of(cls, inner: Target) -> Raising:
        """Return a target whose exceptions are outputs."""
        if inner.batch:
            raise ValueError("exceptions=True must be False for a target with batch=True: one would end all its runs.")
        return cls(inner.function, False, inner.shape, inner.name, inner)

    def load(self) -> Callable[..., Any]:
        """Return a callable that returns what it raises; see `Target`."""
        function = self._inner.load()

        @functools.wraps(function, updated=())
        def observed(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except MemoryError:
                raise  # of the machine, not of the input
            except Exception as error:
                return Raised(f"{type(error).__module__}.{type(error).__qualname__}")

        return observed

    def identity(self) -> dict[str, str]:
        """Return what tells this target from others; see `Target`."""
        return {**self._inner.identity(), "exceptions": "outputs"}


@dataclass(frozen=True)
class Samplers(Target):
    """Two samplers as one target, which runs the first on the input 0 and the second on 1.

    - function: The first: `function(rng)` returns an output, or with `batch` `function(rng, trials)` those of all runs.
    - batch, shape, name: See `Target`.
    - second: The second, as a target.
    """

    second: Target | None = None

    @classmethod
    def of(cls, first: Runnable, second: Runnable) -> Samplers:
        """Return two samplers as one target."""
        one, two = map(target_of, (first, second))
        if one.batch != two.batch:
            raise ValueError("first and second must both take the number of trials, or neither.")
        return cls(one.function, one.batch, one.shape, one.name, two)

    @property
    def _both(self) -> tuple[Target, Target]:
        assert self.second is not None
        return Target(self.function, self.batch, self.shape, self.name), self.second

    @property
    def shown(self) -> str:
        """How messages name them."""
        return " and ".join(target.shown for target in self._both)

    def load(self) -> Callable[..., Any]:
        """Return a callable that runs either; see `Target`."""
        both = [target.load() for target in self._both]
        return lambda inputs, *arguments: both[int(inputs[0])](*arguments)

    def identity(self) -> dict[str, str]:
        """Return what tells these targets from others; see `Target`."""
        first, second = (target.identity() for target in self._both)
        return {**second, **first, "second target": second["target"]}
