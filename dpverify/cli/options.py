"""Numbers as options: what may be typed for one, and one sentence where something else is."""

# Nothing heavy is imported, and no protocol made: a mistyped option answers at once, in the words that were typed. The
# library checks the same ranges again, for those who call it. No `from __future__ import annotations` here: typer would
# evaluate the annotations of `parsed` anew for every option.

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import typer

from dpverify.cli.protocol_names import known_name
from protocols.validation import meant, meant_number

__all__ = ["choice", "exact", "integer", "listed_floats", "number", "read_exactly"]

_LARGEST_INTEGER = 2**63 - 1
_LARGEST_EXPONENT = 307
"""Exact numbers have a size that floats have too: 1e999999999 has a billion digits, which no one waits for."""
_SHOWN = 40
"""So many characters of a value are repeated in a message."""


def _refuse(option: str, text: str, wanted: str) -> NoReturn:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    comma = "," in text and _decimal(text.replace(",", "")) is not None
    instead = meant_number(text) if "number" in wanted else ""
    if option == "--confidence" and (value := _decimal(text)) is not None and 1 < value < 100:
        instead = f"; {text} % is {float(value / 100)}"
    raise ValueError(f"{option}={shown!r} must be {wanted}{', without commas' if comma else ''}{instead}.")


def _decimal(text: str) -> Decimal | None:
    """Return the number that a text writes, or None if it writes none or an infinite one, or in other than 0 to 9."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() and text.isascii() else None


def listed_floats(text: str) -> list[float]:
    """Return the numbers with commas between them that a text writes, none if a part writes none, or not in 0 to 9."""
    try:
        return [float(part) for part in text.split(",")] if text.isascii() else []
    except ValueError:
        return []


def _end(text: str) -> Fraction | float:
    return float(text) if text.endswith("inf") else Fraction(text)


def _inside(value: float | Fraction, within: str) -> bool:
    """Return whether a value lies in a range such as "[0, 1/2)"."""
    low, high = map(_end, within[1:-1].split(", "))
    return (low < value or (within[0] == "[" and value == low)) and (
        value < high or (within[-1] == "]" and value == high)
    )


def _option(
    parse: Callable[[str, str], Any],
    metavar: str,
    names: tuple[str, ...],
    help: str,
    complete: Callable[[str], list[str]] | None = None,
) -> Any:
    """Return an option whose text `parse(option, text)` turns into a value."""

    def parsed(context: typer.Context, parameter: typer.CallbackParam, value: Any) -> Any:
        # A default is a value already. Typer tells the name as typed only here, not to its own `parser`.
        return parse(parameter.opts[0], value) if isinstance(value, str) else value

    return typer.Option(*names, parser=_as_it_is, callback=parsed, metavar=metavar, help=help, autocompletion=complete)


def _as_it_is(value: Any) -> Any:
    return value


class _Spared:
    """What typer asks to turn a text into a value, where there is none to turn: its own needs pydantic.

    It refuses an empty path, which would be the folder in which the command runs.
    """

    def __init__(self, parameter: Any) -> None:
        self.ours = parameter.type_descriptor.parameter_info.parser is _as_it_is
        self.many = parameter.multiple or parameter.nargs == -1
        self.path = parameter.type_descriptor.annotation in (Path, list[Path])

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if self.ours or (value is None and not self.many):
            return value
        if self.path and "" in ((value or ()) if self.many else (value,)):
            raise ValueError(f"{param.opts[0]}='' must be the path of a file or a folder.")
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def spare(command: Any) -> None:
    """Spare a command typer's readers of the options that are read here, or omitted; of versions that have them."""
    for parameter in command.get_params(typer.Context(command)):  # with --help
        if getattr(parameter, "_runtime_param", ...) is None:
            parameter._runtime_param = _Spared(parameter)


def _each(
    parse: Callable[[str, str], Any], value: Callable[[Any], Any] = lambda read: read
) -> Callable[[str, str], tuple[Any, ...]]:
    """Return what reads values with commas between them, by what reads one; of two with one `value` the first stays."""

    def all_of(option: str, text: str) -> tuple[Any, ...]:
        parts = text.split(",")
        # 50,000 is one number with a comma, and no list.
        if any(part[:1] == "0" and part[1:2].isdigit() for part in parts[1:]):
            return (parse(option, text),)
        if re.fullmatch(r"\d{1,3}(,\d{3})+", text):
            _refuse(option, text, "a list with a space behind each comma, or one number")
        found: dict[Any, Any] = {}
        for part in parts:
            read = parse(option, part.strip())
            found.setdefault(value(read), read)
        return tuple(found.values())

    return all_of


def integer(*names: str, within: str, help: str, several: bool = False) -> Any:
    """Return an option that takes an integer, written in any way that is exact: 50000, 50_000, 5e4.

    - *names: As typed, such as `--users`; by default after the parameter.
    - within: Its range, such as `[1, inf)`.
    - help: What it is; `{}` stands for the range.
    - several: Whether it takes several with commas between them, and hands on a tuple.
    """

    def parse(option: str, text: str) -> int:
        value = _decimal(text)
        # The size first: the integer that 1e999999999 stands for has a billion digits.
        if value is not None and value > _LARGEST_INTEGER:
            _refuse(option, text, "at most 2^63 - 1")
        if value is None or value < -_LARGEST_INTEGER or value != value.to_integral_value():
            _refuse(option, text, f"an integer in {within}")
        if not _inside(int(value), within):
            _refuse(option, text, f"an integer in {within}")
        return int(value)

    metavar = "INTEGER,..." if several else "INTEGER"
    return _option(_each(parse) if several else parse, metavar, names, help.format(within))


def number(*names: str, within: str, help: str, what: str = "") -> Any:
    """Return an option that takes the float nearest to a decimal; one that no float is near to is refused.

    - *names, within, help: As for `integer`.
    - what: Of what it is a number, for the message, such as `, a share`.
    """

    def parse(option: str, text: str) -> float:
        value = _decimal(text)
        nearest = math.nan if value is None else float(value)
        if nearest == 0 and value != 0:
            or_zero = " that is 0 or" if _inside(0.0, within) else ","
            _refuse(option, text, f"a number in {within}{or_zero} at least 5e-324")
        if math.isinf(nearest):
            _refuse(option, text, f"a number in {within}, at most 1.79e308 in size")
        if not math.isfinite(nearest) or not _inside(nearest, within):
            _refuse(option, text, f"a finite number in {within}{what}")
        return nearest

    return _option(parse, "NUMBER", names, help.format(within))


def exact(*names: str, within: str, help: str, several: bool = False) -> Any:
    """Return an option that takes a decimal or a quotient such as 1/3 and hands it on as text, to be read exactly.

    - *names, within, help, several: As for `integer`.
    """

    def parse(option: str, text: str) -> str:
        read_exactly(option, text, within)
        return text

    def several_of(option: str, text: str) -> tuple[str, ...]:
        point = re.fullmatch(r"0,\d+|\d+,\d*5", text) and text.replace(",", ".")
        if point and not all(_inside(Fraction(part), within) for part in text.split(",")):
            raise ValueError(f"{option}={text!r} must be a list of numbers in {within}, or one with a point: {point}.")
        if point:
            typer.echo(f"{option}={text} is read as two numbers; a decimal is written with a point, {point}.", err=True)
        return found(option, text)

    found = _each(parse, Fraction)
    metavar = "NUMBER,..." if several else "NUMBER"
    return _option(several_of if several else parse, metavar, names, help.format(within))


def read_exactly(name: str, text: str, within: str) -> Fraction:
    """Return the rational number that a decimal or a quotient such as 1/3 writes; `name` is what the error calls it.

    Raises ValueError if it writes none, or one outside `within` or of a size that floats do not have.
    """
    parts = [_decimal(part) for part in text.split("/")]
    if any(part and abs(part.adjusted()) > _LARGEST_EXPONENT for part in parts):
        or_zero = " that is 0 or" if _inside(Fraction(0), within) else ","
        _refuse(name, text, f"a number in {within}{or_zero} of a size from 1e-307 to 1e307")
    try:
        value = Fraction(text) if text.isascii() else None
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None or not _inside(value, within):
        _refuse(name, text, f"a finite number in {within}")
    return value


def choice(*names: str, known: Callable[[], Sequence[str]], help: str, several: bool = False) -> Any:
    """Return an option that takes one of a few words, in any case of letters.

    - *names, help, several: As for `integer`, without a range.
    - known: Returns the words, of which the one that was typed is handed on; called only to check it, so that it may
      import what names them.
    """

    def parse(option: str, text: str) -> str:
        words = known()
        word = known_name(text, words)
        return _refuse(option, text, f"one of {', '.join(words)}{meant(text, words)}") if word is None else word

    def complete(incomplete: str) -> list[str]:
        return [word for word in known() if word.startswith(incomplete.lower())]

    metavar = "NAME,..." if several else "NAME"
    return _option(_each(parse) if several else parse, metavar, names, help, complete)
