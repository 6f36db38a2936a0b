"""Random claims that are false by brute force, and files that are no certificates: does any get past the checker?

python -m tests.certificates.contour_hunt 3000
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import random
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from dpverify.planning.contours.contour_certificate import checker

Pair = tuple[Any, Any]


def response(users: int, p: Fraction, ones: int) -> Pair:
    """The number of reports 1, one user's bit being 1 and 0, of exact fractions."""
    law = [Fraction(1)]
    for bit in [1] * ones + [0] * (users - 1 - ones):
        told = 1 - p if bit else p
        law = [(1 - told) * a + told * b for a, b in zip([*law, 0], [0, *law], strict=True)]
    views = [[(1 - q) * a + q * b for a, b in zip([*law, 0], [0, *law], strict=True)] for q in (1 - p, p)]
    return np.array(views[0], dtype=object), np.array(views[1], dtype=object)


def shifted(masses: Any) -> list[Pair]:
    pair = np.append(0.0, masses), np.append(masses, 0.0)
    return [pair, pair[::-1]]


def protocols(chance: random.Random) -> Iterator[tuple[dict[str, Any], list[Pair]]]:
    """Yield protocols' fields, and all pairs that an instance may meet: of a 1 against a 0, and the reverse."""
    users = chance.randint(1, 5)
    p = Fraction(chance.choice(("0.05", "0.2", "0.4")))
    cells = sorted({0, *chance.sample(range(users), chance.randint(1, users))})
    fields = {"users": users + 2, "honest": users, "flip_probability": str(float(p)), "cells": cells}
    fields["pieces"] = sorted({0, *chance.sample(cells, chance.randint(1, len(cells)))})
    views = [response(users, p, ones) for ones in range(users)]
    yield {"protocol": "rr", **fields}, [pair for view in views for pair in (view, view[::-1])]
    mean = chance.choice((1.5, 4.0, 9.0))
    yield (
        {"protocol": "poisson", "users": 4, "honest": 3, "mean": str(mean)},
        shifted(stats.poisson.pmf(np.arange(70), 0.75 * mean)),
    )
    shape = chance.choice((0.5, 2.0, 12.0))
    noise = stats.nbinom.pmf(np.arange(90), 0.75 * shape, 0.5)
    yield {"protocol": "nb", "users": 4, "honest": 3, "shape": str(shape), "p": "0.5"}, shifted(noise)


def line(chance: random.Random) -> dict[str, Any]:
    """Return how a sum may be evaluated, well or badly."""
    grid = chance.randint(2, 7)
    spacing = chance.choice((0.1, 0.4, 1.0)) * chance.uniform(0.5, 1.5)
    reach = math.ceil(chance.choice((1, 4, 12)) * 2**grid)
    return {
        "bits": chance.choice((32, 48, 80)),
        "tail": chance.choice((16, 40)),
        "grid": grid,
        "window": [-reach, reach],
        "top": reach // chance.choice((1, 1, 2)) - 1,
        "tilt": f"{10 ** chance.uniform(-0.7, 0.9):.4f}",
        "spacing": f"{spacing:.4f}",
        "heights": chance.randint(2, 60),
        "smoothing": f"{10 ** chance.uniform(-2.5, -0.5):.5f}",
    }


def moves(chance: random.Random, times: int, grid: int) -> dict[str, Any]:
    square = chance.choice((0.1, 0.5, 1.0, 1.3, 1.9, 2.7))
    square = min(square, float(times))
    last = min(math.sqrt(square) + 1e-6, 1.0)
    number = chance.randint(1, 8)
    sizes = sorted(
        {*(round(last * (i + chance.random()) / number, 5) for i in range(number)), 1.0 if last == 1 else last}
    )
    return {
        "squared_change": repr(square),
        "sizes": [f"{size:.7f}" for size in sizes if size > 2e-6],
        "finest": grid + chance.randint(0, 3),
        "price": chance.choice(("0", "0.001", "0.1")),
    }


def change(chance: random.Random, pairs: list[Pair], times: int, square: float) -> tuple[Pair, ...]:
    """Return the pairs of bits whose probabilities move, by as much in all as is allowed."""
    sizes = np.abs([chance.gauss(0.0, 1.0) ** chance.choice((1, 3)) for _ in range(times)]) + 1e-9
    for _ in range(50):
        sizes = np.minimum(sizes * math.sqrt(square / float((sizes**2).sum())), 1.0)
    found = []
    for size in sizes * (1 - 1e-9):
        one, zero = chance.choice(pairs)
        before = chance.choice((0.0, 1.0 - size, chance.uniform(0.0, 1.0 - size)))
        after = before + size
        one, zero = one.astype(float), zero.astype(float)
        found.append(((1 - after) * zero + after * one, (1 - before) * zero + before * one))
    return tuple(found)


def divergence(pairs: tuple[Pair, ...], epsilon: float) -> float:
    """Return that of a product."""
    after, before = pairs[0]
    for other in pairs[1:]:
        after, before = np.outer(after, other[0]).ravel(), np.outer(before, other[1]).ravel()
    lost = after - math.exp(epsilon) * before
    return float(lost[lost > 0].sum())


def claims(chance: random.Random) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield certificates without a claim's delta, and a delta that some data attain."""
    for fields, pairs in protocols(chance):
        times, epsilon = chance.randint(1, 3), chance.choice((0.1, 0.5, 1.0, 2.0))
        given = {"format": checker.FORMAT, "epsilon": str(epsilon), "instances": times, **fields, **line(chance)}
        given |= moves(chance, times, given["grid"])
        square = float(given["squared_change"])
        mixes = [change(chance, pairs, times, square) for _ in range(12)]
        yield given, max(divergence(mix, epsilon) for mix in mixes)


def accepted(given: Any, module: Any = checker) -> bool:
    try:
        module.checked(given)
    except (module.Refused, ArithmeticError):  # a number beyond all decimals
        return False
    return True


def shown(given: dict[str, Any], module: Any = checker) -> float:
    """Return the delta that a certificate shows."""
    made, sums, lost, _ = module.bounded(given | {"delta": "0.5"})
    return float(made.delta(max(sums), module.Decimal(given["epsilon"])) + lost)


def malformed(chance: random.Random, good: dict[str, Any]) -> Any:
    """Return a certificate of which one thing is wrong."""
    given = copy.deepcopy(good)
    name = chance.choice([*given])
    odd: list[Any] = [
        None,
        True,
        -(10**9),
        1.5,
        "",
        "x",
        "1e",
        "-1",
        "nan",
        "1e999",
        [],
        [1, 0],
        {},
        [None],
        10**30,
        "9" * 50,
    ]
    kind = chance.randrange(4)
    if kind == 0:
        del given[name]
    elif kind == 1:
        given[name + "x"] = given.pop(name)
    elif kind == 2:
        given[chance.choice(("share", "more", "cuts"))] = 1
    else:
        wrong = chance.choice(odd)
        given[name] = wrong if wrong != given[name] else None
    return given


def main(number: int) -> None:
    chance, offers, taken, shows = random.Random(7), 0, 0, []
    while offers < number:
        for given, truth in claims(chance):
            if truth < 1e-9:
                continue
            offers += 1
            false = given | {"delta": f"{truth * (1 - 1e-7):.17e}".replace("e-0", "e-")}
            taken += accepted(false)
            with contextlib.suppress(ArithmeticError):
                shows.append(shown(given) / truth)
            if taken:
                print(json.dumps(false))
    print(
        f"{offers} false claims, {taken} accepted; shown over true: {np.quantile(shows, (0, 0.1, 0.5, 0.9)).round(4)}"
    )
    good = given | {"delta": "0.5"}
    slowest, file, status = 0.0, Path("malformed.json"), [0, 0, 0]
    for _ in range(300):
        file.write_text(json.dumps(malformed(chance, good)))
        start = time.process_time()
        status[checker.main(file)] += 1
        slowest = max(slowest, time.process_time() - start)
    file.unlink()
    print(f"malformed: {status}, slowest {slowest:.3f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]))
