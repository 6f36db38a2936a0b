"""What docs/stability.md promises of files: the versions of their formats, and that what older ones wrote is read."""

import importlib.metadata
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import sbom
from dpverify import PrivacyLedger, RandomizedResponse, cli
from dpverify.audit.outcome import EXIT_CODES
from dpverify.audit.running import checkpoint
from dpverify.audit.running.checkpoint import Checkpoint, CheckpointError
from dpverify.certificates import checker, contour_checker, step_checker
from dpverify.collection import batches, client, manifest
from dpverify.collection.analysis import sums
from dpverify.guarantee import Adjacency
from dpverify.learning.base import FIXED_SEED
from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.files import model
from dpverify.spending import ledger
from dpverify.spending.lines import DamagedFileError, create
from dpverify.statistics.family import Verdict

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

CERTIFICATE = "docs/certificates/readme.json"

OF_0_2_0 = """\
{"hash":"28e6c583c660680bf9b0b76d90053db404eb5b026ec93c3bc8c8c81e4f690a59",\
"previous":"0000000000000000000000000000000000000000000000000000000000000000",\
"record":{"at_most":null,"delta":"1/1000000","epsilon":"1","kind":"budget","threat_model":null,"version":1}}
{"hash":"22a6030f4ad51ccae75853bfce96a2af468ff867c6447dad695a27477ae91581",\
"previous":"28e6c583c660680bf9b0b76d90053db404eb5b026ec93c3bc8c8c81e4f690a59",\
"record":{"kind":"spend","label":"Monday","runs":[{"count":1,"estimate":"debiased","mean":900.0,"protocol":"poisson",\
"users":100}],"time":"2026-11-28T02:20:11+00:00"}}
"""
VERSION_2 = """\
{"hash":"e5bc410a5b7283740624844d7ad729501fed146f2c7102b74339907b954dd4b7",\
"previous":"0000000000000000000000000000000000000000000000000000000000000000",\
"record":{"at_most":2,"delta":"1/1000000","epsilon":"1","kind":"budget","threat_model":null,"version":2}}
{"hash":"17fb399b81b63a5a119a6cd5b16aa9e25935f039fedf57d1382d57257400cb72",\
"previous":"e5bc410a5b7283740624844d7ad729501fed146f2c7102b74339907b954dd4b7",\
"record":{"kind":"spend","label":"Monday","runs":[{"estimate":"debiased","honest":90,"instances":1,"mean":900.0,\
"protocol":"poisson","users":100}],"time":"2026-11-29T02:00:31+00:00"}}
"""


def test_the_page_has_the_formats_of_the_code() -> None:
    page = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
    rows = {row[0].strip(): row for row in (line.strip("| ").split("|") for line in page.splitlines()) if len(row) >= 3}
    found = [
        " ".join(re.findall(r"`[^`]*`|\"[^\"]*\"|\d+", rows[name][2])).replace("`", "").replace('"', "")
        for name in list(rows)[-10:]
    ]
    assert client.VERSION == manifest.VERSION
    assert found == [
        f"version {ledger._VERSION}",
        f"{manifest.FORMAT} version {manifest.VERSION}",
        f"{batches.VERSION}",
        f"{sums.FORMAT} version {sums.VERSION}",
        checker.FORMAT,
        contour_checker.FORMAT,
        step_checker.FORMAT,
        model._FORMAT,
        model.DISCRIMINANT,
        checkpoint._FORMAT,
    ]


def test_the_page_has_the_exit_statuses_of_the_code() -> None:
    page = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"exit statuses \((.*?)\)", page)
    assert dict(re.findall(r"(\d+) ?([a-z]*)", listed)) == {
        str(EXIT_CODES[Verdict.CONSISTENT]): "",
        str(EXIT_CODES[Verdict.VIOLATES]): "violation",
        "2": "bad",
        str(EXIT_CODES[Verdict.UNDECIDED]): "undecided",
        str(cli._FAULT): "our",
        str(cli._INTERRUPTED): "interrupted",
    }


@pytest.mark.parametrize(("text", "at_most", "honest"), [(OF_0_2_0, None, None), (VERSION_2, 2, 90)])
def test_an_older_ledger_is_read_and_goes_on(
    tmp_path: Path, text: str, at_most: int | None, honest: int | None
) -> None:
    path = tmp_path / "spent.jsonl"
    path.write_text(text, encoding="utf-8")
    ((label, day),) = PrivacyLedger(path).spent().days
    assert (label, day.instances, day.protocol.users, day.honest) == ("Monday", 1, 100, honest)
    spent = PrivacyLedger(path).spend(RandomizedResponse(100, 0.45), 2, label="Tuesday")
    assert [(label, day.instances) for label, day in spent.days] == [("Monday", 1), ("Tuesday", 2)]
    assert PrivacyLedger(path).spent() == spent
    assert (spent.adjacency, spent.at_most) == (Adjacency.REPLACE_ONE, at_most)


def test_a_model_of_the_last_release_is_read() -> None:
    """It predicts what it did there; its guarantee is that of its settings, which its parameters are proved to keep."""
    read = model.load_model(ROOT / "tests/learning/files/of_0_2_0.npz")
    assert isinstance(read, PrivateDensityClassifier)
    found = read.decision_function(np.eye(3) * [0.5, -0.25, 0.125])
    np.testing.assert_allclose(found, [0.2905889862177141, -0.47862075074722693, -0.21895520243031383], rtol=1e-12)
    assert (read.classes_.tolist(), read.empty_classes_.tolist()) == (["no", "yes"], ["zoo"])
    promised = read.guarantee_
    assert (promised.point.epsilon, promised.epsilon, promised.notes) == (2.0, 5.5, (FIXED_SEED,))


def test_a_newer_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "spent.jsonl"
    record = {"at_most": None, "delta": "1/1000", "epsilon": "1", "kind": "budget", "threat_model": None}
    create(path, {**record, "version": ledger._VERSION + 1})
    with pytest.raises(DamagedFileError, match=r"^path='.*' is no ledger of this version of dpverify\.$"):
        PrivacyLedger(path).spent()

    path = tmp_path / "model.npz"
    np.savez(path, header=np.array(json.dumps({"format": "dpverify-classifier-3"})))
    with pytest.raises(ValueError, match=r"must be a model .* \(its format is 'dpverify-classifier-3'\)\.$"):
        model.load_model(path)

    with pytest.raises(ValueError, match="format must be 'dpverify certificate 2'"):
        checker.checked({**json.loads((ROOT / CERTIFICATE).read_text()), "format": "dpverify certificate 3"})


def test_a_checkpoint_of_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "audit.npz"
    with monkeypatch.context() as newer:
        newer.setattr(checkpoint, "_FORMAT", "dpverify audit checkpoint 3")
        Checkpoint(path, {"seed": "1"}).save({})
    with pytest.raises(CheckpointError, match="belongs to an audit with another format"):
        Checkpoint(path, {"seed": "1"}).load()


def test_the_release_is_cited_as_it_is() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {PROJECT['version']}\n" in cited
    released = re.search(
        rf"^## \[{PROJECT['version']}\] - (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M
    )
    assert released
    assert f"date-released: {released[1]}\n" in cited


def test_a_bill_of_materials_is_whole_or_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def distribution(name: str) -> Any:
        if name == "numpy":
            raise importlib.metadata.PackageNotFoundError
        return importlib.metadata.distribution(name)

    with pytest.raises(SystemExit, match=r"^serv must be extras of dpverify\.$"):
        sbom.bill("dpverify", {"serv", "serve"})
    monkeypatch.setattr(sbom, "distribution", distribution)
    with pytest.raises(SystemExit, match=r"^numpy is not installed: the bill would not be whole\.$"):
        sbom.bill("dpverify", set())
