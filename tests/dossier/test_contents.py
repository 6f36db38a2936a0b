"""A report's contents are plain values, text and a page."""

import html
import json
from pathlib import Path

import pytest

from dpverify.dossier.contents import Curve, Curves
from dpverify.guarantee import Interval
from tests.dossier.small import HOSTILE, small, small_page
from tests.refusals import refused


@pytest.mark.long
def test_it_is_plain_values() -> None:
    values = json.loads(json.dumps(small().to_dict(), allow_nan=False))
    assert values["title"] == HOSTILE
    assert values["recommended"] == {"bitsum": "rr", "method": "exact"}
    assert values["joint"] is None
    assert len(values["plans"]["rows"]) == 18
    assert any(theorem["name"] == "cheu2019-lemma-4.8" for theorem in values["theorems"])


def test_what_is_not_known_has_no_number() -> None:
    curves = Curves((Curve("a", (1.0, 2.0), (Interval(0.5, 1.0), None)),), ("why",))
    assert curves.to_dict()["lines"][0]["y"] == [{"lower": 0.5, "upper": 1.0}, None]
    assert curves.to_dict()["notes"] == ["why"]


def test_rows_of_the_recommended_protocol_are_found() -> None:
    found = small()
    assert (found.published.bitsum, found.published.method) == ("rr", "published")
    assert found.joint_plan is None
    assert found.chosen.bitsum_rmse < found.published.bitsum_rmse


@pytest.mark.long
def test_it_is_text_a_frame_and_a_data_frame() -> None:
    assert "Recommended: rr, exact." in str(small())
    shown = small()._repr_html_()
    assert shown.startswith("<iframe")
    assert "<script" not in shown  # a frame's page is an attribute, escaped as a whole
    assert html.unescape(html.unescape(shown)).count("<h2") > 5
    pytest.importorskip("pandas")
    assert len(small().to_dataframe()) == len(small().plans.rows)


@pytest.mark.long
def test_it_is_saved_whole(tmp_path: Path) -> None:
    path = small().save(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == small_page()
    assert list(tmp_path.iterdir()) == [path]
    with refused("path"):
        small().save(str(tmp_path / "report.pdf"))
