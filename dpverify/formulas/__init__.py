"""Closed forms, written once as `f(ctx, ...)`.

`ctx` is the number system (see `dpverify.formulas.contexts`): `FLOATS` for floats, `mpmath.mp` for any precision, an
Arb context for balls that provably contain the value, and a sympy context for expressions. A formula evaluates what a
source states and refuses the arguments at which the number means nothing; whether the source's hypotheses hold there is
kept apart, as `Hypothesis` data, so that a formula can be studied outside them. Epsilons are in nats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["FormulaRangeError", "Hypothesis"]


class FormulaRangeError(ValueError):
    """An argument, or a result, lies where the formula has no meaning."""


@dataclass(frozen=True)
class Hypothesis:
    """One named condition of a theorem.

    Parameters
    ----------
    name : str
        A short identifier, unique within the theorem.
    statement : str
        The condition as text, with its source.
    holds : callable
        Takes the parameters that it is about, under their names, and returns whether it is met.
    names : tuple of str
        The parameters' names, where `holds` does not have them.
    """

    name: str
    statement: str
    holds: Callable[..., bool]
    names: tuple[str, ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, in the order in which `holds` takes them."""
        import inspect  # what lists the theorems needs no names

        return self.names or tuple(inspect.signature(self.holds).parameters)
