"""The account of density estimation by the family of its features, and exact laws to hold it against."""

import functools
from typing import Any

import numpy as np

from dpverify.planning.account import AccountResult, account
from protocols.bitsum import BitsumProtocol
from protocols.kde import KernelDensityProtocol
from protocols.lsq import LSQFamily

__all__ = ["account_kde", "view_law"]


def account_kde(bitsum: BitsumProtocol, family: LSQFamily, pairs: int, **at: Any) -> AccountResult:
    """Account Algorithm 1 with so many pairs of features: every draw of them has the same."""
    features = family.sample(pairs, np.random.default_rng(0))
    return account(KernelDensityProtocol(bitsum, features), **{"relative_width": 1e-4, **at})


def view_law(chances: np.ndarray, p: float) -> np.ndarray:
    """The law of the reported ones of every bit, shape (users, bits) the probabilities that users' bits are 1."""
    laws = []
    for bit in chances.T:
        pmf = np.ones(1)
        for chance in bit:
            report = chance * (1 - p) + (1 - chance) * p
            pmf = np.convolve(pmf, [1 - report, report])
        laws.append(pmf)
    return functools.reduce(lambda a, b: np.multiply.outer(a, b).ravel(), laws)
