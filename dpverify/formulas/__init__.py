"""Closed forms, written once as `f(ctx, ...)`.

`ctx` is the number system (see `dpverify.formulas.contexts`): `FLOATS` for floats, `mpmath.mp` for any precision, an
Arb context for balls that provably contain the value, and a sympy context for expressions. A formula evaluates what a
source states and refuses the arguments at which the number means nothing; whether the source's hypotheses hold there is
kept apart, as `Hypothesis` data, so that a formula can be studied outside them. Epsilons are in nats.
"""

from __future__ import annotations

from collections.abc import Callable

from protocols.classes.frozen import dataclass

__all__ = ["FormulaRangeError", "Hypothesis"]


class FormulaRangeError(ValueError):
    """An argument, or a result, lies where the formula has no meaning."""


@dataclass(frozen=True)
class Hypothesis:
    """One condition of a theorem, under a short name that is unique within it, as text with its source.

    `holds` takes the parameters that it is about, under their names, or `names` where it does not have them, and
    returns whether it is met.
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
