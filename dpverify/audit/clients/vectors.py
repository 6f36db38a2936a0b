"""What a client is asked with its entropy given: answers next to every border, and what it must send or refuse."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

from dpverify.audit.clients.program import Program
from dpverify.collection.client import Client, Refused, draws
from dpverify.collection.uploads import asked_range
from dpverify.statistics.family import AuditResult

__all__ = ["entropy", "value", "vector_result", "wrong"]

_SHOWN = 160
"""Characters of an answer that a result shows."""
TEXTS = ("", "red", "e\u0301", "\u00e9", "\U0001f680" * 40, "a" * 128, "__proto__")
DECIMALS = ("0", "1", "0.5", "1." + "0" * 40, "0." + "3" * 40, "0." + "0" * 39 + "1", "0." + "9" * 40, "0.1", "0.7")
FLOATS = (0, 1, 0.5, 0.1, 1 / 3, 2**-75, 5e-324, 1 - 2**-53, 1e-30)


def entropy(query: Mapping[str, Any], rng: random.Random) -> bytes:
    """Return entropy of which every second word is next to a threshold, or at an end; of a vector, one in 25."""
    edges = [int(t, 16) - less for table in query["tables"].values() for t in table for less in (0, 1)]
    edges += [0, 2**128 - 1]
    others = 24 if query["kind"] == "unary" else 1  # more noise than is sent would be refused
    words = [rng.choice((*[rng.getrandbits(128)] * others, rng.choice(edges))) for _ in range(draws(query))]
    return b"".join(max(word, 0).to_bytes(16, "big") for word in words)


def value(query: Mapping[str, Any], rng: random.Random) -> Any:
    """Return what a user may hold."""
    kind = query["kind"]
    if kind == "bloom" or query.get("asks") == "strings":
        return rng.choice(TEXTS)
    if "points" in query:
        return _point(query["points"], rng)
    if "signs" in query:
        return _vector(len(query["signs"]), rng)
    if "real" in query:
        held = [_number(query, rng) for _ in range(query["instances"])]
        if query.get("asks") == "weights":
            return [rng.randrange(query["instances"]), held[0]]
        return held[0] if query["instances"] == 1 else held
    if "asks" in query:
        return rng.randint(*asked_range(query))
    answers: list[Any]
    if kind == "vector":
        answers = [
            [rng.choice((rng.random(), rng.choice(DECIMALS), rng.choice(FLOATS))) for _ in range(sum(query["blocks"]))]
            for _ in range(query["instances"])
        ]
    else:
        most = query.get("choices", query.get("buckets", 2))
        answers = [rng.randrange(most) for _ in range(query["instances"])]
    return answers[0] if query["instances"] == 1 else answers


def _number(query: Mapping[str, Any], rng: random.Random) -> Any:
    """Return a number, often at an end or next to the edge of a step."""
    low, high = (float(query[end]) if query["real"] else int(query[end]) for end in ("smallest", "largest"))
    if not query["real"]:
        return rng.choice((low, high, rng.randint(int(low), int(high))))
    edge = low + (high - low) * (rng.randrange(query["levels"] + 1) / query["levels"])
    near = (edge, math.nextafter(edge, low), math.nextafter(edge, high), rng.uniform(low, high), 5e-324)
    return min(max(rng.choice(near), low), high)


def _vector(size: int, rng: random.Random) -> list[float]:
    """Return a vector of norm 1, shorter, or of few coordinates that are next to the edge of a step or not 0."""
    tiny = [0, 0.0, -0.0, 5e-324, 2.0**-27, -(2.0**-27), math.nextafter(2.0**-27, 0.0), 3 * 2.0**-27]
    vector = [rng.choice((rng.gauss(0.0, 1.0), rng.choice(tiny))) for _ in range(size)]
    norm = math.sqrt(sum(x * x for x in vector)) or 1.0
    length = rng.choice((1.0, 1.0 + 2.0**-11, rng.random(), 2.0**-20))
    one: list[float] = [*[0] * (size - 1), rng.choice((1, -1))]
    return rng.choice(([x / norm * length for x in vector], one))


def _point(of: Mapping[str, Any], rng: random.Random) -> Any:
    """Return a point, often at the edge of a step or of all that is taken, and its class where there are several."""
    step, limit = 2.0 ** -of["shift"], 2.0 ** (30 - of["shift"])
    whole = [0, 1, -1, -step, step, 5e-324, -5e-324, math.nextafter(limit, 0.0), -math.nextafter(limit, 0.0), 3 * step]
    known = [each for each in whole if abs(each) < limit]
    point = [rng.choice((rng.gauss(0.0, 3.0 * 2**16 * step), rng.choice(known))) for _ in range(of["dimension"])]
    return point if of["classes"] == 1 else [rng.randrange(of["classes"]), point]


def wrong(query: Mapping[str, Any]) -> list[Any]:
    """Return what no user may hold."""
    bad: list[Any]
    if query["kind"] == "bloom" or query.get("asks") == "strings":
        return [7, None, "secret\ud800"]
    if "points" in query:
        of, good = query["points"], _point(query["points"], random.Random(0))
        limit, size = 2.0 ** (30 - of["shift"]), of["dimension"]
        bad = [[limit] * size, [-limit] * size, [True] * size, ["1"] * size, [0.5] * (size + 1), None, 7]
        if of["classes"] == 1:
            return [*bad, [0, good]]
        return [
            *([0, each] for each in bad),
            *([label, good[1]] for label in (-1, of["classes"], 0.5, None)),
            good[1],
            [good],
        ]
    if "signs" in query:
        size = len(query["signs"])
        bad = [[1.001] + [0] * (size - 1), [1] * (size + 1), ["0"] * size, [True] * size, [0.0] * (size + 1)]
        return [*bad, [-2] + [0] * (size - 1), [1e308] * size, [], None, 7, *([[0.9] * size] if size > 1 else [])]
    if "real" in query:
        low, high = int(float(query["smallest"])), math.ceil(float(query["largest"]))
        bad = [low - 1, high + 1, True, "1", None, [], 10**400, *([] if query["real"] else [low + 0.5])]
        size, one = query["instances"], value(query, random.Random(0))
        if query.get("asks") == "weights":
            places = [[-1, one[1]], [size, one[1]], [0.5, one[1]], [None, one[1]]]
            return [one[1], [0, one[1], 0], *([0, each] for each in bad), *places]
        return bad if size == 1 else [one[0], one[1:], *([each] * size for each in bad)]
    if "asks" in query:
        least, most = asked_range(query)
        return [None, True, [1], least - 1, most + 1, 10**6, "1", 0.5]
    ok = value(query, random.Random(0))
    one, many = (ok, [ok, ok]) if query["instances"] == 1 else (ok[0], [*ok, ok[0]])
    if query["kind"] == "vector":
        size = sum(query["blocks"])
        bad = [["0.1"] * (size - 1), *([each] * size for each in (2, -0.5, "1e-3", "0." + "1" * 41))]
    else:
        bad = [-1, max(999, query.get("choices", 0), query.get("buckets", 0)), "1", 0.5]
    return [
        None,
        many,
        *([each] * query["instances"] if query["instances"] > 1 else each for each in bad),
        *([one] if query["instances"] > 1 else []),
    ]


def _asked(data: bytes, hash: str, query: Mapping[str, Any], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield lines for a program, each with the `reply` of the client in Python."""
    rng = random.Random(f"{query['name']} {seed}")
    again = min(4, query["reports"] + 1) if query["kind"] == "bloom" else 2  # the second time it was answered
    users = [[(value(query, rng), entropy(query, rng))] * again for _ in range(count)]
    users += [[(held, entropy(query, rng))] for held in wrong(query)]
    users.append([(value(query, rng), b"\0" * 15)])
    first = Client(data, hash)
    for user in users:
        client = first.another()
        for held, drawn in user:
            line = {"query": query["name"], "value": held, "entropy": drawn.hex(), "memory": client.memory}
            try:
                reply: dict[str, Any] = {"upload": client.upload(query["name"], held, entropy=drawn).hex()}
            except Refused as error:
                reply = {"refused": str(error)}
            yield {**line, "reply": {**reply, "memory": client.memory}}


def vector_result(program: Program, data: bytes, query: Mapping[str, Any], count: int, seed: int) -> AuditResult:
    """Hold what a program sends, refuses and remembers, given its entropy, against the client in Python.

    The sentence of a refusal is the program's own.
    """
    asked = list(_asked(data, program.hash, query, count, seed))
    wanted = [line.pop("reply") for line in asked]
    replies = program.replies(asked)
    wrong_ones = [at for at, reply in enumerate(replies) if not _alike(reply, wanted[at])]
    evidence = f"all {len(asked):,} answers are those of the client in Python"
    if wrong_ones:
        at = wrong_ones[0]
        held = {key: asked[at][key] for key in ("value", "entropy")}
        evidence = (
            f"{len(wrong_ones):,} of {len(asked):,} answers differ, the first of them {_shown(replies[at])}, and not "
            f"{_shown(wanted[at])}, for {_shown(held)}"
        )
    return AuditResult(
        f"vectors of {query['name']}",
        0.0 if wrong_ones else 1.0,
        len(asked),
        "comparison",
        evidence,
        f"an answer that differs in any of {len(asked):,}, half of whose draws are next to a threshold",
        1.0,
    )


def _alike(reply: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return (
        reply.get("upload") == wanted.get("upload")
        and ("refused" in reply) == ("refused" in wanted)
        and reply.get("memory") == wanted["memory"]
    )


def _shown(found: Mapping[str, Any]) -> str:
    text = ", ".join(f"{key} {each!r}" for key, each in found.items())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 4] + " ..."
