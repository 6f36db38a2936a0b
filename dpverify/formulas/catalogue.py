"""Every closed form by its name, with what it takes: found among the modules of formulas, not listed by hand."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import dpverify.formulas as package
from dpverify.formulas import FormulaRangeError
from dpverify.formulas.contexts import Context, SympyContext, UndecidedComparisonError, is_symbolic
from protocols.classes.frozen import dataclass

__all__ = ["Formula", "find_formulas", "formulas"]

_GREEK = {"epsilon": r"\varepsilon", **{name: rf"\{name}" for name in ("alpha", "beta", "gamma", "delta", "rho")}}


@dataclass(frozen=True)
class Formula:
    """A closed form `f(ctx, ...)` by its name, as `three-nb.noise-p`, and how to call it by its arguments' names."""

    name: str
    function: Callable[..., Any]

    @cached_property
    def arguments(self) -> tuple[inspect.Parameter, ...]:
        """What it takes after the context.

        Those that are annotated `int` are integers in every context, and `Whole` too, but for one that is solved for.
        """
        return tuple(inspect.signature(self.function).parameters.values())[1:]

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the arguments that have no default."""
        return tuple(argument.name for argument in self.arguments if argument.default is argument.empty)

    @property
    def help(self) -> str:
        """Its documentation: what it returns, where that stands, and the range of its arguments."""
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return self.help.partition("\n")[0]

    def __call__(self, ctx: Context, values: Mapping[str, Any], *, solving: str = "") -> tuple[Any, ...]:
        """Return its values in this context: one, or as many as the source states at once.

        A value is an int, a Fraction, a float, a decimal string, or a number of the context; the argument `solving` is
        looked for among all real numbers. FormulaRangeError if one is out of range, or no integer where one is needed;
        UndecidedComparisonError if balls or symbols do not decide a comparison; ValueError for a name that is no
        argument's, or a missing one.
        """
        self.check(values)
        found = self.function(
            ctx,
            **{
                argument.name: ctx.convert(values[argument.name])
                if argument.name == solving
                else self._converted(ctx, argument, values[argument.name])
                for argument in self.arguments
                if argument.name in values
            },
        )
        return found if isinstance(found, tuple) else (found,)

    def check(self, names: Mapping[str, Any]) -> None:
        """Refuse names that are no argument's, and want a value for each argument that has no default."""
        known = [argument.name for argument in self.arguments]
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} must be an argument of {self.name}: {', '.join(known)}.")
        missing = [name for name in self.required if name not in names]
        if missing:
            raise ValueError(f"{self.name} must be given {', '.join(missing)}: as NAME=VALUE.")

    def _converted(self, ctx: Context, argument: inspect.Parameter, value: Any) -> Any:
        if argument.annotation not in ("int", "Whole") or is_symbolic(value):
            return value if argument.annotation == "int" else ctx.convert(value)
        exact = Fraction(value)
        if exact.denominator != 1:
            raise FormulaRangeError(f"{argument.name}={value} must be an integer.")
        return int(exact) if argument.annotation == "int" else ctx.convert(int(exact))

    def latex(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return its values as LaTeX, in symbols for the arguments that are not given; what is given is taken exactly.

        UndecidedComparisonError if it compares arguments, or needs an integer, that is not given; FormulaRangeError for
        a value that is out of range.
        """
        import sympy

        self.check({**dict.fromkeys(self.required), **values})
        symbols = {name: sympy.Symbol(name, positive=True) for name in self.required}
        try:
            found = self(SympyContext(), {**symbols, **values})
        except (TypeError, UndecidedComparisonError) as error:  # a number of terms, a rounding, a choice of branches
            left = ", ".join(name for name in self.required if name not in values)
            raise UndecidedComparisonError(
                f"{self.name} needs values for some of {left} ({str(error).rstrip('.')})"
            ) from None
        return tuple(sympy.latex(value, symbol_names=dict(map(_written, symbols.values()))) for value in found)


def formulas() -> tuple[Formula, ...]:
    """Return every closed form, ordered by name.

    >>> names = [formula.name for formula in formulas()]
    >>> "three-nb.noise-p" in names
    True
    """
    found = []
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        stated = importlib.import_module(module.name)
        for name in getattr(stated, "__all__", ()):
            function = getattr(stated, name)
            if inspect.isfunction(function) and next(iter(inspect.signature(function).parameters), "") == "ctx":
                found.append(Formula(_spoken(f"{module.name.rpartition('.')[2]}.{name}"), function))
    return tuple(sorted((formula for formula in found if not _is_tool(formula)), key=lambda formula: formula.name))


def _written(symbol: Any) -> tuple[Any, str]:
    """Return a symbol with how it is set: a letter, a Greek one with its index, or else upright as a word."""
    parts = re.fullmatch(rf"({'|'.join(_GREEK)}|[A-Za-z])_?(\d*|slack)", symbol.name)
    if parts is None:
        return symbol, r"\mathrm{" + symbol.name.replace("_", r"\_") + "}"
    letter, index = parts.groups()
    return symbol, _GREEK.get(letter, letter) + (f"_{{{index}}}" if index else "")


def _is_tool(formula: Formula) -> bool:
    return formula.function.__module__ == f"{package.__name__}.contexts"


def _spoken(name: str) -> str:
    return name.replace("_", "-")


def find_formulas(text: str) -> tuple[Formula, ...]:
    """Return the formula of this name, or else those whose name or first line contains all of these words.

    Letters' case, hyphens and underscores do not matter, and `3nb` means three-nb.
    """
    typed = _spoken(text.strip().lower()).replace("3nb", "three-nb")
    every = formulas()
    exact = tuple(
        formula for formula in every if typed in (formula.name.lower(), formula.name.lower().partition(".")[2])
    )
    if len(exact) == 1:
        return exact
    words = typed.replace(".", " ").split()
    return tuple(
        formula
        for formula in every
        if words and all(word in f"{formula.name} {_spoken(formula.summary)}".lower() for word in words)
    )
