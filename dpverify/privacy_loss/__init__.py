"""Exact privacy accounting: losses of pairs of laws, on grids, in families and composed; no protocol by name.

`docs/accounting.md` says what is computed and why the answers are bounds. The laws themselves are in `dpverify.laws`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.privacy_loss.distribution import PrivacyLossDistribution
    from dpverify.privacy_loss.family import FamilyComposition
    from dpverify.privacy_loss.gaussian import GaussianPrivacyLoss
    from dpverify.privacy_loss.grid import GridPrivacyLoss, connect_the_dots, dominating_grid
    from dpverify.privacy_loss.pairs import Directions
    from dpverify.privacy_loss.renyi import renyi_divergence, zero_concentrated_rho
    from dpverify.privacy_loss.step import choose_step
    from dpverify.privacy_loss.tradeoff import TradeOff
    from dpverify.privacy_loss.transform import Composition

__all__ = [
    "Composition",
    "Directions",
    "FamilyComposition",
    "GaussianPrivacyLoss",
    "GridPrivacyLoss",
    "PrivacyLossDistribution",
    "TradeOff",
    "choose_step",
    "connect_the_dots",
    "dominating_grid",
    "renyi_divergence",
    "zero_concentrated_rho",
]

# What a name is imported from at its first use: who needs one module of the engine does not wait for the others.
_HOMES = {
    "distribution": ("PrivacyLossDistribution",),
    "family": ("FamilyComposition",),
    "gaussian": ("GaussianPrivacyLoss",),
    "grid": ("GridPrivacyLoss", "connect_the_dots", "dominating_grid"),
    "pairs": ("Directions",),
    "renyi": ("renyi_divergence", "zero_concentrated_rho"),
    "step": ("choose_step",),
    "tradeoff": ("TradeOff",),
    "transform": ("Composition",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import what is used for the first time."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; dir({__name__}) lists what it has.")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
