"""Charts show what they are given, and no more than can be told apart."""

import pytest

from dpverify.guarantee import Interval
from dpverify.report.charts import Series, bars, chart, side_by_side


def test_a_chart_draws_each_series_in_a_style_of_its_own() -> None:
    figure = chart(
        [
            Series("exact", [1.0, 2.0], [Interval(0.5, 1.0), 2.0]),
            Series("drawn", [1.0, 2.0], [1.0, 2.0], "points"),
            Series("law", [0, 1], [0.5, 0.5], "steps"),
        ],
        x="users",
        y="error (users)",
        title="Errors",
        log="y",
        level=("claim", 1.5),
    )
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["exact", "law", "drawn"]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == ("users", "error (users)", "log")
    assert len({line.get_linestyle() for line in axes.get_lines()}) > 2
    assert any(text.get_text() == "claim" for text in axes.texts)


@pytest.mark.parametrize(("values", "side"), [([0.2, 0.6, 0.95], "left"), ([0.95, 0.6, 0.2], "right")])
def test_the_name_of_a_level_stands_where_no_series_ends(values: list[float], side: str) -> None:
    (axes,) = chart([Series("one", [1.0, 2.0, 3.0], values)], x="", y="", level=("level", 0.9)).axes
    assert [text.get_horizontalalignment() for text in axes.texts] == [side]


def test_five_series_are_too_many() -> None:
    with pytest.raises(ValueError, match="series holds 5 series, but at most 4"):
        chart([Series(str(index), [1.0], [1.0]) for index in range(5)], x="", y="")


def test_charts_stand_side_by_side_and_bars_have_their_values() -> None:
    figure, (left, right) = side_by_side(2)
    assert chart([Series("one", [1.0], [1.0])], x="", y="", axes=left) is figure
    assert bars(["a", "b"], [1.0, 20.0], x="seconds", log=True, axes=right) is figure
    assert [text.get_text() for text in right.texts] == ["1", "20"]
    assert right.get_xscale() == "log"


def test_a_logarithmic_axis_of_one_decade_has_numbers_that_can_be_read() -> None:
    (axes,) = chart([Series("one", [20.0, 300.0], [1.0, 2.0])], x="", y="", log="x").axes
    axes.figure.canvas.draw()
    shown = [label.get_text() for label in axes.get_xticklabels() if label.get_text()]
    assert {"20", "50", "100", "200"} <= set(shown)
    assert not any(label.get_text() for label in axes.get_xticklabels(minor=True))
