"""Closed forms as they are printed."""

from dpverify.formulas.catalogue import find_formulas, formulas
from dpverify.report.papers.formulas import formula_page, formulas_table, values_lines
from tests.report.printing import printed


def test_a_long_expression_is_one_line() -> None:
    rows = [{"latex": "x" * 300}, {"value": "1" * 200}, {"argument": "p", "value": "2"}]
    assert values_lines(rows).split("\n") == ["x" * 300, "1" * 200, "p = 2"]


def test_all_are_listed_with_their_arguments() -> None:
    text = printed(formulas_table(formulas()))
    assert all(formula.name in text for formula in formulas())


def test_a_page_says_why_there_is_no_expression_of_symbols() -> None:
    (branches,), (noise,) = find_formulas("randomized-response.flip-probability"), find_formulas("noise_p")
    assert "as LaTeX with values given" in printed(formula_page(branches))
    assert r"\frac{99" in printed(formula_page(noise))
