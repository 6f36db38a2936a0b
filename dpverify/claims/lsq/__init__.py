"""The twins of the locality-sensitive quantization families, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpverify.claims.registry import Group, registered

if TYPE_CHECKING:
    from dpverify.claims.lsq.base import LSQClaims

__all__ = ["LSQ_CLAIMS"]

LSQ_CLAIMS: Mapping[str, LSQClaims[Any]] = registered(Group.KERNELS)
"""The twins by short name, those of installed packages too."""
