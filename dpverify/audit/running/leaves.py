"""What an output of any kind is made of: its bytes, and the numbers in it."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.classes.frozen import dataclass

__all__ = ["Raised", "held", "leaves_of", "leaves_together", "multiple"]

_CHARACTERS, _LAST = 16, 8
"""Characters of a string with a column each, of its beginning and its end; the hash tells the others."""
_SPELT: dict[type, tuple[str, Callable[[Any], str]]] = {
    float: ("float", float.hex),
    np.float64: ("float", float.hex),
    int: ("int", str),
    np.int64: ("int", str),
    bool: ("bool", str),
    np.bool_: ("bool", str),
}
"""How parts of these types are written in an output's bytes."""


@dataclass(frozen=True)
class Raised:
    """What a run that raises puts out: the exception's type."""

    kind: str


def leaves_of(output: Any, resolution: float | None = None, nested: bool = False) -> tuple[bytes, list[float]]:
    """Return what an output is, to the last bit or with numbers rounded, and the numbers that it is made of.

    What is nested in something else gives its length before its parts: two lists of random numbers that have always as
    many together differ in this alone. A string gives its length, the number that it spells (0 if none), its first and
    last characters, the sum of their codes, and how many of all are digits, capitals and white space. What is not
    finite or beyond the floats is 0 among the numbers.

    - output: Of one run.
    - resolution: Numbers, wherever they are in the output, are rounded to multiples of this first; characters are none.
    - nested: Whether it is a part of something else.

    Raises TypeError if it is made of something else than numbers, strings, bytes, None, sequences, sets, mappings and
    arrays.
    """
    kind = type(output)
    if resolution is None and (kind is float or kind is int):
        spelt = output.hex() if kind is float else str(output)
        return f"{kind.__name__} {spelt};".encode(), [_number(output)]
    if kind is str or kind is bytes:
        content, read = _read(output)
        return content, list(read)
    if kind is tuple or kind is list or kind is dict:
        return _joined(output, resolution, nested)
    if isinstance(output, np.generic):
        output = output.item()
    if isinstance(output, np.ma.MaskedArray):
        output = output.tolist()  # what is masked is None
    if resolution is not None and isinstance(output, (int, float, np.ndarray)):
        output = multiple(output, resolution)
    if output is None or isinstance(output, (bool, int, float)):
        spelt = output.hex() if isinstance(output, float) else repr(output)
        return f"{type(output).__name__} {spelt};".encode(), [_number(output)]
    if isinstance(output, complex):
        return leaves_of((output.real, output.imag), resolution)
    if isinstance(output, Raised):
        return f"raised {output.kind};".encode(), []
    if isinstance(output, (str, bytes, bytearray)):
        content, read = _read.__wrapped__(output)
        return content, list(read)
    if isinstance(output, np.ndarray) and held(output):
        content = np.ascontiguousarray(output).tobytes()
        length = [float(output.size)] if nested else []
        head = f"array {output.dtype} {output.shape} ".encode()
        return head + content, length + [_number(x) for x in output.ravel().tolist()]
    return _joined(output, resolution, nested)


def leaves_together(outputs: Sequence[Any]) -> list[tuple[bytes, list[float]]] | None:
    """Return the same of tuples, or lists, of numbers of several types, in the same order in all; None for others."""
    if not set(map(type, outputs)) <= {tuple, list}:
        return None
    kinds = {(type(output), *map(type, output)) for output in outputs}
    of, *parts = kinds.pop() if len(kinds) == 1 else (None,)
    if of is None or len(set(parts)) < 2 or not _SPELT.keys() >= set(parts):
        return None
    form = f"{of.__name__} {len(parts)} " + "".join(f"{_SPELT[kind][0]} %s;" for kind in parts)
    spelt = [map(_SPELT[kind][1], column) for kind, column in zip(parts, zip(*outputs, strict=True), strict=True)]
    contents = ((form % row).encode() for row in zip(*spelt, strict=True))
    return [(content, list(map(_number, output))) for content, output in zip(contents, outputs, strict=True)]


def _joined(output: Any, resolution: float | None, nested: bool) -> tuple[bytes, list[float]]:
    """Return what is made of parts; see `leaves_of`."""
    parts = [leaves_of(part, resolution, True) for part in _parts(output)]
    if isinstance(output, (set, frozenset)):
        parts.sort()
    elif isinstance(output, np.ndarray):
        parts.insert(0, leaves_of(output.shape))
    head, numbers = f"{type(output).__name__} {len(parts)} ".encode(), [float(len(parts))] if nested else []
    for part, leaves in parts:
        head += part
        numbers += leaves
    return head, numbers


@functools.lru_cache(maxsize=4096)
def _read(output: str | bytes | bytearray) -> tuple[bytes, tuple[float, ...]]:
    """Return what a string is, and its numbers: one that comes again, as keys of mappings do, is read once."""
    content = output.encode("utf-8", "surrogatepass") if isinstance(output, str) else bytes(output)
    text = output if isinstance(output, str) else output.decode("latin-1")
    codes = *_codes(text[:_CHARACTERS], _CHARACTERS), *_codes(text[::-1][:_LAST], _LAST)
    kinds = (float(sum(map(kind, text))) for kind in (str.isdigit, str.isupper, str.isspace))
    head = f"{type(output).__name__} {len(content)} ".encode()
    return head + content, (float(len(text)), _spelt(output), *codes, float(sum(map(ord, text))), *kinds)


def _codes(text: str, most: int) -> list[float]:
    return [*(float(ord(character)) for character in text), *[-1.0] * (most - len(text))]


def _parts(output: Any) -> Sequence[Any]:
    if isinstance(output, (list, tuple)):
        return output
    if isinstance(output, np.ndarray):
        return output.ravel().tolist()
    if isinstance(output, Mapping):
        return list(itertools.chain.from_iterable(output.items()))
    if isinstance(output, (set, frozenset)):
        return list(output)
    raise TypeError(f"an output is of type {type(output).__name__}")


def multiple(output: Any, resolution: float) -> Any:
    """Return numbers as the nearest multiple of a resolution, of their own type; an integer is one of 1 and below."""
    if isinstance(output, float) or (isinstance(output, np.ndarray) and output.dtype.kind == "f"):
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.rint(np.asarray(output, dtype=np.float64) / resolution) * resolution + 0.0  # no -0
        near = np.where(np.isfinite(near), near, output)
        return float(near) if isinstance(output, float) else near.astype(output.dtype)
    if resolution <= 1.0 or isinstance(output, bool):
        return output
    if isinstance(output, int):
        return int(round(Fraction(output) / Fraction(resolution)) * Fraction(resolution))
    if output.dtype.kind not in "iu":
        return output
    return np.array([multiple(x, resolution) for x in output.ravel().tolist()], dtype=object).reshape(output.shape)


def _number(value: float | None) -> float:
    try:
        number = float(value or 0.0) if value != 0 else float(value)  # -0.0 stays
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def _spelt(text: str | bytes | bytearray) -> float:
    try:
        return _number(float(text))
    except ValueError:
        return 0.0


def held(array: NDArray[Any]) -> bool:
    """Return whether an array is of real numbers that a float or an integer holds; longer floats would be cut."""
    return array.dtype.kind in "fiub" and array.dtype.itemsize <= 8
