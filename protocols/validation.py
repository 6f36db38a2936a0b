"""Argument checks that both packages share.

Every failure is one sentence that names the argument, its value and the valid range, so that a message can be shown to
a user as it stands. What checks numbers alone does not load numpy.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Word = TypeVar("Word", bound=str)
Function = TypeVar("Function", bound=Callable[..., Any])

__all__ = [
    "budget_by_name",
    "check_bits",
    "check_choice",
    "check_counts",
    "check_file",
    "check_flag",
    "check_generator",
    "check_groups",
    "check_indices",
    "check_integer",
    "check_participants",
    "check_present",
    "check_probability",
    "check_ranges",
    "check_real",
    "check_vectors",
    "meant",
    "meant_number",
    "plain_numbers",
]


_SHOWN = 60
"""So many characters of a value are repeated in a message."""


def describe_range(low: float | None, high: float | None, low_open: bool, high_open: bool) -> str:
    left = "(-inf" if low is None else f"{'(' if low_open else '['}{_shown(low)}"
    right = "inf)" if high is None else f"{_shown(high)}{')' if high_open else ']'}"
    return f"{left}, {right}"


def _shown(end: float) -> str:
    """Return the end of a range in few digits where those are all it has, else in full."""
    short = f"{float(end):g}"
    return short if float(short) == end else str(end).removesuffix(".0")


def check_real(
    name: str,
    value: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return `value` as a float after checking that it is a finite real number in the given range.

    - name: The argument's name, for the message.
    - value: The value to check; bool, nan and infinities are refused.
    - low, high: The ends of the range; None leaves that side open.
    - low_open, high_open: Whether the end itself is excluded.

    Raises TypeError if `value` is no real number. Raises ValueError if it is not finite or outside the range.
    """
    if isinstance(value, bool) or not isinstance(value, (float, int, Real)):
        raise TypeError(f"{name}={value!r} must be a real number in {describe_range(low, high, low_open, high_open)}.")
    try:
        number = float(value)
    except OverflowError:  # an integer or a fraction beyond the floats
        number = math.inf
    below = low is not None and (number < low or (low_open and number == low))
    above = high is not None and (number > high or (high_open and number == high))
    if not math.isfinite(number) or below or above:
        allowed = describe_range(low, high, low_open, high_open)
        raise ValueError(f"{name}={value!r} must be a finite number in {allowed}.")
    return number


def check_integer(name: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as an int after checking that it is an integer (TypeError) in [low, high] (ValueError)."""
    if isinstance(value, bool) or not isinstance(value, (int, Integral)):
        raise TypeError(f"{name}={value!r} must be an integer in {describe_range(low, high, False, False)}.")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        raise ValueError(f"{name}={value!r} must be an integer in {describe_range(low, high, False, False)}.")
    return number


def check_ranges(made: Any) -> None:
    """Check each field of a dataclass whose metadata says `within`, such as `"[0, 1/2)"`: an integer, or a real number.

    None passes where the field may be None. TypeError or ValueError for the first one that is out of its range.
    """
    for field in fields(made):
        if "within" in field.metadata:
            low, high, low_open, high_open = read_range(field.metadata["within"])
            value, kind = getattr(made, field.name), str(field.type)
            if value is None and kind.endswith("None"):
                continue
            if kind.startswith("int") or field.type is int:
                check_integer(field.name, value, low=low, high=high)
            else:
                check_real(field.name, value, low=low, high=high, low_open=low_open, high_open=high_open)


def plain_numbers(made: Any) -> None:
    """Make fields of a frozen dataclass that numpy or a fraction gave plain numbers, which print and write alike."""
    import numpy as np

    for field in fields(made):
        value = getattr(made, field.name)
        if isinstance(value, np.number):
            object.__setattr__(made, field.name, value.item())
        elif isinstance(value, Fraction):
            object.__setattr__(made, field.name, float(value))


@functools.cache
def read_range(within: str) -> tuple[Any, Any, bool, bool]:
    """Return the ends of a range as `check_real` takes them."""
    low, high = (None if "inf" in end else float(Fraction(end)) for end in within[1:-1].split(", "))
    return low, high, within[0] == "(", within[-1] == ")"


def check_present(name: str, given: int, users: int, participants: int | None) -> None:
    """Raise ValueError for another number of inputs, called `name`, than of users, or of those said to take part."""
    expected = users if participants is None else check_integer("participants", participants, low=0, high=users)
    if given != expected:
        absent = f"; if others stay away, say participants={given}" if given < users and participants is None else ""
        what = "users" if participants is None else "participants"
        raise ValueError(f"{name} holds {given} users, but must hold {what}={expected}{absent}.")


def check_participants(name: str, participants: int, users: int) -> None:
    """Raise ValueError for more participants than the public number of users, for which noise and privacy are set.

    Fewer are dropouts, which protocols allow where they say so.
    """
    if participants > users:
        raise ValueError(
            f"{name} holds {participants} users, but must hold at most users={users}: the noise and the estimate are "
            "set for that number."
        )


def check_flag(name: str, value: Any) -> bool:
    """Return `value` as a bool after checking that it is one, of Python or numpy; others raise TypeError."""
    if isinstance(value, bool):
        return value
    import numpy as np

    if not isinstance(value, np.bool_):
        raise TypeError(f"{name}={value!r} must be True or False.")
    return bool(value)


def check_probability(name: str, value: Any, *, high: float = 1.0, high_open: bool = False) -> float:
    """Return `value` as a float after checking that it lies in [0, high] (or [0, high) with `high_open`)."""
    return check_real(name, value, low=0.0, high=high, high_open=high_open)


def check_choice(name: str, value: Any, known: Iterable[Word], *, where: str = "") -> Word:
    """Return the one of some words, or members of a `StrEnum`, that `value` is, in upper or lower case.

    ValueError for none, whose message has `where`, such as " for 3nb", behind the words.
    """
    words = {str(word).lower(): word for word in known}
    found = words.get(value.lower()) if isinstance(value, str) else None
    if found is None:
        shown = str(value) if isinstance(value, str) else value  # a member of another enumeration as its word
        listed = ", ".join(map(str, words.values()))
        raise ValueError(f"{name}={shown!r} must be one of {listed}{where}{meant(value, words.values())}.")
    return found


def meant(value: Any, known: Iterable[str]) -> str:
    """Return which of some words was meant, for the end of a message; nothing where none is near."""
    from difflib import get_close_matches

    words = {str(word).lower(): str(word) for word in known}
    near = get_close_matches(value.lower(), words, 1, 0.65) if isinstance(value, str) else []
    return f" (did you mean {words[near[0]]!r}?)" if near else ""


def meant_number(text: Any) -> str:
    """Return how a percentage or a power of ten is written, for the end of a message; nothing for any other text."""
    percent = re.fullmatch(r" *(\d+[.]?\d*) ?%", text) if isinstance(text, str) else None
    power = re.fullmatch(r"10(?:\^|\*\*)([+-]?\d{1,3})", text) if isinstance(text, str) else None
    if percent:
        return f"; write {text} as {float(Fraction(percent[1]) / 100)}"
    return f"; write {text} as 1e{power[1]}" if power else ""


def budget_by_name(function: Function) -> Function:
    """Let `epsilon` and `delta` stand for a function's argument `budget`, and say which name was meant by another.

    Raises TypeError: By the function, for one of the two alone, both beside a budget, or a name that it has not.
    """
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        if pair := {"epsilon", "delta"}.intersection(named):
            if len(pair) < 2 or len(given) > known.index("budget") or "budget" in named:
                raise TypeError(f"{function.__name__}() must have budget=(epsilon, delta), or both epsilon and delta.")
            named["budget"] = named.pop("epsilon"), named.pop("delta")
        for name in named:
            if name not in known:
                raise TypeError(f"{function.__name__}() has no argument {name!r}{meant(name, known)}.")
        return function(*given, **named)

    return cast(Function, called)


def check_file(name: str, path: Path, wanted: str) -> None:
    """Raise ValueError for a path without a file, which must be what is `wanted`, such as "a ledger"."""
    if not path.is_file():
        instead = "it is a folder" if path.is_dir() else "it is no file" if path.exists() else "there is no such file"
        raise ValueError(f"{name}={str(path)!r} must be {wanted}, but {instead}.")


def check_generator(name: str, value: Any) -> np.random.Generator:
    """Return `value` after checking that it is a `numpy.random.Generator`.

    TypeError for a seed, a legacy RandomState or None: randomness is always passed explicitly here.
    """
    import numpy as np

    if not isinstance(value, np.random.Generator):
        raise TypeError(
            f"{name}={value!r} must be a numpy.random.Generator (for instance numpy.random.default_rng(7))."
        )
    return value


def check_groups(name: str, value: Any, what: str) -> Iterable[Any]:
    """Return `value` after checking that it may yield groups: no text, and nothing that yields names or single rows.

    TypeError if it is no iterable, or a text, a mapping, an array or a table.
    """
    single = isinstance(value, (str, bytes, Mapping)) or hasattr(value, "dtype") or hasattr(value, "columns")
    if single or not isinstance(value, Iterable):
        shown = repr(value)
        shown = shown if len(shown) <= _SHOWN and "\n" not in shown else f"a {type(value).__name__}"
        raise TypeError(f"{name}={shown} must be a list or another iterable of {what}.")
    return value


def check_bits(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """Return `value` as an int64 array of shape (users,) after checking that every entry is 0 or 1."""
    import numpy as np

    array = np.asarray(value)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}, but must have shape (users,).")
    bad = (array != 0) & (array != 1)
    if bad.any():
        raise ValueError(f"{name}[{int(np.argmax(bad))}]={array[bad][0]} must be 0 or 1.")
    return array.astype(np.int64)


def check_counts(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return counts as an array; TypeError if they are no integers, ValueError for a negative one."""
    import numpy as np

    counts = np.asarray(value)
    if not np.issubdtype(counts.dtype, np.integer):
        raise TypeError(f"{name} has dtype {counts.dtype}, but must hold integers in [0, inf).")
    if (counts < 0).any():
        raise ValueError(f"{name} contains {counts.min()}, but counts must be in [0, inf).")
    return counts


def check_indices(
    name: str, value: ArrayLike, stop: int, *, users: int | None = None, low: int = 0
) -> NDArray[np.int64]:
    """Return `value` as an int64 array of shape (users,) after checking that it holds integers in [low, stop).

    TypeError if the entries are no integers, ValueError for another shape, or an entry out of range.
    """
    import numpy as np

    array = np.asarray(value)
    if array.size and not np.issubdtype(array.dtype, np.integer):  # an empty list has none
        raise TypeError(f"{name} has dtype {array.dtype}, but must hold integers in [{low}, {stop}).")
    if array.ndim != 1 or (users is not None and array.size != users):
        raise ValueError(
            f"{name} has shape {array.shape}, but must have shape ({'users' if users is None else users},)."
        )
    outside = (array < low) | (array >= stop)
    if outside.any():
        raise ValueError(f"{name}[{int(np.argmax(outside))}]={array[outside][0]} must be in [{low}, {stop}).")
    return array.astype(np.int64)


def check_vectors(
    name: str,
    value: ArrayLike,
    *,
    dimension: int | None = None,
    unit: bool = False,
    tolerance: float = 1e-3,
    single: bool = False,
) -> NDArray[Any]:
    """Return `value` as a float64 array of shape (points, dimension) of finite vectors; float32 stays if `single`.

    If `unit`, each must have Euclidean norm 1 within the tolerance (half-precision embeddings are off by 5e-4).
    TypeError if the entries are no real numbers, ValueError for another shape, a nan, an infinity, or another norm.
    """
    import numpy as np

    try:
        array = np.asarray(value)
        if array.dtype.kind not in "cmM" and not (single and array.dtype == np.float32):
            array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold real numbers in rows of one length, but has other entries.") from None
    if array.dtype.kind in "cmM":
        raise TypeError(f"{name} has dtype {array.dtype}, but must hold real numbers.")
    if array.ndim != 2 or (dimension is not None and array.shape[1] != dimension):
        wanted = "points, dimension" if dimension is None else f"points, {dimension}"
        raise ValueError(f"{name} has shape {array.shape}, but must have shape ({wanted}).")
    finite = np.isfinite(array)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(f"{name}[{row}, {column}]={array[row, column]} must be a finite number, not NaN or infinity.")
    if unit:
        norms = np.linalg.norm(array, axis=1)
        off = np.abs(norms - 1.0) > tolerance
        if off.any():
            row = int(np.argmax(off))
            raise ValueError(
                f"{name}[{row}] has Euclidean norm {norms[row]:.6g}, but must have norm 1 within {tolerance:g} "
                "(divide each vector by its norm)."
            )
    return array
