"""What the best attacker reaches, as a table and as a figure."""

from fractions import Fraction

import dpverify
from dpverify.report.plots import drawn_figure
from dpverify.report.risks import meaning_rows
from protocols.bitsum import RandomizedResponse


def test_rows_and_band() -> None:
    found = dpverify.account(RandomizedResponse(100, 0.25), delta="1e-3").meaning(values=[7])
    text = str(found)
    assert "guess among 7 values" in text
    assert "two inputs of one user" in text
    for risk, row in zip(found.risks, meaning_rows(found), strict=True):
        assert Fraction(row["least"]) <= risk.least <= risk.most <= Fraction(row["most"])
    assert text.count("replace-one") == text.count("communication") == len(found.risks)
    (axes,) = drawn_figure(found).axes
    lower, upper, alone, blind = (line.get_ydata() for line in axes.get_lines())
    assert (lower <= upper).all()
    assert (alone <= lower + 1e-9).all()  # one point of the curve allows more than all of it
    assert blind[0] == upper[0] == 1.0
    assert axes.get_title(loc="left") == "rr, replace-one, communication threat model"
