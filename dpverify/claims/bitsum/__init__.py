"""The twins of the binary-sum protocols, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpverify.claims.registry import Group, claims_of, registered

if TYPE_CHECKING:
    from dpverify.claims.bitsum.base import BitsumClaims

__all__ = ["BITSUM_CLAIMS", "claims_of"]

BITSUM_CLAIMS: Mapping[str, BitsumClaims[Any]] = registered(Group.BITSUMS)
"""The twins by short name, those of installed packages too."""
