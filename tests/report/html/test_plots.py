"""The plots of a report hold what their tables hold."""

import json
import math
import re
from dataclasses import replace
from importlib.resources import files

import pytest

from dpverify.dossier.contents import Curve, Curves, Evidence
from dpverify.dossier.gather import full_report
from dpverify.guarantee import Interval
from dpverify.planning.sums.fronts import sum_front
from dpverify.planning.sums.peers import VectorPeer
from dpverify.planning.sums.vectors import vector_front
from dpverify.report.html import plots as module
from dpverify.report.html.plots import beside_curves, crowd_curves, interval, missing, plots
from tests.dossier.small import audit, small


def test_intervals_are_rounded_outwards() -> None:
    assert interval(None) == ""
    assert interval(Interval(math.inf, math.inf)) == "inf"
    assert interval(Interval(1.0, math.inf)) == "[1, inf]"
    assert interval(Interval(61.923765, 61.923765)) == "61.92"
    assert interval(Interval(3921.46, 3921.46)) == "3,921"
    assert interval(Interval(0.1234567, 0.1234568)) == "[0.12345, 0.12346]"


def test_every_plot_has_a_figure_a_table_and_points() -> None:
    found = plots(small())
    assert list(found) == ["profile", "tail", "loss", "users", "epsilon", "crowd", "evidence"]
    for name, plot in found.items():
        assert plot.name == name
        assert plot.figure.startswith("<svg")
        assert all(len(row) == len(plot.headers) for row in plot.rows)
        assert len(plot.rows) >= 2


def test_a_table_has_every_value_and_a_plot_only_what_can_be_drawn() -> None:
    line = Curve("a", (1.0, 2.0, 3.0), (Interval(0.5, 0.75), Interval(1.0, math.inf), None))
    plot = module._plot("name", "", "", Curves((line,)), x="x", y="y", log="xy")
    assert plot.rows == (("1", "[0.5, 0.75]"), ("2", "[1, inf]"), ("3", ""))
    points = json.loads(re.search(r'data-points="([^"]*)"', plot.figure)[1].replace("&quot;", '"'))  # type: ignore[index]
    assert [point["t"] for point in points] == ["a: x 1, y [0.5, 0.75]"]
    assert module._plot("name", "", "", Curves(), x="x", y="y", log="") is None


def test_a_crowd_without_a_plan_says_why() -> None:
    crowd = small().crowd
    found = crowd_curves(crowd)
    assert [line.label for line in found.lines] == ["rr", "3nb", "local-rr"]
    assert found.lines[0].x == tuple(map(float, crowd.fractions))


def losses(**changed: object) -> list[object]:
    return [{"loss": 0.0, "lower": 0.5, "upper": 1.0, "exact": 1.0, **changed}]


WRONG = (losses(loss="x"), losses(upper=math.nan), losses(lower=2.0), losses(exact=10**400), losses() * 2_000)


@pytest.mark.parametrize("rows", [None, [], "text", [1], [{}], *WRONG], ids=lambda rows: str(rows)[:60])
def test_losses_of_an_audit_that_are_no_numbers_are_left_out(rows: object) -> None:
    assert module._evidence(audit()).lines
    left_out = module._evidence(audit(loss_rows=rows))
    assert not left_out.lines
    assert left_out.notes


def test_every_plot_that_the_page_asks_for_can_be_missing_with_its_reason() -> None:
    template = files("dpverify.report.html").joinpath("page.html.j2").read_text(encoding="utf-8")
    asked = re.findall(r'"(\w+)"', " ".join(re.findall(r"figures\((\[.*?\])\)", template)))
    assert set(asked) == set(plots(small()))
    nothing = Curves((), ("Nobody knows.",))
    evidence = Evidence("Ours.", audit(loss_rows=[]))
    bare = replace(
        small(),
        profile=nothing,
        tail=nothing,
        losses=nothing,
        by_users=nothing,
        by_epsilon=nothing,
        crowd=None,
        left_out={"crowd": "No time."},
        audit=evidence,
    )
    assert plots(bare) == {}
    for name in asked:
        assert missing(bare, (), [name]), name
    assert "No plot of the outputs&#39; privacy loss: " in bare.to_html()
    assert missing(replace(bare, audit=None), (), ["evidence"]) == []


def test_fronts_of_numbers_and_vectors_stand_beside() -> None:
    numbers = sum_front((1, "1e-4"), users=60, smallest=1, largest=5, steps=(1, 2))
    vectors = vector_front((1, "1e-4"), users=60, dimension=4, max_bytes=(0.01, 30))
    with_fronts = replace(small(), beside=(numbers, vectors))
    drawn = plots(with_fronts)
    what, curator, curves = beside_curves(numbers)
    assert drawn["beside-0"].title == f"Sums of {what}" == "Sums of integers from 1 to 5"
    assert {line.label for line in curves.lines} == {row.name for row in numbers.rows}
    assert curator == numbers.curator
    least = {x: y for line in curves.lines for x, y in zip(line.x, line.y, strict=True)}
    assert least[numbers.best.messages] == Interval(numbers.best.rmse, numbers.best.rmse)
    assert beside_curves(vectors)[1] == vectors.plans[0].central_rmse
    assert drawn["beside-1"].notes == tuple(vectors.failures.values()) != ()
    peer = VectorPeer("another", 1, 16, 9.0, 3.0, "a shuffler", "somebody")
    beside = replace(vectors, peers=(peer,))
    assert beside_curves(beside)[2].lines[-1].x == (1.0,)
    assert "another" in str(beside)
    assert beside.plot().lines[1].get_xydata().tolist() == [[16.0, 3.0]]
    names = ("one bit per coordinate", "PrivUnit, shuffled", "PREAMBLE, all blocks", "PREAMBLE, 50% of the blocks")
    peers = tuple(replace(peer, name=name, rmse=9.0 + place) for place, name in enumerate(names))
    beside = replace(vectors, peers=peers)  # all that there are, in as many curves as can be told apart
    assert [line.label for line in beside_curves(beside)[2].lines][1:] == [*names[:1], "PrivUnit", "PREAMBLE"]
    assert "--dimension 4 --peers" in replace(small(), beside=(beside,)).to_html()
    page = with_fronts.to_html()
    assert "Numbers and vectors" in page
    assert "--smallest=1 --largest=5 --dimension 4" in page
    assert "Numbers and vectors" not in small().to_html()
    assert len(with_fronts.to_dict()["beside"]) == 2
    with pytest.raises(ValueError, match=r"^beside must hold fronts of budget=\(1, 0\.0001\) and users=61 only\.$"):
        full_report((1, "1e-4"), users=61, instances=1, beside=(numbers,))
