"""Sums: of integers, by unary messages with noise or shares that hide all but the sum, and of vectors."""

from protocols.sums.augmented import AugmentedSum
from protocols.sums.base import SumProtocol, exactly_rounded, rounded
from protocols.sums.split_and_mix import SplitAndMix
from protocols.sums.unary import NegativeBinomialSum, PoissonSum, UnarySum

__all__ = [
    "AugmentedSum",
    "NegativeBinomialSum",
    "PoissonSum",
    "SplitAndMix",
    "SumProtocol",
    "UnarySum",
    "exactly_rounded",
    "rounded",
]
