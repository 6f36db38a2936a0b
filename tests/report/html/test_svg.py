"""Figures take the page's colours, and say where their points are."""

import json
import xml.etree.ElementTree as ElementTree

from dpverify.report.charts import Series, chart
from dpverify.report.html.svg import Mark, svg

NAME = '<b>&amp;</b> "x"'


def drawn(name: str = "one") -> ElementTree.Element:
    figure = chart([Series(NAME, [1.0, 2.0, 4.0], [1.0, 2.0, 3.0])], x="x", y="y", log="x", level=("line", 2.0))
    marks = [Mark(0, 1.0, 1.0, NAME), Mark(0, 4.0, 3.0, "last")]
    return ElementTree.fromstring(svg(figure, figure.axes[0], name, marks))


def test_no_colour_is_fixed_and_nothing_is_fetched() -> None:
    text = ElementTree.tostring(drawn(), encoding="unicode")
    assert "var(--series-1)" in text
    assert "currentColor" in text
    assert "#0072" not in text
    assert "<style" not in text
    assert "font-family" not in text
    assert all(value.startswith("#") for element in drawn().iter() for key, value in element.items() if "href" in key)


def test_identifiers_are_the_plots_own_and_lead_somewhere() -> None:
    root = drawn("own")
    known = {element.get("id") for element in root.iter()} - {None}
    assert all(str(name).startswith("own-") for name in known)
    links = [v for e in root.iter() for k, v in e.items() if k.endswith("href") or k == "clip-path"]
    assert links
    assert {link.removeprefix("url(").rstrip(")").removeprefix("#") for link in links} <= known


def test_points_lie_where_they_are_drawn() -> None:
    root = drawn()
    points = json.loads(root.attrib["data-points"])
    assert [point["t"] for point in points] == [NAME, "last"]
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert all(0 < point["x"] < width and 0 < point["y"] < height for point in points)
    # The markers of the line stand at the same places.
    places = {
        (round(float(e.get("x", "0")), 1), round(float(e.get("y", "0")), 1)) for e in root.iter() if "use" in e.tag
    }
    assert {(point["x"], point["y"]) for point in points} <= places


def test_it_is_the_same_each_time() -> None:
    assert ElementTree.tostring(drawn()) == ElementTree.tostring(drawn())
