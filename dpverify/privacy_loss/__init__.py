"""Exact privacy accounting: losses of pairs of laws, on grids, in families and composed; no protocol by name.

`docs/accounting.md` says what is computed and why the answers are bounds. The laws themselves are in `dpverify.laws`.
"""

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
