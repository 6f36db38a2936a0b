"""What a collector lets in: what clients send, and nothing else; and from a plan to estimates."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from dpverify.audit.clients.vectors import value
from dpverify.collection.client import Client, draws, largest
from dpverify.collection.manifest import manifest
from dpverify.collection.uploads import Collector, UploadError, to_bits
from protocols.bitsum import ThreeNB
from protocols.rappor.response import Rappor
from protocols.shuffler import shuffle
from tests.collection.simulated import Simulated
from tests.collection.vectors import QUERIES, made

MUTATIONS = 10_000
"""Of each protocol: 10^5 in all; of those with rules of their own a few in every run."""


def sent(name: str, count: int, seed: int) -> list[bytes]:
    plan, rng = made(name), random.Random(f"{name} {seed}")
    (query,) = plan.content["queries"]
    found = []
    for _ in range(count):
        client = Client(plan.data, plan.hash)
        found.append(client.upload(name, value(query, rng), entropy=rng.randbytes(16 * draws(query))))
    return found


def possible(query: dict[str, Any], payload: bytes) -> bool:
    """Whether some value and some draws lead to a payload, by trying all floods: written apart from the collector."""
    digits = "".join(f"{byte:08b}" for byte in payload)
    fields = []
    for most in largest(query):
        width = most.bit_length()
        fields.append(int(digits[:width] or "0", 2))
        digits = digits[width:]
        if fields[-1] > most:
            return False
    if "1" in digits or len(digits) > 7:
        return False
    if query["kind"] == "unary":
        alone = all(min(pair) <= len(query["tables"]["noise"]) for pair in zip(fields[::2], fields[1::2], strict=True))
        return alone and sum(fields) <= query["messages"]
    if "flood" in query["tables"]:
        noise, flood = (len(query["tables"][name]) for name in ("noise", "flood"))
        for up, down in zip(fields[::2], fields[1::2], strict=True):
            if not any(0 <= up - z <= noise + 1 and 0 <= down - z <= noise for z in range(flood + 1)):
                return False
    return True


def mutated(upload: bytes, others: list[bytes], rng: random.Random) -> bytes:
    data = bytearray(upload)
    for _ in range(rng.choice((1, 1, 2, 5))):
        kind = rng.randrange(6)
        at = rng.randrange(len(data)) if data else 0
        if kind == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            data[at] = rng.choice((0, 1, 0x18, 0x58, 0x5F, 0x9F, 0xFF, rng.randrange(256)))
        elif kind == 2:
            data[at:at] = rng.randbytes(rng.randrange(1, 4))
        elif kind == 3:
            del data[at : at + rng.randrange(1, 4)]
        elif kind == 4:
            other = rng.choice(others)
            data[at:] = other[min(at, len(other)) :]
        elif len(data) > 41:
            data[39:] = rng.randbytes(len(data) - 39)
    return bytes(data)


@pytest.mark.parametrize(
    ("name", "mutations"),
    [*(pytest.param(name, MUTATIONS, marks=pytest.mark.long) for name in QUERIES), ("3nb", 800), ("unary", 800)],
)
def test_nothing_is_let_in_that_no_client_can_send(name: str, mutations: int) -> None:
    rng = random.Random(name)
    plan = made(name)
    (query,) = plan.content["queries"]
    collector, uploads = Collector(plan.data, plan.hash), sent(name, 20, 1)
    begin = uploads[0][: len(uploads[0]) - (sum(most.bit_length() for most in largest(query)) + 7) // 8]
    let_in = 0
    for _ in range(mutations):
        changed = mutated(rng.choice(uploads), uploads, rng)
        wanted = (
            len(changed) == len(uploads[0]) and changed.startswith(begin) and possible(query, changed[len(begin) :])
        )
        if not wanted:
            with pytest.raises(UploadError):
                collector.parse(changed)
            continue
        found, fields = collector.parse(changed)
        assert (found, fields.size) == (name, len(largest(query)))
        let_in += 1
    assert 0 < let_in < mutations


def test_both_counts_hold_the_same_flood() -> None:
    plan = made("3nb")
    (query,) = plan.content["queries"]
    collector, (whole,) = Collector(plan.data, plan.hash), sent("3nb", 1, 1)
    noise, flood = (len(query["tables"][name]) for name in ("noise", "flood"))
    begin, widths = collector.begin("3nb"), [most.bit_length() for most in largest(query)]
    corners = [0, 1, noise, noise + 1, noise + 2, flood, flood + 1, noise + flood, noise + flood + 1]
    let_in = 0
    for up, down in itertools.product(corners, corners[:-1]):
        payload = np.packbits(to_bits(np.array([[up, down, 0, 0]]), widths)).tobytes()
        assert len(begin + payload) == len(whole)
        if possible(query, payload):
            let_in += collector.parse(begin + payload)[1].tolist() == [up, down, 0, 0]
        else:
            with pytest.raises(UploadError):
                collector.parse(begin + payload)
    assert 0 < let_in < 72


def test_what_is_no_bytes_or_of_another_manifest_is_refused() -> None:
    plan = made("rr")
    collector = Collector(plan.data, plan.hash)
    for upload in ("text", None, b"", bytearray(sent("rr", 1, 1)[0]), sent("nb", 1, 1)[0]):
        with pytest.raises(UploadError, match=r"^upload must .*\.$"):
            collector.parse(upload)
    whole = sent("rr", 1, 1)[0]
    for upload in (b"x", whole + b"\0", b"x" + whole[1:]):
        with pytest.raises(UploadError, match=r"^uploads\[1\] must "):
            collector.fields("rr", [whole, upload])
    with pytest.raises(ValueError, match=r"^name='secret' must be one of rr\.$"):
        collector.fields("secret", [])
    with pytest.raises(ValueError, match="query of strings"):
        collector.reports("rr", [])
    other = made("rappor")
    with pytest.raises(ValueError, match="must be a query with messages"):
        Collector(other.data, other.hash).messages("rappor", [])


@pytest.mark.long
@pytest.mark.parametrize("name", QUERIES)
def test_an_upload_is_deterministic_cbor(name: str) -> None:
    cbor2 = pytest.importorskip("cbor2", reason="cbor2 is not installed: pip install '.[test]'")
    plan = made(name)
    for upload in sent(name, 5, 2):
        read = cbor2.loads(upload)
        assert read[:3] == [1, bytes.fromhex(plan.hash), 0]
        assert [len(read), type(read[3])] == [4, bytes]
        assert cbor2.dumps(read, canonical=True) == upload


def test_many_queries_are_told_apart() -> None:
    """Heads of one, two and three bytes for the numbers of queries, and for lengths of payloads."""
    protocol = QUERIES["local-rr"][0]
    queries = [(f"q{number}", protocol, 1 if number else 3000) for number in range(300)]
    plan = manifest(queries, delta=0)
    client, collector = Client(plan.data, plan.hash), Collector(plan.data, plan.hash)
    uploads = {name: client.upload(name, [1] * 3000 if name == "q0" else 1) for name, _, _ in queries}
    assert [collector.parse(upload)[0] for upload in uploads.values()] == list(uploads)
    assert {len(uploads[name]) for name in ("q1", "q24", "q256")} == {39, 40, 41}
    assert collector.fields("q0", [uploads["q0"]]).shape == (1, 3000)
    assert len(uploads["q0"]) == 39 + 2 + 375 - 1 == collector.longest


def test_from_buckets_and_vectors_to_estimates() -> None:
    rng = np.random.default_rng(6)
    values = rng.integers(0, 3, 2_000)
    for name in ("histogram", "selection"):
        protocol = type(QUERIES[name][0])(QUERIES[name][0].bitsum, 3)
        messages = Simulated(protocol).randomize(values, rng)
        counts = protocol.estimates(protocol.view(shuffle(messages, rng)))
        assert np.abs(counts - np.bincount(values)).max() < 900
    sums = QUERIES["vector-sum"][0]
    points = rng.random((2_000, 5))
    messages = Simulated(sums).randomize(points, rng)
    assert (messages.per_user(2_000) == 2).all()
    estimate = sums.analyze(sums.view(shuffle(messages, rng)))
    assert np.abs(estimate - points.sum(axis=0)).max() < 300


def test_messages_of_several_instances_stay_apart() -> None:
    simulated = Simulated(ThreeNB(2_000, 0.5, 40.0, 0.75), 2)
    rng = np.random.default_rng(7)
    uploads = simulated.uploads([[0, 1]] * 500, rng)
    first, second = (simulated.protocol.view(each.symbols) for each in simulated.collector.messages("q", uploads))
    assert abs(first[0] - first[1]) < 60
    assert 440 < second[0] - second[1] < 560


def test_reports_of_strings_are_decoded() -> None:
    mechanism = Rappor(32, 2, cohorts=1, f=0.25, p=0.25, q=0.75)
    made_of_one = manifest([("s", mechanism)], delta=0)
    uploads = [Client(made_of_one.data, made_of_one.hash).upload("s", "red") for _ in range(400)]
    reports = Collector(made_of_one.data, made_of_one.hash).reports("s", uploads)
    assert reports.bits.shape == (400, 1, 32)
    assert (reports.cohorts == 0).all()
    zero, one = mechanism.report_probabilities
    pattern = mechanism.filter.patterns(["red"])[0, 0]
    assert (np.abs(reports.bits[:, 0].mean(axis=0) - np.where(pattern, one, zero)) < 0.15).all()
