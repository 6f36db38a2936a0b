"""Exact privacy accounting: losses of pairs of laws, on grids, in families and composed; no protocol by name.

`docs/accounting.md` says what is computed and why the answers are bounds. The laws themselves are in `dpverify.laws`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.privacy_loss.composing.family import FamilyComposition
    from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
    from dpverify.privacy_loss.losses.pairs import Directions
    from dpverify.privacy_loss.losses.renyi import renyi_divergence, zero_concentrated_rho
    from dpverify.privacy_loss.losses.tradeoff import TradeOff
    from dpverify.privacy_loss.windows.gaussian import GaussianPrivacyLoss
    from dpverify.privacy_loss.windows.grid import GridPrivacyLoss, connect_the_dots, dominating_grid
    from dpverify.privacy_loss.windows.step import choose_step
    from dpverify.privacy_loss.windows.transform import Composition

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
    "losses.distribution": ("PrivacyLossDistribution",),
    "composing.family": ("FamilyComposition",),
    "windows.gaussian": ("GaussianPrivacyLoss",),
    "windows.grid": ("GridPrivacyLoss", "connect_the_dots", "dominating_grid"),
    "losses.pairs": ("Directions",),
    "losses.renyi": ("renyi_divergence", "zero_concentrated_rho"),
    "windows.step": ("choose_step",),
    "losses.tradeoff": ("TradeOff",),
    "windows.transform": ("Composition",),
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
