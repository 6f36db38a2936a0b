"""Results as text, in notebooks and as figures."""

import html
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import dpverify
from dpverify.audit.outcome import AuditReport
from dpverify.claims.shared.communication import Communication
from dpverify.guarantee import Budget, Interval
from dpverify.planning.account import account
from dpverify.planning.budgets import split_budget
from dpverify.planning.sweeps.comparison import plan_bitsums
from dpverify.shown import Plain, Shown, flat, plain
from dpverify.statistics.family import AuditResult
from protocols.bitsum import CentralGaussian, LocalRandomizedResponse, RandomizedResponse, ThreeNB
from protocols.local.labels import LabelRandomizedResponse


class Nasty(Shown):
    table_by: ClassVar[str] = "tests.test_shown:nasty_table"


def nasty_table(result: Nasty) -> str:
    return "<script src='x'>alert(1)</script> [bold]&amp;[/bold]"


def test_the_text_is_that_of_the_table_and_the_repr_is_as_it_was() -> None:
    found = account(RandomizedResponse(100, 0.25), instances=2, delta=1e-3)
    lines = str(found).split("\n")
    assert lines[0] == "rr (flip_probability=0.25), n = 100 users, I = 2 instances"
    assert all(line == line.rstrip() and len(line) <= 80 for line in lines)
    assert "\x1b" not in str(found)
    assert repr(found).startswith("AccountResult(name='rr'")


def test_html_is_escaped_and_small() -> None:
    page = Nasty()._repr_html_()
    assert page == f"<pre>{html.escape(str(Nasty()))}</pre>"
    assert "<script" not in page
    assert "[bold]" in page  # no markup of the terminal's either
    found = account(RandomizedResponse(100, 0.25), delta=1e-3)._repr_html_()
    assert "http" not in found
    assert len(found) < 1000


def test_plans_budgets_and_audits_have_texts() -> None:
    bitsums, methods = ["central-gaussian", "local-rr"], ["published", "exact"]
    plans = plan_bitsums((2, "1e-6"), users=100, instances=2, bitsums=bitsums, methods=methods)
    assert str(plans).startswith("Budget (2, 1e-06), n = 100 users, I = 2 instances")
    row = plans.plans[1]
    assert str(row).startswith("central-gaussian, exact, n = 100 users\nsigma=")
    assert f"the whole: {row.guarantee}".replace(" ", "") in str(row).replace("\n", "").replace(" ", "")
    assert str(split_budget((2, "1e-6"), 10)).startswith("Budget (2, 1e-06) of the whole, I = 10 instances")
    test = AuditResult("a check", 0.5, 100, "exact", "nothing", "a fault", 1.0)
    report = AuditReport("something", None, (test,), 0.01, 100, 0)
    assert str(report).startswith("Audit of something: undecided, 100 runs per dataset")
    axes = report.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a check"]
    assert axes.lines[0].get_xydata().tolist() == [[0.5, 0.0]]


@pytest.mark.parametrize(
    ("protocol", "at"),
    [
        (RandomizedResponse(100, 0.25), {"delta": 1e-6, "instances": 4}),
        (ThreeNB(50, 0.9, 12.0, 0.8), {"epsilon": 1}),
        (CentralGaussian(9, 7.0), {"delta": 0.3}),
        (CentralGaussian(9, 7.0), {"delta": 0}),
        (LocalRandomizedResponse(9, 0.3), {"epsilon": 5}),
        (LabelRandomizedResponse(3, 1.0), {"delta": 0}),
    ],
)
def test_the_profile_encloses_the_point(protocol: object, at: dict[str, float]) -> None:
    found = account(protocol, **at)
    axes = found.plot()
    upper, lower = axes.lines[:2]
    epsilons, deltas = upper.get_xdata(), upper.get_ydata()
    assert list(deltas) == sorted(deltas)
    assert list(epsilons) == sorted(epsilons, reverse=True)
    assert all(low <= high for low, high in zip(lower.get_xdata(), epsilons, strict=True))
    if len(axes.lines) > 2:
        ((x, y),) = axes.lines[2].get_xydata()
        assert (x, y) == (found.epsilon.upper, found.delta.upper)
        nearest = min(range(len(deltas)), key=lambda i: abs(math.log(deltas[i] / y)))
        assert epsilons[nearest] == pytest.approx(x, rel=0.01, abs=1e-9)
    else:
        assert found.delta.upper == 0.0


def test_a_figure_may_be_drawn_on_given_axes() -> None:
    axes = Figure().add_subplot()
    assert isinstance(axes, Axes)
    assert account(CentralGaussian(9, 7.0), delta=1e-3).plot(axes) is axes
    plans = plan_bitsums(Budget(2, "1e-6"), users=100, instances=2, bitsums=["local-rr", "central-gaussian"])
    assert plans.plot(Figure().add_subplot()).get_yticklabels()[1].get_text() == "central-gaussian"
    drawn = sorted(x for line in plans.plot().lines for x in line.get_xdata())
    assert drawn == sorted(row.bitsum_rmse for row in plans.plans)


class Side(StrEnum):
    LEFT = "left"


@dataclass(frozen=True)
class Named(Plain):
    plain_as: ClassVar[str] = "number=value side end=within.upper *within unseen?"

    value: Fraction
    within: Interval
    unseen: object = None

    @property
    def side(self) -> Side:
        return Side.LEFT


@dataclass(frozen=True)
class Every(Plain):
    named: tuple[Named, ...]
    orders: dict[float, float]
    within: Interval


def test_a_result_is_walked_by_its_fields_or_by_what_it_names() -> None:
    within = Interval(0.1, math.inf)
    found = Every((Named(Fraction(1, 4), within),), {2.0: -math.inf, 1.5: 0.0}, within).to_dict()
    assert found == {
        "named": [{"number": 0.25, "side": "left", "end": "inf", "lower": within.to_dict()["lower"], "upper": "inf"}],
        "orders": {"2": "-inf", "1.5": 0.0},
        "within": within.to_dict(),
    }
    assert list(found) == ["named", "orders", "within"]
    assert Named(Fraction(1, 4), within, "seen").to_dict()["unseen"] == "seen"
    assert type(plain(Side.LEFT)) is str
    assert plain([np.array([1, 2]), np.float64(0.5), (None, True, "a")]) == [[1, 2], 0.5, [None, True, "a"]]


def test_an_interval_is_rounded_outwards_wherever_it_stands() -> None:
    # The shortest decimal of the lower end is above it, that of the upper end below: neither may be what is read.
    lower, upper = 0.3, 1.1
    assert Fraction(repr(lower)) > Fraction(lower)
    assert Fraction(repr(upper)) < Fraction(upper)
    within = Interval(lower, upper)
    sent = Communication("rr", 1, 1.0, 0.0, 1, 1e-6, within, 1, 1.0)
    for shown in (Every((), {}, within).to_dict()["within"], sent.to_dict()["silence"]):
        assert Fraction(repr(shown["lower"])) <= Fraction(lower)
        assert Fraction(repr(shown["upper"])) >= Fraction(upper)


def test_every_name_of_a_result_is_there() -> None:
    root = Path(dpverify.__file__).parent
    for path in root.rglob("*.py"):
        if "plain_as:" in path.read_text(encoding="utf-8"):
            import_module(".".join(("dpverify", *path.relative_to(root).with_suffix("").parts)))
    results = [(each, each.plain_as) for each in subclasses(Plain) if each.plain_as]
    assert len(results) > 15
    for each, names in results:
        known = {*dir(each), *each.__dataclass_fields__}
        for name in names.split():
            first = (name.partition("=")[2] or name).strip("*?").split(".")[0]
            assert first in known, (each, name)


def subclasses(kind: type[Plain]) -> Iterator[type[Plain]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def test_rows_become_a_data_frame() -> None:
    plans = plan_bitsums((2, "1e-6"), users=100, instances=2, bitsums=["poisson"])
    frame = plans.to_dataframe()
    assert frame["bitsum_rmse"].tolist()[1] == plans.plans[0].bitsum_rmse
    assert frame["budget.epsilon"].tolist() == [2.0, 2.0]
    assert frame["error"].notna().tolist() == [True, False]
    alone = plans.plans[0].to_dataframe()
    assert alone["parameters.mean"].tolist() == [plans.plans[0].parameters["mean"]]
    assert flat({"a": {"b": {"c": 1}}, "d": ["x", "y"]}) == {"a.b.c": 1, "d": "x; y"}


def test_without_pandas_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[data\]'"):
        account(CentralGaussian(9, 7.0), delta=1e-3).to_dataframe()


@pytest.mark.long
def test_nothing_is_imported_before_it_is_shown() -> None:
    code = """
import sys
import dpverify
found = dpverify.account(dpverify.CentralGaussian(users=9, sigma=7.0), delta=1e-3)
assert not {"matplotlib", "rich", "dpverify.report"} & set(sys.modules)
str(found)
assert "matplotlib" not in sys.modules
found.plot()
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
