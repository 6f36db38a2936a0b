"""Every sentence with which a command refuses is the one of its file in `tests/golden/`."""

from pathlib import Path

import pytest

from tests.golden import GOLDEN, lines, prepare, said


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.txt")))
def test_refusals_are_those_of_the_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpverify.audit.running.target.code_identity", lambda *_: {})  # no refusal of these needs it
    prepare(tmp_path)
    for line, expected in lines(GOLDEN / f"{name}.txt"):
        assert said(line) == expected, f"$ {line}"
