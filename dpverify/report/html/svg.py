"""Matplotlib figures as SVG inside a page: in the page's colours and fonts, with the places of their points."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpverify.report.plots import STYLES
from protocols.classes.frozen import dataclass

__all__ = ["Mark", "svg"]

_SVG = "http://www.w3.org/2000/svg"
_POINTS = 72.0
"""The SVG's unit is a point."""
_COLOURS = {colour.lower(): f"var(--series-{number})" for number, (colour, *_) in enumerate(STYLES, 1)} | {
    "#000000": "currentColor",
    "#ffffff": "none",
    "#b0b0b0": "var(--grid)",
    "#666666": "var(--muted)",
}
"""What the figures' colours are on a page, which may be light or dark."""
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_IDENTIFIER = re.compile(r"(url\(#|^#)([^)]+)")


@dataclass(frozen=True)
class Mark:
    """A point that a reader can ask for.

    - series: Which line it is on, from 0.
    - x, y: Where, in the units of the axes.
    - text: What is said about it.
    """

    series: int
    x: float
    y: float
    text: str


def svg(figure: Figure, axes: Axes, name: str, marks: Sequence[Mark]) -> str:
    """Return a figure as an SVG element; its points, as JSON in pixels of its view box, are an attribute.

    - figure: Drawn in the styles of `dpverify.report.plots`.
    - axes: The axes that the marks are in.
    - name: Of the plot, unique on the page: all its identifiers begin so.
    - marks: In reading order.
    """
    figure.set_dpi(_POINTS)
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    height = figure.get_figheight() * _POINTS
    places = axes.transData.transform([(mark.x, mark.y) for mark in marks]).tolist() if marks else []
    points = [
        {"s": mark.series, "x": round(x, 1), "y": round(height - y, 1), "t": mark.text}
        for mark, (x, y) in zip(marks, places, strict=True)
    ]
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(text.getvalue())
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            element.set(key, _themed(key.rpartition("}")[2], value, name))
    for key in ("width", "height"):
        root.attrib.pop(key, None)
    for extra in (*root.findall(f"{{{_SVG}}}metadata"), *root.findall(f"{{{_SVG}}}defs[{{{_SVG}}}style]")):
        root.remove(extra)  # a style would be the whole page's
    root.set("aria-hidden", "true")  # the table beside it says the same
    root.set("focusable", "false")
    root.set("data-points", json.dumps(points, ensure_ascii=False, separators=(",", ":")))
    return ElementTree.tostring(root, encoding="unicode")


def _themed(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key in {"href", "clip-path"}:
        return _IDENTIFIER.sub(rf"\g<1>{name}-\g<2>", value)
    if key != "style":
        return value
    value = _IDENTIFIER.sub(rf"\g<1>{name}-\g<2>", value)
    value = re.sub(r"font-family: [^;]*;? ?", "", value)
    return _COLOUR.sub(lambda colour: _COLOURS.get(colour[0].lower(), colour[0]), value)
