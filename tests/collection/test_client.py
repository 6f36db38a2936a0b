"""The client of a device: its laws, by audits of what it sends; what it refuses, remembers and never shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpverify
from dpverify.audit.clients.vectors import wrong
from dpverify.audit.running.target import Target
from dpverify.audit.subjects.bitsum import Implementation
from dpverify.collection.client import Client, Refused, cell, draws, header, largest
from dpverify.collection.manifest import manifest
from protocols.bitsum import LocalRandomizedResponse, NegativeBinomial, Poisson, Pure, RandomizedResponse, ThreeNB
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.rappor.response import Rappor
from protocols.selection import Selection
from protocols.vector_sum import VectorSum
from tests.collection.simulated import Simulated
from tests.collection.vectors import FOLDER, QUERIES, made, text, vectors

ROOT = Path(__file__).resolve().parents[2]
TRIALS = 4_000
RAPPOR = Rappor(6, 2, cohorts=2, f=0.5, p=0.25, q=0.75, reports=3)


def audited(simulated: Simulated, promised: Any = None) -> Any:
    """Audit what a collector makes of the uploads of real clients, as an implementation of their protocol."""
    protocol = promised or simulated.protocol
    shape = (protocol.users, protocol.dimension) if isinstance(protocol, VectorSum) else (protocol.users,)
    width = simulated.views(np.zeros(shape, dtype=np.int64), np.random.default_rng(0), 1).size
    implementation = Implementation(Target(simulated.views, True, (width,)), counts=True)
    return dpverify.audit_protocol(protocol, implementation=implementation, trials=TRIALS, seed=3)


@pytest.mark.long
@pytest.mark.parametrize(
    "protocol",
    [
        RandomizedResponse(2, 0.2),
        LocalRandomizedResponse(2, 0.2),
        NegativeBinomial(2, 20.0, 0.5),
        NegativeBinomial(2, 20.0, 0.5, estimate="under"),
        Poisson(2, 12.0),
        ThreeNB(2, 0.5, 4.0, 0.5, 3.0),
        Pure(2, 0.5, 0.25, 4.0, 0.5, 3.0),
        *(kind(Poisson(2, 12.0, estimate="under"), 3) for kind in (Histogram, Selection)),
        VectorSum(2, 2, 1, 0.5, sampled=1),
        VectorSum(2, 3, 1, 0.5, sampled=2, stratified=True),
        VectorSum(2, 1, 2, 0.5, sampled=1),
    ],
    ids=repr,
)
def test_clients_pass_the_audit_of_their_protocol(protocol: Any) -> None:
    report = audited(Simulated(protocol))
    assert report.verdict.value == "consistent", report.statement
    if protocol == Poisson(2, 12.0):  # a table that is another is found
        assert audited(Simulated(protocol), Poisson(2, 14.0)).verdict.value == "violates"


@pytest.mark.long
def test_clients_of_labels_pass_the_audit_of_their_protocol() -> None:
    simulated = Simulated(LabelRandomizedResponse(4, 1.0))

    def report(labels: NDArray[np.int64], rng: np.random.Generator) -> int:
        return int(simulated.randomize(labels, rng).symbols[0])

    found = dpverify.audit_protocol(simulated.protocol, implementation=report, trials=TRIALS, seed=3)
    assert found.verdict.value == "consistent", found.statement


@pytest.mark.long
def test_clients_of_strings_pass_the_audit_of_rappor() -> None:
    plan = manifest([("q", RAPPOR)], delta=0)
    collector = Simulated(RAPPOR, delta="0").collector
    size = 16 * draws(plan.content["queries"][0])

    def reports(held: str, rng: np.random.Generator) -> NDArray[np.bool_]:
        client = Client(plan.data, plan.hash, {"cohorts": {"q": 0}})
        sent = [client.upload("q", held, entropy=rng.bytes(size)) for _ in range(RAPPOR.reports)]
        return collector.reports("q", sent).bits[:, 0]

    found = dpverify.audit_protocol(RAPPOR, implementation=reports, trials=TRIALS, seed=3)
    assert found.verdict.value == "consistent", found.statement


@pytest.mark.long
@pytest.mark.parametrize("name", QUERIES)
def test_the_vectors_are_those_of_the_client(name: str) -> None:
    written = (FOLDER / f"{name}.json").read_text(encoding="ascii")
    assert written == text(vectors(name, 20, 1))
    listed = json.loads(written)["vectors"]
    assert sum("upload" in call for vector in listed for call in vector["calls"]) >= 20


@pytest.mark.long
@pytest.mark.parametrize("name", QUERIES)
def test_uploads_are_as_long_as_the_query_says_whatever_is_held(name: str) -> None:
    plan = made(name)
    (query,) = plan.content["queries"]
    begin, size = header(plan.hash, 0, largest(query))
    for drawn in (b"\0", b"\xb0" if name == "unary" else b"\xff"):  # the least and the most that can be drawn
        client = Client(plan.data, plan.hash)
        vectors = {"density": [0.5, -0.5, 0.0], "classifier": [1, [0.5, -0.5]]}
        asked = {"strings": "x", "real": 0.5, "weights": [1, 0.05], **vectors}.get(name, 1)
        held = {"bloom": "x", "vector": ["1"] * 5, "unary": [0.4] * 5}.get(query["kind"], asked)
        single = query["instances"] == 1 or query["kind"] == "bloom" or "asks" in query
        held = held if single else [held] * query["instances"]
        upload = client.upload(name, held, entropy=16 * draws(query) * drawn)
        assert (len(upload), upload[: len(begin)]) == (len(begin) + size, begin)


@pytest.mark.parametrize("name", QUERIES)
def test_no_refusal_shows_what_is_held(name: str) -> None:
    plan = made(name)
    (query,) = plan.content["queries"]
    for held in [
        *wrong(query),
        ["secret"] * query["instances"],
        [["secret"] * 5] * query["instances"],
        b"secret",
        {"secret": 1},
    ]:
        client = Client(plan.data, plan.hash)
        with pytest.raises(Refused) as caught:
            client.upload(name, held)
        error: BaseException | None = caught.value
        assert client.memory == {"sent": {}, "cohorts": {}, "values": {}}
        while error is not None:
            shown = repr(error)
            assert "secret" not in shown
            assert "999" not in shown
            error = error.__cause__ or error.__context__


def test_strings_are_spread_evenly_and_by_each_query_in_another_way() -> None:
    texts = [f"word {number}" for number in range(4_000)]
    cells = [[cell({"name": name, "instances": 5}, text) for text in texts] for name in ("a", "b")]
    joint = np.histogram2d(*cells, bins=5)[0]
    assert stats.chisquare(joint.ravel()).pvalue > 1e-6  # 25 pairs of cells: alike often
    assert cell({"name": "a", "instances": 5}, "e\u0301") == cell({"name": "a", "instances": 5}, "\u00e9")


def test_each_query_is_answered_once_and_a_restored_client_knows() -> None:
    plan = made("poisson")
    client = Client(plan.data, plan.hash)
    client.upload("poisson", [0, 1, 1])
    restored = Client(plan.data, plan.hash, json.loads(json.dumps(client.memory)))
    for each in (client, restored):
        with pytest.raises(Refused, match=r"^name must be that of a query that was not answered yet\.$"):
            each.upload("poisson", [0, 1, 1])
    with pytest.raises(Refused, match=r"^name must be that of a query of the manifest\.$"):
        client.upload("secret", 1)


def test_a_string_has_one_permanent_response_and_reports_are_counted() -> None:
    mechanism = Rappor(200, 2, cohorts=3, f=0.9, p=1e-9, q=1 - 1e-9, reports=2)
    plan = manifest([("s", mechanism, 2)], delta="1e-6")
    client = Client(plan.data, plan.hash)
    first = client.upload("s", "e\u0301")
    client = Client(plan.data, plan.hash, client.memory)
    assert client.upload("s", "\u00e9") == first
    assert client.upload("s", "b") != first
    for held in ("\u00e9", "c"):
        with pytest.raises(Refused, match=r"^value must "):
            client.upload("s", held)
    pattern = mechanism.filter.patterns(["b"])[0, client.memory["cohorts"]["s"]]
    kept = np.array([int(bit) for bit in client.memory["values"]["s"][1][1]])
    assert 0.3 < (kept != pattern).mean() < 0.6


def test_a_manifest_has_its_hash_and_version() -> None:
    plan = made("rr")
    other = plan.data.replace(b'"version":1', b'"version":2')
    with pytest.raises(Refused, match=r"^hash must be the SHA-256 of the manifest's bytes\.$"):
        Client(other, plan.hash)
    with pytest.raises(Refused, match="version 1"):
        Client(other, type(plan)(other).hash)
    for memory in ({"sent": {"secret": 1}}, {"sent": 3}, {"values": {"rr": [1]}}, {"cohorts": {"rr": "secret"}}):
        with pytest.raises(Refused, match=r"^memory must") as caught:
            Client(plan.data, plan.hash, memory)
        assert "secret" not in str(caught.value)


def test_the_operating_system_s_entropy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = made("poisson")
    asked: list[int] = []
    monkeypatch.setattr("secrets.token_bytes", lambda size: asked.append(size) or os.urandom(size))
    Client(plan.data, plan.hash).upload("poisson", [0, 0, 0])
    assert asked == [16 * 3]


def test_the_file_runs_by_itself(tmp_path: Path) -> None:
    """Copied alone, in an interpreter without any other package."""
    plan = made("histogram")
    plan.write(tmp_path / "plan.json")
    (tmp_path / "client.py").write_bytes((ROOT / "dpverify/collection/client.py").read_bytes())
    code = f"""
import sys
sys.path = [path for path in sys.path if "packages" not in path] + [{str(tmp_path)!r}]
from client import Client
made = Client(open({str(tmp_path / "plan.json")!r}, "rb").read(), {plan.hash!r})
print(made.upload("histogram", 2, entropy=bytes(80)).hex())
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert bytes.fromhex(done.stdout.strip()) == Client(plan.data, plan.hash).upload("histogram", 2, entropy=bytes(80))


def test_decimals_and_floats_are_rounded_exactly() -> None:
    """The largest word that rounds a coordinate up is below its fraction times 2^128, and the next one is not."""
    plan = manifest([("v", VectorSum(10_000, 1, 7, 0.5))], delta="0.5")
    one = 2**128
    for held in (0.3, "0.3", 1, "1", 2**-75, 5e-324, 1 - 2**-53, "0." + "9" * 40):
        fixed = int(Fraction(held) * one)
        assert not isinstance(held, float) or held < 2**-75 or fixed == Fraction(held) * one
        level, rest = divmod(fixed * 7, one)
        for drawn, up in ((rest, 0), (max(rest - 1, 0), int(rest > 0))):
            words = bytes(16) + drawn.to_bytes(16, "big") + bytes(32)
            upload = Client(plan.data, plan.hash).upload("v", [held], entropy=words)
            assert upload[-1] >> 5 == level + up
