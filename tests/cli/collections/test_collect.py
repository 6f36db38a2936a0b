"""The commands `collect`, `collected` and `release`; what the service does is tested in `tests/serve/`."""

import json
import socket
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dpverify import cli
from dpverify.collection.store import Store
from tests.collection.test_store import FEW, few, messages, uploads


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the options of all three commands, for a batch that lacks one upload."""
    monkeypatch.chdir(tmp_path)
    plan = few()
    plan.write("plan.json")
    store = Store(tmp_path / "day", plan.data, plan.hash)
    store.add(uploads(plan, [1] * (FEW - 1)))
    store.close()
    return ["--hash", plan.hash, "--store", "day"]


def test_a_batch_is_released_where_enough_is_there(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["release", "plan.json", "q", *typed]) == 2
    assert capsys.readouterr().err == f"q must have {FEW} uploads to be released, and has {FEW - 1}.\n"
    assert cli.main(["release", "plan.json", "q", *typed, "--least", "14"]) == 2
    assert capsys.readouterr().err == "--least=14 must be an integer in [15, 24].\n"
    for _ in range(2):
        assert cli.main(["release", "plan.json", "q", *typed, "--least", str(FEW - 1)]) == 0
        folder = Path(capsys.readouterr().out.strip())
        assert folder == Path("day/released/0").resolve()
    assert len(messages(few(), folder)[0]) == FEW - 1
    assert cli.main(["release", "plan.json", "q", *typed[:2], "--store", "dya"]) == 2
    assert capsys.readouterr().err == "--store='dya' must be that of a batch that `dpverify collect` took.\n"
    assert not Path("dya").exists()


def test_what_has_arrived_is_told_and_whether_that_is_enough(
    typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def row() -> str:
        assert cli.main(["collected", "plan.json", *typed]) == 0
        return capsys.readouterr().out.rstrip().splitlines()[-1]

    assert row().split(maxsplit=4) == ["q", "23", "24", "15", "can be, with --least 23"]
    assert cli.main(["release", "plan.json", "q", *typed, *row().split()[-2:]]) == 0
    capsys.readouterr()
    assert row().split() == ["q", "23", "24", "15", "yes"]
    assert cli.main(["collected", "plan.json", *typed, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == [{"query": "q", "uploads": 23, "users": 24, "needed": 24, "least": 15, "state": "released"}]
    assert datetime.now(UTC) - datetime.fromisoformat(found["since"]) < timedelta(hours=1)
    assert cli.main(["collected", "plan.json", *typed[:2], "--store", "dya"]) == 2
    assert capsys.readouterr().err == "--store='dya' must be that of a batch that `dpverify collect` took.\n"


@pytest.mark.parametrize("words", [["collect"], ["collected"], ["release", "q"]])
def test_another_hash_is_told_by_its_option(
    words: list[str], typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([words[0], "plan.json", *words[1:], "--hash", "00", *typed[2:]]) == 2
    said = "--hash='00' must be the SHA-256 of 'plan.json', in 64 digits and letters of 0-9a-f.\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_its_libraries_it_names_what_to_install(
    missing: str, typed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("dpverify.serve.uploads", "dpverify.serve.connections"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert cli.main(["collect", "plan.json", *typed]) == 2
    said = f"The service needs {missing}: pip install '.[serve]' in the folder of dpverify's source.\n"
    assert capsys.readouterr().err == said


def test_a_port_in_use_is_one_sentence(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("uvicorn", reason="the service's libraries are not installed: pip install '.[serve]'")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert cli.main(["collect", "plan.json", *typed, "--port", port]) == 2
    said = f"--port={port} must be a free one, but it is in use; 0 takes any that is free.\n"
    assert capsys.readouterr().err == said
