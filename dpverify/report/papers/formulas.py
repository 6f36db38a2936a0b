"""Closed forms as they are printed: all of them, one with its documentation, and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.formulas.catalogue import Formula
from dpverify.formulas.contexts import UndecidedComparisonError
from dpverify.report.layout import Rows

__all__ = ["formula_page", "formulas_table", "values_lines"]


def formulas_table(formulas: Sequence[Formula]) -> RenderableType:
    """Return formulas with their arguments, a line each."""
    table = Rows(("formula", "arguments"))
    for formula in formulas:
        table.add_row(formula.name, " ".join(argument.name for argument in formula.arguments))
    return Group(
        table,
        Text("One in full: dpverify formula NAME. Its value: dpverify formula NAME ARGUMENT=NUMBER ... --digits 50."),
    )


def formula_page(formula: Formula) -> RenderableType:
    """Return a formula's documentation, and the formula as LaTeX where it needs no values for that."""
    try:
        written = "\n".join(formula.latex({}))
    except UndecidedComparisonError:
        written = "as LaTeX with values given: it decides by them"
    return Group(Text(f"{formula.name}\n"), Text(formula.help), Text(f"\n{written}"))


def values_lines(rows: Sequence[Mapping[str, str]]) -> str:
    """Return numbers or expressions, a line each and nothing else, however long."""
    return "\n".join(
        row["latex"] if "latex" in row else (f"{row['argument']} = " if "argument" in row else "") + row["value"]
        for row in rows
    )
