"""Locality-sensitive quantization families, one file per kernel."""

from protocols.lsq.base import LSQFamily, LSQFeatures
from protocols.lsq.exponential import ExponentialTessellation
from protocols.lsq.gaussian import FourierPairs, GaussianFeatures
from protocols.lsq.inner_product import Identity, RandomSigns
from protocols.lsq.johnson_lindenstrauss import FastProjection
from protocols.lsq.laplacian import LaplacianBinning
from protocols.lsq.linear import LinearMap
from protocols.lsq.scaled import ScaledFeatures

__all__ = [
    "ExponentialTessellation",
    "FastProjection",
    "FourierPairs",
    "GaussianFeatures",
    "Identity",
    "LSQFamily",
    "LSQFeatures",
    "LaplacianBinning",
    "LinearMap",
    "RandomSigns",
    "ScaledFeatures",
]
