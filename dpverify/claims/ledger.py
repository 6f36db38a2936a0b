"""The ledger: every theorem of the sources, with what was found about it."""

from __future__ import annotations

import importlib
import pkgutil

from dpverify.claims import theorems
from dpverify.claims.theorem import Theorem

__all__ = ["ledger"]


def ledger() -> tuple[Theorem, ...]:
    """Return every theorem that a module of `dpverify.claims.theorems` states in a constant, ordered by name.

    Examples
    --------
    >>> found = {theorem.name: theorem for theorem in ledger()}
    >>> found["wagner2025-a2-per-user-shape"].verdict.value
    'fails'
    """
    found: dict[str, Theorem] = {}
    for module in pkgutil.iter_modules(theorems.__path__, f"{theorems.__name__}."):
        stated = importlib.import_module(module.name)
        for theorem in (theorem for name in stated.__all__ for theorem in getattr(stated, name)):
            if found.setdefault(theorem.name, theorem) is not theorem:
                raise ValueError(f"two theorems are named {theorem.name!r}.")
    return tuple(found[name] for name in sorted(found))
