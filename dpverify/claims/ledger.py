"""The ledger: every theorem of the sources that a twin states, with what was found about it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import dpverify.claims
from dpverify.claims.theorem import Theorem, Verdict

__all__ = ["CROSS_CUTTING", "ledger"]

CROSS_CUTTING: tuple[Theorem, ...] = (
    Theorem(
        name="wagner2025-section-4-delta-split",
        source="wagner2025, section 4, Privacy parameters",
        statement="Half of delta goes to delta', half to the total I Q delta0 of the bitsum instances",
        hypotheses=(),
        verdict=Verdict.HOLDS_WITH_CONDITION,
        finding="Theorem 3.2 charges I S delta0. With S < Q the text wastes delta0 by the factor Q / S; with S = Q, "
        "which is what its experiments use, the two agree. The code uses S.",
    ),
    Theorem(
        name="wagner2025-a2-per-user-shape",
        source="wagner2025, Appendix A.2 and Algorithm 2",
        statement="Each user draws psi_3 from NB(r', p') with r' = 3(1 + ln(2 e^(0.99 eps0) / delta0))",
        hypotheses=(),
        verdict=Verdict.FAILS,
        finding="r is given per user (1/n) and r' in total: read literally, the flood is n times what is needed, and "
        "the message complexity 1 + o(1) fails. With r' / n per user the totals are those of ghazi2020.",
    ),
)
"""What concerns no single protocol."""


def _modules() -> Iterator[object]:
    for found in pkgutil.walk_packages(dpverify.claims.__path__, f"{dpverify.claims.__name__}."):
        yield importlib.import_module(found.name)


def ledger() -> tuple[Theorem, ...]:
    """Return every theorem that a module of `dpverify.claims` states, ordered by name.

    A module states theorems as a constant `THEOREMS`, or as the attribute `theorems` of its classes.

    Examples
    --------
    >>> found = {theorem.name: theorem for theorem in ledger()}
    >>> found["wagner2025-a2-per-user-shape"].verdict.value
    'fails'
    """
    found = {theorem.name: theorem for theorem in CROSS_CUTTING}
    for module in _modules():
        stated = list(getattr(module, "THEOREMS", ()))
        for _, member in inspect.getmembers(module, inspect.isclass):
            theorems = getattr(member, "theorems", ())
            stated += theorems if isinstance(theorems, tuple) else ()
        for theorem in stated:
            if found.setdefault(theorem.name, theorem) is not theorem:
                raise ValueError(f"two theorems are named {theorem.name!r}.")
    return tuple(found[name] for name in sorted(found))
