"""Certificates of false claims, and files that are no certificates: what the checker must not accept.

`python -m tests.certificates.hunt NUMBER SEED` tries so many of each, and says how many were accepted, how long the
longest took and how much memory was needed.

A claim is false by brute force: the divergence of the views of some dataset, as listed by numpy, is above its delta,
and by more than the listing can be off. How the checker is to compute is drawn at random with it: nodes, windows,
digits, cells and cuts that are far too few, or hardly enough.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpverify.planning.certificate import checker
from tests.certificates import test_checker as brute

__all__ = ["false_claims", "no_certificates", "status_of"]


def _setting(draw: random.Random) -> tuple[str, dict[str, Any], list[brute.Pair]]:
    """Return a protocol, its parameters, and pairs that some datasets attain."""
    kind = draw.choice(
        [
            "rr",
            "nb",
            "poisson",
            "nb-sum",
            "split-and-mix",
            "3nb",
            "histogram",
            "vector-sum",
            "local-rr",
            "central-discrete-laplace",
        ]
    )
    users = draw.randint(2, 5)
    honest = draw.randint(2, users)
    p, q, shape = (round(draw.uniform(*ends), 3) for ends in ((0.3, 0.7), (0.05, 0.45), (0.4, 6.0)))
    people = {"users": users, "honest": honest}
    part = shape * honest / users
    if kind == "rr":
        own = {
            "flip_probability": repr(q),
            "cells": [*range(0, honest, draw.randint(1, honest + 1))],
        }
        return kind, people | own, brute.response(honest, q)
    if kind == "nb":
        return (
            kind,
            people | {"shape": repr(shape), "p": repr(p)},
            brute.both(brute.shifted(brute.negative_binomial(part, p))),
        )
    if kind == "poisson":
        pmf = brute.stats.poisson(part).pmf(brute.np.arange(70))
        return kind, people | {"mean": repr(shape)}, brute.both(brute.shifted(pmf))
    if kind == "nb-sum":
        levels = draw.randint(2, 4)
        own = {"levels": levels, "shape": repr(shape), "p": repr(p)}
        return kind, people | own, brute.moves(brute.negative_binomial(part, p), levels)
    if kind == "split-and-mix":  # so many shares that the noise is all there is
        own = {"levels": 2, "shape": repr(shape), "p": repr(p), "modulus": 64, "shares": 60}
        law = brute.negative_binomial(part, p, 70)
        return (
            kind,
            {"users": 10 * users, "honest": 10 * honest} | own,
            brute.moves(brute.np.convolve(law, law[::-1]), 2),
        )
    if kind == "3nb":
        values = {"shape": repr(shape), "p": repr(p), "flood_shape": "1.5", "flood_p": "0.5"}
        return kind, people | values, brute.two_counts(part, p, 1.5 * honest / users, 0.5)
    if kind == "histogram":
        one = brute.both(brute.shifted(brute.negative_binomial(part, p, 60)))
        return kind, people | {"shape": repr(shape), "p": repr(p)}, [brute.together(*one)]
    if kind == "vector-sum":
        levels = draw.randint(1, 2)
        own = {"levels": levels, "blanket_probability": repr(p), "cells": [*range(0, honest, draw.randint(1, 4))]}
        return kind, people | own, brute.report(honest, p, levels)[:-1]
    if kind == "local-rr":
        law = brute.np.array([1 - q, q])
        return kind, {"flip_probability": repr(q)}, [(law, law[::-1])]
    return kind, {"p": repr(p)}, brute.symmetric(p ** brute.np.abs(brute.AWAY))


def false_claims(number: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield so many certificates, well-formed and of claims that do not hold.

    Parameters
    ----------
    number, seed : int
        How many, and for the generator.
    """
    draw, made = random.Random(seed), 0
    while made < number:
        kind, own, pairs = _setting(draw)
        instances = 1 if kind == "histogram" or len(pairs[0][0]) > 300 else draw.choice([1, 2, 2])
        adaptive = instances == 2 and draw.random() < 0.7  # the second pair may depend on what was seen
        some = draw.sample(pairs, min(4, len(pairs)))
        if instances == 2:
            pairs = [brute.together(*mix) for mix in itertools.combinations_with_replacement(some, 2)]
        for _ in range(min(20, number - made)):
            epsilon = round(draw.choice([draw.uniform(0.01, 1.5), 10 ** draw.uniform(-6, 0)]), 9)
            truth = max(brute.divergence(pair, epsilon) for pair in pairs)
            if adaptive:
                truth = max(truth, *(brute.chosen(pair, some, epsilon) for pair in some))
            if truth < 1e-6:
                continue
            delta = truth * (1 - 10 ** draw.uniform(-7, -0.5))
            grid = draw.randint(1, 12)
            reach = min(2 ** (grid + draw.randint(-1, 3)), 4000)
            low, high = sorted(draw.sample(range(-reach, reach + 2), 2))
            entry = {"protocol": kind, "instances": instances, **own}
            entry["window"] = draw.choice([[-reach, reach], [low, high]])
            entry["cuts"] = [1] if instances == 2 and not adaptive else []
            entries = [entry | {"instances": 1}] * 2 if adaptive and draw.random() < 0.7 else [entry]
            low, high = sorted(draw.sample(range(-2 * reach, 2 * reach + 2), 2))
            bits = draw.choice([32, 40, 64, 100])
            yield {
                "format": checker.FORMAT,
                "epsilon": repr(epsilon) if epsilon > 1e-4 else f"{epsilon:.9f}",
                "delta": repr(delta),
                "together": entries,
                "bits": bits,
                "grid": grid,
                "tail": draw.randint(16, bits),
                "window": draw.choice([[-2 * reach, 2 * reach], [low, high]]),
            }
            made += 1


_JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**30,
    1.5,
    "",
    "1e999",
    "nan",
    "\u0663",
    [],
    [[]],
    {},
    [1] * 3000,
    "9" * 500,
)


def no_certificates(number: int, seed: int) -> Iterator[bytes]:
    """Yield so many files that are nearly certificates: with a field changed, left out or added, or bytes of the text.

    Parameters
    ----------
    number, seed : int
        How many, and for the generator.
    """
    draw = random.Random(seed)
    for good in false_claims(number, seed):
        given: Any = copy.deepcopy(good)
        where = draw.choice([given, given["together"][0]])
        name = draw.choice([*where])
        how = draw.randrange(4)
        if how == 0:
            del where[name]
        elif how == 1:
            where[name + "s"] = 1
        elif how == 2:
            where[name] = draw.choice(_JUNK)
        text = bytearray(json.dumps(given), "ascii")
        for _ in range(draw.randint(1, 4) if how == 3 else 0):
            at = draw.randrange(len(text))
            text[at : at + draw.randint(0, 3)] = draw.choice([b'"', b"\xff", b"}", b"[" * 9000, b"1e", b"\x00", b"\\u"])
        yield bytes(text)


def status_of(content: bytes, file: Path) -> tuple[int, float]:
    """Return the checker's status for a file of this content, and how many seconds it took.

    Parameters
    ----------
    content : bytes
        What the file holds.
    file : Path
        Where it is written.
    """
    file.write_bytes(content)
    start = time.process_time()
    return checker.main(file), time.process_time() - start


def _hunt(number: int, seed: int) -> None:
    file, seconds, accepted = Path("/tmp") / f"hunt-{seed}.json", 0.0, 0
    for claim in false_claims(number, seed):
        status, taken = status_of(json.dumps(claim).encode(), file)
        assert status in (0, 1), claim
        seconds, accepted = max(seconds, taken), accepted + (status == 0)
        if status == 0:
            print(json.dumps(claim), file=sys.stderr)
    print(f"{number} false claims: {accepted} accepted, {seconds:.2f} s at most", file=sys.stderr)
    seconds, found = 0.0, [0, 0, 0]
    for content in no_certificates(number // 10, seed + 1):
        status, taken = status_of(content, file)
        seconds, found[status] = max(seconds, taken), found[status] + 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"files: {found} accepted, refused, none; {seconds:.2f} s, {memory:.0f} MB at most", file=sys.stderr)


if __name__ == "__main__":
    _hunt(int(sys.argv[1]), int(sys.argv[2]))
