"""The audit of a client: what it must answer to given entropy, the laws of what it sends with its own, its time."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.audit.clients.program import Program
from dpverify.audit.clients.vectors import vector_result
from dpverify.audit.engine import audit
from dpverify.audit.limits import Limits, Look
from dpverify.audit.options import SMALLEST_LEVEL, AuditKeywords, AuditOptions
from dpverify.audit.outcome import AuditReport
from dpverify.audit.running.target import Target
from dpverify.audit.subject import Dataset, Subject
from dpverify.audit.subjects.rappor import rappor_subject
from dpverify.collection.client import TURNED, cell, encoded, largest, signs, stepped, turned, weighted
from dpverify.collection.tables import probabilities
from dpverify.collection.uploads import Collector, UploadError, asked_range
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.family import AuditResult
from protocols.validation import check_choice, check_file

__all__ = ["audit_client", "client_subject"]

_USERS = 2
"""How many users answer in a run: whether they share randomness."""
_FIELDS = 64
"""How many fields of an upload are looked at, from either end."""
_STRINGS = 1_000
"""Of so many strings those in the lowest and the largest cell are answers."""
_VECTORS = 200
_PARTS = 2
"""Of the range of a share, whose law is uniform."""
_TIMED = 20_000
"""Users whose uploads are timed, at most."""
_SILENT = (
    "fields of an upload but the first and the last {fields}",
    "answers other than these, and users that answer several queries",
    "whether the entropy is the operating system's",
    "what the first users of a process draw: one is started for some thousand of them, and devices are first ones",
)


def audit_client(
    command: str, manifest: Path, hash: str, *, query: str | None = None, **options: Unpack[AuditKeywords]
) -> AuditReport:
    """Audit a program that speaks for clients: see `dpverify.audit.clients.program.Program`.

    Given entropy it must send, refuse and remember what the client in Python does. With entropy of its own, what it
    sends must have the exact law of the manifest's tables: each field by itself, fields and users independent, also
    from one process to the next.

    - command: What starts it, such as `node client.js`.
    - manifest: The file of the manifest.
    - query: The name of one; all when omitted.
    - **options: The fields of `dpverify.audit.options.AuditOptions`: `trials` runs of two users for each of two or
      three answers, and `level` for all queries together. A program's own entropy knows no seed: what is found is found
      again with other draws.

    Returns: Of all queries together. Raises TargetError if the program fails. Raises ValueError for another manifest,
    or an unknown query.
    """
    check_file("manifest", manifest, "a manifest")
    data = manifest.read_bytes()
    collector = Collector(data, hash)
    queries = {each["name"]: each for each in json.loads(data)["queries"]}
    if query is not None:
        check_choice("query", query, queries)
        queries = {query: queries[query]}
    how = AuditOptions(**options)
    if how.level < SMALLEST_LEVEL * len(queries):
        raise ValueError(
            f"level={how.level!r} must be at least {SMALLEST_LEVEL:g} for each of {len(queries)} queries: name one."
        )
    # Several processes, to be told from one whose draws are always the same.
    own: AuditKeywords = {"block_size": min(1000, how.trials // 4), **options, "level": how.level / len(queries)}
    program = Program(command, manifest, hash, 120.0 if how.timeout is None else how.timeout)
    results: list[AuditResult] = []
    tested: list[Look] = []
    silent: dict[str, None] = {}
    for each in queries.values():
        vectors = vector_result(program, data, each, _VECTORS, how.seed)
        report = audit(client_subject(program, collector, each), beforehand=[vectors], **own)
        results += report.results
        tested += [*report.limits.tested, *_times(program, each, min(_TIMED, how.trials))]
        silent |= dict.fromkeys(said for said in report.limits.not_tested if not said.startswith("single messages"))
    limits = Limits(tuple(tested), tuple(silent))
    return AuditReport(command, None, tuple(results), how.level, how.trials, how.seed, limits=limits)


def client_subject(program: Program, collector: Collector, query: Mapping[str, Any]) -> Subject:
    """Return a program as a subject: what two users send in answer to one query, each new and with the same answer."""
    if query["kind"] == "bloom":
        protocol = collector.protocols[query["name"]]
        shape = (protocol.reports, protocol.bits)
        reported = functools.partial(_reported, program, collector, query, protocol.reports)
        return rappor_subject(protocol, implementation=Target(reported, True, shape, program.command))
    held = _answers(query)
    laws = [_laws(query, answer) for answer in held.values()]
    width = len(laws[0])
    datasets = [
        Dataset(
            f"{query['name']}: {shown}",
            np.array([at]),
            {column: (f"field {column}", law) for column, law in enumerate(each[:2])},
            independent=(slice(0, _USERS * width), list(each) * _USERS),
        )
        for at, (shown, each) in enumerate(zip(held, laws, strict=True))
    ]
    draw = functools.partial(_sent, program, collector, query, list(held.values()))
    silent = _SILENT if len(largest(query)) > 2 * _FIELDS else _SILENT[1:]
    return Subject(
        f"{query['name']} of {program.command}",
        Target(draw, True, (_USERS * width,), f"{program.command} {program.hash} {query['name']}"),
        datasets,
        silent_on=[sentence.format(fields=_FIELDS) for sentence in silent],
    )


def _answers(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return answers by their names: the lowest and the largest everywhere, and in turns; of a density three points."""
    if "points" in query:
        size, classes = query["points"]["dimension"], query["points"]["classes"]
        steps = {"the origin": 0.0, "a point": 40_000.5, "a far point": -1e9}
        points = {name: [number * 2.0 ** -query["points"]["shift"]] * size for name, number in steps.items()}
        return {name: [at % classes, x] if classes > 1 else x for at, (name, x) in enumerate(points.items())}
    if "signs" in query:
        size = len(query["signs"])
        return {"no vector": [0.0] * size, "one coordinate": [1.0, *[0.0] * (size - 1)], "all": [-(size**-0.5)] * size}
    if query["kind"] == "vector":
        size = sum(query["blocks"])
        ends: list[Any] = [["0"] * size, ["1"] * size]
        between: Any = ["0.3"] * size
    else:
        most = int(query.get("choices", query.get("buckets", 2)))
        ends, between = [0, most - 1], most // 2
    if "real" in query:
        low, high = (float(query[end]) if query["real"] else int(query[end]) for end in ("smallest", "largest"))
        ends, between = [low, high], low + (high - low) / 3 if query["real"] else (low + high) // 2
    if query.get("asks") == "weights":
        pairs = (0, ends[1]), (query["instances"] - 1, between)
        return {f"{number} in bucket {at}": [at, number] for at, number in pairs}
    if "asks" in query:
        least, most = asked_range(query)
        ends, between = [least, most], (least + most) // 2
    if query.get("asks") == "strings":
        by_cell = {cell(query, text): text for text in map(str, range(_STRINGS))}
        ends, between = [by_cell[min(by_cell)], by_cell[max(by_cell)]], ""
    if query["instances"] == 1 or "asks" in query:
        found = {"the lowest answer": ends[0], "the largest answer": ends[1]}
        return found if between in ends else {**found, "an answer between": between}
    count = query["instances"]
    turns = [[ends[0], ends[1], between][at % 3] for at in range(count)]
    return {"the lowest answers": ends[:1] * count, "the largest answers": ends[1:] * count, "all in turns": turns}


def _laws(query: Mapping[str, Any], answer: Any) -> list[DiscreteLaw]:
    """Return the exact laws of all fields that are looked at, which are independent of each other."""
    if "points" in query:
        label, own = signs(query, answer)
        held: Any = [bit if of == label else 0.5 for of in range(query["points"]["classes"]) for bit in own]
    elif "signs" in query:
        held = turned(query, answer)
    elif "real" in query:
        several = query["instances"] > 1
        numbers = [stepped(query, each) for each in (answer if several else [answer])] if "asks" not in query else []
        held = [list(each) for each in numbers or weighted(query, answer)]
    else:
        held = encoded(query, answer) if "asks" in query else [answer] if query["instances"] == 1 else answer
    tables = {name: np.array(probabilities(table)) for name, table in query["tables"].items()}
    laws = functools.cache(lambda one: _OF[query["kind"]](query, tables, one))
    return _ends(
        list(itertools.chain.from_iterable(laws(tuple(one) if isinstance(one, list) else one) for one in held))
    )


def _ends(columns: list[Any]) -> list[Any]:
    return columns if len(columns) <= 2 * _FIELDS else columns[:_FIELDS] + columns[-_FIELDS:]


def _law(pmf: NDArray[np.float64], begin: int = 0) -> DiscreteLaw:
    return DiscreteLaw.of(np.arange(begin, begin + pmf.size), np.maximum(pmf, 0.0))


def _of_report(query: Mapping[str, Any], tables: Mapping[str, NDArray[np.float64]], one: Any) -> list[DiscreteLaw]:
    if one == 0.5:  # a coin
        return [_law(np.array([0.5, 0.5]))]
    choices = query["choices"]
    shifted = np.arange(tables["shift"].size) + one
    return [DiscreteLaw.of(shifted % choices, tables["shift"])]


def _of_counts(query: Mapping[str, Any], tables: Mapping[str, NDArray[np.float64]], one: Any) -> list[DiscreteLaw]:
    drop = tables["drop"][1] if "drop" in tables else 0.0
    own = (1.0 - drop) * (one if query["counted"] else 1 - one)
    up = np.convolve([1.0 - own, own], tables["noise"])
    if "flood" not in tables:
        return [_law(up)]
    # Both counts have the same flood: their difference has none, and what is left of the second is its own noise.
    return [_law(np.convolve(up, tables["noise"][::-1]), 1 - tables["noise"].size)]


def _of_buckets(query: Mapping[str, Any], tables: Mapping[str, NDArray[np.float64]], one: int) -> list[DiscreteLaw]:
    laws = [_law(np.convolve([float(own), 1.0 - own], tables["noise"])) for own in (False, True)]
    return [laws[bucket == one] for bucket in range(query["buckets"])]


def _of_vector(query: Mapping[str, Any], tables: Mapping[str, NDArray[np.float64]], one: Any) -> list[DiscreteLaw]:
    levels, kept = query["levels"], tables["replaced"][0]
    exact = float(one[0]) * levels  # all coordinates are alike: the report does not depend on which was sampled
    level = np.maximum(0.0, 1.0 - np.abs(np.arange(levels + 1) - exact))
    report = _law(kept * level + (1.0 - kept) / (levels + 1))
    return [law for size in query["blocks"] for law in (_law(np.full(size, 1.0 / size)), report)]


def _of_unary(query: Mapping[str, Any], tables: Mapping[str, NDArray[np.float64]], one: Any) -> list[DiscreteLaw]:
    found = []
    for place in one:
        level, rest = divmod(abs(place) * query["factor"], 1 << TURNED)
        own = np.zeros(level + 2)
        own[level:] = 1.0 - rest / 2**TURNED, rest / 2**TURNED
        laws = [_law(np.convolve(own, tables["noise"])), _law(tables["noise"])]
        found += laws if place >= 0 else laws[::-1]
    return found


def _of_sum(query: Mapping[str, Any], tables: Mapping[str, NDArray[np.float64]], one: Any) -> list[DiscreteLaw]:
    own = np.convolve([1.0 - one[1] / 2**128, one[1] / 2**128], tables["noise"])
    if query["kind"] == "sum":
        return [_law(own, one[0])]
    both = np.convolve(own, tables["noise"][::-1])
    values = (np.arange(both.size) + one[0] + 1 - tables["noise"].size) % query["modulus"]
    return [DiscreteLaw.of(values, np.maximum(both, 0.0)), _law(np.full(_PARTS, 1.0 / _PARTS))]


_OF = {
    "report": _of_report,
    "counts": _of_counts,
    "buckets": _of_buckets,
    "vector": _of_vector,
    "unary": _of_unary,
    "sum": _of_sum,
    "shares": _of_sum,
}


def _sent(
    program: Program,
    collector: Collector,
    query: Mapping[str, Any],
    answers: Sequence[Any],
    inputs: NDArray[Any],
    rng: np.random.Generator,
    trials: int,
) -> NDArray[np.int64]:
    """Return what is looked at of the fields that users send; -1 everywhere in an upload that no client can send."""
    replies = program.replies([{"query": query["name"], "value": answers[int(inputs[0])]}] * (_USERS * trials))
    fields = _fields(collector, query, [bytes.fromhex(reply.get("upload", "")) for reply in replies])
    return fields.reshape(trials, -1)


def _fields(collector: Collector, query: Mapping[str, Any], uploads: list[bytes]) -> NDArray[np.int64]:
    try:
        fields = collector.fields(query["name"], uploads)
    except UploadError:
        fields = np.vstack([_one(collector, query, upload) for upload in uploads])
    if query["kind"] == "shares":  # all of them together, and one alone, in parts of its range
        shares, refused = fields.reshape(len(fields), -1, query["shares"]), fields[:, :1] < 0
        first = shares[:, :, 0] * _PARTS // query["modulus"]
        looks = np.stack([shares.sum(axis=2) % query["modulus"], first], axis=2).reshape(len(fields), -1)
        fields = np.where(refused, -(2**40), looks)
    if "flood" in query["tables"]:
        refused = fields[:, :1] < 0
        fields = np.where(refused, -(2**40), fields[:, ::2] - fields[:, 1::2])
    looked: NDArray[np.int64] = np.column_stack(_ends(list(fields.T)))
    return looked


def _one(collector: Collector, query: Mapping[str, Any], upload: bytes) -> NDArray[np.int64]:
    none: NDArray[np.int64] = np.full((1, len(largest(query))), -1)
    try:
        return collector.fields(query["name"], [upload])
    except UploadError:
        return none


def _reported(
    program: Program,
    collector: Collector,
    query: Mapping[str, Any],
    reports: int,
    value: str,
    rng: np.random.Generator,
    trials: int,
) -> NDArray[np.bool_]:
    """Return the reports of users of cohort 0 on one value, shape (trials, reports, bits)."""
    name = query["name"]
    memories: list[Any] = [{"sent": {}, "cohorts": {name: 0}, "values": {}}] * trials
    found = []
    for _ in range(reports):
        replies = program.replies([{"query": name, "value": value, "memory": each} for each in memories])
        memories = [reply.get("memory", {}) for reply in replies]
        found.append(collector.reports(name, [bytes.fromhex(reply.get("upload", "")) for reply in replies]).bits[:, 0])
    return np.stack(found, axis=1)


def _times(program: Program, query: Mapping[str, Any], users: int) -> list[Look]:
    """Return what times tell of what is drawn and held, if the program says how long uploads took."""
    held = ["a", "b"] if query["kind"] == "bloom" else list(_answers(query).values())
    replies = program.replies([{"query": query["name"], "value": held[at % len(held)]} for at in range(users)])
    times = np.array([float(reply.get("nanoseconds", 0.0)) for reply in replies])
    if not np.ptp(times):
        return []
    bits = [int.from_bytes(bytes.fromhex(reply.get("upload", ""))).bit_count() for reply in replies]
    shares = [scipy.stats.spearmanr(times, told).statistic for told in (bits, np.arange(users) % len(held))]
    return [
        Look(
            "time",
            f"correlation of ranks with the ones in an upload {shares[0]:+.4f}, with the answer {shares[1]:+.4f}, in "
            f"{users:,} uploads, where chance alone makes {2.0 / np.sqrt(users):.4f}; no verdict rests on it",
        )
    ]
