"""Experiments are found by name or by words, and a result is plain data."""

import json

import pytest

from dpverify.reproduction.experiment import Finding, Reproduction, experiments, find_experiments


def test_the_figures_and_tables_of_the_first_source_are_there() -> None:
    names = {experiment.name for experiment in experiments()}
    assert names >= {f"wagner2025-{kind}-{number}" for kind in ("figure", "table") for number in range(1, 9)}
    assert len(names) == len(experiments())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("wagner2025-figure-2", {"wagner2025-figure-2"}),
        ("Wagner2025 table 7", {"wagner2025-table-7"}),
        ("messages", {"wagner2025-figure-2"}),
        ("nothing of this kind", set()),
        ("", set()),
    ],
)
def test_lookup_forgives(text: str, names: set[str]) -> None:
    assert {experiment.name for experiment in find_experiments(text)} == names


def test_a_result_is_json_and_says_what_holds() -> None:
    finding = Finding("up is up", False, "it went down")
    found = Reproduction("x-figure-1", "x, Figure 1", "ups", "data", ({"a": 1, "b": float("inf")},), (finding,))
    assert json.loads(json.dumps(found.to_dict()))["rows"] == [{"a": 1, "b": "inf"}]
    assert str(finding) == "Does not hold here: up is up (it went down)."
    assert "Does not hold here: up is up" in str(found)
