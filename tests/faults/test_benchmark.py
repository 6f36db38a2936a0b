"""The benchmark of all faults goes on where it stopped."""

from pathlib import Path

import pytest

from benchmarks.audit_faults import main


@pytest.mark.long
def test_the_benchmark_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store.jsonl"
    for command in (["faults", "--only", "laplace-tail"], ["correct", "--audits", "3", "--draws", "200"], ["slack"]):
        main([*command, "--quick", "--store", str(store)])
        lines, first = store.read_text().splitlines(), capsys.readouterr().out
        main([*command, "--quick", "--store", str(store)])
        # The same figures, seconds included, and no audit was done again.
        assert store.read_text().splitlines() == lines
        assert capsys.readouterr().out == first
