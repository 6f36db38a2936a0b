"""Figures of findings: recorded in files, filled into sentences, never typed."""

from pathlib import Path

import pytest

from dpverify.papers import figures
from dpverify.papers.figures import filled, names_in, record, recorded


def test_a_template_is_filled_and_what_is_missing_is_told() -> None:
    assert names_in("{a:.2e} of {b}, in {{0, 1}}") == {"a", "b"}
    assert filled("{a:.1e} of {b}, in {{0, 1}}", {"a": 0.0126, "b": 3}) == "1.3e-02 of 3, in {0, 1}"
    assert filled("{a:.1e}", {}) == "(not computed yet)"


def test_recording_leaves_other_checks_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    record({"subject:one": {"a": 1.5}, "other:one": {"b": "x"}})
    record({"subject:two": {"a": 2}})
    assert recorded("subject:one") == {"a": 1.5}
    assert recorded("subject:two") == {"a": 2}
    assert recorded("other:one") == {"b": "x"}
    assert recorded("other:two") == {} == recorded("nothing:one")
    monkeypatch.undo()
    figures._file.cache_clear()
