"""`dpverify account --certificate`, and `dpverify check`."""

from pathlib import Path
from typing import Any

import pytest

from dpverify.cli import main
from dpverify.collection.manifest import manifest
from dpverify.collection.query import Asked
from protocols.bitsum import Poisson, RandomizedResponse
from protocols.sums import PoissonSum

PROOF = {"file": "proof.json", "sha256": "0" * 64}


def test_an_account_writes_a_certificate_that_the_command_checks(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "rr.json"
    words = ["account", "local-rr", "--flip-probability", "0.4", "--instances", "4"]
    assert main([*words, "--delta", "1e-5", "--certificate", str(file)]) == 0
    assert f"dpverify check {file}" in capsys.readouterr().err
    assert main(["check", str(file)]) == 0
    assert "flip_probability 0.4: each user's own messages" in capsys.readouterr().out
    file.write_text(file.read_text().replace('"0.4"', '"0.3"'))
    assert main(["check", str(file)]) == 1
    assert capsys.readouterr().out.startswith("Refused: ")
    assert main(["check", str(tmp_path / "none.json")]) == 2
    file.write_text(" \n")
    assert f"'{tmp_path / 'none.json'}' must be a certificate or a manifest, but there is no" in capsys.readouterr().err
    assert main(["check", str(file)]) == 2
    assert capsys.readouterr().out == f"Not a certificate: {file} is empty.\n"
    assert main([*words, "--epsilon", "1", "--certificate", str(file)]) == 2
    assert "epsilon=1 must be omitted" in capsys.readouterr().err
    assert main([*words, "--delta", "1e-5", "--certificate", str(tmp_path / "none" / "rr.json")]) == 2
    assert "--certificate" in capsys.readouterr().err


@pytest.mark.long
def test_a_plan_and_a_ledger_write_certificates_of_what_they_print(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpverify.planning.certificate._NODES", 3_072)
    file, ledger = tmp_path / "proof.json", str(tmp_path / "spent.jsonl")
    words = ["--epsilon", "1", "--delta", "1e-5", "--users", "300", "--instances", "4", "--bitsum", "poisson"]
    assert main(["plan", *words, "--certificate", str(file)]) == 2
    assert "one --method" in capsys.readouterr().err
    assert main(["plan", *words, "--method", "exact", "--certificate", str(file)]) == 0
    printed = capsys.readouterr()
    mean = printed.out.partition("--mean ")[2].split()[0]
    epsilon = printed.err.partition("shows epsilon ")[2].split(":")[0]
    assert 0.99 < float(epsilon) < 1.01
    assert main(["check", str(file)]) == 0
    assert f"epsilon {epsilon}, delta 1e-05" in (said := capsys.readouterr().out)
    assert f"users 300, honest 300, mean {mean}:" in said
    main(["spent", ledger, "--new", "--epsilon", "3", "--delta", "1e-5"])
    spend = ["spend", "--certificate", str(file), ledger]
    for _ in range(2):
        assert main([*spend, "poisson", "--users", "300", "--mean", "200", "--instances", "1"]) == 0
    capsys.readouterr()
    # One of all datasets is met in a single run: what can be shown of it is above what is accounted.
    assert main([*spend, "rr", "--users", "60", "--flip-probability", "0.3", "--instances", "2"]) == 0
    assert ", above the " in capsys.readouterr().err
    assert main(["check", str(file)]) == 0
    assert "poisson, instances 2," in (said := capsys.readouterr().out)
    assert "rr, instances 2, users 60, honest 60, flip_probability 0.3:" in said
    file.unlink()
    main(["spent", str(tmp_path / "other.jsonl"), "--new", "--epsilon", "3", "--delta", "1e-5"])
    spend[-1] = str(tmp_path / "other.jsonl")
    assert main([*spend, "central-gaussian", "--sigma", "100", "--instances", "1"]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.long
def test_a_manifest_is_made_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    asked = [Asked("seen", RandomizedResponse(60, 0.25), 3, 50), Asked("word", Poisson(60, 90.0), 4, 50, "buckets")]
    asked.append(Asked("stars", PoissonSum(60, 5, 900.0), 1, 50))
    plan = manifest(asked, delta={1: "1e-3", 7: "1e-3"}, certificates={1: PROOF, 7: PROOF})
    plan.write(file)
    assert main(["check", str(file)]) == 0
    shown = capsys.readouterr().out
    assert f"for SHA-256 {plan.hash}," in shown
    assert f"on any 7 days epsilon {plan.guarantees[1]['epsilon']}, delta 0.001" in shown
    assert "word: buckets, 4 of poisson, of 50 honest users at least, 41 bytes an upload" in shown
    assert "stars: numbers, 1 of poisson-sum, of 50" in shown
    (tmp_path / "proof.json").write_text("another")
    assert main(["check", str(file)]) == 1
    assert "another certificate" in capsys.readouterr().out
    (tmp_path / "proof.json").unlink()
    epsilon = plan.guarantee["epsilon"].encode()
    for old, new, status, said in (
        (epsilon, b"0.1", 1, "on 1 day epsilon is"),
        (b'"shift":["c', b'"shift":["b', 1, "other tables"),
        (b'"instances":3', b'"instances":4', 1, "epsilon is"),
        (b'"charged":{"probability":"', b'"charged":{"probability":"0', 1, "other tables"),
        (b'":', b'" : ', 1, "so that its SHA-256 is "),
        (b'"version":1', b'"version":true', 1, f"and not {plan.hash}."),
        (b'"protocol":"rr"', b'"protocol":"none"', 2, "Not a manifest"),
        (b'"version":1', b'"version":2', 2, "Not a manifest"),
    ):
        assert plan.data.count(old)
        file.write_bytes(plan.data.replace(old, new, 1))
        assert main(["check", str(file)]) == status
        assert said in capsys.readouterr().out


def test_a_manifest_promises_no_less_than_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, proof = tmp_path / "plan.json", tmp_path / "proof.json"
    plan = manifest([Asked("seen", RandomizedResponse(60, 0.25), 1, 50)], delta="1e-3", certificates={1: PROOF})
    proof.write_text("another")
    for data, said in (
        (plan.data, f"Refused: {proof} is another certificate than that of the manifest."),
        (plan.data.replace(plan.guarantee["epsilon"].encode(), b"0.1", 1), "Refused: on 1 day epsilon is "),
    ):
        file.write_bytes(data)
        assert main(["check", str(file)]) == 1
        assert capsys.readouterr().out.startswith(said)


def test_a_device_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "/dev/null"]) == 2
    assert "must be a certificate or a manifest, but it is no file." in capsys.readouterr().err
