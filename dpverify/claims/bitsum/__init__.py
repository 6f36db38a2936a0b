"""The twins of the binary-sum protocols, by name."""

from __future__ import annotations

from typing import Any

from dpverify.claims.bitsum.base import BitsumClaims
from dpverify.claims.bitsum.baselines import (
    CentralDiscreteGaussianClaims,
    CentralDiscreteLaplaceClaims,
    CentralGaussianClaims,
    LocalRandomizedResponseClaims,
)
from dpverify.claims.bitsum.negative_binomial import NegativeBinomialClaims
from dpverify.claims.bitsum.poisson import PoissonClaims
from dpverify.claims.bitsum.pure import PureClaims
from dpverify.claims.bitsum.randomized_response import RandomizedResponseClaims
from dpverify.claims.bitsum.three_nb import ThreeNBClaims
from protocols.bitsum.base import BitsumProtocol

__all__ = ["BITSUM_CLAIMS", "claims_of"]

_TWINS: tuple[BitsumClaims[Any], ...] = (
    RandomizedResponseClaims(),
    ThreeNBClaims(),
    NegativeBinomialClaims(),
    PoissonClaims(),
    PureClaims(),
    CentralGaussianClaims(),
    CentralDiscreteLaplaceClaims(),
    CentralDiscreteGaussianClaims(),
    LocalRandomizedResponseClaims(),
)

BITSUM_CLAIMS: dict[str, BitsumClaims[Any]] = {claims.name: claims for claims in _TWINS}
"""The twins by short name."""


def claims_of(protocol: BitsumProtocol) -> BitsumClaims[Any]:
    """Return the twin of a protocol.

    Raises
    ------
    TypeError
        If the protocol has none.
    """
    for claims in BITSUM_CLAIMS.values():
        if claims.protocol is type(protocol):
            return claims
    raise TypeError(f"protocol={protocol!r} has no claims; known are {', '.join(BITSUM_CLAIMS)}.")
