"""The checker accepts no claim that brute force refutes, and hardly refuses one that holds."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import math
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from scipy import stats

from dpverify.planning.certificate import checker

PEOPLE = {"users": 5, "honest": 5}
FLOOD = {"shape": "2", "p": "0.6", "flood_shape": "1.5", "flood_p": "0.7"}
SHARED = {"users": 30, "honest": 20, "levels": 3, "shape": "3", "p": "0.6", "modulus": 64, "shares": 40}
Pair = tuple[np.ndarray, np.ndarray]


def shifted(pmf: np.ndarray) -> Pair:
    return np.append(0.0, pmf), np.append(pmf, 0.0)


def both(pair: Pair) -> list[Pair]:
    return [pair, pair[::-1]]


def negative_binomial(shape: float, p: float, most: int = 150) -> np.ndarray:
    return stats.nbinom(shape, 1 - p).pmf(np.arange(most))


def moves(pmf: np.ndarray, most: int) -> list[Pair]:
    """All moves of an integer, and both directions."""
    by = range(1, most + 1)
    return [each for m in by for each in both((np.append(np.zeros(m), pmf), np.append(pmf, np.zeros(m))))]


def response(users: int, p: float) -> list[Pair]:
    """All datasets of the others, and both directions."""
    found = []
    for ones in range(users):
        others = np.convolve(
            stats.binom(ones, 1 - p).pmf(range(ones + 1)), stats.binom(users - 1 - ones, p).pmf(range(users - ones))
        )
        found += both((np.convolve(others, [p, 1 - p]), np.convolve(others, [1 - p, p])))
    return found


def two_counts(shape: float, p: float, flood_shape: float, flood_p: float, drop: float = 0.0) -> list[Pair]:
    size = 60
    own, flood = negative_binomial(shape, p, size), negative_binomial(flood_shape, flood_p, size)
    law = np.zeros((2 * size + 1, 2 * size))
    for z, weight in enumerate(flood):
        law[z : z + size, z : z + size] += weight * np.outer(own, own)
    one = np.roll(law, 1, axis=0)
    return both(((drop * law + (1 - drop) * one).ravel(), law.ravel()))


def report(users: int, gamma: float, levels: int) -> list[Pair]:
    """The view of one coordinate's counts by all datasets of the others' values, and what a report is changed to."""
    right, wrong = 1 - gamma + gamma / (levels + 1), gamma / (levels + 1)
    rows = np.full((levels + 1, levels + 1), wrong) + (right - wrong) * np.eye(levels + 1)
    found = []
    for others in itertools.combinations_with_replacement(range(levels + 1), users - 1):
        views: list[dict[tuple[int, ...], float]] = []
        for own in (0, 1):
            law: dict[tuple[int, ...], float] = {(0,) * (levels + 1): 1.0}
            for held in (own, *others):
                after: dict[tuple[int, ...], float] = {}
                for counts, mass in law.items():
                    for told in range(levels + 1):
                        seen = (*counts[:told], counts[told] + 1, *counts[told + 1 :])
                        after[seen] = after.get(seen, 0.0) + mass * rows[held][told]
                law = after
            views.append(law)
        found.append((np.array([*views[0].values()]), np.array([views[1][seen] for seen in views[0]])))
    # What it is bounded by: only what others report at random hides it, and how many of these say either value is seen.
    parts = [(np.array([(levels - 1) * wrong]),) * 2]
    for m in range(users):
        coins = stats.binom(users - 1, 2 * wrong).pmf(m) * stats.binom(m, 0.5).pmf(range(m + 1))
        parts.append((np.convolve(coins, [wrong, right]), np.convolve(coins, [right, wrong])))
    return [*found, (np.concatenate([p for p, _ in parts]), np.concatenate([q for _, q in parts]))]


def together(one: Pair, other: Pair) -> Pair:
    return np.outer(one[0], other[0]).ravel(), np.outer(one[1], other[1]).ravel()


def symmetric(pmf: np.ndarray) -> list[Pair]:
    return [shifted(pmf / pmf.sum())]


AWAY = np.arange(-60.0, 61.0)
KEEP, TELL = math.exp(1.5) / (math.exp(1.5) + 3), 1 / (math.exp(1.5) + 3)
CASES: dict[str, tuple[dict[str, Any], list[Pair]]] = {
    "rr": (PEOPLE | {"flip_probability": "0.2", "cells": [0, 1, 2, 3, 4]}, response(5, 0.2)),
    "rr, one honest": (
        {"users": 5, "honest": 1, "flip_probability": "0.2", "cells": [0]},
        response(1, 0.2),
    ),
    "nb": (PEOPLE | {"shape": "2.5", "p": "0.7"}, both(shifted(negative_binomial(2.5, 0.7)))),
    "nb, small": (PEOPLE | {"shape": "0.5", "p": "0.7"}, both(shifted(negative_binomial(0.5, 0.7)))),
    "nb, in part": (PEOPLE | {"honest": 3, "shape": "5", "p": "0.7"}, both(shifted(negative_binomial(3, 0.7)))),
    "poisson": (PEOPLE | {"mean": "3.5"}, both(shifted(stats.poisson(3.5).pmf(np.arange(60))))),
    "nb-sum": (
        PEOPLE | {"levels": 3, "shape": "2.5", "p": "0.7"},
        moves(negative_binomial(2.5, 0.7), 3),
    ),
    "nb-sum, small": (
        PEOPLE | {"levels": 2, "shape": "0.9", "p": "0.9"},
        moves(negative_binomial(0.9, 0.9, 400), 2),
    ),
    "poisson-sum": (PEOPLE | {"levels": 2, "mean": "9"}, moves(stats.poisson(9).pmf(np.arange(70)), 2)),
    "split-and-mix": (SHARED, moves(np.convolve(*[negative_binomial(2, 0.6, 40)[::s] for s in (1, -1)]), 3)),
    "3nb": (PEOPLE | FLOOD, two_counts(2, 0.6, 1.5, 0.7)),
    "3nb, in part": (
        {"users": 5, "honest": 3, "shape": "3", "p": "0.6", "flood_shape": "2.5", "flood_p": "0.7"},
        two_counts(1.8, 0.6, 1.5, 0.7),
    ),
    "pure": (PEOPLE | FLOOD | {"drop_probability": "0.1"}, two_counts(2, 0.6, 1.5, 0.7, 0.1)),
    "histogram": (PEOPLE | {"shape": "4", "p": "0.7"}, [together(*both(shifted(negative_binomial(4, 0.7, 60))))]),
    "central-discrete-laplace": ({"p": "0.6"}, symmetric(0.6 ** np.abs(AWAY))),
    "central-discrete-gaussian": ({"sigma": "2"}, symmetric(np.exp(-(AWAY**2) / 8))),
    "local-rr": ({"flip_probability": "0.2"}, [(np.array([0.8, 0.2]), np.array([0.2, 0.8]))]),
    "vector-sum": (PEOPLE | {"levels": 2, "blanket_probability": "0.6", "cells": [0, 1, 2, 3, 4]}, report(5, 0.6, 2)),
    "labels": (
        {"epsilon": "1.5", "classes": 4},
        [(np.array([KEEP, TELL, 2 * TELL]), np.array([TELL, KEEP, 2 * TELL]))],
    ),
}  # fmt: skip


def divergence(pair: Pair, epsilon: float) -> float:
    return float(np.maximum(pair[0] - math.exp(epsilon) * pair[1], 0.0).sum())


@functools.cache
def worst_mix(name: str) -> tuple[int, float]:
    """Return in how many instances a case is claimed, and the largest divergence of its mixes at .7."""
    pairs = CASES[name][1]
    # A user's bit is one of a histogram's two counts: four factors would be too many to list.
    if name == "histogram" or len(pairs[0][0]) > 1000:
        return 1, max(divergence(pair, 0.7) for pair in pairs)
    mixes = itertools.combinations_with_replacement(pairs, 2)
    return 2, max(divergence(together(*mix), 0.7) for mix in mixes)


def chosen(first: Pair, then: list[Pair], epsilon: float = 0.7) -> float:
    """Return the divergence of one pair, and then of whichever is worst after what the first one shows."""
    found = 0.0
    for p, q in zip(*first, strict=True):
        parts = (np.maximum(p * pair[0] - math.exp(epsilon) * q * pair[1], 0.0).sum() for pair in then)
        found += max(float(part) for part in parts)
    return found


def given(name: str, instances: int, epsilon: float, delta: float, cuts: list[int], *, grid: int = 8) -> dict[str, Any]:
    entry = {
        "protocol": name.partition(",")[0],
        "instances": instances,
        **CASES[name][0],
        "window": [-6 << grid, 6 << grid],
        "cuts": cuts,
    }
    sizes = {"bits": 100, "grid": grid, "tail": 60, "window": [-9 << grid, 9 << grid]}
    return {"format": checker.FORMAT, "epsilon": repr(epsilon), "delta": repr(delta), "together": [entry], **sizes}


def accepted(certificate: Any) -> bool:
    try:
        checker.checked(certificate)
    except checker.Refused:
        return False
    return True


@pytest.mark.parametrize("name", CASES)
def test_hardly_more_than_is_false_is_refused(name: str) -> None:
    """What is false by a hair is refused for every mix: `claims` of `test_roundings`, at the same nodes."""
    pairs, epsilon = CASES[name][1], 0.7
    instances, worst = worst_mix(name)
    room = 1.003 if instances == 1 or len(pairs) == 1 else 1.2  # one of two instances is of the supremum of all
    assert accepted(given(name, instances, epsilon, room * worst, [1] * (instances - 1)))
    alone = max(divergence(pair, epsilon) for pair in pairs)
    if instances == 2 and alone > 1e-9:  # discrete Laplace noise has no loss so large
        assert not accepted(given(name, 1, epsilon, 0.9995 * alone, []))
        assert accepted(given(name, 1, epsilon, 1.003 * alone, []))


def test_revealing_users_costs_and_covers_all_datasets() -> None:
    hidden, revealed = given("rr", 1, 0.7, 1.0, []), given("rr", 1, 0.7, 1.0, [])
    revealed["together"][0]["cells"] = [0, 3]
    worst = max(divergence(pair, 0.7) for pair in CASES["rr"][1])
    for delta, certificate, right in ((1.01 * worst, hidden, True), (1.01 * worst, revealed, False)):
        assert accepted(certificate | {"delta": repr(delta)}) is right


def test_different_protocols_on_the_same_users_add_up() -> None:
    certificate = given("poisson", 1, 0.7, 1.0, [])
    certificate["together"] += given("nb", 1, 0.7, 1.0, [])["together"]
    worst = max(chosen(one, CASES["nb"][1]) for one in CASES["poisson"][1])
    assert accepted(certificate | {"delta": repr(1.003 * worst)})  # the second direction may depend on what was seen


NO_DECIMALS = ("0", "1", "-1", "1e", "nan", "", "1e9999", "\u0661", 0.5, 1, None)
MALFORMED: list[Any] = [
    *(None, [], {}, {"format": "rr"}, {"more": 1}, {"grid": 17}, {"tail": 165}),
    *({"delta": value} for value in NO_DECIMALS),
    *({"bits": value} for value in (31, 2000, "96", 96.0, True)),
    *({"window": value} for value in ([5, 5], [0, 10**9], [1], "ab", [0.5, 2])),
    *({"together": value} for value in ([], [[]], [{"protocol": "x"}], {}, None)),
]


@pytest.mark.parametrize("change", MALFORMED, ids=str)
def test_what_is_no_certificate_is_told_in_a_sentence(change: Any, tmp_path: Path, capsys: Any) -> None:
    good = given("poisson", 1, 0.7, 0.9, [])
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(good | change if isinstance(change, dict) and change else change))
    assert checker.main(file) == 2
    assert capsys.readouterr().out.startswith("Not a certificate: ")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[" * 100_000, "It is nested too deeply.\n"),
        (b"\xef\xbb\xbf{}", "It has bytes that are not ASCII.\n"),
        *(
            ("{}".encode(encoding), "It has bytes that are not ASCII.\n")
            for encoding in ("utf-8-sig", "utf-16", "utf-32")
        ),
        (b"\xff", "It has bytes that are not ASCII.\n"),
        (b'{"bits": ', "It is no JSON: Expecting value: line 1 column 10 (char 9).\n"),
        (b"{", "It is no JSON: "),
        (b"9" * 5_000, "It has more than 1000000 characters, or a number of 600 digits or more.\n"),
        (
            json.dumps(given("poisson", 1, 0.7, 0.9, []) | {"grid": 17}).encode(),
            "grid must be an integer from 1 to 16.\n",
        ),
        *((data, "") for data in (b'{"a": 1, "a": 2}', b"1.5", b'{"a": 1e99999999999999999999999}', b"NaN")),
    ],
)
def test_no_python_is_told(data: bytes, said: str, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "certificate.json"
    file.write_bytes(data)
    assert checker.main(file) == 2
    assert capsys.readouterr().out.startswith(f"Not a certificate: {said}")


@pytest.mark.parametrize("field", ["honest", "users", "mean", "cuts", "instances"])
def test_an_entry_has_its_own_fields_and_no_others(field: str) -> None:
    for change in ("missing", "another"):
        certificate = copy.deepcopy(given("poisson", 2, 0.7, 0.9, []))
        entry = certificate["together"][0]
        entry.pop(field) if change == "missing" else entry.update({field + "x": 1})
        with pytest.raises(ValueError, match="exactly these fields"):
            checker.checked(certificate)
    with pytest.raises(ValueError, match="cuts less than instances"):
        checker.checked(given("poisson", 2, 0.7, 0.9, [2]))


@pytest.mark.parametrize(
    ("name", "field", "value", "own"),
    [
        ("poisson-sum", "levels", 10**9, {}),
        ("poisson", "mean", "1e17", {}),
        ("poisson", "window", [131_071, 131_072], {"grid": 1}),  # nodes beyond every claim, that would fill memory
    ],
)
def test_too_much_work_is_refused_early(name: str, field: str, value: Any, own: dict[str, int]) -> None:
    certificate = given(name, 1, 0.7, 0.9, []) | own
    certificate["together"][0][field] = value
    with pytest.raises(checker.Refused, match="work"):
        checker.checked(certificate)


def test_nodes_beyond_the_window_are_lost_to_infinity() -> None:
    certificate = given("local-rr", 10**18, 0.7, 0.9, []) | {"window": [-1, 1]}
    certificate["together"][0]["window"] = [100, 3000]
    assert not accepted(certificate)


def test_it_runs_alone_on_the_standard_library(tmp_path: Path) -> None:
    copied, file = tmp_path / "checker.py", tmp_path / "certificate.json"
    shutil.copy(checker.__file__, copied)
    file.write_text(json.dumps(given("poisson", 2, 0.7, 0.9, [])))
    run = subprocess.run([sys.executable, "-I", "-S", copied, file], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("Accepted: epsilon 0.7, delta 0.9")
    assert "float" not in Path(checker.__file__).read_text().replace("floating", "").replace("parse_float", "")


def test_the_schema_has_the_fields_that_the_checker_reads_and_no_others() -> None:
    schema = json.loads((Path(__file__).parents[2] / "docs/certificates/schema.json").read_text())
    known, limits = schema["$defs"], checker.FIELDS
    assert known.keys() == {"decimal", *limits}
    for name, (kind, low, high, *sizes) in limits.items():
        shown = known[name]
        if kind is checker.DECIMAL:
            assert shown == {"$ref": "#/$defs/decimal", "description": f"in ({low}, {high})"}
            continue
        assert [shown[end] for end in ("minItems", "maxItems") if sizes] == sizes
        whole = shown["items"] if sizes else shown
        assert (whole["type"], whole["minimum"], whole["maximum"]) == ("integer", low, high)
    assert known["decimal"]["pattern"] == f"^{checker.TYPED.__self__.pattern}$"
    entries = schema["properties"]["together"]["items"]["oneOf"]
    assert schema["properties"]["format"]["const"] == checker.FORMAT
    assert [entry["properties"]["protocol"]["const"] for entry in entries] == [*checker.PROTOCOLS]
    shared = {"protocol", "instances", "window", "cuts"}
    for entry, (_, own, *_) in zip(entries, checker.PROTOCOLS.values(), strict=True):
        assert set(entry["properties"]) == {*own, *shared}
    for fields in (schema, *entries):
        assert fields["additionalProperties"] is False
        assert fields["required"] == [*fields["properties"]]
        for name, field in fields["properties"].items():
            assert name in ("format", "protocol", "together") or field == {"$ref": f"#/$defs/{name}"}
    validator = jsonschema.Draft202012Validator(schema)
    for name in CASES:
        assert validator.is_valid(given(name, 1, 0.7, 0.1, []))
    for change in MALFORMED:  # what follows from two fields, or from their order, is beyond a schema
        if isinstance(change, dict) and change and change not in ({"tail": 165}, {"bits": 96.0}, {"window": [5, 5]}):
            assert not validator.is_valid(given("poisson", 1, 0.7, 0.9, []) | change) or change.keys() == {"delta"}


@pytest.mark.parametrize(
    ("name", "share"),
    [("readme", 1.0), *(pytest.param(*each, marks=pytest.mark.long) for each in (("readme", 0.999), ("poisson", 1.0)))],
)
def test_the_certificates_of_the_repository_are_accepted(name: str, share: float) -> None:
    certificate = json.loads((Path(__file__).parents[2] / f"docs/certificates/{name}.json").read_text())
    assert accepted(certificate | {"epsilon": repr(share * float(certificate["epsilon"]))}) is (share == 1.0)


def test_the_worst_of_measures_is_no_smaller_anywhere() -> None:
    """A second checker found a sum of measures, lifted, that is above 1 at 0, where the worst of both was 1."""
    grid = checker.Checker(32, 4, 27, (-64, 64))
    measures = [(-9, [grid.one // 3, grid.one, 7, 0, 5], grid.one // 50), (-4, [3, grid.one // 2], grid.one // 9)]
    worst = grid.worst(measures)

    def at(measure: Any, a: Fraction) -> Fraction:
        first, masses, lost = measure
        base = 1 + Fraction(1, 16)
        return lost + sum(m * max(Fraction(0), 1 - a / base**k) for k, m in enumerate(masses, first))

    for a in [Fraction(0), Fraction(1, 10), *(Fraction(k, 7) for k in range(1, 30))]:
        assert at(worst, a) >= max(at(measure, a) for measure in measures)
