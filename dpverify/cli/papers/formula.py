"""The command `dpverify formula`: the closed forms of the sources, to any number of digits."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpverify.cli.options import exact, integer, read_exactly
from dpverify.cli.output import print_result

if TYPE_CHECKING:
    from dpverify.formulas.catalogue import Formula

__all__ = ["register"]

_ANY = "(-inf, inf)"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(formula)


def formula(
    name: Annotated[
        str | None, typer.Argument(help="A formula, or words of its name or first line; all are listed by default.")
    ] = None,
    values: Annotated[
        list[str] | None, typer.Argument(metavar="[ARGUMENT=NUMBER]...", help="Decimals or quotients, taken exactly.")
    ] = None,
    digits: Annotated[int, integer(within="[1, 10000]", help="Significant digits, all of them proved; in {}.")] = 17,
    latex: Annotated[bool, typer.Option("--latex", help="As LaTeX, with symbols for what is not given.")] = False,
    solve: Annotated[
        str | None, typer.Option("--solve", metavar="ARGUMENT", help="Find this argument instead, given --equals.")
    ] = None,
    equals: Annotated[str | None, exact(within=_ANY, help="The value that the formula comes to, with --solve.")] = None,
    low: Annotated[str | None, exact(within=_ANY, help="Look for --solve from here.")] = None,
    high: Annotated[str | None, exact(within=_ANY, help="Look for --solve up to here.")] = None,
    which: Annotated[
        int | None, integer(within="[1, inf)", help="With --solve, which of a formula's values, where it has several.")
    ] = None,
) -> None:
    """Evaluate, invert or print a closed form of the sources. To any number of digits."""
    from dpverify.formulas.catalogue import find_formulas, formulas
    from dpverify.report.papers.formulas import formula_page, formulas_table, values_lines

    found = formulas() if name is None else find_formulas(name)
    if not found:
        raise ValueError(f"NAME={name!r} must be part of a formula's name or first line; `dpverify formula` lists all.")
    given = _given(values or [])
    asked = bool(given) or latex or solve is not None or equals is not None
    if solve is None and any(option is not None for option in (low, high, which)):
        raise ValueError("--low, --high and --which must be given with --solve: they say where and for what to look.")
    if len(found) > 1 or not asked:
        if asked:
            raise ValueError(
                f"NAME={name!r} must name one formula; it could be {', '.join(one.name for one in found)}."
            )
        listed = [_described(one) for one in found]
        print_result({"formulas": listed}, formula_page(found[0]) if len(found) == 1 else formulas_table(found))
        return
    only = found[0]
    if (solve is None) != (equals is None):
        raise ValueError("--solve and --equals must be given together, or neither.")
    try:
        if latex:
            rows = [{"latex": text} for text in only.latex(given)]
        else:
            rows = _numbers(only, given, digits, solve, equals, (low, high), which)
    except ArithmeticError as error:
        said = f"{' '.join(values)}: " if values else ""
        raise ValueError(f"{said}{error}") from error
    print_result({"formula": only.name, "values": rows}, values_lines(rows))


def _given(words: list[str]) -> dict[str, Fraction]:
    given: dict[str, Fraction] = {}
    for word in words:
        name, equal, text = word.partition("=")
        name = name.replace("-", "_")
        if not equal or name in given:
            raise ValueError(f"{word!r} must be ARGUMENT=NUMBER, each argument once.")
        given[name] = read_exactly(name, text, _ANY)
    return given


def _described(formula: Formula) -> dict[str, Any]:
    arguments = {argument.name: argument.default for argument in formula.arguments}
    return {
        "name": formula.name,
        "arguments": {name: None if name in formula.required else default for name, default in arguments.items()},
        "help": formula.help,
    }


def _numbers(
    formula: Formula,
    given: dict[str, Fraction],
    digits: int,
    solve: str | None,
    equals: str | None,
    between: tuple[str | None, str | None],
    which: int | None,
) -> list[dict[str, str]]:
    from dpverify.formulas.inverse import solved
    from dpverify.formulas.precise import value

    if solve is None or equals is None:
        return [number.to_dict() for number in value(formula, given, digits)]
    low, high = (None if end is None else Fraction(end) for end in between)
    argument = solve.replace("-", "_")
    number = solved(formula, argument, Fraction(equals), given, digits=digits, low=low, high=high, which=which)
    return [{"argument": argument, **number.to_dict()}]
