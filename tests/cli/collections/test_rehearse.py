"""The command `dpverify rehearse`: a day from a manifest to a table, and numbers that are none."""

from pathlib import Path

import pytest

from dpverify import cli
from dpverify.collection.manifest import manifest
from protocols.bitsum import RandomizedResponse


def test_a_day_is_written_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest([("bits", RandomizedResponse(1_000, 0.1), 2, 900)], delta="1e-6").write(tmp_path / "plan.json")
    words = ["rehearse", str(tmp_path / "plan.json"), str(tmp_path / "days"), "--offline", "0.05"]
    assert cli.main([*words, "--users", "1e3"]) == 0
    assert "1,000 users, 50 of them silent" in capsys.readouterr().out
    assert len(list((tmp_path / "days" / "day-1").iterdir())) == 2
    for wrong in (["--users", "1.5"], ["--cheats", "0.2"]):
        assert cli.main([*words, *wrong]) == 2
        assert "must" in capsys.readouterr().err
    (tmp_path / "plan.json").write_text("{}")
    assert cli.main(words) == 2
    assert capsys.readouterr().err.endswith(" must be a manifest: format must be 'dpverify manifest', and version 1.\n")
