"""The command `aggregate`: batches in, estimates out, after they were paid for; an alarm has status 1."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from dpverify.cli import main
from dpverify.collection.analysis.sums import Sums
from dpverify.collection.manifest import manifest
from dpverify.collection.query import Asked, Query
from dpverify.spending.ledger import PrivacyLedger
from protocols.bitsum import Poisson, RandomizedResponse
from tests.collection.analysis.collected import write

PLAN = manifest([("a", RandomizedResponse(80, 0.25), 2)], delta="1e-3")


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PLAN.write("plan.json")
    ones = {"Monday": (40, 50), "Tuesday": (40, 80)}
    for batch, sent in ones.items():
        fields = {("a", place): np.sort(np.arange(80) < count)[:, np.newaxis] for place, count in enumerate(sent)}
        write(PLAN, tmp_path / batch, {key: value.astype(np.int64) for key, value in fields.items()}, 80, batch)
    return tmp_path


def test_batches_and_their_sums_say_the_same(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PrivacyLedger.create("ledger.jsonl", ("9", "1e-3"))
    assert main(["aggregate", "plan.json", "Monday", "--ledger", "ledger.jsonl", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in found["rows"]] == [40, 60]
    assert found["batches"] == ["Monday"]
    assert [len(line) for line in (collection / "ledger.jsonl").read_text().splitlines()] != []
    for place in (0, 1):
        assert main(["aggregate", "plan.json", f"Monday/0-{place}", "--sums", f"{place}.json"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["aggregate", "plan.json", "0.json", "1.json", "--ledger", "ledger.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found  # the same sums: nothing more is spent


def test_an_alarm_has_a_status_of_its_own(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aggregate", "plan.json", "Tuesday"]) == 1
    assert "ALARM, a: 1 of 2 counts, such as 80," in capsys.readouterr().out
    for words in (["Monday/0-0"], ["Monday", "Monday"], ["plan.json"], ["nothing"], ["Monday", "--ledger", "none"]):
        assert main(["aggregate", "plan.json", *words]) == 2


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("empty", None, "The folder 'empty' has no batches."),
        ("a.json", b"[1]", "path='a.json' must be sums of this manifest, as `to_json` writes them."),
        ("a.json", b"[" * 100_000, "path='a.json' must be sums .*: it is nested too deeply."),
        ("a.batch", b"query", "path='a.batch' must be a batch of this manifest, but it does not begin as one."),
        ("a.parquet", b"query", "must be Parquet files with the columns query, instance, symbol: [^\n]*"),
    ],
)
def test_what_is_no_batch_is_told_by_its_name(
    name: str, data: bytes | None, said: str, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).mkdir() if data is None else Path(name).write_bytes(data)
    assert main(["aggregate", "plan.json", name]) == 2
    assert re.search(f"{said}\n$", capsys.readouterr().err)
    assert main(["aggregate", name, "Monday"]) == 2
    assert re.search("must be a (manifest|file)", capsys.readouterr().err)


def test_a_density_is_estimated_at_the_points_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("a=b", "other")
    bits = RandomizedResponse(80, 0.25)
    plan = manifest(
        [Query(name, density=30, dimension=2, bandwidth=1).asked(bits, None) for name in names], delta="1e-3"
    )
    plan.write("plan.json")
    users, counts = dict.fromkeys(names, np.full(30, 80)), dict.fromkeys(names, np.full((30, 2), 40))
    sums = Sums(plan.hash, users, counts)
    Path("sums.json").write_text(sums.to_json())
    np.save("grid.npy", np.zeros((3, 2)))
    assert main(["aggregate", "plan.json", "sums.json", "--at", "a=b=grid.npy", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["of"], row["bucket"], abs(row["value"]) < 1e-9) for row in rows] == [
        ("density", place, True) for place in range(3)
    ]
    np.save("others.npy", np.zeros((2, 2)))
    two = ["--at", "a=b=grid.npy", "--at", "other=others.npy"]
    assert main(["aggregate", "plan.json", "sums.json", *two, "--json"]) == 0
    shown = [row["query"] for row in json.loads(capsys.readouterr().out)["rows"]]
    assert shown == ["a=b"] * 3 + ["other"] * 2
    for wrong in ("grid.npy", "a=b=nothing.npy", "c=grid.npy"):
        assert main(["aggregate", "plan.json", "sums.json", "--at", wrong]) == 2
    capsys.readouterr()
    assert main(["aggregate", "plan.json", "sums.json", *two, "--at", "other=grid.npy"]) == 2
    assert capsys.readouterr().err == "--at='other=grid.npy' must be QUERY=FILE, each query once.\n"


def test_a_file_of_candidates_is_read_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = manifest([Asked("words", Poisson(20, 900.0), 2, 20, "strings")], delta="1e-3")
    plan.write("plan.json")
    Path("sums.json").write_text(Sums(plan.hash, {"words": np.full(2, 20)}, {"words": np.full((2, 1), 910)}).to_json())
    Path("words.txt").write_bytes("\ufeffone\u2028line\r\n\x0ctwo\n\n".encode())
    assert main(["aggregate", "plan.json", "sums.json", "--candidates", "words.txt", "--json", "--alarm", "1e-9"]) < 2
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {text for row in rows for text in row["strings"]} == {"one\u2028line", "\x0ctwo", ""}
    Path("words.txt").write_bytes(b"\xff\n")
    assert main(["aggregate", "plan.json", "sums.json", "--candidates", "words.txt"]) == 2
    assert capsys.readouterr().err == "--candidates='words.txt' must be text in UTF-8.\n"
