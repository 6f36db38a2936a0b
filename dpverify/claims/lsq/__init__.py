"""The twins of the locality-sensitive quantization families."""

from __future__ import annotations

from typing import Any

from dpverify.claims.lsq.base import LSQClaims
from dpverify.claims.lsq.exponential import ExponentialTessellationClaims
from dpverify.claims.lsq.gaussian import GaussianFeaturesClaims
from dpverify.claims.lsq.inner_product import IdentityClaims, RandomSignsClaims
from dpverify.claims.lsq.laplacian import LaplacianBinningClaims
from protocols.lsq import LSQFamily

__all__ = ["LSQ_CLAIMS", "LSQClaims", "lsq_claims_of"]

LSQ_CLAIMS: tuple[LSQClaims[Any], ...] = (
    GaussianFeaturesClaims(),
    RandomSignsClaims(),
    IdentityClaims(),
    LaplacianBinningClaims(),
    ExponentialTessellationClaims(),
)
"""All twins."""


def lsq_claims_of(family: LSQFamily) -> LSQClaims[Any]:
    """Return the twin of a family.

    Raises
    ------
    TypeError
        If the family has none.
    """
    for claims in LSQ_CLAIMS:
        if claims.family is type(family):
            return claims
    known = ", ".join(claims.family.__name__ for claims in LSQ_CLAIMS)
    raise TypeError(f"family={family!r} has no claims; known are {known}.")
