"""The command prints the entries, all of it or a part."""

import json

import pytest

from dpverify import cli
from dpverify.evidence import ContradictedError
from dpverify.evidence.theorems import find, theorems


def test_the_command_prints_all_theorems(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["theorems", "--json"]) == 0
    assert [t["name"] for t in json.loads(capsys.readouterr().out)["theorems"]] == [t.name for t in theorems()]
    assert cli.main(["theorems", "cheu2019"]) == 0
    printed = capsys.readouterr().out
    assert "Lemma 4.8" in printed
    assert max(map(len, printed.splitlines())) <= 100
    assert cli.main(["theorems", "show", "cheu2019"]) == 0
    assert capsys.readouterr().out == printed


def test_a_part_of_a_name_chooses_and_tells_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["theorems", "Lemma-4", "--json"]) == 0
    chosen = json.loads(capsys.readouterr().out)["theorems"]
    assert chosen == [theorem.to_dict() for theorem in find("lemma-4")]
    assert {theorem.name for theorem in theorems() if "lemma-4" in theorem.name} <= {row["name"] for row in chosen}
    assert 1 < len(chosen) < len(theorems())
    texts = []
    for words in ([], ["lemma-4"]):
        assert cli.main(["theorems", *words]) == 0
        texts.append(" ".join(capsys.readouterr().out.split()))
    # Only a choice shows what was found about each.
    findings = [theorem["finding"].split()[:4] for theorem in chosen]
    assert all(" ".join(words) in texts[1] for words in findings)
    assert not all(" ".join(words) in texts[0] for words in findings)


def test_words_find_what_they_are_about(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for words in (["Theorem", "3.2"], ["theorem 3.1"], ["3nb"], ["hoeffding"]):
        assert cli.main(["theorems", *words, "--json"]) == 0
        found[" ".join(words)] = {row["name"] for row in json.loads(capsys.readouterr().out)["theorems"]}
    # The other version of the document calls it Theorem 3.1.
    assert "wagner2025-theorem-3.2-privacy" in found["Theorem 3.2"] & found["theorem 3.1"]
    assert {"wagner2025-a2-three-nb", "wagner2025-section-4.2-3nb"} <= found["3nb"]
    assert "ghazi2021-lemma-28-hoeffding" in found["hoeffding"]


def test_the_evidence_is_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    name = "scott2022-theorem-4.1-composition"
    assert cli.main(["theorems", "check", name, "--quick", "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["agrees"]
    assert {name for row in found["checks"] for name in row["theorems"]} == {name}
    assert printed.err.startswith(f"[1/{len(found['checks'])}] ")


def test_what_contradicts_the_theorems_is_exit_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def contradicts() -> dict[str, float]:
        raise ContradictedError("It is not so.")

    monkeypatch.setattr("dpverify.evidence.vector_sum.optimal_composition", contradicts)
    assert cli.main(["theorems", "check", "scott2022-theorem-4.1-composition", "--quick"]) == 1
    assert "It is not so." in " ".join(capsys.readouterr().out.split())


def test_figures_that_changed_are_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.evidence.vector_sum.optimal_composition", lambda: {"worst_ratio": 5.0})
    assert cli.main(["theorems", "check", "scott2022-theorem-4.1-composition", "--quick"]) == 1
    assert "worst_ratio was" in " ".join(capsys.readouterr().out.split())
