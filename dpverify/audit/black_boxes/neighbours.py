"""Pairs of neighbouring inputs for a black box: extremes both ways, mixed and random ones, other positions."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, check_real

__all__ = ["InputPair", "InputPairs", "changed_bits", "input_pairs", "neighbouring_inputs"]

_WIDEST = 1e300


@dataclass(frozen=True, eq=False)
class InputPair:
    """Two inputs that a claim compares.

    Parameters
    ----------
    name : str
        As in a report.
    first, second : array_like
        What the mechanism is given: two that differ by more than their types.

    Raises
    ------
    ValueError
        If both are the same: an audit of these would say nothing, and pass.
    """

    name: str
    first: NDArray[Any]
    second: NDArray[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", np.asarray(self.first))
        object.__setattr__(self, "second", np.asarray(self.second))
        if _same(self.first, self.second):
            kinds = " and ".join(dict.fromkeys(str(each.dtype) for each in (self.first, self.second)))
            raise ValueError(
                f"inputs must differ, but both of {self.name!r} are {reprlib.repr(self.first.tolist())} ({kinds}); two "
                "samplers compare how equal ones are represented."
            )


def _same(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Return whether two inputs are the same data, of whatever type: 1, 1.0 and True are, so are 0.0 and -0.0."""
    if first.shape != second.shape:
        return False
    if first.dtype.hasobject or second.dtype.hasobject:
        return repr(first.tolist()) == repr(second.tolist())
    # In Python's numbers: numpy would round integers that no float holds.
    return (first.dtype == second.dtype and first.tobytes() == second.tobytes()) or first.tolist() == second.tolist()


InputPairs = tuple[ArrayLike, ArrayLike] | Sequence[InputPair]


def input_pairs(inputs: InputPairs) -> tuple[InputPair, ...]:
    """Return pairs with names: those given, or the only one.

    Raises
    ------
    ValueError
        If there is no pair, or what is given are not two inputs.
    """
    check_integer("inputs", len(inputs), low=1)
    given = [entry for entry in inputs if isinstance(entry, InputPair)]
    if len(given) == len(inputs):
        return tuple(given)
    check_integer("inputs", len(inputs), low=2, high=2)
    first, second = inputs
    if given:
        raise TypeError("inputs must be two inputs or a sequence of InputPair, not a mixture.")
    return (InputPair("the first input against the second", np.asarray(first), np.asarray(second)),)


def changed_bits(inputs: ArrayLike) -> tuple[InputPair, ...]:
    """Return pairs of bytes with each of their bits changed: for strings of bits that any two of are neighbours.

    Parameters
    ----------
    inputs : array_like of uint8
        The first of every pair.
    """
    first = np.asarray(inputs, dtype=np.uint8)
    pairs = []
    for at in range(8 * first.size):
        second = first.copy()
        second.flat[at // 8] ^= np.uint8(1 << at % 8)
        pairs.append(InputPair(f"bit {at % 8} of byte {at // 8} changes", first, second))
    return tuple(pairs)


def neighbouring_inputs(users: int, low: float = 0, high: float = 1, *, seed: int = 0) -> tuple[InputPair, ...]:
    """Return pairs of datasets that differ in one user's value, which is `low` in the one and `high` in the other.

    The others all have `low`, all `high`, half of each in mixed order, or values at random in between; the user who
    changes comes first, last or in the middle. For searches: an audit of them all shares one error rate.

    Parameters
    ----------
    users : int
        At least 1.
    low, high : float
        The ends of a user's values, within 1e300; datasets are of integers if both are, below 2^53 in size.
    seed : int
        Of what is random.
    """
    check_integer("users", users, low=1)
    check_real("low", low, low=-_WIDEST, high=_WIDEST)
    check_real("high", high, low=low, low_open=True, high=_WIDEST)
    check_integer("seed", seed, low=0)
    rng = np.random.default_rng(seed)
    whole = all(float(end).is_integer() and abs(end) < 2**53 for end in (low, high))
    kind = np.int64 if whole else np.float64
    between = rng.integers(int(low), int(high) + 1, users) if whole else rng.uniform(low, high, users)
    others = {
        "low": np.full(users, low),
        "high": np.full(users, high),
        "mixed": rng.permutation(np.where(np.arange(users) < users // 2, high, low)),
        "random": between,
    }
    places = {"first": 0, "last": users - 1, "middle": users // 2}
    pairs = []
    seen: set[tuple[bytes, bytes]] = set()
    # Every dataset with the first user, the mixed one with all: each pair costs draws.
    for name, place in [(name, "first") for name in others] + [("mixed", "last"), ("mixed", "middle")]:
        without, with_high = (np.array(others[name], dtype=kind) for _ in range(2))
        without[places[place]], with_high[places[place]] = low, high
        key = without.tobytes(), with_high.tobytes()
        if key not in seen:
            seen.add(key)
            pairs.append(InputPair(f"others {name}, the {place} user changes", without, with_high))
    return tuple(pairs)
