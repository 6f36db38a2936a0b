"""What is looked at in outputs whose law is not known: each aspect is a code or a number for every row of columns.

A leak may hide in one exact value, in the lowest bits of a float, in a residue, or only in two columns together. Which
aspects tell two inputs apart is learned elsewhere, from held-out outputs; here stands what there is to look at.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from dpverify.statistics.order.structure import grid_exponents
from dpverify.statistics.outputs.products import MULTIPLIED, telling_parities
from protocols.classes.frozen import dataclass

__all__ = ["Aspect", "coded_aspects", "codes_of", "features", "lowest_bits", "numeric_aspects", "parts_of_noise"]

Rows = NDArray[np.float64]
"""Outputs, shape (trials, columns)."""

_MODULI = (2, 3, 5, 7, 10, 16, 100, 256, 1000)
_SEARCHED, _SEARCHED_ON = 256, 10_000
"""Residues of integers are searched up to here, too, on so many outputs."""
_SCALES = tuple(10.0**digits for digits in range(10))
_WIDTHS = (2.0**-6, 2.0**-10, 2.0**-14)
"""Cells of these widths show narrow peaks of numbers; in interquartile ranges."""
_CELLS = 32
_CLOSELY = 8
"""Columns that are looked at bit by bit: those that differ most between the two inputs."""
_PAIRED = 5
"""Columns that are looked at two by two."""
_FAR = 1e300
_MASKED = 3
"""Columns one of which may be a key to another, two by two."""
_PARTS = (6, 16, 32)
"""Into how many parts of equal mass two columns are cut for cells of both."""
_MOST_BITS = 2
"""Bits of whole numbers that are looked at: those whose frequencies differ most."""
_EXACT = 2.0**53
_FINEST = 2.0**20
"""Parts of 1 that fractions of noise are compared in."""


@dataclass(frozen=True)
class Aspect:
    """One thing to look at.

    - name: In plain words, as in a report.
    - of: Maps rows, shape (trials, columns), to codes (int64) or to numbers (float64), shape (trials,).
    - fitted: Whether it has been fitted to training outputs, which it then separates better than others.
    """

    name: str
    of: Callable[[Rows], NDArray[np.int64] | NDArray[np.float64]]
    fitted: bool = False


def numeric_aspects(first: Rows, second: Rows) -> Iterator[Aspect]:
    """Yield numbers whose large and small values may tell two inputs apart: columns, their sum, a linear discriminant.

    - first, second (ndarray, shape (trials, columns)): Training outputs on the two inputs.
    """
    used = _varying(first, second)
    for column in _differing(first, second, used)[:64]:
        yield Aspect(f"column {column}", lambda rows, column=column: rows[:, column])  # type: ignore[misc]
    if len(used) > 1:
        yield Aspect("the sum of the columns", lambda rows: rows[:, used].sum(axis=1))
        yield Aspect("the largest column", lambda rows: rows[:, used].max(axis=1))
        yield Aspect("the smallest column", lambda rows: rows[:, used].min(axis=1))
        yield Aspect("the spread of the columns", lambda rows: np.ptp(rows[:, used] / 2.0, axis=1))
        i, j = _differing(first, second, used)[:2]
        yield Aspect(f"the difference of columns {i} and {j}", lambda rows: rows[:, i] / 2.0 - rows[:, j] / 2.0)
        scale = _scale(first, second, used)
        a, b = first[:, used] / scale, second[:, used] / scale
        difference = a.mean(axis=0) - b.mean(axis=0)
        spread = np.cov(a.T) + np.cov(b.T)
        # A small ridge: columns may depend on each other exactly.
        spread[np.diag_indices(len(used))] *= 1.0 + 1e-9
        direction = np.linalg.lstsq(spread, difference, rcond=None)[0]
        yield Aspect("a linear discriminant", lambda rows: np.asarray(rows[:, used] / scale @ direction), fitted=True)


def lowest_bits(first: Rows, second: Rows) -> Iterator[Aspect]:
    """Yield the place of the lowest bit of a few columns of floats, as a number: few outputs show how fine they are.

    - first, second (ndarray, shape (trials, columns)): Training outputs on the two inputs.
    """
    for column in _differing(first, second, _varying(first, second))[:_CLOSELY]:
        if not all(np.array_equal(rows[:, column], np.rint(rows[:, column])) for rows in (first, second)):
            yield Aspect(
                f"the lowest bit of column {column}",
                lambda rows, column=column: grid_exponents(rows[:, column]).astype(np.float64),  # type: ignore[misc]
            )


def coded_aspects(first: Rows, second: Rows) -> Iterator[Aspect]:
    """Yield codes whose frequencies may tell two inputs apart.

    Whole outputs and single values as they are; the exponent and the lowest bit of floats; signs; residues of the
    integer part, and the bits that differ most; cells of the fraction at decimal scales, and narrow cells; of several
    columns also parities and cells of two together, of three and four the parities that differ most, the
    parities, signs and sides of eight, and their order.

    - first, second (ndarray, shape (trials, columns)): Training outputs on the two inputs.
    """
    used = _varying(first, second)
    yield Aspect("whole outputs", codes_of)
    close = _differing(first, second, used)[:_CLOSELY]
    for column in close:
        whole = all(np.array_equal(rows[:, column], np.rint(rows[:, column])) for rows in (first, second))
        for aspect in _of_one(f"column {column}", whole, first[:, column], second[:, column]):
            yield Aspect(aspect.name, lambda rows, column=column, of=aspect.of: of(rows[:, column]))  # type: ignore[misc]
        for aspect in _bits_of(f"column {column}", whole, first[:, column], second[:, column]):
            yield Aspect(aspect.name, lambda rows, column=column, of=aspect.of: of(rows[:, column]))  # type: ignore[misc]
    if len(used) > 1:
        yield Aspect(
            "the parity of all columns together", lambda rows: _residue(_parts(_parts(rows[:, used]).sum(axis=1)), 2)
        )
        yield Aspect("the signs of all columns together", lambda rows: _product_of_signs(rows[:, used]))
        yield from _of_all(used, close, np.median(np.concatenate([first, second])[:, close], axis=0))
    if len(used) > 2:
        yield from _of_some(_differing(first, second, used)[:MULTIPLIED], first, second)
    for i, j in itertools.combinations(close[:_PAIRED], 2):
        yield from _of_two(i, j, np.concatenate([first[:, [i, j]], second[:, [i, j]]]))
    for i, j in itertools.combinations(close[:_MASKED], 2):
        yield from _of_masks(i, j, first, second)


def features(rows: Rows, wanted: Iterable[int] | None = None) -> NDArray[np.float64]:
    """Return what a classifier learns from: the columns, and for a few of them their signs, parities and grids.

    - rows: Outputs.
    - wanted: The places of those that are; 0 in all others.
    """
    width, few = rows.shape[1], min(rows.shape[1], _CLOSELY)
    derived = (np.signbit, lambda x: _residue(_parts(x), 2), grid_exponents)
    found = np.zeros((len(rows), width + len(derived) * few), order="F")
    for place in range(found.shape[1]) if wanted is None else wanted:
        kind, column = divmod(place - width, few)
        found[:, place] = rows[:, place] if kind < 0 else derived[kind](rows[:, column])
    return found


def _varying(first: Rows, second: Rows) -> list[int]:
    pooled = np.concatenate([first, second]).view(np.int64)  # 0 and -0 differ
    return [int(column) for column in np.flatnonzero((pooled != pooled[:1]).any(axis=0))]


def _scale(first: Rows, second: Rows, used: list[int]) -> NDArray[np.float64]:
    """Return the largest size in each column, by which nothing overflows that is divided by it."""
    largest = np.maximum(np.abs(first[:, used]).max(axis=0), np.abs(second[:, used]).max(axis=0))
    return np.where(largest > 0, largest, 1.0)


def _differing(first: Rows, second: Rows, used: list[int]) -> list[int]:
    """Return columns, those first whose means or spreads differ most."""
    if not used:
        return []
    scale = _scale(first, second, used)
    a, b = first[:, used] / scale, second[:, used] / scale
    apart = np.abs(a.mean(axis=0) - b.mean(axis=0)) + np.abs(a.std(axis=0) - b.std(axis=0))
    moved = apart / (a.std(axis=0) + b.std(axis=0) + 1e-15)
    return [used[k] for k in np.argsort(-moved, kind="stable")]


def _of_one(name: str, whole: bool, first: Rows, second: Rows) -> Iterator[Aspect]:
    """Yield the codes of one column of numbers."""
    yield Aspect(f"values of {name}", _bits)
    yield Aspect(f"the sign of {name}", lambda x: np.signbit(x).astype(np.int64))
    yield Aspect(f"the lowest bit of {name}", _grid)
    integers = [np.unique(_parts(x[:_SEARCHED_ON]), return_counts=True) for x in (first, second)]
    telling = _best(
        range(2, _SEARCHED + 1),
        lambda m: tuple(np.bincount(_residue(x, m), often, m).astype(np.int64) for x, often in integers),
    )
    for modulus in dict.fromkeys((*_MODULI, *telling)):
        yield Aspect(f"{name} mod {modulus}", lambda x, m=modulus: _residue(_parts(x), m))  # type: ignore[misc]
    spread = float(np.subtract(*np.quantile(np.concatenate([first, second]), [0.75, 0.25])))
    for width in () if whole or spread <= 0.0 else _WIDTHS:
        rounded = spread * width
        yield Aspect(f"{name} to {width:.2g} of its spread", lambda x, r=rounded: _cell(x / r))  # type: ignore[misc]
    for scale in () if whole else _SCALES:
        yield Aspect(f"the fraction of {scale:g} times {name}", lambda x, s=scale: _fraction(x, s))  # type: ignore[misc]


def _bits_of(name: str, whole: bool, first: Rows, second: Rows) -> Iterator[Aspect]:
    """Yield the single bits of numbers whose frequencies differ most: of whole ones, else of the float itself."""
    often = [np.array([_bit(x, bit, whole).mean() for bit in range(64 - 11 * whole)]) for x in (first, second)]
    of = "" if whole else " of the float"
    for bit in np.argsort(-np.abs(often[0] - often[1]), kind="stable")[:_MOST_BITS].tolist():
        yield Aspect(f"bit {bit}{of} of {name}", lambda x, b=bit: _bit(x, b, whole))  # type: ignore[misc]
    yield Aspect(f"the parity of the bits{of} of {name}", lambda x: _ones(x, whole) % 2)


def _bit(x: Rows, bit: int, whole: bool) -> NDArray[np.int64]:
    return np.asarray((_parts(x).astype(np.int64) if whole else _bits(x)) >> bit & 1)


def _ones(x: Rows, whole: bool) -> NDArray[np.int64]:
    return np.bitwise_count(_parts(np.abs(x)).astype(np.uint64) if whole else _bits(x).view(np.uint64)).astype(np.int64)


def _of_all(used: list[int], close: list[int], medians: NDArray[np.float64]) -> Iterator[Aspect]:
    """Yield what several columns show together that none of them shows alone, nor any two."""
    shown = f"columns {', '.join(map(str, close))}"
    powers = 2 ** np.arange(len(close))
    few = close[:_PAIRED]
    places = _PAIRED ** np.arange(len(few))
    yield Aspect(f"the parities of {shown}", lambda rows: _residue(_parts(rows[:, close]), 2) @ powers)
    yield Aspect(f"the signs of {shown}", lambda rows: np.signbit(rows[:, close]) @ powers)
    yield Aspect(f"the sides of the medians of {shown}", lambda rows: (rows[:, close] > medians) @ powers)
    yield Aspect("which column is the largest", lambda rows: rows[:, used].argmax(axis=1).astype(np.int64))
    yield Aspect("which column is the smallest", lambda rows: rows[:, used].argmin(axis=1).astype(np.int64))
    yield Aspect(
        f"the order of columns {', '.join(map(str, few))}",
        lambda rows: np.argsort(rows[:, few], axis=1, kind="stable").astype(np.int64) @ places,
    )
    yield Aspect("how many columns are 0", lambda rows: np.count_nonzero(rows[:, used] == 0.0, axis=1).astype(np.int64))
    yield Aspect(
        "how many values are equal",
        lambda rows: np.count_nonzero(np.diff(np.sort(rows[:, used], axis=1), axis=1) == 0.0, axis=1).astype(np.int64),
    )


def _of_some(columns: list[int], first: Rows, second: Rows) -> Iterator[Aspect]:
    """Yield the parities, over three or four columns, that tell two inputs apart best: of bits of three kinds."""
    medians = np.median(np.concatenate([first, second]), axis=0)
    kinds: list[tuple[str, Callable[[Rows, list[int]], NDArray[np.bool_]]]] = [
        ("the signs", lambda rows, at: np.signbit(rows[:, at])),
        ("the parities", lambda rows, at: _residue(_parts(rows[:, at]), 2) > 0),
        ("the sides of the medians", lambda rows, at: rows[:, at] > medians[at]),
    ]
    for kind, of in kinds:
        for chosen in telling_parities(*(of(rows, columns) for rows in (first, second))):
            at = sorted(columns[place] for place in chosen)
            yield Aspect(
                f"{kind} of columns {', '.join(map(str, at))} together",
                lambda rows, of=of, at=at: of(rows, at).sum(axis=1) % 2,  # type: ignore[misc]
            )


def _best(candidates: range, counted: Callable[[int], tuple[NDArray[np.int64], ...]]) -> list[int]:
    """Return the two candidates whose cells differ most, by chi-square less its mean, in its standard deviations."""

    def excess(candidate: int) -> float:
        a, b = counted(candidate)
        cells = max(1, int(np.count_nonzero(a + b)) - 1)
        chi = float(np.sum((a - b) ** 2 / np.maximum(a + b, 1)))
        return (chi - cells) / float(np.sqrt(2.0 * cells))

    return sorted(candidates, key=excess, reverse=True)[:2]


def _of_two(i: int, j: int, pooled: Rows) -> Iterator[Aspect]:
    name = f"columns {i} and {j}"
    yield Aspect(f"the parity of {name}", lambda rows: _residue(_parts(_parts(rows[:, [i, j]]).sum(axis=1)), 2))
    yield Aspect(f"the signs of {name}", lambda rows: _product_of_signs(rows[:, [i, j]]))
    yield Aspect(f"the order of {name}", lambda rows: np.sign(rows[:, i] - rows[:, j]).astype(np.int64))
    for parts in _PARTS:
        shares = np.linspace(0, 1, parts + 1)[1:-1]
        edges = [np.unique(np.quantile(pooled[:, k], shares)) for k in range(2)]
        yield Aspect(
            f"{parts} by {parts} cells of {name}",
            lambda rows, e=edges: _cells_of(rows[:, i], rows[:, j], e),  # type: ignore[misc]
        )
    # Regions around the middle: how far out, and in which direction.
    middle = np.median(pooled, axis=0)
    with np.errstate(over="ignore"):
        wide = np.median(np.abs(pooled - middle), axis=0)
    wide = np.where((wide > 0.0) & np.isfinite(wide), wide, 1.0)
    polar = [np.unique(np.quantile(x, np.linspace(0, 1, 25)[1:-1])) for x in _polar(pooled, middle, wide)]
    yield Aspect(
        f"the distance and the direction of {name}",
        lambda rows: _cells_of(*_polar(rows[:, [i, j]], middle, wide), polar),
    )


def _of_masks(i: int, j: int, first: Rows, second: Rows) -> Iterator[Aspect]:
    """Yield the codes of what two columns may be the halves of: their sum, difference and bitwise difference."""
    whole = all(np.array_equal(rows[:, [i, j]], np.rint(rows[:, [i, j]])) for rows in (first, second))
    joined: list[tuple[str, Callable[[Rows], Rows]]] = [
        ("difference", lambda rows: rows[:, i] / 2.0 - rows[:, j] / 2.0),
        ("sum", lambda rows: rows[:, i] / 2.0 + rows[:, j] / 2.0),
    ]
    if whole:
        joined = [(name, lambda rows, of=of: 2.0 * of(rows)) for name, of in joined]  # type: ignore[misc]
        joined.append(("bitwise difference", _exclusive(i, j)))
    else:
        joined.append(("quotient", _quotient(i, j)))
    for kind, of in joined:
        name = f"the {kind} of columns {i} and {j}"
        a, b = of(first), of(second)
        for aspect in (*_of_one(name, whole, a, b), *_bits_of(name, whole, a, b)):
            yield Aspect(aspect.name, lambda rows, code=aspect.of, of=of: code(of(rows)))  # type: ignore[misc]


def _quotient(i: int, j: int) -> Callable[[Rows], Rows]:
    def of(rows: Rows) -> Rows:
        with np.errstate(over="ignore"):
            found = rows[:, i] / np.where(rows[:, j] == 0.0, 1.0, rows[:, j])
        return np.clip(found, -_FAR, _FAR)

    return of


def _exclusive(i: int, j: int) -> Callable[[Rows], Rows]:
    return lambda rows: np.asarray(
        _parts(rows[:, i]).astype(np.int64) ^ _parts(rows[:, j]).astype(np.int64), dtype=np.float64
    )


def _cells_of(x: Rows, y: Rows, edges: list[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return the codes of the cells that these edges cut the plane into."""
    return np.asarray(
        np.searchsorted(edges[0], x, side="right") * (edges[1].size + 1) + np.searchsorted(edges[1], y, side="right")
    )


def _polar(points: Rows, middle: Rows, wide: Rows) -> tuple[Rows, Rows]:
    """Return how far points are from the middle, and in which direction; what overflows is far away."""
    with np.errstate(over="ignore"):
        x, y = np.clip((points - middle) / wide, -_FAR, _FAR).T
    return np.hypot(x, y), np.arctan2(y, x)


def _bits(x: Rows) -> NDArray[np.int64]:
    """Return the 64 bits of each float as a code: 0 and -0 differ."""
    return np.ascontiguousarray(x, dtype=np.float64).view(np.int64)


def codes_of(rows: Rows) -> NDArray[np.int64]:
    """Return a hash of each row: linear with odd random factors, so that two rows meet by chance about once in 2^63.

    A collision can only hide a difference; what is tested is an event of the hash, and valid as any other.

    - rows: ndarray, shape (trials, columns).
    """
    factors = np.random.default_rng(0).integers(0, 2**63, rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    bits = np.ascontiguousarray(rows).view(np.uint64)
    mixed = bits ^ (bits >> np.uint64(29))
    return np.asarray((mixed * factors).sum(axis=1, dtype=np.uint64).view(np.int64))


def parts_of_noise(rows: Rows) -> list[NDArray[np.int64]]:
    """Return codes of what two outputs have in common if they share a part of their noise alone.

    Of the first column of other numbers than whole ones: the fraction. None where there is no such column.

    - rows: ndarray, shape (trials, columns).
    """
    for column in range(min(rows.shape[1], _CLOSELY)):
        values = rows[:, column]
        if (values != np.rint(values)).any():
            fraction = np.rint((values - np.floor(values)) * _FINEST) % _FINEST
            return [fraction.astype(np.int64)]
    return []


def _parts(x: Rows) -> Rows:
    """Return the integer parts; those that no float holds exactly count as 0."""
    return np.where(np.abs(x) < _EXACT, np.floor(x), 0.0)


def _cell(x: Rows) -> NDArray[np.int64]:
    """Return the nearest integers; those that no float holds exactly count as 0."""
    return np.where(np.abs(x) < _EXACT, np.rint(x), 0.0).astype(np.int64)


def _residue(x: Rows, modulus: int) -> NDArray[np.int64]:
    """Return the remainders of integers that floats hold exactly."""
    whole = x.astype(np.int64)
    return np.asarray(whole - whole // modulus * modulus)  # a division by one number is far faster than a remainder


def _fraction(x: Rows, scale: float) -> NDArray[np.int64]:
    """Return the cell of the fraction of `scale x`; a multiple of 1 up to 1e-6 has a cell of its own by its side."""
    scaled = np.where(np.abs(x) < _EXACT / scale, x, 0.0) * scale
    off = scaled - np.rint(scaled)
    near = np.sign(off) * (1 + (np.abs(off) > 1e-12))
    return np.where(np.abs(off) < 1e-6, 100 + near, np.floor((scaled - np.floor(scaled)) * _CELLS)).astype(np.int64)


def _grid(x: Rows) -> NDArray[np.int64]:
    """Return a code of the place of a float's highest and lowest bit."""
    highest = np.clip(np.frexp(x)[1], -80, 80).astype(np.int64)
    return np.asarray((highest + 80) * 4096 + np.clip(grid_exponents(x), -1100, 1100) + 1100)


def _product_of_signs(rows: Rows) -> NDArray[np.int64]:
    return np.asarray(np.signbit(rows).sum(axis=1) % 2, dtype=np.int64)
