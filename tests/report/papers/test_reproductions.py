"""Experiments as they are printed, written and drawn."""

import pytest

from dpverify.report.papers.reproductions import (
    experiments_table,
    reproduction_csv,
    reproduction_figure,
    reproduction_table,
)
from dpverify.reproduction.experiment import Finding, Panel, Reproduction, experiments
from tests.report.printing import printed

ROWS = (
    {"way": "exact", "epsilon": 1.0, "accuracy": 0.5},
    {"way": "exact", "epsilon": 2.0, "accuracy": 0.75},
    {"way": "published", "epsilon": 1.0, "accuracy": None},
    {"way": "published", "epsilon": float("inf"), "accuracy": 0.1},
)
FOUND = Reproduction(
    "x-figure-1", "x, Figure 1", "accuracy", "few points", ROWS, (Finding("it rises", True, "from .5 to .75"),),
    (Panel("all", "epsilon", "accuracy", "way", ROWS, "ε (nats)", "accuracy"),), ("A note.",),
)  # fmt: skip


def test_the_table_has_rows_findings_and_notes() -> None:
    text = printed(reproduction_table(FOUND))
    for part in (
        "x, Figure 1: accuracy; few points",
        "0.75",
        "none",
        "Holds here: it rises (from .5 to .75).",
        "A note.",
    ):
        assert part in text
    assert all(experiment.name in printed(experiments_table(experiments())) for experiment in experiments())


def test_rows_are_written_as_values() -> None:
    assert reproduction_csv(FOUND).splitlines()[:2] == ["way,epsilon,accuracy", "exact,1.0,0.5"]


def test_a_figure_has_a_line_for_each_way_that_has_points() -> None:
    figure = reproduction_figure(FOUND)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["exact"]
    with pytest.raises(ValueError, match="x-figure-1 has no figure"):
        reproduction_figure(Reproduction("x-figure-1", "", "", "", ROWS, ()))
