"""The command `dpverify audit client`: its verdict is its exit status, and wrong names end in a sentence."""

import pytest

from dpverify import cli
from dpverify.collection.manifest import manifest
from protocols.bitsum import RandomizedResponse
from tests.audit.clients.test_conformance import said


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    return str(path), manifest([("bits", RandomizedResponse(2_000, 0.25), 3)], delta="1e-6").write(path)


@pytest.mark.long
@pytest.mark.parametrize(("fault", "status"), [("none", 3), ("longer", 1), ("crash", 2)])
def test_the_verdict_is_the_status(
    fault: str, status: int, plan: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["audit", "client", plan[0], "--hash", plan[1], "--client", said(fault), "--trials", "200"]
    assert cli.main([*words, "--level", "0.0001"]) == status
    shown = capsys.readouterr()
    assert "bits" in shown.out if status != 2 else "out of luck" in shown.err


def test_another_hash_or_query_is_refused(plan: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    path, hash = plan
    for words in (["--hash", "0" * 64], ["--hash", hash, "--query", "rating"]):
        assert cli.main(["audit", "client", path, *words, "--client", said("none")]) == 2
    shown = capsys.readouterr().err
    assert "hash must be the SHA-256 of the manifest's bytes." in shown
    assert "rating" in shown
