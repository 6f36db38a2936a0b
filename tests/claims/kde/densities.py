"""The account of density estimation by the family of its features: every draw of them has the same."""

from typing import Any

import numpy as np

from dpverify.planning.account import AccountResult, account
from protocols.bitsum import BitsumProtocol
from protocols.kde import KernelDensityProtocol
from protocols.lsq import LSQFamily

__all__ = ["account_kde"]


def account_kde(bitsum: BitsumProtocol, family: LSQFamily, pairs: int, **at: Any) -> AccountResult:
    """Account Algorithm 1 with so many pairs of features."""
    features = family.sample(pairs, np.random.default_rng(0))
    return account(KernelDensityProtocol(bitsum, features), **{"relative_width": 1e-4, **at})
